//! Evaluating expressions: one kernel computes every element of the results.
//!
//! | file | what it has |
//! |---|---|
//! | `evaluate.rs` | [`Evaluate`], the methods, and what may be written |
//! | `text.rs` | [`ElementwiseKernel`]: kernels whose computation is a text in WGSL |
//! | `launch.rs` | from a program and its arrays to dispatches |

mod evaluate;
mod launch;
mod text;

pub(crate) use evaluate::stream_of;
pub use evaluate::{Assignment, Evaluate, assign_all};
pub use text::{Call, ElementwiseKernel, Results};
