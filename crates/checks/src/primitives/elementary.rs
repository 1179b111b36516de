//! Elementary functions of `f32` and `f16`, compared with the host's functions in `f64`: the largest error in units in
//! the last place, and the special values. The functions of `f64` are checked by the project's own tests, with results
//! recorded from mpmath.

use num_traits::{Float, FromPrimitive};
use vkarray::array::{Floating, Number, Numeric};
use vkarray::half::{bf16, f16};
use vkarray::prelude::*;
use vkarray::primitives::Reducible;

use crate::Result;

/// Values over all exponents and near the places where the functions change their form.
fn arguments() -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut values: Vec<f32> = (0..20_000).map(|_| f32::from_bits(random.u32(..))).filter(|x| x.is_finite()).collect();
    values.extend((0..20_000).map(|_| (random.f32() - 0.5) * 4.0));
    values.extend((0..20_000).map(|_| (random.f32() - 0.5) * 200.0));
    values.extend((0..2_000).map(|i| i as f32 * std::f32::consts::FRAC_PI_4));
    values.extend((0..2_000).map(|i| 1.0 + (i as f32 - 1000.0) * f32::EPSILON));
    values
}

/// A type whose results are compared with results in `f64`.
trait Short: Number + Floating + Numeric<Real = Self> + Reducible + Float + FromPrimitive {
    fn nearest(exact: f64) -> Self {
        Self::from_f64(exact).expect("a number of `f64` has a nearest one in every type of floats")
    }

    fn wide(self) -> f64 {
        self.to_f64().expect("`f64` has the numbers of shorter types")
    }
}

impl Short for f32 {}
impl Short for bf16 {}
impl Short for f16 {}

/// How far `got` is from `exact`, in units in the last place of the nearest number.
fn ulps<T: Short>(got: T, exact: f64) -> f64 {
    let (got, nearest) = (got.wide(), T::nearest(exact).wide());
    let (least, largest) = (T::min_positive_value().wide(), T::max_value().wide());
    // A device may give zero for a subnormal number.
    let is_flushed = got == 0.0 && exact.abs() < least;
    if is_flushed || (got.is_nan() && nearest.is_nan()) || (got == nearest && !got.is_finite()) {
        return 0.0;
    }
    if nearest.is_infinite() || nearest.is_nan() || !got.is_finite() {
        // If the nearest number is infinite and the result is the largest number, or the reverse, the distance is one.
        let is_near = got.abs() == largest || (got.is_infinite() && nearest.abs() == largest);
        return if is_near { 1.0 } else { f64::INFINITY };
    }
    let power = f64::from_bits(nearest.abs().max(least).to_bits() & 0x7ff0_0000_0000_0000);
    (got - exact).abs() / (power * T::epsilon().wide())
}

