//! Running out of memory: which steps are tried before an allocation fails, and the report of one that failed.
//!
//! Plain data and control flow. What a step does is its manager's; nothing here frees memory or waits. Read `fallback.rs`
//! for the order of the steps, then `report.rs`.

mod fallback;
mod report;

pub(crate) use fallback::{MAX_WAIT, OomFallback, OomHandler};
pub use fallback::{OomCounts, OomStep, OomStepCount, StepOutcome, StepOutcomes};
pub use report::{HeapUse, LiveBlock, OutOfMemory, PendingOn, Shortage};
