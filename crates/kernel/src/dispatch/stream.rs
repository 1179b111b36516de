//! One dispatch: check, bind, record.
//!
//! Everything is checked before anything is recorded, so a refused call changes nothing. What the kernel must wait for
//! follows from how its parameters use their arrays, which the shader itself says. Checking is `launch.rs`'s; a graph
//! (`graph.rs`) records what a stream does.

use std::sync::Arc;

use ash::vk;
use vkarray_driver::{KeepAlive, Recorder, Result as DriverResult, Stream};

use crate::call::args::{Arguments, NamedArg};
use crate::call::groups::{Extent, Groups};
use crate::dispatch::launch::{Launch, Prepared, Return};
use crate::error::Result;
use crate::pipeline::kernel::{Binding, Kernel, Pipeline, Set};
use crate::shader::Part;

impl Kernel {
    /// Runs the kernel over `groups`, in the order of `stream`. Returns at once.
    ///
    /// Arguments are a tuple in the order of [`Signature::arguments`], or names and arguments in any order. An axis of
    /// no workgroups launches nothing, after the same checks. Work on the same memory, on this stream or another, is
    /// ordered by the runtime.
    ///
    /// A launch of one workgroup on y and z that is longer than the device allows on x is folded: a variant of the kernel,
    /// built at the first such dispatch, runs over several axes and sees the numbers of one. SPIR-V stays as it is, so it
    /// is refused there.
    ///
    /// A kernel built with [`KernelBuilder::sanitize`](crate::KernelBuilder::sanitize) is waited for, and the first fault
    /// it found is returned as [`Error::Found`].
    ///
    /// # Errors
    ///
    /// Those of [`check`](crate::check()), [`Error::GroupCount`], [`Error::InvocationCount`], [`Error::ForeignDevice`],
    /// [`Error::Aliased`], [`Error::EmptyArray`], and for [`Groups::indirect`] [`Error::CountsType`], [`Error::CountsRange`] and
    /// [`Error::CountsMisaligned`]; nothing is recorded then. [`Error::Driver`] if recording or sending fails. Of a kernel built
    /// with checks also [`Error::Found`], [`Error::Sanitize`] and [`Error::Memory`].
    ///
    /// [`Signature::arguments`]: crate::Signature::arguments
    /// [`Error::GroupCount`]: crate::Error::GroupCount
    /// [`Error::InvocationCount`]: crate::Error::InvocationCount
    /// [`Error::CountsType`]: crate::Error::CountsType
    /// [`Error::CountsRange`]: crate::Error::CountsRange
    /// [`Error::CountsMisaligned`]: crate::Error::CountsMisaligned
    /// [`Error::ForeignDevice`]: crate::Error::ForeignDevice
    /// [`Error::Aliased`]: crate::Error::Aliased
    /// [`Error::EmptyArray`]: crate::Error::EmptyArray
    /// [`Error::Driver`]: crate::Error::Driver
    /// [`Error::Found`]: crate::Error::Found
    /// [`Error::Sanitize`]: crate::Error::Sanitize
    /// [`Error::Memory`]: crate::Error::Memory
    pub fn dispatch(&self, stream: &Stream, groups: Groups<'_>, args: impl Arguments) -> Result<()> {
        args.with(|args| self.dispatch_args(stream, groups, args))
    }

