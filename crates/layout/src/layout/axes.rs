//! Reordering, dropping and inserting axes: transpose, swap, move, squeeze, expand.
//!
//! [`axis_from_front`] and [`distinct_axes`] decide for the whole crate what an axis number means: negative numbers count
//! from the end. Taking parts of axes is in `slice.rs`, the next file to read.

use smallvec::SmallVec;

use super::{Layout, LayoutError, Order, Result, checked_size};

type Axes = SmallVec<[usize; 4]>;

impl Layout {
    /// Permutes the axes: axis `k` of the result is axis `axes[k]` of this layout. `None` reverses their order.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.transpose(None)?.strides(), [1, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisCount`] unless every axis is named, [`LayoutError::AxisOutOfRange`],
    /// [`LayoutError::RepeatedAxis`].
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<Self> {
        let axes = match axes {
            None => (0..self.ndim()).rev().collect(),
            Some(axes) if axes.len() != self.ndim() => {
                return Err(LayoutError::AxisCount { given: axes.len(), expected: self.ndim() });
            }
            Some(axes) => distinct_axes(axes, self.ndim())?,
        };
        Ok(self.select_axes(&axes))
    }

    /// Exchanges two axes.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.swap_axes(0, -1)?.shape(), [3, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`].
    pub fn swap_axes(&self, first: isize, second: isize) -> Result<Self> {
        let mut axes: Axes = (0..self.ndim()).collect();
        axes.swap(axis_from_front(first, self.ndim())?, axis_from_front(second, self.ndim())?);
        Ok(self.select_axes(&axes))
    }

    /// Moves axis `from[k]` to position `to[k]`. The other axes keep their order.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.move_axis(&[0], &[1])?.strides(), [1, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisCount`] if `from` and `to` differ in length, [`LayoutError::AxisOutOfRange`],
    /// [`LayoutError::RepeatedAxis`].
    pub fn move_axis(&self, from: &[isize], to: &[isize]) -> Result<Self> {
        let (sources, targets) = (distinct_axes(from, self.ndim())?, distinct_axes(to, self.ndim())?);
        if from.len() != to.len() {
            return Err(LayoutError::AxisCount { given: to.len(), expected: from.len() });
        }
        let mut axes: Axes = (0..self.ndim()).filter(|axis| !sources.contains(axis)).collect();
        let mut moves: SmallVec<[(usize, usize); 4]> = targets.into_iter().zip(sources).collect();
        moves.sort_unstable();
        for (target, source) in moves {
            axes.insert(target, source);
        }
        Ok(self.select_axes(&axes))
    }

    /// Removes the named axes, which must have length one; `None` removes every such axis.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.slice(&s![1.., ..])?.squeeze(None)?.shape(), [3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::SqueezeLength`], [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Self> {
        let dropped: Axes = match axes {
            None => (0..self.ndim()).filter(|&axis| self.shape[axis] == 1).collect(),
            Some(axes) => distinct_axes(axes, self.ndim())?,
        };
        if let Some(&axis) = dropped.iter().find(|&&axis| self.shape[axis] != 1) {
            return Err(LayoutError::SqueezeLength { axis, len: self.shape[axis] });
        }
        let kept: Axes = (0..self.ndim()).filter(|axis| !dropped.contains(axis)).collect();
        Ok(self.select_axes(&kept))
    }

    /// Inserts axes of length one at these positions of the result.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.expand_dims(&[0, 3])?.shape(), [1, 2, 3, 1]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::RankTooLarge`], [`LayoutError::AxisOutOfRange`] for the rank of the result,
    /// [`LayoutError::RepeatedAxis`].
    pub fn expand_dims(&self, axes: &[isize]) -> Result<Self> {
        if axes.is_empty() {
            return Ok(self.clone());
        }
        let ndim = self.ndim() + axes.len();
        let inserted = distinct_axes(axes, ndim)?;
        let mut lengths = self.shape.iter().copied();
        let expanded = (0..ndim).map(|axis| if inserted.contains(&axis) { Some(1) } else { lengths.next() });
        let shape: SmallVec<[usize; 4]> = expanded.flatten().collect();
        checked_size(&shape)?;
        self.reshape_to(&shape, Order::C)
    }

    /// Views with at least one axis: one element gets shape `(1,)`. NumPy's `atleast_1d`.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.atleast_1d(), x);
    /// assert_eq!(x.slice(&s![0, 0])?.atleast_1d().shape(), [1]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn atleast_1d(&self) -> Self {
        if self.ndim() == 0 { self.with_unit_axes(&[0]) } else { self.clone() }
    }

    /// Views with at least two axes: new ones are inserted in front. NumPy's `atleast_2d`.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.slice(&s![0])?.atleast_2d().shape(), [1, 3]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn atleast_2d(&self) -> Self {
        match self.ndim() {
            0 => self.with_unit_axes(&[0, 1]),
            1 => self.with_unit_axes(&[0]),
            _ => self.clone(),
        }
    }

    /// Views with at least three axes: shape `(n,)` becomes `(1, n, 1)`, and `(m, n)` becomes `(m, n, 1)`. NumPy's
    /// `atleast_3d`.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.atleast_3d().shape(), [2, 3, 1]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn atleast_3d(&self) -> Self {
        match self.ndim() {
            0 => self.with_unit_axes(&[0, 1, 2]),
            1 => self.with_unit_axes(&[0, 2]),
            2 => self.with_unit_axes(&[2]),
            _ => self.clone(),
        }
    }

    /// Inserts axes of length one where the result has few axes, so nothing can fail.
    fn with_unit_axes(&self, axes: &[isize]) -> Self {
        self.expand_dims(axes).expect("the result has at most three axes, each named once")
    }

    /// The chosen axes, in this order. The others must have length one.
    pub(super) fn select_axes(&self, axes: &[usize]) -> Self {
        let shape = axes.iter().map(|&axis| self.shape[axis]).collect();
        let strides = axes.iter().map(|&axis| self.strides[axis]).collect();
        self.view(shape, strides, self.offset)
    }
}

/// An axis number, counted from the first axis.
pub(super) fn axis_from_front(axis: isize, ndim: usize) -> Result<usize> {
    let from_front = if axis < 0 { ndim.checked_add_signed(axis) } else { usize::try_from(axis).ok() };
    from_front.filter(|&axis| axis < ndim).ok_or(LayoutError::AxisOutOfRange { axis, ndim })
}

/// Axis numbers, counted from the first axis. Refuses an axis that is named twice.
pub(super) fn distinct_axes(axes: &[isize], ndim: usize) -> Result<Axes> {
    let mut distinct = Axes::new();
    for &axis in axes {
        distinct.push(axis_from_front(axis, ndim)?);
    }
    let repeated = distinct.iter().enumerate().find(|(at, axis)| distinct[..*at].contains(axis));
    match repeated {
        Some((_, &axis)) => Err(LayoutError::RepeatedAxis { axis, axes: axes.to_vec() }),
        None => Ok(distinct),
    }
}
