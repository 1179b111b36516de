//! Why a check ended early.

use vkarray_allocator::Error as MemoryError;
use vkarray_driver::Error as DriverError;

/// A check that does not pass.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Objection {
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Skipped(String),
}

impl Objection {
    pub(crate) fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped(reason.into())
    }
}

impl From<MemoryError> for Objection {
    fn from(error: MemoryError) -> Self {
        Self::Failed(format!("expected no error, and got: {error}"))
    }
}

impl From<DriverError> for Objection {
    fn from(error: DriverError) -> Self {
        MemoryError::from(error).into()
    }
}

/// Fails with what `says` says, unless `holds`.
pub(crate) fn expect(holds: bool, says: impl FnOnce() -> String) -> Result<(), Objection> {
    if holds { Ok(()) } else { Err(Objection::Failed(says())) }
}
