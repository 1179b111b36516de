//! A flock of birds: each bird follows the birds around it, and groups form.
//!
//! `cargo run -p vkarray --features npy --example 13_boids -- birds.npy` saves the birds; `docs/samples.md` draws them.

use vkarray::prelude::*;

const N: usize = 300;

/// How much birds that are near each other fly in the same direction: 1 if all do, about 0 at random.
fn order(birds: &DeviceNDArray<f32>) -> vkarray::Result<f32> {
    let birds = birds.to_vec()?;
    let (mut sum, mut pairs) = (0.0, 0.0);
    for a in birds.chunks(4) {
        for b in birds.chunks(4) {
            let far = (a[0] - b[0]).hypot(a[1] - b[1]);
            if far > 0.0 && far < 0.1 {
                sum += (a[2] * b[2] + a[3] * b[3]) / (a[2].hypot(a[3]) * b[2].hypot(b[3]));
                pairs += 1.0;
            }
        }
    }
    Ok(sum / pairs)
}

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let source = vkarray::shaders::sample("boids").expect("boids is a sample");
    let boids = ctx.kernel(Source::wgsl(source)).build()?;

    // Birds are anywhere in the square, in directions without a pattern. The square's edges are joined.
    let bird = |i: usize| {
        let (x, y, angle) = ((i as f32 * 0.618_034).fract(), i as f32 / N as f32, (i * i) as f32);
        [x, y, 0.2 * angle.cos(), 0.2 * angle.sin()]
    };
    let birds: Vec<[f32; 4]> = (0..N).map(bird).collect();
    let mut now = ctx.shaped_to_device(birds.as_flattened(), [N, 4])?;
    let mut next = ctx.device_array_like(&now)?;

    let before = order(&now)?;
    for _ in 0..400 {
        boids.launch(Groups::covering(N), (&now, &next, 0.1_f32, 0.02_f32))?;
        std::mem::swap(&mut now, &mut next);
    }
    let after = order(&now)?;
    println!("neighbours fly in the same direction: {before:.2} before, {after:.2} after 400 steps");
    assert!(before.abs() < 0.2 && after > 0.7, "{before} {after}");
    if let Some(path) = std::env::args_os().nth(1) {
        now.save_npy(path)?;
    }
    Ok(())
}
