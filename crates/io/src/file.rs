//! `.npy` files: one array of any element type, in either byte order and in C or F order.
//!
//! Elements of every type are read and written as bytes. Only swapping their byte order and checking values of `bool`
//! look at them. The header is in `header.rs`; `part.rs` reads and writes boxes of a file, `npz.rs` reads the same
//! format inside an archive.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::iter;
use std::path::{Path, PathBuf};

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn, ShapeBuilder};
use vkarray_layout::Order;
use vkarray_shader::{Bool, ByteOrder, DType, Element};

use crate::error::{FileError, Result};
use crate::header::{MAX_HEADER_BYTES, NpyHeader, header_for};

/// The number of elements for which memory is allocated at a time, while elements arrive.
const STEP: usize = 1 << 20;

/// A `.npy` file whose length is the length that its header requires.
///
/// ```
/// use vkarray_io::{NpyFile, write_npy};
/// use vkarray_shader::DType;
/// use ndarray::arr2;
///
/// let path = std::env::temp_dir().join(format!("vkarray-{}-file.npy", std::process::id()));
/// write_npy(std::fs::File::create(&path)?, &arr2(&[[1.0_f32, 2.0, 3.0]]))?;
/// let file = NpyFile::open(&path)?;
/// assert_eq!((file.header().dtype(), file.header().shape()), (DType::F32, &[1, 3][..]));
/// assert_eq!(file.read::<f32>()?[[0, 2]], 3.0);
/// assert!(file.read::<f64>().is_err()); // Nothing is converted.
/// # std::fs::remove_file(&path)?;
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct NpyFile {
    pub(crate) path: PathBuf,
    pub(crate) header: NpyHeader,
}

impl NpyFile {
    /// Reads the header, and checks that the file has the length that the header requires.
    ///
    /// ```
    /// use vkarray_io::{NpyFile, write_npy};
    /// use ndarray::arr1;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-open.npy", std::process::id()));
    /// write_npy(std::fs::File::create(&path)?, &arr1(&[1.0_f32, 2.0]))?;
    /// assert!(NpyFile::open(&path).is_ok());
    /// assert!(NpyFile::open("no such file").is_err());
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileError::Read`] or [`FileError::NotAFile`] if the file cannot be read; [`FileError::Magic`],
    /// [`FileError::Header`] and the other variants of [`FileError`] about headers, for a header that is damaged or
    /// does not match the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let name = path.display().to_string();
        let read_error = |reason| FileError::Read { name: name.clone(), reason };
        let (file, len) = open_file(&path, &name)?;
        let mut start = Vec::new();
        file.take(MAX_HEADER_BYTES as u64 + 1).read_to_end(&mut start).map_err(read_error)?;
        let header = NpyHeader::parse(&name, &start, len)?;
        Ok(Self { path, header })
    }

    /// The file's path.
    ///
    /// ```
    /// use vkarray_io::{NpyFile, write_npy};
    /// use ndarray::arr1;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-path.npy", std::process::id()));
    /// write_npy(std::fs::File::create(&path)?, &arr1(&[1.0_f32, 2.0]))?;
    /// assert_eq!(NpyFile::open(&path)?.path(), path);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The element type, shape and order of the array.
    ///
    /// ```
    /// use vkarray_io::{NpyFile, write_npy};
    /// use ndarray::arr1;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-header.npy", std::process::id()));
    /// write_npy(std::fs::File::create(&path)?, &arr1(&[1.0_f32, 2.0]))?;
    /// assert_eq!(NpyFile::open(&path)?.header().shape(), [2]);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// Reads the elements. The host array has the order of the file, C or F.
    ///
    /// ```
    /// use vkarray_io::{NpyFile, write_npy};
    /// use ndarray::arr1;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-read.npy", std::process::id()));
    /// write_npy(std::fs::File::create(&path)?, &arr1(&[1.0_f32, 2.0]))?;
    /// assert_eq!(NpyFile::open(&path)?.read::<f32>()?.sum(), 3.0);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileError::OtherDType`]; [`FileError::Read`], [`FileError::Elements`] if the file has changed since it was
    /// opened; [`FileError::TruthValue`]; [`FileError::HostMemory`].
    pub fn read<T: Element>(&self) -> Result<ArrayD<T>> {
        let name = self.path.display().to_string();
        self.header.check_dtype::<T>(&name)?;
        let read_error = |reason| FileError::Read { name: name.clone(), reason };
        let (mut file, _) = open_file(&self.path, &name)?;
        file.seek(SeekFrom::Start(self.header.end)).map_err(read_error)?;
        read_elements(&name, &self.header, BufReader::new(file), self.header.size())
    }
}

