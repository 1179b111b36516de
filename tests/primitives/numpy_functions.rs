//! Replays 3,400 calls of functions on small arrays and compares the results with NumPy's, bit for bit.
//!
//! `numpy_functions.py` recorded them and describes the format. Element types, lengths around those of workgroups, views of
//! all kinds, NaN, infinities and zeros of both signs are among the arguments. `VKARRAY_TEST_PROGRAMS` sets how many of the
//! calls run. A device without a type of 64 bits must refuse to compute with it, where the function needs it.

mod values;

use std::collections::BTreeMap;
use std::io::Read;

use flate2::Crc;
use flate2::read::GzDecoder;
use vkarray::array::{Bool, Complex32, Number, Numeric};
use vkarray::half::f16;
use vkarray::kernel::Error as KernelError;
use vkarray::prelude::*;
use vkarray::primitives::{
    IndexElement, IndexMode, IntoAxes, PadMode, Precise, Side, UniformFloat, Widen, concat, keepdims, meshgrid, stack,
};

use self::values::{Made, numbers, splitmix};
use crate::fixture::{Fixture, contents};

/// Calls that run unless `VKARRAY_TEST_PROGRAMS` is set.
const N_CALLS: usize = 400;

/// One recorded call.
struct Call<'a> {
    function: &'a str,
    dtype: &'a str,
    values: &'a str,
    seed: u64,
    shape: Vec<usize>,
    view: &'a str,
    parameters: Vec<isize>,
    results: Vec<&'a str>,
}

