//! Replays random expressions and reductions and compares their results with those that NumPy gave, bit for bit.
//!
//! `numpy_expressions.py` recorded 2,000 of them and describes the format. `VKARRAY_TEST_PROGRAMS` sets how many run; for
//! more than were recorded, the script makes others, which needs python3 with NumPy.

use std::io::Read;
use std::process::Command;

use flate2::Crc;
use flate2::read::GzDecoder;
use vkarray::array::{Bool, Integral, IntoExpr, Number};
use vkarray::half::f16;
use vkarray::prelude::*;
use vkarray::primitives::Reducible;

use crate::fixture::{Fixture, contents};

/// Programs that run unless `VKARRAY_TEST_PROGRAMS` is set.
const N_PROGRAMS: usize = 300;
const RECORDED: usize = 2000;

/// An element type of the programs.
trait Value: Number + Reducible<Sum: Bits> + Bits {
    /// From a small number in halves, or from a special value.
    fn made(raw: i64, special: Option<f32>) -> Self;
    fn unary(name: &str, a: &Expr<Self>) -> Expr<Self>;
    fn binary(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Expr<Self>;
}

/// A type of results, with the bytes of which the check sum is made.
trait Bits: Element {
    fn canonical(self) -> Vec<u8>;
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Bits for $ty {
            fn canonical(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}

macro_rules! integer_values {
    ($($ty:ident)*) => {$(
        impl Value for $ty {
            fn made(raw: i64, _: Option<f32>) -> Self {
                (if $ty::MIN == 0 { raw + 30 } else { raw }).try_into().unwrap()
            }

            fn unary(name: &str, a: &Expr<Self>) -> Expr<Self> {
                if name == "bitwise_invert" { !a } else { any_unary(name, a) }
            }

            fn binary(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Expr<Self> {
                of_integers(name, a, b).unwrap_or_else(|| any_binary(name, a, b))
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ident $of:expr;)*) => {$(
        impl Bits for $ty {
            fn canonical(self) -> Vec<u8> {
                let value = if self.is_nan() { $ty::NAN } else { self + $of(0.0) };
                value.to_le_bytes().to_vec()
            }
        }

        impl Value for $ty {
            fn made(raw: i64, special: Option<f32>) -> Self {
                $of(special.unwrap_or(raw as f32 / 2.0))
            }

            fn unary(name: &str, a: &Expr<Self>) -> Expr<Self> {
                any_unary(name, a)
            }

            fn binary(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Expr<Self> {
                any_binary(name, a, b)
            }
        }
    )*};
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 }
integer_values! { i8 u8 i16 u16 i32 u32 }
floats! { f16 f16::from_f32; f32 |value: f32| value; }

impl Bits for Bool {
    fn canonical(self) -> Vec<u8> {
        vec![u8::from(bool::from(self))]
    }
}

fn any_unary<T: Number + vkarray::array::Numeric<Real = T>>(name: &str, a: &Expr<T>) -> Expr<T> {
    match name {
        "negative" => -a,
        "abs" => a.abs(),
        "square" => a.square(),
        "sign" => a.sign(),
        "floor" => a.floor(),
        "ceil" => a.ceil(),
        "trunc" => a.trunc(),
        "round" => a.round(),
        other => panic!("{other}"),
    }
}

fn any_binary<T: Value + vkarray::array::Numeric>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Expr<T> {
    match name {
        "add" => a + b,
        "subtract" => a - b,
        "multiply" => a * b,
        "minimum" => a.minimum(b),
        "maximum" => a.maximum(b),
        "larger" => a.less(b).select::<T>(b, a),
        "equal_or_zero" => a.equal(b).select::<T>(a, T::zeroed()),
        other => panic!("{other}"),
    }
}

fn of_integers<T: Integral>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Option<Expr<T>> {
    Some(match name {
        "floor_divide" => a.floor_divide(b),
        "remainder" => a % b,
        "bitwise_and" => a & b,
        "bitwise_or" => a | b,
        "bitwise_xor" => a ^ b,
        "bitwise_left_shift" => a << b,
        "bitwise_right_shift" => a >> b,
        _ => return None,
    })
}

/// A recorded program.
struct Program<'a> {
    dtype: &'a str,
    is_special: bool,
    shape: Vec<usize>,
    views: Vec<&'a str>,
    steps: Vec<&'a str>,
    result: &'a str,
}

impl Program<'_> {
    fn parse(line: &str) -> Program<'_> {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[dtype, shape, views, steps, result] = fields.as_slice() else { panic!("{line}") };
        Program {
            dtype: dtype.trim_end_matches('*'),
            is_special: dtype.ends_with('*'),
            shape: numbers(shape),
            views: views.split(',').collect(),
            steps: steps.split(' ').collect(),
            result,
        }
    }

    fn values<T: Value>(&self, count: usize, seed: usize) -> Vec<T> {
        let one = |i: usize| {
            let raw = (i * 7919 + seed * 104_729) % 61;
            let at = (i * 31 + seed) % 41;
            let special = [f32::NAN, f32::INFINITY, -f32::INFINITY, -0.0].get(at).copied();
            T::made(i64::try_from(raw).unwrap() - 30, special.filter(|_| self.is_special))
        };
        (0..count).map(one).collect()
    }

    /// The array of a seed, as `array` of the script makes it.
    fn array<T: Value>(&self, ctx: &Context, seed: usize) -> DeviceNDArray<T> {
        let (mut shape, view) = (self.shape.clone(), self.views[seed]);
        let last = shape.len().saturating_sub(1);
        match view {
            "one" => shape.clear(),
            "row" => shape[..last].fill(1),
            "column" => shape[last] = 1,
            "step" => shape[last] *= 2,
            _ => {}
        }
        let values = self.values::<T>(shape.iter().product(), seed);
        if view == "f" {
            let reversed: Vec<usize> = shape.iter().rev().copied().collect();
            return ctx.shaped_to_device(&values, reversed.as_slice()).unwrap().t();
        }
        let array = ctx.shaped_to_device(&values, shape.as_slice()).unwrap();
        match view {
            "step" => array.slice_axis(-1, Index::stepped(.., 2)).unwrap(),
            "flip" => array.flip(None).unwrap(),
            _ => array,
        }
    }

    fn run<T: Value + vkarray::array::Numeric>(&self, ctx: &Context) -> String {
        let arrays = [0, 1, 2].map(|seed| self.array::<T>(ctx, seed));
        let mut stack: Vec<Expr<T>> = Vec::new();
        for step in &self.steps {
            if let Ok(at) = step.parse::<usize>() {
                stack.push((&arrays[at]).into_expr());
            } else if step.contains(':') {
                return reduced(step, &stack.pop().unwrap());
            } else if ["negative", "abs", "square", "sign", "floor", "ceil", "trunc", "round", "bitwise_invert"]
                .contains(step)
            {
                let a = stack.pop().unwrap();
                stack.push(T::unary(step, &a));
            } else {
                let (b, a) = (stack.pop().unwrap(), stack.pop().unwrap());
                match compared(step, &a, &b) {
                    Some(flags) => return text(&flags.eval().unwrap()),
                    None => stack.push(T::binary(step, &a, &b)),
                }
            }
        }
        text(&stack.pop().unwrap().eval().unwrap())
    }
}

fn compared<T: Number>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Option<Expr<Bool>> {
    Some(match name {
        "equal" => a.equal(b),
        "not_equal" => a.not_equal(b),
        "less" => a.less(b),
        "less_equal" => a.less_equal(b),
        "greater" => a.greater(b),
        "greater_equal" => a.greater_equal(b),
        _ => return None,
    })
}

fn reduced<T: Value>(step: &str, x: &Expr<T>) -> String {
    let fields: Vec<&str> = step.split(':').collect();
    let axes: Vec<isize> = numbers(fields[1]).into_iter().map(|axis: usize| axis.cast_signed()).collect();
    let axes = axes.as_slice();
    let axes = if fields[2] == "1" { keepdims(axes) } else { vkarray::primitives::IntoAxes::into_axes(axes) };
    match fields[0] {
        "sum" => text(&x.sum(axes).unwrap()),
        "prod" => text(&x.prod(axes).unwrap()),
        "min" => text(&x.min(axes).unwrap()),
        "max" => text(&x.max(axes).unwrap()),
        "argmin" => text(&x.argmin(axes).unwrap()),
        "argmax" => text(&x.argmax(axes).unwrap()),
        "any" => text(&x.any(axes).unwrap()),
        "all" => text(&x.all(axes).unwrap()),
        "count_nonzero" => text(&x.count_nonzero(axes).unwrap()),
        other => panic!("{other}"),
    }
}

fn numbers(text: &str) -> Vec<usize> {
    text.split(',').filter(|text| !text.is_empty()).map(|text| text.parse().unwrap()).collect()
}

/// A result as the script writes it.
fn text<T: Bits>(result: &DeviceNDArray<T>) -> String {
    let mut crc = Crc::new();
    contents(result).into_iter().for_each(|value| crc.update(&value.canonical()));
    let shape: Vec<_> = result.shape().iter().map(ToString::to_string).collect();
    format!("{};{};{}", result.dtype(), shape.join(","), crc.sum())
}

#[test]
fn expressions_and_reductions_give_numpys_results() {
    let n = std::env::var("VKARRAY_TEST_PROGRAMS").map_or(N_PROGRAMS, |text| text.parse().expect("a number"));
    let mut programs = String::new();
    if n <= RECORDED {
        GzDecoder::new(include_bytes!("numpy_expressions.txt.gz").as_slice()).read_to_string(&mut programs).unwrap();
    } else {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/primitives/numpy_expressions.py");
        let made = Command::new("python3").args([script, "7", &n.to_string()]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        programs = String::from_utf8(made.stdout).unwrap();
    }
    let ctx = Fixture::open();
    let lines: Vec<&str> = programs.lines().collect();
    assert!(lines.len() >= n.max(RECORDED));
    for line in &lines[..n] {
        let program = Program::parse(line);
        let got = match program.dtype {
            "i8" => program.run::<i8>(&ctx),
            "u8" => program.run::<u8>(&ctx),
            "i16" => program.run::<i16>(&ctx),
            "u16" => program.run::<u16>(&ctx),
            "i32" => program.run::<i32>(&ctx),
            "u32" => program.run::<u32>(&ctx),
            "f16" => program.run::<f16>(&ctx),
            "f32" => program.run::<f32>(&ctx),
            other => panic!("{other}"),
        };
        assert_eq!(got, program.result, "{line}");
    }
}
