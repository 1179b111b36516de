//! Reductions, compared with reductions on the host: axes, layouts, types, special values, and the accuracy of sums.

use half::f16;
use ndarray::ArrayD;
use vkarray::prelude::*;

use crate::{Result, int};

/// Reduces axes of a host array in C order.
fn on_host<T: Copy, U>(host: &ArrayD<T>, axes: &[isize], reduce: impl Fn(&[T]) -> U) -> Vec<U> {
    let ndim = host.ndim();
    let is_reduced = |axis: &usize| axes.iter().any(|own| own.rem_euclid(ndim as isize) as usize == *axis);
    let mut order: Vec<usize> = (0..ndim).filter(|axis| !is_reduced(axis)).collect();
    let n_kept = order.len();
    order.extend((0..ndim).filter(is_reduced));
    let moved = host.view().permuted_axes(order);
    let results: usize = moved.shape()[..n_kept].iter().product();
    let count: usize = moved.shape()[n_kept..].iter().product();
    let flat: Vec<T> = moved.iter().copied().collect();
    (0..results).map(|i| reduce(&flat[i * count..(i + 1) * count])).collect()
}

fn sum(numbers: &[i32]) -> i64 {
    numbers.iter().map(|&x| i64::from(x)).sum()
}

fn least(numbers: &[i32]) -> i32 {
    *numbers.iter().min().expect("there are numbers")
}

/// The position of the first of the largest numbers.
fn place_of_largest(numbers: &[i32]) -> i64 {
    let largest = numbers.iter().max();
    numbers.iter().position(|number| Some(number) == largest).expect("there are numbers") as i64
}

const AXES: [&[isize]; 7] = [&[0], &[1], &[2], &[0, 1], &[1, 2], &[0, -1], &[0, 1, 2]];

pub(crate) fn any_axes_of_any_layout_are_reduced(ctx: &Context) -> Result<()> {
    for shape in [[2, 3, 4], [7, 1, 300], [40, 5, 257], [1, 1, 1], [300, 70, 3]] {
        let n = shape.iter().product::<usize>();
        let host = ArrayD::from_shape_fn(shape.to_vec(), |at| {
            let flat = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
            int(flat * 7919 % 1009) - 500
        });
        let x = ctx.to_device(&host)?;
        for view in [x.clone(), x.t(), x.slice(s![..;-1, .., ..])?] {
            let host = view.copy_to_host()?;
            for axes in AXES {
                let name = format!("{n} {:?} over {axes:?}", view.shape());
                assert_eq!(view.sum(axes)?.to_vec()?, on_host(&host, axes, sum), "{name}");
                assert_eq!(view.min(axes)?.to_vec()?, on_host(&host, axes, least), "{name}");
                assert_eq!(view.argmax(axes)?.to_vec()?, on_host(&host, axes, place_of_largest), "{name}");
                let any: Vec<bool> = view.equal(-500).any(axes)?.to_vec()?.into_iter().map(bool::from).collect();
                assert_eq!(any, on_host(&host, axes, |v| v.contains(&-500)), "{name}");
                let square = |v: &[i32]| v.iter().map(|&x| i64::from(x * x)).sum::<i64>();
                assert_eq!((&view * &view).sum(axes)?.to_vec()?, on_host(&host, axes, square), "{name}");
            }
        }
    }
    Ok(())
}

