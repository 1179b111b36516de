//! Panics of the program's code that must end where the code was called: on threads of the library, in drops, and in
//! functions that drivers call.
//!
//! The program's code here means callbacks, wakers, memory managers, the destructors of values, and the logger. The
//! payload of a panic is a value of the program too.

use std::any::Any;
use std::io::{self, Write as _};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`, and returns what it returns, or the message of its panic.
///
/// The panic's payload is dropped. If that drop panics too, the payload of the second panic is leaked.
///
/// ```
/// use vkarray_driver::catch_panic;
///
/// assert_eq!(catch_panic(|| 3), Ok(3));
/// assert_eq!(catch_panic(|| panic!("on purpose")), Err::<(), _>("on purpose".to_owned()));
/// ```
///
/// # Errors
///
/// The message of the panic, if `work` panics, or `no message` if the panic's payload is no text.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = message(&*payload);
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            mem::forget(second);
        }
        message
    })
}

/// Runs `work`, which is code of the program that `code` names. If it panics, the log says so, and nothing else
/// happens.
///
/// ```
/// use vkarray_driver::contain_panic;
///
/// contain_panic("a callback", || panic!("on purpose")); // Returns.
/// ```
pub fn contain_panic(code: &str, work: impl FnOnce()) {
    if let Err(message) = catch_panic(work) {
        log_in_drop(|| log::error!("{code} panicked: {message}"));
    }
}

/// Runs `log`, which writes to the program's logger, in a place where a panic of the logger must not go on. Such a
/// panic is reported to standard error.
///
/// ```
/// use vkarray_driver::log_in_drop;
///
/// log_in_drop(|| println!("a logger may panic here"));
/// ```
pub fn log_in_drop(log: impl FnOnce()) {
    if let Err(message) = catch_panic(log) {
        // The result is ignored, since standard error may be closed.
        let _ = writeln!(io::stderr(), "vkarray: the logger of the program panicked: {message}");
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    /// A payload whose drop panics with another such payload, for the given number of times.
    struct Hostile(u32);

    impl Drop for Hostile {
        fn drop(&mut self) {
            if self.0 > 0 {
                panic_any(Self(self.0 - 1));
            }
        }
    }

    #[test]
    fn a_payload_whose_drop_panics_goes_no_further() {
        for n in 0..4 {
            assert_eq!(catch_panic(|| panic_any(Hostile(n))), Err::<(), _>("no message".to_owned()), "{n}");
            contain_panic("a test", || panic_any(Hostile(n)));
            log_in_drop(|| panic_any(Hostile(n)));
        }
    }

    #[test]
    fn messages_of_both_kinds_are_found() {
        assert_eq!(catch_panic(|| panic!("words")), Err::<(), _>("words".to_owned()));
        assert_eq!(catch_panic(|| panic!("{} words", 3)), Err::<(), _>("3 words".to_owned()));
    }
}
