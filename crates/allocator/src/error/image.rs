//! [`ImageProblem`]: why a device does not have an image.

use std::fmt;

/// Why a device does not have an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageProblem {
    /// The format is not for this use.
    Format,
    /// More texels on an axis, or more layers, than the device has: what was asked for, and the most that it has.
    Size {
        /// Texels on x, y and z, and layers.
        given: [u32; 4],
        /// The most of each.
        limit: [u32; 4],
    },
    /// More texels than a buffer of them may have.
    Texels {
        /// Texels.
        given: u64,
        /// The most.
        limit: u64,
    },
}

impl fmt::Display for ImageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => f.write_str("it does not have the format for this use"),
            Self::Size { given: [x, y, z, layers], limit: [max_x, max_y, max_z, max_layers] } => write!(
                f,
                "{x}×{y}×{z} texels and {layers} layers, it has at most {max_x}×{max_y}×{max_z} and {max_layers}"
            ),
            Self::Texels { given, limit } => write!(f, "{given} texels, a buffer of them has at most {limit}"),
        }
    }
}
