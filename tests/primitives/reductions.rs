//! Refused reductions, the streams of reductions, and reductions and scans of more elements than a kernel takes at
//! once. `crates/checks` checks other results of reductions.

use vkarray::array::Bool;
use vkarray::prelude::*;
use vkarray::primitives::{ReductionKernel, ScanKernel};

use crate::fixture::{Fixture, contents, with_limits};

#[test]
fn refused_reductions_name_what_is_wrong() {
    let ctx = Fixture::open();
    let empty = ctx.zeros::<f32>([2, 0]).unwrap();
    assert_eq!(empty.max(1).unwrap_err().to_string(), "max of no elements, along axes of shape (2, 0), has no value");
    assert_eq!(empty.max(0).unwrap().shape(), [0]);
    assert_eq!(contents(&empty.sum(1).unwrap()), [0.0; 2]);
    assert_eq!(contents(&empty.all(1).unwrap()).into_iter().map(bool::from).collect::<Vec<_>>(), [true; 2]);
    assert!(empty.sum(2).is_err() && empty.sum([0, 0]).is_err());
    assert!(empty.item().is_err());
    let _: DeviceNDArray<Bool> = empty.any(..).unwrap();
}

#[test]
fn a_reduction_runs_on_its_stream() {
    let ctx = Fixture::open();
    let stream = ctx.stream().unwrap();
    let x = ctx.zeros::<i32>([50, 30]).unwrap();
    for round in 1..10 {
        (&x + 1).on(&stream).assign_to(&x).unwrap();
        assert_eq!(x.on(&stream).sum(..).unwrap().item().unwrap(), 1500 * round);
        assert_eq!(x.max(0).unwrap().on(&stream).sum(..).unwrap().item().unwrap(), 30 * round);
    }
}

/// The device binds 64 KiB at once, so most of these arrays are reduced in many parts.
#[test]
fn arrays_longer_than_a_bound_range_are_reduced_in_parts() {
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| assert_reduced_in_parts(&ctx));
}

/// The first NaN is the least and the largest element, in any part; this holds for every type.
#[test]
fn positions_in_parts_are_those_of_the_whole() {
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| {
        let n = 50_000_usize;
        let mut host: Vec<f32> = (0..n).map(|i| (i * 7919 % 1009) as f32).collect();
        let place = |host: &[f32]| ctx.slice_to_device(host).unwrap().argmax(..).unwrap().item().unwrap();
        assert_eq!(place(&host), host.iter().position(|&x| x == 1008.0).unwrap() as i64);
        for at in [49_999, 40_001, 12_000] {
            host[at] = f32::NAN;
            assert_eq!(place(&host), at as i64);
        }
        let bytes: Vec<u8> = (0..3 * 70_000).map(|i| u8::from(i != 150_000)).collect();
        let x = ctx.shaped_to_device(&bytes, [3, 70_000]).unwrap();
        assert_eq!(x.argmin(..).unwrap().item().unwrap(), 150_000);
        assert_eq!(contents(&x.argmin(1).unwrap()), [0, 0, 10_000]);
        assert_eq!(contents(&x.flip(Some(&[1])).unwrap().argmin(1).unwrap()), [0, 0, 59_999]);
    });
}

/// An expression that `eval` takes has all reductions, with any number of arrays and numbers.
#[test]
fn reductions_take_what_eval_takes() {
    let ctx = Fixture::open();
    let rows: Vec<_> = (0..12).map(|i| ctx.full([5, 1], i as f32).unwrap()).collect();
    let columns: Vec<_> = (0..12).map(|i| ctx.full([1, 7], i as f32).unwrap()).collect();
    let mut most = 0;
    for n in 1..=12 {
        let sum = (0..n).fold(Expr::scalar(0.5_f32), |sum, i| sum + &rows[i] * &columns[i] + i as f32);
        let Ok(values) = sum.eval() else { break };
        most = n;
        let host = values.copy_to_host().unwrap();
        assert_eq!(contents(&sum.sum(0).unwrap()), vec![5.0 * host[[0, 0]]; 7], "{n}");
        assert_eq!(sum.max(..).unwrap().item().unwrap(), host[[0, 0]], "{n}");
        assert_eq!(contents(&sum.argmax(1).unwrap()), [0; 5], "{n}");
    }
    assert!(most >= 2, "{most}");
    let wide = (0..12).fold(Expr::scalar(0.5_f32), |sum, i| sum + &rows[i] * &columns[i] + i as f32);
    let wide = (0..30).fold(wide, |sum, i| sum + i as f32);
    let (eval, sum) = (wide.eval(), wide.sum(..));
    assert_eq!(eval.is_ok(), sum.is_ok());
    if let (Err(eval), Err(sum)) = (eval, sum) {
        assert_eq!(eval.to_string(), sum.to_string());
    }
}

