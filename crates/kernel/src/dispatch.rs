//! One dispatch: check, bind, record.
//!
//! Everything is checked before anything is recorded, so a refused call changes nothing. What the kernel must wait for
//! follows from how its parameters use their arrays, which the shader itself says.

use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::hazard::{Access, Stage};
use vkarray_driver::{Device, Kept, Recorder, Stream};

use crate::args::{Arg, Arguments, ArrayArg, NamedArg};
use crate::check::{Argument, Packed, check};
use crate::error::{Error, Result};
use crate::geometry::Groups;
use crate::kernel::{Binding, Kernel, Pipeline, descriptor_type};
use crate::signature::{Param, ParamKind, Signature};

/// An argument's memory, ready to be bound to the parameter of the same index.
struct Bound {
    block: Arc<Block>,
    range: Range<u64>,
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
        let pipeline = &*self.pipeline;
        let shapes: SmallVec<[Argument<'_>; 8]> = args.iter().map(NamedArg::shape).collect();
        let packed = check(&pipeline.signature, &shapes, &pipeline.limits)?;
        self.check_devices(stream, args)?;
        check_aliasing(&pipeline.signature, &packed, args)?;
        let Some(counts) = groups.resolve(pipeline.signature.workgroup_size, &pipeline.limits)? else {
            return Ok(());
        };
        if let Some(empty) = packed.empty {
            let (kernel, param) = (pipeline.signature.entry.clone(), pipeline.signature.params[empty].name.clone());
            return Err(Error::EmptyArray { kernel, param });
        }
        let mut bound = SmallVec::<[Bound; 8]>::new();
        for (param, &idx) in pipeline.signature.params.iter().zip(&packed.arrays) {
            bound.push(bind(stream, param, &args[idx].arg)?);
        }
        let accesses: SmallVec<[Access; 8]> =
            pipeline.signature.params.iter().zip(&bound).map(|(param, bound)| access(param, bound)).collect();
        let record = |recorder: &mut Recorder<'_>| self.record(recorder, &bound, &packed.push_constants, counts);
        // SAFETY: the shader touches its bound ranges alone, since its indices are checked or its builder vouched for
        // them, and `accesses` lists each range with the use that the shader's own code makes of it.
        unsafe { stream.record(&accesses, record) }
    }

    fn record(&self, recorder: &mut Recorder<'_>, bound: &[Bound], push: &[u8], counts: [u32; 3]) -> Result<()> {
        let pipeline = &self.pipeline;
        let (device, commands) = (recorder.device(), recorder.commands());
        recorder.label(pipeline.label);
        // SAFETY: the pipeline is of the stream's device, as `check_devices` saw, and the owner holds it.
        unsafe { recorder.bind_pipeline(pipeline.raw.raw(), || Arc::clone(pipeline) as Kept) };
        bind_buffers(recorder, pipeline, bound)?;
        if !push.is_empty() {
            let (layout, stages) = (pipeline.layout.raw(), vk::ShaderStageFlags::COMPUTE);
            // SAFETY: the layout declares exactly these bytes, and the batch keeps it with the pipeline.
            unsafe { device.raw().cmd_push_constants(commands, layout, stages, 0, push) };
        }
        let writes_mapped = |(param, bound): (&Param, &Bound)| param.writes && bound.block.is_mapped();
        if pipeline.signature.params.iter().zip(bound).any(writes_mapped) {
            recorder.host_will_read();
        }
        let [x, y, z] = counts;
        // SAFETY: pipeline, buffers and push constants are bound; the counts are within the device's limits.
        unsafe { device.raw().cmd_dispatch(commands, x, y, z) };
        Ok(())
    }

