//! [`Step`]: one dispatch that has passed every check that needs no device.
//!
//! [`Step::new`] reads the shader, finds the arrays of the arguments, and compares arguments and grid with the shader's
//! signature. [`Step::check_limits`] later checks whether the device has what the kernel needs.

use std::collections::BTreeMap;

use vkarray::kernel::signature::{
    Access, ArgShape, Argument, ElementType, Limits, Module, Options, Param, Parameter, Signature, TexelFormat, check,
};
use vkarray::kernel::{ArrayShape, Bounds, Error as KernelError, Sampler, ScalarValue};
use vkarray::{DType, Groups, Source};

use super::arrays::{ArrayArgument, Arrays};
use super::generate::{Fill, Generated};
use super::pipeline::{DispatchText, StepArgument};
use super::value::{PictureOptions, parse_counts, split_pair};
use crate::args::DispatchArgs;
use crate::array::picture::PICTURE_TYPES;
use crate::error::{Error, Result};
use crate::shader::read_shader;

/// Limits that refuse nothing. The limits of the device are checked when it is open.
pub(super) const NO_LIMITS: Limits = Limits {
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

/// The value of a push constant: one number, or the numbers of a vector.
#[derive(Debug, PartialEq)]
pub(crate) struct ScalarArgument {
    pub(crate) name: String,
    pub(crate) values: Vec<ScalarValue>,
}

/// A shader that is read, with its constants applied.
#[derive(Debug, Clone)]
pub(crate) struct Shader {
    source: Source,
    constants: BTreeMap<String, f64>,
    pub(crate) signature: Signature,
}

/// The shaders that are read, so that steps and tests of one shader read it once.
#[derive(Debug, Default)]
pub(crate) struct Shaders(BTreeMap<String, Shader>);

impl Shaders {
    /// Reads the shader of a dispatch, and prints what its signature warns of.
    ///
    /// # Errors
    ///
    /// The first error in the shader or its constants.
    pub(crate) fn read(&mut self, args: &DispatchArgs) -> Result<Shader> {
        let DispatchArgs { shader, source: added, entry, constants, .. } = args;
        let key = format!("{shader:?} {added:?} {entry:?} {constants:?}");
        if let Some(shader) = self.0.get(&key) {
            return Ok(shader.clone());
        }
        let source = read_shader(shader, added)?;
        let constants = parse_constants(constants)?;
        let module = Module::parse(&source)?;
        // Only the signature is used: the kernel is built again for its device.
        let options = Options { bounds: Bounds::Unchecked, assume_addresses: true, ..Options::default() };
        let signature = module.translate(entry.as_deref(), &constants, &options)?.signature;
        signature.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
        let shader = Shader { source, constants, signature };
        self.0.insert(key, shader.clone());
        Ok(shader)
    }
}

/// Parameters, and the positions of their arrays among the arrays of the run. A parameter that takes a list of arrays stands
/// here with each of them, in order.
type Taken = Vec<(String, usize)>;

/// A kernel, its arguments and the size of its launch.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) source: Source,
    pub(crate) constants: BTreeMap<String, f64>,
    /// The signature of the chosen entry point, with the constants applied.
    pub(crate) signature: Signature,
    pub(crate) arrays: Taken,
    pub(crate) scalars: Vec<ScalarArgument>,
    /// Samplers, by their own name or that of the image that they are one parameter with.
    pub(crate) samplers: Vec<(String, Sampler)>,
    pub(crate) grid: Groups<'static>,
    /// The place of the step in the pipeline file.
    pub(crate) place: String,
}

