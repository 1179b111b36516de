//! Expressions of any size and layout, and elements of every type that a device has.

use half::f16;
use vkarray::array::{Bool, Number, Numeric};
use vkarray::prelude::*;
use vkarray::primitives::Widen;

use super::elementary::function;
use crate::{Result, int, number};

/// Sizes around the units and the workgroups of the kernels, and a prime.
const SIZES: [usize; 14] = [0, 1, 2, 3, 4, 5, 63, 64, 255, 256, 257, 1021, 1024, 4099];

fn bools(values: &[Bool]) -> Vec<bool> {
    values.iter().map(|&value| value.into()).collect()
}

pub(crate) fn every_element_is_computed_whatever_the_size(ctx: &Context) -> Result<()> {
    for n in SIZES {
        let a = ctx.arange(0.0_f32, n as f32, 1.0)?;
        let b = ctx.full(n, 0.5_f32)?;
        let expected: Vec<_> = (0..n).map(|i| i as f32 * 2.0 + 0.5).collect();
        assert_eq!((&a * 2.0 + &b).eval()?.to_vec()?, expected, "{n}");
        let flags = a.less(3.0).eval()?.to_vec()?;
        assert_eq!(bools(&flags), (0..n).map(|i| i < 3).collect::<Vec<_>>(), "{n}");
        let halves = (a.cast::<f16>() * f16::from_f32(0.5)).eval()?.to_vec()?;
        let expected: Vec<_> = (0..n).map(|i| f16::from_f32(f16::from_f32(i as f32).to_f32() * 0.5)).collect();
        assert_eq!(halves, expected, "{n}");
    }
    Ok(())
}

pub(crate) fn operands_and_targets_may_have_any_strides(ctx: &Context) -> Result<()> {
    let host = ::ndarray::ArrayD::from_shape_fn(vec![6, 8, 12], |at| int(at[0] * 96 + at[1] * 12 + at[2]));
    let x = ctx.to_device(&host)?;
    let views = [
        x.clone(),
        x.t(),
        x.slice(s![.., ..;-1, ..])?,
        x.slice(s![1..;2, .., ..;3])?,
        x.slice(s![.., 1..2, ..])?.broadcast_to([6, 8, 12])?,
        x.slice(s![.., .., ..1])?.broadcast_to([6, 8, 12])?,
        x.slice(s![2, .., 1..])?,
        x.slice(s![3, 4, ..])?,
    ];
    for view in &views {
        let own = view.copy_to_host()?;
        let row = view.slice(s![.., 0..1]).or_else(|_| view.slice(s![0..1]))?;
        let row_host = row.copy_to_host()?;
        let expected = &own * 3 - &row_host;
        let expr = view * 3 - &row;
        assert_eq!(expr.eval()?.copy_to_host()?, expected, "{view:?}");
        // The target is strided and has the shape of the expression. Elements are numbers, then bytes.
        let wide: Vec<usize> = view.shape().iter().map(|len| len * 2).collect();
        let every_other: Vec<Index> = view.shape().iter().map(|_| Index::stepped(.., -2)).collect();
        let target = ctx.zeros::<i32>(wide.as_slice())?;
        let part = target.slice(&every_other)?;
        expr.assign_to(&part)?;
        assert_eq!(part.copy_to_host()?, expected, "{view:?}");
        let sum: i64 = target.copy_to_host()?.iter().map(|&x| i64::from(x)).sum();
        assert_eq!(sum, expected.iter().map(|&x| i64::from(x)).sum::<i64>(), "only the view is written");
        let flags = ctx.zeros::<u8>(wide.as_slice())?;
        let part = flags.slice(&every_other)?;
        expr.cast::<u8>().assign_to(&part)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "integers wrap around")]
        let bytes = expected.mapv(|x| x as u8);
        assert_eq!(part.copy_to_host()?, bytes, "{view:?}");
    }
    Ok(())
}

/// Numbers below 50, which every type has, with duplicates.
fn small(n: usize) -> Vec<u8> {
    (0..n).map(|i| u8::try_from(i * 37 % 50).expect("below 50")).collect()
}

