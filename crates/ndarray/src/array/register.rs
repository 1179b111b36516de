//! Registered memory: a slice of the program that arrays are copied to and from without staging, during a call.
//!
//! This file works on the elements of a slice; the allocator crate's `copy/program/lent.rs` works on its bytes, decides
//! how the device reaches them and ensures that no copy outlives the call.

use std::marker::PhantomData;
use std::ops::Range;

use vkarray_allocator::internal::is_packed_first;
use vkarray_allocator::{self as allocator, Lent, RegisteredPath};
use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element, MemoryArg};
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
pub struct Registered<'x, T: Element> {
    bytes: allocator::Registered<'x>,
    context: &'x Context,
    stream: &'x Stream,
    element: PhantomData<T>,
}

/// A slice that can be [registered](Context::register_all): `&mut [T]`, or `&[T]` for the device to read; also of an
/// array or a vector.
pub trait Lend<'s> {
    /// The type of its elements.
    type Element: Element;

    /// Its bytes.
    fn lend(self) -> Lent<'s>;
}

/// A tuple of slices that can be registered together, each of its own element type.
pub trait LendAll<'s> {
    /// The registered slices.
    type Registered<'x>;

    /// Registers the slices while `work` runs.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::register_all`].
    fn register<R>(self, context: &Context, work: impl for<'x> FnOnce(Self::Registered<'x>) -> R) -> Result<R>;
}

macro_rules! lend {
    ($($slice:ty $(, $n:ident)?;)+) => {$(
        impl<'s, T: Element $(, const $n: usize)?> Lend<'s> for &'s $slice {
            type Element = T;

            fn lend(self) -> Lent<'s> {
                Lent::Read(bytemuck::cast_slice(self))
            }
        }

        impl<'s, T: Element $(, const $n: usize)?> Lend<'s> for &'s mut $slice {
            type Element = T;

            fn lend(self) -> Lent<'s> {
                Lent::Write(bytemuck::cast_slice_mut(self))
            }
        }
    )+};
}
lend!([T]; Vec<T>; [T; N], N;);

macro_rules! lend_all {
    ($($slice:ident $name:ident),+) => {
        impl<'s, $($slice: Lend<'s>),+> LendAll<'s> for ($($slice,)+) {
            type Registered<'x> = ($(Registered<'x, $slice::Element>,)+);

            fn register<R>(self, context: &Context, work: impl for<'x> FnOnce(Self::Registered<'x>) -> R) -> Result<R> {
                let ($($name,)+) = self;
                let lent = [$($name.lend()),+];
                Ok(context.allocator().register_all(lent, |[$($name),+]| work(($(Registered::new($name, context),)+)))?)
            }
        }
    };
}
lend_all!(A a);
lend_all!(A a, B b);
lend_all!(A a, B b, C c);
lend_all!(A a, B b, C c, D d);
lend_all!(A a, B b, C c, D d, E e);
lend_all!(A a, B b, C c, D d, E e, F f);

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
        work: impl for<'x> FnOnce(Registered<'x, T>) -> R,
    ) -> Result<R> {
        self.register_all((data,), |(data,)| work(data))
    }

    /// Registers several slices, of any element types, while `work` runs; see [`Context::register`]. Slices that are
    /// borrowed shared are for the device to read: copies to them, and kernels that write them, are refused, and nothing
    /// is copied back.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let scale = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read> a: array<i32>;
    ///          @group(0) @binding(1) var<storage, read_write> b: array<f32>;
    ///          @compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    ///              if id.x < arrayLength(&b) { b[id.x] *= f32(a[id.x]); }
    ///          }",
    ///     ))
    ///     .build()?;
    /// let (factors, mut values) = (vec![2, 3, 4], [0.5_f32; 3]);
    /// ctx.register_all((&factors, &mut values), |(mut a, mut b)| -> vkarray::Result<()> {
    ///     Ok(scale.launch(Groups::covering(3), (&a.bind()?, &b.bind()?))?)
    /// })??;
    /// assert_eq!(values, [1.0, 1.5, 2.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::register`]. Slices that are borrowed shared can be registered several times at once.
    pub fn register_all<'s, S: LendAll<'s>, R>(
        &self,
        slices: S,
        work: impl for<'x> FnOnce(S::Registered<'x>) -> R,
    ) -> Result<R> {
        slices.register(self, work)
    }
}

impl<'x, T: Element> Registered<'x, T> {
    fn new(bytes: allocator::Registered<'x>, context: &'x Context) -> Self {
        let _ = DType::of::<T>(); // Does not compile for a type whose size is not the size of its elements.
        Self { bytes, context, stream: context.default_stream(), element: PhantomData }
    }

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
    pub fn on<'y>(&'y mut self, stream: &'y Stream) -> Registered<'y, T> {
        Registered { bytes: self.bytes.reborrow(), context: self.context, stream, element: PhantomData }
    }

    /// Lets kernels reach the elements. Whole pages that the device imports are reached in place, over the bus. Other
    /// pages are copied to pinned memory, which blocks until the device no longer uses the slice, and are copied back
    /// by [`Registered::read`], [`Registered::write`] and the end of the call. [`Context::register_all`] has an
    /// example.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if there is not enough memory; [`Error::Driver`] if waiting fails.
    pub fn bind(&mut self) -> Result<MemoryArg<'_>> {
        Ok(MemoryArg::registered(&mut self.bytes)?.typed(DType::of::<T>()))
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

vkarray_driver::debug_fields!([T: Element] Registered<'_, T>, this => len: this.len(), path: this.path());
