//! The messages of one direction of a transfer, on the device and in host memory.
//!
//! A message of one contiguous view is copied from or to the view itself. The elements of all other messages are packed
//! one after the other on the device, so that each round is one copy over the bus.

use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use vkarray::memory::{Block, MemoryKind, Region};
use vkarray::{Context, DeviceNDArray, Element, Index, Stream};

use super::ByRank;
use crate::error::DistError;

/// The most bytes of a message that are sent at a time. A bus of 50 GB/s carries them in some 100 µs, in which the host waits,
/// sends and records. The number is computed; it was not compared with others on a GPU.
const CHUNK: u64 = 6 << 20;

/// Chunks start at multiples of this, so that no two of them share an atom of memory that is not coherent; the atoms of
/// Vulkan have 256 bytes at most.
const ALIGNMENT: u64 = 256;

/// The rounds whose chunks the device copies to the host before the host sends the first of them.
pub(super) const AHEAD: u64 = 2;

/// The rounds after which the receiver of a chunk in shared memory has read it.
pub(super) const BEHIND: u64 = 2;

/// Host memory for the chunks of messages: banks of slots, each for the chunks of one round. Exchanges take the banks in
/// turn, and the rounds of an exchange the slots of a bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slots {
    pub(super) banks: u64,
    pub(super) count: u64,
    /// The bytes of a slot.
    pub(super) bytes: u64,
}

impl Slots {
    /// The slots for messages of these views, of which each exchange uses one of `banks`.
    pub(super) fn of<T: Element>(views: &ByRank<T>, banks: u64) -> Self {
        let lens = views.iter().map(|(_, views)| bytes(views));
        let count = lens.clone().map(rounds).max().unwrap_or(0).min(AHEAD + BEHIND);
        Self { banks, count, bytes: lens.map(place_bytes).sum() }
    }

    /// All bytes.
    pub(super) fn total(self) -> u64 {
        self.banks * self.count * self.bytes
    }

    /// The bytes of the slot of a round.
    fn slot(self, exchange: u64, round: u64) -> Range<u64> {
        let slot = exchange % self.banks * self.count + round % self.count;
        slot * self.bytes..(slot + 1) * self.bytes
    }
}

/// Copies regions to a block from another one.
pub(super) type Copy<'c> = &'c dyn Fn(&Arc<Block>, &Arc<Block>, &[Region]) -> vkarray::memory::Result<()>;

/// The messages of one direction.
#[derive(Debug)]
pub(super) struct Side<T: Element> {
    messages: Vec<DeviceMessage>,
    packed: Vec<Packed<T>>,
    host: Arc<Block>,
    slots: Slots,
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
    /// The first byte in a slot.
    place: u64,
}

impl DeviceMessage {
    /// The bytes of the chunk of a round. A message of fewer rounds has an empty one.
    fn chunk(&self, round: u64) -> Range<u64> {
        let start = (round * CHUNK).min(self.bytes);
        start..(start + CHUNK).min(self.bytes)
    }
}

/// The bytes of a message.
fn bytes<T: Element>(views: &[DeviceNDArray<T>]) -> u64 {
    views.iter().map(DeviceNDArray::nbytes).sum()
}

/// The views in parts of about a chunk or less, in the same order of elements.
fn pieces<T: Element>(views: &[DeviceNDArray<T>]) -> vkarray::Result<Vec<DeviceNDArray<T>>> {
    let mut pieces = Vec::new();
    for view in views {
        // Along the first axis that has a length, the elements of parts follow each other.
        let axis = view.shape().iter().position(|&len| len > 1).unwrap_or(0);
        match usize::try_from(rounds(view.nbytes())) {
            Ok(parts @ 2..) => pieces.extend(view.array_split(parts.min(view.shape()[axis]), axis)?),
            _ => pieces.push(view.clone()),
        }
    }
    Ok(pieces)
}

/// The rounds of a message.
fn rounds(bytes: u64) -> u64 {
    bytes.div_ceil(CHUNK)
}

