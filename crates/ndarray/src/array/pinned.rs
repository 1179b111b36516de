//! [`PinnedArray`]: memory of the program as an array, until its owner is taken back.
//!
//! This file works on elements; the allocator crate's `copy/program/owned.rs` works on the bytes and their owner. Memory that
//! is lent for the length of a call is in `register.rs`.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use stable_deref_trait::StableDeref;
use vkarray_allocator::{PinError, Pinned, RegisteredPath};
use vkarray_kernel::{Arg, AsArg, Element};
use vkarray_layout::{Layout, Order};

use super::DeviceNDArray;
use crate::context::Context;

/// The elements of a `Vec`, a boxed slice or a mapped file as an array; made by [`Context::pin`].
///
/// A pinned array dereferences to an array, which kernels, copies, views and host guards take like any other. It can be
/// stored, sent to another thread, and kept over an `.await`. Dropping it never blocks: the owner is dropped when the
/// device no longer uses the elements.
pub struct PinnedArray<O, T: Element> {
    array: DeviceNDArray<T>,
    pinned: Pinned<O>,
}

impl Context {
    /// Makes a one-dimensional array of the elements of `owner`, and keeps `owner` alive for as long as the array, its views
    /// and work on them exist.
    ///
    /// The owner is a container whose elements do not move when it is moved: a `Vec<T>`, a `Box<[T]>`, a mapped file.
    /// Elements that are whole pages are reached in place, without a copy. All other elements, and all elements where
    /// the device imports no memory of the program, are copied to pinned memory by this call, and back by
    /// [`PinnedArray::into_inner`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let double = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    ///          @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    ///              if id.x < arrayLength(&x) { x[id.x] *= 2.0; }
    ///          }",
    ///     ))
    ///     .build()?;
    /// let x = ctx.pin(vec![1.0_f32, 2.0, 3.0])?;
    /// double.launch(Groups::covering(3), (&x,))?;
    /// assert_eq!(x.into_inner()?, [2.0, 4.0, 6.0]); // The `Vec`.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Allocator::pin`](vkarray_allocator::Allocator::pin), which give the owner back.
    #[doc(alias = "mapped")]
    #[doc(alias = "pinned")]
    pub fn pin<O, T>(&self, owner: O) -> Result<PinnedArray<O, T>, PinError<O>>
    where
        O: StableDeref + DerefMut<Target = [T]> + Send + Sync + 'static,
        T: Element,
    {
        Ok(PinnedArray::new(self, self.allocator().pin(owner)?))
    }

    /// Makes a one-dimensional array of the elements of an owner that may be shared: an `Arc<[T]>`, a file that is mapped
    /// to be read. The elements are copied to pinned memory by this call. The array is
    /// [read-only](DeviceNDArray::read_only), and nothing is copied back.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let shared: Arc<[i32]> = Arc::from([1, 2, 3]);
    /// let x = ctx.pin_to_read(Arc::clone(&shared))?;
    /// assert_eq!((&*x * 2).eval()?.to_vec()?, [2, 4, 6]);
    /// assert!(x.fill(0).is_err());
    /// assert!(Arc::ptr_eq(&x.into_inner()?, &shared));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Allocator::pin_to_read`](vkarray_allocator::Allocator::pin_to_read), which give the owner back.
    pub fn pin_to_read<O, T>(&self, owner: O) -> Result<PinnedArray<O, T>, PinError<O>>
    where
        O: StableDeref<Target = [T]> + Send + Sync + 'static,
        T: Element,
    {
        Ok(PinnedArray::new(self, self.allocator().pin_to_read(owner)?))
    }
}

impl<O, T: Element> PinnedArray<O, T> {
    fn new(context: &Context, pinned: Pinned<O>) -> Self {
        let len = pinned.block().size() / size_of::<T>() as u64;
        let len = usize::try_from(len).expect("the elements are in the address space");
        let layout = Layout::contiguous(&[len], Order::C).expect("a slice is no longer than a layout can be");
        let array = DeviceNDArray::of_checked(context, Arc::clone(pinned.block()), layout);
        Self { array: if pinned.is_writable() { array } else { array.read_only() }, pinned }
    }

    /// How the device reaches the elements: [`RegisteredPath::Imported`], or [`RegisteredPath::Staged`] for a copy.
    ///
    /// ```
    /// use vkarray::memory::RegisteredPath;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.pin(vec![1, 2, 3])?.path(), RegisteredPath::Staged); // Less than a page.
    /// # anyhow::Ok(())
    /// ```
    pub fn path(&self) -> RegisteredPath {
        self.pinned.path()
    }

    /// Takes the owner back, with what the device wrote. Blocks until the device no longer uses the elements.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pin(vec![1, 2, 3])?;
    /// let view = x.slice(s![1..])?;
    /// let refused = x.into_inner().unwrap_err(); // The view could still be used.
    /// let x = refused.into_value().unwrap();
    /// view.fill(7)?;
    /// drop(view);
    /// assert_eq!(x.into_inner()?, [1, 7, 7]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Pinned::into_inner`], which give this array back.
    #[doc(alias = "deregister")]
    pub fn into_inner(self) -> Result<O, PinError<Self>> {
        let Self { array, pinned } = self;
        let context = array.context().clone();
        drop(array);
        pinned.into_inner().map_err(|refused| refused.map(|pinned| Self::new(&context, pinned)))
    }
}

impl<O, T: Element> Deref for PinnedArray<O, T> {
    type Target = DeviceNDArray<T>;

    fn deref(&self) -> &DeviceNDArray<T> {
        &self.array
    }
}

impl<O, T: Element> AsArg for PinnedArray<O, T> {
    fn as_arg(&self) -> Arg<'_> {
        self.array.as_arg()
    }
}

vkarray_driver::debug_fields!([O, T: Element] PinnedArray<O, T>, this => array: this.array, path: this.path());
