//! [`CheckError`]: why a check did not pass.

use vkarray_allocator::Error as MemoryError;
use vkarray_driver::Error as DriverError;

/// A check that did not pass, with the reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckError {
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Skipped(String),
}

impl CheckError {
    pub(crate) fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped(reason.into())
    }
}

impl From<MemoryError> for CheckError {
    fn from(error: MemoryError) -> Self {
        Self::Failed(format!("expected no error, and got: {error}"))
    }
}

impl From<DriverError> for CheckError {
    fn from(error: DriverError) -> Self {
        MemoryError::from(error).into()
    }
}

/// What a manager gave, or the end of the check if the manager does not support what was asked for.
pub(crate) fn supported<T>(outcome: Result<T, MemoryError>) -> Result<T, CheckError> {
    outcome.map_err(|error| match error {
        MemoryError::Unsupported { what } => CheckError::skipped(what),
        error => error.into(),
    })
}

/// Fails with the text of `message`, unless `holds`.
pub(crate) fn expect(holds: bool, message: impl FnOnce() -> String) -> Result<(), CheckError> {
    if holds { Ok(()) } else { Err(CheckError::Failed(message())) }
}
