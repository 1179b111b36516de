//! The order of work: streams, events, graphs and traces.

pub use vkarray_allocator::{CopyNode, FillNode};
#[cfg(feature = "trace")]
pub use vkarray_driver::Trace;
pub use vkarray_driver::{AutoSynchronize, DefaultStreams, Done, GraphRecorder, Node, Point};
pub use vkarray_kernel::DispatchNode;

pub use crate::{Event, Graph, Stream};
