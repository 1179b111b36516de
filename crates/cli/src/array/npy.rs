//! `.npy` files: a header that is believed only after it has been held against the length of the file.
//!
//! Parsing, decoding and encoding are `ndarray-npy`'s. What is ours is the order: its reader allocates what the header
//! asks for, so [`NpyFile::open`] checks first, and `f16`, which it does not know, travels as `u16` bits.
//! Images are in `picture.rs`.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use half::f16;
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use ndarray_npy::npy::header::{Header, Layout};
use ndarray_npy::{ReadDataError, ReadableElement, WriteNpyError, WriteNpyExt};
use py_literal::Value as PyValue;

use super::{HostArray, HostElement, nbytes, with_array, with_type};
use crate::error::{Error, Result};
use vkarray::DType;
use vkarray_kernel::Bool;

/// Longest header that is read, the bound NumPy itself has.
const MAX_HEADER_BYTES: usize = 10_000;
/// Most brackets in a header: the parser recurses, and a plain array needs two.
const MAX_BRACKETS: usize = 16;

/// A `.npy` file whose header is known to be true of its length.
#[derive(Debug, Clone)]
pub(crate) struct NpyFile {
    pub(crate) path: PathBuf,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    layout: Layout,
    descriptor: PyValue,
    data_offset: u64,
}

impl NpyFile {
    /// Reads the header, and checks that the file is as long as the header says.
    ///
    /// # Errors
    ///
    /// [`Error::Read`], [`Error::NpyHeader`], [`Error::NpyHeaderSize`], [`Error::NpyDType`],
    /// [`Error::NpyShapeOverflow`], [`Error::NpyLength`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let read_error = |source| Error::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(read_error)?;
        let metadata = file.metadata().map_err(read_error)?;
        if !metadata.is_file() {
            return Err(Error::NotAFile { path: path.to_owned() });
        }
        let mut start = Vec::new();
        file.take(MAX_HEADER_BYTES as u64 + 1).read_to_end(&mut start).map_err(read_error)?;
        let data_offset = header_end(path, &start)?;
        let header = Header::from_reader(&mut &start[..])
            .map_err(|source| Error::NpyHeader { path: path.to_owned(), source: Box::new(source) })?;

        let dtype = descriptor_dtype(&header.type_descriptor)
            .ok_or_else(|| Error::NpyDType { path: path.to_owned(), descriptor: header.type_descriptor.to_string() })?;
        let shape = header.shape;
        let Some(expected) = nbytes(&shape, dtype) else {
            return Err(Error::NpyShapeOverflow { path: path.to_owned(), shape, dtype });
        };
        let (expected, found) = (expected as u64, metadata.len().saturating_sub(data_offset));
        if expected != found {
            return Err(Error::NpyLength { path: path.to_owned(), shape, dtype, expected, found });
        }
        let (layout, descriptor) = (header.layout, header.type_descriptor);
        Ok(Self { path: path.to_owned(), dtype, shape, layout, descriptor, data_offset })
    }

    /// Reads the elements, in C order whatever order the file has.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] and [`Error::NpyElements`], if the file has changed since it was opened or holds a `bool` that
    /// is neither 0 nor 1.
    pub(crate) fn read(&self) -> Result<HostArray> {
        let read_error = |source| Error::Read { path: self.path.clone(), source };
        let mut file = File::open(&self.path).map_err(read_error)?;
        file.seek(SeekFrom::Start(self.data_offset)).map_err(read_error)?;
        with_type!(self.dtype, T => self.elements::<T>(BufReader::new(file)))
            .expect("`open` accepts no other types")
            .map_err(|source| Error::NpyElements { path: self.path.clone(), source: Box::new(source) })
    }

    fn elements<T: NpyElement>(&self, reader: impl Read) -> ReadResult<HostArray> {
        let n_elements = self.shape.iter().product();
        let elements = T::read(reader, &self.descriptor, n_elements)?;
        let shape = IxDyn(&self.shape).set_f(self.layout.is_fortran());
        Ok(HostArray::new(ArrayD::from_shape_vec(shape, elements).expect("as many elements as the shape has")))
    }
}

/// Writes `array`, little-endian and in C order.
///
/// # Errors
///
/// What the writer reports.
pub(crate) fn write(array: &HostArray, writer: impl Write) -> std::result::Result<(), WriteNpyError> {
    with_array!(array, array => NpyElement::write(array, writer))
}

type ReadResult<T> = std::result::Result<T, ReadDataError>;

/// How an element type is read and written; a step around `ndarray-npy`'s own traits, which leave `f16` out.
trait NpyElement: HostElement {
    fn read(reader: impl Read, descriptor: &PyValue, n_elements: usize) -> ReadResult<Vec<Self>>;
    fn write(array: &ArrayD<Self>, writer: impl Write) -> std::result::Result<(), WriteNpyError>;
}

