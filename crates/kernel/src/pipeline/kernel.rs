//! A kernel as Vulkan objects: an entry point made into a pipeline of one device ([`Kernel`]).
//!
//! Built in three steps: translate, check against the device ([`check_device`]), create ([`Pipeline::new`]). `cache.rs` builds
//! each kernel once; `dispatch/stream.rs` runs it.

use std::sync::Arc;

use ash::vk;
use vkarray_driver::{Device, Label, Owned};
use vkarray_shader::internal::samples_plainly;
use vkarray_shader::{
    BufferBounds, Fold, Limits, Param, ScalarValue, Signature, Subgroups, Translated, check_bindings, check_workgroup,
};

use crate::call::rules::Rules;
use crate::error::{Error, Result};
use crate::fits::capabilities::{check_capabilities, limits_of_kernel};
use crate::fits::extensions::check_extensions;
use crate::fits::images::{check_images, image_limits};
use crate::fits::matrices::check_matrices;
use crate::fits::subgroups::check_subgroups;
use crate::pipeline::descriptors::{Samplers, descriptor_type, n_descriptors};
use crate::pipeline::limit::LastUse;
use crate::pipeline::sanitizer::Sanitizer;
use crate::pipeline::variants::Variants;

/// Why an entry point's name can be a C string.
const BAD_ENTRY: &str = "an identifier holds no NUL, nor does a literal of SPIR-V";

const REQUIRE_FULL_SUBGROUPS: vk::PipelineShaderStageCreateFlags =
    vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS;

/// A compute kernel on one device. Clones are handles to the same pipeline.
///
/// Built by [`KernelBuilder::build`](crate::KernelBuilder::build), run by [`Kernel::launch`] and [`Kernel::dispatch`].
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::Source;
///
/// let ctx = Context::open_default()?;
/// let add = ctx
///     .kernel(Source::wgsl(
///         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
///          var<immediate> n: u32;
///          @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
///              if id.x < arrayLength(&x) { x[id.x] += n; }
///          }",
///     ))
///     .build()?;
/// println!("{}", add.signature());
/// assert_eq!(add.signature().workgroup_size, [64, 1, 1]);
/// assert!(std::sync::Arc::ptr_eq(add.device(), ctx.device()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) pipeline: Arc<Pipeline>,
}

impl Kernel {
    /// What it takes and needs. [`Signature`] has an example.
    pub fn signature(&self) -> &Signature {
        &self.pipeline.signature
    }

    /// The device it was built for.
    pub fn device(&self) -> &Arc<Device> {
        &self.pipeline.device
    }
}

/// The Vulkan objects behind a kernel.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) raw: Owned<vk::Pipeline>, // First: made from the layout.
    pub(crate) layout: Owned<vk::PipelineLayout>,
    /// One for each group up to the last used; a group without buffers has an empty one.
    pub(crate) set_layouts: Vec<Owned<vk::DescriptorSetLayout>>,
    /// Whether buffers are pushed into the command buffer: they are of one set, and the device has push descriptors. Otherwise
    /// each group has a set, allocated from the pools of the batch.
    pub(crate) is_pushed: bool,
    pub(crate) signature: Signature,
    /// The groups that have buffers.
    pub(crate) sets: Vec<Set>, // Made from the layouts, which they do not need any more.
    pub(crate) push_bytes: usize,
    pub(crate) rules: Rules,
    pub(crate) label: Label,
    pub(crate) limits: Limits,
    /// Set if the kernel runs over several axes as if over one. Its limits are then the limits of that one axis.
    pub(crate) fold: Option<Fold>,
    /// Whether the shader reads the number of workgroups.
    pub(crate) counts_workgroups: bool,
    pub(crate) samplers: Samplers,
    /// Whether all that it samples may be sampled with coordinates that count texels.
    pub(crate) samples_plainly: bool,
    /// Set if it was built with checks.
    pub(crate) sanitizer: Option<Sanitizer>,
    pub(crate) last_use: LastUse,
    /// Set by the cache once it is built.
    pub(crate) variants: Option<Variants>,
    /// The device it was built for.
    pub(crate) device: Arc<Device>,
}

