//! Graphs: a sequence of operations recorded once and replayed any number of times, with no recording in between.
//!
//! The order inside a graph is found when it is recorded. A replay is then one operation of the stream it goes to: one
//! call of the hazard table, one submission. Between replays the nodes can be replaced. The crates above create
//! [`Step`]s and decide what may replace them. `plan.rs` finds the barriers; `lane/graph_commands.rs` holds the command
//! buffer, and the lane submits it.

mod plan;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::hazard::{BlockAccess, Repeatable};
use crate::lane::{GraphCommands, Recorder, StepCommands};
use crate::lock::{Mutex, Rank};
use crate::stream::Stream;
use crate::vulkan::Queue;

/// One operation of a graph: its accesses, and a closure that records its commands.
pub struct Step {
    device: Arc<Device>,
    accesses: SmallVec<[BlockAccess; 4]>,
    commands: Box<StepCommands>,
}

impl Step {
    /// Describes an operation on `device`. `commands` is called each time the graph is recorded.
    ///
    /// # Safety
    ///
    /// The obligations of [`Stream::record`] hold for `accesses` and `commands` on every stream of `device`. In
    /// addition, `commands` owns a handle to every block in `accesses`.
    pub unsafe fn new(
        device: &Arc<Device>,
        accesses: &[BlockAccess],
        commands: impl Fn(&mut Recorder<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { device: Arc::clone(device), accesses: accesses.into(), commands: Box::new(commands) }
    }
}

crate::debug_fields!(Step, this => accesses: this.accesses);

/// A node of a graph, whose operation is described by an `O`.
pub struct GraphNode<O> {
    graph: u64,
    index: usize,
    operation: PhantomData<fn() -> O>,
}

impl<O> Clone for GraphNode<O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for GraphNode<O> {}

impl<O> fmt::Debug for GraphNode<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphNode").field("graph", &self.graph).field("index", &self.index).finish()
    }
}

/// A node's operation and its steps. A node whose operation does nothing has no steps.
struct NodeSteps {
    operation: Box<dyn Any + Send + Sync>,
    steps: SmallVec<[Step; 1]>,
}

impl NodeSteps {
    /// Refuses steps of another device than the graph's: a handle is valid only on its own device.
    fn new<O: Any + Send + Sync>(
        device: &Arc<Device>,
        operation: O,
        steps: impl IntoIterator<Item = Step>,
    ) -> Result<Self> {
        let steps: SmallVec<[Step; 1]> = steps.into_iter().collect();
        if let Some(foreign) = steps.iter().find(|step| !Arc::ptr_eq(&step.device, device)) {
            let (graph, step) = (device.info().name.clone(), foreign.device.info().name.clone());
            return Err(Error::ForeignStep { graph, step });
        }
        Ok(Self { operation: Box::new(operation), steps })
    }
}

/// Adds operations to a graph that is being recorded. See [`Graph::record`].
pub struct GraphRecorder {
    graph: u64,
    stream: Stream,
    nodes: Vec<NodeSteps>,
}

impl GraphRecorder {
    /// The device of the graph.
    pub fn device(&self) -> &Arc<Device> {
        self.stream.device()
    }

    /// The stream for work that is done once, before the first replay.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Adds an operation after the ones added before. Each replay runs the operation; this call does not.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignStep`] for a step of another device; nothing is added then.
    pub fn add<O: Any + Send + Sync>(
        &mut self,
        operation: O,
        steps: impl IntoIterator<Item = Step>,
    ) -> Result<GraphNode<O>> {
        let index = self.nodes.len();
        self.nodes.push(NodeSteps::new(self.stream.device(), operation, steps)?);
        Ok(GraphNode { graph: self.graph, index, operation: PhantomData })
    }
}

crate::debug_fields!(GraphRecorder, this => n_nodes: this.nodes.len());

/// A sequence of operations that is recorded once and replayed many times.
///
/// The operations run as if in the order they were recorded; independent ones may overlap. A graph keeps the memory
/// and the kernels it uses alive. It may be dropped while it is running.
///
/// ```
/// use vkarray_driver::{Device, Graph, Instance, Step, Stream};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let stream = Stream::new(&device)?;
/// // SAFETY: it records no commands; those of a copy or a dispatch come from the crates above.
/// let step = unsafe { Step::new(&device, &[], |_| Ok(())) };
/// let (graph, node) = Graph::record(&stream, |graph| graph.add("a name", [step]))?;
/// graph.replay(&stream)?;
/// assert_eq!((graph.n_nodes(), *graph.operation(node)?), (1, "a name"));
/// # Ok(())
/// # }
/// ```
pub struct Graph {
    id: u64,
    nodes: Vec<NodeSteps>,
    recorded: Mutex<Recorded>,
    stream: Stream,
}

/// The command buffers recorded for the nodes.
#[derive(Default)]
struct Recorded {
    /// The command buffers of the current nodes: one for each queue family that was replayed on, usually one in all.
    current: SmallVec<[Arc<GraphCommands>; 1]>,
    /// The command buffers of earlier nodes, some of which may be in flight.
    former: Vec<Arc<GraphCommands>>,
}

