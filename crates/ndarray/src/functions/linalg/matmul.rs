//! Calls of the kernels for matrices: products and triangles.

use std::ops::Range;

use bytemuck::Zeroable;
use vkarray_kernel::{Arg, DType, Element, Groups, ScalarValue, Source, WordMatrices};
use vkarray_layout::{LayoutError, broadcast_shapes};
use vkarray_shaders::functions;

use super::matrices;
use super::tile::{ProductPlan, Sizes};
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::Operand;
use crate::functions::operand::{
    Arithmetic, Units, Widen, axis_of, converted, flat, kernel, longest, numbers, packed, part, parts, run, to_u32,
    widened, words,
};
use crate::functions::reduce::{IntoAxes, dot, reduce};
use crate::generate::{Reduction, dtype_code};

/// Keeps the keys of kernels of products apart from the keys of other kernels.
const KEY: u32 = 0x6d61_746d;

impl DeviceNDArray<i8> {
    /// The product of two matrices of `i8`, or of stacks of them, as `i32`: [`DeviceNDArray::matmul`] with its shapes and
    /// errors, and with results that are not cut to `i8`. PyTorch's `torch._int_mm`.
    ///
    /// Sums are exact; those beyond `i32` wrap around, which takes an inner axis of 131,072 or longer. Fastest is a
    /// second operand whose columns are contiguous, as those of `weights.t()`: it is not copied. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[-128_i8, 127, 100, -50])?.reshape([2, 2])?;
    /// assert_eq!(x.matmul_i32(&x.t())?.to_vec()?, [32_513, -19_150, -19_150, 12_500]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Lengths`](crate::Error::Lengths) if the lengths that are added up differ;
    /// [`Error::Shapes`](crate::Error::Shapes) if an operand has no axis;
    /// [`Error::Layout`](crate::Error::Layout) if stacks do not broadcast;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn matmul_i32(&self, other: &Self) -> Result<DeviceNDArray<i32>> {
        of_stacks("matmul_i32", self, other, product)
    }
}

impl<T: Widen> DeviceNDArray<T> {
    /// The product of two matrices, or of stacks of them: NumPy's `matmul`. An array of one axis is a row on the left and a
    /// column on the right; the axes before the last two broadcast.
    ///
    /// Products are added in the type of the elements; floats of 16 bits are added as `f32`, and integers wrap around.
    /// The order of additions depends on the shapes and the device alone, so floats are the same in every run on a
    /// device, and may differ in rounding between devices. `f64` needs a device that has it. Operands that are not
    /// contiguous are copied first, unless the result is one row or one column of each matrix.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([2, 3])?;
    /// assert_eq!(x.matmul(&x.t())?.to_vec()?, [5.0, 14.0, 14.0, 50.0]);
    /// assert_eq!(x.matmul(&ctx.ones::<f32>(3)?)?.to_vec()?, [3.0, 12.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Lengths`](crate::Error::Lengths) if the lengths that are added up differ;
    /// [`Error::Shapes`](crate::Error::Shapes) if an operand has no axis;
    /// [`Error::Layout`](crate::Error::Layout) if stacks do not broadcast;
    /// [`Error::Kernel`](crate::Error::Kernel) for `f64` on a device without it;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn matmul(&self, other: &DeviceNDArray<T>) -> Result<DeviceNDArray<T>> {
        of_stacks("matmul", self, other, |left, right| match product_by_matrices(left, right)? {
            Some(out) => Ok(out),
            None => converted(&product(left, right)?, left.stream()),
        })
    }
}

