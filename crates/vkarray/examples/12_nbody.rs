//! Two discs of bodies that attract each other and meet.
//!
//! `cargo run -p vkarray --features npy --example 12_nbody -- bodies.npy` saves the bodies; `docs/samples.md` draws them.

use vkarray::prelude::*;

/// The bodies of each disc.
const N: usize = 400;

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let source = vkarray::shaders::sample("nbody").expect("nbody is a sample");
    let nbody = ctx.kernel(Source::wgsl(source)).build()?;

    // Each disc turns around its centre, and moves past the other one. The golden angle spreads bodies evenly.
    let (mut places, mut speeds) = (Vec::new(), Vec::new());
    for i in 0..2 * N {
        let side = if i < N { 1.0 } else { -1.0_f32 };
        let (radius, angle) = (0.5 * ((i % N) as f32 / N as f32).sqrt(), 2.399_963 * i as f32);
        places.push([side * 0.7 + radius * angle.cos(), side * 0.3 + radius * angle.sin(), 0.0, 0.5 / N as f32]);
        let turn = 1.4 * radius.sqrt(); // The speed of a circle around the mass inside it.
        speeds.push([-turn * angle.sin() - side * 0.3, turn * angle.cos(), 0.0, 0.0]);
    }
    let mut now = ctx.shaped_to_device(places.as_flattened(), [2 * N, 4])?;
    let mut next = ctx.device_array_like(&now)?;
    let velocity = ctx.shaped_to_device(speeds.as_flattened(), [2 * N, 4])?;

    let momentum = |velocity: &DeviceNDArray<f32>| -> vkarray::Result<f32> {
        Ok(velocity.slice(s![.., 0])?.to_vec()?.iter().sum::<f32>() / (2 * N) as f32)
    };
    let before = momentum(&velocity)?;
    for _ in 0..250 {
        nbody.launch(Groups::covering(2 * N), (&now, &velocity, &next, 0.01_f32, 0.05_f32))?;
        std::mem::swap(&mut now, &mut next);
    }
    let after = momentum(&velocity)?;
    println!("mean speed along x: {before:.6} before, {after:.6} after 250 steps");
    assert!((before - after).abs() < 1e-4, "what one body gains another one loses");
    if let Some(path) = std::env::args_os().nth(1) {
        now.save_npy(path)?;
    }
    Ok(())
}
