//! Images of a launch: [`BoundImage`], what is copied to it before the kernel and from it behind, and how it is bound.
//!
//! The copies and the kernel are one operation. Its accesses are those of the array's bytes by copies and one of the image,
//! which the device tracks by itself. Between the parts of the operation stand barriers of its own. Between operations the image
//! is in the layout `GENERAL`, but before its first copy, which fills all of it.

use std::ops::Range;
use std::sync::Arc;

use ash::vk::{self, ImageLayout as Layout};
use smallvec::SmallVec;
use vkarray_allocator::{Block, Error as MemoryError, Image, ImageShape};
use vkarray_driver::hazard::{BlockAccess, Mode, Stage};
use vkarray_driver::{KeepAlive, Recorder};
use vkarray_shader::{ImageDim, ImageRole, Param, ParamKind};

use crate::call::args::{Arg, ArrayArg};
use crate::call::check::refusal;
use crate::call::image::{Filter, ImagePlan, ImageRule, Sampler};
use crate::dispatch::launch::{CopyBack, Launch};
use crate::dispatch::preparation::Preparation;
use crate::error::{Error, Mismatch, Result};
use crate::pipeline::kernel::Pipeline;

/// An image that a launch binds.
#[derive(Clone)]
pub(crate) struct BoundImage {
    image: Arc<Image>,
    block: Arc<Block>,
    region: vk::BufferImageCopy,
    /// Whether the array's bytes are copied to the image first: always if it is stored.
    loads: bool,
    /// Whether the kernel writes it, so that it is copied back.
    stores: bool,
    /// The writes of the block before the launch.
    count: u64,
}

const COPIES: vk::PipelineStageFlags2 = vk::PipelineStageFlags2::ALL_TRANSFER;
const KERNELS: vk::PipelineStageFlags2 = vk::PipelineStageFlags2::COMPUTE_SHADER;
const EITHER: vk::PipelineStageFlags2 = vk::PipelineStageFlags2::from_raw(COPIES.as_raw() | KERNELS.as_raw());

impl BoundImage {
    /// Notes what the image holds once the launch, which the device has by now, is done.
    pub(crate) fn note(&self) {
        let Self { image, block, loads, stores, count, .. } = self;
        match (loads, stores) {
            (true, false) => image.note_copied(Some(*count)),
            // Another write in between may be newer than the image or part of it.
            (_, true) => image.note_copied(Some(count + 1).filter(|after| block.write_count() == *after)),
            (false, false) => {}
        }
    }

    /// How the launch uses the image itself.
    pub(crate) fn access(&self) -> BlockAccess {
        self.image.access(self.loads)
    }
}

/// A descriptor of an image or a sampler, in the form of a buffer's: a template reads either from the same 24 bytes, so a
/// launch has one list.
pub(crate) fn descriptor(sampler: vk::Sampler, view: vk::ImageView) -> vk::DescriptorBufferInfo {
    use ash::vk::Handle;
    const {
        assert!(size_of::<vk::DescriptorImageInfo>() == size_of::<vk::DescriptorBufferInfo>());
        assert!(std::mem::offset_of!(vk::DescriptorImageInfo, image_view) == 8);
        assert!(std::mem::offset_of!(vk::DescriptorBufferInfo, offset) == 8);
        assert!(std::mem::offset_of!(vk::DescriptorImageInfo, image_layout) == 16);
        assert!(std::mem::offset_of!(vk::DescriptorBufferInfo, range) == 16);
    }
    let [a, b, c, d] = vk::ImageLayout::GENERAL.as_raw().to_ne_bytes();
    vk::DescriptorBufferInfo {
        buffer: vk::Buffer::from_raw(sampler.as_raw()),
        offset: view.as_raw(),
        range: u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]),
    }
}

/// A descriptor of a buffer of texels in the form of a buffer's. A template reads its first 8 bytes.
fn texel_descriptor(view: vk::BufferView) -> vk::DescriptorBufferInfo {
    use ash::vk::Handle;
    vk::DescriptorBufferInfo { buffer: vk::Buffer::from_raw(view.as_raw()), offset: 0, range: 0 }
}

