//! [`Layout`]: which elements of a block of memory belong to an array, and at which index.
//!
//! Shape, strides and offset, all counted in elements, and NumPy's rules for them. This is arithmetic on plain numbers: no
//! device, no memory, no element type, and bytes only where a method takes the size of an element. A view is a new layout;
//! nothing is ever copied. Each file here adds the operations of one subject to [`Layout`]. Read `order.rs` next, then
//! `reshape.rs` and `slice.rs`.

mod axes;
mod broadcast;
mod bytes;
mod coalesce;
mod diagonal;
mod error;
mod index;
mod offsets;
mod order;
mod overlap;
mod reshape;
mod runs;
mod shape;
mod slice;
mod split;
mod view;

#[cfg(test)]
mod tests;

use std::ops::Range;

use smallvec::SmallVec;

pub use broadcast::broadcast_shapes;
pub use error::{LayoutError, tuple_text};
pub use index::{Index, Span};
pub use offsets::Offsets;
pub use order::Order;
pub use runs::Runs;
pub use shape::{IntoAxis, IntoReshape, IntoShape};

/// The most axes a layout may have.
pub const MAX_NDIM: usize = 32;

/// Up to this many axes a layout is stored without a heap allocation.
const N_INLINE: usize = 4;

type Shape = SmallVec<[usize; N_INLINE]>;
type Strides = SmallVec<[isize; N_INLINE]>;
type Result<T> = std::result::Result<T, LayoutError>;

/// Which elements of a block an array has: a length and a stride for each axis, and the offset of the first element.
///
/// Element `(i, j, …)` of the array is element `offset + i * strides[0] + j * strides[1] + …` of the block.
/// Every layout fulfils three conditions: the product of the lengths (zeros counted as ones) is at most `isize::MAX`;
/// every element lies in `0..=isize::MAX`; and so does `offset`, even where there are no elements.
/// Strides of axes of length one, and of layouts without elements, have no meaning and may have any value.
///
/// ```
/// use vkarray_layout::{Layout, Order, s};
///
/// let image = Layout::contiguous(&[4, 6], Order::C)?;
/// let mirrored = image.slice(&s![.., ..;-1])?;
/// assert_eq!((mirrored.strides(), mirrored.offset()), ([6, -1].as_slice(), 5));
/// # anyhow::Ok(())
/// ```
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
}

impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Self {
        // `SmallVec::clone` adds one item after the other.
        let (shape, strides) = (SmallVec::from_slice(&self.shape), SmallVec::from_slice(&self.strides));
        Self { shape, strides, offset: self.offset }
    }
}

impl Layout {
    /// A contiguous layout of `shape` from offset 0, in C order (the last axis has stride 1) or F order (the first has).
    ///
    /// Without elements all strides are 0, as in a new NumPy array.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::F)?;
    /// assert_eq!(x.strides(), [1, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::OrderNotAllowed`] for `A` and `K`, [`LayoutError::RankTooLarge`], [`LayoutError::Overflow`].
    #[inline]
    pub fn contiguous(shape: &[usize], order: Order) -> Result<Self> {
        match if order == Order::C { Self::inline_contiguous(shape) } else { None } {
            Some(layout) => Ok(layout),
            None => Self::any_contiguous(shape, order),
        }
    }

    /// A layout in C order of at most [`N_INLINE`] axes: the most common case. Inlined, so that a shape of known length
    /// costs a few instructions. `None` for more axes, no elements or too many elements.
    #[inline]
    #[doc(hidden)]
    pub fn inline_contiguous(lens: &[usize]) -> Option<Self> {
        let (mut shape, mut strides, mut stride) = ([0; N_INLINE], [0; N_INLINE], 1_isize);
        for axis in (0..lens.len()).rev() {
            *strides.get_mut(axis)? = stride;
            shape[axis] = lens[axis];
            stride = stride.checked_mul(isize::try_from(lens[axis]).ok()?)?;
        }
        let shape = SmallVec::from_buf_and_len(shape, lens.len());
        let strides = SmallVec::from_buf_and_len(strides, lens.len());
        (stride > 0).then_some(Self { shape, strides, offset: 0 })
    }

