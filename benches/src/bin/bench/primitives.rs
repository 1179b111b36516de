//! The cost of functions of arrays that are not elementwise, on random data: scans, sorts, histograms, products of
//! matrices, Fourier transforms, filters, indexing, random numbers.
//!
//! A rate is that of several calls between two events on the device; where the device has no timestamps, of the calls
//! and the wait for the last one, by the host's clock. `benches/README.md` has the sizes and what is counted.

use std::time::{Duration, Instant};

use anyhow::Result;
use half::{bf16, f16};
use vkarray::array::{Complex32, Element};
use vkarray::prelude::*;
use vkarray::primitives::{PadMode, Rng, ScanKernel, Side, Widen};
use vkarray_benches::timed;

use crate::Bench;

/// Calls between two events.
const IN_A_ROW: u32 = 5;

/// How long calls run before they are measured, divided as sizes are: the clock of a GPU that waited while a kernel was
/// compiled is low at first.
const WARM_UP: Duration = Duration::from_millis(300);

/// Bins of the histograms.
const BINS: u32 = 256;

/// The rows and the columns of the left factor, and the columns of the right one, of a product that fits no tiles.
const ODD: [usize; 3] = [1000, 777, 1333];

/// Edges of the products of `f16` and `bf16`.
const SHORT_EDGES: [usize; 2] = [4096, 8192];

/// Measures with sizes that are divided by 2^`shrink`, and edges of matrices by 2^(`shrink` / 3).
pub(crate) fn measure(bench: Bench<'_>, shrink: u32) -> Result<()> {
    let mut suite = Primitives { bench, shrink, rng: Rng::philox(1) };
    suite.scans()?;
    suite.sorts()?;
    suite.histograms()?;
    suite.products()?;
    suite.small_products()?;
    suite.transforms()?;
    suite.convolutions()?;
    suite.indexing()?;
    suite.random_numbers()
}

/// An amount of work in units of 10⁹ or 10¹², and the unit of its rate.
type Amount = (f64, &'static str);

fn bytes(count: usize) -> Amount {
    (count as f64 / 1e9, "GB/s")
}

fn keys(count: usize) -> Amount {
    (count as f64 / 1e9, "Gkeys/s")
}

/// Multiplications and additions of a product.
fn operations([rows, inner, columns]: [usize; 3]) -> Amount {
    (2.0 * rows as f64 * inner as f64 * columns as f64 / 1e12, "TFLOP/s")
}

struct Primitives<'a> {
    bench: Bench<'a>,
    shrink: u32,
    rng: Rng,
}

