//! A Vulkan layer that makes cached memory non-coherent, as it is on many mobile GPUs.
//!
//! Where a program maps such memory it is given bytes of the layer's. They go to the driver's memory in
//! `vkFlushMappedMemoryRanges` alone, and come from there in `vkInvalidateMappedMemoryRanges` alone, so what was not
//! flushed or invalidated is wrong on every run, and not once in a while. A range that is not whole atoms, or not
//! mapped, ends the program. One type of memory is coherent, as Vulkan guarantees, and not cached; `shape.rs` says which.
//!
//! Not for use with images, or `vkMapMemory2`. `shadow.rs` are the bytes, `memory.rs`, `instance.rs` and `device.rs` the
//! calls that are answered here; what the loader and a layer say to each other, and the list of instances, are shared
//! with `many_queues`.

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

/// The name to put into `VK_INSTANCE_LAYERS`, behind the validation layer's.
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
    // SAFETY: the caller's promise.
    unsafe { loader::negotiate(negotiation) }
}
