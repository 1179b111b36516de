//! From an expression to the parts of a kernel's text.
//!
//! [`Program`] is the expression without its arrays' sizes and its numbers' values: two expressions of one form give one
//! program. [`Nest`] is the opposite: the loops over the elements and the arrays' strides, with as few axes as possible.
//! `class.rs` and `ops.rs` write operations as WGSL, `buffer.rs` reads and writes elements of any type in buffers of words,
//! `params.rs` has the push constants, and `library.rs` adds the functions that a text calls. `function.rs` and `names.rs` are
//! for text that a program wrote. Kernels are put together in `elementwise/`, the folder to read next, and `reduce/`.

mod buffer;
mod cast;
mod class;
mod function;
mod library;
mod names;
mod nest;
mod ops;
mod params;
mod program;
mod rounds;

pub use buffer::{Width, bound_dtype, word};
pub use class::value_type;
pub use function::{Combine, check_names, fault};
pub use library::{with_functions, with_lines};
pub use names::Names;
pub use nest::{Axis, Nest, NestOperand};
pub use ops::dtype_code;
pub use params::{Param, ParamOf, Params};
pub use program::{Program, key_part};
pub use rounds::{MAX_ROUNDS, MOST_INNER, PRODUCTS};
pub(crate) use {
    buffer::Buffer,
    class::Class,
    library::{declared, entry},
    ops::{operation, truth},
    program::position,
};
#[cfg(test)]
pub(crate) use {
    ops::is_defined,
    program::{Step, StepKind},
};
