//! [`BoundMemory`]: registered memory that kernels reach.
//!
//! A slice of whole pages that the device imports is bound in place. Any other slice is bound as a copy in pinned
//! memory. After that the copy has the slice's bytes; they are copied back when the host looks at them and at the end
//! of the registration.

use std::slice;
use std::sync::Arc;

use super::registered::Registered;
use crate::allocator::Block;
use crate::error::Result;
use crate::memory::MemoryKind;

/// Registered memory that kernels can be given. It borrows the registration, so that nothing else uses the registration
/// meanwhile.
pub struct BoundMemory<'a> {
    block: &'a Arc<Block>,
}

impl BoundMemory<'_> {
    /// The memory, from its first byte to its last.
    ///
    /// # Safety
    ///
    /// No handle that is cloned from it outlives this object: the registration ends the memory.
    #[must_use]
    pub unsafe fn block(&self) -> &Arc<Block> {
        self.block
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> u64 {
        self.block.size()
    }
}

impl Registered<'_> {
    /// Lets kernels reach the bytes. Imported memory is reached in place if it is whole pages; otherwise a kernel could
    /// write to other bytes in the same page. Other memory is copied to pinned memory, which blocks until the device no
    /// longer uses the bytes, and is copied back by [`Registered::read`], [`Registered::write`] and the end of the
    /// registration.
    ///
    /// ```
    /// # use vkarray_allocator::Allocator;
    /// # use vkarray_driver::{Device, Instance};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let allocator = Allocator::new(&device)?;
    /// let mut bytes = [1_u8, 2, 3];
    /// let nbytes = allocator.register(&mut bytes, |registered| registered.bind().map(|bound| bound.nbytes()))??;
    /// assert_eq!(nbytes, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of allocating pinned memory and of waiting for the device.
    pub fn bind(&mut self) -> Result<BoundMemory<'_>> {
        if self.copy.is_none() && self.whole_block().is_none() {
            let copy = self.allocator.allocate(self.len as u64, MemoryKind::Pinned)?;
            let bytes = self.write()?; // Waits also for work that reads the imported part.
            copy.write_on_host(0..copy.size())?.copy_from_slice(bytes);
            self.copy = Some(copy);
        }
        let block = self.copy.as_ref().or(self.whole_block());
        Ok(BoundMemory { block: block.expect("one of the two is the whole slice") })
    }

    /// Copies the bytes back to the slice if kernels had a copy of them. Waits for the kernels.
    pub(super) fn copy_back(&mut self) -> Result<()> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let bytes = copy.read_on_host(0..copy.size())?;
        // SAFETY: the slice was borrowed mutably for the scope. While the copy exists, the device reaches no byte of the slice:
        // `bind` waited for all work on it, and later work uses the copy.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }.copy_from_slice(&bytes);
        drop(bytes);
        self.copy = None;
        Ok(())
    }
}

vkarray_driver::debug_fields!(BoundMemory<'_>, this => nbytes: this.nbytes());
