//! Whether the process that uses Vulkan objects is the one that made them.
//!
//! A forked child has the handles, and neither the driver's threads nor ours; on some drivers it even shares the
//! memory behind them with its parent. There every call checks the process before it takes a lock, with
//! [`Device::check_process`](crate::Device::check_process) or `check_lost`: a thread that held the lock at the fork does not
//! exist in the child. The call is refused, or returns what it returns for an object without any work. What is dropped is
//! left as it is. A handler of `pthread_atfork` counts forks, so that the check costs one load.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};

/// How many forks lie between the process that started and this one. Concerns the process, not any device.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that made something.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    forks: u32,
    process: u32,
}

impl Origin {
    /// This process.
    #[must_use]
    pub fn here() -> Self {
        count_forks();
        Self { forks: FORKS.load(Ordering::Relaxed), process: process::id() }
    }

    /// Whether this is another process by now.
    #[must_use]
    #[inline]
    pub fn is_elsewhere(self) -> bool {
        FORKS.load(Ordering::Relaxed) != self.forks
    }

    pub(crate) fn check(self) -> Result<()> {
        if self.is_elsewhere() {
            return Err(Error::Forked { opened_by: self.process, used_by: process::id() });
        }
        Ok(())
    }
}

/// Has the system count from here on, once.
#[cfg(unix)]
fn count_forks() {
    use std::sync::Once;

    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a function of this program that touches one atomic, which is allowed after a fork.
        let code = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        if code != 0 {
            log::warn!("a fork of this process will not be noticed: pthread_atfork returned {code}");
        }
    });
}

#[cfg(not(unix))]
fn count_forks() {}
