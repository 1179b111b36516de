//! Panics of the libraries that the command calls, as errors: [`catch_panic`].
//!
//! A decoder may panic on a damaged file. The command then reports that file, without a backtrace.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

thread_local! {
    /// The place in the source of this thread's last panic.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Stops panics from being printed. [`catch_panic`] and the library make errors of them.
pub(crate) fn silence() {
    set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        PLACE.with(|last| last.replace(place));
    }));
}

/// Runs `work`. If it panics, returns the panic's message and its place in the source.
///
/// Values that `work` was changing when it panicked may be half changed, so callers do not use them afterwards.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let reason = message(payload.as_ref());
        match PLACE.with(RefCell::take) {
            Some(place) => format!("{reason} ({place})"),
            None => reason,
        }
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(catch_panic(|| 3), Ok(3));
        let zero = std::hint::black_box(0_usize);
        assert_eq!(
            catch_panic(|| [1, 2][zero + 2]).unwrap_err(),
            "index out of bounds: the len is 2 but the index is 2"
        );
        assert_eq!(catch_panic(|| panic!("words")), Err::<(), _>("words".to_owned()));
    }
}
