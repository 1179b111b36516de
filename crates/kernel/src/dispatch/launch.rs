//! A dispatch that was checked and has its memory: [`Launch`], all that recording it takes.
//!
//! A graph (`graph.rs`) records what a stream (`stream.rs`) does, so both start here. A call that surely fits
//! (`call/fast_check.rs`) is ready after one pass over its arguments; any other goes through the whole of `call/check.rs`, which accepts
//! it or says why not. `dispatch_cost checks` counts what that pass takes.

use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::hazard::{Access, Mode, Stage};
use vkarray_driver::{Device, Stream};

use crate::call::args::{Arg, ArrayArg, NamedArg};
use crate::call::check::{Packed, check_given, refusal};
use crate::call::constant::ConstArray;
use crate::call::groups::{Counted, Groups, unnumbered};
use crate::call::mismatch::Mismatch;
use crate::call::packing::Placement;
use crate::error::{Error, Result};
use crate::pipeline::kernel::{Kernel, Pipeline};
use crate::requirements::Limits;
use crate::signature::{Param, ParamKind, Signature};

/// See the module. Filled where it stands: it is large, and moving it costs more than what it is filled with.
pub(crate) struct Launch {
    /// How each parameter's array is used, in the order of the parameters.
    ///
    /// The shader reaches these ranges alone, since its indices are checked or its builder vouched for them, and uses each
    /// as its own code says.
    pub(crate) accesses: SmallVec<[Access; 8]>,
    /// The same arrays, as they are bound.
    pub(crate) buffers: SmallVec<[vk::DescriptorBufferInfo; 8]>,
    pub(crate) push_constants: SmallVec<[u8; 128]>,
    pub(crate) counts: [u32; 3],
    /// Where the device reads the counts instead.
    pub(crate) indirect: Option<(vk::Buffer, u64)>,
    /// Whether it writes what the host can read.
    pub(crate) writes_mapped: bool,
    /// Blocks that nobody else may hold. To count a handle up and down costs more than the rest of binding it, so those of
    /// the caller are not among them.
    pub(crate) made: SmallVec<[Arc<Block>; 2]>,
    /// What the kernel writes beside an array, to be copied to it afterwards.
    pub(crate) returns: SmallVec<[Return; 1]>,
}

/// A copy that was bound in place of an array which the device cannot bind where it lies.
pub(crate) struct Return {
    pub(crate) copy: Arc<Block>,
    pub(crate) block: Arc<Block>,
    /// Where the array lies in its block.
    pub(crate) bytes: Range<u64>,
}

/// What became of a dispatch that was checked.
pub(crate) enum Prepared {
    /// Its launch is filled.
    Launch,
    /// There is nothing to launch.
    Empty,
    /// This kernel takes it, for it is too long for one axis.
    Folded(Kernel),
}

/// What the quick check says of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Fits,
    /// It fits, and has nothing to launch.
    Empty,
    /// Nothing.
    Unknown,
}

impl Launch {
    /// An empty one for that pipeline, its push constants zero.
    #[inline]
    pub(crate) fn new(pipeline: &Pipeline) -> Self {
        let push_constants = zeros(pipeline.push_bytes);
        Self {
            accesses: SmallVec::new(),
            buffers: SmallVec::new(),
            push_constants,
            counts: [0; 3],
            indirect: None,
            writes_mapped: false,
            made: SmallVec::new(),
            returns: SmallVec::new(),
        }
    }

