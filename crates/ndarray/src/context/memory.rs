//! A context's memory as a whole: how much there is, and when what was dropped goes back.
//!
//! Each is the allocator's, reached through [`Context::allocator`]; here are those that numba gives a context.

use vkarray_allocator::{DeferCleanup, MemoryInfo};

use crate::context::Context;
use crate::error::Result;

impl Context {
    /// How much memory the device has, and how much of it can still be had; see
    /// [`Allocator::memory_info`](vkarray_allocator::Allocator::memory_info).
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if the memory manager does not know.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        Ok(self.allocator().memory_info()?)
    }

    /// Holds back giving memory to the driver, of all threads, until the guard and every other one is dropped; see
    /// [`Allocator::defer_cleanup`](vkarray_allocator::Allocator::defer_cleanup).
    pub fn defer_cleanup(&self) -> DeferCleanup {
        self.allocator().defer_cleanup()
    }

    /// Ends every array, and gives back the memory that nobody holds; see
    /// [`Allocator::reset`](vkarray_allocator::Allocator::reset). The context goes on: arrays made later work.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory), from waiting for the device.
    pub fn reset(&self) -> Result<()> {
        Ok(self.allocator().reset()?)
    }
}