/// What an operation gives for two stacks of matrices, of which arrays of one axis are a row and a column.
fn of_stacks<T: Element, U: Element>(
    operation: &'static str,
    a: &DeviceNDArray<T>,
    other: &DeviceNDArray<T>,
    product: impl FnOnce(&DeviceNDArray<T>, &DeviceNDArray<T>) -> Result<DeviceNDArray<U>>,
) -> Result<DeviceNDArray<U>> {
    let mismatch = || Error::shapes(operation, a.shape(), other.shape());
    if a.ndim() == 0 || other.ndim() == 0 {
        return Err(mismatch());
    }
    let left = if a.ndim() == 1 { a.expand_dims(0)? } else { a.clone() };
    let right = if other.ndim() == 1 { other.expand_dims(1)? } else { other.clone() };
    let ([_, k], [inner, _]) = (split(left.shape()).1, split(right.shape()).1);
    if k != inner {
        let (first, second) = (a.shape().to_vec(), other.shape().to_vec());
        let axes = [first.len() - 1, second.len().saturating_sub(2)];
        return Err(Error::Lengths { operation, first, second, axes });
    }
    let out = product(&left.on(a.stream()), &right)?;
    let axes = [(a.ndim() == 1, -2), (other.ndim() == 1, -1)];
    let axes: Vec<isize> = axes.into_iter().filter_map(|(is_added, axis)| is_added.then_some(axis)).collect();
    out.squeeze(Some(&axes))
}

/// The products of two stacks of matrices of `f16`, `bf16` or `i8` by cooperative matrices, if the device has those with
/// this result and the sizes are for the kernel. Its text has no place for the sanitizer's checks.
fn product_by_matrices<T: Widen, U: Element>(
    left: &DeviceNDArray<T>,
    right: &DeviceNDArray<T>,
) -> Result<Option<DeviceNDArray<U>>> {
    let (ctx, stream) = (left.context(), left.stream());
    let ((stack_a, [m, k]), (stack_b, [_, n])) = (split(left.shape()), split(right.shape()));
    let stack = broadcast_shapes(&[stack_a, stack_b])?;
    let types = [DType::of::<T>(), DType::of::<U>()];
    let Some(form) = matrices::numbers_of_matrices(types, ctx.info(), &ctx.device().plan().features) else {
        return Ok(None);
    };
    // Two `i8` are one number of the kernel, which reads 16 bytes of a row at a time.
    let per_number = if form == WordMatrices::I8 { 2 } else { 1 };
    let k = if form == WordMatrices::I8 { k.div_ceil(16) * 8 } else { k };
    let sizes = Sizes { m, k, n, count: stack.iter().copied().fold(1, usize::saturating_mul) };
    if !matrices::are_suitable(sizes)
        || ctx.kernel_cache().sanitizes()
        || most_elements([stack_a, stack_b], sizes) > longest(ctx, size_of::<U>(), 1)
    {
        return Ok(None);
    }
    let out = ctx.device_array::<U>([stack.as_slice(), &[m, n]].concat())?;
    let right = right.on(stream);
    let [left, right] = match form {
        WordMatrices::I8 => [with_whole(left, -1, 16)?, columns(&right)?],
        _ => [left.view()?, right],
    };
    let [(left, stride_a), (right, stride_b)] = [stacked(packed(&left)?, &stack)?, stacked(packed(&right)?, &stack)?];
    let kernel = ctx.generated_kernel(&[KEY, 0, form as u32], || {
        let source = Source::wgsl(matrices::text(form)).named("matmul_matrices.wgsl");
        ctx.kernel(source).subgroup_size(matrices::SUBGROUP).full_subgroups(true).word_matrices(form)
    })?;
    let mut args =
        vec![words(&left), words(&right), if form == WordMatrices::I8 { numbers(&out) } else { words(&out) }];
    for length in [m, k, n, stride_a / per_number, stride_b / per_number] {
        args.push(Arg::Scalar(ScalarValue::U32(to_u32(length)?)));
    }
    let n_groups = sizes.count * m.div_ceil(matrices::TILE) * n.div_ceil(matrices::TILE);
    kernel.dispatch(stream, Groups::covering(n_groups * matrices::LANES), args.as_slice())?;
    Ok(Some(out))
}

/// Elements of the longest of both operands and the result, whose axes of stride 0 may be of any length. A stack of one
/// matrix is not repeated in memory.
fn most_elements([stack_a, stack_b]: [&[usize]; 2], Sizes { m, k, n, count }: Sizes) -> usize {
    let times = |a: usize, b: usize| a.saturating_mul(b);
    let repeated = |own: &[usize], size| times(size, if own.iter().all(|&n| n == 1) { 1 } else { count });
    repeated(stack_a, times(m, k)).max(repeated(stack_b, times(k, n))).max(times(count, times(m, n)))
}

