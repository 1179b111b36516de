//! `DeviceNDArray<T>`: a typed view of a block of device memory.
//!
//! A handle: clones and views share memory, and the last to be dropped frees it. An array is (context, block, layout);
//! every view is born in `with_layout`. Which views there are is `views.rs`, how arrays come to be is `create.rs` and
//! `ramp.rs`, how they are copied is `transfer.rs`, how they are printed is `display.rs`.

mod assign;
mod astype;
mod create;
mod display;
mod flat;
mod host;
mod pending;
mod range;
mod register;
mod transfer;
mod views;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use vkarray_allocator::Block;
use vkarray_kernel::{Arg, ArrayArg, ArrayShape, AsArg, DType, Element};

use crate::context::Context;
use crate::error::Result;
use crate::layout::Layout;

pub use host::{HostRead, HostWrite};
pub use pending::PendingCopy;
pub use range::{Number, RangeProblem};
pub use register::Registered;

/// Whoever the memory belongs to besides its block: held, never looked at.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

/// An n-dimensional array on a device.
///
/// Shape, strides and contiguity are NumPy's, with strides counted in elements. Cloning it, and every view of it,
/// shares its memory: writing through one is seen through all. Work on it is ordered by the runtime, on whatever
/// stream it runs.
pub struct DeviceNDArray<T: Element> {
    context: Context,
    block: Arc<Block>,
    layout: Layout,
    extent: Extent,
    label: Option<Arc<str>>,
    is_writable: bool,
    is_padded: bool,
    owner: Option<Owner>,
    element: PhantomData<fn() -> T>,
}

/// What every dispatch asks of a layout, worked out once.
#[derive(Clone, Copy)]
struct Extent {
    /// Bytes of all elements.
    nbytes: u64,
    /// Bytes before the first.
    offset: u64,
    is_contiguous: bool,
}

impl Extent {
    fn new<T>(layout: &Layout) -> Self {
        // A broadcast layout may have more elements than there are bytes to count.
        let bytes = |n_elements: usize| (n_elements as u64).saturating_mul(size_of::<T>() as u64);
        let is_contiguous = layout.is_c_contiguous();
        Self { nbytes: bytes(layout.size()), offset: bytes(layout.offset()), is_contiguous }
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// An array in a block of which it is not known whether it holds the layout's extent.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if it does not.
    pub(crate) fn new(context: &Context, block: Arc<Block>, layout: Layout) -> Result<Self> {
        block.check_range(0, end_byte::<T>(&layout))?;
        Ok(Self::of_checked(context, block, layout))
    }

    fn of_checked(context: &Context, block: Arc<Block>, layout: Layout) -> Self {
        let extent = Extent::new::<T>(&layout);
        Self::with_extent(context.held(), block, layout, extent)
    }

    /// A new array: the layout is packed, and takes the whole block.
    #[inline]
    pub(crate) fn packed(
        context: Context,
        block: Arc<Block>,
        layout: Layout,
        nbytes: u64,
        is_contiguous: bool,
    ) -> Self {
        Self::with_extent(context, block, layout, Extent { nbytes, offset: 0, is_contiguous })
    }

    #[inline]
    fn with_extent(context: Context, block: Arc<Block>, layout: Layout, extent: Extent) -> Self {
        let _ = DType::of::<T>(); // Every array is made here: of elements that are what they say, or not at all.
        let (label, owner) = (None, None);
        Self { context, block, layout, extent, label, is_writable: true, is_padded: false, owner, element: PhantomData }
    }

    /// Holds `owner` for as long as this array and its views live.
    pub(crate) fn with_owner(self, owner: Owner) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// Views the same memory through another layout, as elements of another type. Every view is made here.
    pub(crate) fn with_layout<U: Element>(&self, layout: Layout) -> DeviceNDArray<U> {
        assert!(end_byte::<U>(&layout) <= self.block.size(), "a view leaves its block: {layout:?}");
        let (label, owner) = (self.label.clone(), self.owner.clone());
        let (is_writable, is_padded) = (self.is_writable, self.is_padded);
        let view = DeviceNDArray::of_checked(&self.context, Arc::clone(&self.block), layout);
        DeviceNDArray { label, owner, is_writable, is_padded, ..view }
    }

    /// The same array, of which nothing can be written: kernels that write it and copies into it are refused. So are
    /// those through its views. Other arrays that share its memory are as they were, and so is the block itself.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_writable = false;
        self
    }

    /// The same array, which kernels may take as constant memory that is longer: what the array lacks reads as zero.
    /// Otherwise an array that is shorter than a kernel's `var<uniform>` is refused. Its views are padded too.
    #[must_use]
    pub fn padded(mut self) -> Self {
        self.is_padded = true;
        self
    }

    /// Whether kernels and copies may write it.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// The context it was made from.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The memory it views.
    #[must_use]
    pub fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// The name that the program gave it.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Names the array in errors about kernel arguments, and its memory in the report of memory running out. Views made
    /// later have the name too.
    pub fn set_label(&mut self, label: impl Into<Arc<str>>) {
        let label = label.into();
        self.block.set_label(Arc::clone(&label));
        self.label = Some(label);
    }

    /// The array under a name; see [`DeviceNDArray::set_label`].
    #[must_use]
    pub fn with_label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.set_label(label);
        self
    }

    /// How its elements lie in the block.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Elements on each axis.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// From an element to the next on each axis, in elements.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// Where its first element lies in the block, in elements.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.layout.offset()
    }

    /// How many axes it has.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.layout.ndim()
    }

    /// How many elements it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Bytes of one element.
    #[must_use]
    pub fn itemsize(&self) -> usize {
        size_of::<T>()
    }

    /// Bytes of all its elements, gaps between them not counted.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.extent.nbytes
    }

    /// The type of its elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        DType::of::<T>()
    }

    /// Whether walking the last axis fastest visits memory in order, without gaps. NumPy's rule.
    #[must_use]
    pub fn is_c_contiguous(&self) -> bool {
        self.extent.is_contiguous
    }

    /// Whether walking the first axis fastest visits memory in order, without gaps. NumPy's rule.
    #[must_use]
    pub fn is_f_contiguous(&self) -> bool {
        self.layout.is_f_contiguous()
    }
}

impl<T: Element> Clone for DeviceNDArray<T> {
    fn clone(&self) -> Self {
        self.with_layout(self.layout.clone())
    }
}

/// Says what the array is. Does not read the device.
impl<T: Element> fmt::Debug for DeviceNDArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceNDArray")
            .field("dtype", &format_args!("{}", DType::of::<T>()))
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("device", &self.context.info().name)
            .finish_non_exhaustive()
    }
}

impl<T: Element> AsArg for DeviceNDArray<T> {
    fn as_arg(&self) -> Arg<'_> {
        let shape = ArrayShape {
            label: self.label(),
            dtype: DType::of::<T>(),
            shape: self.shape(),
            nbytes: self.extent.nbytes,
            offset: self.extent.offset,
            is_contiguous: self.extent.is_contiguous,
            is_writable: self.is_writable,
            is_padded: self.is_padded,
        };
        Arg::Array(ArrayArg::new(&self.block, shape))
    }
}

/// Where the bytes of the last element of a layout end.
fn end_byte<T>(layout: &Layout) -> u64 {
    (layout.extent().end as u64).saturating_mul(size_of::<T>() as u64)
}
