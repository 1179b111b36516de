//! [`Node`]: expressions as graphs of arrays, numbers and operations.

mod function;
mod node;
mod op;

pub use function::Function;
pub use node::{Leaf, Node, NodeKind, Scalar};
pub use op::Op;
