//! [`Order`]: in which order the elements of an array are contiguous.
//!
//! This file also has the strides of contiguous layouts, and the layout of a new array "like" another one. What an
//! order means for a view is in `reshape.rs`, the next file to read.

use std::fmt;

use smallvec::SmallVec;

use super::{Layout, LayoutError, Strides};

/// An order of elements, by NumPy's four letters.
///
/// ```
/// use vkarray_layout::{Layout, Order};
///
/// assert_eq!(Layout::contiguous(&[2, 3], Order::F)?.strides(), [1, 2]);
/// assert_eq!(Layout::contiguous(&[2, 3], Order::C)?.strides(), [3, 1]);
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// The last axis varies fastest.
    #[default]
    C,
    /// The first axis varies fastest.
    F,
    /// `F` for an array that is F-contiguous and not C-contiguous, otherwise `C`.
    A,
    /// The order of the elements in memory.
    K,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}

impl Layout {
    /// A contiguous layout of the same shape whose axes have the same order in memory.
    ///
    /// NumPy's order `'K'`: C stays C, F stays F, and otherwise axes are sorted by the magnitude of their strides; axes
    /// of equal magnitude keep C order. Offset, gaps, negative strides and broadcasting are not kept.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.slice(&s![.., ..;2])?.transpose(None)?.like().strides(), [1, 2]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn like(&self) -> Self {
        let fresh = if self.size() == 0 {
            SmallVec::from_elem(0, self.ndim())
        } else if self.is_c_contiguous() {
            packed_strides(&self.shape, (0..self.ndim()).rev())
        } else if self.is_f_contiguous() {
            packed_strides(&self.shape, 0..self.ndim())
        } else {
            packed_strides(&self.shape, self.axes_in_memory().into_iter().rev())
        };
        Self { shape: self.shape.clone(), strides: fresh, offset: 0 }
    }

    /// The axes, sorted by falling magnitude of stride; axes of equal magnitude keep C order.
    pub(super) fn axes_in_memory(&self) -> SmallVec<[usize; 4]> {
        let mut axes: SmallVec<[usize; 4]> = (0..self.ndim()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(self.strides[axis].unsigned_abs()));
        axes
    }

    /// Resolves `A` to `C` or `F`, and refuses `K`.
    pub(super) fn resolve_order(&self, order: Order, operation: &'static str) -> Result<Order, LayoutError> {
        match order {
            Order::K => Err(LayoutError::OrderNotAllowed { order, operation }),
            Order::A if self.is_f_contiguous() && !self.is_c_contiguous() => Ok(Order::F),
            Order::A => Ok(Order::C),
            Order::C | Order::F => Ok(order),
        }
    }
}

/// Strides without gaps, for axes named from the fastest to the slowest. A length of zero counts as one, as in NumPy. The
/// caller has checked that the product of the lengths fits.
pub(super) fn packed_strides(shape: &[usize], fastest_first: impl Iterator<Item = usize>) -> Strides {
    let mut strides = SmallVec::from_elem(0, shape.len());
    let mut stride = 1;
    for axis in fastest_first {
        strides[axis] = stride;
        stride *= shape[axis].max(1) as isize;
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_follows_numpy_keep_order() {
        type Case<'a> = (&'a [usize], &'a [isize], usize, &'a [isize]);
        const CASES: &[Case<'_>] = &[
            // Shape, strides, offset, strides of the packed array.
            (&[2, 3], &[3, 1], 5, &[3, 1]),              // C stays C without the offset.
            (&[2, 3], &[1, 2], 0, &[1, 2]),              // F stays F.
            (&[2, 3], &[12, 2], 0, &[3, 1]),             // Gaps are closed.
            (&[2, 3, 4], &[4, 8, 1], 0, &[4, 8, 1]),     // Axes keep their order in memory.
            (&[2, 3, 4], &[-8, 24, -2], 32, &[4, 8, 1]), // By magnitude of stride, not by sign.
            (&[2, 3], &[2, 2], 0, &[3, 1]),              // Equal strides keep C order.
            (&[4, 3], &[0, 1], 0, &[1, 4]),              // A broadcast axis is the fastest one.
            (&[2, 0, 3], &[7, 7, 7], 0, &[0, 0, 0]),     // NumPy's strides of a new empty array.
            (&[], &[], 3, &[]),                          // No axes.
        ];
        for &(shape, strides, offset, packed) in CASES {
            let like = Layout::with_strides(shape, strides, offset).unwrap().like();
            assert_eq!((like.strides(), like.offset()), (packed, 0), "{shape:?} {strides:?}");
        }
    }
}
