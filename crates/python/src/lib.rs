//! `vkarray._core`: the compiled half of the Python package. The other half is in `python/vkarray`.
//!
//! Each method converts its arguments, calls the method of the library that has the decision, and converts the result.
//! Nothing relies on the lock of the interpreter, and every call that waits or copies releases it.
//!
//! | file | what it has |
//! |---|---|
//! | `error.rs` | which exception an error becomes |
//! | `class/` | the class `Array` and views of its memory by Python; the other methods are in `array.rs` |
//! | `context/` | contexts of devices, streams and events, and the end of the interpreter |
//! | `convert.rs` | element types, numbers, operands and bytes |
//! | `index.rs` | what stands between brackets |
//! | `operate.rs` | operators |
//! | `array.rs` | the methods of `Array` |
//! | `functions.rs` | functions that make arrays of numbers and of other arrays |
//! | `kernel.rs` | the class `Kernel` |
//! | `text.rs` | kernels whose computation is a text: `Elementwise`, `Reduction`, `Scan` |
//! | `memory/` | memory that host and device address, and memory managers |

mod array;
mod class;
mod context;
mod convert;
mod error;
mod functions;
mod index;
mod kernel;
mod memory;
mod operate;
mod text;

use pyo3::prelude::*;

/// The compiled half of the package `vkarray`.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<error::VkError>())?;
    module.add("DeviceLost", module.py().get_type::<error::DeviceLost>())?;
    module.add_class::<class::Array>()?;
    module.add_class::<kernel::Kernel>()?;
    context::register(module)?;
    functions::register(module)?;
    text::register(module)?;
    module.add_function(wrap_pyfunction!(kernel::device_has_float_atomics, module)?)?;
    memory::register(module)?;
    module.add_function(wrap_pyfunction!(kernel::kernel, module)?)
}
