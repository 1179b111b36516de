//! The place where copies between host and device ask for their route. [`Moment`] gives the answers that depend on the
//! moment.
//!
//! The pure function in `memory/route/` decides. The callers carry the decision out, each for the routes that its
//! request can get.

use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::{Direction, Stream};

use super::BlockRange;
use crate::allocator::{Allocator, Block};
use crate::error::Result;
use crate::kind::MemoryKind;
use crate::memory::route::explain;
use crate::memory::{CopyQueue, CopyRequest, Fact, HostSide, Route, Via, route};

/// The text for a copy that got a route which its request excludes.
pub(super) const EXCLUDED: &str = "the request excludes all other routes";

/// The state that a copy on a stream finds.
pub(super) struct Moment<'a> {
    pub(super) stream: &'a Stream,
    /// Whether carrying out a route in place has found that the bytes are in use.
    pub(super) is_busy: bool,
    /// The imported pages that an upload reads, if it reads such pages.
    pub(super) pages: Option<(&'a Block, &'a Range<u64>)>,
}

impl<'a> Moment<'a> {
    pub(super) fn of(stream: &'a Stream) -> Self {
        Self { stream, is_busy: false, pages: None }
    }

    /// The route of a copy from or to `block`, which is the device's side of the request.
    pub(super) fn route(&self, block: &Block, request: &CopyRequest) -> Result<Route> {
        block.device().check_lost()?; // Checked before a lock is taken.
        Ok(route(request, block.allocator().bus(), |fact| self.holds(fact))?.route)
    }

    fn holds(&self, fact: Fact) -> Result<bool> {
        Ok(match fact {
            Fact::Waiting => self.stream.pending_wait()?.is_some(),
            Fact::Busy => self.is_busy,
            Fact::SourceWritten => self.pages.map_or(Ok(false), |(block, range)| block.is_written(range))?,
            Fact::Behind => !self.stream.query()?,
            Fact::TransferQueue => self.stream.has_transfer_queues(),
            Fact::Alone(direction) => self.stream.is_idle_beside(direction),
            Fact::InJob => self.stream.is_in_job(),
            Fact::Single => self.stream.is_single(),
        })
    }
}

impl Allocator {
    /// Says how this many bytes cross between the host and device memory of this allocator, and why. There is a line
    /// for each copy from and to a slice and pinned memory, on an idle device and behind a kernel that uses the bytes.
    ///
    /// ```
    /// # use vkarray_allocator::Allocator;
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let text = allocator.explain_copy(&stream, 4096)?;
    /// assert!(text.starts_with("upload from a slice, idle: "));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), since the call allocates a few bytes to see where they lie.
    pub fn explain_copy(self: &Arc<Self>, stream: &Stream, bytes: u64) -> Result<String> {
        let block = self.allocate(1, MemoryKind::Device)?;
        explain(bytes.max(1), self.bus(), block.side(), stream.has_transfer_queues())
    }
}

impl Block {
    /// A request for a copy of one run between this block and the host, without a kernel.
    pub(super) fn request(&self, direction: Direction, bytes: u64, host: HostSide) -> CopyRequest {
        CopyRequest { direction, bytes, host, block: self.side(), unit: None, is_beside: false }
    }

    /// Copies bytes of another block to this one at `offset` as [`Block::copy_from_block`] does, unless a kernel copies
    /// them sooner, in units of `unit` bytes. In that case nothing is copied, and the unit is returned.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, BlockRange, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let (source, target) = (allocator.allocate(4, MemoryKind::Pinned)?, allocator.allocate(4, MemoryKind::Device)?);
    /// source.write_on_host(0..4)?.fill(7);
    /// let source = BlockRange { block: &source, range: 0..4, stream: &stream };
    /// assert_eq!(target.copy_run_from(0, &source, None)?, None); // There is no kernel.
    /// let mut bytes = [0; 4];
    /// target.copy_to_host(&stream, 0, &mut bytes)?;
    /// assert_eq!(bytes, [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Block::copy_from_block`].
    pub fn copy_run_from(
        self: &Arc<Self>,
        offset: u64,
        from: &BlockRange<'_>,
        unit: Option<u32>,
    ) -> Result<Option<u32>> {
        let &BlockRange { block: source, ref range, stream } = from;
        let Some(copy) = self.checked_copy(stream.device(), offset, source, range.clone())? else { return Ok(None) };
        let mut moment = Moment::of(stream);
        let queue = loop {
            let Some((block, request)) = self.request_from(source, copy.bytes) else { break CopyQueue::Own };
            match moment.route(block, &CopyRequest { unit, ..request })? {
                Route::InPlace { .. } if self.copy_in_place(offset, source, range)? => return Ok(None),
                Route::InPlace { .. } => moment.is_busy = true,
                Route::Kernel { unit } => return Ok(Some(unit)),
                Route::Command { queue, .. } => break queue,
            }
        };
        // SAFETY: the blocks are alive, and their memory outlives their last uses, which are recorded with the accesses.
        unsafe { copy.send(stream, queue) }?;
        Ok(None)
    }

    /// Records a copy of the bytes `range` of `source` to this block at `offset`, on a queue of a stream.
    pub(super) fn send_from(
        self: &Arc<Self>,
        source: &Arc<Self>,
        range: Range<u64>,
        offset: u64,
        (stream, queue): (&Stream, CopyQueue),
    ) -> Result<()> {
        let Some(copy) = self.checked_copy(stream.device(), offset, source, range)? else { return Ok(()) };
        // SAFETY: the blocks are alive, and their memory outlives their last uses, which are recorded with the
        // accesses.
        unsafe { copy.send(stream, queue) }
    }

    /// The device's side and the request of a copy from `source`, if exactly one of the two blocks lies in host memory.
    fn request_from<'a>(&'a self, source: &'a Self, bytes: u64) -> Option<(&'a Self, CopyRequest)> {
        let (block, host, direction) = match (source.is_in_host_memory(), self.is_in_host_memory()) {
            (true, false) => (self, source, Direction::ToDevice),
            (false, true) => (source, self, Direction::ToHost),
            _ => return None,
        };
        let is_read_fast = host.is_mapped() && host.allocator().bus().is_read_fast(host.kind());
        Some((block, block.request(direction, bytes, HostSide::Pinned { is_read_fast })))
    }

    /// The queue of a command that copies bytes of `source` to this block, beside kernels if asked.
    pub(super) fn queue_from(&self, source: &Self, stream: &Stream, bytes: u64, is_beside: bool) -> Result<CopyQueue> {
        match self.request_from(source, bytes) {
            Some((block, request)) => block.queue(stream, request.direction, bytes, is_beside),
            None => Ok(CopyQueue::Own),
        }
    }

    /// The queue of a command between this block and host memory that the device reaches.
    pub(super) fn queue_of(&self, stream: &Stream, direction: Direction, bytes: u64) -> Result<CopyQueue> {
        self.queue(stream, direction, bytes, false)
    }

    fn queue(&self, stream: &Stream, direction: Direction, bytes: u64, is_beside: bool) -> Result<CopyQueue> {
        let request = self.request(direction, bytes, HostSide::Pinned { is_read_fast: false });
        match Moment::of(stream).route(self, &CopyRequest { is_beside, ..request })? {
            Route::Command { queue, via: Via::Direct } => Ok(queue),
            _ => unreachable!("{EXCLUDED}"),
        }
    }
}
