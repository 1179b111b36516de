//! Reductions, scans, products of matrices, histograms, sorts and Fourier transforms.

use std::f64::consts::TAU;

use vkarray::{Context, DeviceNDArray, Groups};

use super::{assert_near, doubles, noise, sample};
use crate::{Result, number};

/// Lengths around a workgroup and a tile, and a prime.
const LENGTHS: [usize; 6] = [1, 2, 255, 256, 257, 1009];

fn integers(n: usize, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.u32(..)).collect()
}

/// Compares one step of the reduction with the sum on the host, which wraps around.
fn check_reduction(ctx: &Context, name: &'static str) -> Result<()> {
    let reduce = sample(ctx, name)?;
    for n in LENGTHS {
        let values = integers(n, 1);
        let (x, total) = (ctx.slice_to_device(&values)?, ctx.full([1], 5_u32)?);
        reduce.launch(Groups::covering(n), (&x, &total))?;
        let expected = values.iter().fold(5_u32, |sum, value| sum.wrapping_add(*value));
        assert_eq!(total.to_vec()?, [expected], "{name}, {n}");
        if name > "reduce_4" {
            // There are fewer workgroups than elements, so each workgroup adds several.
            reduce.launch(Groups::exact([2, 1, 1]), (&x, &total))?;
            assert_eq!(total.to_vec()?, [expected.wrapping_mul(2).wrapping_sub(5)], "{name}, {n} in two");
        }
    }
    Ok(())
}

pub(crate) fn every_step_of_the_reduction_gives_the_sum(ctx: &Context) -> Result<()> {
    ["reduce_1_atomic", "reduce_2_pairs", "reduce_3_halves", "reduce_4_strided"]
        .into_iter()
        .try_for_each(|name| check_reduction(ctx, name))
}

pub(crate) fn the_step_of_the_reduction_by_subgroups_gives_the_sum(ctx: &Context) -> Result<()> {
    check_reduction(ctx, "reduce_5_subgroups")
}

pub(crate) fn a_scan_gives_the_sum_before_each_element(ctx: &Context) -> Result<()> {
    let scan = sample(ctx, "scan")?;
    for n in LENGTHS {
        let values = integers(n, 2);
        let (x, before) = (ctx.slice_to_device(&values)?, ctx.full([n], 7_u32)?);
        scan.launch(Groups::exact([1, 1, 1]), (&x, &before))?;
        let sums = values.iter().scan(0_u32, |sum, value| Some(std::mem::replace(sum, sum.wrapping_add(*value))));
        assert_eq!(before.to_vec()?, sums.collect::<Vec<_>>(), "{n}");
    }
    Ok(())
}

pub(crate) fn every_step_of_the_matrix_product_gives_the_product(ctx: &Context) -> Result<()> {
    // The elements of c along x and y for each invocation.
    let steps = [
        ("matmul_1_naive", [1, 1]),
        ("matmul_2_tiled", [1, 1]),
        ("matmul_3_column", [1, 4]),
        ("matmul_4_block", [4, 4]),
        ("matmul_5_ahead", [4, 4]),
    ];
    for (name, per_invocation) in steps {
        let matmul = sample(ctx, name)?;
        for [m, n, k] in [[1, 1, 1], [1, 7, 3], [16, 16, 16], [17, 33, 15], [63, 65, 31], [64, 64, 32], [67, 5, 129]] {
            let (a, b) = (noise(m * k, 3), noise(k * n, 4));
            let (left, right) = (doubles(&a), doubles(&b));
            let sum = |i: usize| (0..k).map(|j| left[i / n * k + j] * right[j * n + i % n]).sum();
            let expected: Vec<f64> = (0..m * n).map(sum).collect();
            let a = ctx.shaped_to_device(&a, [m, k])?;
            let b = ctx.shaped_to_device(&b, [k, n])?;
            let c = ctx.full([m, n], 7.0_f32)?;
            let groups = Groups::covering([n.div_ceil(per_invocation[0]), m.div_ceil(per_invocation[1])]);
            matmul.launch(groups, (&a, &b, &c, number(m), number(n), number(k)))?;
            assert_near(&format!("{name}, {m} x {k} x {n}"), &c.to_vec()?, &expected, 1e-5);
        }
    }
    Ok(())
}

