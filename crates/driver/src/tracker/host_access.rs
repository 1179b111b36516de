//! Bytes of a block that the host reads or writes in place, and that the device must not use meanwhile.
//!
//! Host accesses are stored in the tracker beside the device's uses. Beginning a host access and ordering an operation
//! are each one step under the tracker's lock, so neither can miss the other. A leaked guard keeps its host access in
//! the tracker until the block is retired.
//!
//! [`HostAccesses`] is pure. [`HostAccessKind`] says which accesses wait and which are refused; `gate.rs` makes threads
//! wait.

use std::ops::Range;
use std::thread::{self, ThreadId};

use slotmap::{DefaultKey, DenseSlotMap};
use smallvec::SmallVec;

use super::{Point, Tracker, TrackerState};
use crate::error::{Error, Result};
use crate::hazard::{BlockAccess, BlockId, Mode};

/// How long a host access lasts, which decides whether conflicting operations wait or fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostAccessKind {
    /// The access lasts as long as a copy: conflicting operations and host accesses wait.
    Brief,
    /// The access lasts as long as the program keeps a guard: conflicting operations and host accesses fail.
    Lasting,
    /// The access lasts as long as this thread records operations that belong together. Operations of other threads
    /// wait, and this thread's own operations do not. The host does not touch the bytes.
    Recording,
}

/// Bytes of a block that the host accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HeldBytes {
    block: BlockId,
    range: Range<u64>,
    mode: Mode,
    kind: HostAccessKind,
    thread: ThreadId,
}

/// The host accesses of one device.
#[derive(Debug, Default)]
pub(crate) struct HostAccesses {
    held: DenseSlotMap<DefaultKey, HeldBytes>,
}

impl HostAccesses {
    /// Whether there are no host accesses, which is the usual case.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether an operation with these accesses must wait for a host access that ends soon.
    ///
    /// # Errors
    ///
    /// [`Error::HeldByHost`] if the operation conflicts with a [lasting](HostAccessKind::Lasting) host access.
    pub(crate) fn conflict(&self, accesses: &[BlockAccess]) -> Result<bool> {
        let mut is_any = false;
        for access in accesses {
            is_any |= self.conflicts(access.block, &access.range, access.mode)?;
        }
        Ok(is_any)
    }

    fn conflicts(&self, block: BlockId, range: &Range<u64>, mode: Mode) -> Result<bool> {
        let mut is_any = false;
        for held in self.held.values() {
            let shares = held.block == block && held.range.start < range.end && range.start < held.range.end;
            if !shares || (held.mode == Mode::Read && mode == Mode::Read) {
                continue;
            }
            match held.kind {
                HostAccessKind::Lasting => {
                    return Err(Error::HeldByHost { range: held.range.clone(), mode: held.mode });
                }
                HostAccessKind::Recording if held.thread == thread::current().id() => {}
                HostAccessKind::Recording | HostAccessKind::Brief => is_any = true,
            }
        }
        Ok(is_any)
    }

    /// Adds a host access that conflicts with no other, and returns its key.
    fn add(&mut self, block: BlockId, range: Range<u64>, mode: Mode, kind: HostAccessKind) -> DefaultKey {
        self.held.insert(HeldBytes { block, range, mode, kind, thread: thread::current().id() })
    }

    /// Ends the host accesses of a retired block.
    pub(crate) fn retire(&mut self, block: BlockId) {
        if !self.held.is_empty() {
            self.held.retain(|_, held| held.block != block);
        }
    }
}

/// The host's access to bytes of a block. The access ends when this guard is dropped or, if the guard is leaked, when
/// the block is retired.
#[derive(Debug)]
#[must_use = "the host access ends when this is dropped"]
pub struct HostAccess<'a> {
    tracker: &'a Tracker,
    id: DefaultKey,
}

impl Drop for HostAccess<'_> {
    fn drop(&mut self) {
        if self.tracker.process.is_forked() {
            return; // In a forked process the lock may stay locked for ever.
        }
        // The host accesses of a retired block have ended already.
        self.tracker.host_access.end(&self.tracker.state, |state| {
            state.host_accesses.held.remove(self.id);
        });
    }
}

