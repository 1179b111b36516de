//! [`FileError`]: why a file of arrays cannot be read or written.
//!
//! A message starts with the file's path. An array in an archive is named `archive.npz: array`.

use std::{fmt, io};

use ndarray_npy::npy::header::ReadHeaderError;
use vkarray_layout::{LayoutError, tuple_text};
use vkarray_shader::{DType, Names};
use zip::result::ZipError;

pub(crate) type Result<T> = std::result::Result<T, FileError>;

/// Why a file of arrays cannot be read or written. `name` is the file's path.
///
/// ```
/// use vkarray_io::{FileError, NpyFile};
///
/// let refused = NpyFile::open("no/such.npy").unwrap_err();
/// assert!(matches!(refused, FileError::Read { .. }));
/// # anyhow::Ok(())
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum FileError {
    /// The operating system refuses to open or read the file.
    #[error("cannot read {name}: {reason}")]
    Read { name: String, reason: io::Error },
    /// A folder, a pipe or a device file.
    #[error("{name} is not a regular file")]
    NotAFile { name: String },
    /// The file does not start with the bytes that every `.npy` file starts with.
    #[error("{name} is not a .npy file: it does not start with \"\\x93NUMPY\"")]
    Magic { name: String },
    /// A header that is longer than NumPy reads.
    #[error("{name}: the .npy header claims {bytes} bytes, more than the {limit} that are read")]
    HeaderSize { name: String, bytes: u64, limit: usize },
    /// A file that ends inside its header.
    #[error("{name}: the .npy header should end at byte {expected}, but the file has only {found}")]
    HeaderLength { name: String, expected: u64, found: usize },
    /// A header with so many brackets that parsing it could overflow the stack.
    #[error("{name}: the .npy header has {n_brackets} brackets, more than the {limit} that are read")]
    HeaderNesting { name: String, n_brackets: usize, limit: usize },
    /// A header that is not a dictionary of type, order and shape.
    #[error("{name}: the .npy header is damaged: {reason}")]
    Header { name: String, reason: Box<ReadHeaderError> },
    /// Elements of a type that arrays cannot have: strings, dates, structs with named fields.
    #[error(
        "{name}: elements of type {descriptor} cannot be read; expected bool, an integer, a float of 16 to 64 bits, a \
         complex number or bytes without fields"
    )]
    DType { name: String, descriptor: String },
    /// A shape that is too large, or has too many axes.
    #[error("{name}: the .npy header has an invalid shape: {reason}")]
    Shape { name: String, reason: LayoutError },
    /// A file whose length is not what its header requires.
    #[error(
        "{name}: the .npy header claims {dtype} of shape {}, which is {expected} bytes, but {found} bytes follow it",
        tuple_text(shape)
    )]
    Length { name: String, dtype: DType, shape: Vec<usize>, expected: u64, found: u64 },
    /// Elements of another type than asked for. They are not converted.
    #[error("{name} holds {found}, not {wanted}")]
    OtherDType { name: String, found: DType, wanted: DType },
    /// The elements end early or cannot be decompressed.
    #[error("{name}: the elements are damaged: {reason}")]
    Elements { name: String, reason: io::Error },
    /// A `bool` that is neither 0 nor 1.
    #[error("{name}: element {index} is the byte {byte}, which is not a bool")]
    TruthValue { name: String, index: usize, byte: u8 },
    /// More bytes than can be allocated on the host.
    #[error("{name}: out of host memory for {bytes} bytes")]
    HostMemory { name: String, bytes: u64 },
    /// A box that is not in the array.
    #[error(
        "{name}: a box of shape {} from {} on is not in the array, whose shape is {}",
        tuple_text(shape),
        tuple_text(start),
        tuple_text(whole)
    )]
    Part { name: String, start: Vec<usize>, shape: Vec<usize>, whole: Vec<usize> },
    /// A file that is not an archive, or a damaged archive.
    #[error("{name} is not a .npz archive, or is damaged: {reason}")]
    Archive { name: String, reason: Box<ZipError> },
    /// The archive has no array of that name.
    #[error("{name} has no array `{array}`; it has {found}")]
    NoArray { name: String, array: String, found: Names },
    /// The operating system refuses to create or finish the file.
    #[error("cannot write {name}: {reason}")]
    Create { name: String, reason: io::Error },
    /// The header cannot be written.
    #[error("cannot write the .npy header: {reason}")]
    WriteHeader { reason: io::Error },
    /// The elements cannot be written.
    #[error("cannot write the elements: {reason}")]
    WriteElements { reason: io::Error },
    /// An array cannot be added to the archive.
    #[error("cannot add `{array}` to the .npz archive: {reason}")]
    Add { array: String, reason: Box<ZipError> },
    /// The archive cannot be finished.
    #[error("cannot finish the .npz archive: {reason}")]
    Finish { reason: Box<ZipError> },
}

/// Prints the message, so that a program that ends with the error shows it.
impl fmt::Debug for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FileError {
    /// Whether the cause is the file that was read, and not the system that reads or writes.
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
