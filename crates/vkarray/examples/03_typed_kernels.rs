//! A kernel as a Rust type: its shader is read when the program is built, and `launch` takes what the shader declares.
//!
//! Give `launch` an array of `u32` for `energy`, or move a field of `Particle`: the program does not compile.

use vkarray::prelude::*;

/// A struct with the fields of the shader's struct, at the same offsets.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable, Element)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    mass: f32,
    velocity: [f32; 3],
    id: u32,
}

vkarray::kernel! {
    /// Moves particles on springs.
    struct Springs {
        file: "examples/shaders/springs.wgsl",
        structs: { Particle: Particle },
    }
}

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let springs = Springs::builder(&ctx).stiffness(4.0).build()?;
    let particle = |id: u32| Particle { position: [1.0 + id as f32, 0.0, 0.0], mass: 2.0, velocity: [0.0; 3], id };
    let particles: Vec<Particle> = (0..1000).map(particle).collect();
    let (particles, energy) = (ctx.slice_to_device(&particles)?, ctx.zeros::<f32>([1000])?);
    for _ in 0..100 {
        springs.launch(Groups::covering(1000), &particles, &energy, 0.01)?;
    }
    let energy = energy.copy_to_host()?[[0]];
    println!("energy of the first particle: {energy:.3}, at rest it had {:.3}", 0.5 * 4.0);
    assert!((energy - 2.0).abs() < 0.1, "energy is kept, but for the error of the steps");
    Ok(())
}
