//! Whether a device binds as many images and samplers as a kernel has, and bounds its accesses to them: [`check_images`].
//!
//! Whether it has an image of some format and size is asked when an array is given for it.

use vkarray_driver::Device;
use vkarray_shader::{ImageRole, Param, ParamKind, Signature, SpirvError};

use crate::error::{Error, Result};

/// The most sampled images, storage images and samplers that a shader binds (`maxPerStageDescriptor…`).
pub(crate) fn image_limits(device: &Device) -> [u32; 3] {
    let physical = device.physical();
    // SAFETY: the physical device is of the instance.
    let limits = unsafe { physical.instance().raw().get_physical_device_properties(physical.raw()) }.limits;
    [
        limits.max_per_stage_descriptor_sampled_images,
        limits.max_per_stage_descriptor_storage_images,
        limits.max_per_stage_descriptor_samplers,
    ]
}

/// Checks that the device binds the kernel's images and samplers, and that coordinates out of range do no harm: the device
/// bounds them, or the kernel's builder promised that there are none. The limits, those of [`image_limits`], are asked only if
/// there are any images.
pub(crate) fn check_images(signature: &Signature, is_bounded: bool, limits: impl FnOnce() -> [u32; 3]) -> Result<()> {
    let has_images = |role| signature.params.iter().filter_map(Param::image).filter(|image| image.role == role).count();
    let combined = has_images(ImageRole::Combined);
    let separate = signature.params.iter().filter(|param| param.kind == ParamKind::Sampler).count();
    let counts = [
        (has_images(ImageRole::Sampled) + combined, "sampled images"),
        (has_images(ImageRole::Storage), "storage images"),
        (separate + combined, "samplers"),
    ];
    if counts.iter().all(|(count, _)| *count == 0) {
        return Ok(());
    }
    let kernel = signature.entry.clone();
    if !is_bounded {
        return Err(Error::NoImageBounds { kernel });
    }
    match counts.into_iter().zip(limits()).find(|((count, _), limit)| *count > *limit as usize) {
        Some(((count, what), limit)) => Err(SpirvError::BufferCount { kernel, count, what, limit }.into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use vkarray_shader::{Module, Options, Source};

    use super::*;

    #[test]
    fn images_and_samplers_are_counted_by_their_kind() {
        let source = Source::wgsl(
            "@group(0) @binding(0) var a: texture_2d<f32>;
             @group(0) @binding(1) var b: texture_1d<u32>;
             @group(0) @binding(2) var s: sampler;
             @group(0) @binding(3) var out: texture_storage_2d<r32float, write>;
             @compute @workgroup_size(1) fn k() {
                 let x = textureSampleLevel(a, s, vec2(0.5), 0.0) + f32(textureLoad(b, 0, 0).x);
                 textureStore(out, vec2(0, 0), x);
             }",
        );
        let module = Module::parse(&source).unwrap();
        let signature = module.translate(None, &Default::default(), &Options::default()).unwrap().signature;
        let limits = |sampled, storage, samplers| check_images(&signature, true, || [sampled, storage, samplers]);
        limits(2, 1, 1).unwrap();
        let text = |result: Result<()>| result.unwrap_err().to_string();
        assert_eq!(text(limits(1, 1, 1)), "kernel `k` uses 2 sampled images, the device binds 1");
        assert_eq!(text(limits(2, 0, 1)), "kernel `k` uses 1 storage images, the device binds 0");
        assert_eq!(text(limits(2, 1, 0)), "kernel `k` uses 1 samplers, the device binds 0");
        check_images(&Signature::default(), false, || unreachable!("nothing is asked")).unwrap();
        let unbounded = check_images(&signature, false, || unreachable!("nothing is asked"));
        assert!(
            text(unbounded).starts_with("kernel `k` has images, and the device was opened without robustImageAccess")
        );
    }
}
