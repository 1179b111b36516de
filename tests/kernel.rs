//! Tests of the kernel crate on a device.
//!
//! | file | behaviour |
//! |---|---|
//! | `launch.rs`, `indirect.rs`, `folding.rs` | sizes of launches, read from the host or the device; read the first one first |
//! | `bindings.rs`, `strided.rs`, `aliases.rs`, `push.rs`, `constants.rs`, `const_arrays.rs`, `layouts.rs` | how arguments reach a kernel |
//! | `refusals.rs`, `forged.rs`, `trust.rs`, `bounds.rs` | refused calls, forged arguments, hostile modules, indices out of range |
//! | `language.rs`, `pointers.rs`, `shared.rs`, `local.rs`, `atomics.rs`, `capabilities.rs`, `subgroups.rs` | what WGSL computes |
//! | `glsl.rs`, `spirv.rs`, `compilers.rs`, `collection.rs`, `inference.rs`, `renderer.rs` | shaders of other
//! languages, compilers and authors |
//! | `images.rs`, `addresses.rs` | images, samplers and buffers of texels; memory that is reached by its address |
//! | `library.rs`, `typed.rs` | the shader library, `kernel!` |
//! | `cache.rs`, `disk.rs`, `steady.rs` | caches, and dispatches without allocations |
//! | `sanitizer.rs` | kernels with planted faults |
//! | `numba_shared.rs` | numba's tests of shared and local memory, ported |

mod addresses;
mod aliases;
mod atomics;
mod binding_arrays;
mod bindings;
mod bounds;
mod cache;
mod capabilities;
mod collection;
mod compilers;
mod const_arrays;
mod constants;
mod disk;
mod features;
mod folding;
mod forged;
mod glsl;
mod images;
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
mod strided;
mod subgroups;
mod trust;
mod typed;

use vkarray::{Context, Kernel, Source};

/// Builds the one kernel of a shader.
fn kernel(ctx: &Context, wgsl: impl Into<String>) -> Kernel {
    ctx.kernel(Source::wgsl(wgsl.into())).build().unwrap_or_else(|error| panic!("{error}"))
}