impl Graph {
    /// Records a graph: `record` adds its operations, which do not run now. Returns the graph and the value that
    /// `record` returns, usually the nodes to be changed later.
    ///
    /// `stream` runs the work that is done once, such as sending constants to the device, now and when a node is
    /// replaced. Replays may go to any stream of the same device.
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`] if the driver is out of memory, [`Error::DeviceLost`] if the device is lost, [`Error::Forked`]
    /// in a forked process, and the errors that `record` returns.
    pub fn record<R, E: From<Error>>(
        stream: &Stream,
        record: impl FnOnce(&mut GraphRecorder) -> Result<R, E>,
    ) -> Result<(Self, R), E> {
        let mut recorder = GraphRecorder { graph: next_id(), stream: stream.clone(), nodes: Vec::new() };
        let returned = record(&mut recorder)?;
        let GraphRecorder { graph: id, stream, nodes } = recorder;
        let graph = Self { id, nodes, recorded: Mutex::new(Rank::Graph, Recorded::default()), stream };
        graph.recording(graph.stream.work_queue())?;
        Ok((graph, returned))
    }

    /// Runs all operations of the graph, in the order of `stream`. The work is submitted, and the call returns at once.
    ///
    /// Any number of replays may be in flight, on several streams. Like any work, they are ordered by the runtime
    /// where they touch the same memory.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use vkarray_driver::{Device, Graph, Instance, Step, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let calls = Arc::new(AtomicU32::new(0));
    /// let counter = Arc::clone(&calls);
    /// let record = move |_: &mut vkarray_driver::Recorder<'_>| {
    ///     counter.fetch_add(1, Ordering::Relaxed);
    ///     Ok(())
    /// };
    /// // SAFETY: it records no commands.
    /// let step = unsafe { Step::new(&device, &[], record) };
    /// let (graph, _) = Graph::record(&stream, |graph| graph.add((), [step]))?;
    /// for _ in 0..3 {
    ///     graph.replay(&stream)?; // Returns at once.
    /// }
    /// stream.synchronize()?;
    /// assert_eq!(calls.load(Ordering::Relaxed), 1); // Recorded once.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ForeignGraph`] for a stream of another device, [`Error::DeviceLost`] if the device is lost,
    /// [`Error::Vulkan`] if the driver refuses the submission, [`Error::Forked`] in a forked process. The first replay
    /// after a node was replaced also returns the errors of recording the commands, which the steps of the graph
    /// define.
    pub fn replay(&self, stream: &Stream) -> Result<()> {
        if !Arc::ptr_eq(self.device(), stream.device()) {
            let (graph, stream) = (self.device().info().name.clone(), stream.device().info().name.clone());
            return Err(Error::ForeignGraph { graph, stream });
        }
        let recording = self.recording(stream.work_queue())?;
        stream.replay(&recording)
    }

    /// The device of the graph.
    pub fn device(&self) -> &Arc<Device> {
        self.stream.device()
    }

    /// The stream that the graph was recorded with.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// How many nodes the graph holds.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The operation of a node.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignNode`] for a node of another graph.
    pub fn operation<O: Any + Send + Sync>(&self, node: GraphNode<O>) -> Result<&O> {
        let index = self.index(node)?;
        Ok(self.nodes[index].operation.downcast_ref().expect("a node is typed when it is added, and stays so"))
    }

    /// Replaces a node's operation in later replays. Replays in flight are not affected.
    ///
    /// Returns at once: the graph is recorded afresh by the next replay.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignNode`] for a node of another graph, [`Error::ForeignStep`] for a step of another device,
    /// [`Error::Forked`] in a forked process. Nothing is changed then.
    pub fn replace<O: Any + Send + Sync>(
        &mut self,
        node: GraphNode<O>,
        operation: O,
        steps: impl IntoIterator<Item = Step>,
    ) -> Result<()> {
        self.device().check_process()?;
        let index = self.index(node)?;
        self.nodes[index] = NodeSteps::new(self.device(), operation, steps)?;
        let mut recorded = self.recorded.lock();
        let Recorded { current, former } = &mut *recorded;
        former.extend(current.drain(..));
        Ok(())
    }

    fn index<O>(&self, node: GraphNode<O>) -> Result<usize> {
        if node.graph == self.id {
            return Ok(node.index);
        }
        Err(Error::ForeignNode { node: node.index, of: node.graph, graph: self.id })
    }

    /// The commands of the current nodes, recorded for the queue family of `queue`.
    fn recording(&self, queue: &Queue) -> Result<Arc<GraphCommands>> {
        self.device().check_lost()?;
        let mut released = Vec::new(); // Dropped without the lock.
        // A panic while recording leaves no current recording, and the next replay makes one.
        let mut recorded = self.recorded.lock();
        if let Some(current) = recorded.current.iter().find(|current| current.family == queue.family) {
            return Ok(Arc::clone(current));
        }
        let mut recording = match recorded.take_unused(queue.family) {
            Some(unused) => unused,
            None => GraphCommands::new(self.device().logical(), queue)?,
        };
        let steps = || self.nodes.iter().flat_map(|node| &node.steps);
        let operation = Repeatable::new(plan::merged(steps().flat_map(|step| &step.accesses)));
        let barriers = plan::barriers(steps().map(|step| &step.accesses[..]));
        let commands = barriers.into_iter().zip(steps().map(|step| &*step.commands));
        if let Err(error) = recording.record(self.device().logical(), operation, commands, &mut released) {
            released.push(Arc::new(recording));
            return Err(error);
        }
        let current = Arc::new(recording);
        recorded.current.push(Arc::clone(&current));
        Ok(current)
    }
}

impl Recorded {
    /// Removes commands that are held nowhere else, so no work in flight uses them.
    fn take_unused(&mut self, family: u32) -> Option<GraphCommands> {
        let mut former = self.former.iter_mut();
        let at = former.position(|former| former.family == family && Arc::get_mut(former).is_some())?;
        Arc::into_inner(self.former.swap_remove(at))
    }
}

crate::debug_fields!(Graph, this => id: this.id, n_nodes: this.nodes.len());

/// A unique number, which identifies a graph's nodes.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
