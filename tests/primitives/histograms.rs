//! Histograms of every type, number of bins, size and kind of data, compared with counts of the host.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use half::{bf16, f16};
use vkarray::prelude::*;
use vkarray::primitives::Widen;

use crate::fixture::{Fixture, contents, with_limits};

/// Numbers about the counters of a workgroup: several, one or none for each bin.
const BINS: [usize; 7] = [1, 2, 255, 256, 257, 8192, 8193];

/// Sizes with whole quads and without, with one workgroup and several.
const SIZES: [usize; 6] = [0, 1, 3, 8191, 65_537, 200_003];

/// The bins between edges, with comparisons alone.
fn counted<T: PartialOrd>(values: &[T], edges: &[T]) -> Vec<u32> {
    let (mut counts, last) = (vec![0; edges.len() - 1], edges.len() - 1);
    for value in values.iter().filter(|value| **value >= edges[0] && **value <= edges[last]) {
        let place = edges.partition_point(|edge| edge <= value);
        counts[place.min(last) - 1] += 1;
    }
    counts
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
fn rounded(value: f64) -> f32 {
    value as f32
}

/// Uniform, constant and skewed numbers between 0 and 1; and numbers on the edges, below and above them, and NaN.
fn data(name: &str, n: usize, edges: &[f64]) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(n as u64);
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, -1e-40, 3e38, -3e38, 1.0, 2.0];
    let one = |i: usize| match name {
        "uniform" => random.f32(),
        "constant" => 0.5,
        "skewed" => random.f32().powi(8),
        _ if i % 5 == 4 => special[i / 5 % special.len()],
        _ => {
            let edge = rounded(edges[i % edges.len()]);
            [edge, edge.next_up(), edge.next_down(), random.f32() * 3.0 - 1.0][i % 4]
        }
    };
    (0..n).map(one).collect()
}

#[test]
fn floats_are_counted_as_by_comparisons_with_the_edges() {
    let ctx = Fixture::open();
    for (n, bins) in
        SIZES.into_iter().flat_map(|n| BINS.map(|bins| (n, bins))).filter(|&(n, bins)| n < 9000 || bins < 300)
    {
        for (name, range) in
            [("uniform", 0.0..=1.0), ("constant", 0.0..=1.0), ("skewed", 0.0..=1.0), ("special", -0.1..=0.7)]
        {
            let exact: Vec<f64> =
                (0..=bins).map(|i| range.start() + (range.end() - range.start()) * i as f64 / bins as f64).collect();
            let values = data(name, n, &exact);
            let x = ctx.slice_to_device(&values).unwrap();
            let (counts, edges) = x.histogram(bins, range).unwrap();
            assert_eq!(contents(&counts), counted(&values, &edges), "{n} {name} in {bins}");
        }
    }
}

#[test]
fn edges_that_are_close_to_each_other_are_compared() {
    let ctx = Fixture::open();
    for (bins, range) in
        [(256, 1e6..=1e6 + 3.0), (100, 0.0..=1e-38), (7, -3e38..=1e38), (3, 5.0..=5.0), (8192, 1.0..=2.0)]
    {
        let (start, width) = (*range.start(), range.end() - range.start());
        let values: Vec<f32> = (0..20_011).map(|i| rounded(start + width * f64::from(i - 5) / 20_000.0)).collect();
        let x = ctx.slice_to_device(&values).unwrap();
        let (counts, edges) = x.histogram(bins, range.clone()).unwrap();
        assert_eq!(contents(&counts), counted(&values, &edges), "{range:?}");
        let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
        let (counts, edges) = ctx.slice_to_device(&wide).unwrap().histogram(bins, range.clone()).unwrap();
        assert_eq!(contents(&counts), counted(&wide, &edges), "{range:?} of f64");
    }
}

