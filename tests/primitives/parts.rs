//! Functions of arrays that are longer than what the device binds at once, which is 64 KiB here: they run in parts, or are
//! refused with the numbers.
#![expect(clippy::cast_possible_truncation, reason = "the numbers are small")]

use half::f16;
use vkarray::array::{Bool, Complex64, Element};
use vkarray::prelude::*;
use vkarray::primitives::{Rng, Side};

use crate::fixture::{contents, with_limits};

/// A number that looks random, and is less than `below`.
fn scattered(i: usize, below: usize) -> usize {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize % below
}

fn with_short_bindings(test: impl FnOnce(Context)) {
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, test);
}

#[test]
fn elements_are_taken_in_parts() {
    with_short_bindings(|ctx| {
        let bytes: Vec<u8> = (0..200_003).map(|i| scattered(i, 251) as u8).collect();
        let places: Vec<i64> = (0..150_001).map(|i| scattered(i, bytes.len()) as i64 - 100).collect();
        let x = ctx.slice_to_device(&bytes).unwrap();
        let taken = x.take(&ctx.slice_to_device(&places).unwrap(), 0).unwrap();
        let host = |place: i64| bytes[place.rem_euclid(bytes.len() as i64) as usize];
        assert!(contents(&taken).into_iter().eq(places.iter().map(|&place| host(place))));
        let wrong = ctx.slice_to_device(&[&places[..140_000], &[200_003], &[-200_004]].concat()).unwrap();
        let refused = x.take(&wrong, 0).unwrap_err().to_string();
        assert_eq!(refused, "take: index 200003 at position 140000 is out of range for an axis of length 200003");

        let host = ndarray::Array3::from_shape_fn((30, 50, 41), |(i, j, k)| (i * 10_000 + j * 100 + k) as f64);
        let x = ctx.to_device(&host).unwrap();
        for axis in 0..3 {
            let n = host.shape()[axis];
            let indices: Vec<usize> = (0..70).map(|i| scattered(i, n)).collect();
            let on_device: Vec<i32> = indices.iter().map(|&i| i as i32).collect();
            let taken = x.take(&ctx.slice_to_device(&on_device).unwrap(), axis).unwrap();
            assert_eq!(taken.copy_to_host().unwrap(), host.select(ndarray::Axis(axis), &indices).into_dyn(), "{axis}");
        }
        let along =
            ndarray::Array3::from_shape_fn((30, 20, 41), |(i, j, k)| scattered(i * 820 + j * 41 + k, 50) as u32);
        let taken = x.take_along_axis(&ctx.to_device(&along).unwrap(), 1).unwrap();
        let expected = ndarray::Array3::from_shape_fn(along.dim(), |(i, j, k)| host[[i, along[[i, j, k]] as usize, k]]);
        assert_eq!(taken.copy_to_host().unwrap(), expected.into_dyn());
    });
}

/// Writes scattered values to every view of an array, on the device and on the host.
fn assert_put<T: Element + PartialEq + std::fmt::Debug>(
    ctx: &Context,
    value: fn(usize) -> T,
    [n, n_values]: [usize; 2],
) {
    let old: Vec<T> = (0..n).map(value).collect();
    let views = [s![..], s![3..], s![..;2], s![5..;-3], s![..;-1]];
    for view in &views {
        let x = ctx.slice_to_device(&old).unwrap();
        let target = x.slice(*view).unwrap();
        let length = target.size();
        let indices: Vec<u32> = (0..n / 2).map(|i| scattered(i, length) as u32).collect();
        let values: Vec<T> = (0..n_values).map(|i| value(i + 7)).collect();
        let on_device = (ctx.slice_to_device(&indices).unwrap(), ctx.slice_to_device(&values).unwrap());
        target.put(&on_device.0, &on_device.1).unwrap();
        let places = ctx.slice_to_device(&(0..n as u32).collect::<Vec<_>>()).unwrap().slice(*view).unwrap();
        let places = places.to_vec().unwrap();
        let mut host = old.clone();
        for (i, &index) in indices.iter().enumerate() {
            host[places[index as usize] as usize] = values[i % n_values];
        }
        assert!(contents(&x) == host, "{:?} of {n}, {n_values} values", view);
    }
}

#[test]
fn elements_are_put_in_parts() {
    with_short_bindings(|ctx| {
        assert_put::<u8>(&ctx, |i| scattered(i, 251) as u8, [100_003, 70_000]);
        assert_put::<u8>(&ctx, |i| scattered(i, 251) as u8, [100_003, 3]);
        assert_put::<f16>(&ctx, |i| f16::from_f32(scattered(i, 2000) as f32), [50_001, 30_000]);
        assert_put::<i32>(&ctx, |i| i as i32, [40_001, 40_001]);
        assert_put::<Complex64>(&ctx, |i| Complex64 { re: i as f64, im: -1.0 }, [10_001, 4200]);
    });
}

