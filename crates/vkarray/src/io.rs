//! Files: NumPy's `.npy` and `.npz`.

pub use vkarray_ndarray::{FileError, NpyFile, NpyHeader, NpzFile, NpzWriter, write_npy};
