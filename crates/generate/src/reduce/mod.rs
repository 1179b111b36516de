//! Reductions: what is accumulated, by whom, and the text of both passes.
//!
//! | file | what it has |
//! |---|---|
//! | `kind.rs` | [`Reduction`]: accumulators and how they are combined, as WGSL |
//! | `share.rs` | how elements are shared out among invocations |
//! | `form.rs` | the text of both passes |

mod form;
mod kind;
mod share;

pub use form::ReduceForm;
pub use kind::{Field, Reduction};
pub use share::{MOST_ROUNDS, Share, Team, fours, is_across, most_of_launch, second_team};
