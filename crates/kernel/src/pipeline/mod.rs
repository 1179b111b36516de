//! A kernel as Vulkan objects of one device: built once, found again, kept on disk.
//!
//! Nothing here dispatches. Read `kernel.rs` first (what a kernel is made of), then `cache.rs` (which kernels are the same),
//! `builder.rs` (what a program may ask for), `variants.rs` (other sizes of a kernel), `limit.rs` (how many kernels are kept),
//! `background.rs` (builds on other threads) and `cached_build.rs` (what is stored on disk).

mod background;
mod builder;
pub(crate) mod cache;
mod cached_build;
mod descriptors;
pub(crate) mod kernel;
mod limit;
pub(crate) mod sanitizer;
mod variants;
mod weak;

pub use builder::KernelBuilder;
pub use cache::KernelCache;
pub use kernel::Kernel;
pub use limit::{KernelLimit, KernelStatistics};
pub use weak::WeakKernel;
