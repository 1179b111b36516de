//! [`Input`]: the source of an array argument. Its type and shape are known at once, its elements after
//! [`Input::load`]. Everything is therefore checked before memory is allocated, and only one array at a time is in host
//! memory.
//!
//! `value.rs` parses the text, `array/` reads images, `generate.rs` makes arrays from descriptions.

use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};
use vkarray::DType;
use vkarray::io::{NpyFile, NpyHeader, NpzFile};

use super::generate::Generated;
use super::value::{PictureOptions, Value};
use crate::array::picture::Picture;
use crate::array::{HostArray, nbytes, with_type};
use crate::error::{Error, Result};
use crate::stdio;

/// An array that can be loaded.
#[derive(Debug)]
pub(crate) enum Input {
    /// An array of a `.npy` file.
    Npy(NpyFile),
    /// An array of an archive: the archive's path, and the name of the array.
    Npz(PathBuf, String, NpyHeader),
    /// An image.
    Picture(Picture),
    /// An input from standard input, kept in a temporary file.
    Stdin(Box<Input>, TempPath),
    /// An array made from a description.
    Generated(Generated),
}

impl Input {
    /// Opens a file or checks a description. `options` are the options of an image that the value does not give.
    ///
    /// # Errors
    ///
    /// [`Error::File`], [`Error::NpyDType`], [`Error::StdinTwice`], and the errors of [`Picture::open`].
    ///
    /// # Panics
    ///
    /// If the value is a number.
    pub(crate) fn open(value: Value, options: PictureOptions) -> Result<Self> {
        match value {
            Value::Npy(path) => Self::npy(&path),
            Value::Npz(path, array) => {
                let header = NpzFile::open(&path)?.header(&array)?;
                check_dtype(&path, header.dtype())?;
                Ok(Self::Npz(path, array, header))
            }
            Value::Picture(path, own) => Self::picture(&path, own.or(options)),
            Value::Stdin(own) => Self::stdin(own.or(options)),
            Value::Generated(generated) => Ok(Self::Generated(generated)),
            Value::Numbers(_) => unreachable!("numbers are no array"),
        }
    }

    fn picture(path: &Path, options: PictureOptions) -> Result<Self> {
        let picture = Picture::open(path, options.channels)?;
        Ok(Self::Picture(picture.with_dtype(options.dtype.unwrap_or(DType::F32))))
    }

    /// A `.npy` file begins with the format's name; a file that does not is read as an image.
    fn stdin(options: PictureOptions) -> Result<Self> {
        let bytes = stdio::read()?;
        let write_error = |reason| Error::Read { path: "standard input".into(), reason };
        let mut file = NamedTempFile::new().map_err(write_error)?;
        file.write_all(&bytes).map_err(write_error)?;
        let path = file.into_temp_path();
        let is_npy = bytes.starts_with(b"\x93NUMPY");
        let input = if is_npy { Self::npy(&path) } else { Self::picture(&path, options) };
        let input = input.map_err(|reason| of_stdin(&path, reason))?;
        Ok(Self::Stdin(Box::new(input), path))
    }

    /// Opens a `.npy` file, and checks that its elements are of a type that arguments have.
    ///
    /// # Errors
    ///
    /// [`Error::File`], [`Error::NpyDType`].
    pub(crate) fn npy(path: &Path) -> Result<Self> {
        let file = NpyFile::open(path)?;
        check_dtype(path, file.header().dtype())?;
        Ok(Self::Npy(file))
    }

    pub(crate) fn dtype(&self) -> DType {
        self.described().0
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.described().1
    }

    fn described(&self) -> (DType, &[usize]) {
        match self {
            Self::Npy(file) => (file.header().dtype(), file.header().shape()),
            Self::Npz(_, _, header) => (header.dtype(), header.shape()),
            Self::Picture(picture) => (picture.dtype, &picture.shape),
            Self::Stdin(input, _) => input.described(),
            Self::Generated(generated) => (generated.dtype, &generated.shape),
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
    /// [`Error::HostMemory`], and the errors of reading the file. Shape and type were checked before.
    pub(crate) fn load(&self) -> Result<HostArray> {
        match self {
            Self::Npy(file) => with_type!(self.dtype(), T => Ok(HostArray::new(file.read::<T>()?)))
                .expect("`npy` accepts no other types"),
            Self::Npz(path, array, _) => {
                with_type!(self.dtype(), T => Ok(HostArray::new(NpzFile::open(path)?.read::<T>(array)?)))
                    .expect("`open` accepts no other types")
            }
            Self::Stdin(input, path) => input.load().map_err(|reason| of_stdin(path, reason)),
            Self::Picture(picture) => picture.read(),
            Self::Generated(generated) => generated.make(),
        }
    }
}

/// An error about the temporary file, which is not a name that the user knows.
fn of_stdin(file: &Path, reason: Error) -> Error {
    Error::Stdin { file: file.to_owned(), reason: Box::new(reason) }
}

fn check_dtype(path: &Path, dtype: DType) -> Result<()> {
    let known = with_type!(dtype, T => size_of::<T>());
    known.map(|_| ()).ok_or_else(|| Error::NpyDType { path: path.to_owned(), dtype })
}

#[cfg(test)]
mod tests;