impl Step {
    /// Checks everything that needs no device, and takes the arrays of the arguments.
    ///
    /// # Errors
    ///
    /// The first error in the shader, its constants, the grid or the arguments.
    pub(crate) fn new(text: &DispatchText, arrays: &mut Arrays, shaders: &mut Shaders) -> Result<Self> {
        let args = &text.dispatch;
        let Shader { source, constants, signature } = shaders.read(args)?;
        let grid = Grid::parse(args)?;
        grid.groups.resolve(signature.workgroup_size, &NO_LIMITS)?;

        let samplers = samplers(&text.arguments, &signature);
        let (taken, scalars) = take_arguments(&text.arguments, &signature, &grid, arrays)?;
        let (arrays_taken, place) = (taken, text.place.clone());
        let step =
            Self { source, constants, signature, arrays: arrays_taken, scalars, samplers, grid: grid.groups, place };
        step.check_arguments(arrays.opened(), &NO_LIMITS)?;
        if let (Some(invocations), false) = (grid.invocations, args.allow_small) {
            step.check_lengths(arrays.opened(), invocations)?;
        }
        Ok(step)
    }

    /// The positions of the arrays that the kernel may write.
    pub(crate) fn written(&self) -> impl Iterator<Item = usize> {
        let is_output = |param: &&Param| param.access != Access::Read;
        let outputs = self.signature.params.iter().filter(is_output);
        outputs.flat_map(|param| self.places(&param.name))
    }

    /// The samplers that are arguments of their own. The others belong to the images of their names.
    pub(crate) fn samplers_alone(&self) -> impl Iterator<Item = &(String, Sampler)> {
        self.samplers.iter().filter(|(name, _)| self.arrays.iter().all(|(array, _)| array != name))
    }

    /// The positions of the arrays of a parameter.
    fn places(&self, param: &str) -> impl Iterator<Item = usize> {
        self.arrays.iter().filter(move |(name, _)| name == param).map(|(_, place)| *place)
    }

    /// Each parameter with its arrays, and whether it takes a list of them.
    pub(crate) fn lists<'s>(&'s self) -> impl Iterator<Item = (&'s str, bool, &'s [(String, usize)])> {
        let is_list = |name: &str| {
            let param = self.signature.params.iter().find(|param| param.name == name);
            param.is_some_and(|param| param.bindings.is_list())
        };
        // An argument that is given twice has one array.
        let is_next = move |(a, i): &(String, usize), (b, j): &(String, usize)| a == b && (i != j || is_list(a));
        let of_param =
            move |taken: &'s [(String, usize)]| (taken[0].0.as_str(), is_list(&taken[0].0) || taken.len() > 1, taken);
        self.arrays.chunk_by(is_next).map(of_param)
    }

    /// Checks the device's limits, before any array is loaded, and returns the workgroups to dispatch.
    ///
    /// # Errors
    ///
    /// [`Error::Array`], with the limit that the arguments or the grid exceed.
    pub(crate) fn check_limits(&self, arrays: &[ArrayArgument], limits: &Limits) -> Result<[u32; 3]> {
        self.check_arguments(arrays, limits)?;
        let size = self.signature.workgroup_size;
        let workgroups = match self.grid.resolve(size, limits) {
            // A dispatch folds a long x axis over several axes, or fails with the reason why it cannot.
            Err(KernelError::GroupCount { axis: 'x', .. }) => self.grid.resolve(size, &NO_LIMITS)?,
            resolved => resolved?,
        };
        Ok(workgroups.unwrap_or_default())
    }

    /// The library's own check of arguments, on the types and shapes that are known before arrays are loaded.
    fn check_arguments(&self, arrays: &[ArrayArgument], limits: &Limits) -> Result<()> {
        let signature = &self.signature;
        let shape = |(_, place): &(String, usize)| {
            let ArrayArgument { input, is_padded, .. } = &arrays[*place];
            let plain = ArrayShape::new(input.dtype(), input.shape(), input.nbytes());
            ArrayShape { is_padded: *is_padded, ..plain }
        };
        let shapes: Vec<_> = self.arrays.iter().map(shape).collect();
        let mut rest = shapes.as_slice();
        let taken = self.lists().map(|(name, is_list, taken)| {
            let (own, others) = rest.split_at(taken.len());
            rest = others;
            Argument { name: Some(name), shape: if is_list { ArgShape::Arrays(own) } else { ArgShape::Array(own[0]) } }
        });
        let scalars = self.scalars.iter().map(|scalar| {
            let shape = match scalar.values.as_slice() {
                [value] => ArgShape::Scalar(*value),
                values => ArgShape::Scalars(values),
            };
            Argument { name: Some(&scalar.name), shape }
        });
        let alone = self.samplers_alone();
        let samplers = alone.map(|(name, sampler)| Argument { name: Some(name), shape: ArgShape::Sampler(*sampler) });
        let arguments: Vec<Argument<'_>> = taken.chain(scalars).chain(samplers).collect();
        let packed = check(signature, &arguments, limits)?;
        let has_work = self.grid.resolve(signature.workgroup_size, &NO_LIMITS)?.is_some();
        if let Some(param) = packed.empty.filter(|_| has_work).map(|index| &signature.params[index]) {
            let (kernel, param) = (signature.entry.clone(), param.name.clone());
            return Err(KernelError::EmptyArray { kernel, param }.into());
        }
        Ok(())
    }

    /// Refuses an array that the kernel writes if it has fewer elements than there are invocations: nearly always a
    /// mistake in `--covering`.
    fn check_lengths(&self, arrays: &[ArrayArgument], invocations: u128) -> Result<()> {
        for param in self.signature.params.iter().filter(|param| param.writes) {
            let Some((element, stride)) = param.ty.runtime_array() else { continue };
            // Which array of a list an invocation writes is the shader's affair.
            let Some(place) = self.places(&param.name).next().filter(|_| !param.bindings.is_list()) else { continue };
            let elements = arrays[place].input.nbytes().saturating_sub(param.fixed_bytes) / u64::from(stride);
            if u128::from(elements) < invocations {
                let (name, element) = (param.name.clone(), element.to_string());
                return Err(Error::TooFewElements { name, element, elements, invocations });
            }
        }
        Ok(())
    }
}

