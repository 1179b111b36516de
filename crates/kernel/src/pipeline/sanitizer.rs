//! The memory and the layout of a sanitizer's reports: [`Sanitizer`]. `dispatch/sanitized.rs` uses it.

use std::sync::Arc;

use vkarray_allocator::{Allocator, PassthroughManager};
use vkarray_driver::Device;
use vkarray_shader::Sanitized;

use crate::error::Result;

/// What a pipeline with checks has in addition.
#[derive(Debug)]
pub(crate) struct Sanitizer {
    pub(crate) sanitized: Sanitized,
    pub(crate) source_name: String,
    /// Reports have an allocator of their own, so that the statistics of the program's memory do not count them. Not pooled,
    /// since each kernel has one and most have few dispatches.
    pub(crate) allocator: Arc<Allocator>,
}

impl Sanitizer {
    pub(crate) fn new(device: &Arc<Device>, sanitized: Sanitized, source_name: String) -> Result<Self> {
        let allocator = Allocator::with_manager(device, Box::new(PassthroughManager::new()))?;
        Ok(Self { sanitized, source_name, allocator })
    }
}
