//! `vkarray run`: a plan, then its execution, then the files and the report.
//!
//! `value.rs` → `plan.rs` → `execute.rs` is the way of a run; `input.rs` and `output.rs` are its two ends. Up to the
//! plan nothing is opened, and up to the very end nothing is written.

mod execute;
mod generate;
mod input;
mod output;
pub(crate) mod plan;
mod report;
mod traced;
mod value;

use crate::args::RunArgs;
use crate::devices::print;
use crate::error::Result;

/// Plans, runs, writes the outputs and prints the report.
///
/// # Errors
///
/// Whatever is wrong first; see [`crate::error::Error`].
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let plan = plan::Plan::new(args)?;
    let outcome = execute::execute(&plan, args.quiet)?;
    let outputs = plan.outputs.iter().filter_map(|output| {
        let (_, array) = outcome.arrays.iter().find(|(name, _)| *name == output.name)?;
        Some((output, array))
    });
    output::write_all(&outputs.collect::<Vec<_>>())?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome.report).expect("plain numbers and texts");
        print(&format!("{text}\n"))
    } else if args.quiet {
        Ok(())
    } else {
        print(&outcome.report.to_string())
    }
}
