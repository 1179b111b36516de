//! Standard output: [`print`].

use std::io::{self, Write};

use crate::error::{Error, Result};

/// Prints on standard output. A pipe that its reader has closed, as `head` does, is not an error.
///
/// # Errors
///
/// [`Error::Report`].
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|reason| Error::Report { reason }),
    }
}
