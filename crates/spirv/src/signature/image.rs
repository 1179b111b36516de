//! Images as a shader declares them: [`ImageType`], and the formats of their texels ([`TexelFormat`]).
//!
//! One table has the formats, with what the host stores for them and what Vulkan calls them. Plain data: the kernel crate
//! asks the device whether it has a format, in `fits/images.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};
use spirv::ImageFormat;

use crate::signature::DType;

/// An image, as a shader declares it.
///
/// ```
/// use vkarray_spirv::{DType, ImageDim, ImageRole, ImageType};
///
/// let ty = ImageType { role: ImageRole::Sampled, dim: ImageDim::D2, is_array: true, scalar: DType::F32, format: None };
/// assert_eq!(ty.to_string(), "texture_2d_array<f32>");
/// assert_eq!(ty.axes(), "(layers, height, width[, channels])");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ImageType {
    /// What the shader does with it.
    pub role: ImageRole,
    /// Its dimensions.
    pub dim: ImageDim,
    /// Whether it has layers.
    pub is_array: bool,
    /// The type of the numbers that the shader sees: `f32`, `i32` or `u32`.
    pub scalar: DType,
    /// The format that the shader declares; without one it follows from the array.
    pub format: Option<TexelFormat>,
}

/// What a shader does with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ImageRole {
    /// It samples or fetches texels.
    Sampled,
    /// As [`ImageRole::Sampled`], and the sampler is bound with the image.
    Combined,
    /// It reads and writes texels.
    Storage,
}

/// The dimensions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ImageDim {
    /// A line of texels.
    D1,
    /// A plane.
    D2,
    /// A box.
    D3,
    /// A buffer whose elements are texels.
    Buffer,
}

impl ImageDim {
    /// The axes of an array for one layer.
    const fn axes(self) -> &'static [&'static str] {
        match self {
            Self::D1 | Self::Buffer => &["width"],
            Self::D2 => &["height", "width"],
            Self::D3 => &["depth", "height", "width"],
        }
    }
}

impl ImageType {
    /// The axes of an array for it, for messages. The last one may be left out for texels of one number.
    pub fn axes(&self) -> String {
        let layers = if self.is_array { "layers, " } else { "" };
        let axes = self.dim.axes().join(", ");
        match self.format.map(TexelFormat::channels) {
            None => format!("({layers}{axes}[, channels])"),
            Some(1) => format!("({layers}{axes}[, 1])"),
            Some(channels) => format!("({layers}{axes}, {channels})"),
        }
    }

    /// The number of axes of an array for it, without that of the channels.
    pub fn n_axes(&self) -> usize {
        self.dim.axes().len() + usize::from(self.is_array)
    }
}

impl fmt::Display for ImageType {
    /// Spells the type as WGSL does: `texture_2d<f32>`, `texture_storage_3d<rgba8unorm>`; a buffer of texels, which WGSL
    /// has not, as `texel_buffer<f32>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_axes = self.dim.axes().len();
        let kind = match (self.dim, self.role) {
            (ImageDim::Buffer, _) => "texel_buffer".to_owned(),
            (_, ImageRole::Storage) => format!("texture_storage_{n_axes}d"),
            (_, ImageRole::Sampled | ImageRole::Combined) => format!("texture_{n_axes}d"),
        };
        let layers = if self.is_array { "_array" } else { "" };
        let texel = self.format.map_or_else(|| self.scalar.to_string(), |format| format.to_string());
        f.pad(&format!("{kind}{layers}<{texel}>"))
    }
}

