//! How arrays are given to the kernels of this folder: contiguous, as words, in parts.
//!
//! Kernels that move elements see words and parts of words ([`Units`]), so that one kernel serves every element type, also
//! on devices without 8-bit, 16-bit or 64-bit types. Kernels that compute see 32 or 64 bits; narrower numbers are converted
//! first ([`Widen`]). The next file to read is `indexing/take.rs`.

use std::ops::Range;

use half::{bf16, f16};
use num_traits::{Bounded, FromPrimitive, ToPrimitive};
use vkarray_driver::Stream;
use vkarray_kernel::{
    Arg, Arguments, ArrayArg, ArrayShape, AsArg, Bool, Complex32, Complex64, DType, Element, Groups, Kernel, Source,
    limits_of,
};
use vkarray_layout::{LayoutError, Order};
use vkarray_shaders::functions;

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::expr::Numeric;
use crate::generate::DeviceLimits;

/// A type of numbers, with the type of 32 or 64 bits that has all of its values, in which kernels compute, and the types
/// of results.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be computed on here",
    label = "this function takes integers and floats",
    note = "cast the array first: `x.cast::<i32>().eval()?`"
)]
pub trait Widen: Element + Bounded + FromPrimitive + ToPrimitive {
    /// The type itself, if it has 32 or 64 bits.
    #[doc(hidden)]
    type Wide: Widen + Numeric;
    /// The type of running sums and products: 64 bits for integers; floats keep their type.
    type Sum: Widen;
    /// The type of the edges of bins: `f32` and `f64` for numbers of these types, `f32` for shorter floats, and `f64`
    /// for integers, as in NumPy.
    type Edge: UniformFloat + Widen;
}

/// For an element type, the types of the results of reductions.
pub trait Reducible: Element {
    /// The type of sums and products: `i64` for signed integers and truth values, `u64` for unsigned integers,
    /// otherwise the type itself.
    type Sum: Element;
    /// The type of at least 32 bits that has all values of this type.
    #[doc(hidden)]
    type Wide: Element;
}

/// For each type the type in which kernels compute, the type of sums, and for real numbers the type of the edges of bins.
macro_rules! computed {
    ($($ty:ty: $wide:ty, $sum:ty $(, $edge:ty)?;)*) => {$(
        impl Reducible for $ty {
            type Sum = $sum;
            type Wide = $wide;
        }
        $(impl Widen for $ty {
            type Wide = $wide;
            type Sum = $sum;
            type Edge = $edge;
        })?
    )*};
}

computed! {
    Bool: u32, i64;
    i8: i32, i64, f64;
    u8: u32, u64, f64;
    i16: i32, i64, f64;
    u16: u32, u64, f64;
    i32: i32, i64, f64;
    u32: u32, u64, f64;
    i64: i64, i64, f64;
    u64: u64, u64, f64;
    f16: f32, f16, f32;
    bf16: f32, bf16, f32;
    f32: f32, f32, f32;
    f64: f64, f64, f64;
    Complex32: Complex32, Complex32;
    Complex64: Complex64, Complex64;
}

/// A number of 32 or 64 bits. Only this crate implements this trait and the traits that require it.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be computed on here",
    label = "this function takes `i32`, `u32`, `f32`, `i64`, `u64` and `f64`",
    note = "cast the array first: `x.cast::<i32>().eval()?`"
)]
pub trait Word: Element {}

macro_rules! of_words {
    ($($ty:ty),*) => {
        $(impl Word for $ty {})*
    };
}

of_words! { i32, u32, f32, i64, u64, f64 }

/// A type of uniform random floats, and of the edges of bins of equal width: `f32` or `f64`.
pub trait UniformFloat: Word + PartialOrd + FromPrimitive {
    #[doc(hidden)]
    fn of_f64(value: f64) -> Self {
        Self::from_f64(value).expect("a float or an infinity is nearest to any number")
    }
}

impl UniformFloat for f32 {}

impl UniformFloat for f64 {}

/// The array, contiguous in C order and at an offset at which a kernel can bind it: the given array, or a copy of it.
pub(crate) fn packed<T: Element>(array: &DeviceNDArray<T>) -> Result<DeviceNDArray<T>> {
    let contiguous = array.to_contiguous(Order::C)?;
    if is_packed(&contiguous) { Ok(contiguous) } else { contiguous.copied(Order::C) }
}

/// Whether an array is contiguous in C order, and at an offset at which a kernel can bind it.
pub(crate) fn is_packed<T: Element>(array: &DeviceNDArray<T>) -> bool {
    let alignment = limits_of(array.context().info()).min_storage_buffer_offset_alignment.max(4);
    let offset = array.offset() as u64 * array.itemsize() as u64;
    array.is_c_contiguous() && (array.size() == 0 || offset.is_multiple_of(alignment))
}

/// The array as numbers of 32 or 64 bits, as [`packed`] gives them.
pub(crate) fn widened<T: Widen>(array: &DeviceNDArray<T>) -> Result<DeviceNDArray<T::Wide>> {
    let packed = packed(array)?;
    if DType::of::<T>() == DType::of::<T::Wide>() { packed.view() } else { packed.astype() }
}