pub(crate) fn rows_of_any_length_are_reduced(ctx: &Context) -> Result<()> {
    let lens = (1..=20).chain([31, 32, 33, 60, 63, 64, 65, 100, 128, 257, 1000, 1021, 1024, 4096, 20_000]);
    for (n_rows, len) in lens.flat_map(|len| [(3, len), (1 + 60_000 / len, len)]) {
        let host = ArrayD::from_shape_fn(vec![n_rows, len], |at| int((at[0] * len + at[1]) * 7919 % 10_007) - 5000);
        let x = ctx.to_device(&host)?;
        let name = format!("{n_rows} rows of {len}");
        assert_eq!(x.sum(1)?.to_vec()?, on_host(&host, &[1], sum), "{name}");
        assert_eq!(x.min(1)?.to_vec()?, on_host(&host, &[1], least), "{name}");
        assert_eq!(x.argmax(1)?.to_vec()?, on_host(&host, &[1], place_of_largest), "{name}");
        // Rows that begin at any offset.
        let part = x.slice(s![.., 1..])?;
        let but_first = |v: &[i32]| sum(&v[1..]);
        assert_eq!(part.sum(1)?.to_vec()?, on_host(&host, &[1], but_first), "{name} without the first");
        let bytes = x.astype::<i8>()?;
        let low_bytes = |v: &[i32]| v.iter().map(|&x| i64::from(x.to_le_bytes()[0].cast_signed())).sum::<i64>();
        assert_eq!(bytes.sum(1)?.to_vec()?, on_host(&host, &[1], low_bytes), "{name} of bytes");
        // Operands that are repeated along rows and along columns.
        let (row, column) = (x.slice(s![0])?, x.slice(s![.., ..1])?);
        let product = (&x * &row - &column).sum(1)?;
        let narrow = (x.greater(&row) | x.less(&column)).count_nonzero(1)?;
        let (product, narrow) = (product.to_vec()?, narrow.to_vec()?);
        for (i, own) in host.rows().into_iter().enumerate() {
            let pairs = || own.iter().zip(host.rows().into_iter().next().expect("rows")).map(|(&a, &b)| (a, b));
            let sum: i64 = pairs().map(|(a, b)| i64::from(a) * i64::from(b) - i64::from(own[0])).sum();
            let count = pairs().filter(|&(a, b)| a > b || a < own[0]).count();
            assert_eq!((product[i], narrow[i]), (sum, count as i64), "{name}, row {i}");
        }
    }
    Ok(())
}

pub(crate) fn positions_of_special_floats_are_numpys(ctx: &Context) -> Result<()> {
    let (nan, inf, tiny) = (f32::NAN, f32::INFINITY, f32::from_bits(1));
    // The elements, and the positions of the least and of the largest: numpy.argmin, numpy.argmax.
    let cases: [(&[f32], i64, i64); 9] = [
        (&[0.0, -0.0, 0.0], 0, 0),
        (&[-0.0, 0.0], 0, 0),
        (&[1.0, -inf, inf, 2.0], 1, 2),
        (&[1.0, inf, nan, -inf], 2, 2),
        (&[1.0, -nan, nan, 3.0], 1, 1),
        (&[-1.0, -2.0, -3.0, -2.0, -3.0], 2, 0),
        (&[2.0, 5.0, 5.0, 2.0], 0, 1),
        (&[-inf, -inf], 0, 0),
        (&[1.0, tiny, 0.5, 3.0, -tiny, 1.0, 2.0, 2.5], 4, 3),
    ];
    for (host, least, largest) in cases {
        for repeats in [1, 2, 300] {
            let repeated = host.repeat(repeats);
            let x = ctx.slice_to_device(&repeated)?;
            let found = (x.argmin(..)?.item()?, x.argmax(..)?.item()?);
            assert_eq!(found, (least, largest), "{host:?}, {repeats} times");
        }
        let rows = ctx.slice_to_device(&host.repeat(100))?.reshape([100, host.len()])?;
        assert_eq!(rows.argmin(1)?.to_vec()?, [least; 100], "{host:?}");
        assert_eq!(rows.t().argmax(0)?.to_vec()?, [largest; 100], "{host:?}");
    }
    Ok(())
}

pub(crate) fn sums_of_any_length_are_exact_for_integers(ctx: &Context) -> Result<()> {
    for n in [0_usize, 1, 2, 31, 32, 33, 255, 256, 257, 1021, 4096, 100_003, 1_200_000] {
        let x = ctx.full(n, i32::MAX)?;
        assert_eq!(x.sum(..)?.item()?, n as i64 * i64::from(i32::MAX), "{n}");
        let ones = x.greater(0);
        assert_eq!(ones.count_nonzero(..)?.item()?, n as i64);
        assert!(bool::from(ones.all(..)?.item()?));
        assert_eq!(bool::from(ones.any(..)?.item()?), n > 0);
    }
    let small = ctx.slice_to_device(&[-128_i8, 127, 3])?;
    assert_eq!(small.sum(..)?.item()?, 2);
    assert_eq!(small.prod(..)?.item()?, -128 * 127 * 3);
    assert_eq!((small.min(..)?.item()?, small.max(..)?.item()?), (-128, 127));
    let large = ctx.slice_to_device(&[u32::MAX, u32::MAX, 7])?;
    assert_eq!(large.prod(..)?.item()?, u64::from(u32::MAX).wrapping_mul(u64::from(u32::MAX)).wrapping_mul(7));
    Ok(())
}