/// Numbers with these bits, scattered over the type, and each of them again.
fn scattered<T: bytemuck::Pod>(n: usize) -> Vec<T> {
    let word = |i: usize| (i as u64 % 5003 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_ne_bytes();
    (0..n).map(|i| bytemuck::pod_read_unaligned(&word(i)[8 - size_of::<T>()..])).collect()
}

/// Counts numbers between even edges, and between edges of their own type.
fn assert_counted<T>(ctx: &Context, range: RangeInclusive<f64>)
where
    T: Widen<Edge = f64> + PartialOrd + Debug + bytemuck::Pod + Into<f64>,
{
    let values = scattered::<T>(20_003);
    let wide: Vec<f64> = values.iter().map(|&value| value.into()).collect();
    let x = ctx.slice_to_device(&values).unwrap();
    for bins in [1, 2, 100, 256, 257, 8193] {
        let (counts, edges) = x.histogram(bins, range.clone()).unwrap();
        assert_eq!(contents(&counts), counted(&wide, &edges), "{bins} in {range:?}");
    }
    assert_between(ctx, &values);
}

/// Counts numbers between some of them, and those of a view that begins behind the first.
fn assert_between<T: Widen + PartialOrd + Debug>(ctx: &Context, values: &[T]) {
    let x = ctx.slice_to_device(values).unwrap();
    for n in [2, 3, 300] {
        let mut edges: Vec<T> = values.iter().copied().filter(|x| x.partial_cmp(x).is_some()).take(n).collect();
        edges.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(contents(&x.histogram_between(&edges).unwrap()), counted(values, &edges), "{n} edges");
        for step in [1, 3] {
            let view = x.slice(s![1..;step]).unwrap();
            let own: Vec<T> = values[1..].iter().copied().step_by(step.cast_unsigned()).collect();
            assert_eq!(contents(&view.histogram_between(&edges).unwrap()), counted(&own, &edges), "{n} edges, {step}");
        }
    }
}

#[test]
fn every_type_of_numbers_is_counted() {
    let ctx = Fixture::open();
    for range in [0.0..=255.0, -3.5..=99.25, -1e9..=3e9, 300.0..=400.0] {
        assert_counted::<i8>(&ctx, range.clone());
        assert_counted::<u8>(&ctx, range.clone());
        assert_counted::<i16>(&ctx, range.clone());
        assert_counted::<u16>(&ctx, range.clone());
        assert_counted::<i32>(&ctx, range.clone());
        assert_counted::<u32>(&ctx, range);
    }
    assert_between(&ctx, &scattered::<i64>(20_003));
    assert_between(&ctx, &scattered::<u64>(20_003));
    assert_between(&ctx, &scattered::<f16>(20_003));
    assert_between(&ctx, &scattered::<bf16>(20_003));
    assert_between(&ctx, &scattered::<f32>(20_003));
    assert_between(&ctx, &scattered::<f64>(20_003));
    let bytes: Vec<u32> = (0..70_001).map(|i| i * 7 % 259).collect();
    let edges: Vec<u32> = (0..=256).collect();
    let x = ctx.slice_to_device(&bytes).unwrap();
    assert_eq!(contents(&x.histogram_between(&edges).unwrap()), counted(&bytes, &edges));
}

#[test]
fn histograms_are_the_same_with_few_counters_invocations_and_bound_bytes() {
    let limits = [
        r#"{"max_compute_shared_memory_size": 16384}"#,
        r#"{"max_compute_work_group_invocations": 256}"#,
        r#"{"max_storage_buffer_range": 65536}"#,
    ];
    let values: Vec<f32> = (0..100_003).map(|i| (i * 7919 % 100_003) as f32 / 1e5).collect();
    for limits in limits {
        with_limits(limits, |ctx| {
            let x = ctx.slice_to_device(&values).unwrap();
            for bins in [5, 256, 257, 5000] {
                let (counts, edges) = x.histogram(bins, 0.0..=1.0).unwrap();
                assert_eq!(contents(&counts), counted(&values, &edges), "{bins}, {limits}");
            }
        });
    }
}
