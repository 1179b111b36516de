//! Panics of what the command calls, turned into errors.
//!
//! Decoders may panic on hostile files. The command then reports a damaged file, without the output of a panic or a
//! backtrace.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

thread_local! {
    /// Where this thread last panicked.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Stops panics from being printed. Those that matter reach [`contain`], or the library's own errors.
pub(crate) fn silence() {
    set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        PLACE.with(|last| last.replace(place));
    }));
}

/// Runs `work`; a panic becomes its message and its place in the source.
///
/// What `work` was changing when it panicked must not be used again, so callers give it values that they do not use after.
pub(crate) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
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
        assert_eq!(contain(|| 3), Ok(3));
        let zero = std::hint::black_box(0_usize);
        assert_eq!(contain(|| [1, 2][zero + 2]).unwrap_err(), "index out of bounds: the len is 2 but the index is 2");
        assert_eq!(contain(|| panic!("words")), Err::<(), _>("words".to_owned()));
    }
}
