//! Dispatches as nodes of a graph: [`DispatchNode`], recorded once, run by every replay, changed in between.
//!
//! A node keeps its arguments, so that one of them can be replaced and all of them checked again as a dispatch checks them.
//! The graph is changed only if they fit: a refused change changes nothing.

use std::mem;
use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_allocator::Block;
use vkarray_driver::{Graph, GraphNode, GraphRecorder, Recorder, Step, Stream};

use crate::call::args::{Arg, ArrayArg, AsArg, NamedArg, arguments};
use crate::call::arguments::Arguments;
use crate::call::check::{not_recorded, parameter_name};
use crate::call::groups::{Extent, Groups};
use crate::call::list::{ArrayArgs, AsArray};
use crate::call::memory::resolved;
use crate::call::shape::{ArgShape, ArrayShape};
use crate::dispatch::launch::{CopyBack, Launch, Prepared};
use crate::dispatch::preparation::Preparation;
use crate::dispatch::sanitized::Report;
use crate::error::{Error, Result};
use crate::pipeline::kernel::Kernel;

/// A dispatch in a graph. Made by [`Kernel::record`].
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_driver::{Graph, GraphRecorder};
/// use vkarray_kernel::{Groups, Source};
///
/// let ctx = Context::open_default()?;
/// let add = ctx
///     .kernel(Source::wgsl(
///         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
///          var<immediate> n: u32;
///          @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
///              if id.x < arrayLength(&x) { x[id.x] += n; }
///          }",
///     ))
///     .build()?;
/// let (x, other) = (ctx.zeros::<u32>(4)?, ctx.zeros::<u32>(4)?);
/// let (mut graph, node) = Graph::record(ctx.default_stream(), |graph: &mut GraphRecorder| {
///     add.record(graph, Groups::covering(4), (&x, 1_u32))
/// })?;
/// graph.replay(ctx.default_stream())?;
/// node.set(&mut graph, "n", 10_u32)?;
/// node.set_groups(&mut graph, Groups::exact([1, 1, 1]))?;
/// graph.replay(ctx.default_stream())?;
/// assert_eq!(x.to_vec()?, [11; 4]);
/// node.update(&mut graph, Groups::covering(4), (&other, 5_u32))?;
/// graph.replay(ctx.default_stream())?;
/// assert_eq!((x.to_vec()?, other.to_vec()?), (vec![11; 4], vec![5; 4]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct DispatchNode(GraphNode<Dispatch>);

/// What a node does.
#[derive(Clone)]
struct Dispatch {
    kernel: Kernel,
    groups: Extent<KeptArg>,
    args: Vec<(String, KeptArg)>, // By parameter.
}

/// An argument that owns what it describes.
type KeptArg = Arc<dyn AsArg + Send + Sync>;

