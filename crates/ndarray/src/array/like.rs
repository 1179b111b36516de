//! Arrays with the shape and the order of another one, on a device or on the host: NumPy's functions named `_like`.
//!
//! The functions keep the element type. Functions named `_like_as` take another element type.

use ndarray::{ArrayBase, Dimension, RawData};
use num_traits::One;
use smallvec::SmallVec;
use vkarray_kernel::Element;
use vkarray_layout::Layout;

use super::DeviceNDArray;
use super::range::Number;
use crate::context::Context;
use crate::error::Result;

/// What the methods named `_like` take the shape, the order of axes and the element type of: arrays on a device and on the
/// host.
pub trait Prototype {
    /// The type of the elements.
    type Item: Element;

    /// The shape, and strides whose magnitudes have the order of the axes in memory.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for a shape that no layout can have.
    fn prototype(&self) -> Result<Layout>;
}

impl<T: Element> Prototype for DeviceNDArray<T> {
    type Item = T;

    fn prototype(&self) -> Result<Layout> {
        Ok(self.layout().clone())
    }
}

impl<S: RawData<Elem: Element>, D: Dimension> Prototype for ArrayBase<S, D> {
    type Item = S::Elem;

    fn prototype(&self) -> Result<Layout> {
        let strides: SmallVec<[isize; 8]> = self.strides().iter().map(|stride| stride.abs()).collect();
        Ok(Layout::with_strides(self.shape(), &strides, 0)?)
    }
}

impl Context {
    /// Creates an array of the shape and element type of `like`, contiguous, with its axes in the order of `like`'s strides:
    /// NumPy's `empty_like` with order 'K'. `like` is an array on a device or on the host. The contents are undefined. Returns
    /// at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let like = ctx.zeros::<f32>([2, 3])?.t();
    /// let x = ctx.device_array_like(&like)?;
    /// assert_eq!((x.shape(), x.strides(), x.dtype()), (&[3, 2][..], &[1, 3][..], DType::F32));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`].
    #[doc(alias = "empty_like")]
    pub fn device_array_like<L: Prototype>(&self, like: &L) -> Result<DeviceNDArray<L::Item>> {
        self.device_array_like_as(like)
    }

    /// Creates an array as [`Context::device_array_like`] does, of elements of another type.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let like = ctx.zeros::<f32>([2, 3])?.t();
    /// assert_eq!(ctx.device_array_like_as::<u8>(&like)?.strides(), [1, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`].
    pub fn device_array_like_as<T: Element>(&self, like: &impl Prototype) -> Result<DeviceNDArray<T>> {
        self.allocate_any(like.prototype()?.like())
    }

    /// Creates an array of zeros of the shape and element type of `like`, with its axes in the order of `like`'s strides, on the
    /// default stream. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    /// assert_eq!(ctx.zeros_like(&x)?.to_vec()?, [0; 6]); // `i32`, as `x`.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::full`].
    pub fn zeros_like<L: Prototype>(&self, like: &L) -> Result<DeviceNDArray<L::Item>> {
        self.zeros_like_as(like)
    }

    /// Creates an array of zeros as [`Context::zeros_like`] does, of elements of another type.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?;
    /// assert_eq!(ctx.zeros_like_as::<f64>(&x)?.to_vec()?, [0.0; 6]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::full`].
    pub fn zeros_like_as<T: Element>(&self, like: &impl Prototype) -> Result<DeviceNDArray<T>> {
        self.full_like_as(like, T::zeroed())
    }

    /// Creates an array of ones of the shape and element type of `like`, with its axes in the order of `like`'s strides, on the
    /// default stream. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.ones_like(&ctx.zeros::<u8>(3)?)?.to_vec()?, [1; 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::full`].
    pub fn ones_like<L: Prototype<Item: Number>>(&self, like: &L) -> Result<DeviceNDArray<L::Item>> {
        self.full_like(like, L::Item::one())
    }

    /// Creates an array with `value` in every element, of the shape and element type of `like`, with its axes in the order of
    /// `like`'s strides, on the default stream. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?;
    /// assert_eq!(ctx.full_like(&x, 5.0)?.to_vec()?, [5.0; 6]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::full`].
    pub fn full_like<L: Prototype>(&self, like: &L, value: L::Item) -> Result<DeviceNDArray<L::Item>> {
        self.full_like_as(like, value)
    }

    /// Creates an array as [`Context::full_like`] does, with elements of the type of `value`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?;
    /// assert_eq!(ctx.full_like_as(&x, 5_u8)?.to_vec()?, [5; 6]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::full`].
    pub fn full_like_as<T: Element>(&self, like: &impl Prototype, value: T) -> Result<DeviceNDArray<T>> {
        let array = self.device_array_like_as(like)?;
        array.fill_new(value)?;
        Ok(array)
    }
}
