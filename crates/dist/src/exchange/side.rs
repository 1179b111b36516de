//! The messages of one direction of a transfer, on the device and in host memory.
//!
//! A message of one contiguous view is copied from or to the view itself. The elements of all other messages are packed
//! one after the other on the device, so that each round is one copy over the bus.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use vkarray::memory::{Block, MemoryKind, Region};
use vkarray::{Context, DeviceNDArray, Element, Index, Stream};

use super::ByRank;
use crate::error::DistError;
use crate::transport::{CHUNK, SLOTS, chunk_of};

/// Chunks start at multiples of this, so that no two of them share an atom of memory that is not coherent; the atoms of
/// Vulkan have 256 bytes at most.
const ALIGNMENT: u64 = 256;

/// Copies regions to a block from another one.
pub(super) type Copy<'c> = &'c dyn Fn(&Arc<Block>, &Arc<Block>, &[Region]) -> vkarray::memory::Result<()>;

/// The first turn of this run with each rank that shares memory with this one.
pub(super) type Turns = BTreeMap<usize, u64>;

/// The messages of one direction.
#[derive(Debug)]
pub(super) struct Side<T: Element> {
    messages: Vec<DeviceMessage>,
    packed: Vec<Packed<T>>,
}

/// A view, or a part of it, and the place where its elements are packed.
#[derive(Debug)]
struct Packed<T: Element> {
    view: DeviceNDArray<T>,
    place: DeviceNDArray<T>,
    /// The round with its last bytes.
    round: u64,
}

/// A message, whose bytes are contiguous on the device.
#[derive(Debug)]
struct DeviceMessage {
    rank: usize,
    block: Arc<Block>,
    /// The first byte in the block.
    start: u64,
    bytes: u64,
    /// The most bytes of a chunk.
    longest: u64,
    host: Host,
}

/// The slots of a message in host memory, each for the chunk of one round.
#[derive(Debug)]
struct Host {
    block: Arc<Block>,
    /// The first byte of the first slot.
    start: u64,
    count: u64,
    /// From the start of a slot to that of the next one, in bytes.
    step: u64,
    is_shared: bool,
}

impl DeviceMessage {
    /// The bytes of the chunk of a round. A message of fewer rounds has an empty one.
    fn chunk(&self, round: u64) -> Range<u64> {
        let start = (round * self.longest).min(self.bytes);
        start..(start + self.longest).min(self.bytes)
    }

    /// The first byte of the chunk of a round on the host.
    fn place(&self, turns: &Turns, round: u64) -> u64 {
        let turn = turns.get(&self.rank).copied().unwrap_or(0) + round;
        self.host.start + turn % self.host.count * self.host.step
    }
}

/// The bytes of a message.
fn bytes<T: Element>(views: &[DeviceNDArray<T>]) -> u64 {
    views.iter().map(DeviceNDArray::nbytes).sum()
}

/// The views in parts of about a chunk or less, in the same order of elements.
fn pieces<T: Element>(views: &[DeviceNDArray<T>], chunk: u64) -> vkarray::Result<Vec<DeviceNDArray<T>>> {
    let mut pieces = Vec::new();
    for view in views {
        // Along the first axis that has a length, the elements of parts follow each other.
        let axis = view.shape().iter().position(|&len| len > 1).unwrap_or(0);
        match usize::try_from(view.nbytes().div_ceil(chunk)) {
            Ok(parts @ 2..) => pieces.extend(view.array_split(parts.min(view.shape()[axis]), axis)?),
            _ => pieces.push(view.clone()),
        }
    }
    Ok(pieces)
}

/// The bytes of the place in a slot of pinned memory of a message.
fn place_bytes(bytes: u64) -> u64 {
    bytes.min(CHUNK).next_multiple_of(ALIGNMENT)
}

