//! Dispatches as nodes of a graph: recorded once, run by every replay, changed in between.
//!
//! A node remembers its arguments, so that one of them can be changed and all of them checked again, as a dispatch
//! checks them. Only a change that passes reaches the graph: a refused one changes nothing.

use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::{Graph, GraphRecorder, Node, Recorder, Step, Stream};

use crate::call::args::{Arg, Arguments, ArrayArg, AsArg, NamedArg};
use crate::call::check::not_recorded;
use crate::call::constant::ConstArray;
use crate::call::groups::{Extent, Groups, Indirect};
use crate::call::packing::Placement;
use crate::call::shape::{ArgShape, ArrayShape};
use crate::dispatch::launch::{Launch, Prepared, Return, Supply};
use crate::error::{Error, Result};
use crate::pipeline::kernel::Kernel;
use crate::signature::{DType, ScalarValue};

/// A dispatch in a graph. Made by [`Kernel::record`].
#[derive(Debug, Clone, Copy)]
pub struct DispatchNode(Node<Dispatch>);

/// What a node does.
#[derive(Debug, Clone)]
struct Dispatch {
    kernel: Kernel,
    groups: RecordedGroups,
    args: Vec<(String, RecordedArg)>, // By parameter.
}

/// An argument that outlives the call.
#[derive(Debug, Clone)]
enum RecordedArg {
    Array { block: Arc<Block>, dtype: DType, shape: SmallVec<[usize; 4]>, region: Region },
    Constant(ConstArray),
    Scalar(ScalarValue),
    Scalars(SmallVec<[ScalarValue; 4]>),
    Block(SmallVec<[u8; 32]>),
}

/// Groups that outlive the call.
#[derive(Debug, Clone)]
enum RecordedGroups {
    Counted(Groups<'static>),
    Indirect { array: RecordedArg, first: u64, is_trusted: bool },
}

/// The rest of an [`ArrayShape`].
#[derive(Debug, Clone, Copy)]
struct Region {
    nbytes: u64,
    offset: u64,
    is_contiguous: bool,
    is_writable: bool,
    is_padded: bool,
}

impl Kernel {
    /// Adds to a graph that the kernel runs over `groups`. Otherwise as [`Kernel::dispatch`].
    ///
    /// The graph keeps the arrays and the kernel alive. A padded array that is shorter than the constant memory it is
    /// for is copied by every replay.
    ///
    /// # Errors
    ///
    /// As [`Kernel::dispatch`], and [`Error::Sanitize`] for a kernel built with checks; nothing is added then.
    pub fn record(&self, graph: &mut GraphRecorder, groups: Groups<'_>, args: impl Arguments) -> Result<DispatchNode> {
        self.check_device(graph.device(), "the graph")?;
        self.check_recordable()?;
        let dispatch = args.with(|args| {
            // A named or surplus argument that the kernel does not take is refused with the others.
            let named = |(idx, arg): (usize, &NamedArg<'_>)| (self.name_of(idx, arg), RecordedArg::new(&arg.arg));
            let held = Dispatch {
                kernel: self.clone(),
                groups: RecordedGroups::new(groups),
                args: args.iter().enumerate().map(named).collect(),
            };
            held.steps_for(graph.stream(), args).map(|steps| (held, steps))
        });
        let (dispatch, steps) = dispatch?;
        Ok(DispatchNode(graph.add(dispatch, steps)?))
    }

    fn name_of(&self, idx: usize, arg: &NamedArg<'_>) -> String {
        let signature = self.signature();
        let by_place = || match (&arg.arg, &signature.push_constants) {
            (Arg::Block(_), Some(push)) => Some(push.name.as_str()),
            _ => signature.arguments().nth(idx).map(|parameter| parameter.name()),
        };
        arg.name.or_else(by_place).unwrap_or_default().to_owned()
    }
}

impl DispatchNode {
    /// Gives the parameter `name` another value from the next replay on. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`DispatchNode::update`].
    pub fn set(self, graph: &mut Graph, name: &str, value: impl AsArg) -> Result<()> {
        self.change(graph, None, &[NamedArg { name: Some(name), arg: value.as_arg() }])
    }

