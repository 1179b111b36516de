//! Copies between two devices, and the choice of their route.
//!
//! [`Way::of`] decides by the connection of the two devices. Memory that one side can import is copied in one command
//! (`imported.rs`). Other memory is copied in chunks through a buffer that both devices address (`bounce.rs`). If the
//! devices share nothing, chunks go through staging slots of each device, with a copy by the host between them. A chunk
//! is copied to the target while the next chunk is on its way from the source.

use std::ops::Range;
use std::sync::Arc;

use ash::vk;
#[cfg(unix)]
use vkarray_driver::hazard::Mode;
use vkarray_driver::{DeviceType, Direction, Stream};

use super::bounce::copy_through;
#[cfg(unix)]
use super::imported::{ExportedBounce, copy_imported};
use super::parallel::ParallelCopy;
use crate::allocator::{Block, connection_between, note_connection_failure};
use crate::error::{Error, Result};
use crate::memory::route::{MAX_IN_SLOT, MIN_EXPORTED};
use crate::memory::{ChunkPlan, ConnectionLimit, ConnectionSync, MemoryConnection, MigrationPath, UnifiedBy};
use crate::staging::SlotSize;
use crate::vulkan::check_same_device;

/// Bytes of a block, and the stream in whose order a copy reads or writes them.
#[derive(Debug, Clone)]
pub struct BlockRange<'a> {
    /// The block of the bytes.
    pub block: &'a Arc<Block>,
    /// The range of the bytes in the block.
    pub range: Range<u64>,
    /// A stream of the block's device.
    pub stream: &'a Stream,
}

/// The route of a copy between two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The target's device imports the source's memory, and copies.
    SourceImported,
    /// The source's device imports the target's memory, and copies.
    TargetImported,
    /// The copy goes through memory of the source's device that the target's device imports.
    ExportedBounce,
    /// The copy goes through pages of the host that both devices import.
    SharedPages,
    /// The copy goes through staging memory of each device.
    Staged,
}

impl Way {
    /// The route over these connections: from the source's memory to the target's device, and from the target's memory
    /// back.
    fn of(source: MemoryConnection, target: MemoryConnection) -> Self {
        let is_exported = |connection| matches!(connection, MemoryConnection::Unified { how: UnifiedBy::Exported, .. });
        match source {
            _ if is_exported(source) => Self::SourceImported,
            _ if is_exported(target) => Self::TargetImported,
            MemoryConnection::Migratable { path: MigrationPath::ExportedBounce, .. } => Self::ExportedBounce,
            MemoryConnection::Migratable { path: MigrationPath::SharedHostBounce, .. } => Self::SharedPages,
            _ => Self::Staged,
        }
    }

    /// The strongest connection for a copy of `len` bytes that no test or measurement limits. If the host reads the
    /// source fast in place, it does so, and copies to the target with several threads.
    ///
    /// Only a CPU driver copies in place, where an import is a mapping. On an H200 an import costs 36 to 52 µs for each
    /// MiB, so that a copy in place reaches 19 to 28 GB/s, and a copy through exported memory 57 to 61.
    fn limit(len: u64, is_read_mapped: bool, is_exportable: bool, device: DeviceType) -> ConnectionLimit {
        match len {
            ..=MAX_IN_SLOT => ConnectionLimit::None,
            MIN_EXPORTED.. if is_exportable && device == DeviceType::Cpu => ConnectionLimit::Unified,
            _ if is_read_mapped => ConnectionLimit::None,
            MIN_EXPORTED.. => ConnectionLimit::Migratable,
            _ => ConnectionLimit::HostPages,
        }
    }
}

