//! Running sums and products, compared with loops on the host.

use ndarray::{ArrayD, Axis};
use vkarray::prelude::*;

use crate::{Result, int};

/// Lengths around units, workgroups and blocks, and a prime.
const LENGTHS: [usize; 10] = [0, 1, 7, 8, 255, 256, 257, 4099, 65_537, 300_007];

pub(crate) fn running_sums_of_integers_of_any_length_are_exact(ctx: &Context) -> Result<()> {
    for n in LENGTHS {
        let host: Vec<i32> = (0..n).map(|i| int(i * 7919 % 10_007) * 200_000 - 1_000_000_000).collect();
        let sums = host.iter().scan(0_i64, |sum, &value| {
            *sum += i64::from(value);
            Some(*sum)
        });
        let sums: Vec<i64> = sums.collect();
        let x = ctx.slice_to_device(&host)?;
        assert_eq!(x.cumulative_sum(0)?.to_vec()?, sums, "{n}");
        let from_zero = x.cumulative_sum_from_zero(0)?.to_vec()?;
        assert_eq!((from_zero[0], &from_zero[1..]), (0, &sums[..]), "{n}, from zero");
    }
    Ok(())
}

pub(crate) fn running_sums_and_products_follow_any_axis_of_any_view(ctx: &Context) -> Result<()> {
    let host = ArrayD::from_shape_fn(vec![4, 33, 5], |at| int((at[0] * 165 + at[1] * 5 + at[2]) * 31 % 5) - 2);
    let x = ctx.to_device(&host)?;
    for view in [x.clone(), x.t(), x.slice(s![.., ..;-2, 1..])?] {
        for axis in 0..3 {
            let mut sums = view.copy_to_host()?.mapv(i64::from);
            let mut products = sums.clone();
            sums.accumulate_axis_inplace(Axis(axis), |before, sum| *sum += before);
            products.accumulate_axis_inplace(Axis(axis), |before, product| *product = product.wrapping_mul(*before));
            let along = axis as isize;
            assert_eq!(view.cumulative_sum(along)?.copy_to_host()?, sums, "sums along {axis} of {view:?}");
            assert_eq!(view.cumulative_prod(along)?.copy_to_host()?, products, "products along {axis} of {view:?}");
        }
    }
    Ok(())
}

pub(crate) fn running_sums_of_floats_are_within_the_bound_of_serial_sums(ctx: &Context) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(5);
    let host: Vec<f32> = (0..100_003).map(|_| random.f32() - 0.25).collect();
    let found = ctx.slice_to_device(&host)?.cumulative_sum(0)?.to_vec()?;
    let (mut sum, mut size) = (0.0_f64, 0.0_f64);
    for (at, (found, value)) in found.iter().zip(&host).enumerate() {
        sum += f64::from(*value);
        size += f64::from(value.abs());
        let bound = at as f64 * f64::from(f32::EPSILON) / 2.0 * size;
        assert!((f64::from(*found) - sum).abs() <= bound, "{found} for {sum} at {at}");
    }
    Ok(())
}
