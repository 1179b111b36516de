//! Runs a reduction: [`reduce`].

use smallvec::SmallVec;
use vkarray_driver::Stream;
use vkarray_kernel::{Arg, ArrayArg, ArrayShape, AsArg, DType, Element, Groups, NamedArg, Source};
use vkarray_ndarray::{ArrayLeaf, Context, DeviceNDArray, Expr, ExprError, Result};

use super::axes::{Axes, Split};
use super::kernel::{PassParam, ReduceForm, Team};
use super::kind::{Field, Reduction};
use crate::elementwise::stream_of;
use crate::error::Error;
use crate::generate::{DeviceLimits, Nest, Program, scalar_value, word};

/// Distinguishes the keys of these kernels from those of others.
const KEY: u32 = 0x7265_6475;

/// Jobs of workgroups that keep a device busy, and the least elements of each for one invocation.
const GROUP_JOBS: (u64, u64) = (1024, 16);
/// The same for jobs of single invocations.
const INVOCATION_JOBS: (u64, u64) = (1 << 16, 64);
/// The most elements of a job for each of its invocations: four accumulators of 64 additions, so that errors of sums stay
/// small.
const MAX_CHUNK: u64 = 4 * 64;
/// From this many partial results on, a workgroup combines those of one result.
const GROUP_PARTS: u64 = 128;
/// Results of fewer elements are computed by one invocation each.
const SHORT: u64 = 32;

/// Reduces an expression over some axes. `R` is the element type that the results are written as. Returns at once.
pub(super) fn reduce<T: Element, R: Element>(
    expr: &Expr<T>,
    axes: &Axes,
    reduction: Reduction,
) -> Result<DeviceNDArray<R>> {
    let program = Program::new(&[expr.node()])?;
    let Some(&(first, _)) = program.leaves.first() else { return Err(ExprError::NoArray.into()) };
    let (context, stream) = (first.context(), stream_of(expr, first));
    let limits = DeviceLimits::new(stream.device().info());
    if !reduction.is_defined(expr.dtype()) {
        return Err(ExprError::NotDefined { operation: reduction.name(), dtype: expr.dtype() }.into());
    }
    let split = axes.split(expr.shape())?;
    if reduction.needs_elements() && split.count == 0 && !split.shape.contains(&0) {
        return Err(Error::EmptyReduction { operation: reduction.name(), shape: expr.shape().to_vec() }.into());
    }
    if program.leaves.len() + 2 > limits.max_buffers {
        let given = program.leaves.len() + 1;
        return Err(ExprError::TooManyArrays { given, limit: limits.max_buffers }.into());
    }
    let results = context.device_array::<R>(&*split.shape)?;
    if results.size() == 0 {
        return Ok(results);
    }
    if split.count == 0 {
        let is_one = matches!(reduction, Reduction::Prod | Reduction::All);
        results.on(stream).fill(if is_one { one() } else { R::zeroed() })?;
        return Ok(results);
    }
    let launch = Passes { program: &program, dtype: expr.dtype(), reduction, context, stream, limits: &limits };
    let leaves: Vec<_> = program.leaves.iter().map(|&(leaf, _)| leaf).collect();
    if launch.run(expr.shape(), &split, &leaves, &results)? {
        return Ok(results);
    }
    // More strides than push constants: contiguous copies have few.
    let copies = program.leaves.iter().map(|&(leaf, dtype)| leaf.repeated(expr.shape(), dtype, stream));
    let copies: Vec<ArrayLeaf> = copies.collect::<Result<_>>()?;
    match launch.run(expr.shape(), &split, &copies.iter().collect::<Vec<_>>(), &results)? {
        true => Ok(results),
        false => {
            let given = program.leaves.len() + 1;
            Err(ExprError::TooManyArrays { given, limit: limits.max_params / 16 }.into())
        }
    }
}

struct Passes<'a, 'p> {
    program: &'a Program<'p>,
    dtype: DType,
    reduction: Reduction,
    context: &'a Context,
    stream: &'a Stream,
    limits: &'a DeviceLimits,
}

/// The numbers of one pass.
struct Pass<'a> {
    form: ReduceForm,
    results: u64,
    splits: u64,
    chunk: u64,
    count: u64,
    /// Lengths of the axes of the results, then of their elements, outermost first.
    lens: Vec<u64>,
    /// The stride of each array along each of them.
    strides: Vec<Vec<i64>>,
    bases: Vec<u64>,
    reads: Vec<Arg<'a>>,
}

