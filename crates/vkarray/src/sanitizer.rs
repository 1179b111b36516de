//! The report of a kernel that was built with checks: out-of-range indices, divisions by zero, races and more.
//!
//! [`KernelBuilder::sanitize`](crate::kernel::KernelBuilder::sanitize) builds the checks in. A dispatch of such a
//! kernel waits for the kernel and fails with the first [`Finding`], which names the line of the shader.
//!
//! ```
//! use vkarray::kernel::Error;
//! use vkarray::prelude::*;
//! use vkarray::sanitizer::Fault;
//!
//! # fn main() -> vkarray::Result<()> {
//! let ctx = Context::open_default()?;
//! let shift = ctx
//!     .kernel(Source::wgsl(
//!         "@group(0) @binding(0) var<storage, read> x: array<u32>;
//!          @group(0) @binding(1) var<storage, read_write> y: array<u32>;
//!          @compute @workgroup_size(64) fn shift(@builtin(global_invocation_id) id: vec3<u32>) {
//!              y[id.x] = x[id.x + 1];
//!          }",
//!     ))
//!     .sanitize(true)
//!     .build()?;
//! let (x, y) = (ctx.zeros::<u32>([64])?, ctx.zeros::<u32>([64])?);
//! let Err(Error::Found(finding)) = shift.launch(Groups::covering(64), (&x, &y)) else {
//!     panic!("the last invocation reads behind the array");
//! };
//! assert!(matches!(finding.fault, Fault::OutOfRange { .. }), "{finding}");
//! # Ok(())
//! # }
//! ```

pub use vkarray_kernel::{Fault, Finding, MemorySpan, OtherAccess, Sanitize, Sanitized, Site, SitePlace, Subject};
