//! A dispatch that was checked and has its memory: [`Launch`], everything that recording takes.
//!
//! `stream.rs` and `graph.rs` both record launches. A common call is ready after one pass over its arguments, which asks
//! the rules of the kernel (`call/rules.rs`); every other call goes through `call/check.rs`, which asks the same rules and
//! accepts the call or says why not. The example `dispatch_cost checks` measures that pass.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use vkarray_allocator::Block;
use vkarray_driver::hazard::{BlockAccess, Mode, Stage};
use vkarray_driver::{Device, KeepAlive};
use vkarray_shader::{Param, ParamKind};

use crate::call::args::{Arg, ArrayArg, NamedArg, arguments};
use crate::call::check::check_arguments;
use crate::call::groups::{GroupCount, Groups};
use crate::call::memory::resolved;
use crate::call::packing::Packing;
use crate::call::rules::ArrayRule;
use crate::dispatch::image::{self, BoundImage, check_samplers};
use crate::dispatch::memory::{arrays_of, check_aliasing, reached};
use crate::dispatch::preparation::Preparation;
use crate::error::{Error, Result};
use crate::pipeline::kernel::{Kernel, Pipeline};

/// See the module. It is large, so it is filled in place: moving it would cost more than filling it.
pub(crate) struct Launch {
    /// How each parameter's array is used, in the order of the parameters, with all arrays of a list and without samplers;
    /// behind them the images.
    ///
    /// The shader reaches these ranges alone, since its indices are checked or its builder promised that they are in range,
    /// and uses each as its own code says. What it reaches by an address lies in these ranges too, as its builder promised.
    pub(crate) accesses: SmallVec<[BlockAccess; 8]>,
    /// The arrays of `accesses`, as they are bound.
    pub(crate) buffers: SmallVec<[vk::DescriptorBufferInfo; 8]>,
    pub(crate) push_constants: SmallVec<[u8; 128]>,
    pub(crate) counts: [u32; 3],
    /// Where the device reads the counts instead.
    pub(crate) indirect: Option<(vk::Buffer, u64)>,
    /// Whether it writes memory that the host can read.
    pub(crate) writes_mapped: bool,
    /// What few launches have.
    pub(crate) more: Option<MoreOfLaunch>,
}

/// What a launch has beyond the caller's arguments.
#[derive(Default)]
pub(crate) struct MoreOfLaunch {
    /// Blocks that the launch keeps alive: those made for it. The caller keeps its own, since counting a handle up and down
    /// costs more than the rest of binding it.
    pub(crate) owned_blocks: SmallVec<[Arc<Block>; 2]>,
    /// Copies to make after the kernel.
    pub(crate) copies_back: SmallVec<[CopyBack; 1]>,
    /// Its images, in the order of the parameters.
    pub(crate) images: Vec<BoundImage>,
    /// Objects that batches keep: views of buffers as texels.
    pub(crate) kept: Vec<KeepAlive>,
}

/// A copy that was bound in place of an array, since the device cannot bind the array at its offset.
pub(crate) struct CopyBack {
    pub(crate) copy: Arc<Block>,
    pub(crate) block: Arc<Block>,
    /// The array's range in its block.
    pub(crate) bytes: Range<u64>,
}

/// The result of checking a dispatch.
pub(crate) enum Prepared {
    /// Its launch is filled.
    Launch,
    /// There is nothing to launch.
    Empty,
    /// This variant of the kernel takes it: it is too long for one axis, or gives another number of arrays than the kernel
    /// was built for.
    Variant(Kernel),
    /// It writes an array that the device cannot bind at its offset: [`Kernel::dispatch_with_copies`] runs it.
    WithCopies,
}

