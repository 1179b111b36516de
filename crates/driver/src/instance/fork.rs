//! Whether the process that uses Vulkan objects is the one that made them.
//!
//! A forked child has copies of the handles, but no thread of the driver or of this library. On some drivers the child
//! shares the memory behind the handles with its parent. So every call checks the process before it takes a lock, with
//! [`Device::check_process`](crate::Device::check_process) or `check_lost`: a thread that held the lock at the fork
//! does not exist in the child. In a child each call returns an error, or the value of an object without any work, and
//! drops destroy nothing. A handler of `pthread_atfork` counts forks, so the check costs one load.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};

/// How many forks lie between the process in which counting began and this one. It is a property of the process, not of
/// a device.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that created an object, to be compared with the process that uses it.
///
/// ```
/// use vkarray_driver::ProcessId;
///
/// let opened_by = ProcessId::current();
/// assert!(!opened_by.is_forked()); // Still the same process.
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ProcessId {
    forks: u32,
    process: u32,
}

impl ProcessId {
    /// Returns the calling process.
    pub fn current() -> Self {
        count_forks();
        Self { forks: FORKS.load(Ordering::Relaxed), process: process::id() }
    }

    /// Whether the calling process is a fork of the process that this value names.
    #[inline]
    pub fn is_forked(self) -> bool {
        FORKS.load(Ordering::Relaxed) != self.forks
    }

    /// Ends the calling process, which is a fork of the process that this value names and has no other thread.
    ///
    /// Exit handlers do not run: the handlers of drivers join threads that only the parent has, and lavapipe's handler
    /// crashed.
    pub(crate) fn end_fork(self) {
        debug_assert!(self.is_forked(), "this process goes on");
        #[cfg(unix)]
        // SAFETY: `_exit` may be called at any time, also in a fork of a process with threads.
        unsafe {
            libc::_exit(0)
        };
    }

    pub(crate) fn check(self) -> Result<()> {
        if self.is_forked() {
            return Err(Error::Forked { opened_by: self.process, used_by: process::id() });
        }
        Ok(())
    }
}

/// Registers the handler that counts forks, once for the process.
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
