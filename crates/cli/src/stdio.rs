//! Standard output and input: [`print`], [`json`], and [`read`] for a file that is called `-`.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::error::{Error, Result};

/// Prints on standard output. A pipe that its reader has closed, for example `head`, is not an error.
///
/// # Errors
///
/// [`Error::Report`].
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints any bytes, as [`print`] prints text.
///
/// # Errors
///
/// [`Error::Report`].
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    match io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|reason| Error::Report { reason }),
    }
}

/// A report as JSON, for [`print`].
pub(crate) fn json(report: &impl Serialize) -> String {
    format!("{}\n", serde_json::to_string_pretty(report).expect("plain numbers and texts"))
}

/// Reads standard input to its end.
///
/// # Errors
///
/// [`Error::StdinTwice`] the second time; [`Error::Read`] if standard input cannot be read.
pub(crate) fn read() -> Result<Vec<u8>> {
    static IS_READ: AtomicBool = AtomicBool::new(false);
    if IS_READ.swap(true, Ordering::Relaxed) {
        return Err(Error::StdinTwice);
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|reason| Error::Read { path: "standard input".into(), reason })?;
    Ok(bytes)
}