/// A group of buffers, bound together.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) group: u32,
    /// The first of its buffers among all of the kernel's.
    pub(crate) first: usize,
    pub(crate) n_buffers: u32,
    /// Writes descriptors from as many [`vk::DescriptorBufferInfo`]s.
    pub(crate) template: Owned<vk::DescriptorUpdateTemplate>,
}

impl Pipeline {
    /// Creates the objects of a kernel that passed [`check_device`].
    pub(crate) fn new(
        device: &Arc<Device>,
        cache: vk::PipelineCache,
        translated: Translated,
        mut limits: Limits,
        last_use: LastUse,
    ) -> Result<Self> {
        let (signature, fold) = (&translated.signature, translated.fold);
        // The report of the checks is bound behind the kernel's own parameters.
        let with_report =
            translated.sanitized.as_ref().map(|sanitized| sanitized.bound(signature, &limits)).transpose()?;
        let bound = with_report.as_ref().unwrap_or(signature);
        check_bindings(bound, &limits)?;
        let is_pushed = is_pushed(bound, device);
        let set_layouts = create_set_layouts(device, bound, is_pushed)?;
        let layout = create_layout(device, bound, &set_layouts)?;
        let sets = create_sets(device, bound, is_pushed, &set_layouts, layout.raw())?;
        let raw = create_pipeline(device, cache, &translated, layout.raw())?;
        let samples_plainly = samples_plainly(&translated.spirv);
        let Translated { signature, sanitized, source_name, counts_workgroups, buffer_bounds, .. } = translated;
        let sanitizer = sanitized.map(|sanitized| Sanitizer::new(device, sanitized, source_name)).transpose()?;
        let label = device.kernel_label(&signature.entry);
        let push_bytes = signature.push_constants.as_ref().map_or(0, |push| push.bytes as usize);
        let rules = Rules::new(&signature, &limits, buffer_bounds.clamps());
        if let Some(fold) = fold {
            limits.max_workgroup_count = [Fold::capacity(fold.axes), 1, 1];
        }
        Ok(Self {
            raw,
            layout,
            set_layouts,
            is_pushed,
            signature,
            sets,
            push_bytes,
            rules,
            label,
            limits,
            fold,
            counts_workgroups,
            samplers: Samplers::default(),
            samples_plainly,
            sanitizer,
            last_use,
            variants: None,
            device: Arc::clone(device),
        })
    }

    /// Whether it was built for that device.
    #[inline]
    pub(crate) fn is_of(&self, device: &Arc<Device>) -> bool {
        Arc::ptr_eq(device, &self.device)
    }
}

/// Checks that the device has what a kernel needs, and returns the limits that hold for it.
pub(crate) fn check_device(device: &Device, translated: &Translated) -> Result<Limits> {
    let (signature, info, plan) = (&translated.signature, device.info(), device.plan());
    let limits = limits_of_kernel(info, &translated.spirv);
    check_capabilities(signature, info, &plan.features)?;
    check_extensions(signature, info, &plan.extensions)?;
    check_matrices(signature, info)?;
    check_workgroup(signature, &limits)?;
    check_subgroups(signature, info, &plan.features)?;
    let is_promised = matches!(translated.buffer_bounds, BufferBounds::Unchecked | BufferBounds::Driver);
    check_images(signature, plan.features.robust_image_access || is_promised, || image_limits(device))?;
    Ok(limits)
}

