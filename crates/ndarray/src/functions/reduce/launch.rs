//! Runs a reduction: [`reduce`].

use smallvec::{SmallVec, smallvec};
use vkarray_driver::Stream;
use vkarray_generate::Leaf;
use vkarray_kernel::{Arg, ArrayArg, ArrayShape, DType, Element, Groups, NamedArg, Source};
use vkarray_layout::Order;

use super::axes::{Axes, IntoAxes, Split};
use crate::array::{ArrayLeaf, DeviceNDArray};
use crate::context::Context;
use crate::elementwise::{Evaluate, stream_of};
use crate::error::{Error, ExprError, Result};
use crate::expr::{Expr, IntoExpr, Node, NodeKind, Numeric};
use crate::functions::operand::zero_or_one;
use crate::generate::{
    Combine, DeviceLimits, Field, MOST_ROUNDS, Nest, Param, ParamOf, Program, ReduceForm, Reduction, Share, Team,
    fours, is_across, most_of_launch, second_team, word,
};

/// Keeps the keys of reduction kernels apart from the keys of other kernels.
const KEY: u32 = 0x7265_6475;

/// What is reduced, and its shape: one expression, or for [`Reduction::Dot`] two expressions whose products are added
/// up.
#[derive(Clone, Copy)]
struct Task<'a, T: Element> {
    exprs: &'a [Expr<T>],
    shape: &'a [usize],
    reduction: Reduction,
    combine: Option<&'a Combine>,
}

/// Reduces an expression over some axes. `R` is the element type of the results. Returns at once.
pub(in crate::functions) fn reduce<T: Element, R: Element>(
    expr: &Expr<T>,
    axes: &Axes,
    reduction: Reduction,
) -> Result<DeviceNDArray<R>> {
    let exprs = std::slice::from_ref(expr);
    reduce_task(&Task { exprs, shape: expr.shape(), reduction, combine: None }, axes)
}

/// Reduces an expression with the functions that a program wrote.
pub(super) fn reduce_by<T: Element>(expr: &Expr<T>, axes: &Axes, combine: &Combine) -> Result<DeviceNDArray<T>> {
    let exprs = std::slice::from_ref(expr);
    reduce_task(&Task { exprs, shape: expr.shape(), reduction: Reduction::Text, combine: Some(combine) }, axes)
}

/// The sums of products. Products of integers have 64 bits, as the sums have; only numbers of 64 bits need a device with
/// such integers.
pub(in crate::functions) fn dot<T: Element + Numeric, R: Element>(
    exprs: [Expr<T>; 2],
    axes: &Axes,
) -> Result<DeviceNDArray<R>> {
    let product = &exprs[0] * &exprs[1]; // Has the common shape, or the error.
    if !DType::of::<T>().is_integer() {
        return reduce(&product, axes, Reduction::Sum);
    }
    Program::default().add_results(&[product.node()])?;
    reduce_task(&Task { exprs: &exprs, shape: product.shape(), reduction: Reduction::Dot, combine: None }, axes)
}

