//! Kernels of one launch: saxpy, points in a circle, prices of options, softmax.

use vkarray::{Context, Groups};

use super::{assert_near, doubles, noise, sample};
use crate::{Result, number};

pub(crate) fn saxpy_adds_a_multiple_of_each_element(ctx: &Context) -> Result<()> {
    for n in [1_usize, 255, 256, 257, 1009] {
        let (x, y) = (noise(n, 1), noise(n, 2));
        let (from, to) = (ctx.slice_to_device(&x)?, ctx.slice_to_device(&y)?);
        sample(ctx, "saxpy")?.launch(Groups::covering(n), (&from, &to, -2.5_f32))?;
        let expected: Vec<f64> = doubles(&x).iter().zip(doubles(&y)).map(|(x, y)| y - 2.5 * x).collect();
        assert_near(&format!("{n}"), &to.to_vec()?, &expected, 1e-6);
    }
    Ok(())
}

/// The hash of `monte_carlo_pi` in 64 bits, where nothing overflows, cut to 32 after each step.
fn hash(x: u64) -> u64 {
    let cut = |value: u64| value & 0xffff_ffff;
    let state = cut(x * 747_796_405 + 2_891_336_453);
    let word = cut(((state >> ((state >> 28) + 4)) ^ state) * 277_803_737);
    (word >> 22) ^ word
}

pub(crate) fn points_in_the_circle_are_counted_exactly_and_give_pi(ctx: &Context) -> Result<()> {
    let monte_carlo_pi = sample(ctx, "monte_carlo_pi")?;
    for invocations in [1_u32, 63, 64, 65, 1009] {
        let hits = ctx.zeros::<u32>([1])?;
        monte_carlo_pi.launch(Groups::covering(invocations as usize), (&hits, invocations, 7_u32))?;
        let is_hit = |point: u64| {
            let random = hash(hash(point) ^ 7);
            let (x, y) = (random % (1 << 15), random >> 17);
            x * x + y * y < 1 << 30
        };
        let expected = (0..16 * u64::from(invocations)).filter(|&point| is_hit(point)).count();
        assert_eq!(hits.to_vec()?, [number(expected)], "{invocations} invocations");
        if invocations == 1009 {
            let pi = 4.0 * f64::from(hits.to_vec()?[0]) / (16.0 * 1009.0);
            // Three standard deviations of that many draws are 0.039.
            assert!((pi - std::f64::consts::PI).abs() < 0.039, "{pi}");
        }
    }
    Ok(())
}

/// The distribution function of the normal distribution: its density, integrated from zero by Simpson's rule.
fn normal_distribution(x: f64) -> f64 {
    let n = 400;
    let density = |i: u32| (-0.5 * (x * f64::from(i) / f64::from(n)).powi(2)).exp();
    let weight = |i: u32| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    let sum: f64 = (0..=n).map(|i| weight(i) * density(i)).sum();
    0.5 + sum * x / f64::from(n) / 3.0 / std::f64::consts::TAU.sqrt()
}

pub(crate) fn options_have_the_prices_of_the_formula_by_integration(ctx: &Context) -> Result<()> {
    let black_scholes = sample(ctx, "black_scholes")?;
    let (rate, volatility) = (0.03_f32, 0.35_f32);
    for n in [1_usize, 63, 64, 65, 257] {
        let scaled =
            |seed: u64, from: f32, to: f32| noise(n, seed).iter().map(|v| from + (to - from) * v).collect::<Vec<f32>>();
        let inputs = [scaled(1, 5.0, 60.0), scaled(2, 10.0, 50.0), scaled(3, 0.1, 5.0)];
        let [spot, strike, years] = inputs.each_ref().map(|values| ctx.slice_to_device(values));
        let (call, put) = (ctx.zeros::<f32>([n])?, ctx.zeros::<f32>([n])?);
        black_scholes.launch(Groups::covering(n), (&spot?, &strike?, &years?, &call, &put, rate, volatility))?;
        let (r, v) = (f64::from(rate), f64::from(volatility));
        let price = |i: usize| {
            let [s, k, t] = inputs.each_ref().map(|values| f64::from(values[i]));
            let d1 = ((s / k).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
            let value = s * normal_distribution(d1) - k * (-r * t).exp() * normal_distribution(d1 - v * t.sqrt());
            [value, value - s + k * (-r * t).exp()] // The price of a put, by the parity of puts and calls.
        };
        let expected: Vec<[f64; 2]> = (0..n).map(price).collect();
        assert_near("calls", &call.to_vec()?, &expected.iter().map(|price| price[0]).collect::<Vec<_>>(), 5e-5);
        assert_near("puts", &put.to_vec()?, &expected.iter().map(|price| price[1]).collect::<Vec<_>>(), 5e-5);
    }
    Ok(())
}

pub(crate) fn softmax_of_each_row_adds_up_to_one_and_does_not_overflow(ctx: &Context) -> Result<()> {
    let softmax = sample(ctx, "softmax")?;
    for (rows, columns) in [(1, 1), (3, 2), (2, 63), (5, 64), (2, 65), (7, 211)] {
        // The values reach 2000, where exp overflows; neighbours differ by up to 20.
        let values: Vec<f32> = noise(rows * columns, 9)
            .iter()
            .enumerate()
            .map(|(i, v)| 20.0 * v + (1980 * (i / columns) / rows) as f32)
            .collect();
        let x = ctx.shaped_to_device(&values, [rows, columns])?;
        let y = ctx.full([rows, columns], 7.0_f32)?;
        softmax.launch(Groups::exact([number(rows), 1, 1]), (&x, &y, number(columns)))?;
        let found = y.to_vec()?;
        for (row, found) in doubles(&values).chunks(columns).zip(found.chunks(columns)) {
            let expected: Vec<f64> = row.iter().map(|a| 1.0 / row.iter().map(|b| (b - a).exp()).sum::<f64>()).collect();
            assert_near(&format!("{rows} x {columns}"), found, &expected, 1e-5);
        }
    }
    Ok(())
}