impl Call<'_> {
    fn parse(line: &str) -> Call<'_> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [function, dtype, values, seed, shape, view, parameters, results @ ..] = fields.as_slice() else {
            panic!("{line}");
        };
        Call {
            function,
            dtype,
            values,
            seed: seed.parse().unwrap(),
            shape: list(shape).collect(),
            view,
            parameters: list(parameters).collect(),
            results: results.to_vec(),
        }
    }

    /// The array, as a view like the script's.
    fn array<T: Made>(&self, ctx: &Context) -> anyhow::Result<DeviceNDArray<T>> {
        let mut base = self.shape.clone();
        let view = if base.is_empty() { "c" } else { self.view };
        let last = base.len().saturating_sub(1);
        match view {
            "f" => base.reverse(),
            "stepped" => base[last] *= 2,
            "offset" => base[0] += 1,
            "broadcast" => base[0] = 1,
            _ => {}
        }
        let values = numbers::<T>(self.values, self.seed, base.iter().product());
        let array = ctx.shaped_to_device(&values, base.as_slice())?;
        Ok(match view {
            "f" => array.t(),
            "reversed" => array.flip(Some(&[0]))?,
            "stepped" => array.slice_axis(-1, Index::stepped(.., 2))?,
            "offset" => array.slice_axis(0, 1..)?,
            "broadcast" => array.broadcast_to(self.shape.as_slice())?,
            _ => array,
        })
    }

    fn other<T: Made>(&self, ctx: &Context, shape: &[usize]) -> anyhow::Result<DeviceNDArray<T>> {
        let values = numbers::<T>(self.values, self.seed + 1000, shape.iter().product());
        Ok(ctx.shaped_to_device(&values, shape)?)
    }

    fn axis(&self, at: usize) -> usize {
        self.parameters[at].rem_euclid(self.shape.len().max(1).cast_signed()).unsigned_abs()
    }

    /// Runs functions that move elements of any type.
    fn run_move<T: Made>(&self, ctx: &Context) -> anyhow::Result<Vec<Outcome>> {
        let (x, p) = (self.array::<T>(ctx)?, &self.parameters);
        let result = match self.function {
            "nonzero" => return Ok(x.nonzero()?.iter().map(Outcome::of).collect()),
            "meshgrid" => {
                let grids = meshgrid(&[&x, &self.other(ctx, &[3])?, &x.slice(s![..2])?], p[0] == 1)?;
                return Ok(grids.iter().map(Outcome::of).collect());
            }
            "take" | "take_along_axis" | "put" => match self.seed % 3 {
                0 => self.run_indexed::<T, i32>(ctx, &x, |index| i32::try_from(index).unwrap())?,
                1 => self.run_indexed::<T, i64>(ctx, &x, |index| index)?,
                // Equal positions by unsigned indices, where no mode depends on the sign.
                _ if self.function != "take" || p[2] == 0 => {
                    let length = if self.function == "put" { x.size() } else { self.shape[self.axis(0)] };
                    let length = i64::try_from(length).unwrap();
                    self.run_indexed::<T, u32>(ctx, &x, |index| u32::try_from(index.rem_euclid(length)).unwrap())?
                }
                _ => self.run_indexed::<T, i64>(ctx, &x, |index| index)?,
            },
            "put_mask" => {
                let (mask_shape, n_values) = (&self.shape[..p[0].unsigned_abs()], p[1].unsigned_abs());
                let mask = numbers::<Bool>(self.values, self.seed + 1000, mask_shape.iter().product());
                x.put_mask(&ctx.shaped_to_device(&mask, mask_shape)?, &self.other(ctx, &[n_values])?)?;
                x
            }
            "compact" => {
                let lengths = &self.shape[..p[0].unsigned_abs()];
                let mask = numbers::<Bool>(self.values, self.seed + 1000, lengths.iter().product());
                x.compact(&ctx.shaped_to_device(&mask, lengths)?)?
            }
            "concat" => {
                let mut shape = self.shape.clone();
                shape[self.axis(0)] = p[1].unsigned_abs();
                concat(&[&x, &self.other(ctx, &shape)?, &x], p[0])?
            }
            "stack" => stack(&[&x, &self.other(ctx, &self.shape)?], p[0])?,
            "tile" => x.tile(&p.iter().map(|n| n.unsigned_abs()).collect::<Vec<_>>())?,
            "repeat" => x.repeat(p[0].unsigned_abs(), p[1])?,
            "repeat_each" => x.repeat_each(&p[1..].iter().map(|n| n.unsigned_abs()).collect::<Vec<_>>(), p[0])?,
            "roll" => x.roll(p[0], p[1])?,
            "pad" => {
                let widths: Vec<_> = p[1..].chunks(2).map(|w| (w[0].unsigned_abs(), w[1].unsigned_abs())).collect();
                let modes = [PadMode::Constant(T::default()), PadMode::Edge, PadMode::Reflect];
                let modes = [&modes[..], &[PadMode::Symmetric, PadMode::Wrap]].concat();
                x.pad(&widths, modes[p[0].unsigned_abs()])?
            }
            other => panic!("{other}"),
        };
        Ok(vec![Outcome::of(&result)])
    }

    fn run_indexed<T: Made, I: IndexElement>(
        &self,
        ctx: &Context,
        x: &DeviceNDArray<T>,
        index: impl Fn(i64) -> I,
    ) -> anyhow::Result<DeviceNDArray<T>> {
        let (p, is_put) = (&self.parameters, self.function == "put");
        let length = if is_put { x.size() } else { self.shape[self.axis(0)] };
        let indices = |count: usize, factor: i64| {
            let (length, twice) = (i64::try_from(length.max(1)).unwrap(), 2 * length.max(1) as u64);
            let raw = splitmix(self.seed + 2000, count);
            let places = raw.map(move |raw| ((raw >> 20) % twice) as i64 - length);
            places.map(|place| index(place * factor)).collect::<Vec<I>>()
        };
        match self.function {
            "take" => {
                let mode = [IndexMode::Raise, IndexMode::Wrap, IndexMode::Clip][p[2].unsigned_abs()];
                let indices = indices(p[1].unsigned_abs(), if p[2] == 0 { 1 } else { 3 });
                Ok(x.take_with_mode(&ctx.slice_to_device(&indices)?, p[0], mode)?)
            }
            "take_along_axis" => {
                let mut shape = self.shape.clone();
                shape[self.axis(0)] = p[1].unsigned_abs();
                let indices = indices(shape.iter().product(), 1);
                Ok(x.take_along_axis(&ctx.shaped_to_device(&indices, shape.as_slice())?, p[0])?)
            }
            _ => {
                let indices = ctx.slice_to_device(&indices(p[0].unsigned_abs(), 1))?;
                x.put(&indices, &self.other(ctx, &[p[1].unsigned_abs()])?)?;
                Ok(x.clone())
            }
        }
    }

    /// Runs functions that compute with numbers.
    fn run_numbers<T: Made + Widen + Numeric + PartialOrd>(&self, ctx: &Context) -> anyhow::Result<Vec<Outcome>> {
        let p = &self.parameters;
        let x = match self.function {
            "cumulative_sum" | "cumulative_prod" | "sort" | "argsort" | "searchsorted" | "isin" | "unique"
            | "histogram" | "matmul" | "tensordot" | "dot" | "diff" | "tril" | "triu" => self.array::<T>(ctx)?,
            _ => return self.run_move::<T>(ctx),
        };
        Ok(vec![match (self.function, p.get(1)) {
            ("cumulative_sum", Some(0)) => Outcome::of(&x.cumulative_sum(p[0])?),
            ("cumulative_sum", _) => Outcome::of(&x.cumulative_sum_from_zero(p[0])?),
            ("cumulative_prod", Some(0)) => Outcome::of(&x.cumulative_prod(p[0])?),
            ("cumulative_prod", _) => Outcome::of(&x.cumulative_prod_from_one(p[0])?),
            ("sort", Some(0)) => Outcome::of(&x.sort(p[0])?),
            ("sort", _) => Outcome::of(&x.sort_descending(p[0])?),
            ("argsort", Some(0)) => Outcome::of(&x.argsort(p[0])?),
            ("argsort", _) => Outcome::of(&x.argsort_descending(p[0])?),
            ("diff", _) => Outcome::of(&x.diff(p[0].unsigned_abs(), p[1])?),
            ("tril", _) => Outcome::of(&x.tril(p[0])?),
            ("triu", _) => Outcome::of(&x.triu(p[0])?),
            ("dot", _) => {
                let shape: Vec<usize> = p.iter().map(|length| length.unsigned_abs()).collect();
                Outcome::of(&x.dot(&self.other(ctx, &shape)?)?)
            }
            ("matmul", _) => {
                let shape: Vec<usize> = p.iter().map(|length| length.unsigned_abs()).collect();
                Outcome::of(&x.matmul(&self.other(ctx, &shape)?)?)
            }
            ("tensordot", _) => {
                let lengths = p.iter().map(|axis| self.shape[axis.unsigned_abs()]);
                let shape: Vec<usize> = lengths.chain([3]).collect();
                let first: Vec<usize> = (0..p.len()).collect();
                Outcome::of(&x.tensordot(&self.other(ctx, &shape)?, p, first)?)
            }
            ("searchsorted", side) => {
                let values = self.other(ctx, &[p[0].unsigned_abs()])?;
                let side = if side == Some(&0) { Side::Left } else { Side::Right };
                Outcome::of(&x.sort(0)?.searchsorted(&values, side)?)
            }
            ("isin", _) => Outcome::of(&x.isin(&self.other(ctx, &[p[0].unsigned_abs()])?)?),
            ("unique", _) => {
                let u = x.unique_all()?;
                let (values, counts) = x.unique_counts()?;
                assert_eq!(contents(&counts), contents(&u.counts), "{:?}", self.shape);
                for found in [&values, &x.unique_values()?] {
                    // Of zeros of both signs, either is the value; a NaN is not equal to itself.
                    let is_same = |(a, b): (&T, &T)| a == b || (a.partial_cmp(a), b.partial_cmp(b)) == (None, None);
                    assert_eq!(found.shape(), u.values.shape(), "{:?}", self.shape);
                    assert!(contents(found).iter().zip(&contents(&u.values)).all(is_same), "{:?}", self.shape);
                }
                let places = [&u.indices, &u.inverse, &u.counts].map(Outcome::of);
                return Ok([vec![Outcome::of(&u.values)], places.into()].concat());
            }
            _ => {
                let mut edges = numbers::<T>("whole", self.seed + 1000, p[0].unsigned_abs());
                edges.sort_by(|a, b| a.partial_cmp(b).unwrap());
                Outcome::of(&x.histogram_between(&edges)?)
            }
        }])
    }

    /// Runs functions that take only `f32` and `f64`.
    fn run_floats<T>(&self, ctx: &Context) -> anyhow::Result<Vec<Outcome>>
    where
        T: Made + Widen + UniformFloat + Numeric<Real = T> + Number,
        T: Precise<Precision = T>,
    {
        Ok(vec![match self.function {
            "isclose" => {
                let (x, y) = (self.array::<T>(ctx)?, self.other::<T>(ctx, &self.shape)?);
                let [rtol, atol] = [0.5, 0.25].map(T::of_f64);
                let close = x.isclose(&y, rtol, atol).eval()?;
                let flags = close.to_vec()?.into_iter().all(bool::from);
                assert_eq!(x.allclose(&y, rtol, atol)?, flags);
                assert_eq!(x.array_equal(&y)?, x.to_vec()? == y.to_vec()?);
                Outcome::of(&close)
            }
            "quantile" | "quantiles" | "median" => {
                let (x, p) = (self.array::<T>(ctx)?, &self.parameters);
                let n = if self.function == "quantile" { 2 } else { 4 };
                let q: Vec<f64> = p[1..n].iter().map(|&part| part as f64 / 8.0).collect();
                let axes = if p[0] == 1 { keepdims(&p[n..]) } else { p[n..].into_axes() };
                Outcome::of(&match self.function {
                    "quantile" => x.quantile(q[0], axes)?,
                    "quantiles" => x.quantiles(&q, axes)?,
                    _ => x.median(axes)?,
                })
            }
            "histogram_even" => {
                Outcome::of(&self.array::<T>(ctx)?.histogram(self.parameters[0].unsigned_abs(), -3.0..=2.6)?.0)
            }
            _ => return self.run_numbers::<T>(ctx),
        }])
    }

    fn run(&self, ctx: &Context) -> anyhow::Result<Vec<Outcome>> {
        match self.dtype {
            "bool" => self.run_move::<Bool>(ctx),
            "complex<f32>" => self.run_move::<Complex32>(ctx),
            "u8" => self.run_numbers::<u8>(ctx),
            "i16" => self.run_numbers::<i16>(ctx),
            "f16" => self.run_numbers::<f16>(ctx),
            "i32" => self.run_numbers::<i32>(ctx),
            "u32" => self.run_numbers::<u32>(ctx),
            "f32" => self.run_floats::<f32>(ctx),
            "i64" => self.run_numbers::<i64>(ctx),
            "u64" => self.run_numbers::<u64>(ctx),
            "f64" => self.run_floats::<f64>(ctx),
            other => panic!("{other}"),
        }
    }
}

