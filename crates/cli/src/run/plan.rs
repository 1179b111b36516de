//! [`Plan`]: a run of which everything is checked that can be checked without a device.
//!
//! [`Plan::new`] reads the shader and the headers of the input files, and compares arguments, outputs and grid with the
//! shader's signature. Whether the device exists, and its limits, are checked later by [`Plan::check_limits`].
//! `execute.rs` runs the plan.

use std::collections::BTreeMap;
use std::path::PathBuf;

use vkarray::kernel::{
    Access, ArgShape, Argument, ArrayShape, Bounds, ElementType, Error as KernelError, Limits, Module, Names, Options,
    Param, ParamKind, Parameter, ScalarValue, Signature, check,
};
use vkarray::{DType, Groups, Source};

use super::compare::Comparison;
use super::generate::{Fill, Generated};
use super::input::Input;
use super::output::Output;
use super::trace;
use super::value::{PictureOptions, Value, parse_counts, split_pair};
use crate::args::RunArgs;
use crate::array::picture::PICTURE_TYPES;
use crate::error::{Error, Result};
use crate::shader::read_shader;

/// No limits. Those of the device are checked when it is open.
const NO_LIMITS: Limits = Limits {
    max_storage_buffer_range: u64::MAX,
    max_uniform_buffer_range: u64::MAX,
    min_storage_buffer_offset_alignment: 1,
    min_uniform_buffer_offset_alignment: 1,
    max_workgroup_size: [u32::MAX; 3],
    max_workgroup_invocations: u32::MAX,
    max_workgroup_count: [u32::MAX; 3],
    max_shared_bytes: u32::MAX,
    max_push_constant_bytes: u32::MAX,
    max_groups: u32::MAX,
    max_storage_buffers: u32::MAX,
    max_uniform_buffers: u32::MAX,
};

/// An array argument.
#[derive(Debug)]
pub(crate) struct ArrayArgument {
    pub(crate) name: String,
    pub(crate) input: Input,
    /// Whether constant memory that is longer is filled up with zeros.
    pub(crate) is_padded: bool,
}

/// The value of a push constant: one number, or those of a vector.
#[derive(Debug, PartialEq)]
pub(crate) struct ScalarArgument {
    pub(crate) name: String,
    pub(crate) values: Vec<ScalarValue>,
}

/// The kernel to run, its arguments, and the files of the results.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) source: Source,
    pub(crate) constants: BTreeMap<String, f64>,
    /// The signature of the chosen entry point, with the constants applied.
    pub(crate) signature: Signature,
    pub(crate) arrays: Vec<ArrayArgument>,
    pub(crate) scalars: Vec<ScalarArgument>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) grid: Groups<'static>,
    pub(crate) device: Option<String>,
    pub(crate) repeat: u32,
    /// Whether the kernel is built with checks; `None` if the environment decides.
    pub(crate) sanitize: Option<bool>,
    /// The file of the run's trace.
    pub(crate) trace: Option<PathBuf>,
}

impl Plan {
    /// Checks everything that needs no device.
    ///
    /// # Errors
    ///
    /// The first error in the shader, its constants, the arguments, the outputs or the grid.
    pub(crate) fn new(args: &RunArgs) -> Result<Self> {
        let source = read_shader(&args.shader, &args.libraries)?;
        let constants = parse_constants(&args.constants)?;
        let module = Module::parse(&source)?;
        // Only the signature is used: the kernel is built again for its device.
        let options = Options { bounds: Bounds::Unchecked, ..Options::default() };
        let signature = module.translate(args.entry.as_deref(), &constants, &options)?.signature;
        let grid = Grid::parse(args)?;
        grid.groups.resolve(signature.workgroup_size, &NO_LIMITS)?;

        let (mut arrays, scalars) = parse_arguments(&args.values, &signature)?;
        arrays.extend(covered_arrays(&signature, &arrays, &grid)?);
        check_arguments(&signature, &arrays, &scalars, &NO_LIMITS)?;
        if let (Some(invocations), false) = (grid.invocations, args.allow_small) {
            check_lengths(&signature, &arrays, invocations)?;
        }
        let shape_of = |name: &str| {
            let array = arrays.iter().find(|array| array.name == name)?;
            Some((array.input.dtype(), array.input.shape()))
        };
        let is_output = |name: &str, path: &str| check_output(name, path.into(), &signature);
        let outputs = Output::parse_all(&args.outputs, is_output, shape_of)?;
        let comparisons = Comparison::parse_all(&args.comparison, is_output)?;
        let trace = trace::path(args.trace.as_ref())?;
        let (grid, device, repeat) = (grid.groups, args.device.clone(), args.repeat.get());
        let sanitize = args.sanitize.then_some(true);
        Ok(Self {
            source,
            constants,
            signature,
            arrays,
            scalars,
            outputs,
            comparisons,
            grid,
            device,
            repeat,
            sanitize,
            trace,
        })
    }

