//! Memory that two ranks of one host share: the devices of both reach it, so that elements pass by two copies of devices
//! and none of the host. `shared.rs` makes it.
//!
//! A pair of ranks has one [`Mailbox`], which all transfers between them use one after the other. It has a ring of slots
//! for each direction, each for one chunk of a message. A pair exchanges in turns, which both ranks count through all
//! transfers: in each turn each of them sends one message of a few bytes, which orders the devices.
//!
//! Before a rank sends the message of turn *t*, its chunk of *t* is in its slot and it has read the other's chunks up to
//! *t* − [`BEHIND`]. When it has the other's message of *t*, it reads the other's chunk of *t* and writes its own one of
//! *t* + [`AHEAD`]. That chunk replaces the one of *t* + `AHEAD` − `SLOTS` = *t* − `BEHIND`, which the other rank has
//! read, as its message of *t* says. The first chunks of a transfer, up to *t* + `AHEAD` − 1 for its first turn *t*, are
//! written after the message of *t* − 1, and replace chunks up to *t* − 1 − `BEHIND`. So it does not matter to which
//! transfers the chunks belong, whether both directions have one, or whether a transfer ended early: chunks that no
//! message announced are written again in the same turns.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use vkarray::Context;
use vkarray::memory::{Allocator, Block, Result};

use super::shared::{Shared, share};
use super::{Link, Transport, TransportError};

/// The most bytes of a message that are sent at a time, and in a mailbox of a rank with few others on its host. A bus of 50 GB/s carries them in 105 µs; a turn takes the host 30 to
/// 60 µs. Copies above 4 MiB leave the queue of kernels, so that those of both directions run at once. Two H100 (580.159.04,
/// 2026-11-27) reach 25.9 GB/s in each direction at once; other lengths were not measured.
pub(crate) const CHUNK: u64 = 5 << 20;

/// The turns whose chunks the device copies to the host before the host sends the message of the first of them.
pub(crate) const AHEAD: u64 = 2;

/// The turns after which the receiver of a chunk has read it.
pub(crate) const BEHIND: u64 = 2;

/// The chunks that one direction of a mailbox holds.
pub(crate) const SLOTS: u64 = AHEAD + BEHIND;

/// The others on a host with which a rank has mailboxes for chunks of the full length. Not measured: hosts have eight GPUs at
/// most.
const FULL: u64 = 8;

/// The memory that a rank shares with other ranks of its host, for [`Transport::mailboxes`]: 40 MiB for each rank with
/// which it exchanges elements, or 320 MiB for more than eight, from the first exchange on, and as long as this object
/// lives.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray_dist::{Decomposition, DistArray, DistError, ThreadRank, Transport};
///
/// let ctx = Context::open_default()?;
/// let parts = Decomposition::over([10], 2)?;
/// let sorted = ThreadRank::run(2, |rank| {
///     println!("{} shares memory: {}", rank.rank(), rank.mailboxes()?.is_some());
///     DistArray::from_fn(&ctx, rank, &parts, |at| 9 - at[0] as i32)?.sort(0)?.gather()
/// });
/// let whole = sorted.into_iter().next().unwrap()?.unwrap(); // On rank 0.
/// assert_eq!(whole.as_slice().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Default)]
pub struct Mailboxes {
    /// By the other rank. None where memory cannot be shared with it.
    by_rank: RefCell<BTreeMap<usize, Option<Mailbox>>>,
}

/// The memory that two ranks share.
#[derive(Debug)]
struct Mailbox {
    memory: Shared,
    /// The memory on each device of this rank that has used it. The first block of the rank that made pages keeps their
    /// name valid.
    blocks: Vec<Arc<Block>>,
    /// The turns of the pair so far.
    turn: u64,
    /// The directions of the chunks that this rank sends and receives.
    directions: [Direction; 2],
}

/// The direction of the chunks in one half of a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the rank with the greater number.
    Up,
    /// To the rank with the smaller number.
    Down,
}

impl Direction {
    /// The direction from a rank to another one.
    pub(crate) fn between(sender: usize, receiver: usize) -> Self {
        if sender < receiver { Self::Up } else { Self::Down }
    }

    /// The first byte of its slots, each of a chunk.
    pub(crate) fn start(self, chunk: u64) -> u64 {
        if self == Self::Up { 0 } else { SLOTS * chunk }
    }

    /// The bytes of the slot of a turn.
    fn slot(self, turn: u64, chunk: u64) -> Range<u64> {
        let start = self.start(chunk) + turn % SLOTS * chunk;
        start..start + chunk
    }
}

