//! What a check sees of an argument: [`ArgShape`] and [`ArrayShape`], plain data without memory.

use std::fmt;

use crate::signature::{DType, ScalarValue};

/// What the check needs to know of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrayShape<'a> {
    /// What the user calls it, for messages.
    pub label: Option<&'a str>,
    /// Its element type.
    pub dtype: DType,
    /// Elements on each axis.
    pub shape: &'a [usize],
    /// Bytes of its elements.
    pub nbytes: u64,
    /// Bytes from the start of the buffer it lies in.
    pub offset: u64,
    /// Whether its elements lie in memory in order, without gaps.
    pub is_contiguous: bool,
    /// Whether it may be written.
    pub is_writable: bool,
    /// Whether constant memory that is longer may take it, and read zeros in place of what it lacks.
    pub is_padded: bool,
}

impl<'a> ArrayShape<'a> {
    /// An array of `nbytes` at the start of its buffer, contiguous and writable, without a label.
    #[must_use]
    #[inline]
    pub const fn new(dtype: DType, shape: &'a [usize], nbytes: u64) -> Self {
        Self { label: None, dtype, shape, nbytes, offset: 0, is_contiguous: true, is_writable: true, is_padded: false }
    }
}

impl fmt::Display for ArrayShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = self.label {
            write!(f, "`{label}`, ")?;
        }
        write!(f, "an array of {} with shape {:?}", self.dtype, self.shape)
    }
}

/// One argument, as far as the check looks at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgShape<'a> {
    /// An array.
    Array(ArrayShape<'a>),
    /// A constant, laid out for the parameter on its way.
    Constant(ArrayShape<'a>),
    /// One number.
    Scalar(ScalarValue),
    /// The numbers of a vector, matrix or array, in memory order without padding.
    Scalars(&'a [ScalarValue]),
    /// All push constants, as the bytes of a struct.
    Block(&'a [u8]),
}

impl fmt::Display for ArgShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(array) | Self::Constant(array) => array.fmt(f),
            Self::Scalar(value) => write!(f, "{value} ({})", value.dtype()),
            Self::Scalars(values) => write!(f, "{} numbers", values.len()),
            Self::Block(bytes) => write!(f, "a struct of {} bytes", bytes.len()),
        }
    }
}

/// An argument with the name it is given for. Without a name, its position decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Argument<'a> {
    /// The parameter it is for; `None` for the next in order.
    pub name: Option<&'a str>,
    /// What it is.
    pub shape: ArgShape<'a>,
}

/// Whatever shows itself as an [`Argument`], so that a call is checked without a list of its arguments being made first.
pub(crate) trait Given {
    /// The argument.
    fn argument(&self) -> Argument<'_>;
}

impl Given for Argument<'_> {
    fn argument(&self) -> Argument<'_> {
        *self
    }
}

impl<'a> From<ArgShape<'a>> for Argument<'a> {
    fn from(shape: ArgShape<'a>) -> Self {
        Self { name: None, shape }
    }
}
