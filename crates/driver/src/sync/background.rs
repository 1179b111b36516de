//! Threads of the library that may drop the last handle of an object of the program.
//!
//! The program does not wait for such a thread, so the thread may still run while the process exits.

use std::cell::Cell;

thread_local! {
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// Marks the calling thread as one of the library. If such a thread drops the last handle of a device, a thread of the
/// program closes the device later.
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