/// A function of one or of two values, by its name in NumPy.
#[must_use]
pub fn function<T>(name: &str, x: &DeviceNDArray<T>, y: &DeviceNDArray<T>) -> Option<Expr<T>>
where
    T: Number + Floating + Numeric<Real = T>,
{
    Some(match name {
        "sqrt" => x.sqrt(),
        "reciprocal" => x.reciprocal(),
        "exp" => x.exp(),
        "expm1" => x.expm1(),
        "log" => x.log(),
        "log1p" => x.log1p(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "arcsin" => x.asin(),
        "arccos" => x.acos(),
        "arctan" => x.atan(),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "arcsinh" => x.asinh(),
        "arccosh" => x.acosh(),
        "arctanh" => x.atanh(),
        "divide" => x / y,
        "pow" => x.pow(y),
        "arctan2" => x.atan2(y),
        "hypot" => x.hypot(y),
        "logaddexp" => x.logaddexp(y),
        // Sums whose terms cancel are left out.
        "logaddexp of sizes" => x.abs().logaddexp(y.abs()),
        "floor_divide" => x.floor_divide(y),
        "remainder" => x.remainder(y),
        "copysign" => x.copysign(y),
        "nextafter" => x.nextafter(y),
        _ => return None,
    })
}

type One = (&'static str, fn(f64) -> f64, f64);

/// Each function of one value, the host's function, and the largest error allowed. A result below the normal numbers
/// may be zero, so errors there count in units of the smallest normal number's last place.
const ONE: &[One] = &[
    ("sqrt", f64::sqrt, 3.0),
    ("reciprocal", |x| 1.0 / x, 2.5),
    ("exp", f64::exp, 2.5),
    ("expm1", f64::exp_m1, 2.5),
    ("log", f64::ln, 2.5),
    ("log1p", f64::ln_1p, 2.5),
    ("log2", f64::log2, 2.5),
    ("log10", f64::log10, 2.5),
    ("sin", f64::sin, 3.0),
    ("cos", f64::cos, 3.0),
    ("tan", f64::tan, 7.0),
    ("arcsin", f64::asin, 4.0),
    ("arccos", f64::acos, 4.0),
    ("arctan", f64::atan, 4.0),
    ("sinh", f64::sinh, 6.0),
    ("cosh", f64::cosh, 6.0),
    ("tanh", f64::tanh, 6.0),
    ("arcsinh", f64::asinh, 6.0),
    ("arccosh", f64::acosh, 6.0),
    ("arctanh", f64::atanh, 6.0),
];

type Two = (&'static str, fn(f64, f64) -> f64, f64);

/// Each function of two values, the host's function, and the largest error allowed.
const TWO: &[Two] = &[
    ("divide", |x, y| x / y, 2.5),
    ("pow", f64::powf, 2.5),
    ("arctan2", f64::atan2, 6.0),
    ("hypot", f64::hypot, 6.0),
    ("logaddexp of sizes", |x, y| x.abs().max(y.abs()) + (-(x.abs() - y.abs()).abs()).exp().ln_1p(), 4.0),
];

/// The largest error of a function, and the arguments, the result and the exact result that have it.
struct Worst {
    name: &'static str,
    error: f64,
    limit: f64,
    values: [f64; 4],
}

/// The largest errors of all functions for these arguments. The second arguments are arguments of the same and of other
/// sizes.
fn measured<T: Short>(ctx: &Context, values: &[T]) -> Result<Vec<Worst>> {
    let seconds: Vec<T> = (0..values.len()).map(|i| values[i * 7919 % values.len()]).collect();
    let (x, y) = (ctx.slice_to_device(values)?, ctx.slice_to_device(&seconds)?);
    let is_tiny = |value: T| value.wide() != 0.0 && value.wide().abs() < T::min_positive_value().wide();
    let worst = |name: &'static str, limit: f64, exact: &dyn Fn(f64, f64) -> f64| {
        let got = function(name, &x, &y).expect("a listed function").eval()?.to_vec()?;
        let plain = (0..values.len()).filter(|&i| !is_tiny(values[i]) && !is_tiny(seconds[i]));
        let errors = plain.map(|i| {
            let exact = exact(values[i].wide(), seconds[i].wide());
            (ulps(got[i], exact), [values[i].wide(), seconds[i].wide(), got[i].wide(), exact])
        });
        let (error, values) = errors.max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are arguments");
        Ok(Worst { name, error, limit, values })
    };
    let of_one = ONE.iter().map(|&(name, exact, limit)| worst(name, limit, &|x, _| exact(x)));
    of_one.chain(TWO.iter().map(|&(name, exact, limit)| worst(name, limit, &exact))).collect()
}

/// Fails if an error is above the limit of its function, or above a limit for all.
fn check(all: &[Worst], limit: Option<f64>) {
    let above = all.iter().filter(|worst| worst.error > limit.unwrap_or(worst.limit));
    let texts: Vec<_> = above
        .map(|Worst { name, error, values: [x, y, got, exact], .. }| {
            format!("{name} of {x:e}, {y:e}: {got:e}, not {exact:e}: {error} ulp")
        })
        .collect();
    assert!(texts.is_empty(), "{}", texts.join("\n"));
}

fn halves() -> Vec<f16> {
    (0..=u16::MAX).map(f16::from_bits).collect()
}

pub(crate) fn functions_are_as_exact_as_the_guide_says(ctx: &Context) -> Result<()> {
    check(&measured(ctx, &arguments())?, None);
    Ok(())
}

pub(crate) fn functions_of_halves_are_rounded_once_more(ctx: &Context) -> Result<()> {
    check(&measured(ctx, &halves())?, Some(0.6));
    // Kernels read every number exactly, also subnormal numbers.
    let read = ctx.slice_to_device(&halves())?.cast::<f32>().eval()?.to_vec()?;
    for (half, got) in halves().into_iter().zip(read) {
        assert!(half.to_f32().to_bits() == got.to_bits() || (half.is_nan() && got.is_nan()), "{half:?}: {got}");
    }
    Ok(())
}

/// Devices may take subnormal numbers for zero in arithmetic, but these functions do no arithmetic.
pub(crate) fn subnormal_numbers_that_are_selected_keep_their_bits(ctx: &Context) -> Result<()> {
    let words = [1_u32, 0x7f_ffff, 0x1_0000, 0x55_0000, 0x80_0000, 0x3f80_0000, 0x8000_0001, 0x80ff_0000];
    selected(ctx, &words.map(f32::from_bits))?;
    selected(ctx, &[1_u16, 0x7f, 0x10, 0x55, 0x80, 0x3f80, 0x8001, 0x80ff].map(bf16::from_bits))
}

fn selected<T: Short>(ctx: &Context, host: &[T]) -> Result<()> {
    let n = host.len();
    let x = ctx.slice_to_device(host)?;
    let (a, b) = (x.reshape([n, 1])?, x.reshape([1, n])?);
    let of_one = |of: &dyn Fn(f64) -> f64| host.iter().map(|x| of(x.wide())).collect::<Vec<f64>>();
    let of_two = |of: fn(f64, f64) -> f64| -> Vec<f64> {
        host.iter().flat_map(|a| host.iter().map(move |b| of(a.wide(), b.wide()))).collect()
    };
    let is = |name: &str, found: Vec<T>, expected: Vec<f64>| {
        let found: Vec<f64> = found.into_iter().map(T::wide).collect();
        assert_eq!(found, expected, "{name}");
    };
    is("minimum", a.minimum(&b).eval()?.to_vec()?, of_two(f64::min));
    is("maximum", a.maximum(&b).eval()?.to_vec()?, of_two(f64::max));
    is("copysign", a.copysign(&b).eval()?.to_vec()?, of_two(f64::copysign));
    is("abs", x.abs().eval()?.to_vec()?, of_one(&f64::abs));
    is("negative", (-&x).eval()?.to_vec()?, of_one(&|x| -x));
    is("min", a.max(1)?.min(keepdims(0))?.to_vec()?, vec![host.iter().map(|x| x.wide()).fold(f64::INFINITY, f64::min)]);
    is(
        "max",
        (-&x).max(keepdims(0))?.to_vec()?,
        vec![host.iter().map(|x| -x.wide()).fold(f64::NEG_INFINITY, f64::max)],
    );
    Ok(())
}

pub(crate) fn powers_of_subnormal_numbers_are_exact_too(ctx: &Context) -> Result<()> {
    let bases: Vec<f32> = (0..23).map(|shift| f32::from_bits(0x5a_5a5a_u32 >> shift)).collect();
    for exponent in [0.5_f32, 0.25, -0.5, -0.75, 0.9] {
        let found = ctx.slice_to_device(&bases)?.pow(exponent).eval()?.to_vec()?;
        for (base, found) in bases.iter().zip(found) {
            let exact = f64::from(*base).powf(f64::from(exponent));
            assert!(ulps(found, exact) <= 2.5, "{base:e} to the power of {exponent}: {found:e}, not {exact:e}");
        }
    }
    Ok(())
}

pub(crate) fn large_quotients_are_rounded_down_as_by_numpy(ctx: &Context) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(11);
    let mut sized = |size: i32| {
        let sign = if random.bool() { 1.0 } else { -1.0 };
        sign * (1.0 + random.f32()) * 2_f32.powi(size)
    };
    let mut pairs: Vec<[f32; 2]> = (0..60_000).map(|i| [sized(i % 60), sized(i % 7)]).collect();
    pairs.extend([[2_147_483_648.0, 21.367_157], [f32::MAX, 1.5], [1e30, 3e37], [3e38, 2e38]]);
    let [x, y] = [0, 1].map(|at| pairs.iter().map(|pair| pair[at]).collect::<Vec<f32>>());
    let found = ctx.slice_to_device(&x)?.floor_divide(&ctx.slice_to_device(&y)?).eval()?.to_vec()?;
    for ([x, y], found) in pairs.into_iter().zip(found) {
        let rest = x % y;
        let quotient = (x - rest) / y - if rest != 0.0 && (rest < 0.0) != (y < 0.0) { 1.0 } else { 0.0 };
        let whole = quotient.floor() + if quotient - quotient.floor() > 0.5 { 1.0 } else { 0.0 };
        assert_eq!(found, whole, "{x:e} by {y:e}");
    }
    Ok(())
}

/// The largest error of each function of `f32` and `f16`, in units in the last place. The error for `f16` is over all
/// numbers.
///
/// # Errors
///
/// The errors of the library.
pub fn largest_errors(ctx: &Context) -> Result<Vec<(&'static str, [f64; 2])>> {
    let both = measured(ctx, &arguments())?.into_iter().zip(measured(ctx, &halves())?);
    Ok(both.map(|(single, half)| (single.name, [single.error, half.error])).collect())
}
