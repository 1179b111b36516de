//! `vkarray run`: a plan, then its execution, then the files and the report.
//!
//! `value.rs` parses arguments, and `pipeline.rs` parses pipeline files; `plan.rs` and `step.rs` check both against the
//! shaders, and `execute.rs` runs the plan; `input.rs` loads arrays, `output.rs` writes them and `compare.rs` compares
//! them. No device is opened before the plan is complete, and no file is written before the run has succeeded.
//! `eval.rs` is `vkarray eval`, with values and files of the same forms.

pub(crate) mod arrays;
pub(crate) mod compare;
pub(crate) mod eval;
pub(crate) mod execute;
pub(crate) mod generate;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod pipeline;
pub(crate) mod plan;
mod report;
pub(crate) mod step;
pub(crate) mod value;

pub(crate) use self::eval::eval;

use crate::args::RunArgs;
use crate::error::Result;

/// Plans, runs, writes the outputs and prints the report.
///
/// # Errors
///
/// The first error of the plan, the run or the files.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let plan = plan::Plan::new(args)?;
    let outcome = execute::execute(&plan, args.data.quiet)?;
    let result = |name: &str| outcome.arrays.iter().find(|(own, _)| own == name).map(|(_, array)| array);
    let compared = compare::check_all(&plan.comparisons, result)?;
    let outputs: Vec<_> = plan.outputs.iter().filter_map(|output| Some((output, result(&output.name)?))).collect();
    output::write_all(&outputs)?;
    output::report_beside(&plan.outputs, &args.data, &outcome.report, || outcome.report.to_string() + &compared)
}
