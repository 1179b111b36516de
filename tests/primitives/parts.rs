//! Functions of arrays that are longer than what the device binds at once, which is 64 KiB here: they run in parts.
#![expect(clippy::cast_possible_truncation, reason = "the numbers are small")]

use half::f16;
use ndarray::Dimension;
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
fn matrices_are_multiplied_in_parts() {
    with_short_bindings(|ctx| {
        let host = |shape: &[usize], seed: usize| {
            ndarray::ArrayD::from_shape_fn(shape, |at| {
                let flat = (0..at.ndim()).fold(seed, |sum, i| sum * 31 + at[i]);
                scattered(flat, 17) as i32 - 8
            })
        };
        // Each axis is the longest once: the stack, rows, columns and the inner axis. An operand has one matrix, or
        // all, and the halves of an odd length differ.
        let cases: [(&[usize], &[usize]); 6] = [
            (&[20_003, 2], &[2, 3]),
            (&[2, 3], &[3, 20_003]),
            (&[1, 40_001], &[40_001, 1]),
            (&[201, 103], &[103, 197]),
            (&[401, 9, 7], &[1, 7, 11]),
            (&[3, 1, 90, 70], &[2, 70, 33]),
        ];
        for (first, second) in cases {
            let (a, b) = (host(first, 1), host(second, 2));
            let product = ctx.to_device(&a).unwrap().matmul(&ctx.to_device(&b).unwrap()).unwrap();
            let shape = product.shape().to_vec();
            let n = shape.len();
            let at = |array: &ndarray::ArrayD<i32>, stack: &[usize], row: usize, column: usize| {
                let own = array.ndim() - 2;
                let mut index: Vec<usize> = stack[stack.len() - own..].to_vec();
                index.iter_mut().zip(array.shape()).for_each(|(i, &length)| *i %= length);
                array[[index.as_slice(), &[row, column]].concat().as_slice()]
            };
            for (index, &value) in product.copy_to_host().unwrap().indexed_iter() {
                let (stack, row, column) = (&index.slice()[..n - 2], index[n - 2], index[n - 1]);
                let terms = (0..first[first.len() - 1]).map(|k| at(&a, stack, row, k) * at(&b, stack, k, column));
                assert_eq!(value, terms.sum::<i32>(), "{first:?} {second:?} {index:?}");
            }
        }
        let floats = ctx.full([1, 40_000], 0.5_f32).unwrap();
        assert_eq!(floats.matmul(&floats.t()).unwrap().item().unwrap(), 10_000.0);
    });
}

#[test]
fn elements_are_sorted_and_counted_in_parts() {
    with_short_bindings(|ctx| {
        let floats: Vec<f64> =
            (0..50_021).map(|i| if i % 997 == 0 { f64::NAN } else { scattered(i, 9000) as f64 - 4000.5 }).collect();
        let mut order: Vec<usize> = (0..floats.len()).collect();
        let nan_last = |x: f64| (x.is_nan(), if x.is_nan() { 0.0 } else { x });
        order.sort_by(|&a, &b| nan_last(floats[a]).partial_cmp(&nan_last(floats[b])).unwrap());
        let x = ctx.slice_to_device(&floats).unwrap();
        assert!(contents(&x.argsort(0).unwrap()).iter().map(|&at| at as usize).eq(order.iter().copied()));
        let sorted = contents(&x.sort(0).unwrap());
        assert!(sorted.iter().zip(&order).all(|(value, &at)| value.total_cmp(&floats[at]).is_eq()));

        let words: Vec<u32> = (0..70_001).map(|i| scattered(i, 20_011) as u32).collect();
        let mut expected = words.clone();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        let y = ctx.slice_to_device(&words).unwrap();
        assert_eq!(contents(&y.sort_descending(0).unwrap()), expected);
        // Rows that the device binds one or several at a time, and rows that it does not bind.
        for shape in [[10_000, 7], [5, 14_000], [2, 35_000]] {
            let rows = y.slice_axis(0, 1..).unwrap().reshape(shape).unwrap();
            let sorted = rows.sort(1).unwrap().copy_to_host().unwrap();
            for (row, own) in sorted.outer_iter().zip(words[1..].chunks(shape[1])) {
                let mut own = own.to_vec();
                own.sort_unstable();
                assert!(row.iter().copied().eq(own), "{shape:?}");
            }
        }

        let different = y.unique_all().unwrap();
        expected.reverse();
        expected.dedup();
        assert_eq!(contents(&different.values), expected);
        let (firsts, inverse) = (contents(&different.indices), contents(&different.inverse));
        let counts = contents(&different.counts);
        for (i, &value) in expected.iter().enumerate() {
            assert_eq!(words.iter().position(|&word| word == value), Some(firsts[i] as usize), "{value}");
        }
        assert!(inverse.iter().zip(&words).all(|(&at, &word)| expected[at as usize] == word));
        let mut counted = vec![0; counts.len()];
        inverse.iter().for_each(|&at| counted[at as usize] += 1);
        assert_eq!(counts, counted);
        assert_eq!(x.unique_values().unwrap().size(), {
            let mut different: Vec<_> = floats.iter().filter(|x| !x.is_nan()).map(|x| x.to_bits()).collect();
            different.sort_unstable();
            different.dedup();
            different.len() + floats.iter().filter(|x| x.is_nan()).count()
        });

        let among = ctx.slice_to_device(&words[..40_000]).unwrap();
        let found = contents(&ctx.arange(0_u32, 20_100, 1).unwrap().isin(&among).unwrap());
        assert!((0..20_100).all(|i| bool::from(found[i]) == words[..40_000].contains(&(i as u32))));
        let mut shuffled = contents(&Rng::philox(1).permutation(&y).unwrap());
        assert_ne!(shuffled, words);
        shuffled.sort_unstable();
        let mut all = words.clone();
        all.sort_unstable();
        assert_eq!(shuffled, all);

        let edges: Vec<u32> = (0..20_001).map(|i| i / 2 * 2).collect();
        let counts = contents(&y.histogram_between(&edges).unwrap());
        let bin = |low: u32, high: u32| all.partition_point(|&x| x < high) - all.partition_point(|&x| x < low);
        let mut expected: Vec<usize> = edges.windows(2).map(|edge| bin(edge[0], edge[1])).collect();
        *expected.last_mut().unwrap() += bin(20_000, 20_001);
        assert!(counts.iter().map(|&count| count as usize).eq(expected));
    });
}
