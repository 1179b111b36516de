//! The cost of arrays that compute: expressions with packed, strided and repeated operands, reductions over all, rows and
//! columns, functions, and what evaluating a known expression costs the host.
//!
//! Work is timed in a row, as in `copy.rs`, on random data. The bytes that count are the bytes that have to be moved: the
//! bytes of each array once, read or written; and of an array of which every second element is read, all bytes.

use std::time::Instant;

use anyhow::Result;
use half::{bf16, f16};
use vkarray::array::{Element, Number, Numeric};
use vkarray::device::DeviceType;
use vkarray::prelude::*;
use vkarray::primitives::{Reducible, Rng};
use vkarray_benches::timed;

use crate::copy::in_a_row;
use crate::{Bench, size_text};

/// Elements of an array, if the device has memory for eight such arrays. CPU drivers, whose rates do not grow with the
/// size, use fewer.
const N: usize = 1 << 28;
const CPU_N: usize = 1 << 20;

/// Elements of each sum.
const ROWS: [usize; 4] = [64, 1 << 10, 1 << 15, 1 << 20];

/// Elements of sums that are too short to be as fast as memory.
const SHORT_SUMS: [usize; 3] = [1 << 14, 1 << 16, 1 << 18];
/// How many of these sums are timed in a row.
const SUMS: u32 = 100;

/// Elements of the arrays, and the number of expressions in a row, for the cost on the host.
const SMALL: usize = 1024;
const IN_A_ROW: u32 = 1000;

/// Operands of the expressions whose cost on the host is measured.
const OPERANDS: [usize; 3] = [2, 8, 30];

/// Calls of a chain of small arrays, and elements of each.
const CHAIN: usize = 20;
const CHAIN_N: usize = 1000;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let info = bench.ctx.info();
    let is_cpu = info.device_type == DeviceType::Cpu;
    let fits = |n: &usize| *n as u64 * 4 * 8 <= info.device_memory_bytes();
    let n = std::iter::successors(Some(if is_cpu { CPU_N } else { N }), |n| Some(n / 2)).find(fits).unwrap_or(CPU_N);
    let stream = bench.ctx.stream()?;
    let mut rng = Rng::philox(1);
    expressions(bench, &stream, n, &mut rng)?;
    division(bench, &stream, n, &mut rng)?;
    short_types::<f16>(bench, &stream, n, &mut rng)?;
    short_types::<bf16>(bench, &stream, n, &mut rng)?;
    reductions(bench, &stream, n, &mut rng)?;
    functions(bench, &stream, n, &mut rng)?;
    host_cost(bench, &stream)
}

/// Prints the rate of an expression that is written to `target`.
fn assigned<T: Element>(
    bench: Bench<'_>,
    (name, n_arrays): (&str, f64),
    stream: &Stream,
    target: &DeviceNDArray<T>,
    expr: &dyn Fn() -> Expr<T>,
) -> Result<()> {
    let name = format!("arrays_{name}_{}", size_text(target.nbytes()));
    in_a_row(bench, &name, stream, counted(target.nbytes(), n_arrays), || Ok(expr().on(stream).assign_to(target)?))
}

/// The bytes to pass to `in_a_row`, which counts a byte twice, for this many arrays.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rate is printed with four digits"
)]
fn counted(nbytes: u64, n_arrays: f64) -> u64 {
    (nbytes as f64 * n_arrays / 2.0) as u64
}

