//! Calls of Python code by threads of the library: callbacks, and methods of memory managers.
//!
//! A thread that needs the interpreter after its end is stopped by Python in the middle of the library. So the end of the
//! interpreter waits for the calls that have begun, and none begins afterwards.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

/// How long the end of the interpreter waits: a callback may wait for work that never ends.
const LIMIT: Duration = Duration::from_secs(10);

struct Calls {
    n_begun: usize,
    is_ended: bool,
}

static CALLS: Mutex<Calls> = Mutex::new(Calls { n_begun: 0, is_ended: false });
static CHANGED: Condvar = Condvar::new();

fn calls() -> MutexGuard<'static, Calls> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call that the end of the interpreter waits for, until this is dropped.
pub(crate) struct Call(());

impl Call {
    /// Begins a call, unless the interpreter ends.
    pub(crate) fn begin() -> Option<Self> {
        let mut calls = calls();
        if calls.is_ended {
            return None;
        }
        calls.n_begun += 1;
        Some(Self(()))
    }

    /// Runs Python code in the call.
    pub(crate) fn run<R>(self, code: impl for<'py> FnOnce(Python<'py>) -> R) -> Option<R> {
        Python::try_attach(code)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        calls().n_begun -= 1;
        CHANGED.notify_all();
    }
}

/// Waits for the calls that have begun. No other begins.
pub(crate) fn end(py: Python<'_>) {
    py.detach(|| {
        let mut calls = calls();
        calls.is_ended = true;
        drop(CHANGED.wait_timeout_while(calls, LIMIT, |calls| calls.n_begun > 0));
    });
}