/// Sums, comparisons, sorts and elements by index of one type, with results that the type represents exactly.
fn computes<T: Numeric + Number + Widen + PartialEq + std::fmt::Debug>(
    ctx: &Context,
    of: impl Fn(u8) -> T,
) -> Result<()> {
    for n in [1, 63, 257, 1021] {
        let host = small(n);
        let typed = |values: &[u8]| values.iter().map(|&value| of(value)).collect::<Vec<T>>();
        let x = ctx.slice_to_device(&typed(&host))?;
        let doubled: Vec<u8> = host.iter().map(|value| 2 * value).collect();
        assert_eq!((&x + &x).eval()?.to_vec()?, typed(&doubled), "{:?}: {n} sums", T::DTYPE);
        let floats: Vec<f32> = host.iter().map(|&value| f32::from(value)).collect();
        assert_eq!(x.astype::<f32>()?.to_vec()?, floats, "{:?}: {n} conversions", T::DTYPE);
        let back = ctx.slice_to_device(&floats)?.astype::<T>()?.to_vec()?;
        assert_eq!(back, typed(&host), "{:?}: {n} conversions from f32", T::DTYPE);
        let flags: Vec<bool> = host.iter().map(|&value| value < 20).collect();
        assert_eq!(bools(&x.less(of(20)).eval()?.to_vec()?), flags, "{:?}: {n} comparisons", T::DTYPE);
        let mut sorted = host.clone();
        sorted.sort_unstable();
        assert_eq!(x.sort(0)?.to_vec()?, typed(&sorted), "{:?}: {n} sorted", T::DTYPE);
        let places: Vec<u32> = (0..n).rev().map(number).collect();
        let reversed: Vec<u8> = host.iter().rev().copied().collect();
        let taken = x.take(&ctx.slice_to_device(&places)?, 0)?;
        assert_eq!(taken.to_vec()?, typed(&reversed), "{:?}: {n} taken", T::DTYPE);
    }
    Ok(())
}

pub(crate) fn numbers_of_up_to_32_bits_compute(ctx: &Context) -> Result<()> {
    computes(ctx, |value| value)?;
    computes(ctx, u8::cast_signed)?;
    computes(ctx, u16::from)?;
    computes(ctx, i16::from)?;
    computes(ctx, u32::from)?;
    computes(ctx, i32::from)?;
    computes(ctx, f16::from)?;
    computes(ctx, f32::from)
}

pub(crate) fn integers_of_64_bits_compute(ctx: &Context) -> Result<()> {
    computes(ctx, u64::from)?;
    computes(ctx, i64::from)?;
    let numbers = (0..64).flat_map(|i| {
        let (power, mixed) = (1_u64 << i, (0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i + 1)) >> (i * 7 % 64));
        [power - 1, power, power.wrapping_neg(), mixed]
    });
    let numbers: Vec<u64> = numbers.collect();
    let divided = |a: u64, b: u64| [a.checked_div(b), a.checked_rem(b)].map(Option::unwrap_or_default);
    divides(ctx, &numbers, divided)?;
    let numbers: Vec<i64> = numbers.into_iter().map(u64::cast_signed).collect();
    let divided = |a: i64, b: i64| {
        let (q, r) = if b == 0 { (0, 0) } else { (a.wrapping_div(b), a.wrapping_rem(b)) };
        let is_above = r != 0 && (r < 0) != (b < 0);
        [q - i64::from(is_above), if is_above { r + b } else { r }]
    };
    divides(ctx, &numbers, divided)
}

