//! What a check sees of an argument: [`ArgShape`] and [`ArrayShape`], plain data without memory.

use std::fmt;

use vkarray_shader::{DType, ScalarValue};

use crate::call::image::Sampler;

/// What is checked of an array.
///
/// ```
/// use vkarray_kernel::{ArrayShape, DType};
///
/// let array = ArrayShape::new(DType::F32, &[3, 4], 48);
/// assert_eq!(array.to_string(), "an array of f32 with shape (3, 4)");
/// assert!(array.is_contiguous && array.is_writable);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrayShape<'a> {
    /// The name that messages show.
    pub label: Option<&'a str>,
    /// Its element type.
    pub dtype: DType,
    /// Elements on each axis.
    pub shape: &'a [usize],
    /// Bytes of its elements.
    pub nbytes: u64,
    /// Bytes from the start of its block of memory.
    pub offset: u64,
    /// Whether its elements are in C order without gaps.
    pub is_contiguous: bool,
    /// The strides in elements that the shader asks for. `offset` and `nbytes` are then those of the bytes from the array's
    /// lowest element to its highest, and the array is not contiguous, even where its elements are.
    pub strides: Option<&'a [isize]>,
    /// Whether a kernel may write it.
    pub is_writable: bool,
    /// Whether it may be given for longer constant memory, whose remainder then reads as zero.
    pub is_padded: bool,
    /// Whether only its bytes are known, which then have the layout of the parameter.
    pub is_untyped: bool,
}

impl<'a> ArrayShape<'a> {
    /// An array of `nbytes` bytes at the start of its block, contiguous and writable, without a label.
    #[must_use]
    #[inline]
    pub const fn new(dtype: DType, shape: &'a [usize], nbytes: u64) -> Self {
        Self {
            label: None,
            dtype,
            shape,
            nbytes,
            offset: 0,
            is_contiguous: true,
            strides: None,
            is_writable: true,
            is_padded: false,
            is_untyped: false,
        }
    }
}

impl fmt::Display for ArrayShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = self.label {
            write!(f, "`{label}`, ")?;
        }
        if self.is_untyped {
            return write!(f, "memory of {} bytes", self.nbytes);
        }
        write!(f, "an array of {} with shape {}", self.dtype, tuple_text(self.shape))?;
        self.strides.map_or(Ok(()), |strides| write!(f, " and strides {}", tuple_text(strides)))
    }
}

/// Whether some of the last axes, whose elements have `itemsize` bytes, make up `bytes` bytes.
pub(crate) fn has_rows_of(bytes: u32, shape: &[usize], itemsize: u32) -> bool {
    let mut trailing = u64::from(itemsize);
    shape.iter().rev().any(|&len| {
        trailing = trailing.saturating_mul(len as u64);
        trailing == u64::from(bytes)
    })
}

/// Numbers as NumPy prints a tuple, for messages: `()`, `(3,)`, `(2, 3)`.
///
/// ```
/// assert_eq!(vkarray_kernel::tuple_text(&[3]), "(3,)");
/// assert_eq!(vkarray_kernel::tuple_text(&[2, -1]), "(2, -1)");
/// ```
pub fn tuple_text<T: fmt::Display>(items: &[T]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    if let [only] = items.as_slice() { format!("({only},)") } else { format!("({})", items.join(", ")) }
}

/// What is checked of one argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgShape<'a> {
    /// An array.
    Array(ArrayShape<'a>),
    /// Several arrays, for an array of bindings.
    Arrays(&'a [ArrayShape<'a>]),
    /// Arrays that are reached by addresses in memory. They are for no parameter.
    Reached(&'a [ArrayShape<'a>]),
    /// Constant memory, which gets the padding of the parameter when it is copied.
    Constant(ArrayShape<'a>),
    /// A sampler.
    Sampler(Sampler),
    /// One number.
    Scalar(ScalarValue),
    /// The numbers of a vector, matrix or array, in memory order without padding.
    Scalars(&'a [ScalarValue]),
    /// All push constants, as the bytes of a struct.
    Block(&'a [u8]),
}

/// What takes arguments without a name in order: each kind by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgKind {
    /// Buffers and images take arrays.
    Array,
    /// Samplers take samplers.
    Sampler,
    /// Push constants take numbers.
    Number,
    /// No parameter takes arrays that are reached by addresses in memory.
    Reached,
}

impl ArgShape<'_> {
    /// What it is for.
    pub(crate) const fn kind(&self) -> ArgKind {
        match self {
            Self::Array(_) | Self::Arrays(_) | Self::Constant(_) => ArgKind::Array,
            Self::Sampler(_) => ArgKind::Sampler,
            Self::Reached(_) => ArgKind::Reached,
            Self::Scalar(_) | Self::Scalars(_) | Self::Block(_) => ArgKind::Number,
        }
    }
}

impl fmt::Display for ArgShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(array) | Self::Constant(array) => array.fmt(f),
            Self::Arrays(list) => write!(f, "a list of arrays, {} in number", list.len()),
            Self::Reached(list) => write!(f, "arrays that are reached, {} in number", list.len()),
            Self::Sampler(_) => f.write_str("a sampler"),
            Self::Scalar(value) => write!(f, "{value} ({})", value.dtype()),
            Self::Scalars(values) => write!(f, "{} numbers", values.len()),
            Self::Block(bytes) => write!(f, "a struct of {} bytes", bytes.len()),
        }
    }
}

/// An argument and the name of its parameter. Without a name, its position decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Argument<'a> {
    /// The name of its parameter; `None` for the next parameter of its kind.
    pub name: Option<&'a str>,
    /// What it is.
    pub shape: ArgShape<'a>,
}

impl<'a> From<ArgShape<'a>> for Argument<'a> {
    fn from(shape: ArgShape<'a>) -> Self {
        Self { name: None, shape }
    }
}
