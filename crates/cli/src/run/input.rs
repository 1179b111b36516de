//! Where an array argument comes from. Type and shape are known at once, elements only after [`Input::load`]: so every
//! check is made before memory is spent, and arrays go to the device one at a time.
//!
//! The text is read in `value.rs`, files in `crate::array`, descriptions in `generate.rs`.

use vkarray::DType;

use super::generate::Generated;
use crate::array::npy::NpyFile;
use crate::array::picture::Picture;
use crate::array::{HostArray, nbytes};
use crate::error::Result;

/// An array that can be loaded.
#[derive(Debug)]
pub(crate) enum Input {
    /// From a `.npy` file.
    Npy(NpyFile),
    /// From an image.
    Picture(Picture),
    /// By description.
    Generated(Generated),
}

impl Input {
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::Npy(file) => file.dtype,
            Self::Picture(_) => DType::F32,
            Self::Generated(generated) => generated.dtype,
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Npy(file) => &file.shape,
            Self::Picture(picture) => &picture.shape,
            Self::Generated(generated) => &generated.shape,
        }
    }

    /// Size in bytes, in C order without gaps.
    pub(crate) fn nbytes(&self) -> u64 {
        nbytes(self.shape(), self.dtype()).expect("each kind of input has checked its shape") as u64
    }

    /// Reads or makes the elements.
    ///
    /// # Errors
    ///
    /// What the file or the memory has to say; shape and type were checked before.
    pub(crate) fn load(&self) -> Result<HostArray> {
        match self {
            Self::Npy(file) => file.read(),
            Self::Picture(picture) => picture.read(),
            Self::Generated(generated) => generated.make(),
        }
    }
}