impl Mailboxes {
    /// Finds out with which of these ranks memory can be shared. A pair of ranks finds out once, by two short messages of
    /// each, and so both name each other in the same call.
    pub(crate) fn connect(
        &self,
        context: &Context,
        transport: &dyn Transport,
        ranks: &[usize],
    ) -> std::result::Result<(), TransportError> {
        let mut by_rank = self.by_rank.borrow_mut();
        let new: Vec<_> = ranks.iter().copied().filter(|rank| !by_rank.contains_key(rank)).collect();
        by_rank.extend(new.iter().map(|&rank| (rank, None)));
        for (rank, (memory, block)) in share(context, transport, &new, |near| 2 * SLOTS * chunk_for(near as u64))? {
            let own = transport.rank();
            let directions = [Direction::between(own, rank), Direction::between(rank, own)];
            by_rank.insert(rank, Some(Mailbox { memory, blocks: vec![block], turn: 0, directions }));
        }
        Ok(())
    }

    /// The way of elements to a rank, after [`Mailboxes::connect`].
    pub(crate) fn link(&self, rank: usize) -> Link {
        match self.by_rank.borrow().get(&rank) {
            Some(Some(mailbox)) => mailbox.memory.link(),
            _ => Link::Messages,
        }
    }

    /// The memory that a context shares with those of these ranks with which it can.
    pub(crate) fn open(&self, context: &Context, ranks: &[usize]) -> Result<BTreeMap<usize, Arc<Block>>> {
        let mut by_rank = self.by_rank.borrow_mut();
        let mut shared = BTreeMap::new();
        for &rank in ranks {
            let Some(Some(mailbox)) = by_rank.get_mut(&rank) else { continue };
            let of_context = mailbox.blocks.iter().find(|block| is_of(block, context.allocator())).cloned();
            let block = match of_context {
                Some(block) => block,
                // The other rank counts on this one to use the memory.
                None => {
                    let block = mailbox.memory.open(context)?;
                    mailbox.blocks.push(Arc::clone(&block));
                    block
                }
            };
            shared.insert(rank, block);
        }
        Ok(shared)
    }

    /// The turn of each pair that the next message belongs to. Blocks until no other device of this rank uses the
    /// memory.
    pub(crate) fn turns(&self, context: &Context, ranks: impl Iterator<Item = usize>) -> Result<BTreeMap<usize, u64>> {
        let by_rank = self.by_rank.borrow();
        let mut turns = BTreeMap::new();
        for rank in ranks {
            let Some(Some(mailbox)) = by_rank.get(&rank) else { continue };
            let others = mailbox.blocks.iter().filter(|block| !is_of(block, context.allocator()));
            others.into_iter().try_for_each(|block| block.wait_until_unused(0..block.size()))?;
            turns.insert(rank, mailbox.turn);
        }
        Ok(turns)
    }

    /// Blocks until the message of this turn may be sent to a rank.
    pub(crate) fn wait(&self, rank: usize) -> Result<()> {
        let by_rank = self.by_rank.borrow();
        let Some(Some(Mailbox { blocks, turn, directions: [to, from], .. })) = by_rank.get(&rank) else {
            return Ok(());
        };
        blocks.iter().try_for_each(|block| {
            let chunk = chunk_of(block);
            block.wait_until_unused(to.slot(*turn, chunk))?;
            turn.checked_sub(BEHIND).map_or(Ok(()), |read| block.wait_until_unused(from.slot(read, chunk)))
        })
    }

    /// Ends a turn of the pairs with these ranks: the messages were exchanged.
    pub(crate) fn advance(&self, ranks: &[usize]) {
        let mut by_rank = self.by_rank.borrow_mut();
        for rank in ranks {
            by_rank.get_mut(rank).into_iter().flatten().for_each(|mailbox| mailbox.turn += 1);
        }
    }
}

fn is_of(block: &Block, allocator: &Arc<Allocator>) -> bool {
    Arc::ptr_eq(block.allocator(), allocator)
}

/// The bytes of a chunk of a new mailbox of a rank with so many others on its host.
fn chunk_for(n_others: u64) -> u64 {
    (CHUNK * FULL / n_others.max(FULL)).next_multiple_of(1 << 16)
}

/// The bytes of a chunk of the mailbox in this memory.
pub(crate) fn chunk_of(memory: &Block) -> u64 {
    memory.size() / (2 * SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_replaces_one_that_was_read() {
        for turn in 0..20 {
            let newest = turn + AHEAD;
            let waiting = (turn + 1).saturating_sub(BEHIND)..newest;
            for (one, other) in [(Direction::Up, Direction::Down), (Direction::Down, Direction::Up)] {
                let slot = one.slot(newest, CHUNK);
                assert!(slot.end - slot.start == CHUNK && slot.end <= 2 * SLOTS * CHUNK);
                let used = waiting.clone().map(|turn| one.slot(turn, CHUNK));
                let used = used.chain((0..SLOTS).map(|turn| other.slot(turn, CHUNK)));
                assert!(used.into_iter().all(|used| used.end <= slot.start || slot.end <= used.start), "{turn}");
            }
        }
    }

    #[test]
    fn a_rank_with_many_others_on_its_host_has_short_chunks() {
        assert_eq!([0, 1, 8, 9, 63].map(chunk_for), [CHUNK, CHUNK, CHUNK, 72 << 16, 11 << 16]);
        assert!((9..1000).all(|n_others| chunk_for(n_others) * n_others <= FULL * CHUNK + (n_others << 16)));
    }
}
