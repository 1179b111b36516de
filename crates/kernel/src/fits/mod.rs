//! What a kernel needs of a device, compared with what the device has. Pure: no Vulkan call is made here.
//!
//! The kernel's side is its [`Signature`](vkarray_shader::Signature), the device's side a snapshot
//! ([`DeviceInfo`](vkarray_driver::DeviceInfo)) and what it was opened with. Every refusal names both sides.
//!
//! Read `capabilities.rs` first (features, and the limits of a device). `robustness.rs` says which bounds a device keeps by
//! itself. Sizes and counts are compared in the shader crate, which needs only the limits.

pub(crate) mod capabilities;
pub(crate) mod extensions;
pub(crate) mod images;
pub(crate) mod matrices;
pub(crate) mod robustness;
pub(crate) mod subgroups;

pub use capabilities::limits_of;
