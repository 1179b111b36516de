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

use super::arrays::{ArrayArgument, Arrays, StepArgument};
use super::generate::{Fill, Generated};
use super::pipeline::DispatchText;
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

/// An argument of a kernel. Arrays are positions among the arrays of the run.
#[derive(Debug, PartialEq)]
pub(crate) enum Taken {
    /// One array, or several for a parameter that takes a list.
    Arrays {
        places: Vec<usize>,
        is_list: bool,
    },
    /// An image that is one parameter with its sampler.
    Sampled(usize, Sampler),
    /// The number of a push constant, or the numbers of a vector.
    Numbers(Vec<ScalarValue>),
    Sampler(Sampler),
}

impl Taken {
    fn places(&self) -> &[usize] {
        match self {
            Self::Arrays { places, .. } => places,
            Self::Sampled(place, _) => std::slice::from_ref(place),
            Self::Numbers(_) | Self::Sampler(_) => &[],
        }
    }
}

/// A kernel, its arguments and the size of its launch.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) source: Source,
    pub(crate) constants: BTreeMap<String, f64>,
    /// The signature of the chosen entry point, with the constants applied.
    pub(crate) signature: Signature,
    /// The arguments, by the names of their parameters.
    pub(crate) arguments: Vec<(String, Taken)>,
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

        let arguments = take_arguments(&text.arguments, &signature, &grid, arrays)?;
        let step = Self { source, constants, signature, arguments, grid: grid.groups, place: text.place.clone() };
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

    /// The positions of the arrays of a parameter.
    pub(crate) fn places(&self, param: &str) -> impl Iterator<Item = usize> {
        self.arguments.iter().filter(move |(name, _)| name == param).flat_map(|(_, taken)| taken.places()).copied()
    }

    /// The numbers of the push constant of that name.
    pub(crate) fn numbers(&self, name: &str) -> Option<&[ScalarValue]> {
        self.arguments.iter().find_map(|(own, taken)| match taken {
            Taken::Numbers(values) if own == name => Some(values.as_slice()),
            _ => None,
        })
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
        let shape = |place: &usize| {
            let ArrayArgument { input, is_padded, .. } = &arrays[*place];
            let plain = ArrayShape::new(input.dtype(), input.shape(), input.nbytes());
            ArrayShape { is_padded: *is_padded, ..plain }
        };
        let shapes = self.arguments.iter().map(|(_, taken)| taken.places().iter().map(shape).collect());
        let shapes: Vec<Vec<_>> = shapes.collect();
        let arguments = self.arguments.iter().zip(&shapes).map(|((name, taken), shapes)| {
            let shape = match taken {
                Taken::Arrays { is_list: true, .. } => ArgShape::Arrays(shapes),
                Taken::Arrays { .. } | Taken::Sampled(..) => ArgShape::Array(shapes[0]),
                Taken::Numbers(values) => match values.as_slice() {
                    [value] => ArgShape::Scalar(*value),
                    values => ArgShape::Scalars(values),
                },
                Taken::Sampler(sampler) => ArgShape::Sampler(*sampler),
            };
            Argument { name: Some(name), shape }
        });
        let arguments: Vec<Argument<'_>> = arguments.collect();
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
) -> Result<Vec<(String, Taken)>> {
    let mut take = |param: &str, names: &[String]| {
        let mut take = |name| arrays.take(name, picture_options(param, signature), covered(param, signature, grid));
        let places = names.iter().map(|name| take(name.as_str())).collect::<Result<Vec<_>>>()?;
        let own = signature.params.iter().find(|own| own.name == param);
        let is_list = places.len() > 1 || own.is_some_and(|own| own.bindings.is_list());
        let sampler = arguments.iter().find_map(|(name, argument)| match argument {
            StepArgument::Sampler(sampler) if !is_list && signature.own_name(name) == param => Some(*sampler),
            _ => None,
        });
        Ok::<_, Error>(match sampler {
            Some(sampler) => Taken::Sampled(places[0], sampler),
            None => Taken::Arrays { places, is_list },
        })
    };
    let given = |param: &str| {
        let own = arguments.iter().filter(|(name, _)| signature.own_name(name) == param);
        own.map(|(_, argument)| argument).collect::<Vec<_>>()
    };
    let mut taken = Vec::new();
    for (name, argument) in arguments {
        let param = signature.own_name(name);
        let argument = match argument {
            StepArgument::Arrays(names) => take(param, names)?,
            StepArgument::Numbers(numbers) => Taken::Numbers(parse_numbers(param, numbers, signature)?),
            // The sampler of an image is a part of its argument.
            StepArgument::Sampler(_) if given(param).iter().any(|own| matches!(own, StepArgument::Arrays(_))) => {
                continue;
            }
            StepArgument::Sampler(sampler) => Taken::Sampler(*sampler),
        };
        taken.push((param.to_owned(), argument));
    }
    for param in signature.params.iter().map(|param| &param.name) {
        if given(param).is_empty() && covered(param, signature, grid).is_some() {
            taken.push((param.clone(), take(param, std::slice::from_ref(param))?));
        }
    }
    Ok(taken)
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
