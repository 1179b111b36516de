//! One dispatch: check, bind, record.
//!
//! The three are apart, so that a graph (`graph.rs`) records what a stream does.
//! Everything is checked before anything is recorded, so a refused call changes nothing. What the kernel must wait for
//! follows from how its parameters use their arrays, which the shader itself says.

use std::ops::{Deref, Range};
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::hazard::{Access, Stage};
use vkarray_driver::{Device, Kept, Recorder, Result as DriverResult, Stream};

use crate::args::{Arg, Arguments, ArrayArg, NamedArg};
use crate::check::{Packed, check_given};
use crate::constant::ConstArray;
use crate::error::{Error, Result};
use crate::geometry::Groups;
use crate::kernel::{Binding, Kernel, Pipeline, descriptor_type};
use crate::signature::{Param, ParamKind, Signature};

/// An argument's memory, ready to be bound to the parameter of the same index.
struct Bound<'a> {
    block: Memory<'a>,
    range: Range<u64>,
}

/// Borrowed where the caller holds it: counting a handle up and down costs more than the rest of binding it.
enum Memory<'a> {
    Given(&'a Arc<Block>),
    Made(Arc<Block>),
}

impl Deref for Memory<'_> {
    type Target = Block;

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

/// A dispatch that was checked and has its memory: all that recording it takes, on a stream or in a graph.
pub(crate) struct Launch<'a> {
    bound: SmallVec<[Bound<'a>; 8]>,
    push_constants: SmallVec<[u8; 128]>,
    counts: [u32; 3],
}

