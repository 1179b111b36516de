//! Files: NumPy's `.npy`, one array, and `.npz`, an archive of arrays.
//!
//! [`Context::load_npy`](crate::Context::load_npy) and [`DeviceNDArray::save_npy`](crate::DeviceNDArray::save_npy) read into
//! and write from device arrays. The types here read headers and archives, and into host arrays.
//!
//! ```
//! use vkarray::io::NpyFile;
//! use vkarray::prelude::*;
//!
//! # fn main() -> anyhow::Result<()> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("squares.npy");
//! let ctx = Context::open_default()?;
//! ctx.slice_to_device(&[1.0_f32, 4.0, 9.0])?.save_npy(&path)?;
//! assert_eq!(NpyFile::open(&path)?.header().dtype(), DType::F32);
//! assert_eq!(ctx.load_npy::<f32>(&path)?.to_vec()?, [1.0, 4.0, 9.0]);
//! # Ok(())
//! # }
//! ```

pub use vkarray_io::{FileError, NpyFile, NpyHeader, NpzFile, NpzWriter, write_npy};