/// Reads `NAME=VALUE` of each `--const`.
///
/// # Errors
///
/// The error of the first text that is no number, or names a constant again.
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
    fn parse(args: &DispatchArgs) -> Result<Self> {
        let text = match (&args.covering, &args.groups) {
            (Some(text), None) => text,
            (None, Some(text)) => return Self::exact(text, args.allow_empty),
            _ => return Err(Error::NoGrid),
        };
        let covering = parse_counts("--covering", text, args.allow_empty)?;
        let counts = three(&covering);
        let invocations = counts.iter().map(|&count| count as u128).try_fold(1, u128::checked_mul);
        Ok(Self { groups: Groups::covering(counts), invocations: invocations.or(Some(u128::MAX)), covering })
    }

    fn exact(text: &str, allows_empty: bool) -> Result<Self> {
        let counts = three(&parse_counts("--groups", text, allows_empty)?);
        let range = |_| Error::GroupsRange { text: text.to_owned() };
        let [x, y, z] = counts.map(u32::try_from);
        let counts = [x.map_err(range)?, y.map_err(range)?, z.map_err(range)?];
        Ok(Self { groups: Groups::exact(counts), invocations: None, covering: Vec::new() })
    }
}

/// Three counts; counts that are not given are 1.
fn three(counts: &[usize]) -> [usize; 3] {
    [0, 1, 2].map(|axis| counts.get(axis).copied().unwrap_or(1))
}

/// Finds or makes the array of each argument, and parses the numbers.
///
/// An array that the kernel only writes may be left out of the arguments. It then has the name of the parameter.
fn take_arguments(
    arguments: &[(String, StepArgument)],
    signature: &Signature,
    grid: &Grid,
    arrays: &mut Arrays,
) -> Result<(Taken, Vec<ScalarArgument>)> {
    let (mut taken, mut scalars) = (Taken::new(), Vec::new());
    let mut take = |param: &str, array: &str| {
        let place = arrays.take(array, picture_options(param, signature), covered(param, signature, grid))?;
        taken.push((param.to_owned(), place));
        Ok::<_, Error>(())
    };
    for (name, argument) in arguments {
        match argument {
            StepArgument::Array(array) => take(signature.own_name(name), array)?,
            StepArgument::Arrays(list) => {
                list.iter().try_for_each(|array| take(signature.own_name(name), array))?;
            }
            StepArgument::Numbers(numbers) => {
                let values = parse_numbers(name, numbers, signature)?;
                scalars.push(ScalarArgument { name: name.clone(), values });
            }
            StepArgument::Sampler(_) => {}
        }
    }
    for param in signature.params.iter().map(|param| param.name.as_str()) {
        let is_given = arguments.iter().any(|(name, _)| signature.own_name(name) == param);
        if !is_given && covered(param, signature, grid).is_some() {
            take(param, param)?;
        }
    }
    Ok((taken, scalars))
}