/// Products of integers have 64 bits before they are added.
#[test]
fn inner_products_of_integers_are_exact() {
    let ctx = Fixture::open();
    let bytes = ctx.full([3, 100], -128_i8).unwrap();
    assert_eq!(contents(&bytes.vecdot(&bytes, 1).unwrap()), [1_638_400_i64; 3]);
    let large = ctx.slice_to_device(&[i32::MIN, i32::MAX, -7]).unwrap();
    let expected: i64 = [i32::MIN, i32::MAX, -7].iter().map(|&x| i64::from(x) * i64::from(x)).sum();
    assert_eq!(large.vecdot(&large, ..).unwrap().item().unwrap(), expected);
    let words = ctx.slice_to_device(&[u32::MAX, 3]).unwrap();
    let expected = u64::from(u32::MAX) * u64::from(u32::MAX) + 9;
    assert_eq!(words.vecdot(&words, ..).unwrap().item().unwrap(), expected);
    let long = ctx.full(100_000, u16::MAX).unwrap();
    assert_eq!(long.vecdot(&long, ..).unwrap().item().unwrap(), 100_000 * u64::from(u16::MAX) * u64::from(u16::MAX));
    let (row, column) = (ctx.arange(0, 4, 1).unwrap(), ctx.full([3, 1], -2).unwrap());
    assert_eq!(contents(&row.vecdot(&column, -1).unwrap()), [-12_i64; 3]);
    assert_eq!(contents(&row.vecdot(7, -1).unwrap()), [42_i64]);
    let none = ctx.zeros::<u8>([2, 0]).unwrap();
    assert_eq!(contents(&none.vecdot(&none, 1).unwrap()), [0_u64; 2]);
    assert!(row.vecdot(ctx.zeros(3).unwrap(), 0).is_err());
}

/// Rows that are longer than a bound range, and more rows than a bound range has.
#[test]
fn arrays_longer_than_a_bound_range_are_scanned_in_parts() {
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| {
        let highest = ScanKernel::new("max(a, b)", "-1.0e30");
        for shape in [[1, 70_001], [3, 40_000], [9001, 7], [2, 16_384]] {
            let host: Vec<f32> = (0..shape[0] * shape[1]).map(|i| (i * 7919 % 101) as f32 - 50.0).collect();
            let x = ctx.shaped_to_device(&host, shape).unwrap();
            for (axis, view) in [(1, x.clone()), (0, x.t()), (-1, x.flip(None).unwrap())] {
                let host = view.copy_to_host().unwrap();
                let (mut sums, mut largest) = (host.clone(), host);
                let lane_axis = ndarray::Axis(usize::from(axis != 0));
                sums.accumulate_axis_inplace(lane_axis, |&before, own| *own += before);
                largest.accumulate_axis_inplace(lane_axis, |&before, own| *own = own.max(before));
                let found = view.cumulative_sum(axis).unwrap().copy_to_host().unwrap();
                assert_eq!(found, sums, "{shape:?} {axis}");
                let found = highest.inclusive(&view, axis).unwrap().copy_to_host().unwrap();
                assert_eq!(found, largest, "{shape:?} {axis}");
            }
        }
        let ones = ctx.full(30_000, 1_u8).unwrap();
        let counted = ones.cumulative_sum(0).unwrap().to_vec().unwrap();
        assert!(counted.into_iter().eq(1..=30_000_u64));
    });
}

fn assert_reduced_in_parts(ctx: &Context) {
    for shape in [[1, 70_001], [7, 10_007], [257, 131]] {
        let host: Vec<f32> = (0..shape[0] * shape[1]).map(|i| (i * 7919 % 101) as f32 - 50.0).collect();
        let x = ctx.shaped_to_device(&host, shape).unwrap();
        for view in [x.clone(), x.t(), x.flip(None).unwrap()] {
            let host = view.copy_to_host().unwrap();
            for axis in [0, 1] {
                let lanes = || host.lanes(ndarray::Axis(axis)).into_iter();
                let sums: Vec<f32> = lanes().map(|lane| lane.sum()).collect();
                let least: Vec<f32> = lanes().map(|lane| lane.iter().copied().fold(f32::MAX, f32::min)).collect();
                let counts: Vec<i64> = lanes().map(|lane| lane.iter().filter(|x| **x > 30.0).count() as i64).collect();
                let axis = axis.cast_signed();
                assert_eq!(contents(&view.sum(keepdims(axis)).unwrap()), sums, "{shape:?} {axis}");
                assert_eq!(contents(&view.min(axis).unwrap()), least, "{shape:?} {axis}");
                let first = |lane: ndarray::ArrayView1<'_, f32>, wins: fn(f32, f32) -> bool| {
                    (0..lane.len()).fold(0, |best, i| if wins(lane[i], lane[best]) { i } else { best }) as i64
                };
                if view.is_c_contiguous() {
                    let expected: Vec<i64> = lanes().map(|lane| first(lane, |a, b| a < b)).collect();
                    assert_eq!(contents(&view.argmin(keepdims(axis)).unwrap()), expected, "{shape:?} {axis}");
                }
                let any = contents(&view.greater(48.0).any(axis).unwrap());
                let expected = lanes().map(|lane| lane.iter().any(|&x| x > 48.0).into());
                assert_eq!(any, expected.collect::<Vec<Bool>>(), "{shape:?} {axis}");
                if ctx.info().features.shader_int64 {
                    let found = view.greater(30.0).count_nonzero(axis).unwrap();
                    assert_eq!(contents(&found), counts, "{shape:?} {axis}");
                }
            }
            assert_eq!(view.sum(..).unwrap().item().unwrap(), host.sum());
            let least = host.iter().position(|&x| x == -50.0).unwrap() as i64;
            assert_eq!(view.argmin(..).unwrap().item().unwrap(), least, "{shape:?}");
            let largest = ReductionKernel::new("abs(x)", "max(a, b)", "a + 1.0", "0.0");
            assert_eq!(largest.arg("x", &view).reduce::<f32>(..).unwrap().item().unwrap(), 51.0);
        }
    }
    let x = ctx.zeros::<f32>([40_000, 3]).unwrap();
    assert_eq!(contents(&x.argmax(1).unwrap()), [0; 40_000]);
    assert_eq!(contents(&x.argmax(0).unwrap()), [0; 3]);
}