/// A result in the form in which the script writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome(String);

impl Outcome {
    fn of<T: Element>(array: &DeviceNDArray<T>) -> Self {
        let values = array.to_vec().unwrap();
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let text = if bytes.len() <= 64 {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        } else {
            let mut crc = Crc::new();
            crc.update(bytes);
            format!("crc{}", crc.sum())
        };
        let shape: Vec<String> = array.shape().iter().map(ToString::to_string).collect();
        Self(format!("{};{};{text}", array.dtype(), shape.join(",")))
    }
}

fn list<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> impl Iterator<Item = T> {
    text.split(',').filter(|item| !item.is_empty()).map(|item| item.parse().unwrap())
}

/// Whether the device may refuse a call: expressions compute with the device's types of 64 bits, and some other
/// functions compute with its `f64`.
fn is_refused(call: &Call<'_>, has_doubles: bool, has_longs: bool) -> bool {
    let is_expression = ["diff", "isclose", "quantile", "quantiles", "median"].contains(&call.function);
    let computes = ["cumulative_sum", "cumulative_prod", "matmul", "tensordot", "dot"].contains(&call.function);
    match call.dtype {
        "f64" => (is_expression || computes) && !has_doubles,
        "i64" | "u64" => is_expression && !has_longs,
        _ => false,
    }
}

