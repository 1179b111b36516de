//! The free ranges of all chunks of one kind: found, split and coalesced in constant time. Pure.
//!
//! A two-level segregated fit (TLSF): a linked list of free ranges for each [`Class`], and a bit for each list that is not
//! empty. All chunks share the lists, so their number does not matter. Only ranges whose uses are over are here; ranges
//! with pending uses are in `thread_cache.rs`.

use slotmap::{SlotMap, new_key_type};

use super::size_class::{Class, GRANULE};

new_key_type! {
    /// Identifies a chunk.
    pub(super) struct ChunkKey;
}

/// Stands for no node in place of the index of one.
const NONE: u32 = u32::MAX;

/// How many ranges are tried of the class whose ranges may be too small.
const LOOKED_AT: usize = 8;

/// A range of a chunk, in granules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkRange {
    pub(super) chunk: ChunkKey,
    pub(super) offset: u64,
    pub(super) granules: u64,
    node: u32,
}

/// A range of a chunk, and its neighbours.
#[derive(Debug, Clone, Copy)]
struct RangeNode {
    chunk: ChunkKey,
    offset: u64,
    granules: u64,
    is_free: bool,
    /// The neighbours of the range in the chunk.
    previous: u32,
    next: u32,
    /// The neighbours of the range in its class's list, while the range is free.
    newer: u32,
    older: u32,
}

#[derive(Debug)]
struct ChunkEntry<C> {
    chunk: C,
    granules: u64,
    n_taken: u32,
    /// The node of the chunk's first range. It never changes: joining and splitting keep the left node.
    first: u32,
}

/// The chunks of one kind and their free ranges.
#[derive(Debug)]
pub(super) struct FreeList<C> {
    chunks: SlotMap<ChunkKey, ChunkEntry<C>>,
    nodes: Vec<RangeNode>,
    /// Unused nodes.
    vacant: Vec<u32>,
    /// The newest free range of each class.
    newest: [u32; Class::COUNT],
    /// A bit for each class that has a free range.
    occupied: [u64; Class::COUNT.div_ceil(64)],
    /// Free granules.
    free: u64,
    /// Granules of all chunks.
    total: u64,
}

impl<C> Default for FreeList<C> {
    fn default() -> Self {
        Self {
            chunks: SlotMap::with_key(),
            nodes: Vec::new(),
            vacant: Vec::new(),
            newest: [NONE; Class::COUNT],
            occupied: [0; Class::COUNT.div_ceil(64)],
            free: 0,
            total: 0,
        }
    }
}

impl<C> FreeList<C> {
    /// Adds a chunk of that many granules, all free.
    pub(super) fn add(&mut self, chunk: C, granules: u64) -> ChunkKey {
        let key = self.chunks.insert(ChunkEntry { chunk, granules, n_taken: 0, first: NONE });
        let whole = RangeNode {
            chunk: key,
            offset: 0,
            granules,
            is_free: false,
            previous: NONE,
            next: NONE,
            newer: NONE,
            older: NONE,
        };
        let first = self.add_node(whole);
        self.chunks[key].first = first;
        self.total += granules;
        self.list(first);
        key
    }

    /// Takes a range of exactly that many granules, if one is free.
    pub(super) fn take(&mut self, granules: u64) -> Option<ChunkRange> {
        let found = self.find(granules)?;
        self.unlist(found);
        let node = self.nodes[found as usize];
        if node.granules > granules {
            let rest = RangeNode {
                offset: node.offset + granules,
                granules: node.granules - granules,
                previous: found,
                ..node
            };
            let rest = self.add_node(rest);
            if node.next != NONE {
                self.nodes[node.next as usize].previous = rest;
            }
            self.nodes[found as usize].next = rest;
            self.nodes[found as usize].granules = granules;
            self.list(rest);
        }
        self.chunks[node.chunk].n_taken += 1;
        Some(ChunkRange { chunk: node.chunk, offset: node.offset, granules, node: found })
    }

    /// Takes a range back, and joins it with free neighbours.
    pub(super) fn give(&mut self, chunk_range: ChunkRange) {
        let mut node = chunk_range.node;
        debug_assert!(!self.nodes[node as usize].is_free, "{chunk_range:?} was given back twice");
        self.chunks[chunk_range.chunk].n_taken -= 1;
        let RangeNode { previous, next, .. } = self.nodes[node as usize];
        if next != NONE && self.nodes[next as usize].is_free {
            self.unlist(next);
            self.join(node, next);
        }
        if previous != NONE && self.nodes[previous as usize].is_free {
            self.unlist(previous);
            self.join(previous, node);
            node = previous;
        }
        self.list(node);
    }

