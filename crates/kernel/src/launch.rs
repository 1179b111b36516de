//! A dispatch that was checked and has its memory: [`Launch`], all that recording it takes.
//!
//! A graph (`graph.rs`) records what a stream (`dispatch.rs`) does, so both start here. A call that surely fits
//! (`digest.rs`) is ready after one pass over its arguments; any other goes through the whole of `check.rs`, which accepts
//! it or says why not.

use std::ops::{Deref, Range};
use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::hazard::{Access, Stage};
use vkarray_driver::{Device, Stream};

use crate::args::{Arg, ArrayArg, NamedArg};
use crate::check::{Packed, check_given};
use crate::constant::ConstArray;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::geometry::Groups;
use crate::kernel::{Kernel, Pipeline};
use crate::signature::{Param, ParamKind, Signature};

/// An argument's memory, ready to be bound to the parameter of the same index.
pub(crate) struct Bound<'a> {
    pub(crate) block: Memory<'a>,
    pub(crate) range: Range<u64>,
}

/// Borrowed where the caller holds it: counting a handle up and down costs more than the rest of binding it.
pub(crate) enum Memory<'a> {
    Given(&'a Arc<Block>),
    Made(Arc<Block>),
}

impl Deref for Memory<'_> {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        match self {
            Self::Given(block) => block,
            Self::Made(block) => block,
        }
    }
}

impl Memory<'_> {
    fn into_owned(self) -> Memory<'static> {
        match self {
            Self::Given(block) => Memory::Made(Arc::clone(block)),
            Self::Made(block) => Memory::Made(block),
        }
    }
}

/// See the module. Filled where it stands: it is large, and moving it costs more than what it is filled with.
#[derive(Default)]
pub(crate) struct Launch<'a> {
    pub(crate) bound: SmallVec<[Bound<'a>; 8]>,
    pub(crate) push_constants: SmallVec<[u8; 128]>,
    pub(crate) counts: [u32; 3],
}

impl<'a> Launch<'a> {
    /// Takes hold of the memory that the caller holds, for a graph that outlives the call.
    pub(crate) fn into_owned(self) -> Launch<'static> {
        let own = |bound: Bound<'_>| Bound { block: bound.block.into_owned(), range: bound.range };
        let bound = self.bound.into_iter().map(own).collect();
        Launch { bound, push_constants: self.push_constants, counts: self.counts }
    }

    /// Fills it if the call surely fits and has something to launch. Says nothing of other calls, and leaves anything.
    fn fit(&mut self, pipeline: &Pipeline, groups: Groups, args: &[NamedArg<'a>]) -> bool {
        let Some(digest) = &pipeline.digest else { return false };
        let n_arrays = digest.arrays.len();
        if args.len() != n_arrays + digest.numbers.len() || args.iter().any(|arg| arg.name.is_some()) {
            return false;
        }
        let (arrays, numbers) = args.split_at(n_arrays);
        for (rule, given) in digest.arrays.iter().zip(arrays) {
            match &given.arg {
                Arg::Array(array) if rule.takes(&array.shape) && pipeline.is_of(array.block.device()) => {
                    self.bound.push(Bound { block: Memory::Given(array.block), range: array.bytes() });
                }
                _ => return false,
            }
        }
        self.push_constants = zeros(digest.push_bytes);
        let mut pairs = digest.numbers.iter().zip(numbers);
        if !pairs.all(|(rule, given)| rule.pack(&given.arg, &mut self.push_constants)) || self.is_aliased(digest) {
            return false;
        }
        let Ok(Some(counts)) = groups.resolve(pipeline.signature.workgroup_size, &pipeline.limits) else {
            return false;
        };
        self.counts = counts;
        true
    }

    /// Whether two arrays share bytes of which the kernel writes one.
    fn is_aliased(&self, digest: &Digest) -> bool {
        let share = |a: &Bound<'_>, b: &Bound<'_>| {
            std::ptr::eq(&*a.block, &*b.block) && a.range.start < b.range.end && b.range.start < a.range.end
        };
        let writes = |i: usize| digest.arrays[i].writes;
        let mut written = self.bound.iter().enumerate().filter(|&(i, _)| writes(i));
        written.any(|(i, a)| self.bound.iter().enumerate().any(|(j, b)| i != j && share(a, b)))
    }
}