/// The first byte of each message in a slot.
pub(super) fn places<T: Element>(views: &ByRank<T>) -> Vec<u64> {
    let place = |end: &mut u64, (_, views): &(usize, Vec<_>)| {
        let place = *end;
        *end += place_bytes(bytes(views));
        Some(place)
    };
    views.iter().scan(0, place).collect()
}

/// The bytes of a message's place in a slot.
fn place_bytes(bytes: u64) -> u64 {
    bytes.min(CHUNK).next_multiple_of(ALIGNMENT)
}

impl<T: Element> Side<T> {
    /// Messages of these views that pass through pinned memory; none without views.
    pub(super) fn pinned(context: &Context, views: ByRank<T>) -> Result<Option<Self>, DistError> {
        if views.is_empty() {
            return Ok(None);
        }
        let slots = Slots::of(&views, 1);
        let places = places(&views);
        let pinned = context.allocator().allocate(slots.total(), MemoryKind::Pinned).map_err(vkarray::Error::from)?;
        Self::new(context, views, &places, pinned, slots).map(Some)
    }

    /// Messages of these views that pass through host memory with slots, in each of which they have these places.
    pub(super) fn new(
        context: &Context,
        views: ByRank<T>,
        places: &[u64],
        host: Arc<Block>,
        slots: Slots,
    ) -> Result<Self, DistError> {
        let in_place = |views: &[DeviceNDArray<T>]| views.len() == 1 && views[0].is_c_contiguous();
        let sizes = |views: &[DeviceNDArray<T>]| views.iter().map(DeviceNDArray::size).sum::<usize>();
        let total = views.iter().filter(|of| !in_place(&of.1)).map(|of| sizes(&of.1)).sum::<usize>();
        let all = context.device_array::<T>([total])?;
        let (mut messages, mut packed, mut first) = (Vec::new(), Vec::new(), 0);
        for ((rank, views), &place) in views.into_iter().zip(places) {
            let whole = if in_place(&views) { &views[0] } else { &all.slice_axis(0, Index::from(first..))? };
            let (block, start) = (Arc::clone(whole.block()), (whole.offset() * size_of::<T>()) as u64);
            messages.push(DeviceMessage { rank, block, start, bytes: bytes(&views), place });
            let mut end = 0;
            for view in if in_place(&views) { Vec::new() } else { pieces(&views)? } {
                let place = all.slice_axis(0, Index::from(first..first + view.size()))?.reshape(view.shape())?;
                first += view.size();
                end += view.nbytes();
                packed.push(Packed { view, place, round: (end - 1) / CHUNK });
            }
        }
        Ok(Self { messages, packed, host, slots })
    }

    /// The rank of each message, and the number of its rounds.
    pub(super) fn rounds(&self) -> impl Iterator<Item = (usize, u64)> {
        self.messages.iter().map(|message| (message.rank, rounds(message.bytes)))
    }

    fn in_round(&self, round: u64) -> impl Iterator<Item = (&DeviceMessage, Range<u64>)> {
        self.messages.iter().map(move |message| (message, message.chunk(round))).filter(|chunk| !chunk.1.is_empty())
    }