/// Quotients, rounded down, and remainders of all pairs, also where an operand is chosen by a condition: NVIDIA's
/// compiler (580) fails for `/` and `%` of such operands, or computes other numbers.
fn divides<T: Numeric + Number + PartialOrd + std::fmt::Debug>(
    ctx: &Context,
    numbers: &[T],
    divided: impl Fn(T, T) -> [T; 2],
) -> Result<()> {
    let n = numbers.len();
    let x = ctx.slice_to_device(numbers)?;
    let (a, b) = (x.reshape([n, 1])?, x.reshape([1, n])?);
    let chosen = a.less(&b).select::<T>(T::zeroed(), &b);
    let sign = b.sign();
    for (name, divisor) in [("all", b.expr()), ("chosen", chosen), ("signs", sign)] {
        let divisors = divisor.eval()?.broadcast_to([n, n])?.to_vec()?;
        let pairs = numbers.iter().flat_map(|&a| std::iter::repeat_n(a, n)).zip(divisors);
        let expected: Vec<[T; 2]> = pairs.map(|(a, b)| divided(a, b)).collect();
        let of = |i: usize| expected.iter().map(|results| results[i]).collect::<Vec<_>>();
        assert_eq!(a.floor_divide(divisor.clone()).eval()?.to_vec()?, of(0), "{:?}: quotients, {name}", T::DTYPE);
        assert_eq!(a.remainder(divisor).eval()?.to_vec()?, of(1), "{:?}: remainders, {name}", T::DTYPE);
    }
    Ok(())
}

/// Mesa 22.3 compares an `i32` that was converted to `i64` with constants as if it had the other sign.
pub(crate) fn short_integers_compute_in_64_bits(ctx: &Context) -> Result<()> {
    let host = [i32::MIN, -70_000, -129, -128, -7, -1, 0, 1, 7, 127, 128, 70_000, i32::MAX];
    let x = ctx.slice_to_device(&host)?;
    of_wide(&x.cast::<i8>(), &host.map(|v| i64::from(v.to_le_bytes()[0].cast_signed())))?;
    of_wide(&x.cast::<i16>(), &host.map(|v| i64::from(v.wrapping_shl(16) >> 16)))?;
    of_wide(&x.expr(), &host.map(i64::from))?;
    of_wide(&x.cast::<u32>(), &host.map(|v| i64::from(v.cast_unsigned())))
}

fn of_wide<T: Number>(x: &Expr<T>, host: &[i64]) -> Result<()> {
    let wide = x.eval()?.cast::<i64>();
    let each = |of: &dyn Fn(i64) -> i64| host.iter().map(|&v| of(v)).collect::<Vec<i64>>();
    let name = T::DTYPE;
    assert_eq!(wide.abs().eval()?.to_vec()?, each(&i64::abs), "{name:?}: sizes");
    assert_eq!(wide.sign().eval()?.to_vec()?, each(&i64::signum), "{name:?}: signs");
    assert_eq!(wide.floor_divide(3).eval()?.to_vec()?, each(&|v| v.div_euclid(3)), "{name:?}: quotients");
    assert_eq!(wide.remainder(3).eval()?.to_vec()?, each(&|v| v.rem_euclid(3)), "{name:?}: remainders");
    assert_eq!(wide.maximum(0).eval()?.to_vec()?, each(&|v| v.max(0)), "{name:?}: maxima");
    let less = bools(&wide.less(0).eval()?.to_vec()?);
    assert_eq!(less, host.iter().map(|&v| v < 0).collect::<Vec<_>>(), "{name:?}: comparisons");
    let sizes: i64 = host.iter().map(|v| v.abs()).sum();
    assert_eq!(wide.abs().sum(..)?.item()?, sizes, "{name:?}: the sum of sizes");
    Ok(())
}

/// Mesa 22.3 gets the second of two equal computations wrong for some functions and types.
pub(crate) fn repeated_elements_compute_like_their_copies(ctx: &Context) -> Result<()> {
    let x = ctx.slice_to_device(&[0.3_f32, 0.75, 1.25, 2.5].map(half::bf16::from_f32))?;
    let repeated = x.reshape([4, 1])?.broadcast_to([4, 8])?;
    let copies = repeated.to_contiguous(Order::C)?;
    for name in
        ["exp", "log1p", "log10", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arccosh", "pow", "hypot"]
    {
        let [own, same] = [&repeated, &copies].map(|x| function(name, x, x).expect("a listed function").eval());
        let bits = |values: DeviceNDArray<half::bf16>| -> Result<Vec<u16>> { values.view()?.to_vec() };
        assert_eq!(bits(own?)?, bits(same?)?, "{name}");
    }
    Ok(())
}

pub(crate) fn doubles_compute(ctx: &Context) -> Result<()> {
    computes(ctx, f64::from)
}
