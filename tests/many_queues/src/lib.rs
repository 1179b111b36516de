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
//! each other, `instance.rs`, `device.rs`, `queue.rs` and `memory.rs` are the calls that are answered here.

mod device;
mod instance;
mod loader;
mod memory;
mod queue;
mod shape;

pub use shape::WORKGROUPS_VARIABLE;

/// The name to put into `VK_INSTANCE_LAYERS`, behind the validation layer's.
pub const LAYER_NAME: &str = "VK_LAYER_VKARRAY_many_queues";

/// Describes the layer to the loader, which looks for such a file in the folders of `VK_ADD_LAYER_PATH`.
#[must_use]
pub fn manifest(library: &str) -> String {
    format!(
        r#"{{ "file_format_version": "1.2.0", "layer": {{
            "name": "{LAYER_NAME}", "type": "GLOBAL", "library_path": {library:?},
            "api_version": "1.3.0", "implementation_version": "1", "description": "One queue as many",
            "functions": {{ "vkNegotiateLoaderLayerInterfaceVersion": "vkarray_many_queues_negotiate" }} }} }}"#
    )
}
