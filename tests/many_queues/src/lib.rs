//! A Vulkan layer that makes a device of one queue look like one of several.
//!
//! CPU drivers have one queue that does everything, so what a program does over several queues is never judged there.
//! Below the validation layer, this one reports several families of several queues, and a type of memory that the host
//! cannot see, as a graphics card has; `shape.rs` says which. Everything goes to the driver's one queue, in the order
//! it is sent: the layer above judges the order that was asked for, not the one that happened. A program that makes
//! one queue wait for work that is sent later, to another, hangs.
//!
//! On request it lowers the number of workgroups that a dispatch may have, too.
//!
//! Not for use with swapchains, images, or debug labels on queues. `loader.rs` is what the loader and a layer say to
//! each other, `instances.rs` which instances there are; `instance.rs`, `device.rs`, `queue.rs` and `memory.rs` are the
//! calls that are answered here.

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

/// The name to put into `VK_INSTANCE_LAYERS`, behind the validation layer's.
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
    // SAFETY: the caller's promise.
    unsafe { loader::negotiate(negotiation) }
}
