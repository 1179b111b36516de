//! What the sanitizer found in a kernel that was built with [`KernelBuilder::sanitize`](crate::kernel::KernelBuilder::sanitize).

pub use vkarray_kernel::{Fault, Finding, MemorySpan, OtherAccess, Sanitize, Sanitized, Site, Subject};
