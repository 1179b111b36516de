//! Reductions over any axes. The kernel that reduces an expression also computes its values.
//!
//! Results do not depend on timing: the order of additions follows from the shape, the strides and the size of a
//! workgroup alone. A reduction takes at most two passes: the first writes partial results for each output, the second
//! combines them.
//!
//! | file | what it has |
//! |---|---|
//! | `methods.rs`, `statistics.rs` | [`Reduce`], [`Statistics`]: the methods |
//! | `quantile.rs` | medians and quantiles, from sorted elements |
//! | `text.rs` | [`ReductionKernel`]: reductions that are written in WGSL |
//! | `axes.rs` | [`IntoAxes`]: which axes |
//! | `launch.rs` | from an expression to dispatches |

mod axes;
mod launch;
mod methods;
mod position;
mod quantile;
mod statistics;
mod text;

pub use axes::{Axes, IntoAxes, keepdims};
pub(super) use launch::{dot, reduce};
pub use methods::Reduce;
pub use statistics::{Precise, Statistics};
pub use text::{ReductionCall, ReductionKernel};