impl BlockRange<'_> {
    /// Copies these bytes to `target`, which has as many bytes, on any device.
    ///
    /// On one device the call returns at once. It also returns at once on a CPU driver for exportable memory of 16 MiB
    /// or more that the other device imports. In all other cases it returns when the bytes have been read; if more than
    /// 64 KiB go through pages of both devices, it returns when they have been written.
    ///
    /// The bytes are read in the order of this stream, after the waits of the target's stream, and written in the order
    /// of the target's stream. An error may leave a part of the target written; the source does not change.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let instance = Instance::builder().build()?;
    /// use vkarray_allocator::BlockRange;
    ///
    /// let [first, second] = [Device::open_selected(&instance, None)?, Device::open_selected(&instance, None)?];
    /// let (here, there) = (Stream::new(&first)?, Stream::new(&second)?);
    /// let source = Allocator::new(&first)?.allocate(4, MemoryKind::Device)?;
    /// let target = Allocator::new(&second)?.allocate(4, MemoryKind::Device)?;
    /// source.fill(&here, 0x0707_0707)?;
    /// let source = BlockRange { block: &source, range: 0..4, stream: &here };
    /// source.copy_to(&BlockRange { block: &target, range: 0..4, stream: &there })?;
    /// let mut bytes = [0; 4];
    /// target.copy_to_host(&there, 0, &mut bytes)?;
    /// assert_eq!(bytes, [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::ReversedRange`], [`Error::ForeignDevice`] if a stream is not of its block's
    /// device; [`Error::SizeMismatch`] if `target` does not have as many bytes; and the errors of
    /// [`Block::copy_from_block`] on one device, of [`Block::copy_to_host`] and [`Block::copy_from_host`] on two.
    pub fn copy_to(&self, target: &BlockRange<'_>) -> Result<()> {
        let is_exportable = self.block.is_exportable() || target.block.is_exportable();
        let device = self.block.device().info().device_type;
        self.copy(target, |len| Way::limit(len, self.block.is_read_in_place(len), is_exportable, device)).map(drop)
    }

    /// Copies these bytes to `target` over a connection of at most `limit`: the strongest one, for any number of bytes.
    /// Returns the connection. For tests and measurements of each route; [`BlockRange::copy_to`] also considers the
    /// cost of a route.
    ///
    /// ```
    /// use vkarray_allocator::{Allocator, BlockRange, ConnectionLimit, MemoryConnection, MemoryKind};
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let instance = Instance::new()?;
    /// let open = || Device::open_selected(&instance, None);
    /// let (here, there) = (open()?, open()?);
    /// let streams = [Stream::new(&here)?, Stream::new(&there)?];
    /// let x = Allocator::new(&here)?.allocate(100, MemoryKind::Device)?;
    /// let y = Allocator::new(&there)?.allocate(100, MemoryKind::Device)?;
    /// x.copy_from_host(&streams[0], 0, &[3; 100])?;
    /// let from = BlockRange { block: &x, range: 0..100, stream: &streams[0] };
    /// let to = BlockRange { block: &y, range: 0..100, stream: &streams[1] };
    /// assert_eq!(from.copy_within_limit(&to, ConnectionLimit::None)?, MemoryConnection::None); // By the host.
    /// let mut bytes = [0; 100];
    /// y.copy_to_host(&streams[1], 0, &mut bytes)?;
    /// assert_eq!(bytes, [3; 100]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`BlockRange::copy_to`].
    pub fn copy_within_limit(&self, target: &BlockRange<'_>, limit: ConnectionLimit) -> Result<MemoryConnection> {
        self.copy(target, |_| limit)
    }

    fn copy(&self, target: &BlockRange<'_>, limit: impl FnOnce(u64) -> ConnectionLimit) -> Result<MemoryConnection> {
        let (source_size, target_size) = (self.check()?, target.check()?);
        if source_size != target_size {
            return Err(Error::SizeMismatch { source_size, target_size });
        }
        if Arc::ptr_eq(self.block.device(), target.block.device()) {
            if let Some(waits) = self.stream.pending_wait()? {
                target.stream.wait_for(&waits)?;
            }
            target.block.copy_from_block(target.stream, target.range.start, self.block, self.range.clone())?;
            return Ok(MemoryConnection::Unified { how: UnifiedBy::Identity, sync: ConnectionSync::Gpu });
        }
        let too_large = |_| Error::TooLarge { bytes: source_size, limit: usize::MAX as u64 };
        let len = usize::try_from(source_size).map_err(too_large)?;
        if len == 0 {
            return Ok(MemoryConnection::None);
        }
        let mut limit = limit(source_size);
        loop {
            let (way, connection) = self.way(target, limit)?;
            if self.copy_by((way, connection), target, len)? {
                return Ok(connection.with_sync(ConnectionSync::HostWait));
            }
            limit = connection.strength().weaker();
        }
    }

    /// The route to the target within the limit, and the connection that it uses.
    fn way(&self, target: &BlockRange<'_>, limit: ConnectionLimit) -> Result<(Way, MemoryConnection)> {
        if limit == ConnectionLimit::None {
            return Ok((Way::Staged, MemoryConnection::None));
        }
        let connection = |from: &Block, to: &Block| {
            // Pages of the program that only one side has imported are copied like other memory.
            let limit = if from.is_exportable() { limit } else { limit.min(ConnectionLimit::Migratable) };
            connection_between(from.device(), to.device(), &from.connection_traits().at_most(limit))
        };
        let source = connection(self.block, target.block)?;
        let back = if target.block.is_exportable() { connection(target.block, self.block)? } else { source };
        let way = Way::of(source, back);
        Ok((way, if way == Way::TargetImported { back } else { source }))
    }

    /// Copies in one way. Returns whether it did: not if a driver refuses the memory that the copy would go through, which
    /// is noted unless memory ran out.
    fn copy_by(&self, (way, connection): (Way, MemoryConnection), target: &BlockRange<'_>, len: usize) -> Result<bool> {
        let (here, there) = (self.block.allocator(), target.block.allocator());
        if !matches!(way, Way::SourceImported | Way::TargetImported)
            && let Some(waits) = target.stream.pending_wait()?
        {
            waits.wait(None)?; // The work that the target's stream waits for may write the source's bytes.
        }
        // An error of the outer result is a refusal of the memory, an error of the inner one is an error of the copy.
        let made = match way {
            Way::Staged => Ok(self.copy_staged(target, len)),
            Way::SharedPages => {
                let Some(slot) = here.shared_slot(there)? else { return Ok(false) };
                let part = ChunkPlan::new(len as u64, 1).chunk as u64;
                Ok(copy_through(&slot, self, target, part, len).and_then(|()| slot.finish()))
            }
            #[cfg(unix)]
            Way::SourceImported => self.block.export().and_then(|memory| there.import(&memory)).map(|alias| {
                copy_imported((self, Mode::Read), (target, Mode::Write), || {
                    target.block.copy_from_block(target.stream, target.range.start, &alias, self.range.clone())
                })
            }),
            #[cfg(unix)]
            Way::TargetImported => target.block.export().and_then(|memory| here.import(&memory)).map(|alias| {
                copy_imported((target, Mode::Write), (self, Mode::Read), || {
                    alias.copy_from_block(self.stream, target.range.start, self.block, self.range.clone())
                })
            }),
            #[cfg(unix)]
            Way::ExportedBounce => ExportedBounce::new([here, there], len as u64)
                .map(|bounce| copy_through(&bounce, self, target, bounce.part, len)),
            #[cfg(not(unix))]
            Way::SourceImported | Way::TargetImported | Way::ExportedBounce => return Ok(false),
        };
        let error = match made {
            Ok(copied) => return copied.map(|()| true),
            Err(refused) => refused,
        };
        here.device().check_lost()?;
        there.device().check_lost()?;
        log::debug!("a copy between devices takes another way, since {way:?} is refused: {error}");
        if !is_temporary(&error) {
            let (from, to) = if way == Way::TargetImported { (there, here) } else { (here, there) };
            note_connection_failure(from.device(), to.device(), connection);
        }
        Ok(false)
    }

    /// Copies through staging slots, whose bytes the host writes.
    fn copy_staged(&self, target: &BlockRange<'_>, len: usize) -> Result<()> {
        if len as u64 <= MAX_IN_SLOT {
            let slot = target.block.allocator().slot(Direction::ToDevice, SlotSize::Small, len)?;
            let filled = slot.fill_with(len, |bytes| self.block.read_part(self.stream, self.range.start, bytes))?;
            let queue = target.block.queue_of(target.stream, Direction::ToDevice, len as u64)?;
            return target.block.record_upload((target.stream, queue), target.range.start, filled).map(drop);
        }
        let plan = ChunkPlan::new(len as u64, target.block.allocator().copy_threads().n_threads());
        let queue = target.block.queue_of(target.stream, Direction::ToDevice, plan.chunk as u64)?;
        let offsets = (0..len).step_by(plan.chunk);
        let chunks = offsets.map(|offset| (target.range.start + offset as u64, offset..len.min(offset + plan.chunk)));
        let work = ParallelCopy::new(target.block, (target.stream, queue), plan, chunks);
        work.run(|| {
            work.upload_share(|slot, chunk: Range<usize>| {
                let from = self.range.start + chunk.start as u64;
                slot.fill_with(chunk.len(), |bytes| self.block.read_part(self.stream, from, bytes))
            })
        })
    }

    /// The number of bytes, if they can be copied.
    fn check(&self) -> Result<u64> {
        self.block.check_bytes(&self.range)?;
        check_same_device(self.stream.device(), self.block.device())?;
        self.block.device().check_lost()?;
        Ok(self.range.end - self.range.start)
    }
}

