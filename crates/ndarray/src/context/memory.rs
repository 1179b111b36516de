//! The memory of a context: how much there is, when dropped memory is freed, and resetting it.
//!
//! These are the methods of numba's contexts. Each forwards to the allocator, which [`Context::allocator`] returns.

use vkarray_allocator::{DeferCleanup, MemoryInfo};

use crate::context::Context;
use crate::error::Result;

impl Context {
    /// The device's memory in bytes, in total and available; see
    /// [`Allocator::memory_info`](vkarray_allocator::Allocator::memory_info).
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let info = ctx.memory_info()?;
    /// assert!(info.free <= info.total);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if the memory manager does not report its memory.
    #[doc(alias = "get_memory_info")]
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        Ok(self.allocator().memory_info()?)
    }

    /// Defers freeing memory to the driver, in all threads, until this guard and every other guard is dropped; see
    /// [`Allocator::defer_cleanup`](vkarray_allocator::Allocator::defer_cleanup).
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let deferred = ctx.defer_cleanup();
    /// drop(ctx.zeros::<f32>(1000)?); // Its memory is not freed before the guard is dropped.
    /// drop(deferred);
    /// # anyhow::Ok(())
    /// ```
    pub fn defer_cleanup(&self) -> DeferCleanup {
        self.allocator().defer_cleanup()
    }

    /// Invalidates every array, and frees all memory that is not in use; see
    /// [`Allocator::reset`](vkarray_allocator::Allocator::reset). The context remains usable: arrays created
    /// later are valid.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(3)?;
    /// ctx.reset()?;
    /// assert!(x.fill(1.0).is_err());
    /// assert_eq!(ctx.zeros::<f32>(3)?.to_vec()?, [0.0; 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if waiting for the device fails.
    pub fn reset(&self) -> Result<()> {
        Ok(self.allocator().reset()?)
    }
}
