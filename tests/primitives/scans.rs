//! Running sums: every type of numbers, lengths about tiles and blocks of tiles, rows and views; compared with sums of the
//! host.

use bytemuck::Pod;
use vkarray::array::Bool;
use vkarray::prelude::*;
use vkarray::primitives::{ScanKernel, Widen};

use crate::fixture::{Fixture, contents, with_limits};

/// Lengths of one tile of any size, about a tile of 8 × 8 × 32 or 8 × 32 × 32 numbers, and about a block of 64 tiles.
const LENGTHS: [usize; 16] =
    [0, 1, 2, 31, 33, 255, 257, 1025, 2047, 2049, 7919, 8193, 65_537, 131_072, 131_073, 1_000_003];

pub(super) fn scattered(i: usize) -> u64 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The lowest bits.
pub(super) fn low<T: Pod>(bits: u64) -> T {
    bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()])
}

/// Scans rows of these numbers on the device and on the host.
fn assert_summed<T: Widen<Sum = S>, S: Element + PartialEq + std::fmt::Debug + From<T>>(
    ctx: &Context,
    shape: [usize; 2],
    number: fn(u64) -> T,
    add: fn(S, S) -> S,
) {
    let numbers: Vec<T> = (0..shape[0] * shape[1]).map(|i| number(scattered(i))).collect();
    let x = ctx.shaped_to_device(&numbers, shape).unwrap();
    let found = contents(&x.cumulative_sum(1).unwrap());
    let mut sum = None;
    for (i, (&found, &own)) in found.iter().zip(&numbers).enumerate() {
        let own = S::from(own);
        let expected = if i % shape[1] == 0 { own } else { add(sum.unwrap(), own) };
        assert_eq!(found, expected, "{} {shape:?} {i}", std::any::type_name::<T>());
        sum = Some(expected);
    }
}

fn assert_all_summed(ctx: &Context, shape: [usize; 2]) {
    assert_summed::<i32, i64>(ctx, shape, low, i64::wrapping_add);
    assert_summed::<u32, u64>(ctx, shape, low, u64::wrapping_add);
    assert_summed::<i64, i64>(ctx, shape, low, i64::wrapping_add);
    assert_summed::<i8, i64>(ctx, shape, low, i64::wrapping_add);
    assert_summed::<u16, u64>(ctx, shape, low, u64::wrapping_add);
    // Sums of small integers are exact in floats.
    assert_summed::<f32, f32>(ctx, shape, |bits| (bits % 15) as f32 - 7.0, |a, b| a + b);
    if ctx.info().features.shader_float64 {
        assert_summed::<f64, f64>(ctx, shape, |bits| (bits >> 40) as f64, |a, b| a + b);
    }
}

#[test]
fn sums_of_every_type_and_length_are_those_of_the_host() {
    let fixture = Fixture::open();
    for length in LENGTHS {
        assert_all_summed(&fixture, [1, length]);
    }
}

#[test]
fn rows_are_summed_apart() {
    let fixture = Fixture::open();
    for shape in [[70_001, 3], [300, 3001], [129, 128], [5, 140_001], [2, 8192]] {
        assert_all_summed(&fixture, shape);
    }
}

#[test]
fn a_device_without_operations_of_subgroups_scans_too() {
    with_limits(r#"{"subgroup": {"operations": 1}}"#, |ctx| {
        for shape in [[1, 1], [3, 255], [2, 257], [1, 5003], [100, 9]] {
            assert_all_summed(&ctx, shape);
        }
    });
}

/// The operation is associative and depends on the order of its operands: (a, b) stands for x ↦ a x + b.
#[test]
fn operands_keep_their_order() {
    let fixture = Fixture::open();
    let combine = "(((a >> 16u) * (b >> 16u)) << 16u) | (((a & 0xffffu) * (b >> 16u) + b) & 0xffffu)";
    let compose = ScanKernel::new(combine, "0x10000u");
    for n in [1, 100, 2049, 300_007] {
        let numbers: Vec<u32> = (0..n).map(|i| low(scattered(i) >> 20)).collect();
        let x = fixture.slice_to_device(&numbers).unwrap();
        let mut sum = 0x10000_u32;
        let expected: Vec<u32> = numbers
            .iter()
            .map(|&b| {
                let high = (sum >> 16).wrapping_mul(b >> 16) << 16;
                sum = high | ((sum & 0xffff).wrapping_mul(b >> 16).wrapping_add(b) & 0xffff);
                sum
            })
            .collect();
        assert_eq!(contents(&compose.inclusive(&x, 0).unwrap()), expected, "{n}");
    }
}

