//! [`PendingUses`]: the work that may still use memory, in one word; and [`CompletionQuery`], which asks the device how
//! much of it is over.
//!
//! Pointers and ranges are moved several times during an allocation and a free, and mostly have no such work. The list
//! is therefore on the heap. It is allocated at the first use of a range and reused afterwards. No lock is held while
//! the device is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::Deref;
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use vkarray_driver::hazard::{LaneId, LastUse, LastUses, merge_last_use};
use vkarray_driver::{Device, Error as DriverError, Point};

use crate::error::{PendingOn, Result};

/// Work that may still use memory. The tests without a device have uses of counters.
pub(crate) trait Uses: Clone + Default {
    /// Identifies a lane, the order of one stream.
    type Lane: Copy + PartialEq + Default;

    /// Whether all uses are known to be over.
    fn are_over(&self) -> bool;

    /// The uses that may not be over: the lanes, and the values that their timelines reach at the end of the uses.
    fn values(&self) -> impl ExactSizeIterator<Item = (Self::Lane, u64)>;

    /// Adds other uses. Of two uses on one lane the later stands for both.
    fn merge(&mut self, others: &Self);

    /// The lane of the uses, if all uses are on one lane.
    #[inline]
    fn lane(&self) -> Option<Self::Lane> {
        let mut values = self.values();
        if values.len() == 1 { values.next().map(|(lane, _)| lane) } else { None }
    }
}

/// Last uses, in a list on the heap.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingUses(Option<Box<LastUses>>);

impl Uses for PendingUses {
    type Lane = LaneId;

    #[inline]
    fn are_over(&self) -> bool {
        self.is_empty()
    }

    #[inline]
    fn values(&self) -> impl ExactSizeIterator<Item = (LaneId, u64)> {
        self.iter().map(|last| (last.lane, last.value))
    }

    fn merge(&mut self, others: &Self) {
        others.iter().for_each(|last| merge_last_use(self.0.get_or_insert_default(), last));
    }
}

impl PendingUses {
    /// Replaces the uses.
    pub(crate) fn set(&mut self, uses: LastUses) {
        match &mut self.0 {
            Some(held) => **held = uses,
            None if uses.is_empty() => {}
            None => self.0 = Some(Box::new(uses)),
        }
    }

    /// Removes the uses; the list stays allocated.
    pub(crate) fn take(&mut self) -> LastUses {
        self.0.as_deref_mut().map(mem::take).unwrap_or_default()
    }

    /// Removes the uses that are over. Never blocks.
    ///
    /// # Errors
    ///
    /// The loss of the device. Uses that could not be queried stay.
    pub(crate) fn forget_complete(&mut self, device: &Device) -> Result<()> {
        Ok(self.0.as_deref_mut().map_or(Ok(()), |uses| device.forget_complete(uses))?)
    }

    /// Waits until the uses are over, for `limit` at most. Returns whether they are over.
    pub(crate) fn wait(&self, device: &Device, limit: Option<Duration>) -> Result<bool> {
        let begun = Instant::now();
        let left = || limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        match device.points(self).iter().try_for_each(|point| point.wait(left())) {
            Err(DriverError::Timeout { .. }) => Ok(false),
            other => Ok(other.map(|()| true)?),
        }
    }
}

impl Deref for PendingUses {
    type Target = [LastUse];

    #[inline]
    fn deref(&self) -> &[LastUse] {
        self.0.as_deref().map_or(&[], LastUses::as_slice)
    }
}

