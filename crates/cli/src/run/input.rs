//! [`Input`]: the source of an array argument. Its type and shape are known at once, its elements after [`Input::load`].
//! So everything is checked before memory is allocated, and only one array at a time is in host memory.
//!
//! `value.rs` parses the text, `array/` reads images, `generate.rs` makes arrays from descriptions.

use std::path::Path;

use vkarray::DType;
use vkarray::io::NpyFile;

use super::generate::Generated;
use crate::array::picture::Picture;
use crate::array::{HostArray, nbytes, with_type};
use crate::error::{Error, Result};

/// An array that can be loaded.
#[derive(Debug)]
pub(crate) enum Input {
    /// From a `.npy` file.
    Npy(NpyFile),
    /// From an image.
    Picture(Picture),
    /// From a description.
    Generated(Generated),
}

impl Input {
    /// Opens a `.npy` file, and checks that its elements are of a type that arguments have.
    ///
    /// # Errors
    ///
    /// [`Error::File`], [`Error::NpyDType`].
    pub(crate) fn npy(path: &Path) -> Result<Self> {
        let file = NpyFile::open(path)?;
        let dtype = file.header().dtype();
        match with_type!(dtype, T => size_of::<T>()) {
            Some(_) => Ok(Self::Npy(file)),
            None => Err(Error::NpyDType { path: path.to_owned(), dtype }),
        }
    }

    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::Npy(file) => file.header().dtype(),
            Self::Picture(_) => DType::F32,
            Self::Generated(generated) => generated.dtype,
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Npy(file) => file.header().shape(),
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
    /// Those of reading the file, and [`Error::HostMemory`]. Shape and type were checked before.
    pub(crate) fn load(&self) -> Result<HostArray> {
        match self {
            Self::Npy(file) => with_type!(self.dtype(), T => Ok(HostArray::new(file.read::<T>()?)))
                .expect("`npy` accepts no other types"),
            Self::Picture(picture) => picture.read(),
            Self::Generated(generated) => generated.make(),
        }
    }
}

#[cfg(test)]
mod tests;
