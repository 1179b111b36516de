//! Arrays in memory that the host addresses: how they are made, and how the host reads and writes them in place.
//!
//! Pinned, mapped and shared arrays are arrays like any other: they have views, kernels take them, copies to and from
//! them need no staging. The guards here open them to the host; what keeps host and device apart is `host.rs` of the
//! allocator crate.

use std::fmt;
use std::marker::PhantomData;

use ndarray::{ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, StrideShape};
use vkarray_allocator::{self as allocator, HostOptions, MemoryKind};
use vkarray_kernel::Element;

use super::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;
use crate::layout::{Layout, Order};

/// The elements of an array, read in place by the host. The device may read them too, and not write them.
pub struct HostRead<'a, T: Element> {
    bytes: allocator::HostRead<'a>,
    layout: &'a Layout,
    element: PhantomData<T>,
}

/// The elements of an array, read and written in place by the host. The device uses none of them.
pub struct HostWrite<'a, T: Element> {
    bytes: allocator::HostWrite<'a>,
    layout: &'a Layout,
    element: PhantomData<T>,
}

impl Context {
    /// Creates an array in C order in pinned host memory, which the device copies from and to at the full speed of the
    /// bus and the host reads fast. Its contents are undefined. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn pinned_array<T: Element>(&self, shape: impl AsRef<[usize]>) -> Result<DeviceNDArray<T>> {
        self.pinned_array_with_order(shape, Order::C)
    }

    /// Creates an array in the given order in pinned host memory. Otherwise as [`Context::pinned_array`].
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn pinned_array_with_order<T: Element>(
        &self,
        shape: impl AsRef<[usize]>,
        order: Order,
    ) -> Result<DeviceNDArray<T>> {
        self.on_host(Layout::contiguous(shape.as_ref(), order)?, HostOptions::default())
    }

    /// Creates a pinned array of the same shape, packed in the order of `like`'s strides. Its contents are undefined.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn pinned_array_like<T: Element, U: Element>(&self, like: &DeviceNDArray<U>) -> Result<DeviceNDArray<T>> {
        self.on_host(like.layout().like(), HostOptions::default())
    }

    /// Creates an array in C order in host memory that kernels address, over the bus. Its contents are undefined.
    ///
    /// With [`HostOptions::wc`] it is written in order by the host and not read by it, which is then slow.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`]; [`Error::Memory`](crate::Error::Memory) if the memory manager does not do what
    /// `options` ask for.
    pub fn mapped_array<T: Element>(
        &self,
        shape: impl AsRef<[usize]>,
        options: HostOptions,
    ) -> Result<DeviceNDArray<T>> {
        self.on_host(Layout::contiguous(shape.as_ref(), Order::C)?, options.mapped(true))
    }

    /// Creates a mapped array of the same shape, packed in the order of `like`'s strides. Its contents are undefined.
    ///
    /// # Errors
    ///
    /// As [`Context::mapped_array`].
    pub fn mapped_array_like<T: Element, U: Element>(
        &self,
        like: &DeviceNDArray<U>,
        options: HostOptions,
    ) -> Result<DeviceNDArray<T>> {
        self.on_host(like.layout().like(), options.mapped(true))
    }

    /// Creates an array in C order in device memory that the host addresses. Its contents are undefined.
    ///
    /// Nothing migrates: it is the device's own memory, and the host reaches it over the bus, which is slow to read.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`]; [`NoSuchMemory`](allocator::Error::NoSuchMemory) where the device has none.
    pub fn shared_array<T: Element>(&self, shape: impl AsRef<[usize]>) -> Result<DeviceNDArray<T>> {
        let layout = Layout::contiguous(shape.as_ref(), Order::C)?;
        let block = self.allocator().allocate(layout.span_bytes(size_of::<T>())?, MemoryKind::Shared)?;
        DeviceNDArray::new(self, block, layout)
    }

    fn on_host<T: Element>(&self, layout: Layout, options: HostOptions) -> Result<DeviceNDArray<T>> {
        let block = self.allocator().allocate_host(layout.span_bytes(size_of::<T>())?, options)?;
        DeviceNDArray::new(self, block, layout)
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// Opens the elements to be read in place by the host. Blocks until no work writes them.
    ///
    /// While the guard lives, work that would write them is refused; so are bytes between the elements of a view with
    /// gaps. A guard that is leaked keeps such work off for as long as the memory lives.
    ///
    /// # Errors
    ///
    /// [`NotOnHost`](allocator::Error::NotOnHost) for an array in device memory;
    /// [`HeldByHost`](vkarray_driver::Error::HeldByHost) while another guard writes elements; those of waiting.
    pub fn read_on_host(&self) -> Result<HostRead<'_, T>> {
        let bytes = self.block().read_on_host(self.byte_extent())?;
        Ok(HostRead { bytes, layout: self.layout(), element: PhantomData })
    }

    /// Opens the elements to be read and written in place by the host. Blocks until no work uses them.
    ///
    /// While the guard lives, work that would use them is refused; see [`DeviceNDArray::read_on_host`].
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::read_on_host`], also while another guard reads elements;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly); [`Error::SharedElements`](crate::Error::SharedElements) if several
    /// elements share memory.
    pub fn write_on_host(&self) -> Result<HostWrite<'_, T>> {
        self.check_writable()?;
        let bytes = self.block().write_on_host(self.byte_extent())?;
        Ok(HostWrite { bytes, layout: self.layout(), element: PhantomData })
    }

    fn byte_extent(&self) -> std::ops::Range<u64> {
        let (extent, itemsize) = (self.layout().extent(), size_of::<T>() as u64);
        extent.start as u64 * itemsize..extent.end as u64 * itemsize
    }
}

impl<T: Element> HostRead<'_, T> {
    /// The elements.
    #[must_use]
    pub fn view(&self) -> ArrayViewD<'_, T> {
        viewed(&self.bytes, self.layout)
    }

    /// The elements in the order of memory, if there are no gaps between them.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[T]> {
        is_packed(self.layout).then(|| bytemuck::cast_slice(&self.bytes))
    }
}

impl<T: Element> HostWrite<'_, T> {
    /// The elements.
    #[must_use]
    pub fn view(&self) -> ArrayViewD<'_, T> {
        viewed(&self.bytes, self.layout)
    }

    /// The elements, to be written.
    #[must_use]
    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let (shape, reversed) = walked_upwards(self.layout);
        let mut view = ArrayViewMutD::from_shape(shape, bytemuck::cast_slice_mut(&mut self.bytes)).expect(FITS);
        reversed.into_iter().for_each(|axis| view.invert_axis(axis));
        view
    }

    /// The elements in the order of memory, to be written, if there are no gaps between them.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        is_packed(self.layout).then(|| bytemuck::cast_slice_mut(&mut self.bytes))
    }
}

const FITS: &str = "the guard holds the layout's extent";

/// The elements that a guard holds the bytes of.
fn viewed<'a, T: Element>(bytes: &'a [u8], layout: &Layout) -> ArrayViewD<'a, T> {
    let (shape, reversed) = walked_upwards(layout);
    let mut view = ArrayViewD::from_shape(shape, bytemuck::cast_slice(bytes)).expect(FITS);
    reversed.into_iter().for_each(|axis| view.invert_axis(axis));
    view
}

fn is_packed(layout: &Layout) -> bool {
    layout.is_c_contiguous() || layout.is_f_contiguous()
}

/// The layout over its own extent with all strides positive, and the axes that are to be reversed then.
fn walked_upwards(layout: &Layout) -> (StrideShape<IxDyn>, Vec<Axis>) {
    let reversed =
        layout.strides().iter().enumerate().filter(|&(axis, &stride)| stride < 0 && layout.shape()[axis] > 1);
    let reversed = reversed.map(|(axis, _)| Axis(axis)).collect();
    // Strides that mean nothing are not checked against the extent.
    let stride =
        |(&stride, &len): (&isize, &usize)| if len > 1 && layout.size() > 0 { stride.unsigned_abs() } else { 0 };
    let strides: Vec<usize> = layout.strides().iter().zip(layout.shape()).map(stride).collect();
    (IxDyn(layout.shape()).strides(IxDyn(&strides)), reversed)
}

impl<T: Element> fmt::Debug for HostRead<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRead").field("shape", &self.layout.shape()).finish_non_exhaustive()
    }
}

impl<T: Element> fmt::Debug for HostWrite<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostWrite").field("shape", &self.layout.shape()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayView1;

    use super::*;
    use crate::layout::Index;

    /// Every layout that a few views of a small array give, against the layout's own walk.
    #[test]
    fn a_view_of_the_host_visits_the_elements_that_the_layout_means() {
        let base = Layout::contiguous(&[2, 3, 4], Order::C).unwrap();
        let all = || Index::from(..);
        let layouts = [
            base.clone(),
            base.transpose(None).unwrap(),
            base.flip(None).unwrap(),
            base.slice(&[all(), Index::stepped(.., -2), Index::stepped(1.., 2)]).unwrap(),
            base.slice(&[Index::from(1), all(), Index::from(2)]).unwrap(),
            base.slice(&[Index::from(1..1), Index::stepped(.., -1)]).unwrap(), // Nothing at all.
            base.slice(&[Index::from(1..), Index::from(2), Index::from(3)]).unwrap().broadcast_to(&[3, 1]).unwrap(),
            base.slice(&[Index::from(0)]).unwrap().broadcast_to(&[5, 3, 4]).unwrap(),
            Layout::contiguous(&[], Order::C).unwrap(),
        ];
        let elements: Vec<usize> = (0..24).collect();
        for layout in layouts {
            let (shape, reversed) = walked_upwards(&layout);
            let held = ArrayView1::from(&elements[layout.extent()]);
            let mut view = ArrayViewD::from_shape(shape, held.as_slice().unwrap()).expect(FITS);
            reversed.into_iter().for_each(|axis| view.invert_axis(axis));
            assert_eq!(view.shape(), layout.shape());
            assert!(view.iter().copied().eq(layout.offsets()), "{layout:?}: {view:?}");
        }
    }
}