/// An array as a [`KeptArg`]: its block, its shape and strides, and the rest of its description.
struct KeptArray(Arc<Block>, SmallVec<[usize; 4]>, Option<SmallVec<[isize; 4]>>, ArrayShape<'static>);

/// What a [`KeptArg`] owns, and the argument that it is.
struct OwnedArg<T>(T, for<'a> fn(&'a T) -> Arg<'a>);

impl Kernel {
    /// Adds a dispatch over `groups` to a graph. Otherwise as [`Kernel::dispatch`]. [`DispatchNode`] has an example.
    ///
    /// The graph keeps the arrays and the kernel alive. A padded array that is shorter than the constant memory it is
    /// for is copied by every replay.
    ///
    /// # Errors
    ///
    /// As [`Kernel::dispatch`], and [`SpirvError::Sanitize`](crate::SpirvError::Sanitize) for a kernel built with checks;
    /// nothing is added then.
    pub fn record(&self, graph: &mut GraphRecorder, groups: Groups<'_>, args: impl Arguments) -> Result<DispatchNode> {
        self.check_device(graph.device(), "the graph")?;
        self.check_recordable()?;
        let dispatch = args.with(|args| {
            // A named or surplus argument that the kernel does not take is refused with the others.
            let shapes = arguments(args);
            let named = |(idx, given): (usize, &NamedArg<'_>)| {
                Ok((parameter_name(self.signature(), &shapes, &shapes[..idx], &shapes[idx]), kept(&given.arg)?))
            };
            let recorded = Dispatch {
                kernel: self.clone(),
                groups: groups.0.map(|array| kept(&array.as_arg()))?,
                args: args.iter().enumerate().map(named).collect::<Result<_>>()?,
            };
            steps_for(self, groups, graph.stream(), &resolved(args)?).map(|(steps, _)| (recorded, steps))
        });
        let (dispatch, steps) = dispatch?;
        Ok(DispatchNode(graph.add(dispatch, steps)?))
    }

    /// Runs the kernel and the copies of what it cannot bind as one operation, by a graph that is replayed once. A kernel with
    /// checks is waited for.
    pub(crate) fn dispatch_with_copies(
        &self,
        stream: &Stream,
        groups: Groups<'_>,
        args: &[NamedArg<'_>],
    ) -> Result<()> {
        let (steps, report) = steps_for(self, groups, stream, &resolved(args)?)?;
        let (graph, _) = Graph::record(stream, |graph| graph.add((), steps))?;
        graph.replay(stream)?;
        report.map_or(Ok(()), |report| report.read(stream))
    }
}

impl DispatchNode {
    /// Replaces the argument `name` from the next replay on. Does not wait.
    ///
    /// # Errors
    ///
    /// As [`DispatchNode::update`].
    pub fn set(self, graph: &mut Graph, name: &str, value: impl AsArg) -> Result<()> {
        self.change(graph, None, &[NamedArg { name: Some(name), arg: value.as_arg() }])
    }

    /// Runs the kernel over other `groups` from the next replay on. Does not wait.
    ///
    /// # Errors
    ///
    /// As [`DispatchNode::update`].
    pub fn set_groups(self, graph: &mut Graph, groups: Groups<'_>) -> Result<()> {
        self.change(graph, Some(groups), &[])
    }

    /// Replaces the size of the dispatch and some of its arguments together, from the next replay on. Does not wait.
    ///
    /// Arguments without a name are those of the first parameters of their kind; the others stay.
    ///
    /// # Errors
    ///
    /// The errors of [`Kernel::dispatch`]; [`Error::OtherLayout`] if an array has another type or shape than the one it is to
    /// replace; [`Error::Driver`] if the node belongs to another graph. Nothing is changed then.
    pub fn update(self, graph: &mut Graph, groups: Groups<'_>, args: impl Arguments) -> Result<()> {
        args.with(|args| self.change(graph, Some(groups), args))
    }

    fn change(self, graph: &mut Graph, groups: Option<Groups<'_>>, changes: &[NamedArg<'_>]) -> Result<()> {
        let mut dispatch = graph.operation(self.0)?.clone();
        if let Some(groups) = groups {
            dispatch.groups = groups.0.map(|array| kept(&array.as_arg()))?;
        }
        let shapes = arguments(changes);
        for (idx, change) in changes.iter().enumerate() {
            let (signature, recorded) = (dispatch.kernel.signature(), dispatch.arguments());
            let name = parameter_name(signature, &arguments(&recorded), &shapes[..idx], &shapes[idx]);
            drop(recorded);
            dispatch.apply(name, change)?;
        }
        let groups = Groups(dispatch.groups.map(|array| Ok(&**array as &(dyn AsArg + Sync)))?);
        let (steps, _) = steps_for(&dispatch.kernel, groups, graph.stream(), &dispatch.arguments())?;
        Ok(graph.replace(self.0, dispatch, steps)?)
    }
}

impl Dispatch {
    fn arguments(&self) -> SmallVec<[NamedArg<'_>; 8]> {
        self.args.iter().map(|(name, kept)| NamedArg { name: Some(name), arg: kept.as_arg() }).collect()
    }

    /// Replaces one argument.
    fn apply(&mut self, name: String, change: &NamedArg<'_>) -> Result<()> {
        let signature = self.kernel.signature();
        let Some((_, recorded)) = self.args.iter_mut().find(|(param, _)| *param == name) else {
            return Err(not_recorded(signature, name, &change.arg.shape()));
        };
        if let (
            ArgShape::Array(recorded) | ArgShape::Constant(recorded),
            ArgShape::Array(given) | ArgShape::Constant(given),
        ) = (recorded.as_arg().shape(), change.arg.shape())
            && (recorded.dtype, recorded.shape) != (given.dtype, given.shape)
        {
            let (recorded, given) = (recorded.to_string(), given.to_string());
            return Err(Error::OtherLayout { kernel: signature.entry.clone(), param: name, recorded, given });
        }
        *recorded = kept(&change.arg)?;
        Ok(())
    }
}

/// Checks a dispatch and describes it as steps of a graph: none if there is nothing to launch. Beside them is the report of a
/// kernel with checks.
fn steps_for(
    kernel: &Kernel,
    groups: Groups<'_>,
    stream: &Stream,
    args: &[NamedArg<'_>],
) -> Result<(SmallVec<[Step; 1]>, Option<Report>)> {
    let (mut steps, mut kernel) = (SmallVec::new(), kernel.clone());
    loop {
        let before = Preparation { stream, steps: Some(&mut steps) };
        let mut launch = Launch::new(&kernel.pipeline);
        match kernel.prepare(&mut launch, before, groups, args)? {
            Prepared::Empty => return Ok((steps, None)),
            Prepared::Variant(variant) => kernel = variant,
            Prepared::WithCopies => unreachable!("the steps of a graph are one operation"),
            Prepared::Launch => {
                launch.keep_arguments(args);
                let sanitizer = kernel.pipeline.sanitizer.as_ref();
                let report = sanitizer.map(|own| kernel.bind_report(stream, &mut launch, own)).transpose()?;
                let copies_back = launch.more.as_mut().map(|more| mem::take(&mut more.copies_back));
                steps.push(step(kernel, launch));
                for CopyBack { copy, block, bytes } in copies_back.iter().flatten() {
                    let length = bytes.end - bytes.start;
                    steps.extend(block.copy_step(stream.device(), bytes.start, copy, 0..length)?);
                }
                return Ok((steps, report));
            }
        }
    }
}

/// A launch of this kernel that keeps its blocks alive.
pub(super) fn step(kernel: Kernel, launch: Launch) -> Step {
    let (device, accesses) = (Arc::clone(kernel.device()), launch.accesses.clone());
    let record = move |recorder: &mut Recorder<'_>| {
        // SAFETY: this kernel filled the launch, which holds the blocks: those of the arguments and of the groups by `keep`,
        // the others since they were made for it.
        unsafe { kernel.record_launch(recorder, &launch) }
    };
    // SAFETY: the launch touches what its `accesses` say, and `record` owns it and with it the blocks.
    unsafe { Step::new(&device, &accesses, record) }
}

/// The argument as one that outlives the call.
fn kept(arg: &Arg<'_>) -> Result<KeptArg> {
    let array = |&ArrayArg { block, shape }: &ArrayArg<'_>| {
        let rest = ArrayShape { label: None, shape: &[], strides: None, ..shape };
        KeptArray(Arc::clone(block), shape.shape.into(), shape.strides.map(Into::into), rest)
    };
    let many = |list: &ArrayArgs<'_>| -> Vec<KeptArray> { list.iter().map(|given| array(&given)).collect() };
    Ok(match arg {
        Arg::Array(given) => Arc::new(OwnedArg(array(given), |kept| Arg::Array(kept.as_array()))),
        Arg::Arrays(list) => Arc::new(many(list)),
        Arg::Reached(list) => {
            Arc::new(OwnedArg(many(list), |kept| Arg::Reached(kept.iter().map(AsArray::as_array).collect())))
        }
        Arg::Sampled(given, sampler) => {
            Arc::new(OwnedArg((array(given), *sampler), |(kept, sampler)| Arg::Sampled(kept.as_array(), *sampler)))
        }
        Arg::Sampler(sampler) => Arc::new(*sampler),
        Arg::Memory(memory) => Arc::new(OwnedArg(array(&memory.recordable()?), |kept| Arg::Array(kept.as_array()))),
        Arg::Constant(constant) => Arc::new((*constant).clone()),
        Arg::Scalar(value) => Arc::new(*value),
        Arg::Scalars(values) => Arc::new(Arg::Scalars(values.clone())),
        Arg::Block(bytes) => Arc::new(OwnedArg(SmallVec::<[u8; 32]>::from_slice(bytes), |bytes| Arg::Block(bytes))),
    })
}

impl AsArray for KeptArray {
    fn as_array(&self) -> ArrayArg<'_> {
        let Self(block, shape, strides, rest) = self;
        ArrayArg { block, shape: ArrayShape { shape, strides: strides.as_deref(), ..*rest } }
    }
}

impl<T> AsArg for OwnedArg<T> {
    fn as_arg(&self) -> Arg<'_> {
        (self.1)(&self.0)
    }
}
