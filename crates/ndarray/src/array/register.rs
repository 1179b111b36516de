//! Registered memory: a slice of the program that arrays are copied to and from without staging, during a call.
//!
//! This file works on the elements of a slice; the allocator crate's `copy/registered.rs` works on its bytes, decides
//! how the device reaches them and ensures that no copy outlives the call.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use vkarray_allocator::internal::is_packed_first;
use vkarray_allocator::{self as allocator, RegisteredPath};
use vkarray_driver::Stream;
use vkarray_kernel::{Arg, AsArg, DType, Element};
use vkarray_layout::Order;

use super::DeviceNDArray;
use crate::context::Context;
use crate::error::{Error, Result};

/// A slice of the program that is registered for the length of a call; see [`Context::register`].
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let (x, mut data) = (ctx.zeros::<i32>(2)?, [1, 2, 3]);
/// ctx.register(&mut data, |mut data| data.copy_to(1, &x))??;
/// assert_eq!(x.to_vec()?, [2, 3]);
/// # anyhow::Ok(())
/// ```
pub struct Registered<'x, 'r, T: Element> {
    bytes: &'x mut allocator::Registered<'r>,
    context: &'x Context,
    stream: &'x Stream,
    element: PhantomData<T>,
}

/// A registered slice as an argument of kernels; made by [`Registered::bind`].
pub struct BoundSlice<'y, T: Element> {
    bytes: allocator::BoundMemory<'y>,
    element: PhantomData<T>,
}

impl Context {
    /// Lets the device copy to and from `data` while `work` runs, without staging unless the slice is short or the
    /// device imports no memory of the program; [`Registered::path`] says which. Kernels reach the slice through
    /// [`Registered::bind`]. Memory with an owner that can be given away is better [pinned](Context::pin).
    ///
    /// Registering more than 16 KiB takes longer than it saves for a single copy: some 0.3 ms on an H200. Blocks at the
    /// end until the device no longer uses the slice, also when `work` panics.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?;
    /// let mut data = vec![0; 10];
    /// ctx.register(&mut data, |mut data| {
    ///     data.copy_from(2, &x)?; // Elements 2 to 7 of the slice.
    ///     data.copy_to(0, &x)
    /// })??;
    /// assert_eq!(data, [0, 0, 0, 1, 2, 3, 4, 5, 0, 0]);
    /// assert_eq!(x.to_vec()?, [0, 0, 0, 1, 2, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if some of the memory is registered already; [`Error::Driver`] if waiting fails after `work` has run.
    #[doc(alias = "pinned")]
    pub fn register<T: Element, R>(
        &self,
        data: &mut [T],
        work: impl for<'x, 'r> FnOnce(Registered<'x, 'r, T>) -> R,
    ) -> Result<R> {
        self.register_all([data], |[data]| work(data))
    }

    /// Registers several slices while `work` runs; see [`Context::register`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let add = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read> a: array<i32>;
    ///          @group(0) @binding(1) var<storage, read_write> b: array<i32>;
    ///          @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
    ///              if id.x < arrayLength(&b) { b[id.x] += a[id.x]; }
    ///          }",
    ///     ))
    ///     .build()?;
    /// let (mut array_a, mut array_b): (Vec<i32>, Vec<i32>) = ((0..10).collect(), (0..10).collect());
    /// ctx.register_all([&mut array_a, &mut array_b], |[mut a, mut b]| -> vkarray::Result<()> {
    ///     Ok(add.launch(Groups::covering(10), (&a.bind()?, &b.bind()?))?)
    /// })??;
    /// assert_eq!(array_b, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::register`].
    pub fn register_all<T: Element, R, const N: usize>(
        &self,
        data: [&mut [T]; N],
        work: impl for<'x, 'r> FnOnce([Registered<'x, 'r, T>; N]) -> R,
    ) -> Result<R> {
        let _ = DType::of::<T>(); // Does not compile for a type whose size is not the size of its elements.
        let (stream, data) = (self.default_stream(), data.map(bytemuck::cast_slice_mut));
        Ok(self.allocator().register_all(data, |all| {
            work(all.map(|bytes| Registered { bytes, context: self, stream, element: PhantomData }))
        })?)
    }
}

