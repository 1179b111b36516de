//! [`DeviceNDArray`]: a typed view of a block of device memory, with every operation on it.
//!
//! An array is a handle: a context, a block and a layout. Clones and views share the block, and the last handle that is
//! dropped frees it. This folder never calls Vulkan, and decides neither which layouts exist nor how elements are
//! copied; the layout crate and the folder `copy/` do. Start here, then read `create.rs`.
//!
//! | file | what it adds |
//! |---|---|
//! | `leaf.rs` | [`ArrayLeaf`], an array without its element type |
//! | `create.rs`, `range/`, `flat.rs`, `host.rs` | arrays that are filled, ranges, from slices, in memory that the host addresses |
//! | `properties.rs` | shape, strides and sizes |
//! | `views/` | views; each is made by `DeviceNDArray::with_layout` |
//! | `transfer.rs`, `pending.rs` | copies between host and device |
//! | `register.rs`, `pinned.rs`, `shared.rs` | memory of the program; arrays that both sides reach |
//! | `assign.rs`, `astype.rs` | copies and conversions on the device |
//! | `between.rs` | copies between contexts |
//! | `external.rs` | arrays that other contexts and processes share |
//! | `display/` | printing |

mod assign;
mod astype;
mod between;
mod create;
mod display;
mod external;
mod flat;
mod host;
mod leaf;
mod like;
mod pending;
mod pinned;
mod properties;
mod range;
mod register;
mod shared;
mod strided;
mod transfer;
mod views;

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use vkarray_allocator::Block;
use vkarray_allocator::internal::check_same_device;
use vkarray_driver::Stream;
use vkarray_kernel::{Arg, ArrayArg, ArrayShape, AsArg, AsArray, DType, Element};
use vkarray_layout::Layout;

use crate::context::Context;
use crate::error::Result;

pub use display::array_text;
pub use host::{HostElements, HostRead, HostWrite};
pub(crate) use leaf::ArrayLeaf;
pub use like::Prototype;
pub use pending::PendingCopy;
pub use pinned::PinnedArray;
pub use range::Number;
pub use register::{Lend, LendAll, Registered};
pub use shared::MirroredArray;
pub use strided::Strided;
pub(crate) use transfer::collect_values;
#[cfg(feature = "dlpack")]
pub(crate) use transfer::host_values;

/// An object that owns the memory and is kept alive by the array.
pub(crate) type KeepAlive = Arc<dyn Any + Send + Sync>;

/// An n-dimensional array on a device.
///
/// Shape, strides and contiguity are NumPy's, with strides counted in elements. Clones and views share the memory: what is
/// written through one is read through all. The library orders all work on the memory, on whatever streams it runs.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.arange(0, 12, 1)?.reshape([3, 4])?;
/// let column = x.slice(s![.., 1])?; // A view: no copy.
/// column.fill(-1)?;
/// assert_eq!(x.to_vec()?, [0, -1, 2, 3, 4, -1, 6, 7, 8, -1, 10, 11]);
/// # anyhow::Ok(())
/// ```
#[doc(alias = "usm_ndarray")]
#[derive(Clone)]
pub struct DeviceNDArray<T: Element> {
    leaf: ArrayLeaf,
    /// The stream of the array's work; without one, the default stream of the context.
    stream: Option<Stream>,
    extent: Extent,
    is_writable: bool,
    is_padded: bool,
    element: PhantomData<fn() -> T>,
}

/// The properties of the layout that every dispatch needs, computed once.
#[derive(Clone, Copy)]
struct Extent {
    /// Bytes of all elements.
    nbytes: u64,
    /// Bytes before the first element.
    offset: u64,
    is_contiguous: bool,
}