impl Tracker {
    /// Begins the host's access to the bytes `range` of a block, and returns the points to wait for before the bytes are
    /// touched. Blocks only for brief host accesses of other threads.
    pub(crate) fn begin_host_access(
        &self,
        block: BlockId,
        range: Range<u64>,
        mode: Mode,
        kind: HostAccessKind,
    ) -> Result<(HostAccess<'_>, SmallVec<[Point; 2]>)> {
        let conflicts = |state: &TrackerState| state.host_accesses.conflicts(block, &range, mode);
        let mut state = self.host_access.pass(&self.state, conflicts)?;
        let points = state.uses(block, range.clone(), mode);
        let id = state.host_accesses.add(block, range, mode, kind);
        drop(state);
        Ok((HostAccess { tracker: self, id }, points))
    }

    /// Blocks until no brief host access conflicts with these accesses.
    pub(crate) fn wait_for_host_accesses(&self, accesses: &[BlockAccess]) -> Result<()> {
        let conflicts = |state: &TrackerState| state.host_accesses.conflict(accesses);
        self.host_access.pass(&self.state, conflicts).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::hazard::{HazardTable, Stage};

    #[derive(Debug, PartialEq)]
    enum Answer {
        Free,
        Wait,
        Refused,
    }

    #[test]
    fn writes_exclude_each_other_and_reads_do_not() {
        use Answer::{Free, Refused, Wait};
        let mut table = HazardTable::new();
        let (block, other) = (table.add_block(), table.add_block());
        // The mode and kind of the bytes that are held, then the block, bytes and mode of the access, and its outcome.
        let cases = [
            (Mode::Read, HostAccessKind::Lasting, block, 0..100, Mode::Read, Free),
            (Mode::Read, HostAccessKind::Lasting, block, 0..100, Mode::Write, Refused),
            (Mode::Write, HostAccessKind::Lasting, block, 0..100, Mode::Read, Refused),
            (Mode::Write, HostAccessKind::Lasting, block, 0..100, Mode::Write, Refused),
            (Mode::Write, HostAccessKind::Brief, block, 0..100, Mode::Read, Wait),
            (Mode::Read, HostAccessKind::Brief, block, 0..100, Mode::Write, Wait),
            (Mode::Write, HostAccessKind::Recording, block, 0..100, Mode::Write, Free), // Of the same thread.
            (Mode::Write, HostAccessKind::Lasting, other, 0..100, Mode::Write, Free),   // Another block.
            (Mode::Write, HostAccessKind::Lasting, block, 0..10, Mode::Write, Free),    // Up to the held bytes.
            (Mode::Write, HostAccessKind::Lasting, block, 20..u64::MAX, Mode::Write, Free), // From their end on.
            (Mode::Write, HostAccessKind::Lasting, block, 19..u64::MAX, Mode::Write, Refused), // The last of them.
            (Mode::Write, HostAccessKind::Lasting, block, 15..15, Mode::Write, Refused), // Nothing, but in their midst.
        ];
        for (held, kind, block_of, range, mode, expected) in cases {
            let mut holds = HostAccesses::default();
            let id = holds.add(block, 10..20, held, kind);
            let access =
                BlockAccess { block: block_of, range: range.clone(), mode, stage: Stage::Compute, ordered: false };
            let answer = match holds.conflict(slice::from_ref(&access)) {
                Ok(false) => Free,
                Ok(true) => Wait,
                Err(_) => Refused,
            };
            assert_eq!(answer, expected, "{held:?} {kind:?}, {range:?} {mode:?}");
            assert!(holds.held.remove(id).is_some());
            assert!(holds.is_empty() && !holds.conflict(&[access]).unwrap());
        }
    }

    #[test]
    fn bytes_that_a_thread_records_on_are_held_for_it_alone() {
        let mut table = HazardTable::new();
        let block = table.add_block();
        let mut holds = HostAccesses::default();
        thread::scope(|scope| {
            let theirs = scope.spawn(|| holds.add(block, 10..20, Mode::Read, HostAccessKind::Recording));
            theirs.join().unwrap();
        });
        assert!(!holds.conflicts(block, &(0..100), Mode::Read).unwrap());
        assert!(holds.conflicts(block, &(0..100), Mode::Write).unwrap());
    }

    #[test]
    fn a_retired_block_takes_its_holds_along() {
        let mut table = HazardTable::new();
        let (block, other) = (table.add_block(), table.add_block());
        let mut holds = HostAccesses::default();
        let leaked = holds.add(block, 0..1, Mode::Write, HostAccessKind::Lasting);
        let kept = holds.add(other, 0..1, Mode::Write, HostAccessKind::Lasting);
        holds.retire(block);
        assert!(holds.held.remove(leaked).is_none()); // The guard of a block that is gone.
        assert_eq!(holds.held.keys().collect::<Vec<_>>(), [kept]);
    }
}