fn expressions(bench: Bench<'_>, stream: &Stream, n: usize, rng: &mut Rng) -> Result<()> {
    let edge = 1 << (n.ilog2() / 2);
    let mut random = || -> Result<DeviceNDArray<f32>> { Ok(rng.uniform(bench.ctx, [n / edge, edge])?) };
    let (x, y, out) = (random()?, random()?, random()?);
    assigned(bench, ("add", 3.0), stream, &out, &|| &x + &y)?;
    assigned(bench, ("saxpy", 3.0), stream, &y, &|| &x * 0.5 + &y)?;
    let others = [random()?, random()?, random()?];
    assigned(bench, ("fused5", 6.0), stream, &out, &|| (&x * &y + &others[0] - &others[1]) * &others[2])?;
    drop(others);
    assigned(bench, ("sin", 2.0), stream, &out, &|| x.sin())?;
    assigned(bench, ("exp", 2.0), stream, &out, &|| x.exp())?;
    let (row, column) = (bench.ctx.full(edge, 2.0_f32)?, bench.ctx.full([n / edge, 1], 3.0_f32)?);
    assigned(bench, ("broadcast", 2.0), stream, &out, &|| (&x - &row) * &column)?;
    let [x_part, y_part] = [&x, &y].map(|array| array.slice(s![.., ..(edge as isize - 8)]));
    // The results have no gaps, as those of other libraries.
    let packed = |columns: usize| -> Result<_> {
        let part = out.reshape(n)?.slice(s![..(n / edge * columns) as isize])?;
        Ok(part.reshape([n / edge, columns])?)
    };
    let (x_part, y_part, out_part) = (x_part?, y_part?, packed(edge - 8)?);
    assigned(bench, ("rows_with_gaps", 3.0), stream, &out_part, &|| &x_part + &y_part)?;
    let [x_half, y_half] = [&x, &y].map(|array| array.slice(s![.., ..;2]));
    let (x_half, y_half, out_half) = (x_half?, y_half?, packed(edge / 2)?);
    assigned(bench, ("every_second", 5.0), stream, &out_half, &|| &x_half + &y_half)?;
    let across = y.reshape([edge, n / edge])?.t();
    assigned(bench, ("transposed", 3.0), stream, &out, &|| &x + &across)
}

/// The operation that takes the most instructions, on devices without an instruction for it.
fn division(bench: Bench<'_>, stream: &Stream, n: usize, rng: &mut Rng) -> Result<()> {
    if !bench.ctx.info().features.shader_int64 {
        bench.report.skipped("arrays_divide_i64", "the device has no 64-bit integers");
        return Ok(());
    }
    let mut between = |low: i64, high| rng.integers(bench.ctx, low..high, n / 2);
    let (dividends, divisors) = (between(0, i64::MAX)?, between(1 << 33, 1 << 35)?);
    let quotients = bench.ctx.zeros::<i64>(n / 2)?;
    assigned(bench, ("divide_i64", 3.0), stream, &quotients, &|| dividends.floor_divide(&divisors))
}

/// Rates with elements of two bytes.
fn short_types<T: Number + Numeric + Reducible>(
    bench: Bench<'_>,
    stream: &Stream,
    n: usize,
    rng: &mut Rng,
) -> Result<()> {
    let dtype = DType::of::<T>();
    let mut random = || -> Result<DeviceNDArray<T>> { Ok(rng.uniform::<f32>(bench.ctx, n)?.astype()?) };
    let (x, y, out) = (random()?, random()?, random()?);
    assigned(bench, (&format!("add_{dtype}"), 3.0), stream, &out, &|| &x + &y)?;
    reduced(bench, &format!("sum_{dtype}"), stream, &x, &|x| x.on(stream).sum(..).map(drop))?;
    let matrix = x.reshape([n / 1024, 1024])?;
    reduced(bench, &format!("row_sums_1024_{dtype}"), stream, &matrix, &|x| x.on(stream).sum(1).map(drop))?;
    reduced(bench, &format!("column_sums_of_1024_{dtype}"), stream, &matrix, &|x| x.on(stream).sum(0).map(drop))
}

/// Prints the rate of a reduction that reads `x` once.
fn reduced<T: Element>(
    bench: Bench<'_>,
    name: &str,
    stream: &Stream,
    x: &DeviceNDArray<T>,
    reduce: &dyn Fn(&DeviceNDArray<T>) -> vkarray::Result<()>,
) -> Result<()> {
    let name = format!("arrays_{name}_{}", size_text(x.nbytes()));
    in_a_row(bench, &name, stream, counted(x.nbytes(), 1.0), || Ok(reduce(x)?))
}

