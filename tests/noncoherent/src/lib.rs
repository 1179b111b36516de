//! A Vulkan layer that makes cached memory non-coherent, as on many mobile GPUs.
//!
//! A program that maps such memory gets a copy of its bytes. Only `vkFlushMappedMemoryRanges` copies them to the driver's
//! memory, and only `vkInvalidateMappedMemoryRanges` copies them back, so a missing flush or invalidation gives wrong
//! results in every run. A range that does not consist of whole atoms, or is not mapped, ends the program. One type of
//! memory is coherent and not cached, as Vulkan guarantees; `shape.rs` defines it.
//!
//! It does not support images or `vkMapMemory2`. `shadow.rs` has the copies of the bytes; `memory.rs`, `instance.rs` and
//! `device.rs` have the calls that the layer handles. The interface to the loader and the list of instances are shared
//! with `many_queues`. Read `shadow.rs` first.

mod device;
mod instance;
#[path = "../../many_queues/src/instances.rs"]
mod instances;
#[path = "../../many_queues/src/loader.rs"]
mod loader;
mod memory;
mod shadow;
mod shape;

use ash::vk;

use crate::loader::Negotiation;

/// The layer's name for `VK_INSTANCE_LAYERS`, after the name of the validation layer.
pub const LAYER_NAME: &str = "VK_LAYER_VKARRAY_noncoherent";

/// Describes the layer to the loader, which looks for such a file in the folders of `VK_ADD_LAYER_PATH`.
#[must_use]
pub fn manifest(library: &str) -> String {
    loader::manifest(LAYER_NAME, "Cached memory that is not coherent", library, "vkarray_noncoherent_negotiate")
}

/// The first function that the loader calls.
///
/// # Safety
///
/// `negotiation` points to the structure of that name in the loader's header.
#[unsafe(no_mangle)]
unsafe extern "system" fn vkarray_noncoherent_negotiate(negotiation: *mut Negotiation) -> vk::Result {
    // SAFETY: the caller promises that the pointer is valid.
    unsafe { loader::negotiate(negotiation) }
}