    fn dispatch_args(&self, stream: &Stream, groups: Groups<'_>, args: &[NamedArg<'_>]) -> Result<()> {
        self.check_device(stream.device(), "the stream")?;
        let mut launch = Launch::new(&self.pipeline);
        let groups = match (groups.0, &self.pipeline.sanitizer) {
            // It is waited for, so its numbers can be too.
            (Extent::Indirect(indirect), Some(_)) => indirect.counts(self)?.read(stream, &self.pipeline.limits)?,
            _ => groups,
        };
        match (self.prepare(&mut launch, stream, groups, args)?, &self.pipeline.sanitizer) {
            (Prepared::Launch, None) => self.submit(stream, &launch)?,
            (Prepared::Launch, Some(sanitizer)) => self.dispatch_sanitized(stream, &mut launch, sanitizer)?,
            (Prepared::Empty, _) => return Ok(()),
            (Prepared::Folded(kernel), _) => return kernel.dispatch_args(stream, groups, args),
        }
        for Return { copy, block, bytes } in &launch.returns {
            block.copy_from_block(stream, bytes.start, copy, 0..bytes.end - bytes.start)?;
        }
        Ok(())
    }

    /// Records a launch of this kernel that has its memory.
    #[inline]
    pub(crate) fn submit(&self, stream: &Stream, launch: &Launch) -> Result<()> {
        let record = |recorder: &mut Recorder<'_>| {
            // SAFETY: `prepare` of this kernel filled the launch, or `Counts::admission` that of the gate. Its arrays may be
            // dropped before the work is done: a block gives its memory back with its last uses, of which this operation is
            // one by its accesses, and the manager keeps the memory until they are over (promise 4 of `MemoryManager`).
            unsafe { self.record_launch(recorder, launch) }
        };
        // SAFETY: the accesses are the ranges that are bound, each compared with its block by `Block::binding`, in the way
        // that the shader's reflection says; a launch binds no others, and its counts' buffer is noted where it is set. The
        // shader reaches bound ranges alone: its indices are checked, or the caller of an unsafe function of the builder or
        // the source promised that they are in range. `record_launch` gives the recorder the pipeline's owner to keep.
        Ok(unsafe { stream.record(&launch.accesses, record) }?)
    }

    /// # Safety
    ///
    /// The launch was made by this kernel, and its blocks outlive the recorded commands.
    pub(crate) unsafe fn record_launch(&self, recorder: &mut Recorder<'_>, launch: &Launch) -> DriverResult<()> {
        let pipeline = &self.pipeline;
        recorder.label(pipeline.label);
        // SAFETY: the pipeline is of the recorder's device, as was checked, and the owner holds it.
        unsafe { recorder.bind_pipeline(pipeline.raw.raw(), || Arc::clone(pipeline) as KeepAlive) };
        bind_buffers(recorder, pipeline, &launch.buffers)?;
        // SAFETY: the layout is the pipeline's, which was bound just now, and the launch has as many bytes as it declares:
        // both are the size in the signature.
        unsafe { recorder.push_constants(pipeline.layout.raw(), &launch.push_constants) };
        if launch.writes_mapped {
            recorder.host_will_read();
        }
        // SAFETY: pipeline, buffers and push constants are bound, as the launch says.
        unsafe { record_dispatch(recorder, pipeline, launch) };
        Ok(())
    }
}

/// # Safety
///
/// The pipeline is bound, with the buffers and push constants of the launch, which was prepared for it.
#[inline]
unsafe fn record_dispatch(recorder: &Recorder<'_>, pipeline: &Pipeline, launch: &Launch) {
    let (device, commands, [x, y, z]) = (recorder.device().raw(), recorder.commands(), launch.counts);
    if let Some((buffer, offset)) = launch.indirect {
        // SAFETY: `Indirect::counts` compared the place of the three numbers with the block. They are within the device's
        // limits: the gate copied them to a block that nothing else reaches, or the caller of
        // `Groups::indirect_unchecked` promised it.
        unsafe { device.cmd_dispatch_indirect(commands, buffer, offset) };
    } else if let Some(fold) = &pipeline.fold {
        for Part { base: [a, b, c], counts: [x, y, z] } in fold.parts(x) {
            // SAFETY: the pipeline was created with `DISPATCH_BASE`; `Fold::parts` keeps base and counts together within the
            // device's limits.
            unsafe { device.cmd_dispatch_base(commands, a, b, c, x, y, z) };
        }
    } else {
        // SAFETY: `Groups::counts` compared the counts with the device's limits; the gate's are 1.
        unsafe { device.cmd_dispatch(commands, x, y, z) };
    }
}

#[inline]
fn bind_buffers(
    recorder: &mut Recorder<'_>,
    pipeline: &Pipeline,
    buffers: &[vk::DescriptorBufferInfo],
) -> DriverResult<()> {
    if recorder.has_buffers(buffers) {
        return Ok(());
    }
    for set in &pipeline.sets {
        bind_set(recorder, pipeline, set, &buffers[set.first..])?;
    }
    recorder.note_buffers(buffers);
    Ok(())
}

/// Binds the buffers of one group; `buffers` starts with them.
fn bind_set(
    recorder: &mut Recorder<'_>,
    pipeline: &Pipeline,
    set: &Set,
    buffers: &[vk::DescriptorBufferInfo],
) -> DriverResult<()> {
    let (device, commands, layout) = (recorder.device(), recorder.commands(), pipeline.layout.raw());
    let (template, infos) = (set.template.raw(), buffers.as_ptr().cast());
    if let (Binding::Push, Some(push)) = (&pipeline.binding, device.push_descriptor()) {
        // SAFETY: the template was made for this set of the layout, and reads as many of the buffers as the set has, which
        // outlive their last use.
        unsafe { push.cmd_push_descriptor_set_with_template(commands, template, layout, set.group, infos) };
        return Ok(());
    }
    let fresh = recorder.descriptor_set(pipeline.set_layouts[set.group as usize].raw(), set.n_buffers)?;
    // SAFETY: the set is fresh, so in no use; the template was made for its layout, and reads as many of the buffers as it
    // has.
    unsafe { device.raw().update_descriptor_set_with_template(fresh, template, infos) };
    let bind_point = vk::PipelineBindPoint::COMPUTE;
    // SAFETY: the set has the layout's shape, and its arena lives as long as the batch.
    unsafe { device.raw().cmd_bind_descriptor_sets(commands, bind_point, layout, set.group, &[fresh], &[]) };
    Ok(())
}