impl Primitives<'_> {
    /// A size of 2^`log2` elements, before it is divided.
    fn size(&self, log2: u32) -> usize {
        1 << log2.saturating_sub(self.shrink)
    }

    fn edge(&self, edge: usize) -> usize {
        (edge >> (self.shrink / 3)).max(1)
    }

    fn uniform(&mut self, count: usize) -> Result<DeviceNDArray<f32>> {
        Ok(self.rng.uniform(self.bench.ctx, count)?)
    }

    /// Prints the rate of a call, whose result is dropped.
    fn rate<R>(&self, name: &str, amount: Amount, mut call: impl FnMut() -> vkarray::Result<R>) -> Result<()> {
        let mut run = || self.time(&mut || call().map(drop));
        run()?;
        let begin = Instant::now();
        while begin.elapsed() < WARM_UP / 2_u32.pow(self.shrink) {
            run()?;
        }
        let times = self.bench.report.runs(run)?;
        let rates = times.iter().map(|time| amount.0 * f64::from(IN_A_ROW) / time.as_secs_f64());
        self.bench.report.figure(&format!("primitives_{name}"), amount.1, rates);
        Ok(())
    }

    /// The time of [`IN_A_ROW`] calls.
    fn time(&self, call: &mut dyn FnMut() -> vkarray::Result<()>) -> Result<Duration> {
        let (device, stream) = (self.bench.ctx.device(), self.bench.ctx.default_stream());
        let mut calls = || (0..IN_A_ROW).try_for_each(|_| call());
        stream.synchronize()?;
        let (Ok(begin), Ok(end)) = (Event::with_timing(device), Event::with_timing(device)) else {
            return timed(|| Ok(calls().and_then(|()| Ok(stream.synchronize()?))?));
        };
        begin.record(stream)?;
        calls()?;
        end.record(stream)?;
        stream.synchronize()?;
        Ok(begin.elapsed(&end)?)
    }

    fn scans(&mut self) -> Result<()> {
        let n = self.size(28);
        let x = self.uniform(n)?;
        self.rate("scan_f32", bytes(8 * n), || x.cumulative_sum(0))?;
        let starts = x.less(0.01).eval()?;
        let sums = ScanKernel::new("a + b", "0");
        self.rate("scan_segments_f32", bytes(9 * n), || sums.inclusive_by_segment(&x, &starts, 0))?;
        drop(starts);
        let mask = x.less(0.5).eval()?;
        let kept = x.compact(&mask)?.size();
        self.rate("compact_f32", bytes(5 * n + 4 * kept), || x.compact(&mask))?;
        self.rate("var_f32", bytes(4 * n), || x.var(..))?;
        drop((x, mask));
        let x = self.rng.bits::<u32>(self.bench.ctx, n)?;
        self.rate("scan_u32", bytes(12 * n), || x.cumulative_sum(0))
    }

    fn sorts(&mut self) -> Result<()> {
        let n = self.size(27);
        let x = self.rng.bits::<u32>(self.bench.ctx, n)?;
        self.rate("sort_u32", keys(n), || x.sort(0))?;
        self.rate("argsort_u32", keys(n), || x.argsort(0))?;
        self.rate("unique_u32", keys(n), || x.unique_values())?;
        let few = x.bitwise_right_shift(16).eval()?;
        self.rate("sort_u32_below_65536", keys(n), || few.sort(0))?;
        drop((x, few));
        let rows = self.size(20);
        let x = self.uniform(rows * 128)?.reshape([rows, 128])?;
        self.rate("sort_rows_f32", keys(x.size()), || x.sort(1))?;
        let n = self.size(28);
        let x = self.uniform(n)?;
        self.rate("top_1000_f32", bytes(4 * n), || x.top_k(1000.min(n), 0))?;
        drop(x);
        let (sorted, values) = (self.uniform(self.size(20))?.sort(0)?, self.uniform(self.size(26))?);
        self.rate("searchsorted_f32", keys(values.size()), || sorted.searchsorted(&values, Side::Left))
    }

    /// Histograms of data that is uniform, constant, and skewed: the eighth power of uniform numbers, of which half is
    /// in the first bin.
    fn histograms(&mut self) -> Result<()> {
        let n = self.size(28);
        let edges: Vec<u32> = (0..=BINS).collect();
        for name in ["uniform", "constant", "skewed"] {
            let x = if name == "constant" { self.bench.ctx.full(n, 0.5_f32)? } else { self.uniform(n)? };
            let x = if name == "skewed" { x.pow(8.0).eval()? } else { x };
            let floats = || x.histogram(BINS as usize, 0.0..=1.0);
            self.rate(&format!("histogram_f32_{name}"), bytes(4 * n), floats)?;
            let x = (&x * 256.0).cast::<u32>().eval()?;
            self.rate(&format!("histogram_u32_{name}"), bytes(4 * n), || x.histogram_between(&edges))?;
        }
        Ok(())
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> Result<DeviceNDArray<f32>> {
        Ok(self.uniform(rows * columns)?.reshape([rows, columns])?)
    }

    fn products(&mut self) -> Result<()> {
        for shape in [[4096; 3], ODD] {
            let [rows, inner, columns] = shape.map(|edge| self.edge(edge));
            let (a, b) = (self.matrix(rows, inner)?, self.matrix(inner, columns)?);
            let name = if shape == ODD { "1000x777x1333" } else { "4096" };
            self.rate(&format!("product_f32_{name}"), operations([rows, inner, columns]), || a.matmul(&b))?;
        }
        self.short_products::<f16>("f16")?;
        self.short_products::<bf16>("bf16")?;
        self.products_of_bytes()
    }

    /// Of a second operand that is contiguous in the order of C, and of F.
    fn products_of_bytes(&mut self) -> Result<()> {
        let edge = self.edge(4096);
        let (a, b) =
            ((self.matrix(edge, edge)? * 255.0 - 128.0).eval()?, (self.matrix(edge, edge)? * 255.0 - 128.0).eval()?);
        let (a, b) = (a.astype::<i8>()?, b.astype::<i8>()?);
        for (name, b) in [("product_i8_4096", b.view()?), ("product_i8_4096_columns", b.t())] {
            self.rate(name, (operations([edge; 3]).0, "TOP/s"), || a.matmul_i32(&b))?;
        }
        Ok(())
    }

    fn short_products<T: Element + Widen>(&mut self, dtype: &str) -> Result<()> {
        for edge in SHORT_EDGES {
            let name = format!("product_{dtype}_{edge}");
            let edge = self.edge(edge);
            let (a, b) = (self.matrix(edge, edge)?.astype::<T>()?, self.matrix(edge, edge)?.astype::<T>()?);
            self.rate(&name, operations([edge; 3]), || a.matmul(&b))?;
        }
        Ok(())
    }

    /// Products that memory limits.
    fn small_products(&mut self) -> Result<()> {
        let stack = [self.size(16), 32, 32];
        let n = stack.iter().product();
        let (a, b) = (self.uniform(n)?.reshape(stack)?, self.uniform(n)?.reshape(stack)?);
        self.rate("product_batched_32_f32", bytes(12 * n), || a.matmul(&b))?;
        let edge = self.edge(16384);
        let (a, b) = (self.matrix(edge, edge)?, self.uniform(edge)?);
        self.rate("product_vector_f32", bytes(4 * edge * edge), || a.matmul(&b))
    }

    /// Transforms in one pass and in two; their rates count one.
    fn transforms(&mut self) -> Result<()> {
        for (name, shape) in [("4096", [self.size(16), 4096]), ("1048576", [64, self.size(20)])] {
            let n: usize = shape.iter().product();
            let x = self.uniform(2 * n)?.view::<Complex32>()?.reshape(shape)?;
            self.rate(&format!("fft_c64_{name}"), bytes(16 * n), || x.fft(1))?;
        }
        Ok(())
    }

    fn convolutions(&mut self) -> Result<()> {
        let edge = self.edge(8192);
        let image = self.matrix(edge, edge)?;
        for taps in [9, 3] {
            let filter = self.matrix(taps, taps)?;
            let call = || image.correlate(&filter, PadMode::Symmetric);
            self.rate(&format!("convolution_{taps}x{taps}_f32"), bytes(8 * edge * edge), call)?;
        }
        Ok(())
    }

    fn indexing(&mut self) -> Result<()> {
        let n = self.size(27);
        let end = u32::try_from(n).expect("at most 2^27");
        let (x, values) = (self.uniform(n)?, self.uniform(n)?);
        let places = self.rng.integers(self.bench.ctx, 0..end, n)?;
        self.rate("take_f32", bytes(12 * n), || x.take(&places, 0))?;
        self.rate("put_f32", bytes(12 * n), || x.put(&places, &values))
    }

    fn random_numbers(&mut self) -> Result<()> {
        let n = self.size(28);
        let (ctx, mut rng) = (self.bench.ctx, Rng::philox(2));
        self.rate("normal_f32", bytes(4 * n), || rng.normal::<f32>(ctx, n))
    }
}