fn reductions(bench: Bench<'_>, stream: &Stream, n: usize, rng: &mut Rng) -> Result<()> {
    let x = rng.uniform::<f32>(bench.ctx, n)?;
    reduced(bench, "sum", stream, &x, &|x| x.on(stream).sum(..).map(drop))?;
    reduced(bench, "max", stream, &x, &|x| x.on(stream).max(..).map(drop))?;
    reduced(bench, "argmax", stream, &x, &|x| x.on(stream).argmax(..).map(drop))?;
    reduced(bench, "sum_of_squares", stream, &x, &|x| (x * x).on(stream).sum(..).map(drop))?;
    for len in ROWS.into_iter().filter(|&len| len < n) {
        let rows = x.reshape([n / len, len])?;
        reduced(bench, &format!("row_sums_{len}"), stream, &rows, &|x| x.on(stream).sum(1).map(drop))?;
        let columns = x.reshape([len, n / len])?;
        reduced(bench, &format!("column_sums_{len}"), stream, &columns, &|x| x.on(stream).sum(0).map(drop))?;
    }
    let rows = x.slice(s![..(n / 1000 * 999) as isize])?.reshape([n / 1000, 999])?;
    reduced(bench, "row_sums_999", stream, &rows, &|x| x.on(stream).sum(1).map(drop))?;
    for n in SHORT_SUMS {
        let x = rng.uniform::<f32>(bench.ctx, n)?;
        let sums = || (0..SUMS).try_for_each(|_| Ok(x.on(stream).sum(..).map(drop)?));
        let times = bench.report.runs(|| timed(|| sums().and_then(|()| Ok(stream.synchronize()?))))?;
        bench.report.micros(&format!("arrays_sum_{}", size_text(x.nbytes())), &times, SUMS);
    }
    Ok(())
}

/// Functions of arrays that are not elementwise.
fn functions(bench: Bench<'_>, stream: &Stream, n: usize, rng: &mut Rng) -> Result<()> {
    let x = bench.ctx.full(n, 1.0_f32)?;
    let size = size_text(x.nbytes());
    let uniform = || Ok(rng.fill_uniform(&x.on(stream))?);
    in_a_row(bench, &format!("arrays_uniform_{size}"), stream, counted(x.nbytes(), 1.0), uniform)?;
    let mask = x.less(0.5).on(stream).eval()?;
    let kept = x.on(stream).compact(&mask)?.nbytes();
    let bytes = counted(x.nbytes() + mask.nbytes() + kept, 1.0);
    let compact = || Ok(x.on(stream).compact(&mask).map(drop)?);
    in_a_row(bench, &format!("arrays_compact_{size}"), stream, bytes, compact)?;
    let sums = || Ok(x.on(stream).cumulative_sum(0).map(drop)?);
    in_a_row(bench, &format!("arrays_cumulative_sum_{size}"), stream, counted(x.nbytes(), 2.0), sums)
}

/// The host's time for an expression whose kernel is built.
fn host_cost(bench: Bench<'_>, stream: &Stream) -> Result<()> {
    let (x, y) = (bench.ctx.full(SMALL, 1.0_f32)?, bench.ctx.full(SMALL, 2.0_f32)?);
    let assign = || Ok((&x * 0.5 + &y).on(stream).assign_to(&y)?);
    let eval = || Ok((&x * 0.5 + &y).on(stream).eval().map(drop)?);
    let sum = || Ok(x.on(stream).sum(..).map(drop)?);
    let works: [(&str, &dyn Fn() -> Result<()>); 3] = [("assign", &assign), ("eval", &eval), ("sum", &sum)];
    works.into_iter().try_for_each(|(name, work)| on_host(bench, stream, name, work))?;
    for n in OPERANDS {
        let arrays = (0..n).map(|_| bench.ctx.full(SMALL, 1.0_f32)).collect::<Result<Vec<_>, _>>()?;
        let eval = || Ok(arrays[1..].iter().fold(arrays[0].expr(), |sum, x| sum + x).on(stream).eval().map(drop)?);
        on_host(bench, stream, &format!("eval_{n}_operands"), &eval)?;
    }
    let x = bench.ctx.full(CHAIN_N, 1.0_f32)?;
    let chain = || {
        let last = (0..CHAIN).try_fold(x.on(stream), |x, _| Ok::<_, vkarray::Error>((&x + 1.0).eval()?.on(stream)))?;
        last.stream().synchronize()?;
        Ok(())
    };
    let times = bench.report.runs(|| timed(|| (0..SUMS).try_for_each(|_| chain())))?;
    bench.report.micros(&format!("arrays_chain_{CHAIN}_calls"), &times, SUMS);
    Ok(())
}

/// Reports the host's time for work that is recorded and not waited for.
fn on_host(bench: Bench<'_>, stream: &Stream, name: &str, work: &dyn Fn() -> Result<()>) -> Result<()> {
    let times = bench.report.runs(|| {
        let begin = Instant::now();
        (0..IN_A_ROW).try_for_each(|_| work())?;
        let time = begin.elapsed();
        stream.synchronize()?;
        Ok(time)
    })?;
    bench.report.micros(&format!("arrays_host_{name}"), &times, IN_A_ROW);
    Ok(())
}
