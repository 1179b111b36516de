//! Copies and fills as nodes of a graph, which can be changed between replays.
//!
//! Each check is the check of the same operation on a stream. A change is checked before the graph is touched, so a
//! refused change leaves the graph unchanged.

use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::{Device, Graph, GraphNode, GraphRecorder, Recorder, Step};

use super::BlockCommand;
use crate::allocator::Block;
use crate::error::Result;

/// A fill in a graph, of the block that the graph keeps for the node. Made by [`Block::record_fill`].
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind};
/// use vkarray_driver::{Graph, Stream};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
/// let block = allocator.allocate(4, MemoryKind::Pinned)?;
/// let (mut graph, node) = Graph::record(&stream, |recorder| block.record_fill(recorder, 0x0101_0101))?;
/// graph.replay(&stream)?;
/// assert_eq!(*block.read_on_host(0..4)?, [1; 4]);
/// node.set_pattern(&mut graph, 0x0202_0202)?;
/// graph.replay(&stream)?;
/// assert_eq!(*block.read_on_host(0..4)?, [2; 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FillNode(GraphNode<Arc<Block>>);

/// A copy in a graph. Made by [`Block::record_copy`].
#[derive(Debug, Clone, Copy)]
pub struct CopyNode(GraphNode<()>);

impl Block {
    /// Adds a fill of the whole block with the four-byte `pattern` to a graph.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`](crate::Error::ForeignDevice) for a graph of another device; nothing is added then.
    pub fn record_fill(self: &Arc<Self>, graph: &mut GraphRecorder, pattern: u32) -> Result<FillNode> {
        let step = self.fill_step(graph.device(), pattern)?;
        Ok(FillNode(graph.add(Arc::clone(self), step)?))
    }

    /// Adds a copy of the bytes `range` of `source` to this block at `offset` to a graph.
    ///
    /// # Errors
    ///
    /// The errors of [`Block::copy_from_block`]; nothing is added then.
    pub fn record_copy(
        self: &Arc<Self>,
        graph: &mut GraphRecorder,
        offset: u64,
        source: &Arc<Self>,
        range: Range<u64>,
    ) -> Result<CopyNode> {
        let step = self.copy_step(graph.device(), offset, source, range)?;
        Ok(CopyNode(graph.add((), step)?))
    }

    /// Describes a fill of the whole block as a step of a graph; `None` if the block is empty.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`](crate::Error::ForeignDevice) if the block is of another device.
    pub fn fill_step(self: &Arc<Self>, device: &Arc<Device>, pattern: u32) -> Result<Option<Step>> {
        let Some(fill) = self.checked_fill(device, pattern)? else { return Ok(None) };
        // SAFETY: the fill was checked for this block.
        Ok(Some(unsafe { step(device, [Arc::clone(self)], fill) }))
    }

    /// Describes a copy to this block as a step of a graph; `None` if the range is empty.
    ///
    /// # Errors
    ///
    /// The errors of [`Block::copy_from_block`].
    pub fn copy_step(
        self: &Arc<Self>,
        device: &Arc<Device>,
        offset: u64,
        source: &Arc<Self>,
        range: Range<u64>,
    ) -> Result<Option<Step>> {
        let Some(copy) = self.checked_copy(device, offset, source, range)? else { return Ok(None) };
        // SAFETY: the copy was checked for these blocks.
        Ok(Some(unsafe { step(device, [Arc::clone(self), Arc::clone(source)], copy) }))
    }
}

/// A step of a graph that records a command and keeps the blocks.
///
/// # Safety
///
/// The command was checked for these blocks.
unsafe fn step<const N: usize>(device: &Arc<Device>, blocks: [Arc<Block>; N], command: BlockCommand) -> Step {
    let accesses = command.accesses.clone();
    let record = move |recorder: &mut Recorder<'_>| {
        let _kept = &blocks;
        // SAFETY: this closure owns handles to the blocks, whose last uses are recorded with the accesses.
        unsafe { command.record(recorder) };
        Ok(())
    };
    // SAFETY: the command touches the ranges of the accesses and nothing else, and `record` owns handles to their blocks.
    unsafe { Step::new(device, &accesses, record) }
}

impl FillNode {
    /// Fills with another pattern from the next replay on.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the node belongs to another graph; nothing is changed then.
    pub fn set_pattern(self, graph: &mut Graph, pattern: u32) -> Result<()> {
        let block = Arc::clone(graph.operation(self.0)?);
        self.set(graph, &block, pattern)
    }

    /// Fills another block from the next replay on.
    ///
    /// # Errors
    ///
    /// The errors of [`FillNode::set_pattern`] and [`Block::record_fill`]; nothing is changed then.
    pub fn set(self, graph: &mut Graph, block: &Arc<Block>, pattern: u32) -> Result<()> {
        let step = block.fill_step(graph.device(), pattern)?;
        Ok(graph.replace(self.0, Arc::clone(block), step)?)
    }
}

impl CopyNode {
    /// Copies other bytes from the next replay on: the bytes `range` of `source`, to `target` at `offset`.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the node belongs to another graph, and the errors of
    /// [`Block::record_copy`]; nothing is changed then.
    pub fn set(
        self,
        graph: &mut Graph,
        target: (&Arc<Block>, u64),
        source: &Arc<Block>,
        range: Range<u64>,
    ) -> Result<()> {
        let (block, offset) = target;
        let step = block.copy_step(graph.device(), offset, source, range)?;
        Ok(graph.replace(self.0, (), step)?)
    }
}