pub(crate) fn nan_wins_and_the_first_of_equals_is_found(ctx: &Context) -> Result<()> {
    let n = 70_001;
    let mut host = vec![1.0_f32; n];
    host[400] = -3.0;
    host[60_000] = -3.0;
    let x = ctx.slice_to_device(&host)?;
    assert_eq!((x.min(..)?.item()?, x.argmin(..)?.item()?), (-3.0, 400));
    assert_eq!((x.max(..)?.item()?, x.argmax(..)?.item()?), (1.0, 0));
    host[500] = f32::NAN;
    host[61_000] = f32::NAN;
    let x = ctx.slice_to_device(&host)?;
    assert!(x.min(..)?.item()?.is_nan() && x.max(..)?.item()?.is_nan());
    assert!(x.sum(..)?.item()?.is_nan() && x.mean(..)?.item()?.is_nan());
    assert_eq!((x.argmin(..)?.item()?, x.argmax(..)?.item()?), (500, 500));
    assert_eq!((x.nanmin(..)?.item()?, x.nanmax(..)?.item()?), (-3.0, 1.0));
    assert_eq!(x.nansum(..)?.item()?, n as f32 - 2.0 - 8.0);
    assert!(ctx.full(3, f32::NAN)?.nanmin(..)?.item()?.is_nan());
    let signs = ctx.slice_to_device(&[f32::INFINITY, -f32::INFINITY])?;
    assert!(signs.sum(..)?.item()?.is_nan());
    Ok(())
}

pub(crate) fn float_sums_are_within_the_stated_bound_and_repeat(ctx: &Context) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(3);
    let n = 1_000_003;
    let kinds: [(&str, Vec<f32>); 4] = [
        ("uniform", (0..n).map(|_| random.f32()).collect()),
        ("alternating", (0..n).map(|i| if i % 2 == 0 { 1e6 + random.f32() } else { -1e6 }).collect()),
        ("one and tiny", (0..n).map(|i| if i == 0 { 1.0 } else { 1e-8 }).collect()),
        ("sorted", (0..n).map(|i| i as f32).collect()),
    ];
    for (name, values) in kinds {
        let x = ctx.slice_to_device(&values)?;
        let got = x.sum(..)?.item()?;
        let exact: f64 = values.iter().map(|&x| f64::from(x)).sum();
        let size: f64 = values.iter().map(|&x| f64::from(x.abs())).sum();
        let bound = (128.0 + f64::from(n).log2()) * f64::from(f32::EPSILON) / 2.0 * size;
        assert!((f64::from(got) - exact).abs() <= bound, "{name}: {got}, not {exact}");
        for _ in 0..3 {
            assert_eq!(x.sum(..)?.item()?.to_bits(), got.to_bits(), "{name}");
        }
        // The elements in columns, each column with a bound of its own.
        let columns = x.slice(s![..1_000_000])?.reshape([250_000, 4])?;
        let sums = columns.sum(0)?.to_vec()?;
        for (column, got) in sums.into_iter().enumerate() {
            let own = || values[..1_000_000].iter().skip(column).step_by(4).map(|&x| f64::from(x));
            let bound = (128.0 + 18.0) * f64::from(f32::EPSILON) / 2.0 * own().map(f64::abs).sum::<f64>();
            assert!((f64::from(got) - own().sum::<f64>()).abs() <= bound, "{name}, column {column}: {got}");
        }
        let mean = x.mean(..)?.item()?;
        assert!((f64::from(mean) - exact / f64::from(n)).abs() <= 1.01 * bound / f64::from(n), "{name}: {mean}");
    }
    Ok(())
}

pub(crate) fn statistics_are_numpys(ctx: &Context) -> Result<()> {
    let x = ctx.arange(0.0_f32, 24.0, 1.0)?.reshape([4, 6])?;
    assert_eq!(x.mean(0)?.to_vec()?, [9.0, 10.0, 11.0, 12.0, 13.0, 14.0]);
    assert_eq!(x.var(0)?.to_vec()?, [45.0; 6]);
    assert_eq!(x.var_with_correction(0, 1)?.to_vec()?, [60.0; 6]);
    assert!((x.std(..)?.item()? - (575.0_f32 / 12.0).sqrt()).abs() < 2e-6);
    assert_eq!(x.slice(s![0, 3..5])?.norm(..)?.to_vec()?, [5.0]);
    assert_eq!(x.mean(keepdims([0, 1]))?.shape(), [1, 1]);
    let halves = x.astype::<f16>()?;
    let tens = (&halves * f16::from_f32(1000.0)).mean(..)?.item()?;
    assert_eq!(tens, f16::from_f32(11_500.0), "the sum is larger than any f16");
    // The rows without their means, in two statements.
    let centred = (&x - &x.mean(keepdims(1))?).eval()?;
    assert_eq!(centred.sum(1)?.to_vec()?, [0.0; 4]);
    let dot = x.slice(s![0])?.vecdot(x.slice(s![1])?, ..)?;
    assert_eq!(dot.item()?, (0..6).map(|i| (i * (i + 6)) as f32).sum::<f32>());
    assert!(ctx.zeros::<f32>(0)?.mean(..)?.item()?.is_nan());
    Ok(())
}

