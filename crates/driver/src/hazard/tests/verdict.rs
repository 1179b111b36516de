//! Judges whether a program that ran on the weakly ordered machine was ordered well, by two independent verdicts. One
//! compares every pair of accesses with the graph. The other runs the graph in a random order and compares the values
//! with the values of the program run in order.

use super::machine::{Machine, Node, Set, has, overlap};
use super::program::{N_CELLS, Rng, mix};

/// Judges a program that has run.
pub(super) fn judge(machine: &Machine, rng: &mut Rng) -> Result<(), String> {
    let closure = machine.closure();
    check_pairs(&machine.nodes, &closure)?;
    if machine.nodes.iter().all(|node| node.touch.is_ordered) {
        let in_order = execute(&machine.nodes, &in_order(&machine.nodes));
        for is_latest_first in [true, false] {
            let order = weak_order(&machine.nodes, &closure, is_latest_first, rng)?;
            if execute(&machine.nodes, &order) != in_order {
                return Err(format!("another result in the order {order:?}"));
            }
        }
    }
    Ok(())
}

/// Checks that each access runs after all earlier ones that it conflicts with.
fn check_pairs(nodes: &[Node], closure: &[Set]) -> Result<(), String> {
    for (at, later) in nodes.iter().enumerate() {
        if has(closure[at], at) {
            return Err(format!("deadlock: {later:?} waits for itself"));
        }
        for (before, earlier) in nodes[..at].iter().enumerate() {
            let is_promised = earlier.owner != later.owner || (earlier.touch.is_ordered && later.touch.is_ordered);
            let is_conflict = earlier.operation != later.operation
                && overlap(&earlier.touch, &later.touch)
                && (earlier.touch.is_write || later.touch.is_write);
            if is_promised && is_conflict && !has(closure[at], before) {
                return Err(format!("not ordered:\n  {earlier:?}\n  {later:?}"));
            }
        }
    }
    Ok(())
}

/// The order of recording. An operation reads before it writes.
fn in_order(nodes: &[Node]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|&at| (nodes[at].operation, nodes[at].touch.is_write));
    order
}

/// An order that the graph permits: a random one, or one that runs the latest accesses as early as they may run.
fn weak_order(nodes: &[Node], closure: &[Set], is_latest_first: bool, rng: &mut Rng) -> Result<Vec<usize>, String> {
    let reads_of = |operation: usize| {
        let reads = nodes.iter().enumerate().filter(|(_, n)| n.operation == operation && !n.touch.is_write);
        reads.fold(0, |set: Set, (at, _)| set | 1 << at)
    };
    let own_reads = |node: &Node| if node.touch.is_write { reads_of(node.operation) } else { 0 };
    let before: Vec<Set> = nodes.iter().zip(closure).map(|(node, &set)| set | own_reads(node)).collect();
    let mut done: Set = 0;
    let mut order = Vec::new();
    while order.len() < nodes.len() {
        let ready: Vec<usize> = (0..nodes.len()).filter(|&at| !has(done, at) && before[at] & !done == 0).collect();
        let last = ready.len().checked_sub(1).ok_or("deadlock: nothing can run")?;
        let next = ready[if is_latest_first { last } else { rng.index(ready.len()) }];
        done |= 1 << next;
        order.push(next);
    }
    Ok(order)
}

/// Runs accesses in the given order. An operation writes what it read, mixed with its number. Returns the memory and
/// the reads.
fn execute(nodes: &[Node], order: &[usize]) -> (Vec<u64>, Vec<u64>) {
    let cells = usize::try_from(N_CELLS).expect("small");
    let n_blocks = nodes.iter().map(|node| node.touch.block + 1).max().unwrap_or(0);
    let mut memory = vec![0; n_blocks * cells];
    let mut reads = vec![0; nodes.last().map_or(0, |node| node.operation + 1)];
    for &at in order {
        let Node { operation, ref touch, .. } = nodes[at];
        for cell in touch.range.start..touch.range.end.min(N_CELLS) {
            let held = &mut memory[touch.block * cells + usize::try_from(cell).expect("small")];
            if touch.is_write {
                *held = mix(reads[operation] ^ (operation as u64) << 32 ^ cell);
            } else {
                // The reads are summed, since the reads of one operation come in any order.
                reads[operation] = mix(*held ^ cell).wrapping_add(reads[operation]);
            }
        }
    }
    (memory, reads)
}