impl<T: Element> Side<T> {
    /// Messages of these views. Messages with the ranks of `shared` pass through slots in this memory, of which the first
    /// one starts at this byte, and all others through pinned memory.
    pub(super) fn new(
        context: &Context,
        views: ByRank<T>,
        shared: impl Fn(usize) -> Option<(Arc<Block>, u64)>,
    ) -> Result<Self, DistError> {
        let own = views.iter().filter(|(rank, _)| shared(*rank).is_none()).map(|(_, views)| bytes(views));
        let count = own.clone().map(|bytes| bytes.div_ceil(CHUNK)).max().unwrap_or(0).min(SLOTS);
        let step = own.map(place_bytes).sum::<u64>();
        let pinned = match count {
            0 => None,
            _ => Some(context.allocator().allocate(count * step, MemoryKind::Pinned).map_err(vkarray::Error::from)?),
        };
        let in_place = |views: &[DeviceNDArray<T>]| views.len() == 1 && views[0].is_c_contiguous();
        let sizes = |views: &[DeviceNDArray<T>]| views.iter().map(DeviceNDArray::size).sum::<usize>();
        let total = views.iter().filter(|of| !in_place(&of.1)).map(|of| sizes(&of.1)).sum::<usize>();
        let all = context.device_array::<T>([total])?;
        let (mut messages, mut packed, mut first, mut place) = (Vec::new(), Vec::new(), 0, 0);
        for (rank, views) in views {
            let whole = if in_place(&views) { &views[0] } else { &all.slice_axis(0, Index::from(first..))? };
            let (block, start) = (Arc::clone(whole.block()), (whole.offset() * size_of::<T>()) as u64);
            let bytes = bytes(&views);
            let (longest, host) = match (shared(rank), &pinned) {
                (Some((block, start)), _) => {
                    let step = chunk_of(&block);
                    (step, Host { block, start, count: SLOTS, step, is_shared: true })
                }
                (None, Some(pinned)) => {
                    place += place_bytes(bytes);
                    let (block, start) = (Arc::clone(pinned), place - place_bytes(bytes));
                    (CHUNK, Host { block, start, count, step, is_shared: false })
                }
                (None, None) => unreachable!("a message that is not shared has pinned memory"),
            };
            messages.push(DeviceMessage { rank, block, start, bytes, longest, host });
            let mut end = 0;
            for view in if in_place(&views) { Vec::new() } else { pieces(&views, longest)? } {
                let place = all.slice_axis(0, Index::from(first..first + view.size()))?.reshape(view.shape())?;
                first += view.size();
                end += view.nbytes();
                packed.push(Packed { view, place, round: (end - 1) / longest });
            }
        }
        Ok(Self { messages, packed })
    }

    /// The rank of each message, and the number of its rounds.
    pub(super) fn rounds(&self) -> impl Iterator<Item = (usize, u64)> {
        self.messages.iter().map(|message| (message.rank, message.bytes.div_ceil(message.longest)))
    }

    fn in_round(&self, round: u64) -> impl Iterator<Item = (&DeviceMessage, Range<u64>)> {
        self.messages.iter().map(move |message| (message, message.chunk(round))).filter(|chunk| !chunk.1.is_empty())
    }

    /// Collects the elements of views with gaps. Those of long messages are submitted chunk by chunk, so that the bus has
    /// the first one soon.
    pub(super) fn pack(&self, stream: &Stream) -> Result<(), DistError> {
        let is_long = self.rounds().any(|(_, rounds)| rounds > 1);
        for Packed { view, place, .. } in &self.packed {
            place.copy_from_device(view)?;
            if is_long {
                stream.flush().map_err(vkarray::Error::from)?;
            }
        }
        Ok(())
    }

    /// Writes the elements of views with gaps whose last bytes come in a round.
    pub(super) fn unpack(&self, round: u64) -> Result<(), DistError> {
        let complete = self.packed.iter().filter(|packed| packed.round == round);
        Ok(complete.into_iter().try_for_each(|packed| packed.view.copy_from_device(&packed.place))?)
    }

