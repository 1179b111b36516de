//! Queries and waits for the uses of cached ranges.
//!
//! No lock of the pool is held here. Callers copy the uses of a range, and later store the uses that are left, which
//! takes effect only if the range has not been reused meanwhile.

use std::time::{Duration, Instant};

use smallvec::SmallVec;
use vkarray_driver::hazard::LaneId;
use vkarray_driver::{Device, Error as DriverError};

use super::thread_cache::Uses;
use crate::error::Result;
use crate::memory::PendingUses;

impl Uses for PendingUses {
    type Lane = LaneId;

    #[inline]
    fn are_over(&self) -> bool {
        self.is_empty()
    }

    #[inline]
    fn lane(&self) -> Option<LaneId> {
        if let [only] = **self { Some(only.lane) } else { None }
    }
}

/// Asks which uses are over. A lane that was found busy is not asked again.
#[derive(Debug)]
pub(super) struct CompletionQuery<'a> {
    device: &'a Device,
    /// For each busy lane, the lowest value that the lane is known not to have reached.
    busy: SmallVec<[(LaneId, u64); 8]>,
}

impl<'a> CompletionQuery<'a> {
    pub(super) fn new(device: &'a Device) -> Self {
        Self { device, busy: SmallVec::new() }
    }

    /// Removes the uses that are over from `uses`. Never blocks.
    ///
    /// # Errors
    ///
    /// The loss of the device. Uses that could not be queried stay.
    pub(super) fn forget_complete(&mut self, uses: &mut PendingUses) -> Result<()> {
        let is_busy = |(lane, value): (LaneId, u64)| self.busy.iter().any(|held| held.0 == lane && held.1 <= value);
        if uses.iter().all(|last| is_busy((last.lane, last.value))) {
            return Ok(());
        }
        uses.change(|uses| self.device.forget_complete(uses)).transpose()?;
        for left in uses.iter() {
            match self.busy.iter_mut().find(|held| held.0 == left.lane) {
                Some(held) => held.1 = held.1.min(left.value),
                None => self.busy.push((left.lane, left.value)),
            }
        }
        Ok(())
    }
}

/// Submits the work of `uses` that is still being recorded. Does not wait.
pub(super) fn send(device: &Device, uses: &PendingUses) -> Result<()> {
    Ok(device.points(uses).iter().try_for_each(|point| point.flush())?)
}

/// Waits until `uses` are over, for `limit` at most. Returns whether they are over.
pub(super) fn wait(device: &Device, uses: &PendingUses, limit: Option<Duration>) -> Result<bool> {
    let begun = Instant::now();
    let left = || limit.map(|limit| limit.saturating_sub(begun.elapsed()));
    match device.points(uses).iter().try_for_each(|point| point.wait(left())) {
        Err(DriverError::Timeout { .. }) => Ok(false),
        other => Ok(other.map(|()| true)?),
    }
}
