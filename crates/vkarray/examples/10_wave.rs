//! Waves on a pond, of three drops: each step replaces the state before the last one. Then the steps run back to the
//! start.
//!
//! `cargo run -p vkarray --features npy --example 10_wave -- wave.npy` saves the pond; `docs/samples.md` draws it.

use vkarray::ndarray::Array2;
use vkarray::prelude::*;

const WIDTH: u32 = 151;
const HEIGHT: u32 = 99;

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let source = vkarray::shaders::sample("wave").expect("wave is a sample");
    let wave = ctx.kernel(Source::wgsl(source)).build()?;

    // Three round drops. The pond is at rest: both states are equal.
    let pond = Array2::from_shape_fn((HEIGHT as usize, WIDTH as usize), |(y, x)| {
        let drop = |at: [f32; 2]| (-((x as f32 - at[0]).powi(2) + (y as f32 - at[1]).powi(2)) / 8.0).exp();
        let is_border = x == 0 || y == 0 || x == 150 || y == 98;
        if is_border { 0.0 } else { 2.0 * (drop([40.0, 30.0]) + drop([75.0, 70.0]) + drop([110.0, 40.0])) }
    });
    let (mut before, mut now) = (ctx.to_device(&pond)?, ctx.to_device(&pond)?);
    let groups = Groups::covering([WIDTH as usize, HEIGHT as usize]);
    let step = |now: &DeviceNDArray<f32>, before: &DeviceNDArray<f32>| {
        wave.launch(groups, (now, before, WIDTH, HEIGHT, 0.25_f32))
    };

    for _ in 0..80 {
        step(&now, &before)?; // `before` becomes the state after `now`.
        std::mem::swap(&mut now, &mut before);
    }
    println!("height in the middle after 80 steps: {:.4}", now.get([49, 75])?);
    if let Some(path) = std::env::args_os().nth(1) {
        now.save_npy(path)?;
    }

    // The equation is the same in both directions of time: with the two states exchanged, the waves run back.
    std::mem::swap(&mut now, &mut before);
    for _ in 0..80 {
        step(&now, &before)?;
        std::mem::swap(&mut now, &mut before);
    }
    let error = (now.copy_to_host()? - pond.into_dyn()).iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    println!("back at the start, but for {error:e}");
    assert!(error < 1e-3);
    Ok(())
}