/// The array as numbers of another type, without a copy if it has this type.
pub(crate) fn converted<T: Element, U: Element>(array: &DeviceNDArray<T>, stream: &Stream) -> Result<DeviceNDArray<U>> {
    if DType::of::<T>() == DType::of::<U>() { array.view() } else { array.on(stream).astype() }
}

/// 0 or 1 as an array without axes.
pub(crate) fn zero_or_one<T: Element>(ctx: &Context, stream: &Stream, is_one: bool) -> Result<DeviceNDArray<T>> {
    ctx.full([], i32::from(is_one))?.on(stream).astype()
}

/// A packed array as an argument of words. Its memory ends at a whole word.
pub(crate) fn words<T: Element>(array: &DeviceNDArray<T>) -> Arg<'_> {
    let nbytes = array.nbytes().next_multiple_of(4);
    let offset = array.offset() as u64 * array.itemsize() as u64;
    let shape = ArrayShape { offset, is_writable: array.is_writable(), ..ArrayShape::new(DType::U32, &[], nbytes) };
    Arg::Array(ArrayArg::new(array.block(), shape))
}

/// The whole quads of words at the start of a packed array of one axis, and their number. There are none at offsets that are
/// not a multiple of quads; a kernel is then bound to one of which it reads nothing.
pub(crate) fn quads<T: Element>(array: &DeviceNDArray<T>) -> Result<(DeviceNDArray<T>, usize)> {
    let elements = 16 / size_of::<T>();
    let n_quads = if array.offset().is_multiple_of(elements) { array.size() / elements } else { 0 };
    let quads =
        if n_quads > 0 { part(array, &(0..n_quads * elements)) } else { array.context().device_array([elements]) };
    Ok((quads?, n_quads))
}

/// The words of a range of an array's block, from the nearest offset before it that the device can bind, and the number
/// of bytes between that offset and the range.
pub(crate) fn words_of_block<'a, T: Element>(array: &'a DeviceNDArray<T>, range: &Range<usize>) -> (Arg<'a>, u64) {
    let alignment = DeviceLimits::new(array.context().info()).alignment;
    let [first, end] = [range.start, range.end].map(|at| at as u64 * size_of::<T>() as u64);
    let start = first / alignment * alignment;
    let shape = ArrayShape::new(DType::U32, &[], end.next_multiple_of(4) - start);
    let shape = ArrayShape { offset: start, is_writable: array.is_writable(), ..shape };
    (Arg::Array(ArrayArg::new(array.block(), shape)), first - start)
}

/// The elements of a packed array as an array of one axis.
pub(crate) fn flat<T: Element>(array: &DeviceNDArray<T>) -> Result<DeviceNDArray<T>> {
    array.reshape([array.size()])
}

/// A range of an array of one axis.
pub(crate) fn part<T: Element>(array: &DeviceNDArray<T>, range: &Range<usize>) -> Result<DeviceNDArray<T>> {
    array.slice_axis(0, range.start.cast_signed()..range.end.cast_signed())
}

/// The most elements of `itemsize` bytes that a kernel can bind, whatever the offset of the first one. The number is a
/// multiple of `multiple`, which is a power of two. If the device can bind an offset, it can also bind the offset this
/// many elements later.
pub(crate) fn longest(ctx: &Context, itemsize: usize, multiple: usize) -> usize {
    let limits = DeviceLimits::new(ctx.info());
    let in_memory = |nbytes: u64| usize::try_from(nbytes).unwrap_or(usize::MAX);
    let unit = in_memory(limits.alignment).max(multiple);
    (in_memory(limits.max_range - limits.alignment) / itemsize / unit * unit).max(unit)
}

/// The parts of `count` elements that kernels bind one after the other. Each part begins at a multiple of `multiple`
/// and has at most as many elements as [`longest`] says.
pub(crate) fn parts(
    ctx: &Context,
    count: usize,
    itemsize: usize,
    multiple: usize,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let length = longest(ctx, itemsize, multiple);
    (0..count).step_by(length).map(move |start| start..count.min(start + length))
}

/// A packed array for kernels that compute with its type. Such kernels see integers of 64 bits as pairs of words.
pub(crate) fn numbers<T: Element>(array: &DeviceNDArray<T>) -> Arg<'_> {
    if matches!(DType::of::<T>(), DType::I64 | DType::U64) { words(array) } else { array.as_arg() }
}

/// How kernels that move elements see them: as units, which are words or parts of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Units {
    /// Units in a word: 1, 2 or 4.
    pub(crate) per_word: usize,
    /// Units in an element.
    pub(crate) parts: usize,
}

impl Units {
    pub(crate) fn of<T: Element>() -> Self {
        let bytes = size_of::<T>();
        let unit = 1 << bytes.trailing_zeros().min(2);
        Self { per_word: 4 / unit, parts: bytes / unit }
    }

