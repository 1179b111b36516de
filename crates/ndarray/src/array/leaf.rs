//! [`ArrayLeaf`]: an array without its element type, as an expression keeps it.

use std::sync::Arc;

use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::Stream;
use vkarray_generate::Leaf;
use vkarray_kernel::DType;
use vkarray_layout::{Layout, Order};

use super::KeepAlive;
use crate::context::{BlockElements, Context};
use crate::error::Result;

/// An array without its element type, as an expression reads it. Keeps the memory alive.
#[derive(Clone)]
pub struct ArrayLeaf {
    /// The context in which the array was created.
    pub(crate) context: Context,
    /// The block that holds the elements.
    pub(crate) block: Arc<Block>,
    pub(super) layout: Layout,
    pub(super) label: Option<Arc<str>>,
    pub(super) owner: Option<KeepAlive>,
}

impl ArrayLeaf {
    /// A contiguous array of elements of this type in the same context. Its contents are undefined.
    pub(crate) fn beside(&self, shape: &[usize], dtype: DType) -> Result<Self> {
        let layout = Layout::contiguous(shape, Order::C)?;
        let nbytes = layout.nbytes(dtype.itemsize() as usize)?;
        let block = self.context.allocator().allocate(nbytes, MemoryKind::Device)?;
        Ok(Self { context: self.context.for_array(), block, layout, label: None, owner: None })
    }

    /// Copies elements of this type from an array of the same shape, on a stream. Returns at once.
    pub(crate) fn copy_from(&self, source: &Self, dtype: DType, stream: &Stream) -> Result<()> {
        let [from, to] = [source, self].map(|leaf| BlockElements { block: &leaf.block, layout: &leaf.layout });
        self.context.copy_elements(stream, from, to, dtype.itemsize() as usize)
    }

    /// A contiguous copy of elements of this type, repeated to `shape`, on a stream. Returns at once.
    pub(crate) fn repeated(&self, shape: &[usize], dtype: DType, stream: &Stream) -> Result<Self> {
        let source = Self { layout: self.layout.broadcast_to(shape)?, ..self.clone() };
        let copy = self.beside(shape, dtype)?;
        copy.copy_from(&source, dtype, stream)?;
        Ok(copy)
    }
}

impl Leaf for ArrayLeaf {
    #[inline]
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    fn shares_block(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.block, &other.block)
    }
}

vkarray_driver::debug_fields!(ArrayLeaf, this => layout: this.layout, label: this.label);