/// So many zeros, without a loop or a call for as many as usually fit.
#[inline]
fn zeros(n: usize) -> SmallVec<[u8; 128]> {
    if n <= 128 { SmallVec::from_buf_and_len([0; 128], n) } else { SmallVec::from_elem(0, n) }
}

/// The memory of arguments that a kernel cannot bind as they are. `length` is what the shader declares.
pub(crate) trait Supply {
    /// Constant memory on the device.
    fn constant(&mut self, constant: &ConstArray, length: u64) -> Result<Arc<Block>>;

    /// A copy of an array that is shorter than the constant memory it is for, continued with zeros.
    fn continued(&mut self, array: &ArrayArg<'_>, length: u64) -> Result<Arc<Block>>;
}

impl Supply for &Stream {
    fn constant(&mut self, constant: &ConstArray, length: u64) -> Result<Arc<Block>> {
        constant.block(self, length)
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
    pub(crate) fn prepare<'a>(
        &self,
        launch: &mut Launch<'a>,
        supply: impl Supply,
        groups: Groups,
        args: &[NamedArg<'a>],
    ) -> Result<bool> {
        if launch.fit(&self.pipeline, groups, args) {
            return Ok(true);
        }
        *launch = Launch::default();
        self.check_and_prepare(launch, supply, groups, args)
    }

    /// As [`Kernel::prepare`], by the full check.
    #[cold]
    fn check_and_prepare<'a>(
        &self,
        launch: &mut Launch<'a>,
        mut supply: impl Supply,
        groups: Groups,
        args: &[NamedArg<'a>],
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
            launch.bound.push(bind(&mut supply, param, &args[idx].arg)?);
        }
        (launch.push_constants, launch.counts) = (packed.push_constants, counts);
        Ok(true)
    }

    /// What a launch touches: the shader reaches its bound ranges alone, since its indices are checked or its builder
    /// vouched for them, and uses each as its own code says.
    #[inline]
    pub(crate) fn accesses(&self, launch: &Launch<'_>) -> SmallVec<[Access; 8]> {
        let mut accesses = SmallVec::new();
        // One by one: to collect them costs three times as much.
        for (&writes, Bound { block, range }) in self.pipeline.writes.iter().zip(&launch.bound) {
            let (range, stage) = (range.clone(), Stage::Compute);
            accesses.push(if writes { block.write(range, stage) } else { block.read(range, stage) });
        }
        accesses
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
                Arg::Array(array) => self.check_device(array.block.device(), "an array")?,
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

/// Finds the memory for an argument. Constant memory is bound at the size the shader declares.
fn bind<'a>(supply: &mut impl Supply, param: &Param, arg: &Arg<'a>) -> Result<Bound<'a>> {
    let declared = param.fixed_bytes;
    match arg {
        Arg::Array(array) if param.kind == ParamKind::Uniform && array.shape.nbytes < declared => {
            let block = supply.continued(array, declared)?;
            Ok(Bound { block: Memory::Made(block), range: 0..declared })
        }
        Arg::Array(array) => Ok(Bound { block: Memory::Given(array.block), range: array.bytes() }),
        Arg::Constant(constant) => {
            let size = if param.kind == ParamKind::Uniform { declared } else { constant.nbytes() };
            Ok(Bound { block: Memory::Made(supply.constant(constant, size)?), range: 0..size })
        }
        Arg::Scalar(_) | Arg::Scalars(_) => unreachable!("the check gave every buffer parameter an array"),
    }
}
