//! What one operation does to memory: block, bytes, mode and pipeline stage.
//!
//! This file holds plain values only. `uses.rs` remembers uses, and `mod.rs` compares them. A [`Stage`] stands for a
//! pipeline stage and its access masks; `lane/barrier.rs` turns it into Vulkan's flags.

use std::fmt;
use std::ops::{BitOr, BitOrAssign, Range};

use slotmap::new_key_type;

new_key_type! {
    /// The id of a block of memory in a [`HazardTable`](super::HazardTable). After the block is retired the id names no
    /// block.
    pub struct BlockId;
}

/// A pipeline stage that touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Stage {
    /// Compute shaders, reading and writing storage.
    Compute,
    /// Copies, fills and updates.
    Transfer,
    /// Compute shaders, reading constant memory. Constant memory has another cache than storage, which a barrier for
    /// storage alone need not invalidate.
    Constant,
    /// Indirect dispatches, reading the number of workgroups.
    Indirect,
}

impl Stage {
    /// Every stage, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Compute, Self::Transfer, Self::Constant, Self::Indirect];
    /// How many stages there are.
    pub(super) const COUNT: usize = Self::ALL.len();

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// A set of [`Stage`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Stages(u8);

impl Stages {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Returns the set of one stage.
    pub const fn only(stage: Stage) -> Self {
        Self(1 << stage as u8)
    }

    /// Whether no stage is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `stage` is in the set.
    pub const fn contains(self, stage: Stage) -> bool {
        self.0 & Self::only(stage).0 != 0
    }

    /// Whether each stage of the set is also in `other`.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The set as a number: bit `n` stands for the `n`-th stage.
    pub(crate) const fn bits(self) -> usize {
        self.0 as usize
    }

    /// Iterates over the stages of the set.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Stage> {
        Stage::ALL.into_iter().filter(move |&stage| self.contains(stage))
    }

    /// The stages of the set that `keep` accepts. `keep` is called for every stage, which avoids branches.
    #[inline]
    pub(super) fn filtered(self, keep: impl Fn(Stage) -> bool) -> Self {
        let bit = |stage| u8::from(keep(stage)) << stage as u8;
        let bits = Stage::ALL.map(bit);
        Self(self.0 & (bits[0] | bits[1] | bits[2] | bits[3]))
    }
}

impl From<Stage> for Stages {
    fn from(stage: Stage) -> Self {
        Self::only(stage)
    }
}

impl BitOr for Stages {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Stages {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl FromIterator<Stage> for Stages {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Self {
        stages.into_iter().fold(Self::NONE, |set, stage| set | stage.into())
    }
}

impl fmt::Debug for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Whether an access changes the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Only reads.
    Read,
    /// Writes, or reads and writes.
    Write,
}

/// One range of one block, touched by one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockAccess {
    /// The block of memory.
    pub block: BlockId,
    /// The bytes, from the block's start; an end of `u64::MAX` means up to the block's end.
    ///
    /// An empty range touches nothing and orders nothing, but it keeps the block alive, since the block may be bound.
    pub range: Range<u64>,
    /// Reads or writes.
    pub mode: Mode,
    /// The stage that does it.
    pub stage: Stage,
    /// Whether the access is ordered against others. See [`BlockAccess::unordered`].
    pub ordered: bool,
}

impl BlockAccess {
    /// Describes a read of the bytes `range` of `block` in `stage`.
    pub const fn read(block: BlockId, range: Range<u64>, stage: Stage) -> Self {
        Self { block, range, mode: Mode::Read, stage, ordered: true }
    }

    /// Describes a write, or a read and write, of the bytes `range` of `block` in `stage`.
    pub const fn write(block: BlockId, range: Range<u64>, stage: Stage) -> Self {
        Self { block, range, mode: Mode::Write, stage, ordered: true }
    }

    /// Takes the access out of ordering: it causes no barrier and no wait, neither now nor when a later operation
    /// touches the same bytes. The block still outlives the access.
    #[must_use]
    pub const fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// Whether the access takes part in ordering.
    pub(crate) fn is_hazard(&self) -> bool {
        self.ordered && !self.range.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Stage, Stages};

    #[test]
    fn stages_are_a_set() {
        let lists = || {
            (0..16u8).map(|bits| Stage::ALL.into_iter().filter(|&at| bits >> at as u8 & 1 == 1).collect::<Vec<Stage>>())
        };
        for a in lists() {
            let set: Stages = a.iter().copied().collect();
            assert_eq!(set.iter().collect::<Vec<_>>(), a);
            assert_eq!(set.is_empty(), a.is_empty());
            assert_eq!(set.filtered(|stage| stage != Stage::Transfer).iter().collect::<Vec<_>>(), {
                a.iter().copied().filter(|&stage| stage != Stage::Transfer).collect::<Vec<_>>()
            });
            for b in lists() {
                let other: Stages = b.iter().copied().collect();
                assert_eq!(set.is_subset(other), a.iter().all(|stage| b.contains(stage)), "{a:?} {b:?}");
                let is_in_either = |stage: &Stage| a.contains(stage) || b.contains(stage);
                let union: Vec<Stage> = Stage::ALL.into_iter().filter(is_in_either).collect();
                assert_eq!((set | other).iter().collect::<Vec<_>>(), union, "{a:?} {b:?}");
            }
        }
    }
}
