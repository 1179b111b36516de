//! Functions of distributed arrays against the host's whole array, with several numbers of ranks and random
//! decompositions. The ranks are threads that share a context.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]
#![expect(clippy::cast_possible_truncation, reason = "the numbers are small")]

mod counted;

use std::cell::RefCell;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

use counted::{Counted, Counts};
use proptest::prelude::*;
use vkarray::ndarray::{ArrayD, Axis, Dimension, IxDyn};
use vkarray::prelude::*;
use vkarray::primitives::Rng;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, Region, ThreadRank, Transport, map};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| Context::open_default().unwrap());

const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

/// Shapes of one to three axes on grids of up to three parts each, also more parts than elements.
fn any_parts() -> impl Strategy<Value = Decomposition> {
    prop::collection::vec((0..8_usize, 1..4_usize, (0..2_usize, 0..2_usize)), 1..4).prop_map(|axes| {
        let (shape, rest): (Vec<usize>, Vec<_>) =
            axes.into_iter().map(|(len, parts, ghosts)| (len, (parts, ghosts))).unzip();
        let (grid, ghosts): (Vec<usize>, Vec<_>) = rest.into_iter().unzip();
        Decomposition::with_grid(shape, grid).unwrap().ghosts(ghosts).unwrap()
    })
}

/// Small integers of both signs, so that sums of floats are exact.
fn number(index: &[usize]) -> f32 {
    (index.iter().fold(7, |number, &at| number * 31 + at) % 61) as f32 - 30.0
}

fn whole<T>(shape: &[usize], element: impl Fn(&[usize]) -> T) -> ArrayD<T> {
    ArrayD::from_shape_fn(IxDyn(shape), |index| element(index.slice()))
}

/// Runs a program of ranks, and returns what rank 0 returns. The others have to succeed too.
fn first<R: Send>(size: usize, program: impl Fn(&ThreadRank) -> Result<R, DistError> + Sync) -> R {
    let results: Vec<R> = ThreadRank::run(size, program).into_iter().map(Result::unwrap).collect();
    results.into_iter().next().unwrap()
}