/// The products of two stacks of matrices. Each operand has at least two axes.
fn product<T: Widen>(x: &DeviceNDArray<T>, right: &DeviceNDArray<T>) -> Result<DeviceNDArray<T::Wide>> {
    let (left, stream) = (x, x.stream());
    let ((stack_a, [m, k]), (stack_b, [_, n])) = (split(left.shape()), split(right.shape()));
    let stack = broadcast_shapes(&[stack_a, stack_b])?;
    let shape = [stack.as_slice(), &[m, n]].concat();
    let sizes = Sizes { m, k, n, count: stack.iter().copied().fold(1, usize::saturating_mul) };
    let largest = most_elements([stack_a, stack_b], sizes);
    if let Some(out) = product_by_matrices::<T, T::Wide>(x, right)? {
        return Ok(out);
    }
    let (ctx, itemsize) = (left.context(), size_of::<T::Wide>());
    let (longest, features) = (longest(ctx, itemsize, 1), &ctx.device().plan().features);
    // A reduction reads integers of 64 bits in the device's own type, and the tiles as pairs of words.
    let is_reducible = !matches!(DType::of::<T::Wide>(), DType::I64 | DType::U64) || features.shader_int64;
    if (m == 1 || n == 1) && largest <= longest && is_reducible {
        return vectors(x, right, n == 1)?.reshape(shape.as_slice());
    }
    let out = ctx.device_array::<T::Wide>(shape.as_slice())?;
    if out.size() == 0 {
        return Ok(out);
    }
    if k == 0 {
        out.on(stream).fill(T::Wide::zeroed())?;
        return Ok(out);
    }
    // Four `i8` along the inner axis are one number of the kernel.
    let is_bytes = DType::of::<T>() == DType::I8;
    let sizes = Sizes { k: if is_bytes { k.div_ceil(4) } else { k }, ..sizes };
    let is_unrolled = !ctx.kernel_cache().sanitizes();
    let plan = ProductPlan::new(ctx.info(), sizes, itemsize, longest / out.size(), is_unrolled);
    let n_parts = sizes.k.div_ceil(plan.part);
    if largest.max(n_parts * out.size()) > longest {
        products_of_halves(x, right, &out)?;
        return Ok(out);
    }
    let right = right.on(stream);
    let (left, right) = if is_bytes { (fours(x, -1)?, fours(&right, -2)?) } else { (widened(x)?, widened(&right)?) };
    let operands = [stacked(left, &stack)?, stacked(right, &stack)?];
    if n_parts == 1 {
        products_in_tiles(&operands, &out, sizes, plan, is_bytes)?;
        return Ok(out);
    }
    drop(out); // The sums of the parts have memory of their own.
    let parts = ctx.device_array::<T::Wide>([&[n_parts], shape.as_slice()].concat())?.on(stream);
    products_in_tiles(&operands, &parts, sizes, plan, is_bytes)?;
    // Integers wrap around.
    let sums = reduce::<T::Wide, <T::Wide as Widen>::Sum>(&parts.expr(), &0.into_axes(), Reduction::Sum)?;
    converted(&sums, stream)
}

/// The array with zeros behind an axis, counted from the end, whose length is then a multiple of `unit`.
fn with_whole<T: Element>(array: &DeviceNDArray<T>, axis: isize, unit: usize) -> Result<DeviceNDArray<T>> {
    let axis = axis_of(axis, array.ndim())?;
    let length = array.shape()[axis];
    if length.is_multiple_of(unit) {
        return array.view();
    }
    let mut shape = array.shape().to_vec();
    shape[axis] = length.next_multiple_of(unit);
    let whole = array.context().device_array::<T>(shape)?.on(array.stream());
    whole.fill(T::zeroed())?;
    whole.slice_axis(axis, 0..length.cast_signed())?.on(array.stream()).assign(array)?;
    Ok(whole)
}

