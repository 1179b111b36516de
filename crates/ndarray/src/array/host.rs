//! Arrays in memory that the host addresses: how they are created, and how the host reads and writes them in place.
//!
//! Pinned, mapped and shared arrays (`shared.rs`) are used like all other arrays: they have views, kernels take them,
//! and copies to and from them need no staging. The guards here give the host access to the elements. Each holds a
//! guard of the allocator crate (`allocator/host_guard.rs`), which keeps the device from using the same bytes.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use ndarray::{ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, StrideShape};
use vkarray_allocator::{self as allocator, HostOptions};
use vkarray_kernel::Element;
use vkarray_layout::{IntoShape, Layout, Order};

use super::{DeviceNDArray, Prototype};
use crate::context::Context;
use crate::error::{Error, Result};

/// The elements of an array while the host has access to them in place, through the guard `B` of their bytes.
///
/// The device may not use them in a way that conflicts. See [`HostRead`] and [`HostWrite`].
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.pinned_array::<f32>([2, 2])?;
/// x.write_on_host()?.view_mut().fill(1.0);
/// assert_eq!(x.read_on_host()?.view().sum(), 4.0);
/// # anyhow::Ok(())
/// ```
pub struct HostElements<'a, T: Element, B> {
    bytes: B,
    layout: &'a Layout,
    element: PhantomData<T>,
}

/// The elements of an array while the host reads them in place. The device may read them too, but not write them. Made by
/// [`DeviceNDArray::read_on_host`].
pub type HostRead<'a, T> = HostElements<'a, T, allocator::HostRead<'a>>;

/// The elements of an array while the host reads and writes them in place. The device may not use them. Made by
/// [`DeviceNDArray::write_on_host`].
pub type HostWrite<'a, T> = HostElements<'a, T, allocator::HostWrite<'a>>;

impl Context {
    /// Creates an array in C order in pinned host memory, which the device copies at the full speed of the bus and the host
    /// reads fast. Its contents are undefined. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pinned_array::<f32>(4)?;
    /// x.write_on_host()?.view_mut().fill(1.5); // In place, without a copy.
    /// assert_eq!(x.to_vec()?, [1.5; 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`].
    pub fn pinned_array<T: Element>(&self, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        self.on_host(Layout::contiguous(shape.into_shape().as_ref(), Order::C)?, HostOptions::default())
    }

    /// Creates a pinned array of the same shape and element type, with its axes in the order of `like`'s strides. Its
    /// contents are undefined.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?;
    /// let staging = ctx.pinned_array_like(&x)?;
    /// staging.copy_from_device(&x)?;
    /// assert_eq!(staging.read_on_host()?.view().sum(), 0.0);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`].
    pub fn pinned_array_like<L: Prototype>(&self, like: &L) -> Result<DeviceNDArray<L::Item>> {
        self.on_host(like.prototype()?.like(), HostOptions::default())
    }

    /// Creates an array in C order in host memory that kernels address, over the bus. Its contents are undefined.
    ///
    /// With [`HostOptions::wc`] the memory is write-combined: the host should write it in order and not read it, which is slow.
    ///
    /// ```
    /// use vkarray::memory::HostOptions;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.mapped_array::<i32>(3, HostOptions::default())?;
    /// x.write_on_host()?.as_mut_slice().unwrap().copy_from_slice(&[1, 2, 3]);
    /// assert_eq!(x.to_vec()?, [1, 2, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if the memory manager does not support `options`; and the errors of
    /// [`Context::device_array`].
    pub fn mapped_array<T: Element>(&self, shape: impl IntoShape, options: HostOptions) -> Result<DeviceNDArray<T>> {
        self.on_host(Layout::contiguous(shape.into_shape().as_ref(), Order::C)?, options.mapped(true))
    }

