//! Which axes a reduction is over: [`IntoAxes`].

use std::ops::RangeFull;

use smallvec::SmallVec;
use vkarray_layout::{IntoReshape, Layout, Order};

use crate::error::Result;

/// The axes of a reduction, and whether the result keeps them with length one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axes {
    /// The axes, or `None` for all axes. Negative numbers count from the end.
    axes: Option<SmallVec<[isize; 4]>>,
    keeps: bool,
}

/// What can name the axes of a reduction: one axis, an array or a slice of axes, `..` for all axes, or [`keepdims`] of
/// one of these. An axis is an `isize`, `i32`, `usize` or `u32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name axes",
    label = "axes are one number or a list of numbers, each a `usize`, `isize`, `u32` or `i32`, or `..` for all axes"
)]
pub trait IntoAxes {
    /// The axes.
    fn into_axes(self) -> Axes;
}

/// Keeps the axes in the result with length one: NumPy's `keepdims=True`.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::keepdims;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.ones::<f32>([2, 3])?;
/// assert_eq!(x.sum(keepdims(-1))?.shape(), [2, 1]);
/// # anyhow::Ok(())
/// ```
#[must_use]
pub fn keepdims(axes: impl IntoAxes) -> Axes {
    Axes { keeps: true, ..axes.into_axes() }
}

impl IntoAxes for Axes {
    fn into_axes(self) -> Axes {
        self
    }
}

impl IntoAxes for RangeFull {
    fn into_axes(self) -> Axes {
        Axes { axes: None, keeps: false }
    }
}

/// Implements [`IntoAxes`] for one axis, an array and a slice of axes of this type. A number that does not fit `isize`
/// becomes one that no shape has, so that it is refused later.
macro_rules! axes_from {
    ($($integer:ty)*) => { $(
        impl IntoAxes for $integer {
            fn into_axes(self) -> Axes {
                [self].into_axes()
            }
        }

        impl IntoAxes for &[$integer] {
            fn into_axes(self) -> Axes {
                Axes { axes: Some(self.into_reshape()), keeps: false }
            }
        }

        impl<const N: usize> IntoAxes for [$integer; N] {
            fn into_axes(self) -> Axes {
                self.as_slice().into_axes()
            }
        }
    )* };
}

axes_from!(isize i32 usize u32);

/// The axes of a shape, split into kept and reduced ones, each in order, and the shape of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) kept: SmallVec<[usize; 4]>,
    pub(super) reduced: SmallVec<[usize; 4]>,
    pub(super) shape: SmallVec<[usize; 4]>,
    /// Number of elements that each result is reduced from.
    pub(super) count: usize,
}

impl Axes {
    /// Splits the axes of a shape.
    pub(super) fn split(&self, shape: &[usize]) -> Result<Split> {
        let reduced: SmallVec<[usize; 4]> = match &self.axes {
            None => (0..shape.len()).collect(),
            Some(axes) => {
                // The array crate checks the axis numbers and words their errors.
                Layout::contiguous(shape, Order::C)?.flip(Some(axes))?;
                let from_front = |&axis: &isize| axis.rem_euclid(shape.len().cast_signed()).cast_unsigned();
                let mut axes: SmallVec<[usize; 4]> = axes.iter().map(from_front).collect();
                axes.sort_unstable();
                axes
            }
        };
        let is_reduced = |axis: &usize| reduced.contains(axis);
        let kept = (0..shape.len()).filter(|axis| !is_reduced(axis)).collect();
        let lens = (0..shape.len()).filter(|axis| self.keeps || !is_reduced(axis));
        let result = lens.map(|axis| if is_reduced(&axis) { 1 } else { shape[axis] }).collect();
        let count = reduced.iter().map(|&axis| shape[axis]).product();
        Ok(Split { kept, reduced, shape: result, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_split_a_shape() {
        let cases: [(Axes, &[usize], &[usize], usize); 5] = [
            ((..).into_axes(), &[0, 1, 2], &[], 24),
            (keepdims(..), &[0, 1, 2], &[1, 1, 1], 24),
            ((-1_isize).into_axes(), &[2], &[2, 3], 4),
            ([2_usize, 0].into_axes(), &[0, 2], &[3], 8),
            (keepdims([1]), &[1], &[2, 1, 4], 3),
        ];
        for (axes, reduced, shape, count) in cases {
            let split = axes.split(&[2, 3, 4]).unwrap();
            assert_eq!((&*split.reduced, &*split.shape, split.count), (reduced, shape, count), "{axes:?}");
        }
        assert!([0_i32, 0].into_axes().split(&[2]).is_err() && 1_u32.into_axes().split(&[2]).is_err());
        assert_eq!((..).into_axes().split(&[]).unwrap().count, 1);
    }
}
