//! Kernels: sources and how they are built, arguments, constants and launch sizes.
//!
//! [`Context::kernel`](crate::Context::kernel) gives a [`KernelBuilder`], on which constants (`override` in WGSL) and options
//! are set; [`build`](KernelBuilder::build) gives a [`Kernel`]. Arguments are a tuple, in the order of the shader, or pairs
//! of a name and a value. [`signature`] says what a kernel takes.
//!
//! ```
//! use vkarray::kernel::Groups;
//! use vkarray::prelude::*;
//!
//! # fn main() -> vkarray::Result<()> {
//! let ctx = Context::open_default()?;
//! let source = Source::wgsl(
//!     "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
//!      var<immediate> gain: f32;
//!      @compute @workgroup_size(64) fn amplify(@builtin(global_invocation_id) id: vec3<u32>) {
//!          if id.x < arrayLength(&x) { x[id.x] *= gain; }
//!      }",
//! );
//! let (x, amplify) = (ctx.full([3], 2.0_f32)?, ctx.kernel(source).build()?);
//! amplify.launch(Groups::covering(3), (&x, 1.5_f32))?;
//! assert_eq!(x.to_vec()?, [3.0; 3]);
//! # Ok(())
//! # }
//! ```
//!
//! The macro [`kernel!`](crate::kernel!) makes a Rust type of a shader, whose arguments the compiler checks.

pub mod signature;

pub use vkarray_kernel::{
    AddressMode, Arg, ArgList, Arguments, ArrayArg, ArrayShape, AsArg, AsArray, BadScalar, Bounds, BufferBounds,
    CacheMode, CacheSettings, ConstArray, Error, Filter, Immediate, KernelBuilder, KernelCache, KernelLimit, Library,
    MemoryArg, Mismatch, NamedArg, Reached, Sampled, Sampler, ScalarValue, ShaderError, SpirvError, UnknownSampler,
};

pub use crate::{Groups, Kernel, Source};
