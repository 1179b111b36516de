//! Images with memory behind them, and views of buffers as texels: what the device has is asked, then made.

use ash::vk;
use vkarray_driver::{Device, Owned};

use crate::error::{Error, ImageProblem, Result};

/// What an image is: type, format, size and use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageShape {
    /// With or without layers.
    pub view: vk::ImageViewType,
    /// The format of its texels.
    pub format: vk::Format,
    /// Texels on x, y and z.
    pub extent: [u32; 3],
    /// The number of layers.
    pub layers: u32,
    /// `SAMPLED` or `STORAGE`; copies are always possible.
    pub usage: vk::ImageUsageFlags,
}

impl ImageShape {
    fn image_type(&self) -> vk::ImageType {
        match self.view {
            vk::ImageViewType::TYPE_1D | vk::ImageViewType::TYPE_1D_ARRAY => vk::ImageType::TYPE_1D,
            vk::ImageViewType::TYPE_3D => vk::ImageType::TYPE_3D,
            _ => vk::ImageType::TYPE_2D,
        }
    }

    fn usage(&self) -> vk::ImageUsageFlags {
        self.usage | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST
    }

    /// The first thing that the device does not have of it.
    fn problem(&self, limits: Option<&vk::ImageFormatProperties>) -> Option<ImageProblem> {
        let Some(limits) = limits else { return Some(ImageProblem::Format) };
        let ([x, y, z], most) = (self.extent, limits.max_extent);
        let (given, limit) = ([x, y, z, self.layers], [most.width, most.height, most.depth, limits.max_array_layers]);
        given.iter().zip(limit).any(|(given, limit)| *given > limit).then_some(ImageProblem::Size { given, limit })
    }
}

/// What the device allows of such images; `None` if it has none.
fn image_limits(device: &Device, shape: &ImageShape) -> Result<Option<vk::ImageFormatProperties>> {
    let physical = device.physical();
    let (instance, tiling) = (physical.instance().raw(), vk::ImageTiling::OPTIMAL);
    let (ty, usage, flags) = (shape.image_type(), shape.usage(), vk::ImageCreateFlags::empty());
    // SAFETY: the physical device is of the instance, and the other values are plain.
    let found = unsafe {
        instance.get_physical_device_image_format_properties(physical.raw(), shape.format, ty, tiling, usage, flags)
    };
    match found {
        Ok(limits) => Ok(Some(limits)),
        Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED) => Ok(None),
        Err(code) => Err(device.failed("vkGetPhysicalDeviceImageFormatProperties")(code).into()),
    }
}

pub(crate) fn format_properties(device: &Device, format: vk::Format) -> vk::FormatProperties {
    let physical = device.physical();
    // SAFETY: the physical device is of the instance.
    unsafe { physical.instance().raw().get_physical_device_format_properties(physical.raw(), format) }
}

