//! Elementary functions of `f64`, compared with results of mpmath and NumPy that `numpy_elementary.py` recorded. Checks
//! test the errors of the functions of shorter floats.
//!
//! `--nocapture` shows the figures of the table in `docs/conformance/array-api.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::process::Command;

use flate2::read::GzDecoder;
use vkarray::prelude::*;

use crate::fixture::{Fixture, contents};

#[test]
fn errors_of_functions_of_shorter_floats_are_shown() {
    let ctx = Fixture::open();
    for (name, [single, half]) in vkarray_checks::largest_errors(&ctx).unwrap() {
        eprintln!("{name}: f32 {single:.2} ulp, f16 {half:.2} ulp");
        assert!(single.max(half) < 10.0);
    }
}

/// The number of representable numbers from one number to another; zeros of different signs are far from each other.
fn steps(a: f64, b: f64) -> u64 {
    if a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) {
        return 0;
    }
    let size = |x: f64| x.abs().to_bits().cast_signed();
    let order = |x: f64| if x.is_sign_negative() { -size(x) } else { size(x) };
    if a == b { u64::MAX } else { order(a).abs_diff(order(b)) }
}

/// The largest number of steps from the nearest number to the result of `f64`.
const MOST_STEPS: &[(&str, u64)] = &[
    ("tan", 4),
    ("arctanh", 4),
    ("arccosh", 4),
    ("arcsinh", 4),
    ("sinh", 4),
    ("cosh", 4),
    ("tanh", 4),
    ("copysign", 0),
    ("nextafter", 0),
    ("floor_divide", 0),
    ("remainder", 0),
];

/// New values of each function, for which python3 needs NumPy and mpmath.
fn made_by_script(count: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/primitives/numpy_elementary.py");
    let made = Command::new("python3").args([script, "7", count]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap()
}

#[test]
fn functions_of_doubles_are_as_exact_as_the_guide_says() {
    let ctx = Fixture::open();
    if !ctx.device().info().features.shader_float64 {
        let error = ctx.ones::<f64>(1).unwrap().exp().eval().unwrap_err().to_string();
        assert!(error.contains("f64"), "{error}");
        return;
    }
    let mut recorded = String::new();
    match std::env::var("VKARRAY_TEST_PROGRAMS") {
        Ok(count) if count.parse::<usize>().is_ok_and(|count| count > 300) => recorded = made_by_script(&count),
        _ => {
            let mut all = GzDecoder::new(include_bytes!("numpy_elementary.txt.gz").as_slice());
            all.read_to_string(&mut recorded).unwrap();
        }
    }
    let mut cases = BTreeMap::<&str, Vec<Vec<f64>>>::new();
    for line in recorded.lines() {
        let (name, numbers) = line.split_once(' ').unwrap();
        let number = |text| f64::from_bits(u64::from_str_radix(text, 16).unwrap());
        cases.entry(name).or_default().push(numbers.split(' ').map(number).collect());
    }
    let mut misses = String::new();
    for (name, cases) in cases {
        let column = |at: usize| cases.iter().map(|case| case[at]).collect::<Vec<f64>>();
        let x = ctx.slice_to_device(&column(0)).unwrap();
        let y = ctx.slice_to_device(&column(1)).unwrap();
        let found = contents(&vkarray_checks::function(name, &x, &y).unwrap().eval().unwrap());
        let most = MOST_STEPS.iter().find(|(own, _)| *own == name).map_or(2, |&(_, most)| most);
        let mut largest = 0;
        for (case, got) in cases.iter().zip(found) {
            let nearest = case[case.len() - 1];
            let steps = steps(got, nearest);
            largest = largest.max(steps);
            if steps > most {
                let _ = writeln!(misses, "{name} of {:e}: {got:e}, not {nearest:e}, {steps} steps", case[0]);
            }
        }
        eprintln!("f64 {name}: {largest} steps");
    }
    assert!(misses.is_empty(), "{misses}");
}

/// NVIDIA's compiler (580) makes a minimum that loses NaN from a selection with the condition `x == x`.
#[test]
fn minima_and_maxima_of_doubles_keep_nan() {
    let ctx = Fixture::open();
    let features = &ctx.device().info().features;
    if !(features.shader_float64 && features.shader_int64) {
        let error = ctx.ones::<f64>(1).unwrap().minimum(0.0).eval().unwrap_err().to_string();
        assert!(error.contains("64"), "{error}");
        return;
    }
    let numbers = [f64::NAN, -1.5, 0.0, f64::INFINITY, 2.5, f64::NEG_INFINITY, -0.5];
    let n = numbers.len();
    let x = ctx.slice_to_device(&numbers).unwrap();
    let (a, b) = (x.reshape([n, 1]).unwrap(), x.reshape([1, n]).unwrap());
    let cut = (&a + &a).trunc();
    let found = [cut.clone().minimum(&b), cut.maximum(&b)].map(|expr| contents(&expr.eval().unwrap()));
    for i in 0..n {
        for j in 0..n {
            let (a, b) = ((2.0 * numbers[i]).trunc(), numbers[j]);
            let is_nan = a.is_nan() || b.is_nan();
            let expected = [a.min(b), a.max(b)].map(|one| if is_nan { f64::NAN } else { one });
            let got = [0, 1].map(|which: usize| found[which][i * n + j]);
            let same = expected.iter().zip(got).all(|(&one, got)| one == got || one.is_nan() && got.is_nan());
            assert!(same, "{a} and {b} give {got:?}");
        }
    }
}
