//! Panics while tests run. A panic of a test becomes the message of its trial; a panic of another thread fails a trial
//! too.
//!
//! A panic in the callback of a stream or in a thread that is not joined reaches no test by itself. The hook notes it
//! with the trials that were running: if one trial was running, the trial fails; if several were, the panic is a
//! problem of the run.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

thread_local! {
    /// On a thread that runs a test: the message of its last panic.
    static OWN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic of a thread that runs no test.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stray {
    message: String,
    /// The trials that were running at the time of the panic.
    during: Vec<String>,
}

/// The panics and trials that the hook knows of.
#[derive(Debug)]
struct Watch {
    running: Vec<String>,
    strays: Vec<Stray>,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { running: Vec::new(), strays: Vec::new() });

fn watch() -> MutexGuard<'static, Watch> {
    // No code under the lock panics between two changes that belong together.
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the messages of panics in tests for the reports, instead of printing them at once. Panics of other threads are
/// also printed.
pub(crate) fn keep() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let place = info.location().map(|location| format!(" ({location})")).unwrap_or_default();
            let message = format!("{}{place}", info.payload_as_str().unwrap_or("no message"));
            let is_own = OWN.with_borrow_mut(|own| own.as_mut().map(|own| own.clone_from(&message)).is_some());
            if !is_own {
                let name = thread::current().name().unwrap_or("without a name").to_owned();
                let mut watch = watch();
                let during = watch.running.clone();
                watch.strays.push(Stray { message: format!("the thread `{name}` panicked: {message}"), during });
                drop(watch);
                print(info);
            }
        }));
    });
}

/// Runs a test. The error is the message of its panic.
pub(crate) fn catch<T>(test: impl FnOnce() -> T) -> Result<T, String> {
    OWN.set(Some(String::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(test));
    let message = OWN.take().unwrap_or_default();
    outcome.map_err(|payload| {
        std::mem::forget(payload); // Dropping the payload runs code of the test, which may panic again.
        message
    })
}

/// A trial that runs, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Running(String);

impl Running {
    pub(crate) fn new(trial: String) -> Self {
        watch().running.push(trial.clone());
        Self(trial)
    }

    /// Takes the panics of other threads that happened while only this trial ran.
    pub(crate) fn take_strays(&self) -> Vec<String> {
        let mut watch = watch();
        let (own, others) = watch.strays.drain(..).partition(|stray| stray.during == [self.0.as_str()]);
        watch.strays = others;
        Vec::into_iter(own).map(|stray: Stray| stray.message).collect()
    }

    /// Takes the panics of other threads that happened while this trial ran, also while other trials ran.
    pub(crate) fn forgive_strays(&self) {
        watch().strays.retain(|stray| !stray.during.contains(&self.0));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut watch = watch();
        if let Some(place) = watch.running.iter().position(|name| *name == self.0) {
            watch.running.remove(place);
        }
    }
}

/// Takes the panics of other threads that belong to no trial, a line for each.
pub(crate) fn take_strays() -> Vec<String> {
    let line = |stray: Stray| match stray.during.as_slice() {
        [] => format!("{}; no test ran then", stray.message),
        during => format!("{}; then ran {}", stray.message, during.join(", ")),
    };
    watch().strays.drain(..).map(line).collect()
}