    /// Creates a mapped array of the same shape and element type, with its axes in the order of `like`'s strides. Its
    /// contents are undefined.
    ///
    /// ```
    /// use vkarray::memory::HostOptions;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?;
    /// let mapped = ctx.mapped_array_like(&x, HostOptions::default())?;
    /// assert_eq!(mapped.shape(), [2, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::mapped_array`].
    pub fn mapped_array_like<L: Prototype>(&self, like: &L, options: HostOptions) -> Result<DeviceNDArray<L::Item>> {
        self.on_host(like.prototype()?.like(), options.mapped(true))
    }

    fn on_host<T: Element>(&self, layout: Layout, options: HostOptions) -> Result<DeviceNDArray<T>> {
        let block = self.allocator().allocate_host(layout.span_bytes(size_of::<T>())?, options)?;
        DeviceNDArray::new(self, block, layout)
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// Gives the host read access to the elements in place. Blocks until no work writes them.
    ///
    /// While the guard exists, work that would write the elements, or bytes between the elements of a view with gaps,
    /// is refused. If the guard is leaked, such work is refused for as long as the memory exists.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pinned_array::<f32>([2, 2])?;
    /// x.fill(2.0)?;
    /// let elements = x.read_on_host()?; // Waits for the fill.
    /// assert_eq!(elements.view().sum(), 8.0);
    /// assert!(x.fill(3.0).is_err()); // The host is reading.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NotOnHost`](allocator::Error::NotOnHost) for an array in device memory;
    /// [`HeldByHost`](vkarray_driver::Error::HeldByHost) while another guard can write the elements; and the errors of
    /// waiting for work that writes them.
    pub fn read_on_host(&self) -> Result<HostRead<'_, T>> {
        let bytes = self.block().read_on_host(self.layout().byte_extent(size_of::<T>()))?;
        Ok(HostElements { bytes, layout: self.layout(), element: PhantomData })
    }

    /// Gives the host read and write access to the elements in place. Blocks until no work uses them.
    ///
    /// While the guard exists, work that would use the elements is refused; see [`DeviceNDArray::read_on_host`].
    ///
    /// ```
    /// use vkarray::ndarray::arr2;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pinned_array::<f32>([2, 2])?;
    /// x.t().write_on_host()?.view_mut().assign(&arr2(&[[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(x.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::SharedElements`] if several elements share memory; [`Error::InterleavedAxes`] if
    /// no elements share memory but a stride is not larger than the range that all smaller strides span, which a
    /// mutable host array cannot have; and the errors of [`DeviceNDArray::read_on_host`], also while another guard
    /// reads elements.
    pub fn write_on_host(&self) -> Result<HostWrite<'_, T>> {
        self.check_writable()?;
        if !self.layout().is_nested() {
            return Err(Error::InterleavedAxes { shape: self.shape().to_vec(), strides: self.strides().to_vec() });
        }
        let bytes = self.block().write_on_host(self.layout().byte_extent(size_of::<T>()))?;
        Ok(HostElements { bytes, layout: self.layout(), element: PhantomData })
    }
}

impl<T: Element, B: Deref<Target = [u8]>> HostElements<'_, T, B> {
    /// The elements, read in place.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pinned_array::<f32>([2, 3])?;
    /// x.fill(0.5)?;
    /// assert_eq!(x.t().read_on_host()?.view().shape(), [3, 2]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn view(&self) -> ArrayViewD<'_, T> {
        let (shape, reversed) = with_positive_strides(self.layout);
        let mut view = ArrayViewD::from_shape(shape, bytemuck::cast_slice(&self.bytes)).expect(FITS);
        reversed.into_iter().for_each(|axis| view.invert_axis(axis));
        view
    }

    /// The elements in the order of memory, if they are contiguous in C or F order.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pinned_array::<i32>(4)?;
    /// x.fill(3)?;
    /// assert_eq!(x.read_on_host()?.as_slice(), Some(&[3; 4][..]));
    /// assert_eq!(x.slice(s![..;2])?.read_on_host()?.as_slice(), None); // Has gaps.
    /// # anyhow::Ok(())
    /// ```
    pub fn as_slice(&self) -> Option<&[T]> {
        is_contiguous(self.layout).then(|| bytemuck::cast_slice(&self.bytes))
    }
}