    /// Removes chunks of which no range is given out, the largest first, until at most `keep` granules are free.
    pub(super) fn take_empty(&mut self, keep: u64) -> Vec<C> {
        let mut empty: Vec<_> = self
            .chunks
            .iter()
            .filter(|(_, entry)| entry.n_taken == 0)
            .map(|(key, entry)| (entry.granules, key))
            .collect();
        empty.sort_unstable_by(|left, right| right.cmp(left));
        let mut taken = Vec::new();
        for (granules, key) in empty {
            if self.free <= keep {
                break;
            }
            let entry = self.chunks.remove(key).expect("listed above");
            self.unlist(entry.first);
            self.vacant.push(entry.first);
            self.total -= granules;
            taken.push(entry.chunk);
        }
        taken
    }

    /// Removes every chunk, also chunks with ranges that are given out.
    pub(super) fn take_all(&mut self) -> Vec<C> {
        let free_list = std::mem::take(self);
        free_list.chunks.into_iter().map(|(_, entry)| entry.chunk).collect()
    }

    /// A chunk.
    pub(super) fn chunk(&self, key: ChunkKey) -> &C {
        &self.chunks[key].chunk
    }

    /// Bytes of all free ranges.
    pub(super) fn free(&self) -> u64 {
        self.free * GRANULE
    }

    /// Bytes of the largest free range, rounded down to a class.
    pub(super) fn largest_free(&self) -> u64 {
        let top = self.occupied.iter().enumerate().rev().find(|(_, word)| **word != 0);
        let newest = top.map(|(idx, word)| self.newest[idx * 64 + word.ilog2() as usize]);
        newest.map_or(0, |newest| Class::at_most(self.nodes[newest as usize].granules).granules() * GRANULE)
    }

    /// How many chunks there are.
    #[cfg(test)]
    pub(super) fn n_chunks(&self) -> usize {
        self.chunks.len()
    }

    fn find(&self, granules: u64) -> Option<u32> {
        let below = Class::at_most(granules);
        let fits = below.granules() == granules;
        // Ranges of this class may be too small, unless the class begins at the requested size.
        let mut node = self.newest[below.index()];
        for _ in 0..LOOKED_AT {
            if node == NONE {
                break;
            }
            if fits || self.nodes[node as usize].granules >= granules {
                return Some(node);
            }
            node = self.nodes[node as usize].older;
        }
        self.first_occupied(below.index() + 1).map(|class| self.newest[class])
    }

    /// The first class from `class` on with a free range.
    fn first_occupied(&self, class: usize) -> Option<usize> {
        let from = class / 64;
        let words = (from..).zip(self.occupied.get(from..)?);
        let masked =
            words.map(|(idx, word)| (idx, if idx == from { word & (u64::MAX << (class % 64)) } else { *word }));
        masked.filter(|(_, word)| *word != 0).map(|(idx, word)| idx * 64 + word.trailing_zeros() as usize).next()
    }

    fn add_node(&mut self, node: RangeNode) -> u32 {
        if let Some(vacant) = self.vacant.pop() {
            self.nodes[vacant as usize] = node;
            return vacant;
        }
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).expect("a range takes 256 bytes, so memory ends first")
    }

    /// Joins a range with the range to its right.
    fn join(&mut self, left: u32, right: u32) {
        let RangeNode { granules, next, .. } = self.nodes[right as usize];
        self.nodes[left as usize].granules += granules;
        self.nodes[left as usize].next = next;
        if next != NONE {
            self.nodes[next as usize].previous = left;
        }
        self.vacant.push(right);
    }

    /// Adds a range to its class's list.
    fn list(&mut self, idx: u32) {
        let granules = self.nodes[idx as usize].granules;
        let class = Class::at_most(granules).index();
        let older = std::mem::replace(&mut self.newest[class], idx);
        if older != NONE {
            self.nodes[older as usize].newer = idx;
        }
        let node = &mut self.nodes[idx as usize];
        (node.is_free, node.newer, node.older) = (true, NONE, older);
        self.occupied[class / 64] |= 1 << (class % 64);
        self.free += granules;
    }

    /// Removes a range from its class's list.
    fn unlist(&mut self, idx: u32) {
        let RangeNode { granules, newer, older, .. } = self.nodes[idx as usize];
        let class = Class::at_most(granules).index();
        if older != NONE {
            self.nodes[older as usize].newer = newer;
        }
        if newer != NONE {
            self.nodes[newer as usize].older = older;
        } else {
            self.newest[class] = older;
            if older == NONE {
                self.occupied[class / 64] &= !(1 << (class % 64));
            }
        }
        self.nodes[idx as usize].is_free = false;
        self.free -= granules;
    }
}

#[cfg(test)]
mod tests;
