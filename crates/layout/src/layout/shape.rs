//! [`IntoShape`] and [`IntoReshape`]: what may be written where a shape is meant.
//!
//! A shape is one number or a list of them: `5`, `[2, 3]`, a slice, a `Vec`. A new shape for existing elements may also be
//! signed, because one length of it may be -1.

use smallvec::SmallVec;

/// The lengths that a reshape is given.
pub(super) type ReshapeLengths = SmallVec<[isize; 4]>;

/// A shape: the length of each axis. One number is a shape of one axis.
///
/// ```
/// use vkarray_layout::IntoShape;
///
/// fn size(shape: impl IntoShape) -> usize {
///     shape.into_shape().as_ref().iter().product()
/// }
/// assert_eq!((size(5), size([2, 3]), size(vec![4, 2])), (5, 6, 8));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "a shape is one length or a list of lengths, each a `usize`"
)]
pub trait IntoShape {
    /// A list of lengths.
    type Lengths: AsRef<[usize]>;

    /// The length of each axis.
    fn into_shape(self) -> Self::Lengths;
}

impl IntoShape for usize {
    type Lengths = [usize; 1];

    #[inline]
    fn into_shape(self) -> [usize; 1] {
        [self]
    }
}

/// A list of lengths is a shape.
macro_rules! shape_from_list {
    ($([$($generic:tt)*] $list:ty),* $(,)?) => { $(
        impl<$($generic)*> IntoShape for $list {
            type Lengths = Self;

            #[inline]
            fn into_shape(self) -> Self {
                self
            }
        }
    )* };
}

shape_from_list! {
    [const N: usize] [usize; N],
    [const N: usize] &[usize; N],
    [] &[usize],
    [] Vec<usize>,
    [] &Vec<usize>,
}

/// A new shape for existing elements, of which one length may be -1. See [`Layout::reshape`](crate::Layout::reshape).
///
/// The lengths may be `usize`, as in another array's shape, `u32`, or `isize` or `i32`, which can be -1. The indices of
/// one element are written in the same ways; a negative index counts from the end.
///
/// ```
/// use vkarray_layout::{Layout, Order};
///
/// let x = Layout::contiguous(&[6], Order::C)?;
/// let matrix = x.reshape([2, -1], Order::C)?;
/// assert_eq!(matrix.shape(), [2, 3]);
/// assert_eq!(x.reshape(matrix.shape(), Order::C)?.shape(), [2, 3]);
/// assert_eq!(matrix.reshape(-1, Order::C)?.shape(), [6]);
/// # anyhow::Ok(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of axes or lengths",
    label = "one number or a list of numbers, each a `usize`, `isize`, `u32` or `i32`"
)]
pub trait IntoReshape {
    /// The length of each axis, or -1. A length that does not fit `isize` becomes `isize::MAX`, which is too long for any
    /// array.
    fn into_reshape(self) -> SmallVec<[isize; 4]>;
}

/// A list that has its lengths in one slice.
macro_rules! reshape_from_list {
    ($([$($generic:tt)*] $list:ty),* $(,)?) => { $(
        impl<$($generic)*> IntoReshape for $list {
            fn into_reshape(self) -> ReshapeLengths {
                self.as_slice().into_reshape()
            }
        }
    )* };
}

/// One axis; and one length, an array, a slice or a vector of lengths of this type.
macro_rules! axes_from {
    ($($integer:ty)*) => { $(
        impl IntoAxis for $integer {
            #[allow(clippy::unnecessary_fallible_conversions, reason = "one of the types is `isize` itself")]
            fn into_axis(self) -> isize {
                isize::try_from(self).unwrap_or(isize::MAX)
            }
        }

        impl IntoReshape for $integer {
            fn into_reshape(self) -> ReshapeLengths {
                [self].into_reshape()
            }
        }

        impl IntoReshape for &[$integer] {
            fn into_reshape(self) -> ReshapeLengths {
                self.iter().map(|len| len.into_axis()).collect()
            }
        }

        reshape_from_list! {
            [const N: usize] [$integer; N],
            [const N: usize] &[$integer; N],
            [] Vec<$integer>,
            [] &Vec<$integer>,
        }
    )* };
}

axes_from!(usize isize i32 u32);

/// No axes.
impl IntoReshape for () {
    fn into_reshape(self) -> ReshapeLengths {
        ReshapeLengths::new()
    }
}

/// One axis: a number of any usual type. Negative numbers count from the end.
///
/// ```
/// use vkarray_layout::IntoAxis;
///
/// let last: usize = 2;
/// assert_eq!([last.into_axis(), (-1).into_axis()], [2, -1]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an axis",
    label = "an axis is a `usize`, `isize`, `u32` or `i32`"
)]
pub trait IntoAxis {
    /// The number of the axis. A number that does not fit `isize` becomes `isize::MAX`, which no array has.
    fn into_axis(self) -> isize;
}
