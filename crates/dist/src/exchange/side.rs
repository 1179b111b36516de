//! The messages of one direction of a transfer, on the device and in pinned memory.
//!
//! A message of one contiguous view is copied from or to the view itself. The elements of all other messages are packed
//! one after the other on the device, so that each round is one copy over the bus.

use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use vkarray::memory::{Block, MemoryKind, Region};
use vkarray::{Context, DeviceNDArray, Element, Index, Stream};

use super::ByRank;
use crate::error::DistError;

/// The most bytes of a message that are sent at a time. A bus carries them in some 100 µs, in which the host waits, sends
/// and records.
const CHUNK: u64 = 4 << 20;

/// Chunks start at multiples of this, so that no two of them share an atom of memory that is not coherent; the atoms of
/// Vulkan have 256 bytes at most.
const ALIGNMENT: u64 = 256;

/// The messages of one direction.
#[derive(Debug)]
pub(super) struct Side<T: Element> {
    messages: Vec<Message>,
    /// Views with gaps, each with the place where its elements are packed.
    packed: Vec<(DeviceNDArray<T>, DeviceNDArray<T>)>,
    /// Pinned memory with slots, each for the chunks of one round; none without messages.
    staging: Option<Arc<Block>>,
    /// The bytes of a slot.
    slot: u64,
}

/// A message, whose bytes are contiguous on the device.
#[derive(Debug)]
struct Message {
    rank: usize,
    block: Arc<Block>,
    /// The first byte in the block.
    start: u64,
    bytes: u64,
    /// The first byte in a slot.
    place: u64,
}

impl Message {
    /// The bytes of the chunk of a round. A message of fewer rounds has an empty one.
    fn chunk(&self, round: u64) -> Range<u64> {
        let start = (round * CHUNK).min(self.bytes);
        start..(start + CHUNK).min(self.bytes)
    }
}

impl<T: Element> Side<T> {
    /// Reserves the memory for messages of these views.
    pub(super) fn new(context: &Context, views: ByRank<T>) -> Result<Self, DistError> {
        let in_place = |views: &[DeviceNDArray<T>]| views.len() == 1 && views[0].is_c_contiguous();
        let sizes = |views: &[DeviceNDArray<T>]| views.iter().map(DeviceNDArray::size).sum::<usize>();
        let total = views.iter().filter(|of| !in_place(&of.1)).map(|of| sizes(&of.1)).sum::<usize>();
        let all = context.device_array::<T>([total])?;
        let (mut messages, mut packed, mut first, mut slot) = (Vec::new(), Vec::new(), 0, 0);
        for (rank, views) in views {
            let whole = if in_place(&views) { &views[0] } else { &all.slice_axis(0, Index::from(first..))? };
            let (block, start) = (Arc::clone(whole.block()), (whole.offset() * size_of::<T>()) as u64);
            let bytes = (sizes(&views) * size_of::<T>()) as u64;
            messages.push(Message { rank, block, start, bytes, place: slot });
            slot += bytes.min(CHUNK).next_multiple_of(ALIGNMENT);
            for view in if in_place(&views) { Vec::new() } else { views } {
                let place = all.slice_axis(0, Index::from(first..first + view.size()))?;
                first += view.size();
                packed.push((place.reshape(view.shape())?, view));
            }
        }
        let mut side = Self { messages, packed, staging: None, slot };
        if slot > 0 {
            let bytes = slot * side.slots();
            side.staging = Some(context.allocator().allocate(bytes, MemoryKind::Pinned).map_err(vkarray::Error::from)?);
        }
        Ok(side)
    }

    /// The number of rounds in which all messages are sent.
    pub(super) fn rounds(&self) -> u64 {
        self.messages.iter().map(|message| message.bytes.div_ceil(CHUNK)).max().unwrap_or(0)
    }

    /// The number of slots: the host uses one while the device uses another one.
    fn slots(&self) -> u64 {
        self.rounds().min(2)
    }

    /// The messages with a chunk in a round, by rank, and the bytes of the chunk in the pinned memory.
    pub(super) fn chunks(&self, round: u64) -> impl Iterator<Item = (usize, Range<u64>)> {
        self.in_round(round).map(move |(message, chunk)| {
            let start = self.place(message, round);
            (message.rank, start..start + (chunk.end - chunk.start))
        })
    }

    fn in_round(&self, round: u64) -> impl Iterator<Item = (&Message, Range<u64>)> {
        self.messages.iter().map(move |message| (message, message.chunk(round))).filter(|chunk| !chunk.1.is_empty())
    }

    fn place(&self, message: &Message, round: u64) -> u64 {
        round % self.slots() * self.slot + message.place
    }

    /// Collects the elements of views with gaps.
    pub(super) fn pack(&self) -> Result<(), DistError> {
        Ok(self.packed.iter().try_for_each(|(place, view)| place.copy_from_device(view))?)
    }

    /// Writes the elements of views with gaps.
    pub(super) fn unpack(&self) -> Result<(), DistError> {
        Ok(self.packed.iter().try_for_each(|(place, view)| view.copy_from_device(place))?)
    }

    /// Copies the chunks of a round to pinned memory. Returns at once.
    pub(super) fn copy_to_host(&self, stream: &Stream, round: u64) -> Result<(), DistError> {
        let copies = self.copies(round, |source, target, size| Region { source, target, size });
        let copy = |(block, regions): (&Arc<_>, Vec<_>)| self.staging().copy_regions(stream, block, &regions);
        Ok(copies.into_iter().try_for_each(copy).map_err(vkarray::Error::from)?)
    }

    /// Copies the chunks of a round from pinned memory. Returns at once.
    pub(super) fn copy_from_host(&self, stream: &Stream, round: u64) -> Result<(), DistError> {
        let copies = self.copies(round, |target, source, size| Region { source, target, size });
        let copy = |(block, regions): (&Arc<Block>, Vec<_>)| block.copy_regions(stream, self.staging(), &regions);
        Ok(copies.into_iter().try_for_each(copy).map_err(vkarray::Error::from)?)
    }

    /// The regions of a round in each block of the device, made of the place there, that in the pinned memory and a size.
    fn copies(&self, round: u64, region: impl Fn(u64, u64, u64) -> Region) -> Vec<(&Arc<Block>, Vec<Region>)> {
        let mut copies: Vec<(&Arc<Block>, Vec<Region>)> = Vec::new();
        for (message, chunk) in self.in_round(round) {
            let size = chunk.end - chunk.start;
            let region = region(message.start + chunk.start, self.place(message, round), size);
            match copies.iter_mut().find(|(block, _)| Arc::ptr_eq(block, &message.block)) {
                Some((_, regions)) => regions.push(region),
                None => copies.push((&message.block, vec![region])),
            }
        }
        copies
    }

    /// Bytes of the pinned memory, once the device has written them.
    pub(super) fn read(&self, bytes: Range<u64>) -> Result<impl Deref<Target = [u8]>, DistError> {
        Ok(self.staging().read_on_host(bytes).map_err(vkarray::Error::from)?)
    }

    /// Bytes of the pinned memory to be written, once the device does not use them.
    pub(super) fn write(&self, bytes: Range<u64>) -> Result<impl DerefMut<Target = [u8]>, DistError> {
        Ok(self.staging().write_on_host(bytes).map_err(vkarray::Error::from)?)
    }

    fn staging(&self) -> &Arc<Block> {
        self.staging.as_ref().expect("there is memory for the messages if there are any")
    }
}