/// Whether all points are over.
pub(crate) fn are_complete(points: &[Point]) -> Result<bool> {
    for point in points {
        if !point.is_complete()? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Asks which uses are over. A lane that was found busy is not asked again.
#[derive(Debug)]
pub(crate) struct CompletionQuery<L, F> {
    ask: F,
    /// For each busy lane, the lowest value that the lane is known not to have reached.
    busy: SmallVec<[(L, u64); 8]>,
}

impl<L: Copy + PartialEq, F> CompletionQuery<L, F> {
    /// A query that removes the uses that are over by calling `ask`.
    pub(crate) fn new(ask: F) -> Self {
        Self { ask, busy: SmallVec::new() }
    }

    /// Removes the uses that are over from `uses`. Never blocks.
    ///
    /// # Errors
    ///
    /// The error of `ask`: the loss of the device. Uses that could not be queried stay.
    pub(crate) fn forget_complete<U: Uses<Lane = L>, E>(&mut self, uses: &mut U) -> Result<(), E>
    where
        F: FnMut(&mut U) -> Result<(), E>,
    {
        let busy = &mut self.busy;
        if uses.values().all(|(lane, value)| busy.iter().any(|held| held.0 == lane && held.1 <= value)) {
            return Ok(());
        }
        (self.ask)(uses)?;
        for (lane, value) in uses.values() {
            match busy.iter_mut().find(|held| held.0 == lane) {
                Some(held) => held.1 = held.1.min(value),
                None => busy.push((lane, value)),
            }
        }
        Ok(())
    }
}

/// Sums bytes by the streams whose work may still use them. Bytes with uses on several streams count for each.
pub(crate) fn bytes_by_stream<'a>(
    device: &Device,
    pending: impl Iterator<Item = (&'a PendingUses, u64)>,
) -> Vec<PendingOn> {
    let mut by_stream = BTreeMap::<Option<u64>, u64>::new();
    for (uses, bytes) in pending {
        let streams: BTreeSet<_> = device.points(uses).iter().map(|point| point.timeline().stream_number()).collect();
        for stream in streams {
            *by_stream.entry(stream).or_default() += bytes;
        }
    }
    by_stream.into_iter().map(|(stream, bytes)| PendingOn { stream, bytes }).collect()
}

#[cfg(test)]
mod tests {
    use vkarray_driver::hazard::{BlockAccess, HazardTable, Operation, Order, Stage};

    use super::*;

    /// Uses of counters, by lane and value.
    impl Uses for Vec<(u8, u64)> {
        type Lane = u8;

        fn are_over(&self) -> bool {
            self.is_empty()
        }

        fn values(&self) -> impl ExactSizeIterator<Item = (u8, u64)> {
            self.iter().copied()
        }

        fn merge(&mut self, others: &Self) {
            for &(lane, value) in others {
                match self.iter_mut().find(|held| held.0 == lane) {
                    Some(held) => held.1 = held.1.max(value),
                    None => self.push((lane, value)),
                }
            }
        }
    }

    /// One use.
    fn used() -> LastUses {
        let mut table = HazardTable::new();
        let (lane, block) = (table.add_lane(), table.add_block());
        let access = [BlockAccess::write(block, 0..4, Stage::Transfer)];
        assert_eq!(table.order(lane, 1, Operation::Once(&access)), Order::Ready(None));
        table.retire_block(block)
    }

    #[test]
    fn what_is_set_is_there_until_it_is_taken() {
        let mut pending = PendingUses::default();
        pending.set(LastUses::new());
        assert!(pending.is_empty() && pending.0.is_none(), "no list without uses");
        let uses = used();
        pending.set(uses.clone());
        assert_eq!(pending.len(), 1);
        assert_eq!(*pending, *uses);
        let list: *const LastUses = pending.0.as_deref().unwrap();
        assert_eq!(pending.take(), uses);
        assert!(pending.is_empty());
        pending.set(uses);
        assert!(std::ptr::eq(list, pending.0.as_deref().unwrap()), "the list is reused");
        let mut merged = PendingUses::default();
        assert!(merged.are_over() && merged.lane().is_none() && merged.0.is_none());
        merged.merge(&pending);
        merged.merge(&pending);
        assert_eq!((merged.len(), merged.lane()), (1, Some(pending[0].lane)), "two uses on one lane are one");
    }
}