fn create_pipeline(
    device: &Arc<Device>,
    cache: vk::PipelineCache,
    translated: &Translated,
    layout: vk::PipelineLayout,
) -> Result<Owned<vk::Pipeline>> {
    let module = create_module(device, &translated.spirv)?;
    let entry = std::ffi::CString::new(translated.entry.as_str()).expect(BAD_ENTRY);
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module.raw())
        .name(&entry);
    let (entries, bytes) = specialization(&translated.specialization);
    let values = vk::SpecializationInfo::default().map_entries(&entries).data(&bytes);
    let stage = if entries.is_empty() { stage } else { stage.specialization_info(&values) };
    let Subgroups { size, full } = translated.signature.subgroups;
    let mut size =
        size.map(|size| vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default().required_subgroup_size(size));
    let stage = size.iter_mut().fold(stage, |stage, size| stage.push_next(size));
    let full = if full { REQUIRE_FULL_SUBGROUPS } else { vk::PipelineShaderStageCreateFlags::empty() };
    let bases = if translated.fold.is_some() { vk::PipelineCreateFlags::DISPATCH_BASE } else { Default::default() };
    let info = vk::ComputePipelineCreateInfo::default().flags(bases).stage(stage.flags(full)).layout(layout);
    // Without the device's bounds checks, which are up to 20 % of the time, where the builder promised that indices are in
    // range or the kernel clamps them itself.
    let none = vk::PipelineRobustnessBufferBehaviorEXT::DISABLED;
    let mut unchecked = vk::PipelineRobustnessCreateInfoEXT::default().storage_buffers(none).uniform_buffers(none);
    let is_unchecked = translated.buffer_bounds.is_without_device() && device.plan().features.pipeline_robustness;
    let info = [if is_unchecked { info.push_next(&mut unchecked) } else { info }];
    // SAFETY: module and layout are alive, and the layout has the bindings of the signature, which was read from the SPIR-V.
    // `check_device` compared sizes of workgroups and subgroups with the device's; the constants are of the types that the
    // module declares (`Binary::constant_values`).
    let created = unsafe { device.raw().create_compute_pipelines(cache, &info, None) };
    let raw =
        created.map_err(|(_, code)| refused(code, device.failed("vkCreateComputePipelines")(code), translated))?[0];
    // SAFETY: just created; batches that bind it keep this `Pipeline`.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}

/// Drivers report a kernel that needs too much with a code that gives no reason.
fn refused(code: vk::Result, source: vkarray_driver::Error, translated: &Translated) -> Error {
    match code {
        vk::Result::ERROR_UNKNOWN => Error::NotCompiled { kernel: translated.entry.clone(), source },
        _ => source.into(),
    }
}

/// Values of specialisation constants as Vulkan takes them: an entry for each, and the bytes that the entries refer to.
fn specialization(values: &[(u32, ScalarValue)]) -> (Vec<vk::SpecializationMapEntry>, Vec<u8>) {
    const SLOT: usize = 8; // The longest constant, so that each is aligned.
    let mut bytes = vec![0; values.len() * SLOT];
    let slots = bytes.as_chunks_mut::<SLOT>().0;
    let entry = |(offset, ((number, value), slot)): (u32, (&(u32, ScalarValue), &mut [u8; SLOT]))| {
        // A truth value is a `VkBool32`.
        let value = if let ScalarValue::Bool(truth) = value { ScalarValue::U32((*truth).into()) } else { *value };
        value.write_to(slot);
        vk::SpecializationMapEntry { constant_id: *number, offset, size: value.dtype().itemsize() as usize }
    };
    let entries = (0..).step_by(SLOT).zip(values.iter().zip(slots)).map(entry).collect();
    (entries, bytes)
}

/// Whether push descriptors serve a kernel: they are of one set of a limited size.
fn is_pushed(signature: &Signature, device: &Device) -> bool {
    let bound = signature.bound();
    let first_group = bound.first().map_or(0, |param| param.group);
    let is_one_set = bound.iter().all(|param| param.group == first_group);
    let fits = n_descriptors(bound) <= device.info().limits.max_push_descriptors as usize;
    device.plan().push_descriptors && is_one_set && fits
}