pub(crate) fn a_histogram_counts_numbers_also_those_outside(ctx: &Context) -> Result<()> {
    let histogram = sample(ctx, "histogram")?;
    for n in LENGTHS {
        let values: Vec<f32> = noise(n, 5).iter().map(|value| 1.5 * value - 0.25).collect();
        let (x, bins) = (ctx.slice_to_device(&values)?, ctx.ones::<u32>([256])?);
        histogram.launch(Groups::exact([2, 1, 1]), (&x, &bins))?;
        let edges = (0..256_u32).map(|bin| (f64::from(bin) / 256.0, f64::from(bin + 1) / 256.0));
        let counted = edges.enumerate().map(|(bin, (from, to))| {
            let is_in = |value: &f64| (*value >= from || bin == 0) && (*value < to || bin == 255);
            1 + number(doubles(&values).iter().filter(|value| is_in(value)).count())
        });
        assert_eq!(bins.to_vec()?, counted.collect::<Vec<_>>(), "{n}");
    }
    Ok(())
}

/// The three launches that sort `keys` by the four bits above `shift`.
fn sorted_by_digit(ctx: &Context, keys: &DeviceNDArray<u32>, shift: u32) -> Result<DeviceNDArray<u32>> {
    let (count, scan, scatter) = (sample(ctx, "radix_count")?, sample(ctx, "scan")?, sample(ctx, "radix_scatter")?);
    let (n, n_groups) = (keys.size(), keys.size().div_ceil(256));
    let counts = ctx.full([16, n_groups], 7_u32)?;
    let (places, sorted) = (ctx.full_like(&counts, 7_u32)?, ctx.full_like(keys, 7_u32)?);
    count.launch(Groups::covering(n), (keys, &counts, shift))?;
    scan.launch(Groups::exact([1, 1, 1]), (&counts, &places))?;
    scatter.launch(Groups::covering(n), (keys, &places, &sorted, shift))?;
    Ok(sorted)
}

pub(crate) fn a_radix_sort_is_stable_in_each_digit_and_sorts_in_eight(ctx: &Context) -> Result<()> {
    for n in LENGTHS {
        let mut expected = integers(n, 6);
        let keys = ctx.slice_to_device(&expected)?;
        let mut by_digit = expected.clone();
        by_digit.sort_by_key(|key| key >> 12 & 15); // The sort is stable by definition.
        assert_eq!(sorted_by_digit(ctx, &keys, 12)?.to_vec()?, by_digit, "{n}");
        let sorted = (0..8).try_fold(keys, |keys, digit| sorted_by_digit(ctx, &keys, 4 * digit))?;
        expected.sort_unstable();
        assert_eq!(sorted.to_vec()?, expected, "{n}");
    }
    Ok(())
}

pub(crate) fn the_stages_of_the_fourier_transform_give_its_sums_and_their_inverse(ctx: &Context) -> Result<()> {
    let fft = sample(ctx, "fft")?;
    let transformed = |x: &DeviceNDArray<f32>, sign: f32| -> Result<DeviceNDArray<f32>> {
        let (rows, n) = (x.shape()[0], x.shape()[1]);
        let (mut a, mut b) = (x.copy()?, ctx.full_like(x, 7.0_f32)?);
        let mut block = 1;
        while block < n {
            let args = (&a, &b, number(n), number(rows), number(block), sign);
            fft.launch(Groups::covering([n / 2, rows]), args)?;
            std::mem::swap(&mut a, &mut b);
            block *= 2;
        }
        Ok(a)
    };
    for (rows, n) in [(1, 1), (3, 2), (5, 8), (1, 64), (3, 128), (2, 256)] {
        let values = noise(2 * rows * n, 7);
        let numbers = doubles(&values);
        let sum = |i: usize| {
            let (row, k) = (i / n, i % n);
            (0..n).fold([0.0; 2], |[re, im], j| {
                let (sin, cos) = (-TAU * (j * k % n) as f64 / n as f64).sin_cos();
                let at = 2 * (row * n + j);
                let (x, y) = (numbers[at], numbers[at + 1]);
                [re + x * cos - y * sin, im + x * sin + y * cos]
            })
        };
        let expected: Vec<f64> = (0..rows * n).flat_map(sum).collect();
        let x = ctx.shaped_to_device(&values, [rows, n, 2])?;
        let y = transformed(&x, -1.0)?;
        // Vulkan allows sines and cosines to be wrong by 2^-11. Each stage multiplies by a sine or cosine, and the
        // numbers of a row grow with the square root of its length.
        let tolerance = f64::from(n.ilog2().max(1)) / 2048.0;
        assert_near(&format!("{rows} x {n}"), &y.to_vec()?, &expected, tolerance * (n as f64).sqrt());
        let back: Vec<f32> = transformed(&y, 1.0)?.to_vec()?.iter().map(|value| value / n as f32).collect();
        assert_near(&format!("{rows} x {n}, back"), &back, &numbers, 2.0 * tolerance);
    }
    Ok(())
}