impl Launch {
    /// An empty launch of that pipeline, its push constants zero.
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
            more: None,
        }
    }

    /// Keeps a block alive as long as the launch.
    pub(crate) fn keep(&mut self, block: Arc<Block>) {
        self.more().owned_blocks.push(block);
    }

    pub(crate) fn more(&mut self) -> &mut MoreOfLaunch {
        self.more.get_or_insert_default()
    }

    pub(crate) fn images(&self) -> &[BoundImage] {
        self.more.as_ref().map_or(&[], |more| &more.images)
    }

    /// Keeps the memory of the arguments alive too, for a graph that outlives the call.
    pub(crate) fn keep_arguments(&mut self, args: &[NamedArg<'_>]) {
        for given in args {
            arrays_of(&given.arg).for_each(|array| self.keep(Arc::clone(array.block)));
        }
    }

    /// Adds the array of the next parameter, if the block has the bytes. Inlined, since a call would cost a third more.
    #[inline(always)]
    pub(crate) fn bind(
        &mut self,
        block: &Block,
        range: Range<u64>,
        kind: ParamKind,
        writes: bool,
    ) -> vkarray_allocator::Result<()> {
        self.buffers.push(block.binding(&range)?);
        self.accesses.push(access(block, range, kind, writes));
        self.writes_mapped |= writes && block.is_mapped();
        Ok(())
    }

    /// Writes the address of an array, which is bound nowhere, where the parameter has it.
    fn point_to(&mut self, block: &Block, range: Range<u64>, param: &Param) -> Result<()> {
        block.check_range(range.start, range.end - range.start).map(drop)?;
        let (address, at) = (block.device_address()? + range.start, param.binding as usize);
        self.push_constants[at..at + 8].copy_from_slice(&address.to_ne_bytes());
        self.accesses.push(access(block, range, param.kind, param.writes));
        self.writes_mapped |= param.writes && block.is_mapped();
        Ok(())
    }

    /// Adds an array that is reached by addresses in memory. The uses of other parameters that it overlaps become one with it.
    fn reach(&mut self, array: &ArrayArg<'_>, writes: bool) {
        // The elements of a view with gaps lie anywhere in the block.
        let bytes = if array.shape.is_contiguous { array.bytes() } else { 0..array.block.size() };
        let mut reached = access(array.block, bytes, ParamKind::Address, writes);
        self.accesses.retain(|other| {
            let (own, range) = (&mut reached.range, &other.range);
            let is_part = (other.block, other.stage) == (reached.block, reached.stage)
                && range.start < own.end
                && own.start < range.end;
            if is_part {
                *own = own.start.min(range.start)..own.end.max(range.end);
                reached.mode = if other.mode == Mode::Write { Mode::Write } else { reached.mode };
            }
            !is_part
        });
        self.accesses.push(reached);
        self.writes_mapped |= writes && array.block.is_mapped();
    }

    /// Fills the launch if the fast check accepts the call and there is something to launch. Otherwise what it holds means
    /// nothing. `None` if the full check has to decide.
    #[inline]
    fn fit(&mut self, pipeline: &Pipeline, groups: Groups<'_>, args: &[NamedArg<'_>]) -> Option<Prepared> {
        let rules = &pipeline.rules;
        if args.len() != rules.arrays.len() + rules.numbers.len() {
            return None;
        }
        let (mut arrays, mut numbers) = (rules.arrays.iter(), rules.numbers.iter());
        for given in args {
            let fits = match &given.arg {
                Arg::Array(array) => arrays.next().is_some_and(|rule| {
                    rule.accepts(&array.shape)
                        && pipeline.is_of(array.block.device())
                        && self.bind(array.block, array.bytes(), rule.kind, rule.writes).is_ok()
                }),
                Arg::Scalar(value) => {
                    numbers.next().is_some_and(|rule| rule.pack(slice::from_ref(value), &mut self.push_constants))
                }
                Arg::Scalars(values) => numbers.next().is_some_and(|rule| rule.pack(values, &mut self.push_constants)),
                Arg::Arrays(_) | Arg::Reached(_) | Arg::Sampled(..) | Arg::Sampler(_) => false,
                Arg::Constant(_) | Arg::Block(_) | Arg::Memory(_) => false,
            };
            if !fits || given.name.is_some() {
                return None;
            }
        }
        if conflict(&self.accesses).is_some() {
            return None;
        }
        match groups.counts(pipeline.signature.workgroup_size, &pipeline.limits) {
            GroupCount::Counts(counts) => self.counts = counts,
            GroupCount::Empty => return Some(Prepared::Empty),
            _ => return None,
        }
        Some(Prepared::Launch)
    }
}

