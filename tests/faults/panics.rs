//! Panics of the program's code on the device's waiting thread, which continues and reports them.

use std::panic::panic_any;
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use vkarray::Groups;

use crate::host_semaphore::HostSemaphore;
use crate::kernels::{step, stepped};
use crate::refused::{on_device, refuse};

/// The logger of this process. During a watch, it keeps the messages that threads of the library log, and panics as
/// [`Logger::watch`] says.
struct Logger(Mutex<Option<Watched>>);

#[derive(Default)]
struct Watched {
    texts: Vec<String>,
    /// How many more messages that begin with `refused` make the logger panic.
    n_panics: u32,
    refused: &'static str,
}

static LOGGER: Logger = Logger(Mutex::new(None));

impl Logger {
    fn watched(&self) -> MutexGuard<'_, Option<Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a watch. The logger panics at the next `n_panics` messages that begin with `refused`.
    fn watch(&'static self, refused: &'static str, n_panics: u32) {
        static SET: Once = Once::new();
        SET.call_once(|| log::set_logger(self).unwrap());
        *self.watched() = Some(Watched { refused, n_panics, ..Watched::default() });
        log::set_max_level(log::LevelFilter::Debug);
    }

    /// Ends the watch, and returns the logged messages.
    fn end(&self) -> Vec<String> {
        log::set_max_level(log::LevelFilter::Off);
        self.watched().take().unwrap().texts
    }
}

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if thread::current().name() != Some("vkarray-waiter") {
            return;
        }
        let Some(watched) = &mut *self.watched() else { return };
        let text = record.args().to_string();
        if watched.n_panics > 0 && text.starts_with(watched.refused) {
            watched.n_panics -= 1;
            panic_any(Hostile(2));
        }
        watched.texts.push(text);
    }

    fn flush(&self) {}
}

/// The payload of a panic. Dropping it panics with another payload, this many times.
struct Hostile(u32);

impl Drop for Hostile {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Self(self.0 - 1));
        }
    }
}

#[test]
fn callbacks_run_after_one_whose_payload_panics_when_it_is_dropped() {
    on_device("callbacks after a panic", |_, ctx| {
        LOGGER.watch("", 0);
        let (stream, (sender, receiver)) = (ctx.stream().unwrap(), mpsc::channel());
        for n in 0..3 {
            stream.add_callback(move |_| panic_any(Hostile(n))).unwrap();
        }
        stream.add_callback(move |outcome| sender.send(outcome).unwrap()).unwrap();
        receiver.recv().unwrap().unwrap();
        assert_eq!(LOGGER.end(), ["a stream's callback panicked: no message"; 3]);
    });
}

#[test]
fn callbacks_run_after_one_whose_panic_the_logger_does_not_take() {
    on_device("callbacks with a logger that panics", |_, ctx| {
        LOGGER.watch("a stream's callback", 1);
        let (stream, (sender, receiver)) = (ctx.stream().unwrap(), mpsc::channel());
        for text in ["first", "second"] {
            stream.add_callback(move |_| panic!("{text}")).unwrap();
        }
        stream.add_callback(move |outcome| sender.send(outcome).unwrap()).unwrap();
        receiver.recv().unwrap().unwrap();
        assert_eq!(LOGGER.end(), ["a stream's callback panicked: second"]);
    });
}

#[test]
fn work_that_no_thread_waits_for_is_submitted_although_the_logger_panics() {
    on_device("old batches with a logger that panics", |table, ctx| {
        let (step, stream) = (step(&ctx), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        LOGGER.watch("cannot send", 3);
        table.arm(refuse("vkQueueSubmit2", 20));
        step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, 1_u32)).unwrap();
        let point = stream.point().unwrap();
        while !point.is_complete().unwrap() {
            thread::yield_now();
        }
        table.disarm();
        let texts = LOGGER.end();
        let n_said = texts.iter().filter(|text| *text == "the waiting thread panicked and goes on: no message").count();
        assert_eq!(n_said, 3, "{texts:?}");
        assert_eq!(array.copy_to_host().unwrap().first(), Some(&stepped(1, 1)));
    });
}

#[test]
fn the_waiting_thread_pauses_while_a_semaphore_value_cannot_be_read() {
    on_device("a value that is never read", |table, ctx| {
        let semaphore = HostSemaphore::new(ctx.device());
        let (stream, (sender, receiver)) = (ctx.stream().unwrap(), mpsc::channel());
        stream.wait_for(&semaphore.point(1)).unwrap();
        stream.add_callback(move |outcome| sender.send(outcome).unwrap()).unwrap();
        let begun = Instant::now();
        table.arm(refuse("vkGetSemaphoreCounterValue", u32::MAX));
        semaphore.signal(1);
        while table.n_failed() < 20 {
            thread::yield_now();
        }
        // A pause takes a millisecond at least, so there is at most one query a millisecond.
        let (n_asked, passed) = (u128::from(table.n_failed()), begun.elapsed() + Duration::from_millis(1));
        table.disarm();
        assert!(n_asked <= passed.as_millis(), "{n_asked} questions in {passed:?}");
        receiver.recv().unwrap().unwrap();
        stream.synchronize().unwrap();
        drop(semaphore);
    });
}