impl<'r, T: Element> Registered<'_, 'r, T> {
    /// The number of elements.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.register(&mut [0_u16; 5], |data| data.len())?, 5);
    /// # anyhow::Ok(())
    /// ```
    pub fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert!(!ctx.register(&mut [0_u16; 5], |data| data.is_empty())?);
    /// # anyhow::Ok(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How the device reaches the slice. The ranges count bytes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let mut data = [0_u8; 100];
    /// let path = ctx.register(&mut data, |data| data.path())?;
    /// println!("{path:?}"); // Which bytes the device reaches directly.
    /// # anyhow::Ok(())
    /// ```
    pub fn path(&self) -> RegisteredPath {
        self.bytes.path()
    }

    /// The slice with another stream than the context's default stream: `data.on(&stream).copy_to(0, &x)?`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, stream) = (ctx.zeros::<i32>(3)?, ctx.stream()?);
    /// ctx.register(&mut [1, 2, 3], |mut data| data.on(&stream).copy_to(0, &x))??;
    /// assert_eq!(x.to_vec()?, [1, 2, 3]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn on<'y>(&'y mut self, stream: &'y Stream) -> Registered<'y, 'r, T> {
        Registered { bytes: self.bytes, context: self.context, stream, element: PhantomData }
    }

    /// Lets kernels reach the elements. Whole pages that the device imports are reached in place, over the bus. Other
    /// pages are copied to pinned memory, which blocks until the device no longer uses the slice, and are copied back
    /// by [`Registered::read`], [`Registered::write`] and the end of the call. [`Context::register_all`] has an
    /// example.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if there is not enough memory; [`Error::Driver`] if waiting fails.
    pub fn bind(&mut self) -> Result<BoundSlice<'_, T>> {
        Ok(BoundSlice { bytes: self.bytes.bind()?, element: PhantomData })
    }

    /// Copies the elements of the slice from `start` on to `target`, in its C order. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<i32>([2, 2])?;
    /// ctx.register(&mut [1, 2, 3, 4], |mut data| data.copy_to(0, &x.t()))??;
    /// assert_eq!(x.to_vec()?, [1, 3, 2, 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfSlice`], [`Error::ReadOnly`], [`Error::SharedElements`], [`Error::ForeignDevice`];
    /// [`Error::Memory`] or [`Error::Driver`] if recording fails.
    pub fn copy_to(&mut self, start: usize, target: &DeviceNDArray<T>) -> Result<()> {
        self.context.check_stream(self.stream)?;
        target.check_writable()?;
        let runs = self.runs(start, target)?;
        if are_packed(&runs) {
            let packed = self.context.device_array::<T>(target.shape())?;
            self.copy_to(start, &packed)?;
            return target.on(self.stream).copy_from_device(&packed);
        }
        for (bytes, offset) in runs {
            self.bytes.copy_to_block(self.stream, target.block(), offset, bytes)?;
        }
        Ok(())
    }

    /// Copies `source`, in its C order, to the elements of the slice from `start` on.
    ///
    /// Returns at once unless many elements are staged. [`Registered::read`] and the end of the call wait for the copy.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, mut data) = (ctx.arange(0, 3, 1)?, [9; 4]);
    /// ctx.register(&mut data, |mut data| data.copy_from(1, &x))??;
    /// assert_eq!(data, [9, 0, 1, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfSlice`], [`Error::ForeignDevice`]; [`Error::Memory`] or [`Error::Driver`] if recording fails.
    pub fn copy_from(&mut self, start: usize, source: &DeviceNDArray<T>) -> Result<()> {
        self.context.check_stream(self.stream)?;
        let runs = self.runs(start, source)?;
        if are_packed(&runs) {
            let packed = source.on(self.stream).to_contiguous(Order::C)?;
            return self.copy_from(start, &packed);
        }
        for (bytes, offset) in runs {
            let range = offset..offset + bytes.len() as u64;
            self.bytes.copy_from_block(self.stream, bytes.start, source.block(), range)?;
        }
        Ok(())
    }

    /// The elements, to be read. Blocks until no copy writes them.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, mut data) = (ctx.full(3, 4_u8)?, [0; 3]);
    /// ctx.register(&mut data, |mut data| -> anyhow::Result<()> {
    ///     data.copy_from(0, &x)?;
    ///     assert_eq!(data.read()?, [4, 4, 4]); // Waits for the copy.
    ///     Ok(())
    /// })??;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if waiting fails.
    pub fn read(&mut self) -> Result<&[T]> {
        Ok(bytemuck::cast_slice(self.bytes.read()?))
    }

    /// The elements, to be read and written. Blocks until no copy uses them.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, mut data) = (ctx.zeros::<u8>(3)?, [0; 3]);
    /// ctx.register(&mut data, |mut data| -> anyhow::Result<()> {
    ///     data.write()?.fill(7);
    ///     data.copy_to(0, &x)?;
    ///     Ok(())
    /// })??;
    /// assert_eq!(x.to_vec()?, [7; 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if waiting fails.
    pub fn write(&mut self) -> Result<&mut [T]> {
        Ok(bytemuck::cast_slice_mut(self.bytes.write()?))
    }

    /// For each contiguous run of the array: the bytes of the run in the slice, and the offset of the run in the
    /// array's block.
    fn runs(&self, start: usize, array: &DeviceNDArray<T>) -> Result<Vec<(Range<usize>, u64)>> {
        let (len, itemsize) = (array.size(), size_of::<T>());
        if start.checked_add(len).is_none_or(|end| end > self.len()) {
            return Err(Error::OutOfSlice { start, len, size: self.len() });
        }
        let mut at = start * itemsize;
        let runs = array.layout().runs().map(|(offset, len)| {
            let bytes = at..at + len * itemsize;
            at = bytes.end;
            (bytes, (offset * itemsize) as u64)
        });
        Ok(runs.collect())
    }
}

/// Whether the runs are packed on the device first.
fn are_packed(runs: &[(Range<usize>, u64)]) -> bool {
    let bytes: usize = runs.iter().map(|(bytes, _)| bytes.len()).sum();
    is_packed_first(runs.len() as u64, bytes as u64)
}

impl<T: Element> AsArg for BoundSlice<'_, T> {
    fn as_arg(&self) -> Arg<'_> {
        match self.bytes.as_arg() {
            Arg::Memory(memory) => Arg::Memory(memory.typed(DType::of::<T>())),
            other => other,
        }
    }
}

impl<T: Element> fmt::Debug for BoundSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundSlice").field("bytes", &self.bytes).finish()
    }
}

vkarray_driver::debug_fields!([T: Element] Registered<'_, '_, T>, this => len: this.len(), path: this.path());
