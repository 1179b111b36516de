//! Matrices: products of fractions against sums in `f64`, and matrices with ones on a diagonal. Products of integers
//! and the shapes of stacks are in `tests/primitives/numpy_functions.rs`.

use vkarray::prelude::*;
use vkarray::primitives::{Rng, eye};

use crate::{Result, int};

pub(crate) fn products_of_fractions_are_within_the_bound_of_serial_sums(ctx: &Context) -> Result<()> {
    let (m, k, n) = (67, 193, 130);
    let mut rng = Rng::philox(8);
    let a = rng.normal::<f32>(ctx, [m, k])?;
    let b = rng.normal::<f32>(ctx, [n, k])?.t();
    let found = a.matmul(&b)?.to_vec()?;
    let (a, b) = (a.to_vec()?, b.to_vec()?);
    for (at, &found) in found.iter().enumerate() {
        let products = (0..k).map(|l| f64::from(a[at / n * k + l]) * f64::from(b[l * n + at % n]));
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()));
        // One rounding for each product and each addition.
        let bound = (k as f64 + 1.0) * f64::from(f32::EPSILON) / 2.0 * size;
        assert!((f64::from(found) - sum).abs() <= bound, "{found} for {sum} at {at}");
    }
    Ok(())
}

/// Mesa 22.3 ends the loops of an invocation after 65,535 rounds.
pub(crate) fn long_inner_lengths_are_added_up_to_the_end(ctx: &Context) -> Result<()> {
    for k in [2049, 65_537] {
        let a = ctx.arange(0_i32, int(k), 1)?;
        let rows = (a.reshape([1, k])? + ctx.slice_to_device(&[0, 1])?.reshape([2, 1])?).eval()?;
        let first = (0..int(k)).fold(0_i32, i32::wrapping_add);
        let second = first.wrapping_add(int(k));
        assert_eq!(rows.matmul(&ctx.ones::<i32>(k)?)?.to_vec()?, [first, second], "{k}");
        assert_eq!(rows.matmul(&ctx.ones::<i32>([k, 2])?)?.to_vec()?, [first, first, second, second], "{k}");
    }
    let ones = ctx.ones::<f32>([1, 100_003])?;
    assert_eq!(ones.matmul(&ones.t())?.to_vec()?, [100_003.0]);
    Ok(())
}

pub(crate) fn long_sums_of_64_bits_are_added_up_to_the_end(ctx: &Context) -> Result<()> {
    let pairs = ctx.ones::<i64>([2049, 2])?.tensordot(&ctx.ones::<i64>([2, 2049])?, [0, 1], [1, 0])?;
    assert_eq!(pairs.item()?, 4098);
    // A product of matrices of this length would take minutes on a CPU driver.
    let long = ctx.full((1 << 24) + 3, 3_u8)?;
    assert_eq!(long.vecdot(&long, 0)?.item()?, 9 * ((1 << 24) + 3));
    assert_eq!((long.max(..)?.item()?, long.sum(..)?.item()?), (3, 3 * ((1 << 24) + 3)));
    Ok(())
}

pub(crate) fn ones_are_on_the_diagonal_asked_for_and_nowhere_else(ctx: &Context) -> Result<()> {
    for [rows, columns] in [[0_usize, 3], [1, 1], [3, 5], [5, 3]] {
        for k in -6..7 {
            let expected: Vec<u8> = (0..rows * columns)
                .map(|at| u8::from((at % columns).cast_signed() - (at / columns).cast_signed() == k))
                .collect();
            assert_eq!(eye::<u8>(ctx, [rows, columns], k)?.to_vec()?, expected, "{rows} {columns} {k}");
        }
    }
    Ok(())
}
