//! Arrays in files: NumPy's `.npy`, one array, and `.npz`, an archive of them.
//!
//! Nothing a file says of itself is believed before it has been held against the file's real length. Headers are
//! `file/header.rs`, elements and whole files `file/npy.rs`, archives `file/npz.rs`. What is read is a host array; what
//! goes to a device and comes from it is here.

mod error;
mod file;
mod header;
mod npz;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use vkarray_kernel::Element;

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;

pub use error::FileError;
pub use file::{NpyFile, write_npy};
pub use header::NpyHeader;
pub use npz::{NpzFile, NpzWriter};

impl Context {
    /// Reads a `.npy` file into a new array on the device, on the default stream. C and F order are kept.
    ///
    /// # Errors
    ///
    /// [`Error::File`](crate::Error::File) if the file is damaged, lies of its length or holds other elements; else as
    /// [`Context::to_device`].
    pub fn load_npy<T: Element>(&self, path: impl AsRef<Path>) -> Result<DeviceNDArray<T>> {
        self.to_device(&NpyFile::open(path)?.read::<T>()?)
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// Writes the array to a `.npy` file, which is replaced if it exists. Blocks until it is written.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_to_host`], and then the file is as it was; [`Error::File`](crate::Error::File) if it
    /// cannot be written, and then it may be cut short.
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, host) = (path.as_ref(), self.copy_to_host()?);
        let failed = |source| FileError::Create { name: path.display().to_string(), source };
        let mut writer = BufWriter::new(File::create(path).map_err(failed)?);
        write_npy(&mut writer, &host)?;
        Ok(writer.flush().map_err(failed)?)
    }
}