impl Extent {
    fn new<T>(layout: &Layout) -> Self {
        // The bytes of a broadcast layout may exceed `u64`.
        let bytes = |n_elements: usize| (n_elements as u64).saturating_mul(size_of::<T>() as u64);
        let is_contiguous = layout.is_c_contiguous();
        Self { nbytes: bytes(layout.size()), offset: bytes(layout.offset()), is_contiguous }
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// Makes an array of elements of a block, without a copy. The layout counts from the start of the block.
    ///
    /// ```
    /// use vkarray::array::Layout;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let bytes = ctx.zeros::<u8>(64)?;
    /// let column = Layout::with_strides(&[4], &[4], 1)?; // The second column of a matrix of four.
    /// let x = DeviceNDArray::<f32>::from_block(&ctx, bytes.block(), column)?;
    /// x.fill(1.0)?;
    /// assert_eq!(bytes.view::<f32>()?.to_vec()?[..6], [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) for a block of another device, and if elements lie outside the block.
    pub fn from_block(context: &Context, block: &Arc<Block>, layout: Layout) -> Result<Self> {
        check_same_device(context.device(), block.device())?;
        Self::new(context, Arc::clone(block), layout)
    }

    /// An array in a block, which is checked to have all elements of the layout.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if the block ends before the last element.
    pub(crate) fn new(context: &Context, block: Arc<Block>, layout: Layout) -> Result<Self> {
        block.check_range(0, end_byte::<T>(&layout))?;
        Ok(Self::of_checked(context, block, layout))
    }

    pub(super) fn of_checked(context: &Context, block: Arc<Block>, layout: Layout) -> Self {
        let extent = Extent::new::<T>(&layout);
        Self::with_extent(context.for_array(), block, layout, extent)
    }

    #[inline]
    fn with_extent(context: Context, block: Arc<Block>, layout: Layout, extent: Extent) -> Self {
        let _ = DType::of::<T>(); // Does not compile if the element type's size is not that of `T`.
        let leaf = ArrayLeaf { context, block, layout, label: None, owner: None };
        Self { leaf, stream: None, extent, is_writable: true, is_padded: false, element: PhantomData }
    }

    /// Keeps `owner` alive as long as this array and its views.
    pub(crate) fn with_owner(mut self, owner: KeepAlive) -> Self {
        self.leaf.owner = Some(owner);
        self
    }

    /// A view of the same memory with another layout and element type. Every view is made here.
    pub(crate) fn with_layout<U: Element>(&self, layout: Layout) -> DeviceNDArray<U> {
        assert!(end_byte::<U>(&layout) <= self.block().size(), "a view leaves its block: {layout:?}");
        let mut view = DeviceNDArray::of_checked(self.context(), Arc::clone(self.block()), layout);
        (view.leaf.label, view.leaf.owner) = (self.leaf.label.clone(), self.leaf.owner.clone());
        (view.is_writable, view.is_padded) = (self.is_writable, self.is_padded);
        view.stream.clone_from(&self.stream);
        view
    }

    /// Makes the array read-only: kernels that write it, and copies into it, are refused, also through its views. Other
    /// arrays that share the memory are not affected.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(3)?;
    /// let constant = x.clone().read_only();
    /// assert!(constant.fill(1.0).is_err() && !constant.is_writable());
    /// x.fill(1.0)?;
    /// assert_eq!(constant.to_vec()?, [1.0; 3]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_writable = false;
        self
    }

    /// Lets kernels accept the array for a longer `var<uniform>`, where the missing elements read as zero. Without
    /// this, an array that is too short is refused. Views made from the array are padded too.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let weights = ctx.slice_to_device(&[1.0_f32, 2.0, 3.0])?.padded(); // For an `array<vec4<f32>, 4>`.
    /// assert_eq!(weights.slice(s![1..])?.size(), 2);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn padded(mut self) -> Self {
        self.is_padded = true;
        self
    }

    /// Whether kernels and copies may write the array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert!(ctx.zeros::<f32>(3)?.is_writable());
    /// # anyhow::Ok(())
    /// ```
    pub fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// The context in which the array was created.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(3)?;
    /// let y = x.context().zeros_like(&x)?;
    /// assert_eq!(y.shape(), [3]);
    /// # anyhow::Ok(())
    /// ```
    pub fn context(&self) -> &Context {
        &self.leaf.context
    }

    /// The memory of the array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(4)?;
    /// assert_eq!(x.block().size(), 16);
    /// # anyhow::Ok(())
    /// ```
    pub fn block(&self) -> &Arc<Block> {
        &self.leaf.block
    }

    /// The array without its element type, as expressions keep it.
    #[inline]
    pub(crate) fn leaf(&self) -> &ArrayLeaf {
        &self.leaf
    }

    /// The label that the program gave the array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(3)?.with_label("weights");
    /// assert_eq!(x.label(), Some("weights"));
    /// # anyhow::Ok(())
    /// ```
    pub fn label(&self) -> Option<&str> {
        self.leaf.label.as_deref()
    }

    /// Labels the array in errors about kernel arguments, and its memory in the report of running out of memory. Views made
    /// later have the label too.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let mut x = ctx.zeros::<f32>(3)?;
    /// x.set_label("weights");
    /// assert_eq!(x.slice(s![1..])?.label(), Some("weights"));
    /// # anyhow::Ok(())
    /// ```
    pub fn set_label(&mut self, label: impl Into<Arc<str>>) {
        let label = label.into();
        self.block().set_label(Arc::clone(&label));
        self.leaf.label = Some(label);
    }

    /// The array with a label; see [`DeviceNDArray::set_label`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(3)?.with_label("weights");
    /// assert_eq!(x.label(), Some("weights"));
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn with_label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.set_label(label);
        self
    }
}

// Does not read the elements.
vkarray_driver::debug_fields!([T: Element] DeviceNDArray<T>, this =>
    dtype: format_args!("{}", DType::of::<T>()),
    shape: this.shape(),
    strides: this.strides(),
    device: this.context().info().name
);

impl<T: Element> AsArg for DeviceNDArray<T> {
    fn as_arg(&self) -> Arg<'_> {
        Arg::Array(self.as_array())
    }
}

impl<T: Element> AsArray for DeviceNDArray<T> {
    fn as_array(&self) -> ArrayArg<'_> {
        let shape = ArrayShape {
            label: self.label(),
            dtype: DType::of::<T>(),
            shape: self.shape(),
            nbytes: self.extent.nbytes,
            offset: self.extent.offset,
            is_contiguous: self.extent.is_contiguous,
            strides: None,
            is_writable: self.is_writable,
            is_padded: self.is_padded,
            is_untyped: false,
        };
        ArrayArg::new(self.block(), shape)
    }
}

/// The offset at which the last element of a layout ends, in bytes.
fn end_byte<T>(layout: &Layout) -> u64 {
    (layout.extent().end as u64).saturating_mul(size_of::<T>() as u64)
}
