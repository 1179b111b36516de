//! Plans a graph from the accesses of its steps: the barriers between them, and the accesses of the graph as a whole.
//!
//! Pure. The edges inside a graph never change between replays, so they are planned once, in a hazard table that
//! belongs to the graph. The device's table orders a replay against the work around it, as one operation with the
//! accesses of [`merged`]. Read `mod.rs` next.

use std::collections::HashMap;
use std::ops::Range;

use smallvec::SmallVec;

use crate::hazard::{Barrier, BlockAccess, BlockId, HazardTable, Mode, Operation, Order, Stage};

/// How many ranges of one block, stage and mode are kept apart. More ranges become one that spans them all.
const MAX_EXACT: usize = 4;

/// The batch that stands for one replay in the graph's own table.
const REPLAY: u64 = 1;

/// The barrier that goes before each step.
pub(super) fn barriers<'a>(steps: impl Iterator<Item = &'a [BlockAccess]>) -> Vec<Option<Barrier>> {
    let mut table = HazardTable::new();
    let lane = table.add_lane();
    let mut blocks: HashMap<BlockId, BlockId> = HashMap::new(); // The device's name of a block, and the table's own.
    let barriers = steps.map(|accesses| {
        let mut own = |block| *blocks.entry(block).or_insert_with(|| table.add_block());
        let accesses: SmallVec<[BlockAccess; 8]> =
            accesses.iter().map(|access| BlockAccess { block: own(access.block), ..access.clone() }).collect();
        match table.order(lane, REPLAY, Operation::Once(&accesses)) {
            Order::Ready(barrier) => barrier,
            Order::Wait(_) => unreachable!("the table has one lane"),
        }
    });
    barriers.collect()
}

/// The union of all accesses, in few accesses for each block. Ranges may grow, and never shrink.
pub(super) fn merged<'a>(accesses: impl Iterator<Item = &'a BlockAccess>) -> Vec<BlockAccess> {
    let mut kinds: HashMap<(BlockId, Stage, Mode), Vec<Range<u64>>> = HashMap::new();
    let mut bound: HashMap<BlockId, Stage> = HashMap::new(); // Blocks that some access merely keeps alive.
    for access in accesses {
        if access.is_hazard() {
            kinds.entry((access.block, access.stage, access.mode)).or_default().push(access.range.clone());
        } else {
            bound.entry(access.block).or_insert(access.stage);
        }
    }
    for ranges in kinds.values_mut() {
        unite(ranges);
    }
    let is_written = |block, stage, range: &Range<u64>| {
        let written = kinds.get(&(block, stage, Mode::Write)).map_or(&[][..], Vec::as_slice);
        written.iter().any(|written| written.start <= range.start && range.end <= written.end)
    };
    let mut merged = Vec::new();
    for (&(block, stage, mode), ranges) in &kinds {
        // A write is ordered against everything that a read of the same bytes is ordered against.
        let needed = ranges.iter().filter(|range| mode == Mode::Write || !is_written(block, stage, range));
        merged.extend(needed.map(|range| BlockAccess { block, range: range.clone(), mode, stage, ordered: true }));
    }
    let unordered = |(&block, &stage): (&BlockId, &Stage)| BlockAccess::read(block, 0..u64::MAX, stage).unordered();
    merged.extend(bound.iter().map(unordered));
    merged
}

/// Sorts ranges and joins ranges that touch. If more than [`MAX_EXACT`] are left, one range that spans them replaces
/// them.
fn unite(ranges: &mut Vec<Range<u64>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, held| {
        let touches = next.start <= held.end;
        if touches {
            held.end = held.end.max(next.end);
        }
        touches
    });
    if ranges.len() > MAX_EXACT
        && let (Some(first), Some(last)) = (ranges.first(), ranges.last())
    {
        let span = first.start..last.end;
        ranges.clear();
        ranges.push(span);
    }
}

#[cfg(test)]
mod tests;
