//! Sorted elements, their order, different values, positions among sorted values and histograms, compared with the
//! host.

use std::cmp::Ordering;

use ndarray::{Array2, Axis};
use vkarray::prelude::*;
use vkarray::primitives::Side;

use crate::{Result, int, number};

/// Lengths around the elements that one workgroup sorts, and primes.
const LENGTHS: [usize; 9] = [0, 1, 2, 255, 256, 257, 1021, 4099, 100_003];

/// The order of NumPy: NaN is the greatest, zeros of both signs are equal.
fn order(a: f32, b: f32) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Numbers of all signs and sizes, some of them twice, with infinities, NaN and zeros of both signs.
fn floats(n: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(n as u64);
    let special = [f32::NAN, f32::INFINITY, -f32::INFINITY, 0.0, -0.0];
    (0..n)
        .map(|i| if i % 11 == 3 { special[i / 11 % 5] } else { ((random.f32() - 0.5) * 2000.0).round() / 4.0 })
        .collect()
}

/// The stable order of the host.
fn places(keys: &[f32], is_descending: bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..keys.len()).collect();
    places.sort_by(|&a, &b| {
        let order = order(keys[a], keys[b]);
        if is_descending { order.reverse() } else { order }
    });
    places
}

pub(crate) fn floats_are_sorted_as_by_a_stable_sort_of_the_host(ctx: &Context) -> Result<()> {
    for n in LENGTHS {
        let keys = floats(n);
        let x = ctx.slice_to_device(&keys)?;
        for is_descending in [false, true] {
            let (sorted, found) = if is_descending {
                (x.sort_descending(0)?, x.argsort_descending(0)?)
            } else {
                (x.sort(0)?, x.argsort(0)?)
            };
            let expected = places(&keys, is_descending);
            let found: Vec<usize> = found.to_vec()?.into_iter().map(|place| place as usize).collect();
            assert!(found == expected, "the order of {n}, descending: {is_descending}");
            let k = n.div_ceil(20_000);
            let (_, first) = if is_descending { x.top_k(k, 0)? } else { x.bottom_k(k, 0)? };
            let first: Vec<usize> = first.to_vec()?.into_iter().map(|place| place as usize).collect();
            assert!(first == expected[..k], "the first {k} of {n}, descending: {is_descending}");
            let sorted: Vec<u32> = sorted.to_vec()?.into_iter().map(f32::to_bits).collect();
            // A zero with the sign comes before one without, where their order is not asked for.
            let mut expected: Vec<f32> = expected.iter().map(|&place| keys[place]).collect();
            expected.sort_by(|a, b| match order(*a, *b).then(a.to_bits().cmp(&b.to_bits()).reverse()) {
                order if is_descending => order.reverse(),
                order => order,
            });
            let expected: Vec<u32> = expected.into_iter().map(f32::to_bits).collect();
            assert!(sorted == expected, "{n} sorted, descending: {is_descending}");
        }
    }
    Ok(())
}

pub(crate) fn rows_and_columns_of_any_view_are_sorted(ctx: &Context) -> Result<()> {
    let host = Array2::from_shape_fn((37, 300), |(row, column)| int((row * 300 + column) * 7919 % 1009) - 500);
    let x = ctx.to_device(&host)?;
    for view in [x.clone(), x.t(), x.slice(s![..;-1, ..;3])?] {
        for axis in [0, 1] {
            let mut expected = view.copy_to_host()?;
            for mut lane in expected.lanes_mut(Axis(axis)) {
                let mut values = lane.to_vec();
                values.sort_unstable();
                lane.assign(&ndarray::Array::from(values));
            }
            assert_eq!(view.sort(axis as isize)?.copy_to_host()?, expected, "along {axis} of {view:?}");
        }
    }
    Ok(())
}

pub(crate) fn different_values_come_with_places_and_counts(ctx: &Context) -> Result<()> {
    for n in LENGTHS {
        let host: Vec<u32> = (0..n).map(|i| number(i * 7919 % 613)).collect();
        let unique = ctx.slice_to_device(&host)?.unique_all()?;
        let mut values = host.clone();
        values.sort_unstable();
        values.dedup();
        assert_eq!(unique.values.to_vec()?, values, "values of {n}");
        let first = |value: &u32| host.iter().position(|other| other == value).map_or(0, number);
        assert_eq!(unique.indices.to_vec()?, values.iter().map(first).collect::<Vec<_>>(), "places of {n}");
        let place = |value: &u32| values.binary_search(value).map_or(0, number);
        let inverse: Vec<u32> = host.iter().map(place).collect();
        assert_eq!(unique.inverse.to_vec()?, inverse, "inverse of {n}");
        let mut counts = vec![0; values.len()];
        inverse.iter().for_each(|&place| counts[place as usize] += 1);
        assert_eq!(unique.counts.to_vec()?, counts, "counts of {n}");
    }
    Ok(())
}

pub(crate) fn values_are_found_and_counted_between_edges(ctx: &Context) -> Result<()> {
    let edges = [-400.0_f32, -7.5, -7.5, 0.0, 12.25, 300.0];
    for n in LENGTHS {
        let values: Vec<f32> = floats(n).into_iter().filter(|value| !value.is_nan()).collect();
        let (x, sorted) = (ctx.slice_to_device(&values)?, ctx.slice_to_device(&edges)?);
        for (side, is_before) in [(Side::Left, f32::lt as fn(&f32, &f32) -> bool), (Side::Right, f32::le)] {
            let place = |value: &f32| number(edges.iter().filter(|edge| is_before(edge, value)).count());
            let expected: Vec<u32> = values.iter().map(place).collect();
            assert_eq!(sorted.searchsorted(&x, side)?.to_vec()?, expected, "{n}, {side:?}");
        }
        let bins = edges.windows(2).enumerate().map(|(bin, edge)| {
            let is_in = |value: &&f32| **value >= edge[0] && (**value < edge[1] || bin == 4 && **value == edge[1]);
            number(values.iter().filter(is_in).count())
        });
        assert_eq!(x.histogram_between(&edges)?.to_vec()?, bins.collect::<Vec<_>>(), "{n} counted");
    }
    Ok(())
}
