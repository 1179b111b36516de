//! Elementary functions of `f32`, compared with those of the host in `f64`: the largest error in units in the last place,
//! and the special values.

use vkarray::prelude::*;

use crate::{Result, contents};

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

/// How far `got` is from `exact`, in units in the last place of the nearest `f32`.
fn ulps(got: f32, exact: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "the nearest float is meant")]
    let nearest = exact as f32;
    // A device may give zero for a subnormal number.
    let is_flushed = got == 0.0 && exact.abs() < f64::from(f32::MIN_POSITIVE);
    if got == nearest || is_flushed || (got.is_nan() && nearest.is_nan()) {
        return 0.0;
    }
    if nearest.is_infinite() || nearest.is_nan() || got.is_nan() {
        // The largest number where infinity is nearest, or the reverse, is one step away.
        return if got.abs() == f32::MAX || (got.is_infinite() && nearest.abs() == f32::MAX) {
            1.0
        } else {
            f64::INFINITY
        };
    }
    let ulp = f64::from(f32::from_bits(nearest.abs().max(f32::MIN_POSITIVE).to_bits() + 1))
        - f64::from(nearest.abs().max(f32::MIN_POSITIVE));
    (f64::from(got) - exact).abs() / ulp
}

type One = (&'static str, fn(&DeviceNDArray<f32>) -> Expr<f32>, fn(f64) -> f64, f64);

/// Each function, the host's, and the largest error allowed. A result below the normal numbers may be zero, so errors there
/// count as parts of the smallest normal number's last place.
const ONE: &[One] = &[
    ("sqrt", |x| x.sqrt(), f64::sqrt, 3.0),
    ("reciprocal", |x| x.reciprocal(), |x| 1.0 / x, 2.5),
    ("exp", |x| x.exp(), f64::exp, 2.0),
    ("expm1", |x| x.expm1(), f64::exp_m1, 2.5),
    ("log", |x| x.log(), f64::ln, 2.0),
    ("log1p", |x| x.log1p(), f64::ln_1p, 2.5),
    ("log2", |x| x.log2(), f64::log2, 2.5),
    ("log10", |x| x.log10(), f64::log10, 2.5),
    ("sin", |x| x.sin(), f64::sin, 3.0),
    ("cos", |x| x.cos(), f64::cos, 3.0),
    ("tan", |x| x.tan(), f64::tan, 7.0),
    ("asin", |x| x.asin(), f64::asin, 4.0),
    ("acos", |x| x.acos(), f64::acos, 4.0),
    ("atan", |x| x.atan(), f64::atan, 4.0),
    ("sinh", |x| x.sinh(), f64::sinh, 6.0),
    ("cosh", |x| x.cosh(), f64::cosh, 6.0),
    ("tanh", |x| x.tanh(), f64::tanh, 6.0),
    ("asinh", |x| x.asinh(), f64::asinh, 6.0),
    ("acosh", |x| x.acosh(), f64::acosh, 6.0),
    ("atanh", |x| x.atanh(), f64::atanh, 6.0),
];

pub(crate) fn functions_are_as_exact_as_the_guide_says(ctx: &Context) -> Result<()> {
    let values = arguments();
    let x = ctx.slice_to_device(&values)?;
    let mut misses = Vec::new();
    for &(name, function, exact, limit) in ONE {
        let got = contents(&function(&x).eval()?)?;
        let tiny = |value: f64| value.abs() < f64::from(f32::MIN_POSITIVE);
        let errors = values.iter().zip(&got).filter(|&(&x, _)| !tiny(f64::from(x)));
        let worst =
            errors.map(|(&x, &got)| (ulps(got, exact(f64::from(x))), x, got)).max_by(|a, b| a.0.total_cmp(&b.0));
        let (error, x, got) = worst.expect("there are arguments");
        if error > limit {
            misses
                .push(format!("{name}({x:e}) = {got:e}, not {:e}: {error} ulp, at most {limit}", exact(f64::from(x))));
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
    Ok(())
}