    /// The constants in a kernel's text that describe the units.
    pub(crate) fn text(self) -> String {
        format!("const UNITS = {}u;\nconst BITS = {}u;\n", self.per_word, 32 / self.per_word)
    }
}

/// The text with which a kernel computes with numbers of a type of 32 or 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arithmetic {
    name: &'static str,
    pub(crate) zero: &'static str,
    pub(crate) one: &'static str,
}

impl Arithmetic {
    pub(crate) fn of<T: Widen>() -> Self {
        let [name, zero, one] = match DType::of::<T::Wide>() {
            DType::I32 => ["i32", "0i", "1i"],
            DType::U32 => ["u32", "0u", "1u"],
            DType::F32 => ["f32", "0.0f", "1.0f"],
            DType::F64 => ["f64", "0.0lf", "1.0lf"],
            _ => ["vec2<u32>", "vec2(0u)", "vec2(1u, 0u)"],
        };
        Self { name, zero, one }
    }

    /// The definitions of `T`, `add` and `multiply`. Integers of 64 bits are pairs of words.
    pub(crate) fn text(self) -> String {
        let name = self.name;
        let [library, sum, product] = if name.starts_with("vec2") {
            [functions::PAIRS, "pair_sum(a, b)", "pair_product(a, b)"]
        } else {
            ["", "a + b", "a * b"]
        };
        format!(
            "{library}alias T = {name};\nfn add(a: T, b: T) -> T {{\n    return {sum};\n}}\n\
             fn multiply(a: T, b: T) -> T {{\n    return {product};\n}}\n"
        )
    }

    /// The definitions of `Four` and `add_products`, behind those of [`Arithmetic::text`].
    pub(crate) fn fours(self) -> &'static str {
        if self.name.starts_with("vec2") {
            "struct Four { x: T, y: T, z: T, w: T }\nfn add_products(sum: Four, a: T, b: Four) -> Four {\n    \
             return Four(add(sum.x, multiply(a, b.x)), add(sum.y, multiply(a, b.y)), \
             add(sum.z, multiply(a, b.z)), add(sum.w, multiply(a, b.w)));\n}\n"
        } else {
            "alias Four = vec4<T>;\nfn add_products(sum: Four, a: T, b: Four) -> Four {\n    return sum + a * b;\n}\n"
        }
    }
}

/// A number of elements, a length or a position as kernels have it.
pub(crate) fn to_u32(count: usize) -> Result<u32> {
    u32::try_from(count).map_err(|_| Error::TooManyElements { count })
}

/// The sum of lengths, or the error that no array of the shape has so many elements.
pub(crate) fn sum_of_lengths(lengths: impl IntoIterator<Item = usize>, shape: &[usize]) -> Result<usize> {
    let sum = lengths.into_iter().try_fold(0, usize::checked_add).filter(|&sum| isize::try_from(sum).is_ok());
    let too_large = || LayoutError::Overflow { shape: shape.to_vec(), itemsize: 1 };
    Ok(sum.ok_or_else(too_large)?)
}

/// The number of an axis, counted from 0.
pub(crate) fn axis_of(axis: isize, ndim: usize) -> Result<usize> {
    let counted = if axis < 0 { axis.checked_add_unsigned(ndim) } else { Some(axis) };
    let found = counted.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < ndim);
    Ok(found.ok_or(LayoutError::AxisOutOfRange { axis, ndim })?)
}

/// The kernel with this text and this entry point.
pub(crate) fn kernel(ctx: &Context, name: &'static str, text: &[&str], entry: &str) -> Result<Kernel> {
    Ok(ctx.kernel(Source::wgsl(text.concat()).named(name)).entry(entry).build()?)
}

/// Runs a kernel with one invocation for each of `count` items. `count` is not 0.
pub(crate) fn run(kernel: &Kernel, stream: &Stream, count: usize, args: &impl Arguments) -> Result<()> {
    Ok(kernel.dispatch(stream, Groups::covering(count), args)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_moved_in_the_largest_units_that_divide_them() {
        #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        struct Odd([u8; 3]);
        impl Element for Odd {
            const DTYPE: DType = DType::record::<Self>();
        }
        let cases = [
            (Units::of::<u8>(), 4, 1),
            (Units::of::<f16>(), 2, 1),
            (Units::of::<f32>(), 1, 1),
            (Units::of::<u64>(), 1, 2),
            (Units::of::<Complex64>(), 1, 4),
            (Units::of::<Odd>(), 4, 3),
        ];
        for (units, per_word, parts) in cases {
            assert_eq!(units, Units { per_word, parts });
        }
    }

    #[test]
    fn axes_count_from_both_ends() {
        let cases = [(0, 2, Some(0)), (-1, 2, Some(1)), (2, 2, None), (-3, 2, None), (0, 0, None)];
        for (axis, ndim, expected) in cases {
            assert_eq!(axis_of(axis, ndim).ok(), expected, "{axis} of {ndim}");
        }
    }
}
