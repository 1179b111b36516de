//! Running out of memory: which steps are tried before an allocation fails, and the report of an allocation that
//! failed.
//!
//! The folder has plain data and control flow. A manager defines its steps; nothing here frees memory or waits. Read
//! `fallback.rs` for the order of the steps, then `report.rs`.

mod fallback;
mod report;

pub(crate) use fallback::{MAX_WAIT, OomFallback, OomHandler};
pub use fallback::{OomCounts, OomStep, OomStepCount, StepOutcome, StepOutcomes};
pub use report::{HeapUse, LiveBlock, OutOfMemory, Shortage};