#[test]
fn sums_of_floats_have_the_same_bits_on_every_run() {
    let fixture = Fixture::open();
    let numbers: Vec<f32> = (0..500_009).map(|i| (scattered(i) as f32).sqrt() - 2.0e9).collect();
    let x = fixture.slice_to_device(&numbers).unwrap();
    let bits = |x: &DeviceNDArray<f32>| contents(&x.cumulative_sum(0).unwrap().view::<u32>().unwrap());
    let first = bits(&x);
    for _ in 0..25 {
        assert!(bits(&x) == first);
    }
}

/// Scans an array of one or two axes within segments along its last axis, on the host, and compares.
fn assert_segmented<T: Element + PartialEq + std::fmt::Debug>(
    found: vkarray::Result<DeviceNDArray<T>>,
    (x, starts): (&DeviceNDArray<T>, &DeviceNDArray<Bool>),
    combine: impl Fn(T, T) -> T,
) {
    let (found, length) = (found.unwrap().copy_to_host().unwrap(), x.shape()[x.ndim() - 1]);
    let (numbers, flags) = (x.copy_to_host().unwrap(), starts.copy_to_host().unwrap());
    let mut before = None;
    for (i, ((&own, &flag), &found)) in numbers.iter().zip(&flags).zip(&found).enumerate() {
        let is_start = i % length == 0 || bool::from(flag);
        let expected = if is_start { own } else { combine(before.unwrap(), own) };
        assert_eq!(found, expected, "{} {:?} {i}", std::any::type_name::<T>(), x.shape());
        before = Some(expected);
    }
}

/// Where segments start: nowhere, everywhere, rarely, often, and about the ends of tiles.
const STARTS: [fn(usize) -> bool; 5] = [
    |_| false,
    |_| true,
    |i| scattered(i).is_multiple_of(5000),
    |i| scattered(i).is_multiple_of(5),
    |i| matches!(i % 1024, 0 | 1023),
];

fn assert_all_segmented(ctx: &Context, shape: [usize; 2], is_start: fn(usize) -> bool) {
    let count = shape[0] * shape[1];
    let flags: Vec<Bool> = (0..count).map(|i| is_start(i).into()).collect();
    let starts = ctx.shaped_to_device(&flags, shape).unwrap();
    let by = |zero: &str| ScanKernel::new("a + b", zero);
    let words: Vec<u32> = (0..count).map(|i| low(scattered(i))).collect();
    let x = ctx.shaped_to_device(&words, shape).unwrap();
    assert_segmented(by("0u").inclusive_by_segment(&x, &starts, -1), (&x, &starts), u32::wrapping_add);
    // The operation depends on the order of its operands: (a, b) stands for x ↦ a x + b.
    let combine = "(((a >> 16u) * (b >> 16u)) << 16u) | (((a & 0xffffu) * (b >> 16u) + b) & 0xffffu)";
    let compose = ScanKernel::new(combine, "0x10000u");
    assert_segmented(compose.inclusive_by_segment(&x, &starts, -1), (&x, &starts), |a, b| {
        let high = (a >> 16).wrapping_mul(b >> 16) << 16;
        high | ((a & 0xffff).wrapping_mul(b >> 16).wrapping_add(b) & 0xffff)
    });
    let x = x.view::<i32>().unwrap();
    assert_segmented(by("0i").inclusive_by_segment(&x, &starts, -1), (&x, &starts), i32::wrapping_add);
    let floats: Vec<f32> = (0..count).map(|i| (scattered(i) % 15) as f32 - 7.0).collect();
    let x = ctx.shaped_to_device(&floats, shape).unwrap();
    assert_segmented(by("0.0").inclusive_by_segment(&x, &starts, -1), (&x, &starts), |a, b| a + b);
    if ctx.info().features.shader_int64 {
        let longs: Vec<u64> = (0..count).map(scattered).collect();
        let x = ctx.shaped_to_device(&longs, shape).unwrap();
        assert_segmented(by("0lu").inclusive_by_segment(&x, &starts, -1), (&x, &starts), u64::wrapping_add);
        let x = x.view::<i64>().unwrap();
        assert_segmented(by("0li").inclusive_by_segment(&x, &starts, -1), (&x, &starts), i64::wrapping_add);
    }
    if ctx.info().features.shader_float64 {
        let doubles: Vec<f64> = (0..count).map(|i| (scattered(i) >> 40) as f64).collect();
        let x = ctx.shaped_to_device(&doubles, shape).unwrap();
        assert_segmented(by("0.0lf").inclusive_by_segment(&x, &starts, -1), (&x, &starts), |a, b| a + b);
    }
}