#[test]
fn functions_give_the_results_of_numpy() {
    let ctx = Fixture::open();
    let features = &ctx.device().plan().features;
    let (has_doubles, has_longs) = (features.shader_float64, features.shader_int64);
    let n_calls = std::env::var("VKARRAY_TEST_PROGRAMS").map_or(N_CALLS, |text| text.parse().expect("a number"));
    let mut text = String::new();
    GzDecoder::new(include_bytes!("numpy_functions.txt.gz").as_slice()).read_to_string(&mut text).unwrap();
    let mut tally = BTreeMap::new();
    let n_lines = text.lines().count();
    for line in text.lines().step_by((n_lines / n_calls).max(1)) {
        let call = Call::parse(line);
        let is_refused = is_refused(&call, has_doubles, has_longs);
        match call.run(&ctx) {
            Ok(found) => {
                let found: Vec<&str> = found.iter().map(|outcome| outcome.0.as_str()).collect();
                assert_eq!(found, call.results, "{line}");
            }
            Err(error) => {
                let error = error.downcast::<Error>().unwrap();
                assert!(
                    is_refused && matches!(&error, Error::Kernel(KernelError::Capability { .. })),
                    "{error}: {line}"
                );
            }
        }
        *tally.entry(call.function.to_owned()).or_insert(0) += 1;
    }
    assert_eq!(tally.len(), 33, "{tally:?}");
}
