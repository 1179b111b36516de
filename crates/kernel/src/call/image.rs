//! Which arrays an image takes: [`ImageRule`], and the image that an array becomes ([`ImagePlan`]). Pure.
//!
//! The axes of an array are those of the image, the last one first: (height, width) for a plane, with the layers before
//! and the numbers of a texel behind them. The format is the shader's, or follows from the array. Whether the device has
//! such an image is asked when it is made (`dispatch/image.rs`). Read next: `image/sampler.rs`.

mod sampler;

pub use sampler::{AddressMode, Filter, Sampled, Sampler, UnknownSampler};
use vkarray_shader::{ImageDim, ImageRole, ImageType, TexelFormat};

use crate::call::shape::ArrayShape;
use crate::error::Mismatch;

/// The image that an array becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImagePlan {
    pub(crate) format: TexelFormat,
    /// Texels on x, y and z.
    pub(crate) extent: [u32; 3],
    pub(crate) layers: u32,
}

/// Which arrays an image or a buffer of texels takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageRule {
    pub(crate) ty: ImageType,
    writes: bool,
}

impl ImageRule {
    pub(crate) fn new(ty: &ImageType, writes: bool) -> Self {
        Self { ty: *ty, writes }
    }

    /// Whether the array is copied to an image, not bound where it lies.
    pub(crate) fn is_copied(&self) -> bool {
        self.ty.dim != ImageDim::Buffer
    }

    /// Whether the shader samples it, and so may interpolate.
    pub(crate) fn is_sampled(&self) -> bool {
        self.ty.role != ImageRole::Storage && self.is_copied()
    }

    /// Why the array does not fit.
    pub(crate) fn refusal(&self, array: &ArrayShape<'_>) -> Option<Mismatch> {
        let given = || array.to_string();
        if !array.is_contiguous {
            return Some(Mismatch::NotContiguous { given: given() });
        }
        let is_read_only = self.writes && !array.is_writable;
        self.plan(array).err().or_else(|| is_read_only.then(|| Mismatch::ReadOnly { given: given() }))
    }

    /// The image for an array.
    pub(crate) fn plan(&self, array: &ArrayShape<'_>) -> Result<ImagePlan, Mismatch> {
        let wrong_shape = || {
            let (ty, axes, given) = (self.ty.to_string(), self.ty.axes(), array.to_string());
            Mismatch::ImageShape { ty, axes, given }
        };
        if array.is_untyped {
            return Err(wrong_shape());
        }
        let n_axes = self.ty.n_axes();
        let (axes, channels) = match array.shape.len().checked_sub(n_axes) {
            Some(0) => (array.shape, 1),
            Some(1) => (&array.shape[..n_axes], array.shape[n_axes]),
            _ => return Err(wrong_shape()),
        };
        let format = self.format(array, channels)?;
        if channels != usize::from(format.channels()) {
            return Err(wrong_shape());
        }
        let mut sizes = axes.iter().rev().map(|&len| u32::try_from(len).unwrap_or(u32::MAX));
        let mut extent = [1; 3];
        let n_extents = n_axes - usize::from(self.ty.is_array);
        extent[..n_extents].fill_with(|| sizes.next().unwrap_or(1));
        Ok(ImagePlan { format, extent, layers: sizes.next().unwrap_or(1) })
    }

    /// The format of the texels.
    fn format(&self, array: &ArrayShape<'_>, channels: usize) -> Result<TexelFormat, Mismatch> {
        let wrong_type =
            |advice: String| Err(Mismatch::DType { ty: self.ty.to_string(), given: array.to_string(), advice });
        match (self.ty.format, TexelFormat::of_array(array.dtype, channels, self.ty.scalar)) {
            (Some(format), _) if format.dtype() == array.dtype => Ok(format),
            (Some(format), _) => wrong_type(format!("; convert it to {}", format.dtype())),
            (None, Some(format)) => Ok(format),
            (None, None) if TexelFormat::of_array(array.dtype, 1, self.ty.scalar).is_some() => {
                let (ty, given) = (self.ty.to_string(), array.to_string());
                Err(Mismatch::Channels { ty, given, channels })
            }
            (None, None) => wrong_type(format!("; convert it to {}", self.ty.scalar)),
        }
    }
}

