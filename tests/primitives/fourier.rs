//! Fourier transforms, compared with sums of all products and with a recursive transform on the host, both in `f64`; their
//! errors grow with the number of doublings of the length.
#![expect(clippy::cast_possible_truncation, reason = "numbers are rounded to the nearest")]

use std::f64::consts::TAU;

use vkarray::array::Complex32;
use vkarray::prelude::*;
use vkarray::primitives::{FftNorm, fftfreq};

use crate::fixture::{Fixture, contents, with_limits};

type Number = [f64; 2];

fn root(j: usize, n: usize) -> Number {
    let (sine, cosine) = (-TAU * (j % n) as f64 / n as f64).sin_cos();
    [cosine, sine]
}

fn times(a: Number, b: Number) -> Number {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn plus(a: Number, b: Number) -> Number {
    [a[0] + b[0], a[1] + b[1]]
}

/// The sum of all products.
fn sums(x: &[Number]) -> Vec<Number> {
    let n = x.len();
    let sum = |k: usize| (0..n).map(|j| times(x[j], root(j * k, n))).fold([0.0; 2], plus);
    (0..n).map(sum).collect()
}

/// The transform by halves: of the elements with an even and with an odd number.
fn transformed(x: &[Number]) -> Vec<Number> {
    let n = x.len();
    if n == 1 {
        return x.to_vec();
    }
    let half = |first: usize| transformed(&x.iter().copied().skip(first).step_by(2).collect::<Vec<_>>());
    let (even, odd) = (half(0), half(1));
    let turned: Vec<Number> = odd.into_iter().enumerate().map(|(k, x)| times(x, root(k, n))).collect();
    let low = even.iter().zip(&turned).map(|(&a, &b)| plus(a, b));
    let high = even.iter().zip(&turned).map(|(&a, &b)| plus(a, [-b[0], -b[1]]));
    low.chain(high).collect()
}

fn swapped(x: &[Number]) -> Vec<Number> {
    x.iter().map(|[re, im]| [*im, *re]).collect()
}

fn scaled(x: &[Number], factor: f64) -> Vec<Number> {
    x.iter().map(|&x| times(x, [factor, 0.0])).collect()
}

/// Numbers between -1 and 1 that look random, and have no more than 24 bits.
fn numbers(len: usize, seed: usize) -> Vec<Number> {
    let part = |i: usize| {
        let mixed = ((i + seed * 0x5_0000) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 41;
        mixed as f64 / f64::from(1 << 22) - 1.0
    };
    (0..len).map(|i| [part(2 * i), part(2 * i + 1)]).collect()
}

fn complex(x: &[Number]) -> Vec<Complex32> {
    x.iter().map(|&[re, im]| Complex32 { re: re as f32, im: im as f32 }).collect()
}

/// The root of the mean square error by that of the numbers, and the largest error by the largest number.
fn errors(found: &[Complex32], expected: &[Number]) -> [f64; 2] {
    assert_eq!(found.len(), expected.len());
    let square = |[re, im]: Number| re * re + im * im;
    let errors =
        || found.iter().zip(expected).map(|(x, &[re, im])| square([f64::from(x.re) - re, f64::from(x.im) - im]));
    let squares = || expected.iter().map(|&x| square(x));
    [
        (errors().sum::<f64>() / squares().sum::<f64>()).sqrt(),
        (errors().fold(0.0, f64::max) / squares().fold(0.0, f64::max)).sqrt(),
    ]
}

/// Half of the distance of 1 and the next `f32`.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// Compares rows with the host's; the mean error may be half of a rounding for each doubling, and one for the factor.
fn assert_near(found: &[Complex32], expected: &[Number], n: usize, what: &str) {
    let bound = ROUNDING * (1.0 + f64::from(n.ilog2()) / 2.0);
    let [mean, largest] = errors(found, expected);
    assert!(mean <= bound && largest <= 4.0 * bound, "{what} of {n}: {mean:e}, {largest:e} of {bound:e}");
}

/// Transforms rows forward and back by every norm.
fn compare(ctx: &Context, n_rows: usize, n: usize) {
    let host = numbers(n_rows * n, n);
    let x = ctx.slice_to_device(&complex(&host)).unwrap().reshape([n_rows, n]).unwrap();
    let of_rows = |of: &dyn Fn(&[Number]) -> Vec<Number>| host.chunks(n).flat_map(of).collect::<Vec<_>>();
    let forward = of_rows(&|row| transformed(row));
    let back = of_rows(&|row| swapped(&transformed(&swapped(row))));
    assert_near(&contents(&x.fft(1).unwrap()), &forward, n, "fft");
    assert_near(&contents(&x.ifft(-1).unwrap()), &scaled(&back, 1.0 / n as f64), n, "ifft");
    if n <= 1 << 13 {
        let ortho = 1.0 / (n as f64).sqrt();
        for (norm, factors) in [(FftNorm::Ortho, [ortho; 2]), (FftNorm::Forward, [1.0 / n as f64, 1.0])] {
            let found = contents(&x.fft_with_norm(1, norm).unwrap());
            assert_near(&found, &scaled(&forward, factors[0]), n, "fft with a norm");
            let found = contents(&x.ifft_with_norm(1, norm).unwrap());
            assert_near(&found, &scaled(&back, factors[1]), n, "ifft with a norm");
        }
    }
}

#[test]
fn transforms_of_all_lengths_are_the_hosts() {
    for n in [1, 2, 4, 8, 16, 32, 64] {
        let x = numbers(n, 7);
        let [_, largest] = errors(&complex(&sums(&x)), &transformed(&x));
        assert!(largest < 4.0 * ROUNDING, "the host's two ways: {largest:e}");
    }
    let ctx = Fixture::open();
    for bits in 0..=17 {
        compare(&ctx, if bits <= 13 { 3 } else { 1 }, 1 << bits);
    }
    compare(&ctx, 1, 1 << 20);
}

#[test]
fn impulses_constants_and_waves_have_known_transforms() {
    let ctx = Fixture::open();
    for n in [2_usize, 8, 128, 2048, 1 << 14] {
        let one = |place: usize| (0..n).map(move |j| [f64::from(u8::from(j == place)), 0.0]).collect::<Vec<_>>();
        let forward = |x: &[Number]| contents(&ctx.slice_to_device(&complex(x)).unwrap().fft(0).unwrap());
        assert!(forward(&one(0)).iter().all(|x| (x.re, x.im) == (1.0, 0.0)), "{n}");
        let wave = |k: usize| (0..n).map(|j| root(j * k, n)).collect::<Vec<_>>();
        for place in [1, n / 2, n - 1] {
            assert_near(&forward(&one(place)), &wave(place), n, "an impulse");
            // A wave against the sense of the transform.
            assert_near(&forward(&wave(n - place)), &scaled(&one(place), n as f64), n, "a wave");
        }
        let constant = forward(&vec![[1.0, 0.0]; n]);
        assert_eq!((constant[0].re, constant[0].im), (n as f32, 0.0));
        assert!(constant[1..].iter().all(|x| (x.re, x.im) == (0.0, 0.0)), "{n}");
    }
}

#[test]
fn any_number_of_rows_comes_back() {
    let ctx = Fixture::open();
    for [n_rows, n] in [[0, 8], [1, 2], [3, 4], [65_537, 2], [65_537, 16], [513, 256], [7, 8192], [3, 1 << 15]] {
        let host = numbers(n_rows * n, n);
        let x = ctx.slice_to_device(&complex(&host)).unwrap().reshape([n_rows, n]).unwrap();
        let there = x.fft(1).unwrap();
        assert_eq!(there.shape(), [n_rows, n]);
        if n_rows > 0 {
            let last: Vec<Number> = host[(n_rows - 1) * n..].to_vec();
            assert_near(&contents(&there)[(n_rows - 1) * n..], &transformed(&last), n, "the last row");
            assert_near(&contents(&there.ifft(1).unwrap()), &host, n * n, "there and back");
        }
    }
}

/// More rows than are transformed at once by several passes.
#[test]
fn long_rows_are_transformed_a_few_at_a_time() {
    let ctx = Fixture::open();
    let n = 1 << 16;
    let row = numbers(n, 3);
    let x = ctx.slice_to_device(&complex(&row)).unwrap();
    let factors = ctx.arange(1_i32, 66, 1).unwrap().cast::<Complex32>().eval().unwrap();
    let rows = (factors.reshape([65, 1]).unwrap() * &x).eval().unwrap();
    let found = rows.fft(1).unwrap();
    let expected = transformed(&row);
    for i in [0, 31, 63, 64] {
        let own = contents(&found.slice(s![i]).unwrap());
        assert_near(&own, &scaled(&expected, i as f64 + 1.0), n, "a row");
    }
}

#[test]
fn views_are_transformed_along_every_axis() {
    let ctx = Fixture::open();
    let host = numbers(8 * 6 * 32, 5);
    let x = ctx.slice_to_device(&complex(&host)).unwrap().reshape([8, 6, 32]).unwrap();
    for (view, axis) in [
        (x.clone(), 0_isize),
        (x.slice(s![.., ..4, ..]).unwrap(), 1),
        (x.slice(s![1.., ..;-1, ..;2]).unwrap(), -1),
        (x.slice(s![..;2, 2, ..;-1]).unwrap(), 0),
        (x.slice(s![3, 1..5, 7..]).unwrap(), -2),
        (x.t(), 0),
        (ctx.slice_to_device(&complex(&host[..1])).unwrap().broadcast_to([5, 4]).unwrap(), 1),
    ] {
        let rows = view.copy_to_host().unwrap();
        let found = view.fft(axis).unwrap().copy_to_host().unwrap();
        assert_eq!(found.shape(), rows.shape());
        let along = ndarray::Axis(axis.rem_euclid(rows.ndim() as isize).unsigned_abs());
        for (row, found) in rows.lanes(along).into_iter().zip(found.lanes(along)) {
            let row: Vec<Number> = row.iter().map(|x| [f64::from(x.re), f64::from(x.im)]).collect();
            assert_near(&found.to_vec(), &transformed(&row), row.len(), "a lane");
        }
    }
}

#[test]
fn transforms_are_linear() {
    let ctx = Fixture::open();
    let n = 1 << 12;
    let [x, y] = [1, 2].map(|seed| ctx.slice_to_device(&complex(&numbers(n, seed))).unwrap());
    let (a, b) = (Complex32 { re: 2.0, im: -1.0 }, Complex32 { re: 0.5, im: 4.0 });
    let of_sum = (&x * a + &y * b).eval().unwrap().fft(0).unwrap();
    let sum = (x.fft(0).unwrap() * a + y.fft(0).unwrap() * b).eval().unwrap();
    let sum: Vec<Number> = contents(&sum).iter().map(|x| [f64::from(x.re), f64::from(x.im)]).collect();
    assert_near(&contents(&of_sum), &sum, n * n, "a sum");
}

#[test]
fn several_axes_frequencies_and_shifts_are_numpys() {
    let ctx = Fixture::open();
    let host = numbers(16 * 64, 9);
    let x = ctx.slice_to_device(&complex(&host)).unwrap().reshape([16, 64]).unwrap();
    let rows: Vec<Number> = host.chunks(64).flat_map(transformed).collect();
    let columns: Vec<Vec<Number>> =
        (0..64).map(|k| transformed(&(0..16).map(|i| rows[64 * i + k]).collect::<Vec<_>>())).collect();
    let expected: Vec<Number> = (0..16 * 64).map(|at| columns[at % 64][at / 64]).collect();
    let found = x.fftn([-1, 0]).unwrap();
    assert_near(&contents(&found), &expected, 16 * 64, "two axes");
    assert_near(&contents(&found.ifftn([0, 1]).unwrap()), &host, 16 * 64, "two axes there and back");
    let of = |n: usize| fftfreq(&ctx, n, 0.25).unwrap().to_vec().unwrap();
    assert_eq!((of(5), of(4)), (vec![0.0, 0.8, 1.6, -1.6, -0.8], vec![0.0, 1.0, -2.0, -1.0]));
    assert_eq!(of(1), [0.0]);
    for (n, middle) in [(4, 2), (5, 2)] {
        let x = ctx.arange(0, n, 1).unwrap();
        assert_eq!(x.fftshift(0).unwrap().get([middle]).unwrap(), 0);
        assert_eq!(x.fftshift(0).unwrap().ifftshift(0).unwrap().to_vec().unwrap(), x.to_vec().unwrap());
    }
}

#[test]
fn other_lengths_are_refused() {
    let ctx = Fixture::open();
    let x = ctx.zeros::<Complex32>([3, 12, 0]).unwrap();
    let refused = |axis: isize| x.fft(axis).unwrap_err().to_string();
    let lengths = "and the lengths are powers of two up to 16777216";
    assert_eq!(refused(0), format!("fft: an axis has length 3, {lengths}; pad it with zeros to 4, or cut it"));
    assert_eq!(refused(1), format!("fft: an axis has length 12, {lengths}; pad it with zeros to 16, or cut it"));
    assert_eq!(refused(2), format!("fft: an axis has length 0, {lengths}"));
    assert_eq!(refused(3), "axis 3 is out of range for 3 axes");
    let long = ctx.zeros::<Complex32>([1]).unwrap().broadcast_to([1 << 25]).unwrap();
    let refused = long.ifft(0).unwrap_err().to_string();
    assert_eq!(refused, format!("ifft: an axis has length 33554432, {lengths}"));
    assert!(ctx.zeros::<Complex32>([]).unwrap().fft(0).is_err());
}

#[test]
fn smaller_devices_take_more_passes_and_fewer_rows_at_once() {
    for limits in [
        r#"{"max_compute_shared_memory_size": 16384}"#,
        r#"{"max_compute_shared_memory_size": 16384, "max_compute_work_group_invocations": 128}"#,
    ] {
        with_limits(limits, |ctx| {
            for bits in [1, 2, 3, 9, 11, 12, 13, 15, 17, 19] {
                compare(&ctx, if bits < 12 { 5 } else { 1 }, 1 << bits);
            }
        });
    }
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| {
        for [n_rows, n] in [[20_001, 2], [100, 128], [3, 4096], [3, 8192]] {
            compare(&ctx, n_rows, n);
        }
    });
}

#[test]
fn kernels_of_transforms_pass_the_sanitizer() {
    let ctx = Fixture::open();
    ctx.kernel_cache().set_sanitize(true);
    for [n_rows, n] in [[3, 2], [5, 8], [3, 16]] {
        compare(&ctx, n_rows, n);
    }
}
