//! How does vkarray compare with raw Vulkan, wgpu, CUDA and other programs on this machine?
//!
//! Runs `bench`, `floor`, `peer`, `cuda` and any other commands in turns, several rounds, and prints a Markdown table
//! of the medians. Each round begins with another program, so that none always has the coldest or the warmest machine.
//! `program.rs` runs one program; the library's `merge.rs` and `table.rs` evaluate the printed lines.

mod program;

use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use vkarray_benches::{Line, Sample, Suite, merge, table};

use crate::program::{Program, named};

/// vkarray beside the driver, wgpu, CUDA and others: one table. `VKARRAY_DEVICE` chooses the device.
#[derive(Debug, Parser)]
struct Args {
    /// What to measure; all if left out
    suites: Vec<Suite>,
    /// A shell command, run once a round, whose JSON lines are merged; `numba=python3 chain.py` names its column
    #[arg(long, value_name = "[NAME=]COMMAND")]
    also: Vec<String>,
    /// How often all programs take their turn; with four, each has had every place in the order
    #[arg(long, value_name = "N", default_value = "4")]
    rounds: NonZeroU32,
    /// Runs in a turn of which each figure is the median
    #[arg(long, value_name = "N", default_value = "9")]
    runs: NonZeroU32,
    /// One round of one run, to check that everything works
    #[arg(long, conflicts_with_all = ["rounds", "runs"])]
    quick: bool,
    /// Also write the table here, after every round
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Write the figures here as JSON, after every round
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The programs: the column, and the command to run. Ours is the first.
const fn programs(suite: Suite) -> &'static [(&'static str, &'static str)] {
    match suite {
        Suite::Launch | Suite::Copy | Suite::Jobs | Suite::Threads => {
            &[("vkarray", "bench"), ("floor", "floor"), ("wgpu", "peer"), ("cuda", "cuda")]
        }
        Suite::Memory | Suite::Startup => &[("vkarray", "bench"), ("wgpu", "peer"), ("cuda", "cuda")],
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let (rounds, runs) = if args.quick { (1, 1) } else { (args.rounds.get(), args.runs.get()) };
    let mut comparison = Comparison::default();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        let suites = if args.suites.is_empty() { Suite::value_variants() } else { &args.suites };
        let is_reversed = round % 2 == 1; // The other commands come before ours in every second round.
        if is_reversed {
            comparison.also(&args.also, round)?;
        }
        for &suite in suites {
            comparison.suite(suite, runs, round)?;
        }
        if !is_reversed {
            comparison.also(&args.also, round)?;
        }
        comparison.write(&args)?;
    }
    print!("{}", comparison.text(&args.also));
    ensure!(comparison.n_failures == 0, "{} runs failed; see the remarks", comparison.n_failures);
    Ok(())
}

/// All items, beginning in each round with the next one.
fn rotated<T>(items: &[T], round: u32) -> impl Iterator<Item = &T> {
    items.iter().cycle().skip(round as usize % items.len().max(1)).take(items.len())
}

/// The figures and remarks that were printed so far.
#[derive(Debug, Default)]
struct Comparison {
    /// Our first line: the device and the time.
    header: Option<Value>,
    samples: Vec<Sample>,
    /// The devices of other programs, figures that were left out, and failures; each once.
    remarks: Vec<String>,
    n_failures: u32,
}

impl Comparison {
    /// Runs the programs of a suite, in the first round vkarray first, since the others get the name of its device.
    fn suite(&mut self, suite: Suite, runs: u32, round: u32) -> Result<()> {
        for &(source, program) in rotated(programs(suite), round) {
            let header = self.header.clone().filter(|_| program != "bench");
            let device = header.as_ref().and_then(|header| header["device"].as_str());
            ensure!(program == "bench" || device.is_some(), "`bench` has named no device");
            self.run(Program::measuring(source, program, suite.name(), (runs, device))?)?;
        }
        Ok(())
    }

    fn also(&mut self, commands: &[String], round: u32) -> Result<()> {
        rotated(commands, round).try_for_each(|command| self.run(Program::also(command)))
    }

    fn run(&mut self, program: Program) -> Result<()> {
        let source = program.source.clone();
        eprintln!("  {source}");
        let printed = program.run()?;
        for line in printed.lines {
            match line {
                Line::Figure(figure) => self.samples.push(Sample { source: source.clone(), figure }),
                Line::Skipped { skipped, reason } => self.remark(format!("{source}: {skipped} skipped: {reason}")),
                Line::Absent { absent } => self.remark(format!("{source} is left out: {absent}")),
                Line::Remark(header) if source == "vkarray" => {
                    self.header.get_or_insert(Value::Object(header));
                }
                Line::Remark(remark) => self.remark(format!("{source}: {}", Value::Object(remark))),
            }
        }
        if let Some(failure) = printed.failure {
            self.n_failures += 1;
            eprintln!("{failure}");
            self.remark(failure);
        }
        Ok(())
    }

    fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    fn write(&self, args: &Args) -> Result<()> {
        let write = |path: &Option<PathBuf>, text: String| match path {
            Some(path) => fs::write(path, text).with_context(|| format!("writing {}", path.display())),
            None => Ok(()),
        };
        write(&args.table, self.text(&args.also))?;
        let rows = merge(&self.samples);
        write(&args.json, format!("{:#}\n", json!({"header": self.header, "rows": rows, "remarks": self.remarks})))
    }

    /// The device and the time, the table, the remarks.
    fn text(&self, also: &[String]) -> String {
        let has_cuda = self.samples.iter().any(|sample| sample.source == "cuda");
        let mut others = vec!["wgpu"];
        for source in has_cuda.then_some("cuda").into_iter().chain(also.iter().map(|command| named(command).0)) {
            if !others.contains(&source) {
                others.push(source);
            }
        }
        let others: Vec<_> = others.into_iter().map(str::to_owned).collect();
        let part = |field: &str| self.header.as_ref().and_then(|header| header[field].as_str()).unwrap_or_default();
        let [device, driver, version, date] = ["device", "driver", "version", "date"].map(part);
        let table = table(&merge(&self.samples), &others);
        let remarks: String = self.remarks.iter().map(|remark| format!("- {remark}\n")).collect();
        format!("{device}, {driver}; vkarray {version}, {date}\n\n{table}\n{remarks}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_comes_first_in_its_turn() {
        let order = |round| rotated(&["a", "b", "c"], round).copied().collect::<String>();
        assert_eq!([0, 1, 2, 3].map(order), ["abc", "bca", "cab", "abc"]);
        assert_eq!(rotated::<u8>(&[], 5).count(), 0);
    }
}
