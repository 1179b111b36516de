//! Whether the process can open files. If it cannot, the loader finds neither drivers nor layers and reports that there
//! are none.

use crate::error::Error;

/// More descriptors than the loader and a driver have open at a time while a device is looked for.
const NEEDED: usize = 16;

/// Replaces an error of the loader by its likely cause, if fewer file descriptors are free than the loader needs. Any
/// other error is returned unchanged.
pub(super) fn or_no_descriptors(error: Error) -> Error {
    match error {
        Error::LoaderMissing { .. }
        | Error::NoDevice { .. }
        | Error::ValidationMissing { .. }
        | Error::Vulkan { .. }
            if !has_descriptors() =>
        {
            Error::NoDescriptors { needed: NEEDED }
        }
        error => error,
    }
}

#[cfg(unix)]
fn has_descriptors() -> bool {
    use std::fs::File;
    use std::io;

    let opened: io::Result<Vec<File>> = (0..NEEDED).map(|_| File::open("/dev/null")).collect();
    let is_full = |error: io::Error| matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
    !opened.is_err_and(is_full)
}

#[cfg(not(unix))]
fn has_descriptors() -> bool {
    true
}