impl Passes<'_, '_> {
    /// Records the passes; false if there are too many parameters, and nothing was recorded.
    fn run<R: Element>(
        &self,
        shape: &[usize],
        split: &Split,
        leaves: &[&ArrayLeaf],
        results: &DeviceNDArray<R>,
    ) -> Result<bool> {
        let layouts =
            leaves.iter().zip(&self.program.leaves).map(|(leaf, &(_, dtype))| (leaf.layout(), dtype.itemsize()));
        let whole = Nest::new(shape, layouts);
        let part = |axes: &[usize]| {
            let axes = axes.iter().rev().map(|&axis| whole.axes[shape.len() - 1 - axis].clone()).collect();
            let mut nest = Nest { axes, operands: whole.operands.clone() };
            nest.merge();
            nest
        };
        let nests = [part(&split.kept), part(&split.reduced)];
        let count = split.count as u64;
        let team = team(&nests, count);
        let (splits, chunk) = self.splits(team, results.size() as u64, count);
        let form = ReduceForm {
            reduction: self.reduction,
            dtype: self.dtype,
            team,
            group: self.limits.group,
            n_axes: [nests[0].axes.len(), nests[1].axes.len()],
            is_second: false,
            is_last: splits == 1,
        };
        let axes = || nests.iter().flat_map(|nest| nest.axes.iter().rev());
        let mut pass = Pass {
            form,
            results: results.size() as u64,
            splits,
            chunk,
            count,
            lens: axes().map(|axis| axis.len).collect(),
            strides: (0..leaves.len()).map(|leaf| axes().map(|axis| axis.strides[leaf]).collect()).collect(),
            bases: Vec::new(),
            reads: Vec::new(),
        };
        let bytes = |ty: &str| if ty == "u32" { 4 } else { 8 };
        let params = pass.form.params(self.program).iter().map(|(_, ty, _)| bytes(ty)).sum::<usize>();
        if params.next_multiple_of(8) > self.limits.max_params {
            return Ok(false);
        }
        self.bind(&whole, leaves, &mut pass)?;
        if pass.form.is_last {
            self.dispatch(&pass, &[of_result(results, pass.form.written()[0])])?;
            return Ok(true);
        }
        let fields = self.reduction.fields(self.dtype);
        let nbytes = |field: &Field| usize::try_from(pass.results * splits * field.nbytes).unwrap_or(usize::MAX);
        let parts = fields.iter().map(|field| self.context.device_array::<u8>(nbytes(field)));
        let parts: Vec<_> = parts.collect::<Result<_>>()?;
        let bound: Vec<_> = parts.iter().zip(&fields).map(|(part, &field)| of_result(part, field)).collect();
        self.dispatch(&pass, &bound)?;
        self.second_pass(&pass, bound, results)?;
        Ok(true)
    }

    fn second_pass<R: Element>(&self, first: &Pass<'_>, parts: Vec<Arg<'_>>, results: &DeviceNDArray<R>) -> Result<()> {
        let strides = match first.form.team {
            Team::Group => vec![first.splits.cast_signed(), 1],
            Team::Invocation => vec![1, first.results.cast_signed()],
        };
        let team = if first.splits >= GROUP_PARTS { Team::Group } else { Team::Invocation };
        let pass = Pass {
            form: ReduceForm { team, n_axes: [1, 1], is_second: true, is_last: true, ..first.form.clone() },
            results: first.results,
            splits: 1,
            chunk: first.splits,
            count: first.splits,
            lens: vec![first.results, first.splits],
            strides: vec![strides],
            bases: vec![0],
            reads: parts,
        };
        self.dispatch(&pass, &[of_result(results, pass.form.written()[0])])
    }

    /// How many jobs a result has, and how many elements a job.
    fn splits(&self, team: Team, results: u64, count: u64) -> (u64, u64) {
        let ((jobs, least), lanes) = match team {
            Team::Group => (GROUP_JOBS, u64::from(self.limits.group)),
            Team::Invocation => (INVOCATION_JOBS, 1),
        };
        let splits = (jobs / results).clamp(1, count.div_ceil(least * lanes).max(1));
        let splits = splits.max(count.div_ceil(MAX_CHUNK * lanes));
        let chunk = count.div_ceil(splits).max(1);
        (count.div_ceil(chunk).max(1), chunk)
    }

