//! Copies of one device to or from memory that another device has exported to it.
//!
//! The hazard table of neither device has the work of the other. So each waits for the other's stream, and
//! the exporter records that its bytes are in use until then.

use vkarray_driver::Stream;
use vkarray_driver::hazard::{Mode, Stage};

use super::between::BlockRange;
use crate::error::{Error, Result};
use crate::memory::ConnectionSync;

/// Records the copy that `copy` records on the stream `by`, after earlier work of the exporting side on its bytes, and
/// before its later work on them. The copy uses the bytes in `mode`. Returns at once.
pub(super) fn copy_imported(
    (exporter, mode): (&BlockRange<'_>, Mode),
    by: &Stream,
    copy: impl FnOnce() -> Result<()>,
) -> Result<ConnectionSync> {
    exporter.record_use(mode)?;
    by.wait_for(&exporter.stream.point()?)?;
    copy()?;
    exporter.stream.wait_for(&by.point()?)?;
    exporter.record_use(mode)?;
    Ok(ConnectionSync::HostWait)
}

impl BlockRange<'_> {
    /// Records an operation without commands that uses the bytes, so that they are ordered with other streams of their device.
    fn record_use(&self, mode: Mode) -> Result<()> {
        let access = match mode {
            Mode::Read => self.block.read(self.range.clone(), Stage::Transfer),
            Mode::Write => self.block.write(self.range.clone(), Stage::Transfer),
        };
        // SAFETY: nothing is recorded, so nothing touches memory that is not listed.
        unsafe { self.stream.record(&[access], |_| Ok::<_, Error>(())) }
    }
}
