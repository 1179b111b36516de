//! The order of work: streams, events, graphs and traces.
//!
//! A [`Stream`] runs its work as if in the order of the calls. A [`Context`](crate::Context) has a default stream and
//! makes others; work of different streams may overlap unless it uses the same memory. An [`Event`] marks a position in
//! a stream, can be waited for by the host or by another stream, and measures time. A [`Graph`] is recorded once and
//! replayed.
//!
//! ```
//! use vkarray::prelude::*;
//!
//! # fn main() -> vkarray::Result<()> {
//! let ctx = Context::open_default()?;
//! let double = ctx
//!     .kernel(Source::wgsl(
//!         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
//!          @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
//!              if id.x < arrayLength(&x) { x[id.x] *= 2; }
//!          }",
//!     ))
//!     .build()?;
//! let x = ctx.full([100], 1_u32)?;
//! let (graph, _) = ctx.graph(|graph| Ok(double.record(graph, Groups::covering([100]), (&x,))?))?;
//! for _ in 0..10 {
//!     graph.replay(ctx.default_stream())?;
//! }
//! assert_eq!(x.to_vec()?, [1024; 100]);
//! # Ok(())
//! # }
//! ```

pub use vkarray_allocator::{CopyNode, FillNode};
#[cfg(feature = "trace")]
pub use vkarray_driver::Trace;
pub use vkarray_driver::{AutoSynchronize, Completion, DefaultStreams, GraphNode, GraphRecorder, Point};
pub use vkarray_kernel::DispatchNode;

pub use crate::{Event, Graph, Stream};
