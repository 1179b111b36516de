//! A dispatch that was checked and has its memory: [`Launch`], all that recording it takes.
//!
//! A graph (`graph.rs`) records what a stream (`dispatch.rs`) does, so both start here. A call that surely fits
//! (`digest.rs`) is ready after one pass over its arguments; any other goes through the whole of `check.rs`, which accepts
//! it or says why not.

use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::hazard::{Access, Mode, Stage};
use vkarray_driver::{Device, Stream};

use crate::args::{Arg, ArrayArg, NamedArg};
use crate::check::{Packed, check_given};
use crate::constant::ConstArray;
use crate::error::{Error, Result};
use crate::geometry::Groups;
use crate::kernel::{Kernel, Pipeline};
use crate::limits::Limits;
use crate::placement::Placement;
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
    /// Whether it writes what the host can read.
    pub(crate) writes_mapped: bool,
    /// Blocks that nobody else may hold. To count a handle up and down costs more than the rest of binding it, so those of
    /// the caller are not among them.
    made: SmallVec<[Arc<Block>; 2]>,
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

    /// Adds the array of the next parameter.
    #[inline]
    pub(crate) fn bind(&mut self, block: &Block, range: Range<u64>, kind: ParamKind, writes: bool) {
        let (offset, len) = (block.buffer_offset() + range.start, range.end - range.start);
        self.buffers.push(vk::DescriptorBufferInfo { buffer: block.buffer(), offset, range: len });
        let stage = match kind {
            ParamKind::Storage => Stage::Compute,
            ParamKind::Uniform => Stage::Constant,
        };
        self.accesses.push(if writes { block.write(range, stage) } else { block.read(range, stage) });
        self.writes_mapped |= writes && block.is_mapped();
    }

    /// Fills it if the call surely fits and has something to launch. Says nothing of other calls, and leaves anything.
    fn fit(&mut self, pipeline: &Pipeline, groups: Groups, args: &[NamedArg<'_>]) -> bool {
        let Some(digest) = &pipeline.digest else { return false };
        if args.len() != digest.arrays.len() + digest.numbers.len() {
            return false;
        }
        let (arrays, numbers) = args.split_at(digest.arrays.len());
        for (rule, given) in digest.arrays.iter().zip(arrays) {
            match (given.name, &given.arg) {
                (None, Arg::Array(array)) if rule.takes(&array.shape) && is_usable(pipeline, array.block) => {
                    self.bind(array.block, array.bytes(), rule.kind, rule.writes);
                }
                _ => return false,
            }
        }
        for (rule, given) in digest.numbers.iter().zip(numbers) {
            if given.name.is_some() || !rule.pack(&given.arg, &mut self.push_constants) {
                return false;
            }
        }
        match groups.counts(pipeline.signature.workgroup_size, &pipeline.limits) {
            Ok(Some(counts)) => self.counts = counts,
            _ => return false,
        }
        !self.is_aliased()
    }

    /// Whether two arrays share bytes of which the kernel writes one.
    fn is_aliased(&self) -> bool {
        let share = |a: &Access, b: &Access| {
            a.block == b.block
                && a.range.start < b.range.end
                && b.range.start < a.range.end
                && (a.mode == Mode::Write || b.mode == Mode::Write)
        };
        let pairs_with = |(i, a): (usize, &Access)| self.accesses[..i].iter().any(|b| share(a, b));
        self.accesses.iter().enumerate().any(pairs_with)
    }
}

/// Whether a kernel of the pipeline can use the memory.
#[inline]
fn is_usable(pipeline: &Pipeline, block: &Block) -> bool {
    pipeline.is_of(block.device()) && block.is_alive()
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

    /// A copy of an array that is shorter than the constant memory it is for, continued with zeros.
    fn continued(&mut self, array: &ArrayArg<'_>, length: u64) -> Result<Arc<Block>>;
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
}

impl Kernel {
    /// Checks a dispatch and fills `launch`, which is new, with what it takes. Returns whether there is anything to
    /// launch. Records nothing of the dispatch.
    #[inline]
    pub(crate) fn prepare(
        &self,
        launch: &mut Launch,
        supply: impl Supply,
        groups: Groups,
        args: &[NamedArg<'_>],
    ) -> Result<bool> {
        if launch.fit(&self.pipeline, groups, args) {
            return Ok(true);
        }
        *launch = Launch::new(&self.pipeline);
        self.check_and_prepare(launch, supply, groups, args)
    }

    /// As [`Kernel::prepare`], by the full check.
    #[cold]
    fn check_and_prepare(
        &self,
        launch: &mut Launch,
        mut supply: impl Supply,
        groups: Groups,
        args: &[NamedArg<'_>],
    ) -> Result<bool> {
        let pipeline = &*self.pipeline;
        let packed = check_given(&pipeline.signature, args, &pipeline.limits)?;
        self.check_devices(args)?;
        check_aliasing(&pipeline.signature, &packed, args)?;
        let Some(counts) = groups.resolve(pipeline.signature.workgroup_size, &pipeline.limits)? else {
            return Ok(false);
        };
        if let Some(empty) = packed.empty {
            let (kernel, param) = (pipeline.signature.entry.clone(), pipeline.signature.params[empty].name.clone());
            return Err(Error::EmptyArray { kernel, param });
        }
        for (param, &idx) in pipeline.signature.params.iter().zip(&packed.arrays) {
            bind(launch, &mut supply, (param, &pipeline.limits), &args[idx].arg)?;
        }
        (launch.push_constants, launch.counts) = (packed.push_constants, counts);
        Ok(true)
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

    fn check_devices(&self, args: &[NamedArg<'_>]) -> Result<()> {
        for arg in args {
            match &arg.arg {
                Arg::Array(array) => {
                    self.check_device(array.block.device(), "an array")?;
                    array.block.check_alive()?;
                }
                Arg::Constant(constant) => self.check_device(constant.allocator().device(), "constant memory")?,
                Arg::Scalar(_) | Arg::Scalars(_) => {}
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
        let (a_end, b_end) = (a.shape.offset + a.shape.nbytes, b.shape.offset + b.shape.nbytes);
        Arc::ptr_eq(a.block, b.block) && a.shape.offset < b_end && b.shape.offset < a_end
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
            launch.bind(array.block, array.bytes(), param.kind, param.writes);
            return Ok(());
        }
        Arg::Constant(constant) => {
            let placement = Placement::of(param, &constant.shape());
            let laid = placement.as_ref().map_or(constant.nbytes(), |placement| placement.nbytes(constant.nbytes()));
            let size = if param.is_constant { declared } else { laid };
            (supply.constant(constant, size, placement)?, size)
        }
        Arg::Scalar(_) | Arg::Scalars(_) => unreachable!("the check gave every buffer parameter an array"),
    };
    launch.bind(&made, 0..size, param.kind, param.writes);
    launch.made.push(made);
    Ok(())
}