/// The samplers among the arguments.
fn samplers(arguments: &[(String, StepArgument)], signature: &Signature) -> Vec<(String, Sampler)> {
    let sampler = |(name, argument): &(String, StepArgument)| match argument {
        StepArgument::Sampler(sampler) => Some((signature.own_name(name).to_owned(), *sampler)),
        _ => None,
    };
    arguments.iter().filter_map(sampler).collect()
}

/// What an image becomes for a parameter: elements of the shader's type. If these are vectors of four, the image gets
/// four channels, also if it is grey. For an image of the shader it keeps its bytes, or gets the format of the shader.
fn picture_options(name: &str, signature: &Signature) -> PictureOptions {
    let param = signature.params.iter().find(|param| param.name == name);
    if let Some(image) = param.and_then(Param::image) {
        let of_scalar = if image.scalar == DType::I32 { DType::I32 } else { DType::U8 };
        let channels = image.format.map(|format| usize::from(format.channels())).filter(|&n| n == 1 || n == 4);
        let dtype = picture_type(image.format.map_or(of_scalar, TexelFormat::dtype));
        return PictureOptions { channels, dtype };
    }
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

/// Zeros for an array that the kernel only writes: an element for each invocation of `--covering`, with the axes in the
/// order of arrays. The components of vectors of two and four are a last axis.
fn covered(name: &str, signature: &Signature, grid: &Grid) -> Option<Generated> {
    let param = signature.params.iter().find(|param| param.name == name && param.writes && !param.reads);
    let param = param.filter(|param| !param.bindings.is_list())?;
    if let Some(image) = param.image() {
        let format = image.format.filter(|_| grid.covering.len() == image.n_axes())?;
        let channels = Some(usize::from(format.channels())).filter(|&channels| channels > 1);
        let shape = grid.covering.iter().rev().copied().chain(channels).collect();
        return Some(Generated { fill: Fill::Zeros, dtype: format.dtype(), shape });
    }
    let ElementType::Array { element, len: None, .. } = &param.ty else { return None };
    let (dtype, len) = match **element {
        ElementType::Scalar(dtype) => (dtype, None),
        ElementType::Vector { len: len @ (2 | 4), scalar } => (scalar, Some(usize::from(len))),
        _ => return None,
    };
    let shape = grid.covering.iter().rev().copied().chain(len).collect();
    (!grid.covering.is_empty()).then_some(Generated { fill: Fill::Zeros, dtype, shape })
}

/// Parses numbers as the types of the push constant of that name. If there is no such push constant, the check of the
/// arguments fails later, so the type does not matter.
fn parse_numbers(name: &str, numbers: &[String], signature: &Signature) -> Result<Vec<ScalarValue>> {
    let member = signature.arguments().find_map(|parameter| match parameter {
        Parameter::Scalar(member) if member.name == name => Some(member),
        _ => None,
    });
    let leaves = member.map(|member| member.ty.leaves()).unwrap_or_default();
    let dtype = |index: usize| leaves.get(index).map_or(DType::F64, |&(_, dtype)| dtype);
    let parse = |(index, text): (usize, &String)| {
        ScalarValue::parse(text, dtype(index)).map_err(|reason| Error::Number { name: name.to_owned(), reason })
    };
    numbers.iter().enumerate().map(parse).collect()
}
