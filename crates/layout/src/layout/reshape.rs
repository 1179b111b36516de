//! Reshape and ravel: other axes over the same elements in the same order, as views.
//!
//! Where no strides exist for the new shape, the result is [`LayoutError::NeedsCopy`], and the caller decides whether to
//! copy. What the orders `A` and `K` mean is in `order.rs`.

use smallvec::SmallVec;

use super::order::packed_strides;
use super::{IntoReshape, Layout, LayoutError, Order, Result, Shape, Strides, checked_size, scaled};

impl Layout {
    /// Gives the elements another shape: they are read in `order` and fill the new shape in the same order.
    ///
    /// One length may be -1 and is computed. There is a view exactly where NumPy returns one. Negative lengths other than
    /// -1 are refused, although NumPy treats them as -1.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.reshape([-1, 2], Order::C)?.shape(), [3, 2]);
    /// assert!(x.transpose(None)?.reshape(6, Order::C).is_err()); // Needs a copy.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::NeedsCopy`] if no strides exist; [`LayoutError::ReshapeMismatch`],
    /// [`LayoutError::RepeatedUnknown`], [`LayoutError::NegativeLength`]; [`LayoutError::OrderNotAllowed`] for `K`;
    /// [`LayoutError::RankTooLarge`], [`LayoutError::Overflow`].
    pub fn reshape(&self, to: impl IntoReshape, order: Order) -> Result<Self> {
        let to = to.into_reshape();
        let order = self.resolve_order(order, "reshape")?;
        let is_same = to.len() == self.ndim() && to.iter().zip(&self.shape).all(|(&to, &len)| to == len as isize);
        if is_same {
            return Ok(self.clone());
        }
        self.reshape_to(&self.resolve_shape(&to)?, order)
    }

    /// Puts all elements on one axis.
    ///
    /// As in NumPy, there is a view only where the elements are contiguous in `order`; `reshape(&[-1], order)` also
    /// gives strided views. `K` accepts any order of axes.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.ravel(Order::C)?.shape(), [6]);
    /// assert!(x.ravel(Order::F).is_err());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::NeedsCopy`].
    pub fn ravel(&self, order: Order) -> Result<Self> {
        let order = if order == Order::K { order } else { self.resolve_order(order, "ravel")? };
        let is_packed = match order {
            Order::C => self.is_c_contiguous(),
            Order::F => self.is_f_contiguous(),
            Order::A | Order::K => self.is_packed_in_memory(),
        };
        let size = self.size();
        if !is_packed {
            return Err(self.needs_copy(&[size], order));
        }
        Ok(self.view(SmallVec::from_slice(&[size]), SmallVec::from_slice(&[1]), self.offset))
    }

    /// Reshapes to a shape of the same size. `order` is `C` or `F`.
    pub(super) fn reshape_to(&self, to: &[usize], order: Order) -> Result<Self> {
        let is_packed = if order == Order::F { self.is_f_contiguous() } else { self.is_c_contiguous() };
        let strides = match (is_packed, order) {
            (true, Order::F) => Some(packed_strides(to, 0..to.len())),
            (true, _) => Some(packed_strides(to, (0..to.len()).rev())),
            (false, _) => self.regrouped_strides(to, order),
        };
        let strides = strides.ok_or_else(|| self.needs_copy(to, order))?;
        Ok(self.view(SmallVec::from_slice(to), strides, self.offset))
    }

    /// Whether the elements are contiguous in some order of the axes.
    fn is_packed_in_memory(&self) -> bool {
        let axes = self.axes_in_memory();
        self.is_packed(axes.iter().rev().map(|&axis| (&self.shape[axis], &self.strides[axis])))
    }

    /// Replaces a length of -1, and checks that the number of elements is unchanged.
    fn resolve_shape(&self, to: &[isize]) -> Result<Shape> {
        let size = self.size();
        if to.iter().any(|&len| len < -1) {
            return Err(LayoutError::NegativeLength { to: to.to_vec() });
        }
        let lengths = || to.iter().filter_map(|&len| usize::try_from(len).ok());
        let n_unknown = to.iter().filter(|&&len| len == -1).count();
        if n_unknown > 1 {
            return Err(LayoutError::RepeatedUnknown { to: to.to_vec() });
        }
        checked_size(&lengths().chain(std::iter::repeat_n(1, n_unknown)).collect::<Shape>())?;
        let known: usize = lengths().product();
        let unknown = if n_unknown == 1 { size.checked_div(known).unwrap_or(0) } else { 1 };
        if known * unknown != size || (n_unknown == 1 && known == 0) {
            return Err(LayoutError::ReshapeMismatch { from: self.shape.to_vec(), size, to: to.to_vec() });
        }
        Ok(to.iter().map(|&len| usize::try_from(len).unwrap_or(unknown)).collect())
    }

    /// Strides for a new shape over elements that are not packed, or `None` if there are none.
    ///
    /// Takes the shortest groups of old and new axes of equal size. One stride must step through the old axes of a
    /// group; the new axes divide that range. The layout has elements, because a layout without elements is packed.
    fn regrouped_strides(&self, to: &[usize], order: Order) -> Option<Strides> {
        let old = self.shape.iter().zip(&self.strides).filter(|&(&len, _)| len != 1);
        let old: SmallVec<[(usize, isize); 4]> = old.map(|(&len, &stride)| (len, stride)).collect();
        let mut strides = SmallVec::from_elem(0, to.len());
        let (mut old_start, mut new_start) = (0, 0);
        while old_start < old.len() && new_start < to.len() {
            let (mut old_end, mut new_end) = (old_start + 1, new_start + 1);
            let (mut old_size, mut new_size) = (old[old_start].0, to[new_start]);
            while old_size != new_size {
                if new_size < old_size {
                    new_size *= to[new_end];
                    new_end += 1;
                } else {
                    old_size *= old[old_end].0;
                    old_end += 1;
                }
            }
            let stride = joined_stride(&old[old_start..old_end], order)?;
            split_stride(&to[new_start..new_end], stride, order, &mut strides[new_start..new_end]);
            (old_start, new_start) = (old_end, new_end);
        }
        // Only axes of length one are left. Their strides have no meaning; NumPy's values are used.
        let after = match new_start.checked_sub(1) {
            None => 1,
            Some(last) if order == Order::F => scaled(strides[last], to[last] as isize),
            Some(last) => strides[last],
        };
        strides[new_start..].fill(after);
        Some(strides)
    }
}

/// The stride that steps through these axes as one, or `None` if there is none.
fn joined_stride(axes: &[(usize, isize)], order: Order) -> Option<isize> {
    let is_one_axis = axes.windows(2).all(|pair| {
        let (outer, fast) = if order == Order::F { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
        fast.1.checked_mul(fast.0 as isize) == Some(outer.1)
    });
    let fastest = if order == Order::F { axes.first() } else { axes.last() };
    fastest.filter(|_| is_one_axis).map(|&(_, stride)| stride)
}

/// The strides of axes that replace one axis of stride `stride`.
fn split_stride(shape: &[usize], mut stride: isize, order: Order, strides: &mut [isize]) {
    let mut set = |axis: usize| {
        strides[axis] = stride;
        stride = scaled(stride, shape[axis] as isize);
    };
    if order == Order::F { (0..shape.len()).for_each(&mut set) } else { (0..shape.len()).rev().for_each(&mut set) }
}
