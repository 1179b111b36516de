//! `vkarray eval`: results that a text in WGSL computes from arrays, written to files, with their statistics and, if there are
//! few, their values.
//!
//! Values and files have the forms of `vkarray run`: `value.rs` parses them, `input.rs` loads and `output.rs` writes
//! them.

use std::fmt;

use serde::Serialize;
use vkarray::prelude::*;
use vkarray::primitives::{Assignment, Call, ElementwiseKernel, assign_all};

use super::compare::{Comparison, check_all};
use super::execute::{Timer, open};
use super::generate::number;
use super::input::Input;
use super::output::{Output, report_beside, write_all};
use super::report::Dispatches;
use super::value::{PictureOptions, Value, split_pair, value_error};
use crate::args::EvalArgs;
use crate::array::{HostArray, HostElement, with_array, with_type};
use crate::error::{Error, Result, shape_text};
use crate::files::Files;

/// The most elements that are printed.
const MAX_PRINTED: usize = 64;

/// One result: its name and type, and numbers about its elements.
#[derive(Debug, Serialize)]
struct Statistics {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    /// NaN if an element is NaN; `None` where there are no elements.
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    std: Option<f64>,
    /// The elements as NumPy prints them, if there are few.
    #[serde(skip)]
    printed: Option<String>,
    /// The time of the pass that computes all results, if the pass is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Dispatches>,
}

/// An argument before it is loaded.
enum Argument {
    Array(Input),
    /// A number, which gets the type of the first array.
    Number(String),
}

/// Evaluates the text, writes the outputs and prints the statistics.
///
/// # Errors
///
/// The first error of the flags, the text, the device or the files.
pub(crate) fn eval(args: &EvalArgs) -> Result<()> {
    let kernel = ElementwiseKernel::new(&args.text);
    let mut files = Files::default();
    let arguments = arguments(&args.data.values, &mut files)?;
    let is_result = |name: &str, path: &str| {
        let names = || kernel.results().iter().map(String::as_str);
        let unknown = || Error::OutputUnknown { name: name.to_owned(), path: path.into(), names: names().collect() };
        names().any(|result| result == name).then_some(()).ok_or_else(unknown)
    };
    let comparisons = Comparison::parse_all(&args.data.comparison, is_result, &mut files)?;
    let outputs = Output::parse_all(&args.data.outputs, is_result, |_| None, &mut files)?;
    let ctx = open(args.data.device.as_deref())?;
    let dtype = arguments.iter().find_map(|(_, argument)| match argument {
        Argument::Array(input) => Some(input.dtype()),
        Argument::Number(_) => None,
    });
    let mut call = kernel.call();
    for (name, argument) in arguments {
        let host = match argument {
            Argument::Array(input) => input.load()?,
            Argument::Number(text) => number(name, text, dtype.unwrap_or(DType::F32))?,
        };
        call = with_array!(&host, host => call.arg(name, ctx.to_device(host)?));
    }
    let (results, times) = results(&ctx, &call, kernel.results(), args.data.repeat.get())?;
    let result = |name: &str| results.iter().find(|(of, _)| of.name == name).map(|(_, array)| array);
    let files = outputs.iter().filter_map(|output| Some((output, result(&output.name)?)));
    let files: Vec<_> = files.collect();
    files.iter().try_for_each(|(output, array)| output.check(array.dtype(), array.shape()))?;
    let compared = check_all(&comparisons, result)?;
    write_all(&files)?;
    let statistics: Vec<_> = results.iter().map(|(of, _)| of).collect();
    report_beside(&outputs, &args.data, &statistics, || {
        let lines = statistics.iter().map(ToString::to_string).collect::<String>();
        let times = times.map(|times| format!("time  {times}\n")).unwrap_or_default();
        lines + &times + &compared
    })
}

/// What a text without assignments computes, as elements of `dtype`: its last statement is an expression. `argument`
/// makes the value of an argument.
///
/// # Errors
///
/// [`Error::Array`] for the text and the device, [`Error::ResultType`], and the errors of `argument`.
pub(crate) fn value(
    ctx: &Context,
    kernel: &ElementwiseKernel,
    dtype: DType,
    argument: impl Fn(&str) -> Result<HostArray>,
) -> Result<HostArray> {
    let mut call = kernel.call();
    for name in kernel.arguments() {
        call = with_array!(&argument(name)?, host => call.arg(name, ctx.to_device(host)?));
    }
    let computed = with_type!(dtype, T => Ok(HostArray::new(call.result::<T>()?.eval()?.copy_to_host()?)));
    computed.ok_or_else(|| Error::ResultType { name: kernel.results().join(", "), dtype })?
}