    /// Whether an array is read back after the run.
    pub(crate) fn is_result(&self, name: &str) -> bool {
        self.outputs.iter().any(|output| output.name == name)
            || self.comparisons.iter().any(|comparison| comparison.name == name)
    }

    /// Checks the device's limits, before any array is loaded, and returns the workgroups to dispatch.
    ///
    /// # Errors
    ///
    /// [`Error::Array`], with the limit that the arguments or the grid exceed.
    pub(crate) fn check_limits(&self, limits: &Limits) -> Result<[u32; 3]> {
        check_arguments(&self.signature, &self.arrays, &self.scalars, limits)?;
        let size = self.signature.workgroup_size;
        let workgroups = match self.grid.resolve(size, limits) {
            // A dispatch folds a long x axis, or fails with the reason why it cannot.
            Err(KernelError::GroupCount { axis: 'x', .. }) => self.grid.resolve(size, &NO_LIMITS)?,
            resolved => resolved?,
        };
        Ok(workgroups.expect("`parse_counts` refuses zero"))
    }
}

/// Reads `NAME=VALUE` of each `--const`.
///
/// # Errors
///
/// For the first that is no number, or names a constant again.
pub(crate) fn parse_constants(texts: &[String]) -> Result<BTreeMap<String, f64>> {
    let mut constants = BTreeMap::new();
    for text in texts {
        let (name, value) = split_pair("--const", text)?;
        let value = match value {
            "true" => 1.0,
            "false" => 0.0,
            number => number.parse().map_err(|_| Error::ConstantValue { text: text.clone() })?,
        };
        if constants.insert(name.to_owned(), value).is_some() {
            return Err(Error::DuplicateConstant { name: name.to_owned() });
        }
    }
    Ok(constants)
}

/// The size of the launch.
struct Grid {
    groups: Groups<'static>,
    /// Invocations asked for by `--covering`.
    invocations: Option<u128>,
    /// The numbers of `--covering`.
    covering: Vec<usize>,
}

impl Grid {
    fn parse(args: &RunArgs) -> Result<Self> {
        // clap accepts exactly one of the two flags.
        if let Some(text) = &args.covering {
            let covering = parse_counts("--covering", text)?;
            let counts = three(&covering);
            let invocations = counts.iter().map(|&count| count as u128).try_fold(1, u128::checked_mul);
            return Ok(Self {
                groups: Groups::covering(counts),
                invocations: invocations.or(Some(u128::MAX)),
                covering,
            });
        }
        let text = args.groups.as_deref().unwrap_or_default();
        let counts = three(&parse_counts("--groups", text)?);
        let range = |_| Error::GroupsRange { text: text.to_owned() };
        let [x, y, z] = counts.map(u32::try_from);
        let counts = [x.map_err(range)?, y.map_err(range)?, z.map_err(range)?];
        Ok(Self { groups: Groups::exact(counts), invocations: None, covering: Vec::new() })
    }
}

/// Three counts, where missing ones are 1.
fn three(counts: &[usize]) -> [usize; 3] {
    [0, 1, 2].map(|axis| counts.get(axis).copied().unwrap_or(1))
}

fn parse_arguments(texts: &[String], signature: &Signature) -> Result<(Vec<ArrayArgument>, Vec<ScalarArgument>)> {
    let (mut arrays, mut scalars) = (Vec::new(), Vec::new());
    for text in texts {
        let (name, value) = split_pair("--arg", text)?;
        let padded = value.strip_prefix("padded:");
        let input = match Value::parse(name, padded.unwrap_or(value))? {
            Value::Numbers(_) if padded.is_some() => {
                let reason = "only an array can be padded".to_owned();
                return Err(Error::Value { name: name.to_owned(), text: value.to_owned(), reason });
            }
            Value::Numbers(numbers) => {
                let values = parse_numbers(name, &numbers, signature)?;
                scalars.push(ScalarArgument { name: name.to_owned(), values });
                continue;
            }
            array => Input::open(array, picture_options(name, signature))?,
        };
        arrays.push(ArrayArgument { name: name.to_owned(), input, is_padded: padded.is_some() });
    }
    Ok((arrays, scalars))
}

/// What an image becomes for a parameter: elements of the shader's type, and of four channels if they are vectors of four,
/// also of a grey image.
fn picture_options(name: &str, signature: &Signature) -> PictureOptions {
    let param = signature.params.iter().find(|param| param.name == name);
    match param.and_then(|param| param.ty.runtime_array()).map(|(element, _)| element) {
        Some(ElementType::Vector { len: 4, scalar }) => {
            PictureOptions { channels: Some(4), dtype: picture_type(*scalar) }
        }
        Some(ElementType::Scalar(scalar)) => PictureOptions { channels: None, dtype: picture_type(*scalar) },
        _ => PictureOptions::default(),
    }
}

fn picture_type(scalar: DType) -> Option<DType> {
    PICTURE_TYPES.contains(&scalar).then_some(scalar)
}