    /// Runs the kernel over other `groups` from the next replay on. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`DispatchNode::update`].
    pub fn set_groups(self, graph: &mut Graph, groups: Groups<'_>) -> Result<()> {
        self.change(graph, Some(groups), &[])
    }

    /// Changes the size of the dispatch and some of its arguments together, from the next replay on. Returns at once.
    ///
    /// Arguments without a name are those of the first parameters; the others stay as they are.
    ///
    /// # Errors
    ///
    /// Those of [`Kernel::dispatch`]; [`Error::OtherLayout`] if an array has another type or shape than the one it is to
    /// replace; [`Error::Driver`] if the node belongs to another graph. Nothing is changed then.
    pub fn update(self, graph: &mut Graph, groups: Groups<'_>, args: impl Arguments) -> Result<()> {
        args.with(|args| self.change(graph, Some(groups), args))
    }

    fn change(self, graph: &mut Graph, groups: Option<Groups<'_>>, changes: &[NamedArg<'_>]) -> Result<()> {
        let mut dispatch = graph.operation(self.0)?.clone();
        if let Some(groups) = groups {
            dispatch.groups = RecordedGroups::new(groups);
        }
        for (idx, change) in changes.iter().enumerate() {
            dispatch.apply(idx, change)?;
        }
        let args: SmallVec<[NamedArg<'_>; 8]> =
            dispatch.args.iter().map(|(name, held)| NamedArg { name: Some(name), arg: held.as_arg() }).collect();
        let steps = dispatch.steps_for(graph.stream(), &args)?;
        drop(args);
        Ok(graph.replace(self.0, dispatch, steps)?)
    }
}

impl Dispatch {
    /// Puts one argument in place of another.
    fn apply(&mut self, idx: usize, change: &NamedArg<'_>) -> Result<()> {
        let signature = self.kernel.signature();
        let name = self.kernel.name_of(idx, change);
        let Some((_, held)) = self.args.iter_mut().find(|(param, _)| *param == name) else {
            return Err(not_recorded(signature, name, &change.arg.shape()));
        };
        if let (
            ArgShape::Array(recorded) | ArgShape::Constant(recorded),
            ArgShape::Array(given) | ArgShape::Constant(given),
        ) = (held.as_arg().shape(), change.arg.shape())
            && (recorded.dtype, recorded.shape) != (given.dtype, given.shape)
        {
            let (recorded, given) = (recorded.to_string(), given.to_string());
            return Err(Error::OtherLayout { kernel: signature.entry.clone(), param: name, recorded, given });
        }
        *held = RecordedArg::new(&change.arg);
        Ok(())
    }

    /// Checks the dispatch and describes it as steps of a graph: none if there is nothing to launch.
    fn steps_for(&self, stream: &Stream, args: &[NamedArg<'_>]) -> Result<SmallVec<[Step; 1]>> {
        let mut steps = SmallVec::new();
        let (groups, mut kernel) = (self.groups.as_groups(), self.kernel.clone());
        loop {
            let supply = Steps { stream, steps: &mut steps };
            let mut launch = Launch::new(&kernel.pipeline);
            match kernel.prepare(&mut launch, supply, groups, args)? {
                Prepared::Empty => return Ok(steps),
                Prepared::Folded(folded) => kernel = folded,
                Prepared::Launch => {
                    launch.keep(args);
                    self.groups.keep(&mut launch);
                    let returns = std::mem::take(&mut launch.returns);
                    steps.push(step(kernel, launch));
                    for Return { copy, block, bytes } in &returns {
                        steps.extend(block.copy_step(
                            stream.device(),
                            bytes.start,
                            copy,
                            0..bytes.end - bytes.start,
                        )?);
                    }
                    return Ok(steps);
                }
            }
        }
    }
}

/// A launch of this kernel's that holds its blocks.
fn step(kernel: Kernel, launch: Launch) -> Step {
    let (device, accesses) = (Arc::clone(kernel.device()), launch.accesses.clone());
    let record = move |recorder: &mut Recorder<'_>| {
        // SAFETY: this kernel filled the launch, which holds the blocks: those of the arguments and of the groups by `keep`,
        // the others since they were made for it.
        unsafe { kernel.record_launch(recorder, &launch) }
    };
    // SAFETY: the launch touches what its `accesses` say, and `record` owns it and with it the blocks.
    unsafe { Step::new(&device, &accesses, record) }
}

/// Constants are sent once, copies of arrays become steps of their own.
struct Steps<'a> {
    stream: &'a Stream,
    steps: &'a mut SmallVec<[Step; 1]>,
}

impl Supply for Steps<'_> {
    fn constant(&mut self, constant: &ConstArray, length: u64, placement: Option<Placement>) -> Result<Arc<Block>> {
        constant.block(self.stream, length, placement)
    }

