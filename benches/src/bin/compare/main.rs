//! How does vkarray compare with raw Vulkan, wgpu, CUDA and other programs on this machine?
//!
//! Runs `bench`, `floor`, `peer`, `cuda` and any other commands in turns, several rounds, and prints a Markdown table
//! of the medians. `program.rs` runs one program; the library's `merge.rs` and `table.rs` evaluate the printed lines.

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
    /// How often all programs take their turn
    #[arg(long, value_name = "N", default_value = "3")]
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

/// The programs beside ours: the column, and the command to run.
const fn peers(suite: Suite) -> &'static [(&'static str, &'static str)] {
    match suite {
        Suite::Launch | Suite::Copy | Suite::Jobs | Suite::Threads => {
            &[("floor", "floor"), ("wgpu", "peer"), ("cuda", "cuda")]
        }
        Suite::Memory => &[("wgpu", "peer"), ("cuda", "cuda")],
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let (rounds, runs) = if args.quick { (1, 1) } else { (args.rounds.get(), args.runs.get()) };
    let mut comparison = Comparison::default();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        let suites = if args.suites.is_empty() { Suite::value_variants() } else { &args.suites };
        for &suite in suites {
            comparison.suite(suite, runs)?;
        }
        for command in &args.also {
            comparison.run(Program::also(command))?;
        }
        comparison.write(&args)?;
    }
    print!("{}", comparison.text(&args.also));
    ensure!(comparison.n_failures == 0, "{} runs failed; see the remarks", comparison.n_failures);
    Ok(())
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
    /// Runs vkarray first, since the other programs get the name of its device.
    fn suite(&mut self, suite: Suite, runs: u32) -> Result<()> {
        self.run(Program::measuring("vkarray", "bench", suite.name(), (runs, None))?)?;
        let header = self.header.clone().context("`bench` has printed nothing")?;
        let device = header["device"].as_str().context("`bench` has named no device")?;
        for (source, program) in peers(suite) {
            self.run(Program::measuring(source, program, suite.name(), (runs, Some(device)))?)?;
        }
        Ok(())
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
