//! `vkarray run`: a plan, then its execution, then the files and the report.
//!
//! `value.rs` parses arguments, `plan.rs` checks them against the shader, `execute.rs` runs the plan; `input.rs` loads
//! arrays and `output.rs` writes them. No device is opened before the plan is complete, and no file is written before the
//! run has succeeded. `eval.rs` is `vkarray eval`, with the same values and files.

mod eval;
mod execute;
mod generate;
mod input;
pub(crate) mod output;
pub(crate) mod plan;
mod report;
mod trace;
mod value;

pub(crate) use eval::eval;

use crate::args::RunArgs;
use crate::error::Result;
use crate::print::print;

/// Plans, runs, writes the outputs and prints the report.
///
/// # Errors
///
/// The first error of the plan, the run or the files.
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