impl Launch<'_> {
    /// Takes hold of the memory that the caller holds, for a graph that outlives the call.
    pub(crate) fn into_owned(self) -> Launch<'static> {
        let own = |bound: Bound<'_>| Bound { block: bound.block.into_owned(), range: bound.range };
        let bound = self.bound.into_iter().map(own).collect();
        Launch { bound, push_constants: self.push_constants, counts: self.counts }
    }
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
    /// Runs the kernel over `groups`, in the order of `stream`. Returns at once.
    ///
    /// Arguments are a tuple in the order of [`Signature::arguments`], or names and arguments in any order. An axis of
    /// no workgroups launches nothing, after the same checks. Work on the same memory, on this stream or another, is
    /// ordered by the runtime.
    ///
    /// # Errors
    ///
    /// Those of [`check`](crate::check()) and [`Groups::resolve`], [`Error::ForeignDevice`], [`Error::Aliased`],
    /// [`Error::EmptyArray`]; nothing is recorded then. [`Error::Driver`] if recording or sending fails.
    pub fn dispatch(&self, stream: &Stream, groups: Groups, args: impl Arguments) -> Result<()> {
        args.with(|args| self.dispatch_args(stream, groups, args))
    }

    fn dispatch_args(&self, stream: &Stream, groups: Groups, args: &[NamedArg<'_>]) -> Result<()> {
        self.check_device(stream.device(), "the stream")?;
        let Some(launch) = self.launch(stream, groups, args)? else { return Ok(()) };
        let record = |recorder: &mut Recorder<'_>| {
            // SAFETY: the arrays outlive their last uses, which are recorded with the accesses.
            unsafe { self.record_launch(recorder, &launch) }
        };
        // SAFETY: a launch touches what `accesses` says of it; see there.
        Ok(unsafe { stream.record(&self.accesses(&launch), record) }?)
    }

    /// Checks a dispatch and finds its memory; nothing if there is nothing to launch. Records nothing of the dispatch.
    pub(crate) fn launch<'a>(
        &self,
        mut supply: impl Supply,
        groups: Groups,
        args: &[NamedArg<'a>],
    ) -> Result<Option<Launch<'a>>> {
        let pipeline = &*self.pipeline;
        let packed = check_given(&pipeline.signature, args, &pipeline.limits)?;
        self.check_devices(args)?;
        check_aliasing(&pipeline.signature, &packed, args)?;
        let Some(counts) = groups.resolve(pipeline.signature.workgroup_size, &pipeline.limits)? else {
            return Ok(None);
        };
        if let Some(empty) = packed.empty {
            let (kernel, param) = (pipeline.signature.entry.clone(), pipeline.signature.params[empty].name.clone());
            return Err(Error::EmptyArray { kernel, param });
        }
        let mut bound = SmallVec::<[Bound<'_>; 8]>::new();
        for (param, &idx) in pipeline.signature.params.iter().zip(&packed.arrays) {
            bound.push(bind(&mut supply, param, &args[idx].arg)?);
        }
        Ok(Some(Launch { bound, push_constants: packed.push_constants, counts }))
    }

    /// What a launch touches: the shader reaches its bound ranges alone, since its indices are checked or its builder
    /// vouched for them, and uses each as its own code says.
    pub(crate) fn accesses(&self, launch: &Launch<'_>) -> SmallVec<[Access; 8]> {
        self.signature().params.iter().zip(&launch.bound).map(|(param, bound)| access(param, bound)).collect()
    }

    /// # Safety
    ///
    /// The launch was made by this kernel, and its blocks outlive the recorded commands.
    pub(crate) unsafe fn record_launch(&self, recorder: &mut Recorder<'_>, launch: &Launch<'_>) -> DriverResult<()> {
        let pipeline = &self.pipeline;
        let Launch { bound, push_constants: push, counts } = launch;
        let (device, commands) = (recorder.device(), recorder.commands());
        recorder.label(pipeline.label);
        // SAFETY: the pipeline is of the recorder's device, as was checked, and the owner holds it.
        unsafe { recorder.bind_pipeline(pipeline.raw.raw(), || Arc::clone(pipeline) as Kept) };
        bind_buffers(recorder, pipeline, bound)?;
        if !push.is_empty() {
            let (layout, stages) = (pipeline.layout.raw(), vk::ShaderStageFlags::COMPUTE);
            // SAFETY: the layout declares exactly these bytes, and the batch keeps it with the pipeline.
            unsafe { device.raw().cmd_push_constants(commands, layout, stages, 0, push) };
        }
        let writes_mapped = |(param, bound): (&Param, &Bound<'_>)| param.writes && bound.block.is_mapped();
        if pipeline.signature.params.iter().zip(bound).any(writes_mapped) {
            recorder.host_will_read();
        }
        let [x, y, z] = *counts;
        // SAFETY: pipeline, buffers and push constants are bound; the counts are within the device's limits.
        unsafe { device.raw().cmd_dispatch(commands, x, y, z) };
        Ok(())
    }

    pub(crate) fn check_device(&self, device: &Arc<Device>, what: &'static str) -> Result<()> {
        if Arc::ptr_eq(device, self.device()) {
            return Ok(());
        }
        let kernel = self.signature().entry.clone();
        let (own, other) = (self.device().info().name.clone(), device.info().name.clone());
        Err(Error::ForeignDevice { kernel, own, what, other })
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

fn access(param: &Param, bound: &Bound<'_>) -> Access {
    let range = bound.range.clone();
    if param.writes { bound.block.write(range, Stage::Compute) } else { bound.block.read(range, Stage::Compute) }
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

fn bind_buffers(recorder: &mut Recorder<'_>, pipeline: &Pipeline, bound: &[Bound<'_>]) -> DriverResult<()> {
    let params = &pipeline.signature.params;
    let buffers: SmallVec<[vk::DescriptorBufferInfo; 8]> = bound
        .iter()
        .map(|bound| {
            vk::DescriptorBufferInfo::default()
                .buffer(bound.block.buffer())
                .offset(bound.block.buffer_offset() + bound.range.start)
                .range(bound.range.end - bound.range.start)
        })
        .collect();
    let mut start = 0;
    while start < params.len() {
        let group = params[start].group;
        let end = start + params[start..].iter().take_while(|param| param.group == group).count();
        let mut writes: SmallVec<[vk::WriteDescriptorSet<'_>; 8]> = params[start..end]
            .iter()
            .zip(&buffers[start..end])
            .map(|(param, buffer)| {
                vk::WriteDescriptorSet::default()
                    .dst_binding(param.binding)
                    .descriptor_type(descriptor_type(param))
                    .buffer_info(std::slice::from_ref(buffer))
            })
            .collect();
        bind_set(recorder, pipeline, group, &mut writes)?;
        start = end;
    }
    Ok(())
}

fn bind_set(
    recorder: &mut Recorder<'_>,
    pipeline: &Pipeline,
    group: u32,
    writes: &mut [vk::WriteDescriptorSet<'_>],
) -> DriverResult<()> {
    let (device, commands, layout) = (recorder.device(), recorder.commands(), pipeline.layout.raw());
    let bind_point = vk::PipelineBindPoint::COMPUTE;
    if let (Binding::Push, Some(push)) = (&pipeline.binding, device.push_descriptor()) {
        // SAFETY: the layout's set is a push-descriptor set of these bindings; the buffers outlive their last use.
        unsafe { push.cmd_push_descriptor_set(commands, bind_point, layout, group, writes) };
        return Ok(());
    }
    let n_buffers = u32::try_from(writes.len()).expect("bindings are numbered in 32 bits");
    let set = recorder.descriptor_set(pipeline.set_layouts[group as usize].raw(), n_buffers)?;
    for write in &mut *writes {
        write.dst_set = set;
    }
    // SAFETY: the set is fresh, so in no use; its layout has these bindings.
    unsafe { device.raw().update_descriptor_sets(writes, &[]) };
    // SAFETY: the set has the layout's shape, and its arena lives as long as the batch.
    unsafe { device.raw().cmd_bind_descriptor_sets(commands, bind_point, layout, group, &[set], &[]) };
    Ok(())
}