/// Variances of numbers that are far from zero, beside the two passes of the host in `f64`.
pub(crate) fn variances_of_distant_numbers_are_precise(ctx: &Context) -> Result<()> {
    for n in [1, 2, 3, 5, 64, 127, 1021, 65_537, 1_000_003] {
        let host: Vec<f32> = (0..n).map(|i| 4096.0 + (i * 7919 % 1009) as f32 / 64.0).collect();
        let exact = |numbers: &mut dyn Iterator<Item = f64>| {
            let numbers: Vec<f64> = numbers.collect();
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64
        };
        let x = ctx.slice_to_device(&host)?;
        let near = |got: f32, wanted: f64| (f64::from(got) - wanted).abs() <= 2e-5 * wanted;
        let (got, wanted) = (x.var(..)?.item()?, exact(&mut host.iter().map(|&x| f64::from(x))));
        assert!(near(got, wanted), "{n}: {got} for {wanted}");
        let columns = x.slice(s![..n / 3 * 3])?.reshape([n / 3, 3])?;
        let rows = columns.t().copy()?;
        for (column, (a, b)) in columns.var(0)?.to_vec()?.into_iter().zip(rows.var(1)?.to_vec()?).enumerate() {
            let wanted = exact(&mut host[..n / 3 * 3].iter().skip(column).step_by(3).map(|&x| f64::from(x)));
            assert!(n < 3 || near(a, wanted) && near(b, wanted), "{n}, column {column}: {a}, {b} for {wanted}");
        }
        // The square of the mean is no `f32`.
        assert_eq!(ctx.full(n, -1e30_f32)?.var(..)?.item()?, 0.0, "{n}");
        if let Some(last) = n.checked_sub(1) {
            x.slice(s![last as isize..])?.fill(f32::INFINITY)?;
            assert!(x.var(..)?.item()?.is_nan(), "{n} with an infinity");
        }
    }
    Ok(())
}

/// Lengths beyond the integers that an `f32` represents, and beyond the iterations that an invocation may make.
pub(crate) fn more_than_2_to_the_24_elements_are_reduced_to_the_end(ctx: &Context) -> Result<()> {
    let n = (1 << 24) + 77;
    let x = ctx.ones::<u8>(n)?;
    x.slice(s![-1..])?.fill(3)?;
    assert_eq!((x.sum(..)?.item()?, x.max(..)?.item()?), (n as u64 + 2, 3));
    assert_eq!((x.argmax(..)?.item()?, x.equal(1).count_nonzero(..)?.item()?), (n as i64 - 1, n as i64 - 1));
    let columns = x.slice(s![1..])?.reshape([(n - 1) / 4, 4])?;
    let fourth = (n - 1) as u64 / 4;
    assert_eq!(columns.sum(0)?.to_vec()?, [fourth, fourth, fourth, fourth + 2]);
    assert_eq!(columns.t().max(1)?.to_vec()?, [1, 1, 1, 3]);
    Ok(())
}

/// Remainders of numbers with distant exponents take 187 iterations of a loop each, and one invocation adds 64 elements
/// of a column.
pub(crate) fn elements_that_take_long_to_compute_are_all_added(ctx: &Context) -> Result<()> {
    let x = ctx.full([64, 8], 1e308_f64)?;
    let rests = (3..11).map(|i| x.remainder(f64::from(i) * 1e-308));
    let rests: Vec<Expr<f64>> = rests.collect();
    let sums = rests.iter().map(|rest| Ok(rest.eval()?.sum(0)?.to_vec()?[0])).collect::<Result<Vec<f64>>>()?;
    let all = rests.into_iter().reduce(|a, b| a.maximum(b)).expect("there are several");
    let largest = all.sum(0)?.to_vec()?;
    assert_eq!(largest, [sums.into_iter().fold(0.0, f64::max); 8]);
    Ok(())
}