    /// Collects the elements of views with gaps. Those of long messages are submitted chunk by chunk, so that the bus has
    /// the first one soon.
    pub(super) fn pack(&self, stream: &Stream) -> Result<(), DistError> {
        for Packed { view, place, .. } in &self.packed {
            place.copy_from_device(view)?;
            if self.slots.count > 1 {
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

    /// Copies the chunks of a round to the host, by one of the two functions for regions. Returns at once.
    pub(super) fn copy_to_host(&self, copy: Copy<'_>, exchange: u64, round: u64) -> Result<(), DistError> {
        let copies = self.copies(exchange, round, |source, target, size| Region { source, target, size });
        let each = |(block, regions): (&Arc<_>, Vec<_>)| copy(&self.host, block, &regions);
        Ok(copies.into_iter().try_for_each(each).map_err(vkarray::Error::from)?)
    }

    /// Copies the chunks of a round from the host, by one of the two functions for regions. Returns at once.
    pub(super) fn copy_from_host(&self, copy: Copy<'_>, exchange: u64, round: u64) -> Result<(), DistError> {
        let copies = self.copies(exchange, round, |target, source, size| Region { source, target, size });
        let each = |(block, regions): (&Arc<_>, Vec<_>)| copy(block, &self.host, &regions);
        Ok(copies.into_iter().try_for_each(each).map_err(vkarray::Error::from)?)
    }

    /// The regions of a round in each block of the device, made of the place there, the one on the host and a size.
    fn copies(
        &self,
        exchange: u64,
        round: u64,
        region: impl Fn(u64, u64, u64) -> Region,
    ) -> Vec<(&Arc<Block>, Vec<Region>)> {
        let mut copies: Vec<(&Arc<Block>, Vec<Region>)> = Vec::new();
        for (message, chunk) in self.in_round(round) {
            let place = self.slots.slot(exchange, round).start + message.place;
            let region = region(message.start + chunk.start, place, chunk.end - chunk.start);
            match copies.iter_mut().find(|(block, _)| Arc::ptr_eq(block, &message.block)) {
                Some((_, regions)) => regions.push(region),
                None => copies.push((&message.block, vec![region])),
            }
        }
        copies
    }

    /// Blocks until the device does not use the slot of a round.
    pub(super) fn wait(&self, exchange: u64, round: u64) -> Result<(), DistError> {
        let slot = self.slots.slot(exchange, round);
        Ok(self.host.wait_until_unused(slot).map_err(vkarray::Error::from)?)
    }

    /// Blocks until the device uses no slot.
    pub(super) fn wait_for_all(&self) -> Result<(), DistError> {
        Ok(self.host.wait_until_unused(0..self.host.size()).map_err(vkarray::Error::from)?)
    }

    /// The chunks of a round with their ranks, once the device has written them.
    pub(super) fn read(&self, round: u64) -> Result<Vec<(usize, impl Deref<Target = [u8]>)>, DistError> {
        let read = |(rank, bytes)| Ok((rank, self.host.read_on_host(bytes).map_err(vkarray::Error::from)?));
        self.on_host(round).map(read).collect()
    }

    /// The chunks of a round with their ranks, to be written, once the device does not use their memory.
    pub(super) fn write(&self, round: u64) -> Result<Vec<(usize, impl DerefMut<Target = [u8]>)>, DistError> {
        let write = |(rank, bytes)| Ok((rank, self.host.write_on_host(bytes).map_err(vkarray::Error::from)?));
        self.on_host(round).map(write).collect()
    }

    /// The chunks of a round in pinned memory, which has one bank.
    fn on_host(&self, round: u64) -> impl Iterator<Item = (usize, Range<u64>)> {
        let slot = self.slots.slot(0, round).start;
        self.in_round(round).map(move |(message, chunk)| {
            let start = slot + message.place;
            (message.rank, start..start + (chunk.end - chunk.start))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_two_exchanges_and_of_waiting_rounds_are_apart() {
        let slots = Slots { banks: 2, count: 4, bytes: 768 };
        assert_eq!(slots.total(), 2 * 4 * 768);
        let uses: Vec<_> = (0..2).flat_map(|exchange| (0..4).map(move |round| slots.slot(exchange, round))).collect();
        for (at, one) in uses.iter().enumerate() {
            assert!(uses[..at].iter().all(|other| other.end <= one.start || one.end <= other.start), "{uses:?}");
            assert!(one.end <= slots.total());
        }
        assert_eq!([slots.slot(2, 1), slots.slot(1, 5)], [slots.slot(0, 1), slots.slot(1, 1)]);
    }

    #[test]
    fn messages_are_cut_into_chunks() {
        assert_eq!([0, 1, CHUNK, CHUNK + 1, 3 * CHUNK].map(rounds), [0, 1, 1, 2, 3]);
        assert_eq!([0, 1, 256, 257, 3 * CHUNK].map(place_bytes), [0, 256, 256, 512, CHUNK]);
    }
}
