//! The views of an array: other shapes, parts, axes and element types of the same memory. Nothing here copies.
//!
//! Which views exist is the layout's to say (`layout/`); each is born in `DeviceNDArray::with_layout`, so that it keeps
//! context, memory and the read-only flag. Copies are in `transfer.rs`.

use vkarray_kernel::Element;

use super::DeviceNDArray;
use crate::error::{Error, Result};
use crate::layout::{Index, Layout, Order};

impl<T: Element> DeviceNDArray<T> {
    /// Views the elements, in C order, as `shape`, one length of which may be -1. Never copies.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`]: the element counts differ, or the elements cannot be viewed so without
    /// a copy.
    pub fn reshape(&self, shape: impl AsRef<[isize]>) -> Result<Self> {
        self.reshape_with_order(shape, Order::C)
    }

    /// Views the elements, in the given order, as `shape`, one length of which may be -1. Never copies.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::reshape`].
    pub fn reshape_with_order(&self, shape: impl AsRef<[isize]>, order: Order) -> Result<Self> {
        Ok(self.with_layout(self.layout().reshape(shape.as_ref(), order)?))
    }

    /// Views all elements, in the given order, on one axis. Never copies.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the elements cannot be viewed so without a copy.
    pub fn ravel(&self, order: Order) -> Result<Self> {
        Ok(self.with_layout(self.layout().ravel(order)?))
    }

    /// Views the array with its axes in the given order, or reversed without one. Never copies.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if `axes` is not a permutation of the axes.
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<Self> {
        Ok(self.with_layout(self.layout().transpose(axes)?))
    }

    /// Views a part of the array. Never copies.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if an index is out of range or there are too many.
    pub fn slice(&self, index: &[Index]) -> Result<Self> {
        Ok(self.with_layout(self.layout().slice(index)?))
    }

    /// Views what is at one place on the first axes, which go. An index for each axis leaves an array without axes, of
    /// one element. Negative indices count from the end.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if an index is out of range or there are too many.
    pub fn index(&self, index: &[isize]) -> Result<Self> {
        let index: Vec<_> = index.iter().map(|&at| Index::At(at)).collect();
        self.slice(&index)
    }

    /// Iterates over the first axis: a view of each of its places, as numba and NumPy do.
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`] for an array without axes.
    pub fn outer_iter(&self) -> Result<impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + use<'_, T>> {
        let Some(&len) = self.shape().first() else { return Err(Error::NoAxis { operation: "outer_iter" }) };
        Ok((0..len).map(|at| {
            let place = self.layout().slice(&[Index::from(at)]).expect("the place is on the axis");
            self.with_layout(place)
        }))
    }

    /// Views the elements repeated along new leading axes and along axes of length one. NumPy's rules.
    ///
    /// Several elements of the view share memory, so copies into it are refused.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if a length is neither one nor the asked one, or axes are missing.
    pub fn broadcast_to(&self, shape: impl AsRef<[usize]>) -> Result<Self> {
        Ok(self.with_layout(self.layout().broadcast_to(shape.as_ref())?))
    }

    /// Views the array without the named axes, which must have length one; `None` drops every such axis.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if an axis is longer, does not exist or is named twice.
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Self> {
        Ok(self.with_layout(self.layout().squeeze(axes)?))
    }

    /// Views the array with new axes of length one, at these places of the result.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the result has too many axes, or a place does not exist or is named twice.
    pub fn expand_dims(&self, axes: &[isize]) -> Result<Self> {
        Ok(self.with_layout(self.layout().expand_dims(axes)?))
    }

    /// Views two axes exchanged.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if an axis does not exist.
    pub fn swap_axes(&self, first: isize, second: isize) -> Result<Self> {
        Ok(self.with_layout(self.layout().swap_axes(first, second)?))
    }

    /// Views axis `from[k]` at place `to[k]`, the other axes in their old order around it.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the lists differ in length, or an axis does not exist or is named twice.
    pub fn move_axis(&self, from: &[isize], to: &[isize]) -> Result<Self> {
        Ok(self.with_layout(self.layout().move_axis(from, to)?))
    }

    /// Cuts an array of one axis into views of `len` elements; the last may be shorter. numba's `split`.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if there is not exactly one axis, or `len` is zero.
    pub fn split(&self, len: usize) -> Result<Vec<Self>> {
        Ok(self.with_layouts(self.layout().split(len)?))
    }

    /// Cuts an axis into this many views; the first ones are one longer where it does not divide. NumPy's
    /// `array_split` with a number.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the axis does not exist, or `sections` is zero.
    pub fn array_split(&self, sections: usize, axis: isize) -> Result<Vec<Self>> {
        Ok(self.with_layouts(self.layout().array_split(sections, axis)?))
    }

    /// Cuts an axis before each of these positions, clipped and counted as in a slice. NumPy's `split` with a list.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the axis does not exist.
    pub fn split_at(&self, positions: &[isize], axis: isize) -> Result<Vec<Self>> {
        Ok(self.with_layouts(self.layout().split_at(positions, axis)?))
    }

    /// Views the same bytes as elements of another type. Where its size differs, the last axis grows or shrinks.
    ///
    /// NumPy's rules, but that the new elements lie at whole multiples of their size in the memory.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the sizes differ and the last axis has gaps or does not divide, or there is no axis; or an
    /// element would not lie at a multiple of its size.
    pub fn view<U: Element>(&self) -> Result<DeviceNDArray<U>> {
        Ok(self.with_layout(self.layout().view_as(size_of::<T>(), size_of::<U>())?))
    }

    fn with_layouts(&self, layouts: Vec<Layout>) -> Vec<Self> {
        layouts.into_iter().map(|layout| self.with_layout(layout)).collect()
    }
}