/// How a kernel uses the array of a parameter.
#[inline(always)]
pub(super) fn access(block: &Block, range: Range<u64>, kind: ParamKind, writes: bool) -> BlockAccess {
    let stage = match kind {
        ParamKind::Storage | ParamKind::Texels | ParamKind::Address => Stage::Compute,
        ParamKind::Uniform => Stage::Constant,
        ParamKind::Image | ParamKind::Sampler => Stage::Transfer,
    };
    let mode = if writes { Mode::Write } else { Mode::Read };
    BlockAccess { mode, ..block.read(range, stage) }
}

/// The places of two accesses that share bytes of which the kernel writes some.
#[inline(always)]
pub(super) fn conflict(accesses: &[BlockAccess]) -> Option<[usize; 2]> {
    for (i, a) in accesses.iter().enumerate() {
        for (j, b) in accesses[..i].iter().enumerate() {
            if a.block == b.block
                && a.range.start < b.range.end
                && b.range.start < a.range.end
                && (a.mode == Mode::Write || b.mode == Mode::Write)
            {
                return Some([j, i]);
            }
        }
    }
    None
}

/// `n` zeros. For up to 128 no loop runs and nothing is allocated.
#[inline]
fn zeros(n: usize) -> SmallVec<[u8; 128]> {
    if n <= 128 { SmallVec::from_buf_and_len([0; 128], n) } else { SmallVec::from_elem(0, n) }
}

