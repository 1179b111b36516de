//! What the descriptors of a pipeline are: their types, and the samplers, each made when a launch first takes it
//! ([`Samplers`]).

use std::sync::{Arc, OnceLock};

use ash::vk;
use vkarray_driver::{Device, Owned};
use vkarray_shader::{ImageRole, Param, ParamKind};

use crate::call::image::{AddressMode, Filter, Sampler};
use crate::error::Result;

/// The type of the descriptor for a parameter.
pub(super) fn descriptor_type(param: &Param) -> vk::DescriptorType {
    match param.kind {
        ParamKind::Storage => vk::DescriptorType::STORAGE_BUFFER,
        ParamKind::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
        ParamKind::Sampler => vk::DescriptorType::SAMPLER,
        ParamKind::Address => unreachable!("no descriptor binds an address"),
        ParamKind::Texels | ParamKind::Image => {
            let role = param.image().map_or(ImageRole::Sampled, |image| image.role);
            match (param.kind, role) {
                (ParamKind::Texels, ImageRole::Storage) => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
                (ParamKind::Texels, _) => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
                (_, ImageRole::Storage) => vk::DescriptorType::STORAGE_IMAGE,
                (_, ImageRole::Sampled) => vk::DescriptorType::SAMPLED_IMAGE,
                (_, ImageRole::Combined) => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
            }
        }
    }
}

/// The number of descriptors of the parameters.
pub(super) fn n_descriptors(params: &[Param]) -> usize {
    params.iter().map(|param| param.bindings.count() as usize).sum()
}

/// One place for each sampler that differs. Batches that use them keep the pipeline.
#[derive(Debug, Default)]
pub(crate) struct Samplers([OnceLock<Owned<vk::Sampler>>; Sampler::COUNT]);

impl Samplers {
    /// The Vulkan object of a sampler that Vulkan has.
    pub(crate) fn get(&self, device: &Arc<Device>, sampler: Sampler) -> Result<vk::Sampler> {
        let place = &self.0[sampler.index()];
        if let Some(made) = place.get() {
            return Ok(made.raw());
        }
        let made = create(device, sampler)?;
        Ok(place.get_or_init(|| made).raw()) // Another thread may have been first.
    }
}

fn create(device: &Arc<Device>, sampler: Sampler) -> Result<Owned<vk::Sampler>> {
    let filter = match sampler.filter {
        Filter::Nearest => vk::Filter::NEAREST,
        Filter::Linear => vk::Filter::LINEAR,
    };
    let address = match sampler.address {
        AddressMode::Clamp => vk::SamplerAddressMode::CLAMP_TO_EDGE,
        AddressMode::Repeat => vk::SamplerAddressMode::REPEAT,
        AddressMode::Mirror => vk::SamplerAddressMode::MIRRORED_REPEAT,
        AddressMode::Border => vk::SamplerAddressMode::CLAMP_TO_BORDER,
    };
    let info = vk::SamplerCreateInfo::default()
        .mag_filter(filter)
        .min_filter(filter)
        .mipmap_mode(vk::SamplerMipmapMode::NEAREST)
        .address_mode_u(address)
        .address_mode_v(address)
        .address_mode_w(address)
        .border_color(vk::BorderColor::FLOAT_TRANSPARENT_BLACK)
        .unnormalized_coordinates(sampler.is_unnormalized);
    // SAFETY: `info` is complete, and `Sampler::problem` refused coordinates that Vulkan does not combine with the address.
    let raw = unsafe { device.raw().create_sampler(&info, None) }.map_err(device.failed("vkCreateSampler"))?;
    // SAFETY: just created; the pipeline owns it, and batches keep the pipeline.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}