#[cfg(test)]
mod tests {
    use vkarray_shader::DType;

    use super::*;

    fn rule(role: ImageRole, dim: ImageDim, is_array: bool, format: Option<TexelFormat>) -> ImageRule {
        let scalar = format.map_or(DType::F32, TexelFormat::scalar);
        ImageRule::new(&ImageType { role, dim, is_array, scalar, format }, role == ImageRole::Storage)
    }

    fn array<'a>(dtype: DType, shape: &'a [usize]) -> ArrayShape<'a> {
        let len = shape.iter().product::<usize>() as u64;
        ArrayShape::new(dtype, shape, len * u64::from(dtype.itemsize()))
    }

    #[test]
    fn axes_of_arrays_are_those_of_images_the_last_one_first() {
        use ImageDim::{Buffer, D1, D2, D3};
        let sampled = |dim, is_array| rule(ImageRole::Sampled, dim, is_array, None);
        let cases: [(ImageRule, &[usize], _, [u32; 3], u32); 9] = [
            (sampled(D1, false), &[7], TexelFormat::R32Float, [7, 1, 1], 1),
            (sampled(D1, true), &[5, 7], TexelFormat::R32Float, [7, 1, 1], 5),
            (sampled(D2, false), &[3, 7], TexelFormat::R32Float, [7, 3, 1], 1),
            (sampled(D2, false), &[3, 7, 1], TexelFormat::R32Float, [7, 3, 1], 1),
            (sampled(D2, false), &[3, 7, 4], TexelFormat::Rgba32Float, [7, 3, 1], 1),
            (sampled(D2, true), &[5, 3, 7, 2], TexelFormat::Rg32Float, [7, 3, 1], 5),
            (sampled(D3, false), &[2, 3, 7], TexelFormat::R32Float, [7, 3, 2], 1),
            (sampled(D3, false), &[2, 3, 7, 4], TexelFormat::Rgba32Float, [7, 3, 2], 1),
            (sampled(Buffer, false), &[7, 2], TexelFormat::Rg32Float, [7, 1, 1], 1),
        ];
        for (rule, shape, format, extent, layers) in cases {
            assert_eq!(rule.plan(&array(DType::F32, shape)), Ok(ImagePlan { format, extent, layers }), "{shape:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_would() {
        let rgba8 = rule(ImageRole::Storage, ImageDim::D2, false, Some(TexelFormat::Rgba8Unorm));
        let plane = rule(ImageRole::Sampled, ImageDim::D2, false, None);
        let cases = [
            (
                rgba8,
                array(DType::F32, &[2, 3, 4]),
                "is texture_storage_2d<rgba8unorm>, got an array of f32 with shape (2, 3, 4); convert it to u8",
            ),
            (
                rgba8,
                array(DType::U8, &[2, 3]),
                "is texture_storage_2d<rgba8unorm>, an array of shape (height, width, 4), got an array of u8 with shape (2, 3)",
            ),
            (
                plane,
                array(DType::U8, &[2, 3, 3]),
                "is texture_2d<f32>, got an array of u8 with shape (2, 3, 3), 3 numbers a texel; images have 1, 2 or 4: pad the last axis",
            ),
            (
                plane,
                array(DType::F32, &[6]),
                "is texture_2d<f32>, an array of shape (height, width[, channels]), got an array of f32 with shape (6,)",
            ),
            (
                plane,
                array(DType::U32, &[2, 3]),
                "is texture_2d<f32>, got an array of u32 with shape (2, 3); convert it to f32",
            ),
        ];
        for (rule, array, text) in cases {
            assert_eq!(rule.refusal(&array).unwrap().to_string(), text);
        }
        let frozen = ArrayShape { is_writable: false, ..array(DType::U8, &[2, 3, 4]) };
        assert!(matches!(rgba8.refusal(&frozen), Some(Mismatch::ReadOnly { .. })));
        let gaps = ArrayShape { is_contiguous: false, ..array(DType::U8, &[2, 3, 4]) };
        assert!(matches!(rgba8.refusal(&gaps), Some(Mismatch::NotContiguous { .. })));
        assert_eq!(rgba8.refusal(&array(DType::U8, &[2, 3, 4])), None);
    }
}