/// Zeros for each array that the kernel only writes and that has no argument: an element for each invocation of
/// `--covering`, with the axes in the order of arrays. Vectors of two and four are a last axis.
fn covered_arrays(signature: &Signature, given: &[ArrayArgument], grid: &Grid) -> Result<Vec<ArrayArgument>> {
    let mut arrays = Vec::new();
    for param in signature.params.iter().filter(|param| param.writes && !param.reads) {
        let ElementType::Array { element, len: None, .. } = &param.ty else { continue };
        let (dtype, len) = match **element {
            ElementType::Scalar(dtype) => (dtype, None),
            ElementType::Vector { len: len @ (2 | 4), scalar } => (scalar, Some(usize::from(len))),
            _ => continue,
        };
        if grid.covering.is_empty() || given.iter().any(|array| array.name == param.name) {
            continue;
        }
        let shape = grid.covering.iter().rev().copied().chain(len).collect();
        let generated = Generated { fill: Fill::Zeros, dtype, shape };
        generated.check(&param.name)?;
        arrays.push(ArrayArgument { name: param.name.clone(), input: Input::Generated(generated), is_padded: false });
    }
    Ok(arrays)
}

/// Parses numbers as the types of the push constant of that name. If there is none, the check of the arguments fails
/// later, so the type does not matter.
fn parse_numbers(name: &str, numbers: &[String], signature: &Signature) -> Result<Vec<ScalarValue>> {
    let member = signature.arguments().find_map(|parameter| match parameter {
        Parameter::Scalar(member) if member.name == name => Some(member),
        _ => None,
    });
    let leaves = member.map(|member| member.ty.leaves()).unwrap_or_default();
    let dtype = |index: usize| leaves.get(index).map_or(DType::F64, |&(_, dtype)| dtype);
    let parse = |(index, text): (usize, &String)| {
        ScalarValue::parse(text, dtype(index))
            .map_err(|reason| Error::Number { name: name.to_owned(), reason: Box::new(reason) })
    };
    numbers.iter().enumerate().map(parse).collect()
}

/// The library's own check of arguments, on the types and shapes that are known before arrays are loaded.
fn check_arguments(
    signature: &Signature,
    arrays: &[ArrayArgument],
    scalars: &[ScalarArgument],
    limits: &Limits,
) -> Result<()> {
    let arrays = arrays.iter().map(|array| {
        let plain = ArrayShape::new(array.input.dtype(), array.input.shape(), array.input.nbytes());
        let shape = ArrayShape { is_padded: array.is_padded, ..plain };
        Argument { name: Some(&array.name), shape: ArgShape::Array(shape) }
    });
    let scalars = scalars.iter().map(|scalar| {
        let shape = match scalar.values.as_slice() {
            [value] => ArgShape::Scalar(*value),
            values => ArgShape::Scalars(values),
        };
        Argument { name: Some(&scalar.name), shape }
    });
    let arguments: Vec<Argument<'_>> = arrays.chain(scalars).collect();
    let packed = check(signature, &arguments, limits)?;
    if let Some(param) = packed.empty.map(|index| &signature.params[index]) {
        let (kernel, param) = (signature.entry.clone(), param.name.clone());
        return Err(KernelError::EmptyArray { kernel, param }.into());
    }
    Ok(())
}

/// Refuses arrays that the kernel writes with fewer elements than invocations: nearly always a mistake in `--covering`.
fn check_lengths(signature: &Signature, arrays: &[ArrayArgument], invocations: u128) -> Result<()> {
    for param in signature.params.iter().filter(|param| param.writes) {
        let Some((element, stride)) = param.ty.runtime_array() else { continue };
        let Some(array) = arrays.iter().find(|array| array.name == param.name) else { continue };
        let elements = array.input.nbytes().saturating_sub(param.fixed_bytes) / u64::from(stride);
        if u128::from(elements) < invocations {
            let (name, element) = (param.name.clone(), element.to_string());
            return Err(Error::TooFewElements { name, element, elements, invocations });
        }
    }
    Ok(())
}

/// Checks that `name` is an array that the kernel may write.
fn check_output(name: &str, path: PathBuf, signature: &Signature) -> Result<()> {
    let is_output = |param: &&Param| param.kind == ParamKind::Storage && param.access != Access::Read;
    let name = name.to_owned();
    match signature.arguments().find(|parameter| parameter.name() == name) {
        Some(Parameter::Array(param)) if is_output(&param) => Ok(()),
        Some(Parameter::Array(_)) => Err(Error::OutputReadOnly { name, path }),
        Some(Parameter::Scalar(_)) => Err(Error::OutputNotArray { name, path }),
        None => {
            let names: Names = signature.params.iter().filter(is_output).map(|param| param.name.as_str()).collect();
            Err(Error::OutputUnknown { name, path, names })
        }
    }
}

#[cfg(test)]
mod tests;