/// Stacks of matrices of bytes whose fours along an axis are one number, which are next to each other in the result.
fn fours<T: Widen>(array: &DeviceNDArray<T>, axis: isize) -> Result<DeviceNDArray<T::Wide>> {
    let whole = with_whole(array, axis, 4)?;
    if axis == -1 {
        return packed(&whole)?.view();
    }
    let (stack, [k, n]) = split(whole.shape());
    let rows = whole.reshape([stack, &[k / 4, 4, n]].concat())?.swap_axes(-2, -1)?.on(array.stream());
    packed(&rows)?.view::<T::Wide>()?.squeeze(Some(&[-1]))
}

/// Stacks of matrices of bytes column by column, with zeros behind each, so that its length is a multiple of 16. Where rows
/// are contiguous, fours of rows are made words first: both copies together are faster than one of bytes.
fn columns<T: Widen>(array: &DeviceNDArray<T>) -> Result<DeviceNDArray<T>> {
    let columns = array.swap_axes(-2, -1)?.on(array.stream());
    if columns.strides().last() == Some(&1) {
        return with_whole(&columns, -1, 16);
    }
    let words = fours(&with_whole(array, -2, 16)?, -2)?.swap_axes(-2, -1)?;
    packed(&words.on(array.stream()))?.view()
}

/// Runs the kernel of a plan, which writes the sums of each part of the inner axis to `out`. Each operand comes with the
/// number of elements from one matrix to the next.
fn products_in_tiles<W: Widen>(
    [(left, stride_a), (right, stride_b)]: &[(DeviceNDArray<W>, usize); 2],
    out: &DeviceNDArray<W>,
    Sizes { m, k, n, count }: Sizes,
    plan: ProductPlan,
    is_bytes: bool,
) -> Result<()> {
    let dtype = if is_bytes { DType::I8 } else { DType::of::<W>() };
    let (ctx, key) = (left.context(), [KEY, dtype_code(dtype), plan.key()]);
    let source = || Source::wgsl(plan.text(Arithmetic::of::<W>(), is_bytes)).named("matmul.wgsl");
    let kernel = ctx.generated_kernel(&key, || ctx.kernel(source()))?;
    let mut args = vec![numbers(left), numbers(right), numbers(out)];
    for length in [m, k, n, *stride_a, *stride_b, plan.part, count] {
        args.push(Arg::Scalar(ScalarValue::U32(to_u32(length)?)));
    }
    let n_groups = k.div_ceil(plan.part) * plan.tile.groups(Sizes { m, k, n, count });
    Ok(kernel.dispatch(left.stream(), Groups::covering(n_groups * plan.tile.n_lanes() as usize), args.as_slice())?)
}

/// Products with one column, or one row, for each matrix: sums along the inner axis, which read each operand once where it
/// lies.
fn vectors<T: Widen>(
    left: &DeviceNDArray<T>,
    right: &DeviceNDArray<T>,
    is_column: bool,
) -> Result<DeviceNDArray<T::Wide>> {
    let (left, right) =
        if is_column { (left.clone(), right.swap_axes(-2, -1)?) } else { (left.swap_axes(-2, -1)?, right.clone()) };
    let (axis, stream) = (if is_column { -1 } else { -2 }, left.stream());
    let operands = [left.cast::<T::Wide>().on(stream), right.cast::<T::Wide>().on(stream)];
    let sums = dot::<T::Wide, <T::Wide as Widen>::Sum>(operands, &axis.into_axes())?;
    converted(&sums, stream)
}

