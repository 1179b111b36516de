//! `.npy` files: one array, of any element type, in either byte order and in C or F order.
//!
//! Elements are plain bytes, so all types are read and written alike; only the byte order and truth values need a look
//! at them. The header is `header.rs`; the same elements inside an archive are read by `npz.rs`.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn, ShapeBuilder};
use vkarray_kernel::{Bool, ByteOrder, DType, Element};

use super::error::FileError;
use super::header::{MAX_HEADER_BYTES, NpyHeader, header_for};
use crate::layout::Order;

/// Elements read at a time where the length is only a claim.
const STEP: usize = 1 << 20;

type Result<T> = std::result::Result<T, FileError>;

/// A `.npy` file whose header is known to be true of its length.
#[derive(Debug, Clone)]
pub struct NpyFile {
    path: PathBuf,
    header: NpyHeader,
}

impl NpyFile {
    /// Reads the header, and checks that the file is as long as the header says.
    ///
    /// # Errors
    ///
    /// [`FileError::Read`], [`FileError::NotAFile`]; what is wrong with the header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let name = path.display().to_string();
        let read_error = |source| FileError::Read { name: name.clone(), source };
        let file = File::open(&path).map_err(read_error)?;
        let metadata = file.metadata().map_err(read_error)?;
        if !metadata.is_file() {
            return Err(FileError::NotAFile { name });
        }
        let mut start = Vec::new();
        file.take(MAX_HEADER_BYTES as u64 + 1).read_to_end(&mut start).map_err(read_error)?;
        let header = NpyHeader::parse(&name, &start, metadata.len())?;
        Ok(Self { path, header })
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds.
    #[must_use]
    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// Reads the elements, in the order the file has them.
    ///
    /// # Errors
    ///
    /// [`FileError::OtherDType`]; [`FileError::Read`], [`FileError::Elements`] if the file has changed since it was
    /// opened; [`FileError::TruthValue`]; [`FileError::HostMemory`].
    pub fn read<T: Element>(&self) -> Result<ArrayD<T>> {
        let name = self.path.display().to_string();
        self.header.check_dtype::<T>(&name)?;
        let read_error = |source| FileError::Read { name: name.clone(), source };
        let mut file = File::open(&self.path).map_err(read_error)?;
        file.seek(SeekFrom::Start(self.header.end)).map_err(read_error)?;
        read_elements(&name, &self.header, BufReader::new(file), self.header.size())
    }
}

/// Reads the elements after a header, and makes sure that nothing follows them.
///
/// `n_reserved` is how many are known to come; memory for more is taken only as they do.
pub(super) fn read_elements<T: Element>(
    name: &str,
    header: &NpyHeader,
    mut reader: impl Read,
    n_reserved: usize,
) -> Result<ArrayD<T>> {
    let elements_error = |source| FileError::Elements { name: name.to_owned(), source };
    let mut values: Vec<T> = Vec::new();
    let n_elements = header.size();
    let no_memory = |source| FileError::HostMemory { name: name.to_owned(), bytes: header.nbytes(), source };
    values.try_reserve_exact(n_reserved).map_err(no_memory)?;
    while values.len() < n_elements {
        let n_read = values.len();
        let n_next = STEP.min(n_elements - n_read);
        values.try_reserve(n_next).map_err(no_memory)?;
        values.resize(n_read + n_next, T::zeroed());
        reader.read_exact(bytemuck::cast_slice_mut(&mut values[n_read..])).map_err(elements_error)?;
    }
    if reader.read(&mut [0]).map_err(elements_error)? != 0 {
        return Err(elements_error(ErrorKind::InvalidData.into()));
    }
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
    if header.dtype == DType::Bool
        && let Some((index, &byte)) = bytes.iter().enumerate().find(|&(_, &byte)| byte > 1)
    {
        return Err(FileError::TruthValue { name: name.to_owned(), index, byte });
    }
    if header.byte_order != ByteOrder::NATIVE {
        bytes.chunks_exact_mut(header.dtype.swapped_bytes()).for_each(<[u8]>::reverse);
    }
    let shape = IxDyn(&header.shape).set_f(header.order == Order::F);
    Ok(ArrayD::from_shape_vec(shape, values).expect("as many elements as the shape has"))
}

/// Writes an array as a `.npy` file, in this machine's byte order: in F order if it is F-contiguous and not
/// C-contiguous, else in C order, as NumPy does.
///
/// Brain floats are written as two opaque bytes, since NumPy has no type for them.
///
/// # Errors
///
/// [`FileError::WriteHeader`], [`FileError::WriteElements`].
pub fn write_npy<T, S, D>(mut writer: impl Write, array: &ArrayBase<S, D>) -> Result<()>
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
{
    let is_f_order = !array.is_standard_layout() && array.t().is_standard_layout();
    let order = if is_f_order { Order::F } else { Order::C };
    let header = header_for::<T>(array.shape(), order);
    writer.write_all(&header).map_err(|source| FileError::WriteHeader { source })?;
    let turned = if is_f_order { array.t() } else { array.view() };
    let packed = turned.as_standard_layout();
    let bytes: &[u8] = bytemuck::cast_slice(packed.as_slice().expect("it is in standard layout"));
    let written = if DType::of::<T>() == DType::Bool {
        // Whatever is true is 1 in a file.
        let bytes: Vec<u8> = bytes.iter().map(|&byte| u8::from(bool::from(bytemuck::cast::<u8, Bool>(byte)))).collect();
        writer.write_all(&bytes)
    } else {
        writer.write_all(bytes)
    };
    written.map_err(|source| FileError::WriteElements { source })
}

#[cfg(test)]
mod tests;