    fn any_contiguous(shape: &[usize], order: Order) -> Result<Self> {
        let size = checked_size(shape)?;
        let strides = match order {
            Order::A | Order::K => return Err(LayoutError::OrderNotAllowed { order, operation: "contiguous" }),
            _ if size == 0 => SmallVec::from_elem(0, shape.len()),
            Order::C => order::packed_strides(shape, (0..shape.len()).rev()),
            Order::F => order::packed_strides(shape, 0..shape.len()),
        };
        Ok(Self { shape: SmallVec::from_slice(shape), strides, offset: 0 })
    }

    /// A layout with these strides, in elements, whose first element is element `offset` of the block.
    ///
    /// The caller checks that the block is long enough, with [`Layout::extent`].
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let every_other = Layout::with_strides(&[3], &[2], 1)?;
    /// assert_eq!(every_other.offsets().collect::<Vec<_>>(), [1, 3, 5]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::StrideCount`], [`LayoutError::RankTooLarge`], [`LayoutError::Overflow`], and
    /// [`LayoutError::OutOfBounds`] if an element lies before the block or beyond `isize::MAX`.
    pub fn with_strides(shape: &[usize], strides: &[isize], offset: usize) -> Result<Self> {
        if shape.len() != strides.len() {
            return Err(LayoutError::StrideCount { shape: shape.to_vec(), strides: strides.to_vec() });
        }
        checked_size(shape)?;
        if checked_extent(shape, strides, offset).is_none() {
            return Err(LayoutError::OutOfBounds { shape: shape.to_vec(), strides: strides.to_vec(), offset });
        }
        Ok(Self { shape: SmallVec::from_slice(shape), strides: SmallVec::from_slice(strides), offset })
    }

    /// A layout with these strides, in elements, whose lowest element is the first of the block.
    #[doc(hidden)]
    pub fn from_lowest(shape: &[usize], strides: &[isize]) -> Result<Self> {
        let reach =
            |(&len, &stride): (&usize, &isize)| stride.min(0).unsigned_abs().saturating_mul(len.saturating_sub(1));
        let reach = shape.iter().zip(strides).map(reach).fold(0, usize::saturating_add);
        Self::with_strides(shape, strides, if shape.contains(&0) { 0 } else { reach })
    }