/// Whether a later attempt may succeed: memory or file descriptors ran out.
fn is_temporary(error: &Error) -> bool {
    use vkarray_driver::Error::Vulkan;
    matches!(
        error,
        Error::OutOfMemory(_)
            | Error::Descriptor(_)
            | Error::Driver(Vulkan { code: vk::Result::ERROR_TOO_MANY_OBJECTS, .. })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_the_way_of_the_stronger_connection() {
        use MemoryConnection::{Migratable, None, Unified};
        let sync = ConnectionSync::HostWait;
        let (exported, pages) =
            (Unified { how: UnifiedBy::Exported, sync }, Unified { how: UnifiedBy::SamePages, sync });
        let (bounce, host) = (
            Migratable { path: MigrationPath::ExportedBounce, sync },
            Migratable { path: MigrationPath::SharedHostBounce, sync },
        );
        // The connection from the source, the connection from the target, and the route.
        let cases = [
            (exported, exported, Way::SourceImported),
            (exported, bounce, Way::SourceImported),
            (bounce, exported, Way::TargetImported),
            (None, exported, Way::TargetImported),
            (bounce, bounce, Way::ExportedBounce),
            (host, host, Way::SharedPages),
            (host, bounce, Way::SharedPages), // The source's memory decides.
            (pages, pages, Way::Staged),
            (None, None, Way::Staged),
        ];
        for (source, target, expected) in cases {
            assert_eq!(Way::of(source, target), expected, "{source}, {target}");
        }
    }

    #[test]
    fn a_copy_imports_memory_only_where_that_is_worth_it() {
        use ConnectionLimit::{HostPages, Migratable, None, Unified};
        // The bytes, whether the host reads the source in place, whether a side is exportable, and the limits on a CPU
        // driver and on a GPU.
        let cases = [
            (1, false, true, [None, None]),
            (MAX_IN_SLOT, false, true, [None, None]),
            (MAX_IN_SLOT + 1, false, true, [HostPages, HostPages]),
            (MAX_IN_SLOT + 1, true, false, [None, None]),
            (MIN_EXPORTED - 1, false, true, [HostPages, HostPages]),
            (MIN_EXPORTED, false, false, [Migratable, Migratable]),
            (MIN_EXPORTED, true, false, [None, None]),
            (MIN_EXPORTED, true, true, [Unified, None]),
            (MIN_EXPORTED, false, true, [Unified, Migratable]),
        ];
        for (len, is_read_mapped, is_exportable, expected) in cases {
            let limits = [DeviceType::Cpu, DeviceType::Discrete]
                .map(|device| Way::limit(len, is_read_mapped, is_exportable, device));
            assert_eq!(limits, expected, "{len}, {is_read_mapped}, {is_exportable}");
        }
    }
}