macro_rules! formats {
    ($($name:ident $text:literal $number:literal $dtype:ident $channels:literal $scalar:ident $spirv:ident;)*) => {
        /// The format of an image's texels.
        ///
        /// ```
        /// use vkarray_spirv::{DType, TexelFormat};
        ///
        /// let format = TexelFormat::of_array(DType::U8, 4, DType::F32);
        /// assert_eq!(format, Some(TexelFormat::Rgba8Unorm)); // The shader sees 0 to 1.
        /// assert_eq!(TexelFormat::of_array(DType::U8, 4, DType::U32), Some(TexelFormat::Rgba8Uint));
        /// assert_eq!(TexelFormat::of_array(DType::U8, 3, DType::F32), None);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "the names are WGSL's, and say channels, bits and encoding")]
        #[non_exhaustive]
        pub enum TexelFormat {
            $($name,)*
        }

        impl TexelFormat {
            const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name in WGSL.
            fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Its number in Vulkan (`VkFormat`).
            pub fn number(self) -> i32 {
                match self { $(Self::$name => $number),* }
            }

            /// The type of the numbers that the host stores for a texel.
            pub fn dtype(self) -> DType {
                match self { $(Self::$name => DType::$dtype),* }
            }

            /// How many numbers the host stores for a texel.
            pub fn channels(self) -> u8 {
                match self { $(Self::$name => $channels),* }
            }

            /// The type of the numbers that a shader sees.
            pub fn scalar(self) -> DType {
                match self { $(Self::$name => DType::$scalar),* }
            }

            /// The format that SPIR-V gives a number; `None` for the unknown one, and for those that no array has.
            pub(crate) fn of_spirv(number: u32) -> Option<Self> {
                match ImageFormat::from_u32(number)? {
                    $(ImageFormat::$spirv => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

// Name, WGSL's name, `VkFormat`, what the host stores, how many of it, what the shader sees, SPIR-V's name.
formats! {
    R8Unorm "r8unorm" 9 U8 1 F32 R8;
    R8Snorm "r8snorm" 10 I8 1 F32 R8Snorm;
    R8Uint "r8uint" 13 U8 1 U32 R8ui;
    R8Sint "r8sint" 14 I8 1 I32 R8i;
    Rg8Unorm "rg8unorm" 16 U8 2 F32 Rg8;
    Rg8Snorm "rg8snorm" 17 I8 2 F32 Rg8Snorm;
    Rg8Uint "rg8uint" 20 U8 2 U32 Rg8ui;
    Rg8Sint "rg8sint" 21 I8 2 I32 Rg8i;
    Rgba8Unorm "rgba8unorm" 37 U8 4 F32 Rgba8;
    Rgba8Snorm "rgba8snorm" 38 I8 4 F32 Rgba8Snorm;
    Rgba8Uint "rgba8uint" 41 U8 4 U32 Rgba8ui;
    Rgba8Sint "rgba8sint" 42 I8 4 I32 Rgba8i;
    R16Unorm "r16unorm" 70 U16 1 F32 R16;
    R16Snorm "r16snorm" 71 I16 1 F32 R16Snorm;
    R16Uint "r16uint" 74 U16 1 U32 R16ui;
    R16Sint "r16sint" 75 I16 1 I32 R16i;
    R16Float "r16float" 76 F16 1 F32 R16f;
    Rg16Unorm "rg16unorm" 77 U16 2 F32 Rg16;
    Rg16Snorm "rg16snorm" 78 I16 2 F32 Rg16Snorm;
    Rg16Uint "rg16uint" 81 U16 2 U32 Rg16ui;
    Rg16Sint "rg16sint" 82 I16 2 I32 Rg16i;
    Rg16Float "rg16float" 83 F16 2 F32 Rg16f;
    Rgba16Unorm "rgba16unorm" 91 U16 4 F32 Rgba16;
    Rgba16Snorm "rgba16snorm" 92 I16 4 F32 Rgba16Snorm;
    Rgba16Uint "rgba16uint" 95 U16 4 U32 Rgba16ui;
    Rgba16Sint "rgba16sint" 96 I16 4 I32 Rgba16i;
    Rgba16Float "rgba16float" 97 F16 4 F32 Rgba16f;
    R32Uint "r32uint" 98 U32 1 U32 R32ui;
    R32Sint "r32sint" 99 I32 1 I32 R32i;
    R32Float "r32float" 100 F32 1 F32 R32f;
    Rg32Uint "rg32uint" 101 U32 2 U32 Rg32ui;
    Rg32Sint "rg32sint" 102 I32 2 I32 Rg32i;
    Rg32Float "rg32float" 103 F32 2 F32 Rg32f;
    Rgba32Uint "rgba32uint" 107 U32 4 U32 Rgba32ui;
    Rgba32Sint "rgba32sint" 108 I32 4 I32 Rgba32i;
    Rgba32Float "rgba32float" 109 F32 4 F32 Rgba32f;
    Rgb10a2Unorm "rgb10a2unorm" 64 U32 1 F32 Rgb10A2;
    Rgb10a2Uint "rgb10a2uint" 68 U32 1 U32 Rgb10a2ui;
    Rg11b10Ufloat "rg11b10ufloat" 122 U32 1 F32 R11fG11fB10f;
}

impl TexelFormat {
    /// The format of that name in WGSL.
    #[doc(hidden)]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The format for texels of so many numbers of the host, which the shader sees as `scalar`; `None` if there is none.
    pub fn of_array(dtype: DType, channels: usize, scalar: DType) -> Option<Self> {
        let is_it = |format: &Self| {
            let texel = (format.dtype(), format.channels().into(), format.scalar());
            texel == (dtype, channels, scalar) && !format.is_packed()
        };
        Self::ALL.iter().copied().find(is_it)
    }

    /// Whether several numbers of a texel share one number of the host.
    const fn is_packed(self) -> bool {
        matches!(self, Self::Rgb10a2Unorm | Self::Rgb10a2Uint | Self::Rg11b10Ufloat)
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        u32::from(self.channels()) * self.dtype().itemsize()
    }
}

impl fmt::Display for TexelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_formats_and_agrees_with_itself() {
        for (index, &format) in TexelFormat::ALL.iter().enumerate() {
            let name = format.name();
            assert_eq!((format as usize, TexelFormat::named(name)), (index, Some(format)), "{name}");
            assert_eq!(format!("{format:?}").to_lowercase(), name);
            let found = TexelFormat::of_array(format.dtype(), format.channels().into(), format.scalar());
            assert_eq!(found == Some(format), !format.is_packed(), "{name}");
            let bits = match (name.contains("10"), format.dtype()) {
                (true, _) => continue,
                (false, dtype) => dtype.itemsize() * 8,
            };
            assert!(name.contains(&bits.to_string()), "{name} of {bits} bits");
            let encoding =
                if format.scalar() == DType::F32 { ["unorm", "snorm", "float"] } else { ["uint", "sint", "int"] };
            assert!(encoding.iter().any(|encoding| name.ends_with(encoding)), "{name}");
        }
    }

    #[test]
    fn an_array_has_a_format_if_images_have_its_numbers() {
        use DType::{F16, F32, F64, I8, I32, U8, U16, U32};
        let cases = [
            (F32, 1, F32, Some("r32float")),
            (F16, 4, F32, Some("rgba16float")),
            (U16, 2, F32, Some("rg16unorm")),
            (I8, 1, F32, Some("r8snorm")),
            (I8, 1, I32, Some("r8sint")),
            (U32, 1, U32, Some("r32uint")),
            (U32, 1, F32, None), // No device reads them as floats.
            (I32, 1, U32, None), // The sign would change.
            (F64, 1, F32, None),
            (U8, 3, F32, None),
        ];
        for (dtype, channels, scalar, name) in cases {
            let format = TexelFormat::of_array(dtype, channels, scalar);
            assert_eq!(format.map(|format| format.to_string()).as_deref(), name, "{channels} of {dtype} as {scalar}");
        }
    }

    #[test]
    fn types_are_spelled_as_in_wgsl() {
        let ty = |role, dim, is_array, format: Option<TexelFormat>| {
            let scalar = format.map_or(DType::U32, TexelFormat::scalar);
            ImageType { role, dim, is_array, scalar, format }
        };
        let cases = [
            (ty(ImageRole::Sampled, ImageDim::D1, false, None), "texture_1d<u32>", "(width[, channels])"),
            (
                ty(ImageRole::Storage, ImageDim::D2, true, Some(TexelFormat::Rgba8Unorm)),
                "texture_storage_2d_array<rgba8unorm>",
                "(layers, height, width, 4)",
            ),
            (
                ty(ImageRole::Storage, ImageDim::D3, false, Some(TexelFormat::R32Float)),
                "texture_storage_3d<r32float>",
                "(depth, height, width[, 1])",
            ),
            (ty(ImageRole::Storage, ImageDim::Buffer, false, None), "texel_buffer<u32>", "(width[, channels])"),
        ];
        for (ty, text, axes) in cases {
            assert_eq!((ty.to_string().as_str(), ty.axes().as_str()), (text, axes));
        }
    }
}
