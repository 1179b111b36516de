//! Heat on a plate that is divided among processes: `mpiexec -n 4 target/debug/examples/heat`.
//!
//! The program ends with an error if the plate is not, bit for bit, the one that a single rank computes.

use vkarray::prelude::*;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, MpiRank, Report, ThreadRank, Transport, open_context};

const SHAPE: [usize; 2] = [101, 67];
const STEPS: usize = 40;

fn main() -> Result<(), vkarray_dist::TransportError> {
    MpiRank::run(|rank| -> anyhow::Result<()> {
        let ctx = open_context(rank)?;
        let plate = heat(&ctx, rank)?;
        let parts = plate.decomposition();
        if let Some(report) = Report::gather(rank, &ctx, parts)? {
            println!("{report}");
        }
        let (warmth, hottest) = (plate.sum()?, plate.max()?);
        let Some(whole) = plate.gather()? else { return Ok(()) };
        println!("{} ranks as {:?}: sum {warmth}, largest {hottest}", rank.size(), parts.grid());

        let mut alone = ThreadRank::run(1, |rank| heat(&ctx, rank)?.gather());
        let alone = alone.remove(0)?.expect("rank 0 has the array");
        let differing = whole.iter().zip(&alone).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        anyhow::ensure!(differing == 0, "{differing} of {} elements differ from those of one rank", whole.len());
        println!("all {} elements are those of one rank", whole.len());
        Ok(())
    })
}

/// The plate after all steps. Its left and right edges are connected; no heat passes the other two.
fn heat<'t>(ctx: &Context, rank: &'t dyn Transport) -> Result<DistArray<'t, f32>, DistError> {
    let plate = Decomposition::over(SHAPE, rank.size())?
        .ghosts([(1, 1), (1, 1)])?
        .borders([Border::Reflecting, Border::Periodic])?;
    let hot = |index: &[usize]| if index[0] < 30 && index[1] % 20 < 5 { 100.0 } else { 0.1 * index[1] as f32 };
    let mut now = DistArray::from_fn(ctx, rank, &plate, hot)?;
    let mut next = DistArray::full(ctx, rank, &plate, 0.0_f32)?;
    for _ in 0..STEPS {
        now.halo()?;
        let (north, south) = (now.shifted(&[-1, 0])?, now.shifted(&[1, 0])?);
        let (west, east) = (now.shifted(&[0, -1])?, now.shifted(&[0, 1])?);
        let center = now.interior();
        (&center + (&north + &south + &west + &east - &center * 4.0) * 0.2).assign_to(&next.interior())?;
        std::mem::swap(&mut now, &mut next);
    }
    Ok(now)
}