    fn copied(&mut self, array: &ArrayArg<'_>) -> Result<Arc<Block>> {
        let block = array.block.allocator().allocate(array.shape.nbytes, MemoryKind::Device)?;
        self.steps.extend(block.copy_step(self.stream.device(), 0, array.block, array.bytes())?);
        Ok(block)
    }

    fn continued(&mut self, array: &ArrayArg<'_>, length: u64) -> Result<Arc<Block>> {
        let block = array.block.allocator().allocate(length, MemoryKind::Device)?;
        self.steps.extend(block.fill_step(self.stream.device(), 0)?);
        self.steps.extend(block.copy_step(self.stream.device(), 0, array.block, array.bytes())?);
        Ok(block)
    }

    fn run(&mut self, kernel: &Kernel, launch: Launch) -> Result<()> {
        self.steps.push(step(kernel.clone(), launch));
        Ok(())
    }
}

impl RecordedGroups {
    fn new(groups: Groups<'_>) -> Self {
        match groups.0 {
            Extent::Items(items) => Self::Counted(Groups(Extent::Items(items))),
            Extent::Workgroups(counts) => Self::Counted(Groups(Extent::Workgroups(counts))),
            Extent::Indirect(Indirect { array, first, is_trusted }) => {
                Self::Indirect { array: RecordedArg::new(&array.as_arg()), first, is_trusted }
            }
        }
    }

    fn as_groups(&self) -> Groups<'_> {
        match self {
            Self::Counted(groups) => *groups,
            &Self::Indirect { ref array, first, is_trusted } => {
                Groups(Extent::Indirect(Indirect { array, first, is_trusted }))
            }
        }
    }

    /// Lets the launch hold the memory that the groups are in.
    fn keep(&self, launch: &mut Launch) {
        if let Self::Indirect { array: RecordedArg::Array { block, .. }, .. } = self {
            launch.made.push(Arc::clone(block));
        }
    }
}

impl RecordedArg {
    fn new(arg: &Arg<'_>) -> Self {
        match arg {
            Arg::Array(ArrayArg { block, shape }) => Self::Array {
                block: Arc::clone(block),
                dtype: shape.dtype,
                shape: shape.shape.into(),
                region: Region {
                    nbytes: shape.nbytes,
                    offset: shape.offset,
                    is_contiguous: shape.is_contiguous,
                    is_writable: shape.is_writable,
                    is_padded: shape.is_padded,
                },
            },
            Arg::Constant(constant) => Self::Constant((*constant).clone()),
            Arg::Scalar(value) => Self::Scalar(*value),
            Arg::Scalars(values) => Self::Scalars(values.clone()),
            Arg::Block(bytes) => Self::Block(SmallVec::from_slice(bytes)),
        }
    }
}

impl AsArg for RecordedArg {
    fn as_arg(&self) -> Arg<'_> {
        match self {
            Self::Array { block, dtype, shape, region } => {
                let &Region { nbytes, offset, is_contiguous, is_writable, is_padded } = region;
                let plain = ArrayShape::new(*dtype, shape, nbytes);
                let shape = ArrayShape { offset, is_contiguous, is_writable, is_padded, ..plain };
                Arg::Array(ArrayArg { block, shape })
            }
            Self::Constant(constant) => Arg::Constant(constant),
            Self::Scalar(value) => Arg::Scalar(*value),
            Self::Scalars(values) => Arg::Scalars(values.clone()),
            Self::Block(bytes) => Arg::Block(bytes),
        }
    }
}