    /// The number of axes.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.ndim(), 2);
    /// # anyhow::Ok(())
    /// ```
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The length of each axis.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.shape(), [2, 3]);
    /// # anyhow::Ok(())
    /// ```
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The stride of each axis, in elements.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.strides(), [3, 1]);
    /// # anyhow::Ok(())
    /// ```
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The offset of index `(0, 0, …)` in the block, in elements.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.slice(&s![1, 1])?.offset(), 4);
    /// # anyhow::Ok(())
    /// ```
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of elements.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.size(), 6);
    /// # anyhow::Ok(())
    /// ```
    #[inline]
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the elements are contiguous in C order: the last axis has stride 1. NumPy's rule.
    ///
    /// Axes of length one may have any stride; a layout without elements is contiguous.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert!(x.is_c_contiguous() && !x.transpose(None)?.is_c_contiguous());
    /// # anyhow::Ok(())
    /// ```
    #[inline]
    pub fn is_c_contiguous(&self) -> bool {
        self.is_packed(self.shape.iter().zip(&self.strides).rev())
    }

    /// Whether the elements are contiguous in F order: the first axis has stride 1. NumPy's rule.
    ///
    /// Axes of length one may have any stride; a layout without elements is contiguous.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert!(!x.is_f_contiguous() && x.transpose(None)?.is_f_contiguous());
    /// # anyhow::Ok(())
    /// ```
    pub fn is_f_contiguous(&self) -> bool {
        self.is_packed(self.shape.iter().zip(&self.strides))
    }

    /// The smallest range of the block, in elements, that holds every element. Without elements it is `offset..offset`.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.slice(&s![1, ..2])?.extent(), 3..5);
    /// # anyhow::Ok(())
    /// ```
    pub fn extent(&self) -> Range<usize> {
        checked_extent(&self.shape, &self.strides, self.offset).expect("every constructor checks the extent")
    }

    /// The offset of one element in the block, in elements. Negative indices count from the end.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.offset_of(&[1, -1])?, 5);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::TooManyIndices`], [`LayoutError::TooFewIndices`], [`LayoutError::IndexOutOfRange`].
    pub fn offset_of(&self, index: &[isize]) -> Result<usize> {
        let (given, ndim) = (index.len(), self.ndim());
        if given > ndim {
            return Err(LayoutError::TooManyIndices { given, ndim });
        }
        if given < ndim {
            return Err(LayoutError::TooFewIndices { given, ndim });
        }
        let mut offset = self.offset;
        for (axis, &at) in index.iter().enumerate() {
            offset = advance(offset, self.strides[axis], self.position(axis, at)?);
        }
        Ok(offset)
    }

    #[inline]
    fn is_packed<'a>(&self, fastest_first: impl Iterator<Item = (&'a usize, &'a isize)>) -> bool {
        let mut expected = 1;
        let mut is_packed = true;
        for (&len, &stride) in fastest_first {
            if len == 0 {
                return true;
            }
            is_packed &= len == 1 || stride == expected;
            expected *= len as isize;
        }
        is_packed
    }

    /// Makes a view of this layout. Every view is made here; its elements are elements of this layout.
    /// A view without elements keeps this layout's offset, so that no view starts outside the block.
    fn view(&self, shape: Shape, strides: Strides, offset: usize) -> Self {
        let offset = if shape.contains(&0) { self.offset } else { offset };
        debug_assert!(
            checked_size(&shape).is_ok() && checked_extent(&shape, &strides, offset).is_some(),
            "view of {self:?} as {shape:?} {strides:?} {offset} left the addressable range"
        );
        Self { shape, strides, offset }
    }

    /// An index on an axis, counted from the start.
    fn position(&self, axis: usize, index: isize) -> Result<usize> {
        let len = self.shape[axis];
        let from_front = if index < 0 { len.checked_add_signed(index) } else { usize::try_from(index).ok() };
        from_front.filter(|&at| at < len).ok_or(LayoutError::IndexOutOfRange { axis, index, len })
    }

    fn needs_copy(&self, to: &[usize], order: Order) -> LayoutError {
        let (shape, strides) = (self.shape.to_vec(), self.strides.to_vec());
        LayoutError::NeedsCopy { shape, strides, to: to.to_vec(), order }
    }
}

/// The number of elements. Checks that the product of any of the lengths fits.
fn checked_size(shape: &[usize]) -> Result<usize> {
    if shape.len() > MAX_NDIM {
        return Err(LayoutError::RankTooLarge { ndim: shape.len(), limit: MAX_NDIM });
    }
    let without_zeros =
        shape.iter().try_fold(1_isize, |product, &len| product.checked_mul(len.max(1).try_into().ok()?));
    match without_zeros {
        Some(_) => Ok(shape.iter().product()),
        None => Err(LayoutError::Overflow { shape: shape.to_vec(), itemsize: 1 }),
    }
}

/// The extent, or `None` if an element lies before 0 or past `isize::MAX`. The lengths are checked already.
fn checked_extent(shape: &[usize], strides: &[isize], offset: usize) -> Option<Range<usize>> {
    let (mut low, mut high) = (isize::try_from(offset).ok()?, isize::try_from(offset).ok()?);
    if shape.contains(&0) {
        return Some(offset..offset);
    }
    for (&len, &stride) in shape.iter().zip(strides) {
        let reach = stride.checked_mul(len as isize - 1);
        // The stride of an axis of length one has no meaning.
        let reach = if len == 1 { 0 } else { reach? };
        if reach < 0 { low = low.checked_add(reach)? } else { high = high.checked_add(reach)? }
    }
    Some(usize::try_from(low).ok()?..usize::try_from(high.checked_add(1)?).ok()?)
}

/// The offset plus `count` strides. Wraps around, so it is exact whenever the result fits.
fn advance(offset: usize, stride: isize, count: usize) -> usize {
    offset.wrapping_add_signed(stride.wrapping_mul(count as isize))
}

/// A stride times a factor. The product overflows only for an axis of length one or in a layout without elements, where
/// strides have no meaning; it is 0 then.
fn scaled(stride: isize, factor: isize) -> isize {
    stride.checked_mul(factor).unwrap_or(0)
}
