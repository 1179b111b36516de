//! From an expression to the text of a kernel, in plain data: nothing here opens a device.
//!
//! [`Program`] is the expression without its arrays' sizes and its numbers' values: two expressions of one form give one
//! program. [`Nest`] is the opposite: the loops over the elements and the arrays' strides, with as few axes as possible.
//! `class.rs` and `ops.rs` write operations as WGSL, `buffer.rs` reads and writes elements of any type in buffers of words,
//! `params.rs` has the push constants, and `library.rs` adds the functions that a text calls. `function.rs` and `names.rs` are
//! for text that a program wrote. Kernels are put together by the folders that run them; read
//! `elementwise/kernel.rs` next.

mod buffer;
mod cast;
mod class;
mod function;
mod library;
mod limits;
mod names;
mod nest;
mod ops;
mod params;
mod program;
mod rounds;

pub(crate) use buffer::{Buffer, Width, bound_dtype, word};
pub(crate) use class::{Class, value_type};
pub(crate) use function::{Combine, check_names, fault};
pub use library::with_functions;
pub(crate) use library::with_lines;
#[cfg(test)]
pub(crate) use limits::machine;
pub(crate) use limits::{DeviceLimits, SANITIZER_BYTES};
pub(crate) use names::Names;
pub(crate) use nest::{Axis, Nest};
pub(crate) use ops::{dtype_code, operation, truth};
pub(crate) use params::{Param, ParamOf, Params};
pub(crate) use program::{Program, key_part, position};
pub(crate) use rounds::{MAX_ROUNDS, MOST_INNER, PRODUCTS};
#[cfg(test)]
pub(crate) use {
    ops::is_defined,
    program::{Step, StepKind},
};
