//! A Vulkan layer that reports several queues on a device that has one.
//!
//! CPU drivers have one queue, so the validation layer cannot check on them how a program uses several queues. Below
//! the validation layer, this layer reports several families with several queues, and a type of memory that the host
//! cannot see, as on a GPU; `shape.rs` defines them. All work is submitted to the driver's one queue in the order of
//! the calls; the validation layer checks the order that the program requires, not the actual order. A program in which
//! one queue waits for work that is later submitted to another queue hangs.
//!
//! An environment variable also lowers the number of workgroups that a dispatch may have.
//!
//! It does not support swapchains, images, or debug labels on queues. `loader.rs` has the interface between the loader
//! and a layer, `instances.rs` the list of instances; `instance.rs`, `device.rs`, `queue.rs` and `memory.rs` have the
//! calls that the layer handles. Read `shape.rs` first.

mod device;
mod instance;
mod instances;
mod loader;
mod memory;
mod queue;
mod shape;

use ash::vk;

use crate::loader::Negotiation;
pub use crate::shape::WORKGROUPS_VARIABLE;

/// The layer's name for `VK_INSTANCE_LAYERS`, after the name of the validation layer.
pub const LAYER_NAME: &str = "VK_LAYER_VKARRAY_many_queues";

/// Describes the layer to the loader, which looks for such a file in the folders of `VK_ADD_LAYER_PATH`.
#[must_use]
pub fn manifest(library: &str) -> String {
    loader::manifest(LAYER_NAME, "One queue as many", library, "vkarray_many_queues_negotiate")
}

/// The first function that the loader calls.
///
/// # Safety
///
/// `negotiation` points to the structure of that name in the loader's header.
#[unsafe(no_mangle)]
unsafe extern "system" fn vkarray_many_queues_negotiate(negotiation: *mut Negotiation) -> vk::Result {
    // SAFETY: the caller promises that the pointer is valid.
    unsafe { loader::negotiate(negotiation) }
}
