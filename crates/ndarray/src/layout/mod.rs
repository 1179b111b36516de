//! [`Layout`]: which elements of a block an array means.
//!
//! Shape, strides and offset, all in elements, and NumPy's rules for them. Pure arithmetic: no device, no bytes but in
//! [`Layout::nbytes`] and its neighbours, no element type. Every view is a new layout; nothing here copies.
//! The operations live in the submodules, one noun each. Read `order.rs` next, then `reshape.rs` and `slice.rs`.

#![forbid(unsafe_code)]

mod axes;
mod broadcast;
mod coalesce;
mod diagonal;
mod error;
mod index;
mod offsets;
mod order;
mod overlap;
mod reshape;
mod runs;
mod slice;
mod split;
mod view;

#[cfg(test)]
mod tests;

use std::ops::Range;

use smallvec::SmallVec;

pub use broadcast::broadcast_shapes;
pub use error::LayoutError;
pub(crate) use error::tuple;
pub use index::{Index, Span};
pub use offsets::Offsets;
pub use order::Order;
pub use runs::Runs;

/// The most axes a layout may have.
pub const MAX_NDIM: usize = 32;

/// The axes that a layout keeps in itself; of more than these it keeps lists elsewhere.
const N_WITHIN: usize = 4;

type Shape = SmallVec<[usize; N_WITHIN]>;
type Strides = SmallVec<[isize; N_WITHIN]>;
type Result<T> = std::result::Result<T, LayoutError>;

/// Which elements of a block an array means: a length and a stride for each axis, and where the walk begins.
///
/// Element `(i, j, …)` of the array is element `offset + i * strides[0] + j * strides[1] + …` of the block.
/// Three promises hold for every value: the lengths (zeros taken as ones) multiply to at most `isize::MAX`;
/// every element lies in `0..=isize::MAX`; and `offset` does too, also where there are no elements.
/// Strides of axes of length one, and of layouts without elements, mean nothing and may be anything.
///
/// ```
/// use vkarray_ndarray::{Layout, Order, s};
///
/// let image = Layout::contiguous(&[4, 6], Order::C)?;
/// let mirrored = image.slice(&s![.., ..;-1])?;
/// assert_eq!((mirrored.strides(), mirrored.offset()), ([6, -1].as_slice(), 5));
/// # Ok::<(), vkarray_ndarray::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
}

impl Layout {
    /// Lays out `shape` without gaps from offset 0, the last axis fastest (`C`) or the first (`F`).
    ///
    /// Without elements all strides are 0, as in a new NumPy array.
    ///
    /// # Errors
    ///
    /// [`LayoutError::OrderNotAllowed`] for `A` and `K`, [`LayoutError::RankTooLarge`], [`LayoutError::Overflow`].
    #[inline]
    pub fn contiguous(shape: &[usize], order: Order) -> Result<Self> {
        match if order == Order::C { Self::of_few(shape) } else { None } {
            Some(layout) => Ok(layout),
            None => Self::of_any(shape, order),
        }
    }

    /// Lays out a few axes in C order, the most usual case: nothing is called, so that a shape of known length costs a few
    /// instructions. Nothing where that is not all there is to it: no elements, or too many.
    #[inline]
    pub(crate) fn of_few(lens: &[usize]) -> Option<Self> {
        let (mut shape, mut strides, mut stride) = ([0; N_WITHIN], [0; N_WITHIN], 1_isize);
        for axis in (0..lens.len()).rev() {
            *strides.get_mut(axis)? = stride;
            shape[axis] = lens[axis];
            stride = stride.checked_mul(isize::try_from(lens[axis]).ok()?)?;
        }
        let shape = SmallVec::from_buf_and_len(shape, lens.len());
        let strides = SmallVec::from_buf_and_len(strides, lens.len());
        (stride > 0).then_some(Self { shape, strides, offset: 0 })
    }

    fn of_any(shape: &[usize], order: Order) -> Result<Self> {
        let size = checked_size(shape)?;
        let strides = match order {
            Order::A | Order::K => return Err(LayoutError::OrderNotAllowed { order, operation: "contiguous" }),
            _ if size == 0 => SmallVec::from_elem(0, shape.len()),
            Order::C => order::packed_strides(shape, (0..shape.len()).rev()),
            Order::F => order::packed_strides(shape, 0..shape.len()),
        };
        Ok(Self { shape: SmallVec::from_slice(shape), strides, offset: 0 })
    }

