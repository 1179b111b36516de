//! Replays random expressions and reductions and compares their results with NumPy's, bit for bit.
//!
//! `numpy_expressions.py` recorded 2,000 of them and describes the format. `VKARRAY_TEST_PROGRAMS` sets how many run.
//! For more than were recorded, the script makes new ones, which needs python3 with NumPy. The variable may also name a
//! file that the script wrote on another machine, of which all programs run.

mod values;

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use flate2::Crc;
use flate2::read::GzDecoder;
use vkarray::array::{Bool, IntoExpr, Number, Numeric};
use vkarray::half::f16;
use vkarray::prelude::*;
use vkarray::primitives::IntoAxes;

use self::values::{Bits, Value};
use crate::fixture::{Fixture, contents};

/// Programs that run unless `VKARRAY_TEST_PROGRAMS` is set.
const N_PROGRAMS: usize = 300;
const RECORDED: usize = 2000;

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
            T::made(i64::try_from(raw).unwrap() - 30, !i.is_multiple_of(3), special.filter(|_| self.is_special))
        };
        (0..count).map(one).collect()
    }

    /// The array of a seed, like `array` of the script.
    fn array<T: Value>(&self, ctx: &Context, seed: usize) -> DeviceNDArray<T> {
        let (mut shape, view) = (self.shape.clone(), self.views[seed]);
        let last = shape.len().saturating_sub(1);
        match view {
            "one" => shape.clear(),
            "row" => shape[..last].fill(1),
            "column" => shape[last] = 1,
            "step" | "back" => shape[last] *= 2,
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
            "back" => array.slice_axis(-1, Index::stepped(.., -2)).unwrap(),
            "flip" => array.flip(None).unwrap(),
            _ => array,
        }
    }

    fn run<T: Value>(&self, ctx: &Context) -> String {
        let arrays = [0, 1, 2].map(|seed| self.array::<T>(ctx, seed));
        let mut stack: Vec<Expr<T>> = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            if let Ok(at) = step.parse::<usize>() {
                stack.push((&arrays[at]).into_expr());
                continue;
            }
            let b = stack.pop().unwrap();
            if step.contains(':') {
                return reduced(step, &b, &arrays[0].expr());
            }
            if let Some(value) = T::unary(step, &b) {
                stack.push(value);
                continue;
            }
            let a = stack.pop().unwrap();
            match (T::compared(step, &a, &b), self.steps.get(i + 1)) {
                (Some(flags), Some(next)) => return reduced(next, &flags, &flags),
                (Some(flags), None) => return text(&flags.eval().unwrap()),
                (None, _) => stack.push(T::binary(step, &a, &b)),
            }
        }
        text(&stack.pop().unwrap().eval().unwrap())
    }
}

fn reduced<T: Value>(step: &str, x: &Expr<T>, other: &Expr<T>) -> String {
    let fields: Vec<&str> = step.split(':').collect();
    let axes: Vec<isize> = numbers(fields[1]).into_iter().map(|axis: usize| axis.cast_signed()).collect();
    let axes = axes.as_slice();
    let axes = if fields[2] == "1" { keepdims(axes) } else { axes.into_axes() };
    if let Some(text) = T::reduced(fields[0], x, other, axes.clone()) {
        return text;
    }
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

/// A result in the form in which the script writes it.
fn text<T: Bits>(result: &DeviceNDArray<T>) -> String {
    let mut crc = Crc::new();
    contents(result).into_iter().for_each(|value| crc.update(&value.canonical()));
    let shape: Vec<_> = result.shape().iter().map(ToString::to_string).collect();
    format!("{};{};{}", result.dtype(), shape.join(","), crc.sum())
}

#[test]
fn expressions_and_reductions_give_numpys_results() {
    let wanted = std::env::var("VKARRAY_TEST_PROGRAMS").unwrap_or_else(|_| N_PROGRAMS.to_string());
    let count: Option<usize> = wanted.parse().ok();
    let mut programs = String::new();
    if count.is_none() {
        programs =
            std::fs::read_to_string(&wanted).unwrap_or_else(|error| panic!("no number, no file: {wanted}: {error}"));
    } else if count <= Some(RECORDED) {
        GzDecoder::new(include_bytes!("numpy_expressions.txt.gz").as_slice()).read_to_string(&mut programs).unwrap();
    } else {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/primitives/numpy_expressions.py");
        let made = Command::new("python3").args([script, "7", &wanted]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        programs = String::from_utf8(made.stdout).unwrap();
    }
    let lines: Vec<&str> = programs.lines().collect();
    assert!(lines.len() >= count.map_or(1, |n| n.max(RECORDED)), "{} programs of {wanted}", lines.len());
    let n = count.unwrap_or(lines.len());
    let (mut wrong, mut n_refused) = (Vec::new(), 0);
    let mut ctx = Fixture::open();
    for (i, line) in lines[..n].iter().enumerate() {
        if i > 0 && i.is_multiple_of(RECORDED) {
            drop(ctx); // Dropped with the kernels of the programs before.
            ctx = Fixture::open();
        }
        let features = &ctx.device().info().features;
        let program = Program::parse(line);
        let run = || match program.dtype {
            "i64" | "u64" if !features.shader_int64 => refusal::<i64>(&ctx),
            "f64" if !features.shader_float64 => refusal::<f64>(&ctx),
            "bool" => program.run::<Bool>(&ctx),
            "i8" => program.run::<i8>(&ctx),
            "u8" => program.run::<u8>(&ctx),
            "i16" => program.run::<i16>(&ctx),
            "u16" => program.run::<u16>(&ctx),
            "i32" => program.run::<i32>(&ctx),
            "u32" => program.run::<u32>(&ctx),
            "i64" => program.run::<i64>(&ctx),
            "u64" => program.run::<u64>(&ctx),
            "f16" => program.run::<f16>(&ctx),
            "f32" => program.run::<f32>(&ctx),
            "f64" => program.run::<f64>(&ctx),
            other => panic!("{other}"),
        };
        // The other programs run too: the list of failed programs says more than the first failure.
        let got = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            eprintln!("at {line}");
            "a panic".to_owned()
        });
        if got == REFUSED {
            n_refused += 1;
        } else if got != program.result {
            wrong.push(format!("{line} and not {got}"));
        }
    }
    eprintln!("{n} programs, {n_refused} of them of types that the device does not have");
    assert!(wrong.is_empty(), "{} programs differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Stands for the result of a program whose type the device does not have.
const REFUSED: &str = "refused";

/// Checks that a device without a type refuses to compute with it.
fn refusal<T: Number + Numeric>(ctx: &Context) -> String {
    let x = ctx.zeros::<T>(3).unwrap();
    let error = (&x + &x).eval().unwrap_err().to_string();
    assert!(error.contains("64"), "{error}");
    REFUSED.to_owned()
}
