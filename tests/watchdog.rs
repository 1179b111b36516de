//! Nothing hangs: what takes longer than it ever should fails its test.

use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Far longer than anything here takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `work` on a thread of its own, and fails if it does not end.
pub(crate) fn watched<R: Send>(what: &str, work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let (done, wait) = mpsc::channel();
        let worker = scope.spawn(move || {
            let result = work();
            // Nobody listens any more if the watchdog has barked.
            done.send(()).ok();
            result
        });
        if let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(LIMIT) {
            // The thread cannot be ended, and the scope would wait for it: the process has to go.
            eprintln!("HANGS: {what} is not done after {LIMIT:?}");
            std::process::abort();
        }
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