/// An array for a parameter that is an image.
#[derive(Clone, Copy)]
pub(crate) struct ImageArgument<'a> {
    pub(crate) param: &'a Param,
    pub(crate) rule: &'a ImageRule,
    pub(crate) array: &'a ArrayArg<'a>,
    pub(crate) sampler: Sampler,
}

impl ImageArgument<'_> {
    /// Adds the array, which lies at these bytes, to the launch. `is_repeated` is whether the launch may run again, after
    /// others have written the array.
    pub(crate) fn bind(
        &self,
        launch: &mut Launch,
        pipeline: &Pipeline,
        (block, bytes): (&Arc<Block>, Range<u64>),
        is_repeated: bool,
    ) -> Result<()> {
        let Self { param, rule, array, sampler } = *self;
        let plan = rule.plan(&array.shape).map_err(|problem| self.refused(pipeline, problem))?;
        if !rule.is_copied() {
            return self.bind_texels(launch, pipeline, &plan, (block, bytes));
        }
        let shape = image_shape(rule, &plan);
        let image = block.image(&bytes, &shape).map_err(|error| self.no_image(pipeline, &plan, error))?;
        let combined = if rule.ty.role == ImageRole::Combined { Some(sampler) } else { None };
        let raw = combined.map(|sampler| pipeline.samplers.get(&pipeline.device, sampler)).transpose()?;
        let stores = param.writes;
        // An array may be given for two images that are read. The copy for the first is enough.
        let is_loaded = launch.images().iter().any(|bound| Arc::ptr_eq(&bound.image, &image));
        let loads = stores || !is_loaded && (is_repeated || !image.is_current(block));
        let mode = if stores { Mode::Write } else { Mode::Read };
        let own = if loads { bytes.clone() } else { bytes.end..bytes.end };
        launch.accesses.push(BlockAccess { mode, ..block.read(own, Stage::Transfer) });
        launch.writes_mapped |= stores && block.is_mapped();
        launch.buffers.push(descriptor(raw.unwrap_or_default(), image.view()));
        let layers = vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: 0,
            base_array_layer: 0,
            layer_count: plan.layers,
        };
        let [width, height, depth] = plan.extent;
        let region = vk::BufferImageCopy::default()
            .buffer_offset(block.buffer_offset() + bytes.start)
            .image_subresource(layers)
            .image_extent(vk::Extent3D { width, height, depth });
        let (block, count) = (Arc::clone(block), block.write_count());
        launch.more().images.push(BoundImage { image, block, region, loads, stores, count });
        Ok(())
    }

    fn bind_texels(
        &self,
        launch: &mut Launch,
        pipeline: &Pipeline,
        plan: &ImagePlan,
        (block, bytes): (&Arc<Block>, Range<u64>),
    ) -> Result<()> {
        let Self { param, rule, .. } = *self;
        let (format, is_storage) = (format(plan), rule.ty.role == ImageRole::Storage);
        let texel = (format, plan.format.bytes().into());
        let view = block.texels(&bytes, texel, is_storage).map_err(|error| self.no_image(pipeline, plan, error))?;
        launch.bind(block, bytes, ParamKind::Texels, param.writes)?;
        if let Some(last) = launch.buffers.last_mut() {
            *last = texel_descriptor(view.raw());
        }
        launch.more().kept.push(Arc::new(view));
        Ok(())
    }

    fn refused(&self, pipeline: &Pipeline, problem: Mismatch) -> Error {
        refusal(&pipeline.signature.entry, &self.param.name, problem)
    }

    /// Names parameter and array where the device does not have the image.
    fn no_image(&self, pipeline: &Pipeline, plan: &ImagePlan, error: MemoryError) -> Error {
        let MemoryError::NoSuchImage { problem, .. } = error else { return error.into() };
        let (ty, given) = (self.rule.ty.to_string(), self.array.shape.to_string());
        let (format, problem) = (plan.format, Box::new(problem));
        self.refused(pipeline, Mismatch::NoSuchImage { ty, given, format, problem })
    }
}

