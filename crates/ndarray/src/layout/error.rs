//! [`LayoutError`]: why a layout or a view of one cannot exist.
//!
//! Every variant carries both sides of the disagreement, and shapes print as NumPy tuples.
//! The rules that raise these live in the sibling files; next read is `reshape.rs` or `slice.rs`.

use std::fmt;

use super::Order;

/// Why a layout, or a view of one, cannot exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// More axes than [`MAX_NDIM`](super::MAX_NDIM).
    #[error("{ndim} axes asked for, at most {limit} are supported")]
    RankTooLarge {
        /// Axes asked for.
        ndim: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The elements or bytes of this shape cannot be counted in a machine word.
    #[error("shape {} is too large to address with elements of {itemsize} bytes", tuple(.shape))]
    Overflow {
        /// The shape asked for.
        shape: Vec<usize>,
        /// Bytes an element; 1 where elements alone overflow.
        itemsize: usize,
    },
    /// Shape and strides have different lengths.
    #[error("shape {} and strides {} differ in length", tuple(.shape), tuple(.strides))]
    StrideCount {
        /// The shape given.
        shape: Vec<usize>,
        /// The strides given, in elements.
        strides: Vec<isize>,
    },
    /// Some element would lie before element 0 of the block, or beyond what a machine word can address.
    #[error(
        "shape {} with strides {} from offset {offset} leaves the addressable range",
        tuple(.shape), tuple(.strides)
    )]
    OutOfBounds {
        /// The shape given.
        shape: Vec<usize>,
        /// The strides given, in elements.
        strides: Vec<isize>,
        /// The offset given, in elements.
        offset: usize,
    },
    /// Two layouts that must have one shape have two.
    #[error("shape {} does not match shape {}", tuple(.from), tuple(.to))]
    ShapeMismatch {
        /// Shape of the source.
        from: Vec<usize>,
        /// Shape of the destination.
        to: Vec<usize>,
    },
    /// A reshape changes the number of elements, or no length for the -1 makes it fit.
    #[error("cannot reshape {size} elements of shape {} into {}", tuple(.from), tuple(.to))]
    ReshapeMismatch {
        /// Shape of the array.
        from: Vec<usize>,
        /// Its number of elements.
        size: usize,
        /// Shape asked for.
        to: Vec<isize>,
    },
    /// A reshape leaves more than one length open.
    #[error("only one length may be -1 in {}", tuple(.to))]
    RepeatedUnknown {
        /// Shape asked for.
        to: Vec<isize>,
    },
    /// A length is negative and not -1.
    #[error("negative length in {}; only -1 is understood", tuple(.to))]
    NegativeLength {
        /// Shape asked for.
        to: Vec<isize>,
    },
    /// No strides reach these elements in this order and shape: the array must be copied first.
    #[error(
        "viewing shape {} with strides {} as {} in {order} order needs a copy",
        tuple(.shape), tuple(.strides), tuple(.to)
    )]
    NeedsCopy {
        /// Shape of the array.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
        /// Shape asked for.
        to: Vec<usize>,
        /// Order asked for.
        order: Order,
    },
    /// This operation has no meaning for this order.
    #[error("order {order} is not permitted for {operation}")]
    OrderNotAllowed {
        /// Order asked for.
        order: Order,
        /// The operation, by its method name.
        operation: &'static str,
    },
    /// An axis number is outside `-ndim..ndim`.
    #[error("axis {axis} is out of range for {ndim} axes")]
    AxisOutOfRange {
        /// Axis asked for.
        axis: isize,
        /// Axes there are.
        ndim: usize,
    },
    /// An axis is named twice where each may be named once.
    #[error("axis {axis} is named twice in {}", tuple(.axes))]
    RepeatedAxis {
        /// The axis, counted from the front.
        axis: usize,
        /// The axes as given.
        axes: Vec<isize>,
    },
    /// The number of axes given is not the number needed.
    #[error("{given} axes given where {expected} are needed")]
    AxisCount {
        /// Axes given.
        given: usize,
        /// Axes needed.
        expected: usize,
    },
    /// Only axes of length one can be squeezed out.
    #[error("cannot squeeze axis {axis} of length {len}, only length 1")]
    SqueezeLength {
        /// The axis, counted from the front.
        axis: usize,
        /// Its length.
        len: usize,
    },
    /// A shape does not broadcast to another.
    #[error("shape {} does not broadcast to {}", tuple(.from), tuple(.to))]
    BroadcastMismatch {
        /// Shape of the array.
        from: Vec<usize>,
        /// Shape asked for.
        to: Vec<usize>,
    },
    /// No shape serves all of the given ones.
    #[error("shapes {} and {} do not broadcast together", tuple(.left), tuple(.right))]
    NoCommonShape {
        /// What the earlier shapes broadcast to.
        left: Vec<usize>,
        /// The shape that does not fit.
        right: Vec<usize>,
    },
    /// An integer index is outside `-len..len`.
    #[error("index {index} is out of range for axis {axis} of length {len}")]
    IndexOutOfRange {
        /// The axis, counted from the front.
        axis: usize,
        /// Index asked for.
        index: isize,
        /// Length of the axis.
        len: usize,
    },
    /// More axes are indexed than there are.
    #[error("{given} axes indexed, the array has {ndim}")]
    TooManyIndices {
        /// Axes indexed.
        given: usize,
        /// Axes there are.
        ndim: usize,
    },
    /// One element is asked for, but not every axis is indexed.
    #[error("{given} axes indexed, an element needs all {ndim}")]
    TooFewIndices {
        /// Axes indexed.
        given: usize,
        /// Axes there are.
        ndim: usize,
    },
    /// More than one ellipsis in an index.
    #[error("{count} ellipses in one index, at most one is possible")]
    RepeatedEllipsis {
        /// Ellipses given.
        count: usize,
    },
    /// A range with a step of zero.
    #[error("step of the range over axis {axis} is zero")]
    ZeroStep {
        /// The axis, counted from the front.
        axis: usize,
    },
    /// The operation works on one axis only.
    #[error("{operation} needs one axis, the array has {ndim}")]
    NotOneDimensional {
        /// Axes there are.
        ndim: usize,
        /// The operation, by its method name.
        operation: &'static str,
    },
    /// A split into no pieces, or into pieces of length zero.
    #[error("cannot split {len} elements by zero")]
    ZeroSplit {
        /// Length of the axis.
        len: usize,
    },
    /// A split into equal pieces leaves a rest.
    #[error("cannot split {len} elements into {sections} equal pieces")]
    UnequalSplit {
        /// Length of the axis.
        len: usize,
        /// Pieces asked for.
        sections: usize,
    },
    /// A diagonal needs two different axes.
    #[error("a diagonal needs two axes, the array has {ndim}")]
    DiagonalRank {
        /// Axes there are.
        ndim: usize,
    },
    /// An element size of zero bytes.
    #[error("cannot view elements of {from} bytes as elements of {to} bytes")]
    ZeroItemSize {
        /// Bytes an element now.
        from: usize,
        /// Bytes an element asked for.
        to: usize,
    },
    /// An array without axes keeps its element size.
    #[error("an array of 0 axes cannot change its element size from {from} to {to} bytes")]
    ViewZeroDim {
        /// Bytes an element now.
        from: usize,
        /// Bytes an element asked for.
        to: usize,
    },
    /// The last axis has gaps, so its elements cannot be joined or cut.
    #[error("cannot view elements of {from} bytes as {to} bytes, the last axis has stride {stride} and not 1")]
    ViewStrided {
        /// Bytes an element now.
        from: usize,
        /// Bytes an element asked for.
        to: usize,
        /// Stride of the last axis, in elements.
        stride: isize,
    },
    /// The bytes of the last axis are no whole number of new elements.
    #[error("cannot view {len} elements of {from} bytes on the last axis as elements of {to} bytes")]
    ViewItemSize {
        /// Bytes an element now.
        from: usize,
        /// Bytes an element asked for.
        to: usize,
        /// Length of the last axis.
        len: usize,
    },
    /// The offset or a stride is no whole number of new elements.
    #[error("{elements} elements of {from} bytes are no whole number of elements of {to} bytes")]
    ViewMisaligned {
        /// Bytes an element now.
        from: usize,
        /// Bytes an element asked for.
        to: usize,
        /// The offset or stride that does not fit, in present elements.
        elements: isize,
    },
}

/// Prints numbers as a NumPy tuple: `()`, `(3,)`, `(2, 3)`.
pub(crate) fn tuple<T: fmt::Display>(items: &[T]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    if let [only] = items.as_slice() { format!("({only},)") } else { format!("({})", items.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_both_sides_as_numpy_tuples() {
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
                "viewing shape (2, 3) with strides (1, 2) as (6,) in C order needs a copy",
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
