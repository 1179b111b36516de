//! The kernel crate on a device: what kernels compute, how their arguments reach them, and which calls are refused.

mod atomics;
mod bindings;
mod bounds;
mod cache;
mod capabilities;
mod collection;
mod const_arrays;
mod constants;
mod disk;
mod folding;
mod indirect;
mod language;
mod launch;
mod layouts;
mod library;
mod local;
mod numba_shared;
mod others;
mod push;
mod refusals;
mod sanitizer;
mod shared;
mod spirv;
mod steady;
mod subgroups;
mod typed;

use vkarray::{Context, Kernel, Source};

/// Builds the one kernel of a shader.
fn kernel(ctx: &Context, wgsl: impl Into<String>) -> Kernel {
    ctx.kernel(Source::wgsl(wgsl.into())).build().unwrap_or_else(|error| panic!("{error}"))
}
