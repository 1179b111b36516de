//! [`Layout::slice`]: taking part of an array by [`Index`], with Python's clipping and signed steps.
//!
//! Positions are computed from lengths and not from strides, so reversed and broadcast layouts are sliced like any other.
//! How an index is written is in `index.rs`; `split.rs` cuts layouts into parts.

use smallvec::SmallVec;

use super::axes::distinct_axes;
use super::{Index, Layout, LayoutError, MAX_NDIM, Result, Shape, Strides, advance, scaled};

impl Layout {
    /// Takes part of the elements: an [`Index`] for each axis. Axes without one are taken whole.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// let reversed = x.slice(&s![1, ..;-1])?;
    /// assert_eq!((reversed.strides(), reversed.offset()), (&[-1][..], 5));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::TooManyIndices`], [`LayoutError::RepeatedEllipsis`], [`LayoutError::IndexOutOfRange`],
    /// [`LayoutError::ZeroStep`], [`LayoutError::RankTooLarge`].
    pub fn slice(&self, index: &[Index]) -> Result<Self> {
        let n_whole = self.count_whole_axes(index)?;
        let mut view = Self { shape: Shape::new(), strides: Strides::new(), offset: self.offset };
        let mut axis = 0;
        for &item in index {
            match item {
                Index::NewAxis => view.push_axis(1, 0),
                Index::Ellipsis => {
                    self.push_whole_axes(axis..axis + n_whole, &mut view);
                    axis += n_whole;
                }
                Index::At(at) => {
                    view.offset = advance(view.offset, self.strides[axis], self.position(axis, at)?);
                    axis += 1;
                }
                Index::Range { start, stop, step } => {
                    let range = ClippedRange::clipped((start, stop, step), self.shape[axis]);
                    let range = range.ok_or(LayoutError::ZeroStep { axis })?;
                    view.offset = advance(view.offset, self.strides[axis], range.first);
                    view.push_axis(range.len, scaled(self.strides[axis], range.step));
                    axis += 1;
                }
            }
        }
        self.push_whole_axes(axis..self.ndim(), &mut view);
        if view.ndim() > MAX_NDIM {
            return Err(LayoutError::RankTooLarge { ndim: view.ndim(), limit: MAX_NDIM });
        }
        Ok(self.view(view.shape, view.strides, view.offset))
    }

    /// Applies an index to one axis and takes the others whole.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.slice_axis(1, 1..)?.shape(), [2, 2]);
    /// assert_eq!(x.slice_axis(0, -1)?.offset(), 3);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`], [`LayoutError::ZeroStep`], and [`LayoutError::IndexOutOfRange`] for an integer.
    pub fn slice_axis(&self, axis: isize, index: impl Into<Index>) -> Result<Self> {
        let axis = super::axes::axis_from_front(axis, self.ndim())?;
        let whole = Index::Range { start: None, stop: None, step: 1 };
        let mut all: SmallVec<[Index; 4]> = SmallVec::from_elem(whole, axis);
        all.push(index.into());
        self.slice(&all)
    }

    /// Reverses the named axes; `None` names all.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.flip(Some(&[1]))?.offsets().collect::<Vec<_>>(), [2, 1, 0, 5, 4, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    pub fn flip(&self, axes: Option<&[isize]>) -> Result<Self> {
        let flipped = match axes {
            None => (0..self.ndim()).collect(),
            Some(axes) => distinct_axes(axes, self.ndim())?,
        };
        let step = |axis| if flipped.contains(&axis) { -1 } else { 1 };
        let index: SmallVec<[Index; 4]> = (0..self.ndim()).map(|axis| Index::stepped(.., step(axis))).collect();
        self.slice(&index)
    }

    /// The number of axes that the ellipsis stands for.
    fn count_whole_axes(&self, index: &[Index]) -> Result<usize> {
        let given = index.iter().filter(|item| matches!(item, Index::At(_) | Index::Range { .. })).count();
        let count = index.iter().filter(|item| matches!(item, Index::Ellipsis)).count();
        if count > 1 {
            return Err(LayoutError::RepeatedEllipsis { count });
        }
        self.ndim().checked_sub(given).ok_or(LayoutError::TooManyIndices { given, ndim: self.ndim() })
    }

    fn push_whole_axes(&self, axes: std::ops::Range<usize>, view: &mut Self) {
        view.shape.extend_from_slice(&self.shape[axes.clone()]);
        view.strides.extend_from_slice(&self.strides[axes]);
    }

    fn push_axis(&mut self, len: usize, stride: isize) {
        self.shape.push(len);
        self.strides.push(stride);
    }
}

/// The positions that a range takes of an axis: `first`, `first + step` and so on, `len` of them.
struct ClippedRange {
    first: usize,
    len: usize,
    step: isize,
}

impl ClippedRange {
    /// Clips `start:stop:step` to an axis as Python does; `None` for a step of zero.
    /// An empty range starts at 0 with step 1, so that strides and offset are NumPy's.
    fn clipped((start, stop, step): (Option<isize>, Option<isize>, isize), len: usize) -> Option<Self> {
        if step == 0 {
            return None;
        }
        let len = len as isize;
        // With a negative step the range ends at -1, before the first element; with a positive one at `len`.
        let (lowest, highest) = if step < 0 { (-1, len - 1) } else { (0, len) };
        let clip = |end: isize| if end < 0 { (end + len).max(lowest) } else { end.min(highest) };
        let start = start.map_or(if step < 0 { highest } else { lowest }, clip);
        let stop = stop.map_or(if step < 0 { lowest } else { highest }, clip);
        let distance = if step < 0 { start - stop } else { stop - start };
        match (usize::try_from(distance), usize::try_from(start)) {
            (Ok(distance), Ok(first)) if distance > 0 => {
                Some(Self { first, len: distance.div_ceil(step.unsigned_abs()), step })
            }
            _ => Some(Self { first: 0, len: 0, step: 1 }),
        }
    }
}