macro_rules! npy_elements {
    ($($element:ty),*) => {$(
        impl NpyElement for $element {
            fn read(reader: impl Read, descriptor: &PyValue, n_elements: usize) -> ReadResult<Vec<Self>> {
                Self::read_to_end_exact_vec(reader, descriptor, n_elements)
            }

            fn write(array: &ArrayD<Self>, writer: impl Write) -> std::result::Result<(), WriteNpyError> {
                array.write_npy(writer)
            }
        }
    )*};
}
npy_elements!(i8, u8, i16, u16, i32, u32, f32, i64, u64, f64);

impl NpyElement for Bool {
    fn read(reader: impl Read, descriptor: &PyValue, n_elements: usize) -> ReadResult<Vec<Self>> {
        let values = bool::read_to_end_exact_vec(reader, descriptor, n_elements)?;
        Ok(values.into_iter().map(Self::from).collect())
    }

    fn write(array: &ArrayD<Self>, writer: impl Write) -> std::result::Result<(), WriteNpyError> {
        array.mapv(bool::from).write_npy(writer)
    }
}

impl NpyElement for f16 {
    fn read(reader: impl Read, descriptor: &PyValue, n_elements: usize) -> ReadResult<Vec<Self>> {
        // Same bits, same byte order, other name: `<f2` is read as `<u2`.
        let bits = match descriptor {
            PyValue::String(name) => PyValue::String(name.replace("f2", "u2")),
            other => other.clone(),
        };
        let bits = u16::read_to_end_exact_vec(reader, &bits, n_elements)?;
        Ok(bits.into_iter().map(Self::from_bits).collect())
    }

    fn write(array: &ArrayD<Self>, mut writer: impl Write) -> std::result::Result<(), WriteNpyError> {
        let type_descriptor = PyValue::String("<f2".to_owned());
        let header = Header { type_descriptor, layout: Layout::Standard, shape: array.shape().to_vec() };
        header.write(&mut writer)?;
        for element in array {
            writer.write_all(&element.to_le_bytes())?;
        }
        Ok(())
    }
}

/// Where the header ends, by its own account, if it is one that may be parsed.
fn header_end(path: &Path, start: &[u8]) -> Result<u64> {
    let too_short = || Error::NpyMagic { path: path.to_owned() };
    let version = start.strip_prefix(b"\x93NUMPY").and_then(|rest| rest.first()).ok_or_else(too_short)?;
    let n_length_bytes = if *version == 1 { 2 } else { 4 };
    let length_bytes = start.get(8..8 + n_length_bytes).ok_or_else(too_short)?;
    // Little-endian, two or four bytes.
    let length = length_bytes.iter().rev().fold(0_u64, |length, &byte| length << 8 | u64::from(byte));
    let end = 8 + n_length_bytes as u64 + length;
    let header = usize::try_from(end)
        .ok()
        .filter(|&end| end <= MAX_HEADER_BYTES)
        .ok_or_else(|| Error::NpyHeaderSize { path: path.to_owned(), bytes: length, limit: MAX_HEADER_BYTES })?;
    let header = start.get(8 + n_length_bytes..header).ok_or_else(|| Error::NpyHeaderLength {
        path: path.to_owned(),
        expected: end,
        found: start.len(),
    })?;
    let n_brackets = header.iter().filter(|byte| b"([{".contains(byte)).count();
    if n_brackets > MAX_BRACKETS {
        return Err(Error::NpyHeaderNesting { path: path.to_owned(), n_brackets, limit: MAX_BRACKETS });
    }
    Ok(end)
}

/// The element type that a NumPy type descriptor such as `<f4` names.
fn descriptor_dtype(descriptor: &PyValue) -> Option<DType> {
    let PyValue::String(name) = descriptor else { return None };
    // Byte order first. One byte has none, NumPy writes `|`.
    let (order, kind) = name.split_at_checked(1)?;
    let dtype = match kind {
        "b1" => DType::Bool,
        "i1" => DType::I8,
        "u1" => DType::U8,
        "i2" => DType::I16,
        "u2" => DType::U16,
        "f2" => DType::F16,
        "i4" => DType::I32,
        "u4" => DType::U32,
        "f4" => DType::F32,
        "i8" => DType::I64,
        "u8" => DType::U64,
        "f8" => DType::F64,
        _ => return None,
    };
    let is_order = if dtype.itemsize() == 1 { order == "|" } else { order == "<" || order == ">" };
    is_order.then_some(dtype)
}

#[cfg(test)]
mod tests;