impl<T: Element, B: DerefMut<Target = [u8]>> HostElements<'_, T, B> {
    /// The elements, read and written in place.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pinned_array::<i32>([2, 2])?;
    /// x.write_on_host()?.view_mut()[[1, 0]] = 5;
    /// assert_eq!(x.get([1, 0])?, 5);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let (shape, reversed) = with_positive_strides(self.layout);
        let mut view = ArrayViewMutD::from_shape(shape, bytemuck::cast_slice_mut(&mut self.bytes)).expect(FITS);
        reversed.into_iter().for_each(|axis| view.invert_axis(axis));
        view
    }

    /// The elements in the order of memory, mutable, if they are contiguous in C or F order.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pinned_array::<i32>(3)?;
    /// x.write_on_host()?.as_mut_slice().unwrap().copy_from_slice(&[1, 2, 3]);
    /// assert_eq!(x.to_vec()?, [1, 2, 3]);
    /// # anyhow::Ok(())
    /// ```
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        is_contiguous(self.layout).then(|| bytemuck::cast_slice_mut(&mut self.bytes))
    }
}

const FITS: &str = "the guard has the bytes of the layout's extent";

fn is_contiguous(layout: &Layout) -> bool {
    layout.is_c_contiguous() || layout.is_f_contiguous()
}

/// The layout within its own extent, with positive strides, and the axes that have to be reversed afterwards.
fn with_positive_strides(layout: &Layout) -> (StrideShape<IxDyn>, Vec<Axis>) {
    let reversed =
        layout.strides().iter().enumerate().filter(|&(axis, &stride)| stride < 0 && layout.shape()[axis] > 1);
    let reversed = reversed.map(|(axis, _)| Axis(axis)).collect();
    // Strides without a meaning may be outside the extent.
    let stride =
        |(&stride, &len): (&isize, &usize)| if len > 1 && layout.size() > 0 { stride.unsigned_abs() } else { 0 };
    let strides: Vec<usize> = layout.strides().iter().zip(layout.shape()).map(stride).collect();
    (IxDyn(layout.shape()).strides(IxDyn(&strides)), reversed)
}

vkarray_driver::debug_fields!([T: Element, B] HostElements<'_, T, B>, this => shape: this.layout.shape());

#[cfg(test)]
mod tests {
    use ndarray::ArrayView1;

    use super::*;
    use vkarray_layout::Index;

    /// The elements of several views of a small array are compared with the offsets of their layouts.
    #[test]
    fn a_view_on_the_host_has_the_elements_of_the_layout() {
        let base = Layout::contiguous(&[2, 3, 4], Order::C).unwrap();
        let all = || Index::from(..);
        let layouts = [
            base.clone(),
            base.transpose(None).unwrap(),
            base.flip(None).unwrap(),
            base.slice(&[all(), Index::stepped(.., -2), Index::stepped(1.., 2)]).unwrap(),
            base.slice(&[Index::from(1), all(), Index::from(2)]).unwrap(),
            base.slice(&[Index::from(1..1), Index::stepped(.., -1)]).unwrap(), // No elements.
            base.slice(&[Index::from(1..), Index::from(2), Index::from(3)]).unwrap().broadcast_to(&[3, 1]).unwrap(),
            base.slice(&[Index::from(0)]).unwrap().broadcast_to(&[5, 3, 4]).unwrap(),
            Layout::contiguous(&[], Order::C).unwrap(),
        ];
        let elements: Vec<usize> = (0..24).collect();
        for layout in layouts {
            let (shape, reversed) = with_positive_strides(&layout);
            let held = ArrayView1::from(&elements[layout.extent()]);
            let mut view = ArrayViewD::from_shape(shape, held.as_slice().unwrap()).expect(FITS);
            reversed.into_iter().for_each(|axis| view.invert_axis(axis));
            assert_eq!(view.shape(), layout.shape());
            assert!(view.iter().copied().eq(layout.offsets()), "{layout:?}: {view:?}");
        }
    }
}