impl Kernel {
    /// Checks a dispatch and fills `launch`, which is new, with what it takes. Records nothing of the dispatch itself.
    #[inline]
    pub(crate) fn prepare(
        &self,
        launch: &mut Launch,
        before: Preparation<'_>,
        groups: Groups<'_>,
        args: &[NamedArg<'_>],
    ) -> Result<Prepared> {
        if let Some(prepared) = launch.fit(&self.pipeline, groups, args) {
            return Ok(prepared);
        }
        *launch = Launch::new(&self.pipeline);
        self.check_and_prepare(launch, before, groups, &resolved(args)?)
    }

    /// [`Kernel::prepare`] by the full check.
    #[cold]
    #[inline(never)]
    fn check_and_prepare(
        &self,
        launch: &mut Launch,
        mut before: Preparation<'_>,
        groups: Groups<'_>,
        args: &[NamedArg<'_>],
    ) -> Result<Prepared> {
        let pipeline = &*self.pipeline;
        let packed = check_arguments(&pipeline.signature, &pipeline.rules, &arguments(args))?;
        self.check_memory(&packed, args)?;
        check_aliasing(&pipeline.signature, &packed, args)?;
        if let Some(variant) = self.counted(packed.arrays.iter().map(|&idx| &args[idx].arg))? {
            return Ok(Prepared::Variant(variant));
        }
        let (mut folded, mut on_device) = (None, None);
        let size = pipeline.signature.workgroup_size;
        match groups.counts(size, &pipeline.limits) {
            GroupCount::Counts(counts) => launch.counts = counts,
            GroupCount::Empty => return Ok(Prepared::Empty),
            GroupCount::TooMany(too_many) => folded = Some(self.folded(too_many)?),
            GroupCount::OnDevice(indirect) => on_device = Some((indirect.counts(self)?, indirect.is_trusted)),
            refused => return Err(refused.refusal(size)),
        }
        if let Some(empty) = packed.empty {
            let (kernel, param) = (pipeline.signature.entry.clone(), pipeline.signature.params[empty].name.clone());
            return Err(Error::EmptyArray { kernel, param });
        }
        if let Some(folded) = folded {
            return Ok(Prepared::Variant(folded));
        }
        let arrays = || pipeline.rules.arrays.iter().zip(packed.arrays.iter().map(|&idx| &args[idx].arg));
        let is_copied = |(rule, arg): (&ArrayRule, _)| rule.writes && is_misaligned(rule, arg);
        if !before.is_one_operation() && arrays().any(is_copied) {
            return Ok(Prepared::WithCopies);
        }
        launch.push_constants = packed.push_constants;
        let mut samplers = SmallVec::<[_; 2]>::new();
        for (param, (rule, arg)) in pipeline.signature.params.iter().zip(arrays()) {
            if let Arg::Sampled(_, sampler) | Arg::Sampler(sampler) = arg {
                samplers.push((param, *sampler));
            }
            bind(launch, &mut before, pipeline, (param, rule), arg)?;
        }
        check_samplers(pipeline, launch, &samplers)?;
        for access in launch.images().iter().map(BoundImage::access).collect::<SmallVec<[BlockAccess; 2]>>() {
            // Of an image that is bound twice, the first use says whether it is written.
            if launch.accesses.iter().all(|other| other.block != access.block) {
                launch.accesses.push(access);
            }
        }
        reached(args).for_each(|array| launch.reach(&array, self.writes_reached()));
        match on_device {
            Some((counts, true)) => counts.launch(launch),
            Some((counts, false)) => counts.launch_gated(self, launch, &mut before)?,
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
}

/// Whether it has an array that the device cannot bind where it lies.
fn is_misaligned(rule: &ArrayRule, arg: &Arg<'_>) -> bool {
    arrays_of(arg).any(|array| rule.is_misaligned(&array.shape))
}

/// Finds the memory for an argument, and adds it. Constant memory is bound at the size that the shader declares; a view whose
/// offset the device cannot bind is copied, and copied back if the kernel writes it.
fn bind(
    launch: &mut Launch,
    before: &mut Preparation<'_>,
    pipeline: &Pipeline,
    (param, rule): (&Param, &ArrayRule),
    arg: &Arg<'_>,
) -> Result<()> {
    if let Arg::Arrays(list) = arg {
        return list.iter().try_for_each(|array| bind(launch, before, pipeline, (param, rule), &Arg::Array(array)));
    }
    let declared = param.fixed_bytes;
    if let (Some(image), Some(array)) = (&rule.image, arg.array()) {
        return image::bind(launch, before, pipeline, (param, image, rule.is_misaligned(&array.shape)), arg);
    }
    let (made, size) = match arg {
        Arg::Sampler(sampler) => {
            let sampler = pipeline.samplers.get(&pipeline.device, *sampler)?;
            launch.buffers.push(image::descriptor(sampler, vk::ImageView::null()));
            return Ok(());
        }
        Arg::Array(array) if rule.is_short(&array.shape) => (before.copy(array, declared)?, declared),
        Arg::Array(array) if rule.is_misaligned(&array.shape) => {
            (image::copied(launch, before, param, array)?, array.shape.nbytes)
        }
        Arg::Array(array) => {
            let Range { start, end } = array.bytes();
            let start = start - rule.lead(&array.shape);
            if param.kind == ParamKind::Address {
                return launch.point_to(array.block, start..end, param);
            }
            return Ok(launch.bind(array.block, start..end, param.kind, param.writes)?);
        }
        Arg::Constant(constant) => {
            let packing = Packing::of(param, &constant.shape());
            let padded = packing.as_ref().map_or(constant.nbytes(), |packing| packing.nbytes(constant.nbytes()));
            let size = if param.is_constant { declared } else { padded };
            (constant.block(before.stream, size, packing)?, size)
        }
        _ => unreachable!("the check gave every buffer parameter an array"),
    };
    launch.bind(&made, 0..size, param.kind, param.writes)?;
    launch.keep(made);
    Ok(())
}
