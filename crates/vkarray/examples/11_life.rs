//! Conway's Game of Life: a glider that comes back to where it began, and a world that begins at random.
//!
//! `cargo run -p vkarray --features npy --example 11_life -- life.npy` saves the world; `docs/samples.md` draws it.

use vkarray::ndarray::Array2;
use vkarray::prelude::*;

const WIDTH: u32 = 151;
const HEIGHT: u32 = 99;

/// Runs `generations` generations, an even number, of a world of this many columns and rows.
fn live(life: &Kernel, world: &DeviceNDArray<f32>, size: [u32; 2], generations: usize) -> vkarray::Result<()> {
    let other = world.context().device_array_like(world)?;
    let groups = Groups::covering(size.map(|n| n as usize));
    for _ in 0..generations / 2 {
        life.launch(groups, (world, &other, size[0], size[1]))?;
        life.launch(groups, (&other, world, size[0], size[1]))?;
    }
    Ok(())
}

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let source = vkarray::shaders::sample("life").expect("life is a sample");
    let life = ctx.kernel(Source::wgsl(source)).build()?;

    // A glider moves by one cell down and one to the right in four generations. In a square world without a border it
    // is back at its first position when it has crossed the world.
    let mut start = Array2::<f32>::zeros((17, 17));
    for cell in [[0, 1], [1, 2], [2, 0], [2, 1], [2, 2]] {
        start[cell] = 1.0;
    }
    let world = ctx.to_device(&start)?;
    live(&life, &world, [17, 17], 4)?;
    assert_eq!(world.get([3, 3])?, 1.0, "one cell down and to the right");
    live(&life, &world, [17, 17], 4 * 16)?;
    assert_eq!(world.copy_to_host()?, start.into_dyn());

    // Numbers without a pattern, from multiplications that wrap; about half of the cells live.
    let cell = |i: u32| {
        let mixed = i.wrapping_mul(0x9e37_79b9);
        f32::from((mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) >> 31 == 1)
    };
    let cells: Vec<f32> = (0..WIDTH * HEIGHT).map(cell).collect();
    let world = ctx.shaped_to_device(&cells, [HEIGHT as usize, WIDTH as usize])?;
    live(&life, &world, [WIDTH, HEIGHT], 200)?;
    let alive = world.copy_to_host()?.sum();
    println!("{alive} of {} cells live after 200 generations", WIDTH * HEIGHT);
    assert!(alive > 0.0 && alive < 0.3 * (WIDTH * HEIGHT) as f32);
    if let Some(path) = std::env::args_os().nth(1) {
        world.save_npy(path)?;
    }
    Ok(())
}
