//! Heat on a plate, as a graph: two steps, there and back, recorded once and replayed a thousand times.
//!
//! `cargo run -p vkarray --features npy --example 09_heat -- heat.npy` saves the plate; `docs/samples.md` draws it.

use vkarray::ndarray::Array2;
use vkarray::prelude::*;

const WIDTH: u32 = 151;
const HEIGHT: u32 = 99;

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let source = vkarray::shaders::sample("heat").expect("heat is a sample");
    let heat = ctx.kernel(Source::wgsl(source)).build()?;

    // The plate is cold except for a part of the upper edge. The kernel never changes the edges.
    let mut plate = Array2::<f32>::zeros((HEIGHT as usize, WIDTH as usize));
    plate.slice_mut(vkarray::ndarray::s![0, 30..121]).fill(100.0);
    let (a, b) = (ctx.to_device(&plate)?, ctx.to_device(&plate)?);

    // Recording checks the arguments and finds the order. The second step reads what the first wrote.
    let groups = Groups::covering([WIDTH as usize, HEIGHT as usize]);
    let rate = 0.2_f32;
    let (graph, _) = ctx.graph(|graph| {
        heat.record(graph, groups, (&a, &b, WIDTH, HEIGHT, rate))?;
        heat.record(graph, groups, (&b, &a, WIDTH, HEIGHT, rate))?;
        Ok(())
    })?;
    for _ in 0..1000 {
        graph.replay(ctx.default_stream())?; // One submission, without new checks.
    }

    let warm = a.copy_to_host_as::<vkarray::ndarray::Ix2>()?;
    println!("20 cells below the hot edge: {:.2} degrees", warm[[20, 75]]);
    assert!(warm.iter().all(|t| (0.0..=100.0).contains(t)), "no cell is warmer than the edge or colder than the start");
    assert!((warm[[20, 40]] - warm[[20, 110]]).abs() < 1e-3, "left and right are alike");
    if let Some(path) = std::env::args_os().nth(1) {
        a.save_npy(path)?;
    }
    Ok(())
}