    /// Lays out `shape` with any strides, in elements, from element `offset` of the block.
    ///
    /// Whether the block is long enough is the caller's to check, with [`Layout::extent`].
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

    /// The number of axes.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The length of each axis.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The stride of each axis, in elements.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Where index `(0, 0, …)` lies in the block, in elements.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of elements.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether walking the last axis fastest visits the block in order, without gaps.
    ///
    /// Axes of length one may have any stride; a layout without elements is contiguous.
    #[must_use]
    #[inline]
    pub fn is_c_contiguous(&self) -> bool {
        self.is_packed(self.shape.iter().zip(&self.strides).rev())
    }

    /// Whether walking the first axis fastest visits the block in order, without gaps.
    ///
    /// Axes of length one may have any stride; a layout without elements is contiguous.
    #[must_use]
    pub fn is_f_contiguous(&self) -> bool {
        self.is_packed(self.shape.iter().zip(&self.strides))
    }

    /// The part of the block from the first to past the last element touched, in elements.
    ///
    /// Strides of either sign count. Without elements it is `offset..offset`.
    #[must_use]
    pub fn extent(&self) -> Range<usize> {
        checked_extent(&self.shape, &self.strides, self.offset).expect("every constructor has checked the extent")
    }

    /// Where one element lies in the block, in elements. Negative indices count from the end.
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

    /// Bytes of all elements, each counted once a use: a broadcast layout can have more than the block.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`].
    #[inline]
    pub fn nbytes(&self, itemsize: usize) -> Result<u64> {
        self.bytes(self.size(), itemsize)
    }

    /// Bytes from the first to past the last element touched, gaps included.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`].
    pub fn span_bytes(&self, itemsize: usize) -> Result<u64> {
        self.bytes(self.extent().len(), itemsize)
    }

    #[inline]
    pub(crate) fn bytes(&self, elements: usize, itemsize: usize) -> Result<u64> {
        match (elements as u64).checked_mul(itemsize as u64) {
            Some(bytes) => Ok(bytes),
            None => Err(self.overflow(itemsize)),
        }
    }

    #[cold]
    fn overflow(&self, itemsize: usize) -> LayoutError {
        LayoutError::Overflow { shape: self.shape.to_vec(), itemsize }
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

    /// Makes a view of this layout. Every view is made here, from parts that stay inside this layout's extent.
    /// A view without elements keeps this layout's offset, so that no view ever begins outside the block.
    fn view(&self, shape: Shape, strides: Strides, offset: usize) -> Self {
        let offset = if shape.contains(&0) { self.offset } else { offset };
        debug_assert!(
            checked_size(&shape).is_ok() && checked_extent(&shape, &strides, offset).is_some(),
            "view of {self:?} as {shape:?} {strides:?} {offset} left the addressable range"
        );
        Self { shape, strides, offset }
    }

    /// An index on an axis, counted from the front.
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

/// The number of elements, checked so that the product of any of the lengths can be taken.
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

/// The elements touched, or `None` if one lies before 0 or past `isize::MAX`. The lengths are already checked.
fn checked_extent(shape: &[usize], strides: &[isize], offset: usize) -> Option<Range<usize>> {
    let (mut low, mut high) = (isize::try_from(offset).ok()?, isize::try_from(offset).ok()?);
    if shape.contains(&0) {
        return Some(offset..offset);
    }
    for (&len, &stride) in shape.iter().zip(strides) {
        let reach = stride.checked_mul(len as isize - 1);
        // An axis of length one reaches nowhere, whatever its stride.
        let reach = if len == 1 { 0 } else { reach? };
        if reach < 0 { low = low.checked_add(reach)? } else { high = high.checked_add(reach)? }
    }
    Some(usize::try_from(low).ok()?..usize::try_from(high.checked_add(1)?).ok()?)
}

/// The offset `count` strides further on. Wraps, which is exact whenever the true result fits.
fn advance(offset: usize, stride: isize, count: usize) -> usize {
    offset.wrapping_add_signed(stride.wrapping_mul(count as isize))
}

/// A stride times a factor. It overflows only for an axis of length one or in an empty layout,
/// where no stride means anything; 0 stands in for it there.
fn scaled(stride: isize, factor: isize) -> isize {
    stride.checked_mul(factor).unwrap_or(0)
}
