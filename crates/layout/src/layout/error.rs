//! [`LayoutError`]: why a layout or a view is refused.
//!
//! Every variant has the values that disagree. Shapes are printed as NumPy tuples.

use std::fmt;

use super::Order;

/// Why a layout, or a view of one, is refused.
///
/// Strides are in elements, and so is an `offset` where the message gives no other unit. `operation` is the name of a method.
///
/// ```
/// use vkarray_layout::{Layout, LayoutError, Order};
///
/// let refused = Layout::contiguous(&[2, 3], Order::C)?.reshape(4, Order::C).unwrap_err();
/// assert!(matches!(refused, LayoutError::ReshapeMismatch { size: 6, .. }));
/// # anyhow::Ok(())
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum LayoutError {
    /// More axes than [`MAX_NDIM`](super::MAX_NDIM).
    #[error("{ndim} axes asked for, at most {limit} are supported")]
    RankTooLarge { ndim: usize, limit: usize },
    /// The number of elements or bytes of this shape does not fit `isize`.
    #[error("shape {} is too large to address with elements of {itemsize} bytes", tuple_text(.shape))]
    Overflow { shape: Vec<usize>, itemsize: usize },
    /// Shape and strides have different lengths.
    #[error("shape {} and strides {} differ in length", tuple_text(.shape), tuple_text(.strides))]
    StrideCount { shape: Vec<usize>, strides: Vec<isize> },
    /// An element would lie before the start of the block, or beyond `isize::MAX`.
    #[error(
        "shape {} with strides {} from offset {offset} leaves the addressable range",
        tuple_text(.shape), tuple_text(.strides)
    )]
    OutOfBounds { shape: Vec<usize>, strides: Vec<isize>, offset: usize },
    /// Two layouts that need the same shape have different ones.
    #[error("shape {} does not match shape {}", tuple_text(.from), tuple_text(.to))]
    ShapeMismatch { from: Vec<usize>, to: Vec<usize> },
    /// A reshape changes the number of elements, or no length for the -1 keeps it.
    #[error("cannot reshape {size} elements of shape {} into {}", tuple_text(.from), tuple_text(.to))]
    ReshapeMismatch { from: Vec<usize>, size: usize, to: Vec<isize> },
    /// A reshape with more than one -1.
    #[error("only one length may be -1 in {}", tuple_text(.to))]
    RepeatedUnknown { to: Vec<isize> },
    /// A length is negative and not -1.
    #[error("negative length in {}; only -1 is allowed", tuple_text(.to))]
    NegativeLength { to: Vec<isize> },
    /// No strides give these elements this shape in this order. The array must be copied first.
    #[error(
        "viewing shape {} with strides {} as {} in {order} order needs a copy, which `reshape_copy` makes",
        tuple_text(.shape), tuple_text(.strides), tuple_text(.to)
    )]
    NeedsCopy { shape: Vec<usize>, strides: Vec<isize>, to: Vec<usize>, order: Order },
    /// The operation is not defined for this order.
    #[error("order {order} is not permitted for {operation}")]
    OrderNotAllowed { order: Order, operation: &'static str },
    /// An axis number is outside `-ndim..ndim`.
    #[error("axis {axis} is out of range for {ndim} axes")]
    AxisOutOfRange { axis: isize, ndim: usize },
    /// An axis is named twice.
    #[error("axis {axis} is named twice in {}", tuple_text(.axes))]
    RepeatedAxis { axis: usize, axes: Vec<isize> },
    /// More or fewer axes are given than needed.
    #[error("{given} axes given where {expected} are needed")]
    AxisCount { given: usize, expected: usize },
    /// Only axes of length one can be squeezed out.
    #[error("cannot squeeze axis {axis} of length {len}, only length 1")]
    SqueezeLength { axis: usize, len: usize },
    /// A shape does not broadcast to another.
    #[error("shape {} does not broadcast to {}", tuple_text(.from), tuple_text(.to))]
    BroadcastMismatch { from: Vec<usize>, to: Vec<usize> },
    /// The shapes do not broadcast to a common shape.
    #[error("shapes {} and {} do not broadcast together", tuple_text(.left), tuple_text(.right))]
    NoCommonShape { left: Vec<usize>, right: Vec<usize> },
    /// An integer index is outside `-len..len`.
    #[error("index {index} is out of range for axis {axis} of length {len}")]
    IndexOutOfRange { axis: usize, index: isize, len: usize },
    /// More indices than axes.
    #[error("{given} axes indexed, the array has {ndim}")]
    TooManyIndices { given: usize, ndim: usize },
    /// Fewer indices than axes where one element is meant.
    #[error("{given} axes indexed, an element needs all {ndim}")]
    TooFewIndices { given: usize, ndim: usize },
    /// More than one ellipsis in an index.
    #[error("{count} ellipses in one index, at most one is possible")]
    RepeatedEllipsis { count: usize },
    /// A range with a step of zero.
    #[error("step of the range over axis {axis} is zero")]
    ZeroStep { axis: usize },
    /// The operation works on one axis only.
    #[error("{operation} needs one axis, the array has {ndim}")]
    NotOneDimensional { ndim: usize, operation: &'static str },
    /// A split into no parts, or into parts of length zero.
    #[error("cannot split {len} elements by zero")]
    ZeroSplit { len: usize },
    /// A split into equal parts of a length that is not a multiple.
    #[error("cannot split {len} elements into {sections} equal parts")]
    UnequalSplit { len: usize, sections: usize },
    /// More parts than the host has memory for.
    #[error("the host has no memory for {parts} parts of an axis of length {len}")]
    TooManyParts { parts: usize, len: usize },
    /// A diagonal needs two different axes.
    #[error("a diagonal needs two axes, the array has {ndim}")]
    DiagonalRank { ndim: usize },
    /// An element size of zero bytes.
    #[error("cannot view elements of {from} bytes as elements of {to} bytes")]
    ZeroItemSize { from: usize, to: usize },
    /// An array without axes is viewed as elements of another size.
    #[error("an array of 0 axes cannot change its element size from {from} to {to} bytes")]
    ViewZeroDim { from: usize, to: usize },
    /// The last axis is not contiguous, so its bytes cannot be viewed as elements of another size.
    #[error("cannot view elements of {from} bytes as {to} bytes, the last axis has stride {stride} and not 1")]
    ViewStrided { from: usize, to: usize, stride: isize },
    /// The bytes of the last axis are not a multiple of the new element size.
    #[error("cannot view {len} elements of {from} bytes on the last axis as elements of {to} bytes")]
    ViewItemSize { from: usize, to: usize, len: usize },
    /// The offset or a stride is not a multiple of the new element size.
    #[error("an offset or stride of {elements} elements of {from} bytes is not a multiple of {to} bytes")]
    ViewMisaligned { from: usize, to: usize, elements: isize },
    /// A field that ends outside its record.
    #[error("a field of {size} bytes at byte {at} ends outside a record of {record} bytes")]
    FieldOutOfBounds { at: usize, size: usize, record: usize },
    /// A field that does not start at a multiple of its size.
    #[error("the first field starts at byte {at} of the memory, which is not a multiple of its size of {size} bytes")]
    FieldMisaligned { at: usize, size: usize },
    /// A view with elements outside the array's memory.
    #[error(
        "shape {} with strides {} from element {offset} ends at element {end}, outside memory of {len} elements",
        tuple_text(.shape), tuple_text(.strides)
    )]
    OutsideMemory { shape: Vec<usize>, strides: Vec<isize>, offset: usize, end: usize, len: u64 },
}

