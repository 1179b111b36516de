//! Waves on a pond that is divided among processes: `mpiexec -n 4 target/debug/examples/wave`. Each step computes the
//! inner elements of a part while the elements for its ghost zones travel.
//!
//! The program ends with an error if the pond is not, bit for bit, the one that a single rank computes. With a path as
//! its argument, it saves the pond to a `.npy` file, of which each rank writes its part.

use vkarray::prelude::*;
use vkarray_dist::{
    Border, Decomposition, DistArray, DistError, MpiRank, Region, ThreadRank, Transport, map, open_context,
};

const SHAPE: [usize; 2] = [99, 151];
const STEPS: usize = 60;

fn main() -> Result<(), vkarray_dist::TransportError> {
    MpiRank::run(|rank| -> anyhow::Result<()> {
        let ctx = open_context(rank)?;
        let pond = wave(&ctx, rank)?;
        let energy = map(&pond, |height| height.square())?.reproducible_sum()?;
        let text = pond.text()?;
        if let Some(path) = std::env::args_os().nth(1) {
            pond.save_npy(path)?;
        }
        let Some(whole) = pond.gather()? else { return Ok(()) };
        println!(
            "{}\n{} ranks as {:?}: energy {energy}",
            text.unwrap_or_default(),
            rank.size(),
            pond.decomposition().grid()
        );

        let mut alone = ThreadRank::run(1, |rank| {
            let pond = wave(&ctx, rank)?;
            Ok::<_, DistError>((map(&pond, |height| height.square())?.reproducible_sum()?, pond.gather()?))
        });
        let (energy_alone, alone) = alone.remove(0)?;
        anyhow::ensure!(energy.to_bits() == energy_alone.to_bits(), "the energy of one rank is {energy_alone}");
        anyhow::ensure!(Some(whole) == alone, "the pond differs from that of one rank");
        println!("the pond and its energy are those of one rank");
        Ok(())
    })
}

/// The pond after all steps, from three drops. Waves are reflected at two edges; the other two are connected.
fn wave<'t>(ctx: &Context, rank: &'t dyn Transport) -> Result<DistArray<'t, f32>, DistError> {
    let pond = Decomposition::over(SHAPE, rank.size())?
        .ghosts([(1, 1), (1, 1)])?
        .borders([Border::Reflecting, Border::Periodic])?;
    let drops = |at: &[usize]| {
        let drop = |y: f32, x: f32| (-((at[0] as f32 - y).powi(2) + (at[1] as f32 - x).powi(2)) / 8.0).exp();
        2.0 * (drop(30.0, 40.0) + drop(70.0, 75.0) + drop(40.0, 110.0))
    };
    // At rest: both states are equal.
    let mut before = DistArray::from_fn(ctx, rank, &pond, drops)?;
    let mut now = DistArray::from_fn(ctx, rank, &pond, drops)?;
    for _ in 0..STEPS {
        let step = |piece: &Region| -> Result<(), DistError> {
            let around = [[-1, 0], [1, 0], [0, -1], [0, 1]].map(|shift| now.window(piece, &shift));
            let [north, south, west, east] = around;
            let (center, last) = (now.window(piece, &[0, 0])?, before.window(piece, &[0, 0])?);
            // `before` becomes the state after `now`.
            let curvature = north? + south? + west? + east? - &center * 4.0;
            Ok((&center * 2.0 - &last + curvature * 0.25).assign_to(&last)?)
        };
        now.overlap(step, step)?;
        std::mem::swap(&mut now, &mut before);
    }
    Ok(now)
}
