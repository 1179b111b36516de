//! Threads of the library that may drop the last handle of something of the program.
//!
//! The program waits for no such thread by itself, so one may still run while the process exits.

use std::cell::Cell;

thread_local! {
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// Makes the calling thread one of the library. A device whose last handle it drops is closed later, on a thread of the program.
///
/// ```
/// std::thread::spawn(vkarray_driver::mark_background_thread).join().unwrap();
/// ```
pub fn mark_background_thread() {
    IS_BACKGROUND.set(true);
}

/// Whether the calling thread is one of the library.
pub(crate) fn is_background_thread() -> bool {
    IS_BACKGROUND.get()
}