/// Prints the message, so that a program that ends with the error shows it.
impl fmt::Debug for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Numbers as NumPy prints a tuple: `()`, `(3,)`, `(2, 3)`.
///
/// ```
/// assert_eq!(vkarray_layout::tuple_text(&[3]), "(3,)");
/// ```
pub fn tuple_text<T: fmt::Display>(items: &[T]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    if let [only] = items.as_slice() { format!("({only},)") } else { format!("({})", items.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_print_both_shapes_as_numpy_tuples() {
        let cases: &[(LayoutError, &str)] = &[
            (
                LayoutError::ShapeMismatch { from: vec![], to: vec![3] }, // No axes, and one axis with its comma.
                "shape () does not match shape (3,)",
            ),
            (
                LayoutError::ReshapeMismatch { from: vec![2, 3], size: 6, to: vec![4, -1] },
                "cannot reshape 6 elements of shape (2, 3) into (4, -1)",
            ),
            (
                LayoutError::NeedsCopy { shape: vec![2, 3], strides: vec![1, 2], to: vec![6], order: Order::C },
                "viewing shape (2, 3) with strides (1, 2) as (6,) in C order needs a copy, which `reshape_copy` makes",
            ),
            (
                LayoutError::IndexOutOfRange { axis: 1, index: -4, len: 3 },
                "index -4 is out of range for axis 1 of length 3",
            ),
        ];
        for (error, message) in cases {
            assert_eq!(error.to_string(), *message);
        }
    }
}