/// Opens a regular file, and returns its length. A pipe is refused before it is opened, because opening it would wait
/// for its writer.
pub(crate) fn open_file(path: &Path, name: &str) -> Result<(File, u64)> {
    let read_error = |reason| FileError::Read { name: name.to_owned(), reason };
    if !fs::metadata(path).map_err(read_error)?.is_file() {
        return Err(FileError::NotAFile { name: name.to_owned() });
    }
    let file = File::open(path).map_err(read_error)?;
    let len = file.metadata().map_err(read_error)?.len();
    Ok((file, len))
}

/// Reads the elements after a header, and checks that nothing follows them.
///
/// Memory for `n_reserved` elements is allocated at once, and memory for more elements only while they arrive.
pub(crate) fn read_elements<T: Element>(
    name: &str,
    header: &NpyHeader,
    mut reader: impl Read,
    n_reserved: usize,
) -> Result<ArrayD<T>> {
    let elements_error = |reason| FileError::Elements { name: name.to_owned(), reason };
    let mut values: Vec<T> = Vec::new();
    let n_elements = header.size();
    let no_memory = |_| FileError::HostMemory { name: name.to_owned(), bytes: header.nbytes() };
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
    decoded(name, header, &header.shape, values)
}

/// The array of elements as they were read: their bytes are checked, and brought to this machine's byte order.
pub(crate) fn decoded<T: Element>(
    name: &str,
    header: &NpyHeader,
    shape: &[usize],
    mut values: Vec<T>,
) -> Result<ArrayD<T>> {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
    if header.dtype == DType::Bool
        && let Some((index, &byte)) = bytes.iter().enumerate().find(|&(_, &byte)| byte > 1)
    {
        return Err(FileError::TruthValue { name: name.to_owned(), index, byte });
    }
    swap(header, bytes);
    let shape = IxDyn(shape).set_f(header.order == Order::F);
    Ok(ArrayD::from_shape_vec(shape, values).expect("there are as many elements as the shape has"))
}

/// Converts elements from the byte order of the file to this machine's, or back.
pub(crate) fn swap(header: &NpyHeader, bytes: &mut [u8]) {
    if header.byte_order != ByteOrder::NATIVE {
        bytes.chunks_exact_mut(header.dtype.swapped_bytes()).for_each(<[u8]>::reverse);
    }
}

/// Writes a host array in the `.npy` format, in this machine's byte order. As in NumPy, an array that is F-contiguous
/// and not C-contiguous is written in F order, and any other array in C order.
///
/// `bf16` is written as two opaque bytes, because NumPy has no type for it.
///
/// ```
/// use vkarray_io::write_npy;
/// use ndarray::arr1;
///
/// let mut bytes = Vec::new();
/// write_npy(&mut bytes, &arr1(&[1_u8, 2, 3]))?;
/// assert!(bytes.starts_with(b"\x93NUMPY") && bytes.ends_with(&[1, 2, 3]));
/// # anyhow::Ok(())
/// ```
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
    writer.write_all(&header).map_err(|reason| FileError::WriteHeader { reason })?;
    let oriented = if is_f_order { array.t() } else { array.view() };
    let written = match oriented.as_slice() {
        Some(values) => values.chunks(STEP).try_for_each(|values| write_elements(&mut writer, values)),
        None => {
            // An array that repeats its elements may have more elements than the host has memory for.
            let mut elements = oriented.iter().copied();
            iter::repeat_with(|| elements.by_ref().take(STEP).collect::<Vec<T>>())
                .take_while(|values| !values.is_empty())
                .try_for_each(|values| write_elements(&mut writer, &values))
        }
    };
    written.map_err(|reason| FileError::WriteElements { reason })
}

pub(crate) fn write_elements<T: Element>(writer: &mut impl Write, values: &[T]) -> std::io::Result<()> {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    if DType::of::<T>() != DType::Bool {
        return writer.write_all(bytes);
    }
    // A `bool` whose byte is not 0 is true, and is written as 1.
    let bytes: Vec<u8> = bytes.iter().map(|&byte| u8::from(bool::from(bytemuck::cast::<u8, Bool>(byte)))).collect();
    writer.write_all(&bytes)
}

#[cfg(test)]
mod tests;