/// Adds the array of an image, or a copy of it where it does not begin with a whole texel.
pub(crate) fn bind(
    launch: &mut Launch,
    before: &mut Preparation<'_>,
    pipeline: &Pipeline,
    (param, rule, is_misaligned): (&Param, &ImageRule, bool),
    arg: &Arg<'_>,
) -> Result<()> {
    let (array, sampler) = match arg {
        Arg::Sampled(array, sampler) => (array, *sampler),
        Arg::Array(array) => (array, Sampler::default()),
        _ => unreachable!("the check gave every image an array"),
    };
    let argument = ImageArgument { param, rule, array, sampler };
    if !is_misaligned {
        return argument.bind(launch, pipeline, (array.block, array.bytes()), before.is_one_operation());
    }
    let copy = copied(launch, before, param, array)?;
    argument.bind(launch, pipeline, (&copy, 0..array.shape.nbytes), before.is_one_operation())?;
    launch.keep(copy);
    Ok(())
}

/// A copy of an array whose offset the device cannot bind, to be copied back if the kernel writes it.
pub(crate) fn copied(
    launch: &mut Launch,
    before: &mut Preparation<'_>,
    param: &Param,
    array: &ArrayArg<'_>,
) -> Result<Arc<Block>> {
    let copy = before.copy(array, array.shape.nbytes)?;
    if param.writes {
        let (copy, block) = (Arc::clone(&copy), Arc::clone(array.block));
        launch.more().copies_back.push(CopyBack { copy, block, bytes: array.bytes() });
    }
    Ok(copy)
}

fn format(plan: &ImagePlan) -> vk::Format {
    vk::Format::from_raw(plan.format.number())
}

fn image_shape(rule: &ImageRule, plan: &ImagePlan) -> ImageShape {
    let view = match (rule.ty.dim, rule.ty.is_array) {
        (ImageDim::D1 | ImageDim::Buffer, false) => vk::ImageViewType::TYPE_1D,
        (ImageDim::D1 | ImageDim::Buffer, true) => vk::ImageViewType::TYPE_1D_ARRAY,
        (ImageDim::D2, false) => vk::ImageViewType::TYPE_2D,
        (ImageDim::D2, true) => vk::ImageViewType::TYPE_2D_ARRAY,
        (ImageDim::D3, _) => vk::ImageViewType::TYPE_3D,
    };
    let usage = match rule.ty.role {
        ImageRole::Storage => vk::ImageUsageFlags::STORAGE,
        ImageRole::Sampled | ImageRole::Combined => vk::ImageUsageFlags::SAMPLED,
    };
    ImageShape { view, format: format(plan), extent: plan.extent, layers: plan.layers, usage }
}

/// Refuses a sampler that one of the images does not have, by the name of the image. Which image a separate sampler reads is
/// not known, so it must fit all that are bound without their own.
pub(crate) fn check_samplers(pipeline: &Pipeline, launch: &Launch, samplers: &[(&Param, Sampler)]) -> Result<()> {
    let images = launch.more.iter().flat_map(|more| &more.images);
    let copied = pipeline
        .signature
        .params
        .iter()
        .zip(&pipeline.rules.arrays)
        .filter_map(|(param, rule)| rule.image.as_ref().filter(|rule| rule.is_copied()).map(|rule| (param, rule)));
    for ((param, rule), bound) in copied.zip(images).filter(|((_, rule), _)| rule.is_sampled()) {
        let is_own = |of: &Param| std::ptr::eq(of, param);
        let is_for = |&&(of, _): &&(&Param, Sampler)| match rule.ty.role {
            ImageRole::Combined => is_own(of),
            _ => of.kind == ParamKind::Sampler,
        };
        for (_, sampler) in samplers.iter().filter(is_for) {
            let is_plain = rule.ty.dim != ImageDim::D3 && !rule.ty.is_array;
            let problem = if sampler.filter == Filter::Linear && !bound.image.is_filterable() {
                "the device does not interpolate texels of this format; use `Sampler::nearest`"
            } else if sampler.is_unnormalized && !is_plain {
                "coordinates that count texels are for images of one or two dimensions without layers"
            } else if sampler.is_unnormalized && !pipeline.samples_plainly {
                "coordinates that count texels are sampled without offsets, projections, comparisons and gathers"
            } else {
                continue;
            };
            return Err(refusal(&pipeline.signature.entry, &param.name, Mismatch::Sampler { problem }));
        }
    }
    Ok(())
}

