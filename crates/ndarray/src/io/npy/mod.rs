//! Arrays in files: NumPy's `.npy`, a file of one array, and `.npz`, an archive of several.
//!
//! What a header claims is compared with the real length of the file before any memory is allocated for it. Files are read
//! to host arrays and written from them: headers in `header.rs`, elements and whole files in `file.rs`, archives in
//! `npz.rs`. Here are the two methods that read to a device and write from it.

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
    /// [`Error::File`](crate::Error::File) if the file is damaged, has another length than its header claims, or holds elements of another type; otherwise as
    /// [`Context::to_device`].
    pub fn load_npy<T: Element>(&self, path: impl AsRef<Path>) -> Result<DeviceNDArray<T>> {
        self.to_device(&NpyFile::open(path)?.read::<T>()?)
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// Writes the array to a `.npy` file, which is replaced if it exists. Blocks until the file is written.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceNDArray::copy_to_host`], which leave an existing file unchanged; [`Error::File`](crate::Error::File)
    /// if writing fails, after which the file may be incomplete.
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, host) = (path.as_ref(), self.copy_to_host()?);
        let failed = |reason| FileError::Create { name: path.display().to_string(), reason };
        let mut writer = BufWriter::new(File::create(path).map_err(failed)?);
        write_npy(&mut writer, &host)?;
        Ok(writer.flush().map_err(failed)?)
    }
}