fn reduce_task<T: Element, R: Element>(task: &Task<'_, T>, axes: &Axes) -> Result<DeviceNDArray<R>> {
    let Task { exprs, shape, reduction, combine } = *task;
    let (roots, dtype) = (exprs.iter().map(Expr::node).collect::<SmallVec<[_; 2]>>(), DType::of::<T>());
    let mut program = Program::default();
    program.add_results(&roots)?;
    program.combine = combine;
    let Some(&(first, _)) = program.leaves.first() else { return Err(ExprError::NoArray.into()) };
    let stream = exprs.iter().find_map(Expr::stream).unwrap_or_else(|| stream_of(&exprs[0], first));
    let (context, limits) = (&first.context, DeviceLimits::new(stream.device().info()));
    if !reduction.is_defined(dtype) {
        return Err(ExprError::NotDefined { operation: reduction.name(), dtype }.into());
    }
    let split = axes.split(shape)?;
    if reduction.needs_elements() && split.count == 0 && !split.shape.contains(&0) {
        return Err(Error::EmptyReduction { operation: reduction.name(), shape: shape.to_vec() });
    }
    let results = context.device_array::<R>(&*split.shape)?;
    if results.size() == 0 {
        return Ok(results);
    }
    if split.count == 0 {
        let identity = program.combine.and_then(|own| Expr::<R>::call(&own.identity, 0, &[], Some(stream)));
        let is_one = matches!(reduction, Reduction::Prod | Reduction::All);
        match identity {
            Some(identity) => identity.assign_to(&results)?,
            None => results.on(stream).assign(&zero_or_one(context, stream, is_one)?)?,
        }
        return Ok(results);
    }
    let launch = Passes { program: &program, dtype, reduction, context, stream, limits: &limits };
    let leaves: SmallVec<[_; 6]> = program.leaves.iter().map(|&(leaf, _)| leaf).collect();
    let fits = program.leaves.len() + reduction.fields(dtype).len().max(2) <= limits.max_buffers
        && program.rounds() <= MOST_ROUNDS;
    let nest = launch.nest(shape, &leaves);
    let bytes = if fits { launch.run(&nest, &split, &leaves, &results)? } else { Some(0) };
    let Some(bytes) = bytes else { return Ok(results) };
    // The kernel cannot take so many arrays, strides or rounds. The values of the expressions are therefore computed
    // first, which leaves one array for each expression.
    let is_computed = |node: &Node| matches!(node.kind(), NodeKind::Array(leaf) if leaf.layout().is_c_contiguous());
    if roots.iter().all(|root| is_computed(root)) {
        let (arrays, numbers, limit) = (leaves.len(), program.scalars.len(), limits.max_params);
        return Err(ExprError::TooManyParameters { arrays, numbers, bytes, limit }.into());
    }
    let computed = |expr: &Expr<T>| Ok(expr.clone().on(stream).eval()?.to_contiguous(Order::C)?.into_expr().on(stream));
    let exprs = exprs.iter().map(computed).collect::<Result<SmallVec<[_; 2]>>>()?;
    reduce_task(&Task { exprs: &exprs, ..*task }, axes)
}

#[derive(Clone, Copy)]
struct Passes<'a, 'p> {
    program: &'a Program<'p>,
    dtype: DType,
    reduction: Reduction,
    context: &'a Context,
    stream: &'a Stream,
    limits: &'a DeviceLimits,
}

/// The sizes and strides of one pass.
struct Pass<'a> {
    form: ReduceForm,
    results: u64,
    splits: u64,
    chunk: u64,
    /// Number of units of each result.
    units: u64,
    /// Lengths of the axes of the results, then of their elements, outermost first.
    lens: SmallVec<[u64; 4]>,
    /// The stride of each array along each of these axes.
    strides: SmallVec<[SmallVec<[i64; 4]>; 4]>,
    bases: SmallVec<[u64; 4]>,
    reads: SmallVec<[Arg<'a>; 4]>,
}

impl Passes<'_, '_> {
    fn nest(&self, shape: &[usize], leaves: &[&ArrayLeaf]) -> Nest {
        let layouts = leaves.iter().zip(&self.program.leaves);
        Nest::new(shape, layouts.map(|(leaf, &(_, dtype))| (leaf.layout(), dtype.itemsize())))
    }

    /// Records the passes. If the parameters do not fit, records nothing and returns their size in bytes. An array that
    /// is longer than a bound range is reduced in halves.
    fn run<R: Element>(
        &self,
        whole: &Nest,
        split: &Split,
        leaves: &[&ArrayLeaf],
        results: &DeviceNDArray<R>,
    ) -> Result<Option<usize>> {
        let of_result = |axis: usize| split.kept.contains(&(whole.axes.len() - 1 - axis));
        let (most, nbytes) = (self.limits.max_range - self.limits.alignment, results.nbytes());
        let limit = most_of_launch(self.program.rounds());
        let is_short = whole.is_within(most) && nbytes <= most && whole.size() <= limit;
        // The results of two halves are themselves reduced, so the halves may be cut along any axis. This does not hold
        // for positions, which would count from the start of a half, and for differences from the mean of a half.
        let is_any = 2 * nbytes <= most && self.reduction.has_parts();
        match whole.longest_axis(|axis| is_any || of_result(axis)) {
            Some(axis) if !is_short => self.run_halves((whole, axis), split, leaves, results),
            _ => self.run_whole(whole, split, leaves, results),
        }
    }

