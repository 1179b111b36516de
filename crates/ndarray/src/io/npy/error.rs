//! [`FileError`]: why a file of arrays cannot be read or written.
//!
//! Each message begins with the file's name; an array in an archive is named `archive.npz: array`.

use std::collections::TryReserveError;
use std::io;

use ndarray_npy::npy::header::ReadHeaderError;
use vkarray_kernel::{DType, Names};
use zip::result::ZipError;

use crate::layout::{LayoutError, tuple};

/// Why a file of arrays cannot be read or written. `name` is the file's path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum FileError {
    /// The system refuses to open or read it.
    #[error("cannot read {name}")]
    Read { name: String, source: io::Error },
    /// A folder, a pipe, a device.
    #[error("{name} is not a regular file")]
    NotAFile { name: String },
    /// Another kind of file.
    #[error("{name} is not a .npy file: it does not begin as one")]
    Magic { name: String },
    /// A header longer than any honest one.
    #[error("{name}: the .npy header claims {bytes} bytes, more than the {limit} that are read")]
    HeaderSize { name: String, bytes: u64, limit: usize },
    /// A header that is cut short.
    #[error("{name}: the .npy header should end at byte {expected}, but the file has only {found}")]
    HeaderLength { name: String, expected: u64, found: usize },
    /// A header so nested that reading it would take more stack than there is.
    #[error("{name}: the .npy header has {n_brackets} brackets, more than the {limit} that are read")]
    HeaderNesting { name: String, n_brackets: usize, limit: usize },
    /// A header that is no dictionary of type, order and shape.
    #[error("{name}: the .npy header is damaged")]
    Header { name: String, source: Box<ReadHeaderError> },
    /// Elements that no array here has: strings, dates, structs with named fields.
    #[error(
        "{name}: elements of type {descriptor} cannot be read; expected bool, an integer, a float of 16 to 64 bits, a \
         complex number or bytes without fields"
    )]
    DType { name: String, descriptor: String },
    /// A shape that cannot be.
    #[error("{name}: the .npy header claims an array that cannot be")]
    Shape { name: String, source: LayoutError },
    /// A header that does not fit the file's length.
    #[error(
        "{name}: the .npy header claims {dtype} of shape {}, which is {expected} bytes, but {found} bytes follow it",
        tuple(shape)
    )]
    Length { name: String, dtype: DType, shape: Vec<usize>, expected: u64, found: u64 },
    /// Other elements than asked for. Nothing is converted.
    #[error("{name} holds {found}, not {wanted}")]
    OtherDType { name: String, found: DType, wanted: DType },
    /// The elements end early or cannot be unpacked.
    #[error("{name}: the elements are damaged")]
    Elements { name: String, source: io::Error },
    /// A truth value that is neither.
    #[error("{name}: element {index} is the byte {byte}, which is no truth value")]
    TruthValue { name: String, index: usize, byte: u8 },
    /// More elements than the host has memory for.
    #[error("{name}: out of host memory for {bytes} bytes")]
    HostMemory { name: String, bytes: u64, source: TryReserveError },
    /// No archive, or a damaged one.
    #[error("{name}: the .npz archive is damaged or of another kind")]
    Archive { name: String, source: Box<ZipError> },
    /// No array of that name in the archive.
    #[error("{name} holds no array `{array}`; it holds {found}")]
    NoArray { name: String, array: String, found: Names },
    /// The system refuses to make or finish the file.
    #[error("cannot write {name}")]
    Create { name: String, source: io::Error },
    /// A header that cannot be written.
    #[error("cannot write the .npy header")]
    WriteHeader { source: io::Error },
    /// Elements that cannot be written.
    #[error("cannot write the elements")]
    WriteElements { source: io::Error },
    /// An array that the archive does not take.
    #[error("cannot add `{array}` to the .npz archive")]
    Add { array: String, source: Box<ZipError> },
    /// An archive that cannot be finished.
    #[error("cannot finish the .npz archive")]
    Finish { source: Box<ZipError> },
}

impl FileError {
    /// Whether a file that was read is to blame, and not the system that reads or writes it.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(
            self,
            Self::HostMemory { .. }
                | Self::Create { .. }
                | Self::WriteHeader { .. }
                | Self::WriteElements { .. }
                | Self::Add { .. }
                | Self::Finish { .. }
        )
    }
}
