//! Device arrays and compute kernels on any Vulkan driver.
//!
//! A [`Context`] is a device opened for work. Arrays ([`DeviceNDArray`]) are made from host arrays or on the device. A
//! [`Kernel`] is built from a shader in WGSL, GLSL or SPIR-V, and its arguments are checked against that shader before
//! anything runs. The runtime orders the work: two operations that use the same memory run one after the other, others
//! may overlap, and memory is freed when the device no longer uses it.
//!
//! ```
//! use vkarray::prelude::*;
//!
//! # fn main() -> vkarray::Result<()> {
//! let ctx = Context::open_default()?; // The best device there is, or the one that VKARRAY_DEVICE names.
//! let x = ctx.arange(0.0_f32, 1000.0, 1.0)?;
//! let y = ctx.full([1000], 1.0_f32)?;
//! let saxpy = ctx
//!     .kernel(Source::wgsl(
//!         "@group(0) @binding(0) var<storage, read> x: array<f32>;
//!          @group(0) @binding(1) var<storage, read_write> y: array<f32>;
//!          var<immediate> a: f32;
//!          @compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
//!              if id.x < arrayLength(&y) { y[id.x] += a * x[id.x]; }
//!          }",
//!     ))
//!     .build()?;
//! saxpy.launch(Groups::covering(1000), (&x, &y, 2.0_f32))?;
//! let table = y.reshape([10, 100])?.slice(s![-1, ..;50])?; // Views of the same memory, as in NumPy.
//! assert_eq!(format!("{table}"), "[1801. 1901.]");
//! # Ok(())
//! # }
//! ```
//!
//! The guide in the repository's `docs/` teaches all of it, with pages for those who know NumPy, numba, CuPy, dpctl, CUDA
//! or wgpu. The programs in `examples/` are numbered in reading order. In this reference, start at [`Context`].
//!
//! # Modules
//!
//! The names that most programs need are at the root and in the [`prelude`]. The others are grouped:
//!
//! | module | about |
//! |---|---|
//! | [`array`](mod@array) | layouts, element types, copies in flight, host access in place |
//! | [`kernel`](mod@kernel) | building, arguments, constants, the cache on disk |
//! | [`kernel::signature`] | what a kernel takes, without a device |
//! | [`primitives`] | expressions, reductions and functions of arrays |
//! | [`stream`] | streams, events, graphs |
//! | [`memory`] | blocks of memory and their kinds, memory of the program, memory running out |
//! | [`memory::managers`] | memory managers, and how to write one |
//! | [`memory::usm`] | memory objects without types |
//! | [`device`] | the devices of a machine, and what each can do |
//! | [`sanitizer`] | what a kernel that was built with checks reports |
//! | `io` (feature `npy`) | `.npy` and `.npz` files |
//! | [`interop`] | memory of other libraries, processes and devices |
//! | [`vulkan`] | raw handles, and devices that another library opened |
//!
//! # Errors
//!
//! Every function that can fail returns an error that converts to [`Error`] with `?`. Its message contains the reason
//! and names the object at fault, and `Debug` prints the message, so `fn main() -> vkarray::Result<()>` ends with
//! readable text.
//!
//! # Features
//!
//! | feature | brings |
//! |---|---|
//! | `macros` (on by default) | `kernel!` and `#[derive(Element)]` |
//! | `npy` | the module `io`: `.npy` and `.npz` files |
//! | `glslang` | the compiler of GLSL inside of the program, which takes a C++ compiler to build; not part of `full` |
//! | `dlpack` | DLPack tensors, in [`interop`] |
//! | `limit-files` | profiles of limits in JSON files, for `VKARRAY_LIMITS`: [`device::LimitProfile`] |
//! | `serde` | arrays through serde |
//! | `trace` | `stream::Trace`: what host and device do, for Perfetto |
//! | `allocation-log` | `memory::managers::Logging`: logs of allocations, written and read as CSV |
//! | `full` | all of these |
#![forbid(unsafe_code)]

pub mod array;
pub mod device;
pub mod interop;
#[cfg(feature = "npy")]
pub mod io;
pub mod kernel;
pub mod memory;
#[cfg(doctest)]
mod misuse;
pub mod primitives;
pub mod sanitizer;
pub mod stream;
pub mod vulkan;

pub use vkarray_driver::{Event, Graph, Stream};
pub use vkarray_kernel::{DType, Element, Groups, Kernel, Source};
pub use vkarray_ndarray::{Context, DeviceNDArray, Error, Index, Order, Result, s};

#[cfg(feature = "macros")]
pub use vkarray_kernel_macros::{Element, kernel};

/// Names for the code that macros write.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod private {
    pub use vkarray_kernel::{assert_field, assert_size};
}

pub use half;
pub use ndarray;
pub use vkarray_shaders as shaders;

/// The names that most programs need: `use vkarray::prelude::*;`.
pub mod prelude {
    pub use crate::array::{Expr, Operand, Strided};
    pub use crate::kernel::{Arg, AsArg, ConstArray, Sampler};
    pub use crate::primitives::{Evaluate, Reduce, Statistics, keepdims};
    pub use crate::stream::GraphRecorder;
    pub use crate::{
        Context, DType, DeviceNDArray, Element, Error, Event, Graph, Groups, Index, Kernel, Order, Source, Stream, s,
    };
}
