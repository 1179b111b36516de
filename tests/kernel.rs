//! The kernel crate on a device: what kernels compute, how their arguments reach them, and which calls are refused.

mod atomics;
mod bindings;
mod bounds;
mod cache;
mod capabilities;
mod collection;
mod compilers;
mod const_arrays;
mod constants;
mod disk;
mod folding;
mod forged;
mod glsl;
mod indirect;
mod inference;
mod language;
mod launch;
mod layouts;
mod library;
mod local;
mod numba_shared;
mod pointers;
mod push;
mod refusals;
mod renderer;
mod sanitizer;
mod shared;
mod spirv;
mod steady;
mod subgroups;
mod trust;
mod typed;

use vkarray::{Context, Kernel, Source};

/// Builds the one kernel of a shader.
fn kernel(ctx: &Context, wgsl: impl Into<String>) -> Kernel {
    ctx.kernel(Source::wgsl(wgsl.into())).build().unwrap_or_else(|error| panic!("{error}"))
}
