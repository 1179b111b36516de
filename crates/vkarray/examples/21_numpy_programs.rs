//! Four programs in the form that they have in NumPy: normalised rows, softmax, k-means, the price of an option by a
//! Monte-Carlo method.
//!
//! The guide's page for NumPy users (`docs/from-numpy.md`) has NumPy's text beside each of them.

use vkarray::Result;
use vkarray::prelude::*;
use vkarray::primitives::Rng;

type Array = DeviceNDArray<f32>;

fn normalise_rows(x: &Array) -> Result<Array> {
    let mean = x.mean(keepdims(1))?;
    let std = x.std(keepdims(1))?;
    ((x - &mean) / &std).eval()
}

fn softmax(x: &Array) -> Result<Array> {
    let e = (x - &x.max(keepdims(1))?).exp().eval()?;
    (&e / &e.sum(keepdims(1))?).eval()
}

fn k_means(points: &Array, mut centres: Array, steps: usize) -> Result<Array> {
    let labels = points.context().arange(0, i32::try_from(centres.shape()[0]).expect("few centres"), 1)?;
    for _ in 0..steps {
        let apart = &points.expand_dims(1)? - &centres;
        let nearest = apart.square().sum(2)?.argmin(keepdims(1))?.astype::<i32>()?;
        let member = nearest.equal(&labels).cast::<f32>().eval()?;
        let counts = member.sum(0)?.maximum(1.0).eval()?.expand_dims(1)?;
        centres = (&member.t().matmul(points)? / &counts).eval()?;
    }
    Ok(centres)
}

/// The price of the right to buy at `strike` after `years` years.
fn call_price(ctx: &Context, [spot, strike, rate, volatility, years]: [f32; 5], n: usize) -> Result<f32> {
    let z = Rng::philox(7).normal::<f32>(ctx, n)?;
    let drift = (rate - volatility * volatility / 2.0) * years;
    let at_end = (&z * (volatility * years.sqrt()) + drift).exp() * spot;
    Ok((at_end - strike).maximum(0.0).mean(..)?.item()? * (-rate * years).exp())
}

fn main() -> Result<()> {
    let ctx = Context::open_default()?;

    let x = Rng::philox(1).uniform::<f32>(&ctx, [50, 301])?;
    let rows = normalise_rows(&x)?;
    assert!(rows.mean(1)?.abs().max(..)?.item()? < 1e-5);
    assert!(rows.std(1)?.allclose(1.0, 1e-5, 0.0)?);

    let shares = softmax(&(&x * 100.0).eval()?)?;
    assert!(shares.sum(1)?.allclose(1.0, 1e-5, 0.0)?);
    // Positions have 64 bits, which some devices move and convert but do not compare.
    assert!(shares.argmax(1)?.astype::<i32>()?.array_equal(&x.argmax(1)?.astype::<i32>()?)?);

    // Points around three centres. The search starts at a distance from the centres.
    let truth = ctx.slice_to_device(&[0.0_f32, 0.0, 5.0, 5.0, -5.0, 5.0])?.reshape([3, 2])?;
    let noise = Rng::philox(3).normal::<f32>(&ctx, [400, 3, 2])?;
    let points = (&noise * 0.5 + &truth).eval()?.reshape([1200, 2])?;
    let centres = k_means(&points, (&truth * 0.5 + 1.0).eval()?, 10)?;
    println!("centres\n{centres}");
    assert!(centres.allclose(&truth, 0.0, 0.1)?);

    let price = call_price(&ctx, [100.0, 105.0, 0.05, 0.2, 1.0], 1 << 16)?;
    println!("price {price}");
    assert!((price - 8.02135).abs() < 0.2, "the formula of Black and Scholes gives 8.02135, not {price}");
    Ok(())
}
