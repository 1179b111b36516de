//! The streams, events and graphs of a context, and waiting for its default stream.

use vkarray_driver::{Event, Graph, GraphRecorder, Stream};

use super::Context;
use crate::error::Result;

impl Context {
    /// Creates a stream.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (copies, x) = (ctx.stream()?, ctx.zeros::<f32>(4)?);
    /// x.on(&copies).fill(1.0)?;
    /// copies.synchronize()?;
    /// assert_eq!(x.to_vec()?, [1.0; 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the driver is out of memory.
    pub fn stream(&self) -> Result<Stream> {
        Ok(Stream::new(&self.shard.shared.device)?)
    }

    /// Creates a stream that is ordered with the legacy default stream, like CUDA's blocking streams.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (legacy, stream) = (ctx.legacy_default_stream()?, ctx.blocking_stream()?);
    /// let x = ctx.zeros::<f32>(4)?;
    /// x.on(&stream).fill(1.0)?;
    /// legacy.synchronize()?; // Waits for the blocking stream too.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the driver is out of memory.
    pub fn blocking_stream(&self) -> Result<Stream> {
        Ok(Stream::blocking(&self.shard.shared.device)?)
    }

    /// The device's legacy default stream, which all its contexts share. Its work starts after all earlier work of all
    /// blocking streams, and later work of blocking streams starts after it. Most programs need
    /// [`Context::default_stream`], which is not ordered with other streams.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(4)?;
    /// x.on(&ctx.legacy_default_stream()?).fill(1.0)?;
    /// assert_eq!(x.to_vec()?, [1.0; 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the driver is out of memory at the first call.
    pub fn legacy_default_stream(&self) -> Result<Stream> {
        Ok(self.shard.shared.default_streams.legacy()?)
    }

    /// The calling thread's own stream of this device, a blocking stream. It is dropped when the thread ends.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(4)?;
    /// x.on(&ctx.per_thread_default_stream()?).fill(1.0)?;
    /// assert_eq!(x.to_vec()?, [1.0; 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the driver is out of memory at the thread's first call.
    pub fn per_thread_default_stream(&self) -> Result<Stream> {
        Ok(self.shard.shared.default_streams.per_thread()?)
    }

    /// Creates an event without timing.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let event = ctx.event();
    /// ctx.zeros::<f32>(4)?;
    /// event.record(ctx.default_stream())?;
    /// event.synchronize()?;
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn event(&self) -> Event {
        Event::new(&self.shard.shared.device)
    }

    /// Creates an event that records the time on the device.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (start, end) = (ctx.timed_event()?, ctx.timed_event()?);
    /// start.record(ctx.default_stream())?;
    /// ctx.zeros::<f32>(4)?;
    /// end.record(ctx.default_stream())?;
    /// end.synchronize()?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the device has no timestamps.
    pub fn timed_event(&self) -> Result<Event> {
        Ok(Event::with_timing(&self.shard.shared.device)?)
    }

    /// Records a graph: `record` adds operations, which run when the graph is replayed, on any stream of the device.
    ///
    /// Work that is done once, such as sending constants to the device, runs on the default stream. Returns the graph
    /// and the value that `record` returns, usually the nodes to be changed later.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let double = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read_write> x: array<f32, 4>;
    ///          @compute @workgroup_size(4) fn double(@builtin(local_invocation_index) i: u32) { x[i] *= 2.0; }",
    ///     ))
    ///     .build()?;
    /// let x = ctx.ones::<f32>(4)?;
    /// let (graph, _node) = ctx.graph(|recorder| Ok(double.record(recorder, Groups::exact([1, 1, 1]), (&x,))?))?;
    /// graph.replay(ctx.default_stream())?;
    /// graph.replay(ctx.default_stream())?;
    /// assert_eq!(x.to_vec()?, [4.0; 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the driver is out of memory; and the errors that `record` returns.
    pub fn graph<R>(&self, record: impl FnOnce(&mut GraphRecorder) -> Result<R>) -> Result<(Graph, R)> {
        Graph::record(self.default_stream(), record)
    }

    /// Blocks until all work of the default stream is complete.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let copy = ctx.ones::<f32>(4)?.copy_to_host_async()?;
    /// ctx.synchronize()?;
    /// assert!(copy.is_complete()?);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the device is lost.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.default_stream().synchronize()?)
    }
}
