//! Memory as the driver gives it: buffers and images with memory behind them, memory that other devices and processes
//! share, and imports of the program's own pages.
//!
//! This is the only place that allocates device memory or creates buffers. Memory managers decide when memory is reused
//! or freed. Read `chunk.rs` first.

mod budget_cache;
mod chunk;
pub(crate) mod external;
mod image;
mod import;
mod refusal;

use std::sync::Arc;

use vkarray_driver::Device;

use crate::error::{Error, Result};

pub(crate) use chunk::{Backing, Chunk, ChunkMemory, ChunkSource};
pub(crate) use external::ExternalMemory;
pub use image::ImageShape;
pub(crate) use image::{create_image, create_view, format_properties, texel_view};
pub(crate) use import::{Imports, is_import, page, pages_around, whole_pages};

/// Checks that two handles are of the same opened device.
///
/// # Errors
///
/// [`Error::ForeignDevice`].
pub fn check_same_device(left: &Arc<Device>, right: &Arc<Device>) -> Result<()> {
    if Arc::ptr_eq(left, right) {
        return Ok(());
    }
    Err(Error::ForeignDevice { left: left.info().name.clone(), right: right.info().name.clone() })
}
