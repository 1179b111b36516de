//! From expressions on arrays to the text of kernels, as plain data.
//!
//! **Is:** expressions with their type rules, the WGSL of their operations, and the kernels that evaluate and reduce them,
//! as text, keys and parameters. **Is not:** arrays, memory, a device, and not a line of `unsafe`. `vkarray-ndarray` makes
//! the expressions, and runs the kernels.
//!
//! The folders, each of which uses only those above it:
//!
//! | folder | what it is |
//! |---|---|
//! | `error/` | why an expression has no value, and where a text in WGSL is not valid |
//! | `expr/` | expressions as graphs; an array in them is any type that is a [`Leaf`] |
//! | `text/` | from a graph to steps, loops over strides, and their WGSL |
//! | `elementwise/` | the kernel that computes every element of the results |
//! | `reduce/` | the kernels of both passes of a reduction |
//!
//! **Start** at [`Node`], then [`Program`].
#![forbid(unsafe_code)]

mod elementwise;
mod error;
mod expr;
mod reduce;
mod text;

pub use elementwise::Form;
pub use error::{ExprError, OperandShape, TextFault};
pub use expr::{Function, Leaf, Node, NodeKind, Op, Scalar};
pub use reduce::{
    Field, MOST_ROUNDS, ReduceForm, Reduction, Share, Team, fours, is_across, most_of_launch, second_team,
};
pub use text::{
    Axis, Combine, MAX_ROUNDS, MOST_INNER, Names, Nest, NestOperand, PRODUCTS, Param, ParamOf, Params, Program, Width,
    bound_dtype, check_names, dtype_code, fault, key_part, value_type, with_functions, with_lines, word,
};