#[test]
fn scans_within_segments_of_every_type_and_length_are_those_of_the_host() {
    let fixture = Fixture::open();
    for (i, length) in LENGTHS.into_iter().filter(|&length| length < 1_000_000).enumerate() {
        for (j, is_start) in STARTS.into_iter().enumerate() {
            if length < 10_000 || i % STARTS.len() == j || j == 2 {
                assert_all_segmented(&fixture, [1, length], is_start);
            }
        }
    }
    for shape in [[7001, 3], [300, 301], [129, 128], [3, 70_001], [3, 20_004]] {
        assert_all_segmented(&fixture, shape, STARTS[3]);
    }
}

#[test]
fn views_are_scanned_within_segments_along_any_axis() {
    let fixture = Fixture::open();
    let host: Vec<u32> = (0..30_000).map(|i| low(scattered(i))).collect();
    let flags: Vec<Bool> = (0..30_000).map(|i| scattered(i + 7).is_multiple_of(9).into()).collect();
    let (x, starts) = (fixture.shaped_to_device(&host, [150, 200]).unwrap(), fixture.slice_to_device(&flags).unwrap());
    let starts = starts.reshape([150, 200]).unwrap();
    let sum = ScanKernel::new("a + b", "0u");
    let down = sum.inclusive_by_segment(&x, &starts, 0).unwrap().copy_to_host().unwrap();
    let along = sum.inclusive_by_segment(&x.t(), &starts.t(), 1).unwrap().t().copy_to_host().unwrap();
    assert_eq!(down, along);
    let part = s![3..;2, ..;-3];
    let row = starts.slice(s![5]).unwrap().broadcast_to([150, 200]).unwrap();
    let parts = (x.slice(part).unwrap(), starts.slice(part).unwrap());
    for (x, starts) in [(x.t(), starts.t()), parts, (x.clone(), row)] {
        assert_segmented(sum.inclusive_by_segment(&x, &starts, -1), (&x, &starts), u32::wrapping_add);
    }
    let refused = sum.inclusive_by_segment(&x, &starts.t(), 0).unwrap_err().to_string();
    assert_eq!(refused, "inclusive_by_segment does not take shapes (150, 200) and (200, 150)");
}

#[test]
fn scans_within_segments_run_in_parts_and_without_operations_of_subgroups() {
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| {
        for shape in [[1, 70_001], [3, 40_000], [9001, 7]] {
            assert_all_segmented(&ctx, shape, STARTS[3]);
        }
    });
    with_limits(r#"{"subgroup": {"operations": 1}}"#, |ctx| {
        for shape in [[1, 1], [3, 255], [1, 5003]] {
            assert_all_segmented(&ctx, shape, STARTS[3]);
        }
    });
}

#[test]
fn floats_within_segments_have_the_same_bits_on_every_run() {
    let fixture = Fixture::open();
    let numbers: Vec<f32> = (0..500_009).map(|i| (scattered(i) as f32).sqrt() - 2.0e9).collect();
    let x = fixture.slice_to_device(&numbers).unwrap();
    let flags: Vec<Bool> = (0..500_009).map(|i| scattered(i).is_multiple_of(100_000).into()).collect();
    let starts = fixture.slice_to_device(&flags).unwrap();
    let sum = ScanKernel::new("a + b", "0.0");
    let bits = || contents(&sum.inclusive_by_segment(&x, &starts, 0).unwrap().view::<u32>().unwrap());
    let first = bits();
    for _ in 0..25 {
        assert!(bits() == first);
    }
}