/// Records the copies to the images, behind all that used them before.
///
/// # Safety
///
/// The recorder records an operation with the accesses of the launch that the images are of.
pub(crate) unsafe fn load(recorder: &mut Recorder<'_>, images: &[BoundImage]) {
    for bound in images {
        recorder.keep(Arc::clone(&bound.image) as KeepAlive);
    }
    let loaded: SmallVec<[&BoundImage; 2]> = images.iter().filter(|bound| bound.loads).collect();
    // SAFETY: the caller's; all texels of an image without a layout are written next.
    unsafe { change_layout(recorder, &loaded, (EITHER, Layout::UNDEFINED), (COPIES, Layout::TRANSFER_DST_OPTIMAL)) };
    for BoundImage { image, block, region, .. } in &loaded {
        let (device, commands, layout) = (recorder.device().raw(), recorder.commands(), Layout::TRANSFER_DST_OPTIMAL);
        // SAFETY: the region is the range of the array, which was compared with its block, and all of the image, whose format
        // has the array's texels. The operation's accesses name the bytes as read by a copy, and order the image.
        unsafe { device.cmd_copy_buffer_to_image(commands, block.buffer(), image.raw(), layout, &[*region]) };
    }
    // SAFETY: the caller's; the layout is that of the copies.
    unsafe { change_layout(recorder, &loaded, (COPIES, Layout::TRANSFER_DST_OPTIMAL), (KERNELS, Layout::GENERAL)) };
}

/// Records the copies from the images that the kernel wrote.
///
/// # Safety
///
/// The contract of [`load`], which was recorded, and behind it the kernel.
pub(crate) unsafe fn store(recorder: &Recorder<'_>, images: &[BoundImage]) {
    let stored: SmallVec<[&BoundImage; 2]> = images.iter().filter(|bound| bound.stores).collect();
    // SAFETY: the caller's; `load` left the layout.
    unsafe { change_layout(recorder, &stored, (EITHER, Layout::GENERAL), (COPIES, Layout::TRANSFER_SRC_OPTIMAL)) };
    for BoundImage { image, block, region, .. } in &stored {
        let (device, commands, layout) = (recorder.device().raw(), recorder.commands(), Layout::TRANSFER_SRC_OPTIMAL);
        // SAFETY: as in `load`; the operation's accesses name the bytes as written by a copy.
        unsafe { device.cmd_copy_image_to_buffer(commands, image.raw(), layout, block.buffer(), &[*region]) };
    }
    // SAFETY: the caller's; the layout is that of the copies.
    unsafe { change_layout(recorder, &stored, (COPIES, Layout::TRANSFER_SRC_OPTIMAL), (EITHER, Layout::GENERAL)) };
}

/// Gives images another layout, between what some stages did and what others do.
///
/// # Safety
///
/// The recorder records an operation that the images are ordered for, and they have the layout `from`.
unsafe fn change_layout(
    recorder: &Recorder<'_>,
    images: &[&BoundImage],
    from: (vk::PipelineStageFlags2, Layout),
    to: (vk::PipelineStageFlags2, Layout),
) {
    if images.is_empty() {
        return;
    }
    let range = vk::ImageSubresourceRange::default()
        .aspect_mask(vk::ImageAspectFlags::COLOR)
        .level_count(1)
        .layer_count(vk::REMAINING_ARRAY_LAYERS);
    let barrier = |bound: &&BoundImage| {
        vk::ImageMemoryBarrier2::default()
            .src_stage_mask(from.0)
            .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
            .dst_stage_mask(to.0)
            .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)
            .old_layout(from.1)
            .new_layout(to.1)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .image(bound.image.raw())
            .subresource_range(range)
    };
    let barriers: SmallVec<[_; 2]> = images.iter().map(barrier).collect();
    // The bytes of the arrays are ordered too: what is copied back comes behind what was copied from there.
    let memory = [vk::MemoryBarrier2::default()
        .src_stage_mask(from.0)
        .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
        .dst_stage_mask(to.0)
        .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)];
    let info = vk::DependencyInfo::default().image_memory_barriers(&barriers).memory_barriers(&memory);
    // SAFETY: the buffer is recording, by one thread; `info` borrows the barriers, and the batch keeps the images.
    unsafe { recorder.device().raw().cmd_pipeline_barrier2(recorder.commands(), &info) };
}