/// Computes the two halves of products whose matrices are longer than what the device binds, cut along the longest axis.
fn products_of_halves<T: Widen>(
    left: &DeviceNDArray<T>,
    right: &DeviceNDArray<T>,
    out: &DeviceNDArray<T::Wide>,
) -> Result<()> {
    let (a, stream, inner) = (left, left.stream(), left.shape()[left.ndim() - 1]);
    // The axes of the result, and as the last the inner axis of the operands.
    let lengths = || out.shape().iter().copied().chain([inner]);
    let (axis, length) = lengths().enumerate().max_by_key(|&(_, length)| length).unwrap_or((0, 1));
    // How far each operand's axis is from its end; the axes of the stack are those of both.
    let [from_left, from_right, from_out] = match out.ndim() - axis {
        0 => [1, 2, 0],
        1 => [0, 1, 1],
        2 => [2, 0, 2],
        from_end => [from_end; 3],
    };
    for range in [0..length / 2, length / 2..length] {
        let is_first = range.start == 0;
        let (left, right) = (cut(a, from_left, &range)?, cut(right, from_right, &range)?);
        let half = product(&left.on(stream), &right)?;
        if from_out > 0 {
            cut(out, from_out, &range)?.on(stream).assign(&half)?;
        } else if is_first {
            out.on(stream).assign(&half)?;
        } else {
            (out + &half).on(stream).assign_to(out)?;
        }
    }
    Ok(())
}

/// A range of the axis at this distance from the end. An array without that axis, or with a length of 1 there, is
/// repeated along it and stays whole.
fn cut<T: Element>(array: &DeviceNDArray<T>, from_end: usize, range: &Range<usize>) -> Result<DeviceNDArray<T>> {
    match array.ndim().checked_sub(from_end) {
        Some(axis) if from_end > 0 && array.shape()[axis] != 1 => {
            array.slice_axis(axis, range.start.cast_signed()..range.end.cast_signed())
        }
        _ => Ok(array.clone()),
    }
}

/// The axes of a stack of matrices, and the two of a matrix.
fn split(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (stack, matrix) = shape.split_at(shape.len() - 2);
    (stack, [matrix[0], matrix[1]])
}

/// Packed matrices, repeated for a stack, and the number of elements from one matrix to the next: 0 if the whole stack has
/// one matrix.
fn stacked<T: Element>(own: DeviceNDArray<T>, stack: &[usize]) -> Result<(DeviceNDArray<T>, usize)> {
    let (lengths, matrix) = split(own.shape());
    if lengths.iter().all(|&length| length == 1) {
        return Ok((own, 0));
    }
    let (stride, shape) = (matrix.iter().product(), [stack, &matrix[..]].concat());
    Ok((packed(&own.broadcast_to(shape.as_slice())?.on(own.stream()))?, stride))
}

pub(super) fn triangle<T: Widen>(x: &DeviceNDArray<T>, k: isize, is_lower: bool) -> Result<DeviceNDArray<T>> {
    let (array, stream) = (x, x.stream());
    let &[.., rows, columns] = array.shape() else {
        return Err(LayoutError::DiagonalRank { ndim: array.ndim() }.into());
    };
    let out = array.context().device_array::<T>(array.shape())?;
    if out.size() == 0 {
        return Ok(out);
    }
    let (source, units) = (packed(x)?, Units::of::<T>());
    let constants = format!("const LOWER = {is_lower};\n");
    let text = [&units.text(), &constants, functions::TRIANGLE];
    let kernel = kernel(array.context(), "triangle.wgsl", &text, "triangle_units")?;
    let count = out.size() * units.parts;
    // A diagonal beyond the matrix has the effect of the nearest one outside it.
    let k = i32::try_from(k.clamp(-rows.cast_signed(), columns.cast_signed())).unwrap_or(i32::MAX);
    let (rows, columns, n_parts) = (to_u32(rows)?, to_u32(columns)?, to_u32(units.parts)?);
    to_u32(count)?;
    let (source, target) = (flat(&source)?, flat(&out)?);
    for range in parts(array.context(), out.size(), size_of::<T>(), 1) {
        let [first, count] = [range.start, range.len()].map(|n| n * units.parts);
        let (from, to) = (part(&source, &range)?, part(&target, &range)?);
        let args = (words(&from), words(&to), to_u32(count)?, rows, columns, n_parts, to_u32(first)?, k);
        run(&kernel, stream, count.div_ceil(units.per_word), &args)?;
    }
    Ok(out)
}