    /// The bytes of the chunk of a round of the message with a rank, if there is one.
    pub(super) fn len(&self, rank: usize, round: u64) -> u64 {
        let chunk = self.in_round(round).find(|(message, _)| message.rank == rank);
        chunk.map_or(0, |(_, chunk)| chunk.end - chunk.start)
    }

    /// Copies the chunks of a round to the host, by one of the two functions for regions. Returns at once.
    pub(super) fn copy_to_host(&self, copy: Copy<'_>, turns: &Turns, round: u64) -> Result<(), DistError> {
        let copies = self.copies(turns, round, |source, target, size| Region { source, target, size });
        let each = |(host, block, regions): (&Arc<_>, &Arc<_>, Vec<_>)| copy(host, block, &regions);
        Ok(copies.into_iter().try_for_each(each).map_err(vkarray::Error::from)?)
    }

    /// Copies the chunks of a round from the host, by one of the two functions for regions. Returns at once.
    pub(super) fn copy_from_host(&self, copy: Copy<'_>, turns: &Turns, round: u64) -> Result<(), DistError> {
        let copies = self.copies(turns, round, |target, source, size| Region { source, target, size });
        let each = |(host, block, regions): (&Arc<_>, &Arc<_>, Vec<_>)| copy(block, host, &regions);
        Ok(copies.into_iter().try_for_each(each).map_err(vkarray::Error::from)?)
    }

    /// The regions of a round in each block of the host and of the device, made of the place on the device, the one on the
    /// host and a size.
    fn copies(
        &self,
        turns: &Turns,
        round: u64,
        region: impl Fn(u64, u64, u64) -> Region,
    ) -> Vec<(&Arc<Block>, &Arc<Block>, Vec<Region>)> {
        let mut copies: Vec<(&Arc<Block>, &Arc<Block>, Vec<Region>)> = Vec::new();
        for (message, chunk) in self.in_round(round) {
            let (host, block) = (&message.host.block, &message.block);
            let place = message.place(turns, round);
            let region = region(message.start + chunk.start, place, chunk.end - chunk.start);
            match copies.iter_mut().find(|copy| Arc::ptr_eq(copy.0, host) && Arc::ptr_eq(copy.1, block)) {
                Some((_, _, regions)) => regions.push(region),
                None => copies.push((host, block, vec![region])),
            }
        }
        copies
    }

    /// The chunks of a round in pinned memory with their ranks, once the device has written them.
    pub(super) fn read(&self, round: u64) -> Result<Vec<(usize, impl Deref<Target = [u8]>)>, DistError> {
        let chunks = self.on_host(round).map(|(rank, host, bytes)| Ok((rank, host.read_on_host(bytes)?)));
        Ok(chunks.collect::<vkarray::memory::Result<_>>().map_err(vkarray::Error::from)?)
    }

    /// The chunks of a round in pinned memory with their ranks, to be written, once the device does not use them.
    pub(super) fn write(&self, round: u64) -> Result<Vec<(usize, impl DerefMut<Target = [u8]>)>, DistError> {
        let chunks = self.on_host(round).map(|(rank, host, bytes)| Ok((rank, host.write_on_host(bytes)?)));
        Ok(chunks.collect::<vkarray::memory::Result<_>>().map_err(vkarray::Error::from)?)
    }

    /// The chunks of a round in pinned memory.
    fn on_host(&self, round: u64) -> impl Iterator<Item = (usize, &Arc<Block>, Range<u64>)> {
        self.in_round(round).filter(|(message, _)| !message.host.is_shared).map(move |(message, chunk)| {
            let start = message.place(&Turns::new(), round);
            (message.rank, &message.host.block, start..start + (chunk.end - chunk.start))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_place_of_a_chunk_at_most() {
        assert_eq!([0, 1, 256, 257, 3 * CHUNK].map(place_bytes), [0, 256, 256, 512, CHUNK]);
    }
}
