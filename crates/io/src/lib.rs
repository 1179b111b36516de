//! Arrays in files: NumPy's `.npy`, a file of one array, and `.npz`, an archive of several.
//!
//! **Is:** files that are read to host arrays and written from host arrays. What a header claims is compared with the real
//! length of the file before memory is allocated for the elements. **Is not:** arrays of a device, which
//! `vkarray-ndarray` reads and writes through this crate; and not a line of `unsafe`.
//!
//! | file | what it has |
//! |---|---|
//! | `error.rs` | why a file cannot be read or written |
//! | `header.rs` | headers |
//! | `file.rs` | elements and whole files |
//! | `part.rs` | boxes of files |
//! | `npz.rs` | archives |
//!
//! **Start** at [`NpyFile`] and [`write_npy`].
#![forbid(unsafe_code)]

mod error;
mod file;
mod header;
mod npz;
mod part;

pub use error::FileError;
pub use file::{NpyFile, write_npy};
pub use header::NpyHeader;
pub use npz::{NpzFile, NpzWriter};