/// The kernel of a text whose last statement is an expression.
pub(crate) fn expression(text: &str) -> ElementwiseKernel {
    let (statements, expression) = text.trim_end().trim_end_matches(';').rsplit_once(';').unwrap_or(("", text));
    let end = if statements.is_empty() { "" } else { ";" };
    ElementwiseKernel::new(&format!("{statements}{end} {EXPECTED} = {expression}"))
}

/// The name of the result of [`expression`].
const EXPECTED: &str = "expected_value";

/// The arguments by name. `files` are the files of the call.
fn arguments<'a>(texts: &'a [String], files: &mut Files) -> Result<Vec<(&'a str, Argument)>> {
    let argument = |text: &'a String| {
        let (name, value) = split_pair("--arg", text)?;
        let parsed = Value::parse(name, value)?;
        parsed.note_file(name, files);
        let argument = match parsed {
            Value::Numbers(numbers) => match <[String; 1]>::try_from(numbers) {
                Ok([number]) => Argument::Number(number),
                Err(_) => return Err(value_error(name, value, "an argument of `eval` is one number or an array")),
            },
            array => Argument::Array(Input::open(array, PictureOptions::default())?),
        };
        Ok((name, argument))
    };
    texts.iter().map(argument).collect()
}

type ReadBack = Box<dyn Fn(&str) -> Result<(Statistics, HostArray)>>;

/// The results, and the times of the pass that computes them if the pass is repeated.
type Results = (Vec<(Statistics, HostArray)>, Option<Dispatches>);

/// Computes all results in one pass, `repeat` times, and reads them back.
fn results(ctx: &Context, call: &Call<'_>, names: &[String], repeat: u32) -> Result<Results> {
    let types = call.result_types()?;
    let (mut assignments, mut readers) = (Vec::new(), Vec::<ReadBack>::new());
    for (result, &dtype) in types.iter().enumerate() {
        let reader = with_type!(dtype, T => {
            let expr = call.result_of::<T>(&types, result)?;
            let target = ctx.device_array::<T>(expr.shape())?;
            assignments.push(Assignment::new(&target, expr)?);
            Box::new(move |name: &str| read(name, &target)) as ReadBack
        });
        readers.push(reader.ok_or_else(|| Error::ResultType { name: names[result].clone(), dtype })?);
    }
    assign_all(&assignments)?;
    let times = (repeat > 1).then(|| times(ctx, &assignments, repeat)).transpose()?;
    let mut results: Vec<_> = names.iter().zip(readers).map(|(name, read)| read(name)).collect::<Result<_>>()?;
    results.iter_mut().for_each(|(statistics, _)| statistics.time = times);
    Ok((results, times))
}

/// The times of `repeat` passes.
fn times(ctx: &Context, assignments: &[Assignment], repeat: u32) -> Result<Dispatches> {
    let timer = Timer::new(ctx)?;
    let measure = |_| timer.measure(ctx, || Ok(assign_all(assignments)?), || Ok(ctx.synchronize()?));
    let times = (0..repeat).map(measure).collect::<Result<Vec<_>>>()?;
    Ok(Dispatches::new(timer.clock(), 0, &times))
}

/// Waits for an array, and sums up its elements in `f64`.
fn read<T: HostElement>(name: &str, array: &DeviceNDArray<T>) -> Result<(Statistics, HostArray)> {
    let host = array.copy_to_host()?;
    let values: Vec<f64> = host.iter().map(|&value| value.to_f64()).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    let extreme = |wins: fn(f64, f64) -> f64| {
        values.iter().copied().reduce(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { wins(a, b) })
    };
    let statistics = Statistics {
        name: name.to_owned(),
        dtype: array.dtype(),
        shape: array.shape().to_vec(),
        min: extreme(f64::min),
        max: extreme(f64::max),
        mean: (!values.is_empty()).then_some(mean),
        std: (!values.is_empty()).then_some(variance.sqrt()),
        printed: (1..=MAX_PRINTED).contains(&array.size()).then(|| array.to_string()),
        time: None,
    };
    Ok((statistics, HostArray::new(host)))
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}{}", self.name, self.dtype, shape_text(&self.shape))?;
        for (name, value) in [("min", self.min), ("max", self.max), ("mean", self.mean), ("std", self.std)] {
            match value {
                Some(value) => write!(f, "  {name} {value:.7}")?,
                None => write!(f, "  {name} -")?,
            }
        }
        writeln!(f)?;
        self.printed.iter().flat_map(|text| text.lines()).try_for_each(|line| writeln!(f, "  {line}"))
    }
}