    /// Reduces the two halves along an axis. If it is an axis of the elements, the results of both halves are then
    /// reduced once more.
    fn run_halves<R: Element>(
        &self,
        (whole, axis): (&Nest, usize),
        split: &Split,
        leaves: &[&ArrayLeaf],
        results: &DeviceNDArray<R>,
    ) -> Result<Option<usize>> {
        // The lengths of the results' axes; the reduced axes are left out.
        let lens = |nest: &Nest| -> SmallVec<[usize; 4]> {
            let len = |&axis: &usize| usize::try_from(nest.axes[nest.axes.len() - 1 - axis].len).unwrap_or(usize::MAX);
            split.kept.iter().map(len).collect()
        };
        let kept = split.kept.iter().position(|&own| own == whole.axes.len() - 1 - axis);
        let parts = match kept {
            Some(_) => results.reshape(&*lens(whole))?,
            None => self.context.device_array::<R>([&[2], &*lens(whole)].concat())?,
        };
        let mut start = 0;
        for half in whole.clone().halves(axis).into_iter().rev() {
            let own = self.context.device_array::<R>(&*lens(&half))?;
            if let Some(bytes) = self.run(&half, split, leaves, &own)? {
                return Ok(Some(bytes));
            }
            let len = kept.map_or(1, |at| own.shape()[at]).cast_signed();
            let part = parts.slice_axis(kept.unwrap_or(0).cast_signed(), start..start + len)?;
            part.on(self.stream).copy_from_device(&own.reshape(part.shape())?)?;
            start += len;
        }
        if kept.is_some() {
            return Ok(None);
        }
        let joined = (&parts).into_expr();
        let mut program = Program::default();
        program.add_results(&[joined.node()])?;
        program.combine = self.program.combine;
        let reduction = self.reduction.of_parts();
        let again = Passes { program: &program, dtype: DType::of::<R>(), reduction, ..*self };
        let leaves = [program.leaves[0].0];
        again.run(&again.nest(parts.shape(), &leaves), &0.into_axes().split(parts.shape())?, &leaves, results)
    }

    fn run_whole<R: Element>(
        &self,
        whole: &Nest,
        split: &Split,
        leaves: &[&ArrayLeaf],
        results: &DeviceNDArray<R>,
    ) -> Result<Option<usize>> {
        let rounds = self.program.rounds();
        if whole.size() > most_of_launch(rounds) {
            return Err(Error::ManyElements { given: whole.size(), limit: most_of_launch(rounds) });
        }
        let part = |axes: &[usize]| {
            let axes = axes.iter().rev().map(|&axis| whole.axes[whole.axes.len() - 1 - axis].clone()).collect();
            let mut nest = Nest { axes, operands: whole.operands.clone() };
            nest.merge();
            nest
        };
        let nests = [part(&split.kept), part(&split.reduced)];
        let is_across = is_across(&nests);
        let fours = if is_across { None } else { fours(&nests) };
        let width = if fours.is_some() { 4 } else { 1 };
        let (results_size, units) = (results.size() as u64, nests[1].size() / width);
        let group = self.limits.group;
        let Share { team, splits, chunk } = Share::new(results_size, (units, width), is_across, group, rounds);
        let form = ReduceForm {
            reduction: self.reduction,
            dtype: self.dtype,
            team,
            group,
            n_axes: [nests[0].axes.len(), nests[1].axes.len()],
            fours,
            is_second: false,
            is_last: splits == 1,
        };
        let axes = || nests.iter().flat_map(|nest| nest.axes.iter().rev());
        let mut pass = Pass {
            form,
            results: results_size,
            splits,
            chunk,
            units,
            lens: axes().map(|axis| axis.len).collect(),
            strides: (0..leaves.len()).map(|leaf| axes().map(|axis| axis.strides[leaf]).collect()).collect(),
            bases: SmallVec::new(),
            reads: SmallVec::new(),
        };
        let params = pass.form.params(self.program);
        if !Param::fit(&params, self.limits.max_params) {
            return Ok(Some(Param::nbytes(&params)));
        }
        self.bind(whole, leaves, &mut pass)?;
        if pass.form.is_last {
            return self.dispatch(&pass, &[of_result(results, pass.form.written()[0])]).map(|()| None);
        }
        let fields = self.reduction.fields(self.dtype);
        let nbytes = |field: &Field| usize::try_from(pass.results * splits * field.nbytes).unwrap_or(usize::MAX);
        let parts = fields.iter().map(|field| self.context.device_array::<u8>(nbytes(field)));
        let parts: SmallVec<[_; 2]> = parts.collect::<Result<_>>()?;
        let bound: SmallVec<[_; 4]> = parts.iter().zip(&fields).map(|(part, &field)| of_result(part, field)).collect();
        self.dispatch(&pass, &bound)?;
        self.second_pass(&pass, bound, results).map(|()| None)
    }

