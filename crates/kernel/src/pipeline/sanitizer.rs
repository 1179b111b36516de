//! What a pipeline with checks has besides: [`Sanitizer`]. `dispatch/sanitized.rs` uses it.

use std::sync::Arc;

use vkarray_allocator::{Allocator, PassthroughManager};
use vkarray_driver::Device;

use crate::error::Result;
use crate::sanitize::Sanitized;

/// What a pipeline with checks has besides.
#[derive(Debug)]
pub(crate) struct Sanitizer {
    pub(crate) sanitized: Sanitized,
    pub(crate) source_name: String,
    /// Reports lie in memory of their own, so that no figure of the program's memory counts them. Not pooled: each kernel
    /// has an allocator, and most have few dispatches.
    pub(crate) allocator: Arc<Allocator>,
}

impl Sanitizer {
    pub(crate) fn new(device: &Arc<Device>, sanitized: Sanitized, source_name: String) -> Result<Self> {
        let allocator = Allocator::with_manager(device, Box::new(PassthroughManager::new()))?;
        Ok(Self { sanitized, source_name, allocator })
    }
}