#[test]
fn elements_under_a_mask_are_compacted_in_parts() {
    with_short_bindings(|ctx| {
        let n = 150_001;
        let is_set = |i: usize| scattered(i, 5) > 1;
        let mask: Vec<Bool> = (0..n).map(|i| is_set(i).into()).collect();
        let mask = ctx.slice_to_device(&mask).unwrap();
        let places: Vec<u32> = (0..n as u32).filter(|&i| is_set(i as usize)).collect();
        let words = ctx.slice_to_device(&(0..n as i32).collect::<Vec<_>>()).unwrap();
        assert!(contents(&words.compact(&mask).unwrap()).into_iter().eq(places.iter().map(|&i| i as i32)));
        let wide = ctx.slice_to_device(&(0..n).map(|i| i as f64).collect::<Vec<_>>()).unwrap();
        assert!(contents(&wide.compact(&mask).unwrap()).into_iter().eq(places.iter().map(|&i| f64::from(i))));
        let bytes: Vec<u8> = (0..n).map(|i| scattered(i, 251) as u8).collect();
        let found = ctx.slice_to_device(&bytes).unwrap().compact(&mask).unwrap();
        assert!(contents(&found).into_iter().eq(places.iter().map(|&i| bytes[i as usize])));

        let [rows, columns] = &mask.slice(s![1..]).unwrap().reshape([300, 500]).unwrap().nonzero().unwrap()[..] else {
            panic!("two axes")
        };
        let inner = || places.iter().filter(|&&i| i > 0).map(|&i| i - 1);
        assert!(contents(rows).into_iter().eq(inner().map(|i| i / 500)));
        assert!(contents(columns).into_iter().eq(inner().map(|i| i % 500)));

        words.put_mask(&mask, &words.compact(&mask).unwrap().flip(None).unwrap()).unwrap();
        let mut expected: Vec<i32> = (0..n as i32).collect();
        for (&to, &from) in places.iter().zip(places.iter().rev()) {
            expected[to as usize] = from as i32;
        }
        assert!(contents(&words) == expected);
        words.fill_where(&mask, -1).unwrap();
        assert_eq!(contents(&words.compact(&mask).unwrap()), vec![-1; places.len()]);
    });
}

#[test]
fn places_and_counts_are_found_in_parts() {
    with_short_bindings(|ctx| {
        let sorted: Vec<f64> = (0..40_000).map(|i| f64::from(i / 3)).collect();
        let values: Vec<f64> =
            (0..50_000).map(|i| scattered(i, 15_000) as f64 - 50.5 * f64::from(i as u32 % 2)).collect();
        let (x, on_device) = (ctx.slice_to_device(&sorted).unwrap(), ctx.slice_to_device(&values).unwrap());
        let left = contents(&x.searchsorted(&on_device, Side::Left).unwrap());
        let right = contents(&x.searchsorted(&on_device, Side::Right).unwrap());
        for (i, &value) in values.iter().enumerate() {
            assert_eq!(left[i] as usize, sorted.partition_point(|&x| x < value), "{value}");
            assert_eq!(right[i] as usize, sorted.partition_point(|&x| x <= value), "{value}");
        }
        let among = ctx.slice_to_device(&[3.0, -49.5, 14_999.0]).unwrap();
        let found = contents(&on_device.isin(&among).unwrap());
        let expected = values.iter().map(|value| [3.0, -49.5, 14_999.0].contains(value));
        assert!(found.into_iter().map(bool::from).eq(expected));

        let (counts, edges) = on_device.histogram(7, 0.0..=10_000.0).unwrap();
        let bin = |low: f64, high: f64| values.iter().filter(|&&x| low <= x && x < high).count() as u32;
        let mut expected: Vec<u32> = edges.windows(2).map(|edge| bin(edge[0], edge[1])).collect();
        expected[6] += values.iter().filter(|&&x| x == 10_000.0).count() as u32;
        assert_eq!(contents(&counts), expected);
    });
}

#[test]
fn random_numbers_and_triangles_are_made_in_parts() {
    with_short_bindings(|ctx| {
        let whole = Rng::philox(3).uniform::<f32>(&ctx, 50_000).unwrap().to_vec().unwrap();
        let behind = Rng::philox(3).at(49_000).uniform::<f32>(&ctx, 1000).unwrap().to_vec().unwrap();
        assert_eq!(whole[49_000..], behind);
        let bits = Rng::numpy_philox(3).bits::<u64>(&ctx, 20_001).unwrap().to_vec().unwrap();
        let behind = Rng::numpy_philox(3).at(40_000).bits::<u64>(&ctx, 1).unwrap().to_vec().unwrap();
        assert_eq!(bits[20_000..], behind);
        let x = ctx.arange(1_u16, 40_001, 1).unwrap().reshape([2, 100, 200]).unwrap();
        let lower = x.tril(3).unwrap().copy_to_host().unwrap();
        let host = x.copy_to_host().unwrap();
        for ((at, &kept), &value) in lower.indexed_iter().zip(&host) {
            assert_eq!(kept, if at[2] <= at[1] + 3 { value } else { 0 }, "{at:?}");
        }
        let chosen = Rng::philox(1).choice(&x.reshape(40_000).unwrap(), 50_000).unwrap();
        assert!(contents(&chosen).iter().all(|&value| (1..=40_000).contains(&value)));
    });
}

#[test]
fn functions_that_bind_an_array_as_a_whole_say_so() {
    with_short_bindings(|ctx| {
        let x = ctx.zeros::<f32>(20_000).unwrap();
        let refused = |operation: &str, nbytes: u32| {
            format!(
                "{operation} uses {nbytes} bytes of one array at once, more than the 65536 that the device binds; use parts of it"
            )
        };
        for error in [
            x.sort(0).unwrap_err(),
            x.argsort(0).unwrap_err(),
            x.unique_values().unwrap_err(),
            ctx.zeros::<f32>(3).unwrap().isin(&x).unwrap_err(),
            Rng::philox(1).permutation(&x.slice(s![..10_000]).unwrap()).unwrap_err(),
        ] {
            assert_eq!(error.to_string(), refused("sorting", 80_000));
        }
        let edges: Vec<f32> = (0..20_000).map(|i| i as f32).collect();
        assert_eq!(x.histogram_between(&edges).unwrap_err().to_string(), refused("histogram", 80_000));
        let matrix = x.reshape([200, 100]).unwrap();
        assert_eq!(matrix.matmul(&matrix.t()).unwrap_err().to_string(), refused("matmul", 160_000));
    });
}
