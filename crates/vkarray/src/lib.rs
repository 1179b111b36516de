//! Device arrays and compute kernels on any Vulkan driver.
//!
//! A [`Context`] is a device opened for work. Arrays come from host arrays or are made on the device; kernels come from
//! WGSL and are checked against their arguments before anything runs. Nothing is ordered by hand: work that touches
//! the same memory is ordered by the runtime, and the rest may overlap.
//!
//! ```
//! use vkarray::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ctx = Context::open_default()?; // VKARRAY_DEVICE, else the best device there is.
//! let x = ctx.to_device(&ndarray::Array1::from_iter((0..1000).map(|i| i as f32)))?;
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
//! saxpy.dispatch(ctx.default_stream(), Groups::covering([1000]), (&x, &y, 2.0_f32))?;
//! let back = y.reshape([10, 100])?.copy_to_host()?;
//! assert_eq!(back[[9, 99]], 2.0 * 999.0 + 1.0);
//! # Ok(())
//! # }
//! ```
//!
//! | of CUDA, numba or NumPy | here |
//! |---|---|
//! | a CUDA context, a device | [`Context`] |
//! | `cuda.device_array`, `cuda.to_device`, `copy_to_host` | [`Context::device_array`], [`Context::to_device`], [`DeviceNDArray::copy_to_host`] |
//! | `np.reshape(list, shape)`, `a.ravel().tolist()` | [`Context::shaped_to_device`], [`DeviceNDArray::to_vec`] |
//! | `np.arange`, `np.linspace`, `np.zeros_like` | [`Context::arange`], [`Context::linspace`], [`Context::zeros_like`] |
//! | `a[2]`, `a[1:, ::-1]`, `for row in a`, `a.view(np.uint8)` | [`DeviceNDArray::index`], [`slice`](DeviceNDArray::slice), [`outer_iter`](DeviceNDArray::outer_iter), [`view`](DeviceNDArray::view) |
//! | `np.load`, `np.save`, `np.savez` | [`Context::load_npy`], [`DeviceNDArray::save_npy`], [`NpzFile`](io::NpzFile), [`NpzWriter`](io::NpzWriter) |
//! | `__cuda_array_interface__`, `cuda.as_cuda_array` | [`AsDeviceArray`](interop::AsDeviceArray), [`Context::as_device_array`] |
//! | `np.from_dlpack`, `__dlpack__` | [`Context::dlpack_to_device`], [`DeviceNDArray::to_dlpack_host`] |
//! | `print(a)` | `println!("{a}")` |
//! | a stream, an event | [`Stream`], [`Event`] |
//! | a kernel, a launch, a grid of blocks of threads | [`Kernel`], [`Kernel::dispatch`], [`Groups`] of workgroups of invocations |
//! | a graph | [`Graph::record`], [`Kernel::record`], [`Graph::replay`] |
//! | shared memory | `var<workgroup>` in the shader |
//! | `cuda.const.array_like` | [`Context::const_array`] and `var<uniform>` |
//! | scalar arguments, a struct of them | `var<immediate>`, push constants; [`Immediate`](kernel::Immediate) |
//! | template parameters, closure constants | `override`, set with [`KernelBuilder::constant`](kernel::KernelBuilder::constant) |
//!
//! The crates below, each usable alone: [`vkarray_driver`] (Vulkan objects), [`vkarray_allocator`] (memory),
//! [`vkarray_kernel`] (shaders and dispatch), [`vkarray_ndarray`] (arrays).
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
    pub use crate::kernel::{Arg, AsArg, ConstArray};
    pub use crate::stream::GraphRecorder;
    pub use crate::{
        Context, DType, DeviceNDArray, Element, Error, Event, Graph, Groups, Index, Kernel, Order, Source, Stream, s,
    };
}