/// Creates an image, without memory.
///
/// # Errors
///
/// [`Error::NoSuchImage`], and [`Error::Driver`](crate::Error::Driver).
pub(crate) fn create_image(device: &Device, shape: &ImageShape) -> Result<Owned<vk::Image>> {
    if let Some(problem) = shape.problem(image_limits(device, shape)?.as_ref()) {
        return Err(Error::NoSuchImage { format: shape.format.as_raw(), problem });
    }
    let families = device.plan().families();
    // Streams of any family use every image without ownership transfers.
    let sharing = if families.len() > 1 { vk::SharingMode::CONCURRENT } else { vk::SharingMode::EXCLUSIVE };
    let [width, height, depth] = shape.extent;
    // Vulkan ignores the families of an exclusive image.
    let info = vk::ImageCreateInfo::default()
        .image_type(shape.image_type())
        .format(shape.format)
        .extent(vk::Extent3D { width, height, depth })
        .mip_levels(1)
        .array_layers(shape.layers)
        .samples(vk::SampleCountFlags::TYPE_1)
        .tiling(vk::ImageTiling::OPTIMAL)
        .usage(shape.usage())
        .sharing_mode(sharing)
        .queue_family_indices(&families);
    // SAFETY: `info` is complete and borrows what it points to; it was compared with what the device has.
    let raw = unsafe { device.raw().create_image(&info, None) }.map_err(device.failed("vkCreateImage"))?;
    // SAFETY: just created, not owned elsewhere, and not used by any work yet.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}

/// Creates a view of all of an image that has memory.
pub(crate) fn create_view(device: &Device, image: vk::Image, shape: &ImageShape) -> Result<Owned<vk::ImageView>> {
    let range = vk::ImageSubresourceRange::default()
        .aspect_mask(vk::ImageAspectFlags::COLOR)
        .level_count(1)
        .layer_count(shape.layers);
    let info = vk::ImageViewCreateInfo::default()
        .image(image)
        .view_type(shape.view)
        .format(shape.format)
        .subresource_range(range);
    // SAFETY: the image has memory, and the range is all of it.
    let raw = unsafe { device.raw().create_image_view(&info, None) }.map_err(device.failed("vkCreateImageView"))?;
    // SAFETY: just created, and owned together with the image.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}

/// Makes a view of bytes of a buffer as texels, for a storage or a uniform texel buffer.
///
/// # Errors
///
/// [`Error::NoSuchImage`], and [`Error::Driver`](crate::Error::Driver).
pub(crate) fn texel_view(
    device: &Device,
    bound: vk::DescriptorBufferInfo,
    (format, texel_bytes): (vk::Format, u64),
    is_storage: bool,
) -> Result<Owned<vk::BufferView>> {
    let refused = |problem| Err(Error::NoSuchImage { format: format.as_raw(), problem });
    let needed = match is_storage {
        true => vk::FormatFeatureFlags::STORAGE_TEXEL_BUFFER,
        false => vk::FormatFeatureFlags::UNIFORM_TEXEL_BUFFER,
    };
    if !format_properties(device, format).buffer_features.contains(needed) {
        return refused(ImageProblem::Format);
    }
    let physical = device.physical();
    // SAFETY: the physical device is of the instance.
    let properties = unsafe { physical.instance().raw().get_physical_device_properties(physical.raw()) };
    let (given, limit) = (bound.range / texel_bytes, properties.limits.max_texel_buffer_elements.into());
    if given > limit {
        return refused(ImageProblem::Texels { given, limit });
    }
    let vk::DescriptorBufferInfo { buffer, offset, range } = bound;
    let info = vk::BufferViewCreateInfo::default().buffer(buffer).format(format).offset(offset).range(range);
    // SAFETY: the caller compared the range with the buffer, which was made for such views, and the format and the number of
    // texels were compared with the device's. Offsets are multiples of 256, the most that a device asks for.
    let raw = unsafe { device.raw().create_buffer_view(&info, None) }.map_err(device.failed("vkCreateBufferView"))?;
    // SAFETY: just created; whoever uses it in work keeps it until the work is done.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_limit_that_is_exceeded_is_named_with_all_numbers() {
        let shape = |extent, layers| ImageShape {
            view: vk::ImageViewType::TYPE_2D_ARRAY,
            format: vk::Format::R8_UNORM,
            extent,
            layers,
            usage: vk::ImageUsageFlags::SAMPLED,
        };
        let limits = vk::ImageFormatProperties {
            max_extent: vk::Extent3D { width: 64, height: 32, depth: 1 },
            max_array_layers: 8,
            ..Default::default()
        };
        assert_eq!(shape([64, 32, 1], 8).problem(Some(&limits)), None);
        assert_eq!(shape([1, 1, 1], 1).problem(None), Some(ImageProblem::Format));
        let problem = shape([64, 33, 1], 8).problem(Some(&limits)).unwrap();
        let text = "64×33×1 texels and 8 layers, it has at most 64×32×1 and 8";
        assert_eq!(problem.to_string(), text);
        assert!(shape([1, 1, 1], 9).problem(Some(&limits)).is_some());
    }
}
