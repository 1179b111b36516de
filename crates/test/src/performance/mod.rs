//! [`Benches`]: a program that measures kernels, and compares two checkouts of them to find whether kernels became
//! slower.
//!
//! Times of one run are never judged, since they depend on the machine and its load. Base and head are measured in
//! turns, and the ratios of their times decide.
//! Read `ratio.rs` first, which decides. `rounds.rs` builds the base and runs both programs, `bencher.rs` measures a
//! kernel on the device, and this file has the command line.

mod bencher;
mod ratio;
mod rounds;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use vkarray::Context;

use crate::compare::target_folder;
use crate::expectations::Verdict;
use crate::matrix::targets;
use crate::report::{Record, Results, remove_reports};
use crate::test::Outcome;

pub use bencher::Bencher;

use ratio::{Change, Comparison, Rule};
use rounds::{Line, Program};

/// A function that measures one kernel. It returns the message of its failure.
type Measurement = Box<dyn Fn(&Bencher) -> Option<String>>;

/// Kernels to measure, each in a function of a [`Bencher`]. [`benches!`](crate::benches) makes a value of this type
/// from functions.
///
/// ```no_run
/// // benches/kernels.rs; in Cargo.toml: [[bench]] name = "kernels", harness = false
/// use std::process::ExitCode;
///
/// use vkarray::prelude::*;
/// use vkarray_test::{Bencher, benches};
///
/// fn doubles(bencher: &Bencher) -> vkarray::Result<()> {
///     let double = bencher // A `Context` too.
///         .kernel(Source::wgsl(
///             "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
///              @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
///                  if id.x < arrayLength(&x) { x[id.x] *= 2.0; }
///              }",
///         ))
///         .build()?;
///     let x = bencher.ones::<f32>(1 << 20)?;
///     bencher.iter(|| double.launch(Groups::covering(1 << 20), (&x,)))
/// }
///
/// fn main() -> ExitCode {
///     benches![doubles].run()
/// }
/// ```
///
/// `cargo bench --bench kernels` prints the time of each kernel on the device. Given a folder with an earlier version
/// of the package, `cargo bench --bench kernels -- --against ../base` builds that version, measures both in turns, and
/// fails if a kernel is slower. The guide has the rule and the options.
#[must_use = "kernels are measured when `run` is called"]
pub struct Benches {
    name: String,
    functions: Vec<(String, Measurement)>,
}

/// [`Benches`] of functions, each with the name of the function.
#[macro_export]
macro_rules! benches {
    ($($function:ident),* $(,)?) => {
        $crate::Benches::new(::core::env!("CARGO_CRATE_NAME"))
            $(.function(::core::stringify!($function), $function))*
    };
}

/// Measures kernels on the device, and compares two versions of them
#[derive(Debug, Parser)]
struct Options {
    /// Only kernels with this text in their names
    filter: Option<String>,
    /// The folder of the same package before the change: fails if a kernel is slower than there
    #[arg(long, value_name = "FOLDER")]
    against: Option<PathBuf>,
    /// How often base and head are measured in turns
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(5..))]
    rounds: u32,
    /// The ratio of times above which a kernel is slower
    #[arg(long, default_value_t = 1.05)]
    threshold: f64,
    /// The profile of cargo with which the base is built
    #[arg(long, default_value = "bench")]
    profile: String,
    /// Prints a line of JSON for each kernel
    #[arg(long)]
    json: bool,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