/// A reduction of the host along axes, which remain with length one.
fn along(array: &ArrayD<f32>, axes: &[usize], join: impl Fn(f32, f32) -> f32, start: f32) -> ArrayD<f32> {
    axes.iter().fold(array.clone(), |array, &axis| {
        array.fold_axis(Axis(axis), start, |&a, &b| join(a, b)).insert_axis(Axis(axis))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reductions_along_axes_are_those_of_the_host(parts in any_parts(), mask in 0..8_usize) {
        let axes: Vec<usize> = (0..parts.shape().len()).filter(|axis| mask >> axis & 1 == 1).collect();
        let host = whole(parts.shape(), number);
        let count: usize = axes.iter().map(|&axis| parts.shape()[axis]).product();
        let has_extremes = count > 0 || host.is_empty() && along(&host, &axes, f32::min, 0.0).is_empty();
        let (sum, mean, exact, extremes) = first(parts.ranks(), |rank| {
            let x = DistArray::from_fn(&CONTEXT, rank, &parts, number)?;
            let sum = x.sum_along(&axes)?;
            let extremes = match has_extremes {
                true => Some([x.min_along(&axes)?.gather()?, x.max_along(&axes)?.gather()?]),
                false => {
                    assert!(x.min_along(&axes).is_err() && x.max_along(&axes).is_err());
                    None
                }
            };
            Ok((sum.gather()?, x.mean_along(&axes)?.gather()?, x.reproducible_sum_along(&axes)?.gather()?, extremes))
        });
        let expected = along(&host, &axes, |a, b| a + b, 0.0);
        prop_assert_eq!(sum.as_ref(), Some(&expected));
        prop_assert_eq!(exact.as_ref(), Some(&expected));
        for (mean, sum) in mean.unwrap().iter().zip(&expected) {
            prop_assert!((mean - sum / count as f32).abs() <= 1e-5 || count == 0 && mean.is_nan());
        }
        if let Some([least, largest]) = extremes {
            prop_assert_eq!(least.unwrap(), along(&host, &axes, f32::min, f32::INFINITY));
            prop_assert_eq!(largest.unwrap(), along(&host, &axes, f32::max, f32::NEG_INFINITY));
        }
    }

    #[test]
    fn reproducible_sums_have_the_same_bits_in_each_decomposition(
        parts in any_parts(), seed in any::<u64>(), wide in any::<bool>(),
    ) {
        let element = |index: &[usize]| {
            let draw = index.iter().fold(seed | 1, |n, &at| (n ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let exponent = if wide { (draw % 40) as i32 - 20 } else { 0 };
            ((draw >> 20) as u32 as f32 - 2.0_f32.powi(31)) * 2.0_f32.powi(exponent)
        };
        let host = whole(parts.shape(), element).mapv(f64::from);
        let exact: i128 = host.iter().map(|value| (value * 2.0_f64.powi(32)) as i128).sum();
        let alone = Decomposition::over(parts.shape(), 1).unwrap();
        let sums: Vec<(f32, f64, u32)> = [&alone, &parts].map(|parts| first(parts.ranks(), |rank| {
            let x = DistArray::from_fn(&CONTEXT, rank, parts, element)?;
            let double = map(&x, |x| x.cast::<f64>())?;
            let last = parts.shape().len() - 1;
            let rows = x.reproducible_sum_along(&[last])?.gather()?.into_iter().flatten();
            let bits = rows.fold(0, |all: u32, row| all.rotate_left(5) ^ row.to_bits());
            Ok((x.reproducible_sum()?, double.reproducible_sum()?, bits))
        })).to_vec();
        prop_assert_eq!(sums[0].0.to_bits(), sums[1].0.to_bits());
        prop_assert_eq!(sums[0].1.to_bits(), sums[1].1.to_bits());
        prop_assert_eq!(sums[0].2, sums[1].2);
        let exact = exact as f64 * 2.0_f64.powi(-32);
        let largest = host.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let bound = |unit: f64| unit * exact.abs() + unit / 4.0 * largest;
        prop_assert!((f64::from(sums[0].0) - exact).abs() <= 1.0001 * bound(2.0_f64.powi(-24)), "{:?} {}", sums, exact);
        prop_assert!((sums[0].1 - exact).abs() <= 2.0 * bound(2.0_f64.powi(-53)), "{:?} {}", sums, exact);
    }

    #[test]
    fn expressions_are_those_of_the_host(parts in any_parts(), axis in 0..3_usize) {
        let axis = axis % parts.shape().len();
        let other = |index: &[usize]| 2 + (index.iter().sum::<usize>() % 5) as i32;
        let (result, shares) = first(parts.ranks(), |rank| {
            let x = DistArray::from_fn(&CONTEXT, rank, &parts, number)?;
            // Ghost zones and borders may differ.
            let borders = vec![Border::Periodic; parts.shape().len()];
            let y = DistArray::from_fn(&CONTEXT, rank, &parts.clone().borders(borders)?, other)?;
            let result = map((&x, &y), |(x, y)| (&x * 2.0).maximum(y.cast::<f32>()) - x)?;
            result.assign(&result, |own| own + 1.0)?;
            let shares = map((&y, &y.sum_along(&[axis])?), |(y, sum)| y.cast::<i64>() * sum)?;
            Ok((result.gather()?, shares.gather()?))
        });
        let expected = whole(parts.shape(), |at| (number(at) * 2.0).max(other(at) as f32) - number(at) + 1.0);
        prop_assert_eq!(result, Some(expected));
        let sums = whole(parts.shape(), |at| i64::from(other(at))).sum_axis(Axis(axis)).insert_axis(Axis(axis));
        prop_assert_eq!(shares, Some(whole(parts.shape(), |at| i64::from(other(at))) * sums));
    }

    #[test]
    fn random_numbers_are_those_of_one_rank(parts in any_parts(), from in 0..5_u64) {
        let rng = Rng::philox(3).at(from);
        let (floats, doubles, normal, dice) = first(parts.ranks(), |rank| {
            let floats = DistArray::random(&CONTEXT, rank, &parts, &rng, |rng, ctx, n| rng.uniform::<f32>(ctx, n))?;
            let doubles = DistArray::random(&CONTEXT, rank, &parts, &rng, |rng, ctx, n| rng.uniform::<f64>(ctx, n))?;
            let normal = DistArray::random(&CONTEXT, rank, &parts, &rng, |rng, ctx, n| rng.normal::<f64>(ctx, n))?;
            let dice = DistArray::random(&CONTEXT, rank, &parts, &rng, |rng, ctx, n| rng.integers(ctx, 1..7_i32, n))?;
            Ok((floats.gather()?, doubles.gather()?, normal.gather()?, dice.gather()?))
        });
        let (rng, shape) = (|| rng.clone(), parts.shape());
        prop_assert_eq!(floats.unwrap(), rng().uniform::<f32>(&CONTEXT, shape).unwrap().copy_to_host().unwrap());
        prop_assert_eq!(doubles.unwrap(), rng().uniform::<f64>(&CONTEXT, shape).unwrap().copy_to_host().unwrap());
        prop_assert_eq!(normal.unwrap(), rng().normal::<f64>(&CONTEXT, shape).unwrap().copy_to_host().unwrap());
        prop_assert_eq!(dice.unwrap(), rng().integers(&CONTEXT, 1..7_i32, shape).unwrap().copy_to_host().unwrap());
    }

    #[test]
    fn scans_and_transposed_arrays_are_those_of_the_host(parts in any_parts(), axis in 0..3_usize) {
        let axis = axis % parts.shape().len();
        let element = |index: &[usize]| number(index) as i16;
        let (sums, floats, transposed, widths) = first(parts.ranks(), |rank| {
            let x = DistArray::from_fn(&CONTEXT, rank, &parts, element)?;
            let floats = DistArray::from_fn(&CONTEXT, rank, &parts, number)?.cumulative_sum(axis)?;
            let transposed = x.transpose()?;
            let widths = transposed.decomposition().widths().to_vec();
            Ok((x.cumulative_sum(axis)?.gather()?, floats.gather()?, transposed.gather()?, widths))
        });
        let mut expected = whole(parts.shape(), |at| i64::from(element(at)));
        expected.accumulate_axis_inplace(Axis(axis), |&before, own| *own += before);
        prop_assert_eq!(floats, Some(expected.mapv(|sum| sum as f32)));
        prop_assert_eq!(sums, Some(expected));
        prop_assert_eq!(transposed, Some(whole(parts.shape(), element).reversed_axes()));
        prop_assert_eq!(widths, parts.widths().iter().rev().copied().collect::<Vec<_>>());
    }

    #[test]
    fn sorted_arrays_are_those_of_the_host(parts in any_parts(), axis in 0..3_usize, values in 1..40_u64) {
        let axis = axis % parts.shape().len();
        let mixed = |index: &[usize]| index.iter().fold(values, |n, &at| n * 1009 + at as u64) * 7919;
        let element = |index: &[usize]| (mixed(index) % values) as i32 - 9;
        let sorted = first(parts.ranks(), |rank| {
            DistArray::from_fn(&CONTEXT, rank, &parts, element)?.sort(axis)?.gather()
        });
        let mut expected = whole(parts.shape(), element);
        for mut row in expected.lanes_mut(Axis(axis)) {
            let mut numbers = row.to_vec();
            numbers.sort_unstable();
            row.assign(&vkarray::ndarray::Array1::from(numbers));
        }
        prop_assert_eq!(sorted, Some(expected));
    }

    #[test]
    fn sorted_floats_have_the_bits_of_one_rank(
        len in 0..900_usize, kinds in 1..9_usize, size in 1..8_usize, seed in any::<u32>(),
    ) {
        let special = [0.0, -0.0, f32::NAN, f32::INFINITY, -f32::NAN, f32::NEG_INFINITY, 1.5, -1.5];
        let element = |at: &[usize]| {
            let draw = (at[0] as u32 ^ seed).wrapping_mul(0x9e37_79b9).rotate_left(15).wrapping_mul(0x85eb_ca6b);
            if kinds == 8 { draw as f32 - 2e9 } else { special[draw as usize % (kinds + 1)] }
        };
        let sorted = first(size, |rank| {
            DistArray::from_fn(&CONTEXT, rank, &Decomposition::over([len], size)?, element)?.sort(0)?.gather()
        });
        // The order of bits: negative numbers, zeros by sign, positive numbers, NaN.
        let mut expected: Vec<f32> = (0..len).map(|at| element(&[at])).collect();
        expected.sort_by(|a, b| (a.is_nan().cmp(&b.is_nan())).then(a.total_cmp(b)));
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let sorted = sorted.unwrap();
        let numbers = expected.iter().filter(|value| !value.is_nan()).count();
        prop_assert_eq!(bits(&sorted.as_slice().unwrap()[..numbers]), bits(&expected[..numbers]));
        prop_assert!(sorted.iter().skip(numbers).all(|value| value.is_nan()));
        let alone = CONTEXT.slice_to_device(&(0..len).map(|at| element(&[at])).collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(bits(sorted.as_slice().unwrap()), bits(&alone.sort(0).unwrap().to_vec().unwrap()));
    }

    #[test]
    fn products_are_those_of_the_host(
        lens in (0..30_usize, 0..30_usize, 0..30_usize), size in 1..8_usize, seed in 0..99_usize,
    ) {
        let (rows, inner, columns) = lens;
        let left = |at: &[usize]| ((at[0] * 7 + at[1] * 3 + seed) % 11) as i32 - 5;
        let right = |at: &[usize]| ((at[0] * 5 + at[1] * 13 + seed) % 17) as i32 - 8;
        let (product, floats) = first(size, |rank| {
            let x = DistArray::from_fn(&CONTEXT, rank, &Decomposition::over([rows, inner], size)?, left)?;
            let y = DistArray::from_fn(&CONTEXT, rank, &Decomposition::over([inner, columns], size)?, right)?;
            let floats = map(&x, |x| x.cast::<f32>())?.matmul(&map(&y, |y| y.cast::<f32>())?)?;
            Ok((x.matmul(&y)?.gather()?, floats.gather()?))
        });
        let product_at = |at: &[usize]| (0..inner).map(|k| left(&[at[0], k]) * right(&[k, at[1]])).sum::<i32>();
        let expected = whole(&[rows, columns], product_at);
        prop_assert_eq!(floats, Some(expected.mapv(|sum| sum as f32)));
        prop_assert_eq!(product, Some(expected));
    }
}

#[test]
fn overlapped_steps_are_those_that_wait() {
    for size in RANKS {
        let (overlapped, waited, counts) = first(size, |rank| {
            let parts = Decomposition::over([13, 11], size)?.ghosts([(1, 1), (2, 0)])?;
            let parts = parts.borders([Border::Periodic, Border::Reflecting])?;
            let x = DistArray::from_fn(&CONTEXT, rank, &parts, number)?;
            let [overlapped, waited] = [0, 1].map(|_| DistArray::full(&CONTEXT, rank, &parts, 0.0_f32));
            let (overlapped, waited) = (overlapped?, waited?);
            let step = |target: &DistArray<'_, f32>, piece: &Region| -> Result<(), DistError> {
                let [north, south, west] = [[-1, 0], [1, 0], [0, -2]].map(|shift| x.window(piece, &shift));
                Ok((north? * 2.0 + south? - west?).assign_to(&target.window(piece, &[0, 0])?)?)
            };
            let mut counts = [0, 0];
            let [inner, outer] = &mut counts;
            x.overlap(
                |piece| {
                    *inner += piece.size();
                    step(&overlapped, piece)
                },
                |piece| {
                    *outer += piece.size();
                    step(&overlapped, piece)
                },
            )?;
            x.halo()?;
            step(&waited, &Region { start: vec![0, 0], shape: waited.interior().shape().to_vec() })?;
            Ok((overlapped.gather()?, waited.gather()?, counts))
        });
        assert_eq!(overlapped, waited, "{size} ranks");
        let parts = Decomposition::over([13, 11], size).unwrap();
        let part = parts.part(0).unwrap();
        // Two elements along each divided axis are in the reach of ghost zones.
        let inner = |axis: usize| part.shape[axis] - if parts.grid()[axis] > 1 { 2 } else { 0 };
        assert_eq!(counts[0], inner(0) * inner(1));
        assert_eq!(counts[0] + counts[1], part.size());
    }
}

#[test]
fn files_texts_histograms_and_elements_are_those_of_one_array() {
    let folder = tempfile::tempdir().unwrap();
    let host = whole(&[37, 31], number);
    let array = CONTEXT.to_device(&host).unwrap();
    let (counts, edges) = array.histogram(7, -20.0..=20.0).unwrap();
    let counts: Vec<u64> = counts.to_vec().unwrap().into_iter().map(u64::from).collect();
    for size in RANKS {
        let path = folder.path().join(format!("{size}.npy"));
        let results = ThreadRank::run(size, |rank| -> Result<_, DistError> {
            let parts = Decomposition::over([37, 31], size)?.ghosts([(1, 0), (0, 2)])?;
            let x = DistArray::from_fn(&CONTEXT, rank, &parts, number)?;
            x.save_npy(&path)?;
            let other =
                DistArray::<f32>::load_npy(&CONTEXT, rank, &Decomposition::with_grid([37, 31], [1, size])?, &path)?;
            assert_eq!(x.text()?, (rank.rank() == 0).then(|| array.to_string()));
            assert_eq!(x.histogram(7, -20.0..=20.0)?, (counts.clone(), edges.clone()));
            let wrong = DistArray::<f32>::load_npy(&CONTEXT, rank, &Decomposition::over([31, 37], size)?, &path);
            assert!(wrong.unwrap_err().to_string().contains("[37, 31]"));
            assert!(x.get(&[0, 31]).unwrap_err().to_string().contains("[0, 31]"));
            Ok((x.get(&[36, 17])?, other.gather()?))
        });
        assert_eq!(CONTEXT.load_npy::<f32>(&path).unwrap().copy_to_host().unwrap(), host);
        for (rank, result) in results.into_iter().enumerate() {
            let (element, loaded) = result.unwrap();
            assert_eq!((element, loaded), (number(&[36, 17]), (rank == 0).then(|| host.clone())));
        }
    }
}

#[test]
fn inner_elements_are_computed_while_messages_travel() {
    let calls = ThreadRank::run(3, |rank| -> Result<_, DistError> {
        let (counts, calls) = (Counts::default(), RefCell::new(Vec::new()));
        let counted = Counted { rank, checks_calls: false, shares_memory: false, counts: &counts };
        let parts = Decomposition::over([12], 3)?.ghosts([(1, 1)])?.borders([Border::Periodic])?;
        let x = DistArray::from_fn(&CONTEXT, &counted, &parts, number)?;
        let note = |name| {
            calls.borrow_mut().push((name, counts.messages.load(Ordering::SeqCst)));
            Ok(())
        };
        x.overlap(|_| note("interior"), |_| note("boundary"))?;
        drop(x);
        Ok(calls.into_inner())
    });
    for calls in calls {
        // Each call with the number of messages that the rank had sent.
        assert_eq!(calls.unwrap(), [("interior", 0), ("boundary", 2), ("boundary", 2)]);
    }
}

#[test]
fn infinite_elements_and_nan_decide_reproducible_sums() {
    let inf = f32::INFINITY;
    let cases =
        [(inf, 1.0, inf), (f32::MAX, -inf, -inf), (inf, -inf, f32::NAN), (f32::NAN, 1.0, f32::NAN), (0.0, 0.0, 0.0)];
    for (a, b, expected) in cases {
        for size in RANKS {
            let sum = first(size, |rank| {
                let element = |at: &[usize]| [0.0, a, 0.0, b, 0.0][at[0]];
                DistArray::from_fn(&CONTEXT, rank, &Decomposition::over([5], size)?, element)?.reproducible_sum()
            });
            assert!(sum == expected || sum.is_nan() && expected.is_nan(), "{a} {b}: {sum}");
        }
    }
}

#[test]
fn refusals_name_the_culprit() {
    let results = ThreadRank::run(2, |rank| {
        let [rows, columns] = [[2, 1], [1, 2]].map(|grid| Decomposition::with_grid([4, 4], grid).unwrap());
        let x = DistArray::full(&CONTEXT, rank, &rows, 1_i32).unwrap();
        let y = DistArray::full(&CONTEXT, rank, &columns, 1_i32).unwrap();
        let operands = map((&x, &y), |(x, y)| x + y).unwrap_err();
        let axis = x.sum_along(&[2]).unwrap_err();
        let twice = x.min_along(&[1, 1]).unwrap_err();
        let window = x.window(&Region { start: vec![1, 0], shape: vec![2, 1] }, &[0, 0]).unwrap_err();
        let product = x.matmul(&DistArray::full(&CONTEXT, rank, &Decomposition::over([3, 4], 2).unwrap(), 1).unwrap());
        rank.barrier().unwrap();
        [operands, axis, twice, window, product.unwrap_err()].map(|error| error.to_string())
    });
    for [operands, axis, twice, window, product] in results {
        assert!(operands.contains("[1, 2]") && operands.contains("[2, 1]"), "{operands}");
        assert!(axis.contains("axis 2 does not exist"), "{axis}");
        assert!(twice.contains("[1, 1]") && twice.contains("axis 1"), "{twice}");
        assert!(product.contains("[4, 4]") && product.contains("[3, 4]"), "{product}");
        assert!(window.contains("[2, 1] from [1, 0]") && window.contains("whose shape is [2, 4]"), "{window}");
    }
}
