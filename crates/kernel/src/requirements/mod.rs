//! What a kernel needs of a device, compared with what the device has. Pure: no Vulkan call is made here.
//!
//! The kernel's side is its [`Signature`](crate::Signature), the device's side a snapshot
//! ([`DeviceInfo`](vkarray_driver::DeviceInfo)) and what it was opened with. Every refusal names both sides.
//!
//! Read `limits.rs` first (sizes and counts), then `capabilities.rs` (features). `robustness.rs` says which bounds a device
//! keeps by itself.

pub(crate) mod capabilities;
pub(crate) mod extensions;
pub(crate) mod limits;
pub(crate) mod matrices;
pub(crate) mod robustness;
pub(crate) mod subgroups;

pub use capabilities::check_capabilities;
pub use extensions::check_extensions;
pub(crate) use limits::AXES;
pub use limits::{Limits, check_bindings, check_workgroup};
pub use matrices::check_matrices;
pub use subgroups::check_subgroups;
