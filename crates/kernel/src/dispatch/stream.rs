//! Dispatches into a stream: [`Kernel::dispatch`] and [`Kernel::launch`], and how a launch is recorded.
//!
//! `launch.rs` does the checks; `graph.rs` records launches with the same functions.

use std::sync::Arc;

use ash::vk;
use vkarray_driver::{KeepAlive, Recorder, Result as DriverResult, Stream};
use vkarray_shader::internal::Part;

use crate::call::args::NamedArg;
use crate::call::arguments::Arguments;
use crate::call::groups::{Extent, Groups};
use crate::dispatch::image::{self, BoundImage};
use crate::dispatch::launch::{Launch, Prepared};
use crate::dispatch::preparation::Preparation;
use crate::error::{Error, Result};
use crate::pipeline::kernel::{Kernel, Pipeline, Set};

impl Kernel {
    /// Runs the kernel over `groups` on the default stream of the context that it was built in. Otherwise as
    /// [`Kernel::dispatch`].
    ///
    /// # Errors
    ///
    /// The errors of [`Kernel::dispatch`], and [`Error::NoDefaultStream`](crate::Error::NoDefaultStream) once the context and its
    /// arrays are gone, or if the kernel was built without a context.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.full(100, 1.5_f32)?;
    /// let scale = ctx.kernel(Source::wgsl(
    ///     "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    ///      var<immediate> factor: f32;
    ///      @compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    ///          if id.x < arrayLength(&x) { x[id.x] *= factor; }
    ///      }",
    /// ))
    /// .build()?;
    /// scale.launch(Groups::covering(100), (&x, 2.0_f32))?;
    /// assert_eq!(x.to_vec()?, vec![3.0; 100]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn launch(&self, groups: Groups<'_>, args: impl Arguments) -> Result<()> {
        let cache = self.own_cache();
        let stream = cache.as_ref().and_then(|cache| cache.default_stream.as_ref());
        self.dispatch(stream.ok_or_else(|| self.no_default_stream())?, groups, args)
    }

    #[cold]
    fn no_default_stream(&self) -> Error {
        Error::NoDefaultStream { kernel: self.signature().entry.clone() }
    }

    /// Runs the kernel over `groups`, in the order of `stream`. Returns when the work is recorded, and does not wait for it.
    ///
    /// Arguments without a name go to the parameters of their kind, in order: arrays to the buffers by group and binding,
    /// numbers to the push constants by offset. So numbers may stand where the shader declares its `var<immediate>`: before,
    /// between or behind the arrays. A list of names and arguments may have any order. An axis of no workgroups launches
    /// nothing, after the same checks. Work on the same memory, on this stream or another, is ordered by the runtime.
    ///
    /// A launch of one workgroup on y and z that is longer than the device allows on x is folded: a variant of the kernel,
    /// built at the first such dispatch, runs over several axes and sees the numbers of one. Folding changes the shader, so
    /// it is not done to SPIR-V of other compilers, and such a launch of it is an error.
    ///
    /// A kernel built with [`KernelBuilder::sanitize`](crate::KernelBuilder::sanitize) is waited for, and the first fault
    /// that it found is returned as [`Error::Found`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_driver::Stream;
    /// use vkarray_kernel::{AsArg, Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let add = ctx.kernel(Source::wgsl(
    ///     "var<immediate> n: u32;
    ///      @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///      @compute @workgroup_size(1) fn add(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += n; }",
    /// ))
    /// .build()?;
    /// let (stream, x) = (Stream::new(ctx.device())?, ctx.zeros::<u32>(3)?);
    /// add.dispatch(&stream, Groups::covering(3), (&x, 1_u32))?; // By position.
    /// add.dispatch(&stream, Groups::covering(3), (2_u32, &x))?; // In the order of the shader.
    /// add.dispatch(&stream, Groups::covering(3), [("n", 4_u32.as_arg()), ("x", x.as_arg())])?; // By name.
    /// assert_eq!(x.to_vec()?, [7, 7, 7]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`check`](crate::check()), [`Error::GroupCount`], [`Error::InvocationCount`], [`Error::LaunchAxes`],
    /// [`Error::ForeignDevice`], [`Error::Aliased`], [`Error::EmptyArray`], and for [`Groups::indirect`]
    /// [`Error::CountsType`], [`Error::CountsRange`] and [`Error::CountsMisaligned`]; nothing is recorded then.
    /// [`Error::Driver`] if recording or sending fails. Of a kernel built with checks also [`Error::Found`],
    /// [`SpirvError::Sanitize`] and [`Error::Memory`].
    ///
    /// [`Error::GroupCount`]: crate::Error::GroupCount
    /// [`Error::InvocationCount`]: crate::Error::InvocationCount
    /// [`Error::LaunchAxes`]: crate::Error::LaunchAxes
    /// [`Error::CountsType`]: crate::Error::CountsType
    /// [`Error::CountsRange`]: crate::Error::CountsRange
    /// [`Error::CountsMisaligned`]: crate::Error::CountsMisaligned
    /// [`Error::ForeignDevice`]: crate::Error::ForeignDevice
    /// [`Error::Aliased`]: crate::Error::Aliased
    /// [`Error::EmptyArray`]: crate::Error::EmptyArray
    /// [`Error::Driver`]: crate::Error::Driver
    /// [`Error::Found`]: crate::Error::Found
    /// [`SpirvError::Sanitize`]: crate::SpirvError::Sanitize
    /// [`Error::Memory`]: crate::Error::Memory
    pub fn dispatch(&self, stream: &Stream, groups: Groups<'_>, args: impl Arguments) -> Result<()> {
        args.with(|args| self.dispatch_args(stream, groups, args))
    }

    fn dispatch_args(&self, stream: &Stream, groups: Groups<'_>, args: &[NamedArg<'_>]) -> Result<()> {
        self.check_device(stream.device(), "the stream")?;
        let mut launch = Launch::new(&self.pipeline);
        let groups = match (groups.0, &self.pipeline.sanitizer) {
            // A kernel with checks is waited for in any case, so the host can read the counts.
            (Extent::Indirect(indirect), Some(_)) => indirect.counts(self)?.read(stream, &self.pipeline.limits)?,
            _ => groups,
        };
        let before = Preparation { stream, steps: None };
        match (self.prepare(&mut launch, before, groups, args)?, &self.pipeline.sanitizer) {
            (Prepared::Launch, None) => self.submit(stream, &launch),
            (Prepared::Launch, Some(sanitizer)) => self.dispatch_sanitized(stream, &mut launch, sanitizer),
            (Prepared::Empty, _) => Ok(()),
            (Prepared::Variant(kernel), _) => kernel.dispatch_args(stream, groups, args),
            (Prepared::WithCopies, _) => self.dispatch_with_copies(stream, groups, args),
        }
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
        // the source promised that they are in range, as that of `assume_addresses` did of addresses, whose arrays are among the
        // accesses. `record_launch` gives the recorder the pipeline's owner to keep.
        unsafe { stream.record(&launch.accesses, record) }?;
        launch.images().iter().for_each(BoundImage::note);
        Ok(())
    }

    /// # Safety
    ///
    /// The launch was made by this kernel, and its blocks outlive the recorded commands.
    pub(crate) unsafe fn record_launch(&self, recorder: &mut Recorder<'_>, launch: &Launch) -> DriverResult<()> {
        let pipeline = &self.pipeline;
        recorder.label(pipeline.label);
        // SAFETY: the pipeline is of the recorder's device, as was checked, and the owner holds it.
        unsafe { recorder.bind_pipeline(pipeline.raw.raw(), || Arc::clone(pipeline) as KeepAlive) };
        let images = launch.images();
        if !images.is_empty() {
            // SAFETY: the operation's accesses are those of the launch.
            unsafe { image::load(recorder, images) };
        }
        bind_buffers(recorder, pipeline, &launch.buffers)?;
        // SAFETY: the layout is the pipeline's, which was bound just now, and the launch has as many bytes as it declares:
        // both are the size in the signature.
        unsafe { recorder.push_constants(pipeline.layout.raw(), &launch.push_constants) };
        if launch.writes_mapped {
            recorder.host_will_read();
        }
        // SAFETY: pipeline, buffers and push constants are bound, as the launch says.
        unsafe { record_dispatch(recorder, pipeline, launch) };
        if !images.is_empty() {
            // SAFETY: as above; the kernel was recorded just now.
            unsafe { image::store(recorder, images) };
        }
        for kept in launch.more.iter().flat_map(|more| &more.kept) {
            recorder.keep(Arc::clone(kept));
        }
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
        if let Err(error) = bind_set(recorder, pipeline, set, &buffers[set.first..]) {
            recorder.note_buffers(&[]); // Some groups may have their new buffers, others those of the launch before.
            return Err(error);
        }
    }
    recorder.note_buffers(buffers);
    Ok(())
}

/// Binds the buffers of one group; `buffers` starts with them.
#[inline]
fn bind_set(
    recorder: &mut Recorder<'_>,
    pipeline: &Pipeline,
    set: &Set,
    buffers: &[vk::DescriptorBufferInfo],
) -> DriverResult<()> {
    let (device, commands, layout) = (recorder.device(), recorder.commands(), pipeline.layout.raw());
    let (template, infos) = (set.template.raw(), buffers.as_ptr().cast());
    if pipeline.is_pushed
        && let Some(push) = device.push_descriptor()
    {
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