    /// Takes hold of the memory that the caller holds, for a graph that outlives the call.
    pub(crate) fn keep(&mut self, args: &[NamedArg<'_>]) {
        self.made.extend(args.iter().filter_map(|given| match &given.arg {
            Arg::Array(array) => Some(Arc::clone(array.block)),
            _ => None,
        }));
    }

    /// Adds the array of the next parameter, if the block has the bytes. A call would cost a third as much again.
    #[inline(always)]
    pub(crate) fn bind(
        &mut self,
        block: &Block,
        range: Range<u64>,
        kind: ParamKind,
        writes: bool,
    ) -> vkarray_allocator::Result<()> {
        self.buffers.push(block.binding(&range)?);
        let stage = match kind {
            ParamKind::Storage => Stage::Compute,
            ParamKind::Uniform => Stage::Constant,
        };
        let mode = if writes { Mode::Write } else { Mode::Read };
        self.accesses.push(Access { mode, ..block.read(range, stage) });
        self.writes_mapped |= writes && block.is_mapped();
        Ok(())
    }

    /// Fills it if the call surely fits and has something to launch. Otherwise leaves anything.
    #[inline]
    fn fit(&mut self, pipeline: &Pipeline, groups: Groups<'_>, args: &[NamedArg<'_>]) -> Fit {
        let Some(digest) = &pipeline.digest else { return Fit::Unknown };
        if args.len() != digest.arrays.len() + digest.numbers.len() {
            return Fit::Unknown;
        }
        let (arrays, numbers) = args.split_at(digest.arrays.len());
        for (rule, given) in digest.arrays.iter().zip(arrays) {
            match (given.name, &given.arg) {
                (None, Arg::Array(array)) if rule.takes(&array.shape) && pipeline.is_of(array.block.device()) => {
                    if self.bind(array.block, array.bytes(), rule.kind, rule.writes).is_err() {
                        return Fit::Unknown;
                    }
                }
                _ => return Fit::Unknown,
            }
        }
        for (rule, given) in digest.numbers.iter().zip(numbers) {
            if given.name.is_some() || !rule.pack(&given.arg, &mut self.push_constants) {
                return Fit::Unknown;
            }
        }
        if self.is_aliased() {
            return Fit::Unknown;
        }
        match groups.counts(pipeline.signature.workgroup_size, &pipeline.limits) {
            Counted::Counts(counts) => self.counts = counts,
            Counted::Empty => return Fit::Empty,
            Counted::TooMany(_) | Counted::Unnumbered(..) | Counted::OnDevice(_) => return Fit::Unknown,
        }
        Fit::Fits
    }

    /// Whether two arrays share bytes of which the kernel writes one.
    #[inline(always)]
    fn is_aliased(&self) -> bool {
        let accesses = &self.accesses[..];
        for (i, a) in accesses.iter().enumerate() {
            for b in &accesses[..i] {
                if a.block == b.block
                    && a.range.start < b.range.end
                    && b.range.start < a.range.end
                    && (a.mode == Mode::Write || b.mode == Mode::Write)
                {
                    return true;
                }
            }
        }
        false
    }
}

/// So many zeros, without a loop or a call for as many as usually fit.
#[inline]
fn zeros(n: usize) -> SmallVec<[u8; 128]> {
    if n <= 128 { SmallVec::from_buf_and_len([0; 128], n) } else { SmallVec::from_elem(0, n) }
}

/// The memory of arguments that a kernel cannot bind as they are. `length` is what the shader declares.
pub(crate) trait Supply {
    /// Constant memory on the device, laid out so.
    fn constant(&mut self, constant: &ConstArray, length: u64, placement: Option<Placement>) -> Result<Arc<Block>>;

