//! The cost of arrays that compute: expressions with packed, strided and repeated operands, reductions over all, rows and
//! columns, and what evaluating a known expression costs the host.
//!
//! Expressions are timed in a row, as in `copy.rs`. Bytes that are counted are those of each array once, read or written.

use std::time::Instant;

use vkarray::device::DeviceType;
use vkarray::prelude::*;

use super::copy::in_a_row;
use super::{Bench, size_text, timed};
use crate::error::Result;

/// Elements of an array, if the device has memory for eight, and on a CPU driver, whose rates do not grow with the size.
const N: usize = 1 << 28;
const CPU_N: usize = 1 << 20;

/// Elements of each sum.
const ROWS: [usize; 4] = [64, 1 << 10, 1 << 15, 1 << 20];

/// Elements of the arrays and the expressions in a row, for the cost on the host.
const SMALL: usize = 1024;
const IN_A_ROW: u32 = 1000;

pub(super) fn measure(bench: &Bench<'_>) -> Result<()> {
    let info = bench.ctx.info();
    let is_cpu = info.device_type == DeviceType::Cpu;
    let fits = |n: &usize| *n as u64 * 4 * 8 <= info.device_memory_bytes();
    let n = std::iter::successors(Some(if is_cpu { CPU_N } else { N }), |n| Some(n / 2)).find(fits).unwrap_or(CPU_N);
    let stream = bench.ctx.stream()?;
    expressions(bench, &stream, n)?;
    reductions(bench, &stream, n)?;
    host_cost(bench, &stream)
}

/// Prints the rate of an expression that is written to `target`.
fn assigned(
    bench: &Bench<'_>,
    (name, n_arrays): (&str, f64),
    stream: &Stream,
    target: &DeviceNDArray<f32>,
    expr: &dyn Fn() -> Expr<f32>,
) -> Result<()> {
    let name = format!("arrays_{name}_{}", size_text(target.nbytes()));
    in_a_row(bench, &name, stream, counted(target.nbytes(), n_arrays), || Ok(expr().on(stream).assign_to(target)?))
}

/// The bytes that `in_a_row`, which counts a byte twice, is given for that many arrays.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rate is printed with four digits"
)]
fn counted(nbytes: u64, n_arrays: f64) -> u64 {
    (nbytes as f64 * n_arrays / 2.0) as u64
}

fn expressions(bench: &Bench<'_>, stream: &Stream, n: usize) -> Result<()> {
    let edge = 1 << (n.ilog2() / 2);
    let full = |value| -> Result<DeviceNDArray<f32>> { Ok(bench.ctx.full([n / edge, edge], value)?) };
    let (x, y, out) = (full(1.5)?, full(0.5)?, full(0.0)?);
    assigned(bench, ("add", 3.0), stream, &out, &|| &x + &y)?;
    assigned(bench, ("saxpy", 3.0), stream, &y, &|| &x * 0.5 + &y)?;
    let others = [full(2.0)?, full(3.0)?, full(4.0)?];
    assigned(bench, ("fused5", 6.0), stream, &out, &|| (&x * &y + &others[0] - &others[1]) * &others[2])?;
    drop(others);
    assigned(bench, ("sin", 2.0), stream, &out, &|| x.sin())?;
    assigned(bench, ("exp", 2.0), stream, &out, &|| x.exp())?;
    let (row, column) = (bench.ctx.full(edge, 2.0_f32)?, bench.ctx.full([n / edge, 1], 3.0_f32)?);
    assigned(bench, ("broadcast", 2.0), stream, &out, &|| (&x - &row) * &column)?;
    let [x_part, y_part] = [&x, &y].map(|array| array.slice(&s![.., ..(edge as isize - 8)]));
    let (x_part, y_part) = (x_part?, y_part?);
    assigned(bench, ("rows_with_gaps", 3.0), stream, &y_part, &|| &x_part * 0.5 + &y_part)
}

/// Prints the rate of a reduction that reads `x` once.
fn reduced(
    bench: &Bench<'_>,
    name: &str,
    stream: &Stream,
    x: &DeviceNDArray<f32>,
    reduce: &dyn Fn(&DeviceNDArray<f32>) -> vkarray::Result<()>,
) -> Result<()> {
    let name = format!("arrays_{name}_{}", size_text(x.nbytes()));
    in_a_row(bench, &name, stream, counted(x.nbytes(), 1.0), || Ok(reduce(x)?))
}

fn reductions(bench: &Bench<'_>, stream: &Stream, n: usize) -> Result<()> {
    let x = bench.ctx.full(n, 1.0_f32)?;
    reduced(bench, "sum", stream, &x, &|x| x.on(stream).sum(..).map(drop))?;
    reduced(bench, "argmax", stream, &x, &|x| x.on(stream).argmax(..).map(drop))?;
    reduced(bench, "sum_of_squares", stream, &x, &|x| (x * x).on(stream).sum(..).map(drop))?;
    for len in ROWS.into_iter().filter(|&len| len < n) {
        let rows = x.reshape([n / len, len])?;
        reduced(bench, &format!("row_sums_{len}"), stream, &rows, &|x| x.on(stream).sum(1).map(drop))?;
        let columns = x.reshape([len, n / len])?;
        reduced(bench, &format!("column_sums_{len}"), stream, &columns, &|x| x.on(stream).sum(0).map(drop))?;
    }
    Ok(())
}

/// What the host takes for an expression whose kernel is built.
fn host_cost(bench: &Bench<'_>, stream: &Stream) -> Result<()> {
    let (x, y) = (bench.ctx.full(SMALL, 1.0_f32)?, bench.ctx.full(SMALL, 2.0_f32)?);
    let assign = || Ok((&x * 0.5 + &y).on(stream).assign_to(&y)?);
    let eval = || Ok((&x * 0.5 + &y).on(stream).eval().map(drop)?);
    let sum = || Ok(x.on(stream).sum(..).map(drop)?);
    let works: [(&str, &dyn Fn() -> Result<()>); 3] = [("assign", &assign), ("eval", &eval), ("sum", &sum)];
    for (name, work) in works {
        let times = bench.runs(|| {
            let begin = Instant::now();
            (0..IN_A_ROW).try_for_each(|_| work())?;
            let time = begin.elapsed();
            timed(|| Ok(stream.synchronize()?))?;
            Ok(time)
        })?;
        bench.micros(&format!("arrays_host_{name}"), &times, IN_A_ROW)?;
    }
    Ok(())
}
