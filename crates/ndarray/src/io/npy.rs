//! Arrays in NumPy's `.npy` files, which `vkarray-io` reads to host arrays and writes from them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use vkarray_io::{FileError, NpyFile, write_npy};
use vkarray_kernel::Element;

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;

impl Context {
    /// Reads a `.npy` file into a new array on the device, on the default stream. C and F order are kept.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-load.npy", std::process::id()));
    /// ctx.arange(0, 6, 1)?.reshape([2, 3])?.save_npy(&path)?;
    /// let x = ctx.load_npy::<i32>(&path)?;
    /// assert_eq!((x.shape(), x.to_vec()?), (&[2, 3][..], vec![0, 1, 2, 3, 4, 5]));
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::File`](crate::Error::File) if the file is damaged, has another length than its header claims, or holds
    /// elements of another type; and the errors of [`Context::to_device`].
    pub fn load_npy<T: Element>(&self, path: impl AsRef<Path>) -> Result<DeviceNDArray<T>> {
        self.to_device(&NpyFile::open(path)?.read::<T>()?)
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// Writes the array to a `.npy` file, which is replaced if it exists. Blocks until the file is written.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-save.npy", std::process::id()));
    /// ctx.linspace(0.0_f64, 1.0, 5, true)?.save_npy(&path)?;
    /// assert_eq!(ctx.load_npy::<f64>(&path)?.get([4])?, 1.0);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::File`](crate::Error::File) if writing fails, after which the file may be incomplete; and the errors of
    /// [`DeviceNDArray::copy_to_host`], which leave an existing file unchanged.
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, host) = (path.as_ref(), self.copy_to_host()?);
        let failed = |reason| FileError::Create { name: path.display().to_string(), reason };
        let mut writer = BufWriter::new(File::create(path).map_err(failed)?);
        write_npy(&mut writer, &host)?;
        Ok(writer.flush().map_err(failed)?)
    }
}
