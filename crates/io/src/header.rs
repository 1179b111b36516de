//! The header of a `.npy` file, which is accepted only if the file has the length that the header requires.
//!
//! The `ndarray-npy` crate parses the header. The length and the brackets of the header are checked before it is
//! parsed, and the size of the array before memory is allocated. The elements after the header are read in `file.rs`.

use ndarray_npy::npy::header::Header;
use py_literal::Value as PyValue;
use vkarray_layout::{Layout, Order};
use vkarray_shader::{ByteOrder, DType, Element};

use crate::error::{FileError, Result};

/// The longest header that is read, in bytes. It is NumPy's limit.
pub(crate) const MAX_HEADER_BYTES: usize = 10_000;

/// The most brackets in a header. The parser is recursive, and the header of an array needs two brackets.
const MAX_BRACKETS: usize = 16;

/// The header of a `.npy` file: element type, shape and order.
///
/// ```
/// use vkarray_io::{NpyFile, write_npy};
/// use ndarray::arr1;
/// use vkarray_layout::Order;
/// use vkarray_shader::DType;
///
/// let path = std::env::temp_dir().join(format!("vkarray-{}-npyheader.npy", std::process::id()));
/// write_npy(std::fs::File::create(&path)?, &arr1(&[1.0_f32, 2.0]))?;
/// let file = NpyFile::open(&path)?;
/// let header = file.header();
/// assert_eq!((header.dtype(), header.shape(), header.order()), (DType::F32, &[2][..], Order::C));
/// assert_eq!(header.nbytes(), 8);
/// # std::fs::remove_file(&path)?;
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) order: Order,
    pub(crate) byte_order: ByteOrder,
    /// Offset of the first element in the file.
    pub(crate) end: u64,
}

impl NpyHeader {
    /// The type of the elements. `bf16`, for which NumPy has no type, is a record of two bytes.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The order of the elements: C or F.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Bytes of all elements.
    pub fn nbytes(&self) -> u64 {
        self.size() as u64 * u64::from(self.dtype.itemsize())
    }

    pub(crate) fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Reads the header at the start of a file of `len` bytes, and compares `len` with the length that the header
    /// requires.
    ///
    /// `start` is the first [`MAX_HEADER_BYTES`] bytes of the file, or the whole file.
    pub(crate) fn parse(name: &str, start: &[u8], len: u64) -> Result<Self> {
        let (end, text) = header_text(name, start)?;
        // The format and the parser require a newline at the end of a header, and NumPy's reader does not.
        let text = with_prefix([start[6], start[7]], &[text.trim_ascii_end(), b"\n"].concat());
        let header = Header::from_reader(&mut text.as_slice())
            .map_err(|reason| FileError::Header { name: name.to_owned(), reason: Box::new(reason) })?;
        let (dtype, byte_order) = match &header.type_descriptor {
            PyValue::String(text) => DType::from_typestr(text),
            _ => None,
        }
        .ok_or_else(|| FileError::DType { name: name.to_owned(), descriptor: header.type_descriptor.to_string() })?;
        let shape = header.shape;
        let expected = Layout::contiguous(&shape, Order::C)
            .and_then(|layout| layout.nbytes(dtype.itemsize() as usize))
            .map_err(|reason| FileError::Shape { name: name.to_owned(), reason })?;
        let found = len.saturating_sub(end);
        if expected != found {
            return Err(FileError::Length { name: name.to_owned(), dtype, shape, expected, found });
        }
        let order = if header.layout.is_fortran() { Order::F } else { Order::C };
        Ok(Self { dtype, shape, order, byte_order, end })
    }

    /// Checks that the elements are of type `T`.
    pub(crate) fn check_dtype<T: Element>(&self, name: &str) -> Result<()> {
        if self.dtype.reads_as(DType::of::<T>()) {
            return Ok(());
        }
        Err(FileError::OtherDType { name: name.to_owned(), found: self.dtype, wanted: DType::of::<T>() })
    }
}

/// NumPy reserves room for this many digits in the length of the axis along which a file may grow.
const GROWTH_DIGITS: usize = 21;

/// The header of an array in this machine's byte order, byte for byte as NumPy writes it.
pub(crate) fn header_for<T: Element>(shape: &[usize], order: Order) -> Vec<u8> {
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if axes.len() == 1 { "," } else { "" };
    let (is_f, growing) = match order {
        Order::F => ("True", axes.last()),
        _ => ("False", axes.first()),
    };
    let room = growing.map_or(0, |axis| GROWTH_DIGITS.saturating_sub(axis.len()));
    let mut text = format!(
        "{{'descr': '{}', 'fortran_order': {is_f}, 'shape': ({}{comma}), }}{:room$}",
        DType::of::<T>().typestr(ByteOrder::NATIVE),
        axes.join(", "),
        ""
    );
    // The elements start at a multiple of 64, after at least one space and a newline.
    let is_long = text.len() + 10 + 64 > usize::from(u16::MAX);
    let before = if is_long { 12 } else { 10 };
    text.push_str(&" ".repeat(64 - (before + text.len() + 1) % 64));
    text.push('\n');
    with_prefix([if is_long { 2 } else { 1 }, 0], text.as_bytes())
}

/// A header of this version and text. The length of the text has two bytes in version 1 and four in later versions.
fn with_prefix(version: [u8; 2], text: &[u8]) -> Vec<u8> {
    let length = text.len().to_le_bytes();
    let length = if version[0] == 1 { &length[..2] } else { &length[..4] };
    [b"\x93NUMPY", &version[..], length, text].concat()
}

/// The offset at which the header ends, and the text of the header, if both are within the limits.
fn header_text<'a>(name: &str, start: &'a [u8]) -> Result<(u64, &'a [u8])> {
    let other_kind = || FileError::Magic { name: name.to_owned() };
    let version = start.strip_prefix(b"\x93NUMPY").and_then(|rest| rest.first()).ok_or_else(other_kind)?;
    let n_length_bytes = if *version == 1 { 2 } else { 4 };
    let length_bytes = start.get(8..8 + n_length_bytes).ok_or_else(other_kind)?;
    // The length is little-endian, of two or four bytes.
    let length = length_bytes.iter().rev().fold(0_u64, |length, &byte| length << 8 | u64::from(byte));
    let end = 8 + n_length_bytes as u64 + length;
    let header = usize::try_from(end).ok().filter(|&end| end <= MAX_HEADER_BYTES);
    let header = header.ok_or_else(|| FileError::HeaderSize {
        name: name.to_owned(),
        bytes: length,
        limit: MAX_HEADER_BYTES,
    })?;
    let header = start.get(8 + n_length_bytes..header).ok_or_else(|| FileError::HeaderLength {
        name: name.to_owned(),
        expected: end,
        found: start.len(),
    })?;
    let n_brackets = header.iter().filter(|byte| b"([{".contains(byte)).count();
    if n_brackets > MAX_BRACKETS {
        return Err(FileError::HeaderNesting { name: name.to_owned(), n_brackets, limit: MAX_BRACKETS });
    }
    Ok((end, header))
}