    /// A copy of an array that starts where the device cannot bind it.
    fn copied(&mut self, array: &ArrayArg<'_>) -> Result<Arc<Block>>;

    /// A copy of an array that is shorter than the constant memory it is for, with zeros behind it.
    fn continued(&mut self, array: &ArrayArg<'_>, length: u64) -> Result<Arc<Block>>;

    /// Runs another kernel first.
    fn run(&mut self, kernel: &Kernel, launch: Launch) -> Result<()>;
}

impl Supply for &Stream {
    fn constant(&mut self, constant: &ConstArray, length: u64, placement: Option<Placement>) -> Result<Arc<Block>> {
        constant.block(self, length, placement)
    }

    fn copied(&mut self, array: &ArrayArg<'_>) -> Result<Arc<Block>> {
        let block = array.block.allocator().allocate(array.shape.nbytes, MemoryKind::Device)?;
        block.copy_from_block(self, 0, array.block, array.bytes())?;
        Ok(block)
    }

    fn continued(&mut self, array: &ArrayArg<'_>, length: u64) -> Result<Arc<Block>> {
        let block = array.block.allocator().allocate(length, MemoryKind::Device)?;
        block.fill(self, 0)?;
        block.copy_from_block(self, 0, array.block, array.bytes())?;
        Ok(block)
    }

    fn run(&mut self, kernel: &Kernel, launch: Launch) -> Result<()> {
        kernel.submit(self, &launch)
    }
}

impl Kernel {
    /// Checks a dispatch and fills `launch`, which is new, with what it takes. Records nothing of the dispatch itself.
    #[inline]
    pub(crate) fn prepare(
        &self,
        launch: &mut Launch,
        supply: impl Supply,
        groups: Groups<'_>,
        args: &[NamedArg<'_>],
    ) -> Result<Prepared> {
        match launch.fit(&self.pipeline, groups, args) {
            Fit::Fits => Ok(Prepared::Launch),
            Fit::Empty => Ok(Prepared::Empty),
            Fit::Unknown => {
                *launch = Launch::new(&self.pipeline);
                self.check_and_prepare(launch, supply, groups, args)
            }
        }
    }

    /// As [`Kernel::prepare`], by the full check.
    #[cold]
    #[inline(never)]
    fn check_and_prepare(
        &self,
        launch: &mut Launch,
        mut supply: impl Supply,
        groups: Groups<'_>,
        args: &[NamedArg<'_>],
    ) -> Result<Prepared> {
        let pipeline = &*self.pipeline;
        let packed = check_given(&pipeline.signature, args, &pipeline.limits)?;
        self.check_memory(&packed, args)?;
        check_aliasing(&pipeline.signature, &packed, args)?;
        let mut on_device = None;
        let folded = match groups.counts(pipeline.signature.workgroup_size, &pipeline.limits) {
            Counted::Counts(counts) => {
                launch.counts = counts;
                None
            }
            Counted::Empty => return Ok(Prepared::Empty),
            Counted::TooMany(too_many) => Some(self.folded(too_many)?),
            Counted::Unnumbered(axis, n) => return Err(unnumbered(axis, n, pipeline.signature.workgroup_size)),
            Counted::OnDevice(indirect) => {
                on_device = Some((indirect.counts(self)?, indirect.is_trusted));
                None
            }
        };
        if let Some(empty) = packed.empty {
            let (kernel, param) = (pipeline.signature.entry.clone(), pipeline.signature.params[empty].name.clone());
            return Err(Error::EmptyArray { kernel, param });
        }
        if let Some(folded) = folded {
            return Ok(Prepared::Folded(folded));
        }
        for (param, &idx) in pipeline.signature.params.iter().zip(&packed.arrays) {
            bind(launch, &mut supply, (param, &pipeline.limits), &args[idx].arg)?;
        }
        launch.push_constants = packed.push_constants;
        match on_device {
            Some((counts, true)) => counts.launch(launch),
            Some((counts, false)) => counts.launch_gated(self, launch, &mut supply)?,
            None => {}
        }
        Ok(Prepared::Launch)
    }

    #[inline]
    pub(crate) fn check_device(&self, device: &Arc<Device>, what: &'static str) -> Result<()> {
        if self.pipeline.is_of(device) { Ok(()) } else { Err(self.foreign(device, what)) }
    }

    #[cold]
    fn foreign(&self, device: &Arc<Device>, what: &'static str) -> Error {
        let kernel = self.signature().entry.clone();
        let (own, other) = (self.device().info().name.clone(), device.info().name.clone());
        Error::ForeignDevice { kernel, own, what, other }
    }

    /// Checks that the memory of the arguments is this device's, alive, and as long as they say.
    fn check_memory(&self, packed: &Packed, args: &[NamedArg<'_>]) -> Result<()> {
        for arg in args {
            match &arg.arg {
                Arg::Array(array) => {
                    self.check_device(array.block.device(), "an array")?;
                    array.block.check_alive()?;
                }
                Arg::Constant(constant) => self.check_device(constant.allocator().device(), "constant memory")?,
                Arg::Scalar(_) | Arg::Scalars(_) | Arg::Block(_) => {}
            }
        }
        for (param, &idx) in self.signature().params.iter().zip(&packed.arrays) {
            let Arg::Array(array) = &args[idx].arg else { continue };
            if let Err(vkarray_allocator::Error::OutOfBounds { size, .. }) = array.block.binding(&array.bytes()) {
                let (offset, given) = (array.shape.offset, array.shape.nbytes);
                return Err(refusal(
                    &self.signature().entry,
                    &param.name,
                    Mismatch::OutsideMemory { offset, given, size },
                ));
            }
        }
        Ok(())
    }
}

/// Refuses two parameters that share bytes of which the kernel writes one: the result would depend on chance.
fn check_aliasing(signature: &Signature, packed: &Packed, args: &[NamedArg<'_>]) -> Result<()> {
    let array = |i: usize| match &args[packed.arrays[i]].arg {
        Arg::Array(array) => Some(array),
        _ => None,
    };
    let share = |a: &ArrayArg<'_>, b: &ArrayArg<'_>| {
        let (a_bytes, b_bytes) = (a.bytes(), b.bytes());
        Arc::ptr_eq(a.block, b.block) && a_bytes.start < b_bytes.end && b_bytes.start < a_bytes.end
    };
    for (i, first) in signature.params.iter().enumerate() {
        for (j, second) in signature.params.iter().enumerate().skip(i + 1) {
            let (Some(a), Some(b)) = (array(i), array(j)) else { continue };
            if (first.writes || second.writes) && share(a, b) {
                let (written, other) = if first.writes { (first, second) } else { (second, first) };
                return Err(Error::Aliased {
                    kernel: signature.entry.clone(),
                    written: written.name.clone(),
                    other: other.name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// Finds the memory for an argument, and adds it. Constant memory is bound at the size the shader declares; a view that
/// starts where the device binds nothing is copied, and copied back if the kernel writes it.
fn bind(
    launch: &mut Launch,
    supply: &mut impl Supply,
    (param, limits): (&Param, &Limits),
    arg: &Arg<'_>,
) -> Result<()> {
    let declared = param.fixed_bytes;
    let (made, size) = match arg {
        Arg::Array(array) if param.is_constant && array.shape.nbytes < declared => {
            (supply.continued(array, declared)?, declared)
        }
        Arg::Array(array) if !array.shape.offset.is_multiple_of(limits.offset_alignment(param.kind)) => {
            let copy = supply.copied(array)?;
            if param.writes {
                let (copy, block) = (Arc::clone(&copy), Arc::clone(array.block));
                launch.returns.push(Return { copy, block, bytes: array.bytes() });
            }
            (copy, array.shape.nbytes)
        }
        Arg::Array(array) => {
            return Ok(launch.bind(array.block, array.bytes(), param.kind, param.writes)?);
        }
        Arg::Constant(constant) => {
            let placement = Placement::of(param, &constant.shape());
            let laid = placement.as_ref().map_or(constant.nbytes(), |placement| placement.nbytes(constant.nbytes()));
            let size = if param.is_constant { declared } else { laid };
            (supply.constant(constant, size, placement)?, size)
        }
        Arg::Scalar(_) | Arg::Scalars(_) | Arg::Block(_) => {
            unreachable!("the check gave every buffer parameter an array")
        }
    };
    launch.bind(&made, 0..size, param.kind, param.writes)?;
    launch.made.push(made);
    Ok(())
}