    /// Describes the arrays that the first pass reads.
    fn bind<'a>(&self, whole: &Nest, leaves: &[&'a ArrayLeaf], pass: &mut Pass<'a>) -> Result<()> {
        let alignment = self.limits.alignment;
        for (operand, buffer) in pass.form.buffers(self.program).iter().enumerate() {
            let (itemsize, offset) = (whole.operands[operand].itemsize, whole.operands[operand].offset);
            let [first, end] = whole.span(operand);
            let start = first * itemsize / alignment * alignment;
            let block = leaves[operand].block();
            let end = (end * itemsize).next_multiple_of(4);
            if end.saturating_sub(start) > self.limits.max_range {
                return Err(Error::LongOperand { nbytes: end - start, limit: self.limits.max_range }.into());
            }
            let shape = ArrayShape { offset: start, ..ArrayShape::new(buffer.bound_dtype(), &[], end - start) };
            pass.bases.push(offset - start / itemsize);
            pass.reads.push(Arg::Array(ArrayArg::new(block, shape)));
        }
        Ok(())
    }

    fn dispatch(&self, pass: &Pass<'_>, written: &[Arg<'_>]) -> Result<()> {
        let Pass { form, results, splits, chunk, count, .. } = pass;
        let mut key = SmallVec::<[u32; 64]>::from_slice(&[KEY]);
        form.add_to_key(&mut key);
        if !form.is_second {
            self.program.add_to_key(&mut key);
        }
        let text = || Source::wgsl(form.text(self.program).unwrap_or_default()).named("reduce.wgsl");
        let kernel = self.context.generated_kernel(&key, text)?;
        let mut args: Vec<NamedArg<'_>> =
            written.iter().chain(&pass.reads).map(|arg| NamedArg { name: None, arg: arg.clone() }).collect();
        for (_, ty, of) in form.params(self.program) {
            let value = match of {
                PassParam::Scalar(at, part) => scalar_value(self.program.scalars[at].0, part, ty),
                PassParam::Jobs => word(results * splits),
                PassParam::Results => word(*results),
                PassParam::Splits => word(*splits),
                PassParam::Chunk => word(*chunk),
                PassParam::Count => word(*count),
                PassParam::Len(axis) => word(pass.lens[axis]),
                PassParam::Base(array) => word(pass.bases[array]),
                PassParam::Stride(array, axis) => word(pass.strides[array][axis].cast_unsigned()),
            };
            args.push(NamedArg { name: None, arg: Arg::Scalar(value) });
        }
        let jobs = results * splits;
        let groups = match form.team {
            Team::Group => jobs,
            Team::Invocation => jobs.div_ceil(u64::from(form.group)),
        };
        Ok(kernel.dispatch(self.stream, Groups::exact(self.limits.spread(groups)), args.as_slice())?)
    }
}

/// The number one of a type that results are written as.
fn one<R: Element>() -> R {
    let mut bytes = [0; 16];
    match DType::of::<R>() {
        DType::F64 | DType::Complex64 => bytes[..8].copy_from_slice(&1.0_f64.to_ne_bytes()),
        DType::F32 | DType::Complex32 => bytes[..4].copy_from_slice(&1.0_f32.to_ne_bytes()),
        dtype if dtype.itemsize() == 8 => bytes[..8].copy_from_slice(&1_u64.to_ne_bytes()),
        _ => bytes[..4].copy_from_slice(&1_u32.to_ne_bytes()),
    }
    bytemuck::pod_read_unaligned(&bytes[..size_of::<R>()])
}

/// An array as results or partial results of this type.
fn of_result<T: Element>(array: &DeviceNDArray<T>, field: Field) -> Arg<'_> {
    match array.as_arg() {
        Arg::Array(own) => {
            let shape = ArrayShape::new(field.bound, &[], own.shape().nbytes);
            Arg::Array(ArrayArg::new(array.block(), shape))
        }
        other => other,
    }
}

/// Who reduces: an invocation where results follow each other in memory more closely than the elements of one, and where
/// there are few elements.
fn team([kept, reduced]: &[Nest; 2], count: u64) -> Team {
    let stride = |nest: &Nest, operand: usize| {
        let axis = &nest.axes[0];
        if axis.len > 1 { axis.strides[operand].unsigned_abs() } else { u64::MAX }
    };
    let is_across = (0..kept.operands.len()).any(|operand| {
        let [along_results, along_elements] = [stride(kept, operand), stride(reduced, operand)];
        along_results != 0 && along_elements != 0 && along_results < along_elements
    });
    if count < SHORT || is_across { Team::Invocation } else { Team::Group }
}