    fn check_devices(&self, stream: &Stream, args: &[NamedArg<'_>]) -> Result<()> {
        let check = |device: &Arc<Device>, what: &'static str| {
            if Arc::ptr_eq(device, self.device()) {
                return Ok(());
            }
            let kernel = self.signature().entry.clone();
            let (own, other) = (self.device().info().name.clone(), device.info().name.clone());
            Err(Error::ForeignDevice { kernel, own, what, other })
        };
        check(stream.device(), "the stream")?;
        for arg in args {
            match &arg.arg {
                Arg::Array(array) => check(array.block.device(), "an array")?,
                Arg::Constant(constant) => check(constant.allocator().device(), "constant memory")?,
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

fn access(param: &Param, bound: &Bound) -> Access {
    let range = bound.range.clone();
    if param.writes { bound.block.write(range, Stage::Compute) } else { bound.block.read(range, Stage::Compute) }
}

/// Finds the memory for an argument. Constant memory is bound at the size the shader declares.
fn bind(stream: &Stream, param: &Param, arg: &Arg<'_>) -> Result<Bound> {
    let declared = param.fixed_bytes;
    match arg {
        Arg::Array(array) if param.kind == ParamKind::Uniform && array.shape.nbytes < declared => {
            let block = continued_with_zeros(stream, array, declared)?;
            Ok(Bound { block, range: 0..declared })
        }
        Arg::Array(array) => {
            let range = array.shape.offset..array.shape.offset + array.shape.nbytes;
            Ok(Bound { block: Arc::clone(array.block), range })
        }
        Arg::Constant(constant) => {
            let size = if param.kind == ParamKind::Uniform { declared } else { constant.nbytes() };
            Ok(Bound { block: constant.block(stream, size)?, range: 0..size })
        }
        Arg::Scalar(_) | Arg::Scalars(_) => unreachable!("the check gave every buffer parameter an array"),
    }
}

/// A copy of an array that is shorter than the constant memory it is for.
fn continued_with_zeros(stream: &Stream, array: &ArrayArg<'_>, size: u64) -> Result<Arc<Block>> {
    let block = array.block.allocator().allocate(size, MemoryKind::Device)?;
    block.fill(stream, 0)?;
    let range = array.shape.offset..array.shape.offset + array.shape.nbytes;
    block.copy_from_block(stream, 0, array.block, range)?;
    Ok(block)
}

fn bind_buffers(recorder: &mut Recorder<'_>, pipeline: &Pipeline, bound: &[Bound]) -> Result<()> {
    let params = &pipeline.signature.params;
    let buffers: SmallVec<[vk::DescriptorBufferInfo; 8]> = bound
        .iter()
        .map(|bound| {
            vk::DescriptorBufferInfo::default()
                .buffer(bound.block.buffer())
                .offset(bound.range.start)
                .range(bound.range.end - bound.range.start)
        })
        .collect();
    let mut start = 0;
    while start < params.len() {
        let group = params[start].group;
        let end = start + params[start..].iter().take_while(|param| param.group == group).count();
        let writes: SmallVec<[vk::WriteDescriptorSet<'_>; 8]> = params[start..end]
            .iter()
            .zip(&buffers[start..end])
            .map(|(param, buffer)| {
                vk::WriteDescriptorSet::default()
                    .dst_binding(param.binding)
                    .descriptor_type(descriptor_type(param))
                    .buffer_info(std::slice::from_ref(buffer))
            })
            .collect();
        bind_set(recorder, pipeline, group, writes)?;
        start = end;
    }
    Ok(())
}

fn bind_set(
    recorder: &mut Recorder<'_>,
    pipeline: &Pipeline,
    group: u32,
    mut writes: SmallVec<[vk::WriteDescriptorSet<'_>; 8]>,
) -> Result<()> {
    let (device, commands, layout) = (recorder.device(), recorder.commands(), pipeline.layout.raw());
    let bind_point = vk::PipelineBindPoint::COMPUTE;
    if let (Binding::Push, Some(push)) = (&pipeline.binding, device.push_descriptor()) {
        // SAFETY: the layout's set is a push-descriptor set of these bindings; the buffers outlive their last use.
        unsafe { push.cmd_push_descriptor_set(commands, bind_point, layout, group, &writes) };
        return Ok(());
    }
    let n_buffers = u32::try_from(writes.len()).expect("bindings are numbered in 32 bits");
    let set = recorder.descriptor_set(pipeline.set_layouts[group as usize].raw(), n_buffers)?;
    for write in &mut writes {
        write.dst_set = set;
    }
    // SAFETY: the set is fresh, so in no use; its layout has these bindings.
    unsafe { device.raw().update_descriptor_sets(&writes, &[]) };
    // SAFETY: the set has the layout's shape, and its arena lives as long as the batch.
    unsafe { device.raw().cmd_bind_descriptor_sets(commands, bind_point, layout, group, &[set], &[]) };
    Ok(())
}