impl Benches {
    /// A program without functions. `name` is the name of the program in the manifest of its package.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), functions: Vec::new() }
    }

    /// Adds a function that measures a kernel by [`Bencher::iter`]. Functions run in the order in which they are added, each
    /// with a context of its own; `name` is the line of the report.
    ///
    /// ```
    /// use vkarray_test::Benches;
    ///
    /// let benches = Benches::new("kernels").function("zeros", |bencher| {
    ///     let x = bencher.zeros::<f32>(1000)?;
    ///     bencher.iter(|| x.fill(0.0))
    /// });
    /// # drop(benches);
    /// ```
    pub fn function<R: Outcome>(mut self, name: &str, body: impl Fn(&Bencher) -> R + 'static) -> Self {
        self.functions.push((name.to_owned(), Box::new(move |bencher| body(bencher).failure())));
        self
    }

    /// Measures, or compares, as the arguments of the program say. The exit code is a failure if a kernel is slower
    /// than in the base, or could not be measured.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let options = Options::parse();
        let outcome = match &options.against {
            None => self.measure(&options),
            Some(folder) => {
                Program::of_folder(folder, &self.name, &options.profile).and_then(|base| self.compare(&base, &options))
            }
        };
        outcome.unwrap_or_else(|problem| {
            eprintln!("error: {}: {problem}", self.name);
            ExitCode::FAILURE
        })
    }

    /// Measures each kernel and prints its time.
    fn measure(&self, options: &Options) -> Result<ExitCode, String> {
        let ctx = Context::open_default().map_err(|error| error.to_string())?;
        let is_chosen = |name: &str| options.filter.as_ref().is_none_or(|filter| name.contains(filter));
        for (name, body) in self.functions.iter().filter(|(name, _)| is_chosen(name)) {
            let bencher = Bencher::new(&ctx);
            let failure = body(&bencher);
            let time = bencher.into_time().map_err(|problem| failure.unwrap_or(problem));
            let line = Line::new(name, time.map_err(|problem| format!("{name}: {problem}"))?);
            if options.json {
                println!("{}", serde_json::to_string(&line).map_err(|error| error.to_string())?);
            } else {
                println!("{name}: {:.3} us", line.value);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Measures this program and its base in turns, prints a line for each kernel and writes the reports.
    fn compare(&self, base: &Program, options: &Options) -> Result<ExitCode, String> {
        let rule = Rule::new(options.threshold)?;
        let head = Program::this()?;
        remove_reports(&self.folder())?;
        let filter = options.filter.as_deref();
        let measure = |_| rounds::measure(base, &head, filter);
        let mut rounds = (0..options.rounds).map(measure).collect::<Result<Vec<_>, _>>()?;
        let is_slower = |comparison: &Comparison| comparison.change == Change::Slower;
        let mut comparisons = ratio::compare(&rounds, rule);
        if comparisons.iter().any(is_slower) {
            // What disturbed the machine during these rounds could explain it, so that as many again decide.
            rounds = (0..options.rounds).map(measure).collect::<Result<Vec<_>, _>>()?;
            comparisons = ratio::confirm(&comparisons, ratio::compare(&rounds, rule));
        }
        if comparisons.is_empty() {
            return Err("base and head have no kernel in common".to_owned());
        }
        comparisons.iter().for_each(|comparison| println!("{comparison}"));
        rounds::only_in_one(&rounds).for_each(|line| println!("{line}"));
        self.report(&comparisons)?;
        Ok(if comparisons.iter().any(is_slower) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// The folder of the reports.
    fn folder(&self) -> PathBuf {
        target_folder().join(format!("{}-performance", self.name))
    }

    /// Writes reports in the form of the reports of tests.
    fn report(&self, comparisons: &[Comparison]) -> Result<(), String> {
        let builder = vkarray::device::Instance::builder();
        let instance = builder.build().map_err(|error| error.to_string())?;
        let devices = targets(&instance, &[]).map_err(|error| error.to_string())?;
        let label = devices[0].label.clone();
        let trials = comparisons.iter().map(|comparison| Record {
            test: comparison.name.clone(),
            device: label.clone(),
            profile: "performance".to_owned(),
            verdict: match comparison.change {
                Change::Slower => Verdict::Failed(comparison.to_string()),
                Change::Faster | Change::Unchanged | Change::Undecided => Verdict::Passed,
            },
            seconds: comparison.head,
        });
        let trials = trials.collect();
        let results = Results { suite: self.name.clone(), devices, trials, ..Results::default() };
        let folder = self.folder();
        results.write(&folder)?;
        println!("reports: {}", folder.join("{junit.xml,report.json}").display());
        Ok(())
    }
}

impl fmt::Debug for Benches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: BTreeMap<_, _> = self.functions.iter().map(|(name, _)| (name, "..")).collect();
        f.debug_struct("Benches").field("name", &self.name).field("functions", &names).finish()
    }
}