fn create_set_layouts(
    device: &Arc<Device>,
    signature: &Signature,
    is_pushed: bool,
) -> Result<Vec<Owned<vk::DescriptorSetLayout>>> {
    let n_groups = signature.bound().last().map_or(0, |param| param.group + 1);
    let create = |group: u32| {
        let bindings: Vec<_> = signature
            .bound()
            .iter()
            .filter(|param| param.group == group)
            .map(|param| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(param.binding)
                    .descriptor_type(descriptor_type(param))
                    .descriptor_count(param.bindings.count())
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let flags = if is_pushed && !bindings.is_empty() {
            vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR
        } else {
            vk::DescriptorSetLayoutCreateFlags::empty()
        };
        let info = vk::DescriptorSetLayoutCreateInfo::default().flags(flags).bindings(&bindings);
        // SAFETY: `info` borrows its bindings; push descriptors are planned only where the device has them.
        let raw = unsafe { device.raw().create_descriptor_set_layout(&info, None) }
            .map_err(device.failed("vkCreateDescriptorSetLayout"))?;
        // SAFETY: just created; batches that use it keep its `Pipeline`.
        Ok(unsafe { Owned::new(raw, device.logical()) })
    };
    (0..n_groups).map(create).collect()
}

fn create_layout(
    device: &Arc<Device>,
    signature: &Signature,
    sets: &[Owned<vk::DescriptorSetLayout>],
) -> Result<Owned<vk::PipelineLayout>> {
    let sets: Vec<_> = sets.iter().map(Owned::raw).collect();
    let range = vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE);
    let range = signature.push_constants.as_ref().map(|push| range.size(push.bytes));
    let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(range.as_slice());
    // SAFETY: `info` borrows both lists; the set layouts are alive, the push constants within the device's limit.
    let raw =
        unsafe { device.raw().create_pipeline_layout(&info, None) }.map_err(device.failed("vkCreatePipelineLayout"))?;
    // SAFETY: just created; batches that use it keep its `Pipeline`.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}

/// Makes a template for each group that has buffers.
fn create_sets(
    device: &Arc<Device>,
    signature: &Signature,
    is_pushed: bool,
    set_layouts: &[Owned<vk::DescriptorSetLayout>],
    layout: vk::PipelineLayout,
) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    let mut first = 0;
    for params in signature.bound().chunk_by(|a, b| a.group == b.group) {
        let group = params[0].group;
        let entry = |(i, param)| template_entry(n_descriptors(&params[..i]), param);
        let entries: Vec<_> = params.iter().enumerate().map(entry).collect();
        let info = vk::DescriptorUpdateTemplateCreateInfo::default().descriptor_update_entries(&entries);
        let info = if is_pushed {
            info.template_type(vk::DescriptorUpdateTemplateType::PUSH_DESCRIPTORS_KHR)
                .pipeline_bind_point(vk::PipelineBindPoint::COMPUTE)
                .pipeline_layout(layout)
                .set(group)
        } else {
            info.descriptor_set_layout(set_layouts[group as usize].raw())
        };
        // SAFETY: `info` borrows the entries, which are the bindings of the group's layout; both layouts are alive.
        let raw = unsafe { device.raw().create_descriptor_update_template(&info, None) }
            .map_err(device.failed("vkCreateDescriptorUpdateTemplate"))?;
        // SAFETY: just created; batches that use it keep its `Pipeline`.
        let template = unsafe { Owned::new(raw, device.logical()) };
        let count = n_descriptors(params);
        let n_buffers = u32::try_from(count).expect("`check_bindings` compared it with a limit of 32 bits");
        sets.push(Set { group, first, n_buffers, template });
        first += count;
    }
    Ok(sets)
}

/// The binding of a parameter, whose buffers are read from the `i`-th [`vk::DescriptorBufferInfo`] on. The form of
/// a buffer's descriptor holds that of an image too, as `dispatch/image.rs` says.
fn template_entry(i: usize, param: &Param) -> vk::DescriptorUpdateTemplateEntry {
    let stride = size_of::<vk::DescriptorBufferInfo>();
    vk::DescriptorUpdateTemplateEntry::default()
        .dst_binding(param.binding)
        .descriptor_count(param.bindings.count())
        .descriptor_type(descriptor_type(param))
        .offset(i * stride)
        .stride(stride)
}

fn create_module(device: &Arc<Device>, spirv: &[u32]) -> Result<Owned<vk::ShaderModule>> {
    let info = vk::ShaderModuleCreateInfo::default().code(spirv);
    // SAFETY: the words are valid. Those of text were written by naga after its validator passed the shader, in this process
    // or in one that kept them in the cache's folder, which only this user and root can change (`disk_cache/trust.rs`).
    // Those of SPIR-V were passed by `spirv-val` (`cached_build.rs`), or the caller of `Source::spirv_unchecked` promised
    // it. `check_device` compared capabilities and extensions with those that the device was opened with.
    let raw =
        unsafe { device.raw().create_shader_module(&info, None) }.map_err(device.failed("vkCreateShaderModule"))?;
    // SAFETY: just created; only the pipeline creation below uses it.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}