    fn second_pass<R: Element>(
        &self,
        first: &Pass<'_>,
        parts: SmallVec<[Arg<'_>; 4]>,
        results: &DeviceNDArray<R>,
    ) -> Result<()> {
        let team = second_team(first.form.team, first.results, first.splits, self.limits.group);
        let strides = match first.form.team {
            Team::Lanes(_) => smallvec![first.splits.cast_signed(), 1],
            Team::Across => smallvec![1, first.results.cast_signed()],
        };
        let form = first.form.clone();
        let pass = Pass {
            form: ReduceForm { team, n_axes: [1, 1], fours: None, is_second: true, is_last: true, ..form },
            results: first.results,
            splits: 1,
            chunk: first.splits,
            units: first.splits,
            lens: smallvec![first.results, first.splits],
            strides: smallvec![strides],
            bases: smallvec![0],
            reads: parts,
        };
        self.dispatch(&pass, &[of_result(results, pass.form.written()[0])])
    }

    /// Describes the arrays that the first pass reads.
    fn bind<'a>(&self, whole: &Nest, leaves: &[&'a ArrayLeaf], pass: &mut Pass<'a>) -> Result<()> {
        for (operand, (leaf, &(_, dtype))) in leaves.iter().zip(&self.program.leaves).enumerate() {
            let (shape, base) = self.limits.bound(whole, operand, dtype);
            if shape.nbytes > self.limits.max_range {
                let (operation, nbytes, limit) = (self.reduction.name(), shape.nbytes, self.limits.max_range);
                return Err(Error::LongOperand { operation, nbytes, limit });
            }
            pass.bases.push(base);
            pass.reads.push(Arg::Array(ArrayArg::new(&leaf.block, shape)));
        }
        Ok(())
    }

    fn dispatch(&self, pass: &Pass<'_>, written: &[Arg<'_>]) -> Result<()> {
        let Pass { form, results, splits, .. } = pass;
        let mut key = SmallVec::<[u32; 64]>::from_slice(&[KEY]);
        form.add_to_key(&mut key);
        if !form.is_second {
            self.program.add_to_key(&mut key);
        }
        self.program.combine.iter().for_each(|combine| combine.add_to_key(&mut key));
        let builder = || {
            let text = form.text(self.program).unwrap_or_default();
            self.context.kernel(Source::wgsl(text).named("reduce.wgsl")).exact_floats(true)
        };
        let kernel = self
            .context
            .generated_kernel(&key, builder)
            .map_err(|error| self.program.fault().map_or(error, Error::from))?;
        let mut args = SmallVec::<[NamedArg<'_>; 24]>::new();
        args.extend(written.iter().map(|arg| NamedArg { name: None, arg: arg.clone() }));
        args.extend(pass.reads.iter().map(|arg| NamedArg { name: None, arg: arg.clone() }));
        for param in form.params(self.program) {
            let value = match param.of {
                ParamOf::Scalar(at, part) => param.scalar_value(self.program, at, part),
                ParamOf::Jobs => word(results * splits),
                ParamOf::Results => word(*results),
                ParamOf::Splits => word(*splits),
                ParamOf::Chunk => word(pass.chunk),
                ParamOf::Size => word(pass.units),
                ParamOf::Len(axis) => word(pass.lens[usize::from(axis)]),
                ParamOf::Base(array) => word(pass.bases[usize::from(array)]),
                ParamOf::Stride(array, axis) => {
                    word(pass.strides[usize::from(array)][usize::from(axis)].cast_unsigned())
                }
            };
            args.push(NamedArg { name: None, arg: Arg::Scalar(value) });
        }
        let jobs = results * splits;
        let groups = match form.team {
            Team::Lanes(lanes) => jobs.div_ceil(u64::from(form.group / lanes)),
            Team::Across => jobs.div_ceil(u64::from(form.group)),
        };
        Ok(kernel.dispatch(self.stream, Groups::exact(self.limits.spread(groups)), args.as_slice())?)
    }
}

/// An array of results or partial results, bound as this field.
fn of_result<T: Element>(array: &DeviceNDArray<T>, field: Field) -> Arg<'_> {
    Arg::Array(ArrayArg::new(array.block(), ArrayShape::new(field.bound, &[], array.nbytes())))
}
