//! Heat on a plate and in a block that are divided among processes: `mpiexec -n 4 target/debug/examples/heat`.
//!
//! The program ends with an error if the plate or the block is not, bit for bit, the one that a single rank computes.

use vkarray::prelude::*;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, MpiRank, Report, ThreadRank, Transport, open_context};

const STEPS: usize = 40;

fn main() -> Result<(), vkarray_dist::TransportError> {
    MpiRank::run(|rank| -> anyhow::Result<()> {
        let ctx = open_context(rank)?;
        compared(&ctx, rank, &[101, 67])?;
        compared(&ctx, rank, &[31, 27, 23])
    })
}

fn compared(ctx: &Context, rank: &MpiRank, shape: &[usize]) -> anyhow::Result<()> {
    let body = heat(ctx, rank, shape)?;
    let parts = body.decomposition();
    if let Some(report) = Report::gather(rank, ctx, parts)? {
        println!("{report}");
    }
    let (warmth, hottest) = (body.sum()?, body.max()?);
    let Some(whole) = body.gather()? else { return Ok(()) };
    println!("{shape:?} on {} ranks as {:?}: sum {warmth}, largest {hottest}", rank.size(), parts.grid());

    let mut alone = ThreadRank::run(1, |rank| heat(ctx, rank, shape)?.gather());
    let alone = alone.remove(0)?.expect("rank 0 has the array");
    let differing = whole.iter().zip(&alone).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    anyhow::ensure!(differing == 0, "{differing} of {} elements differ from those of one rank", whole.len());
    println!("all {} elements are those of one rank", whole.len());
    Ok(())
}

/// The body after all steps. Its ends along the last axis are connected; no heat passes the other ones.
fn heat<'t>(ctx: &Context, rank: &'t dyn Transport, shape: &[usize]) -> Result<DistArray<'t, f32>, DistError> {
    let ndim = shape.len();
    let mut borders = vec![Border::Reflecting; ndim];
    borders[ndim - 1] = Border::Periodic;
    let body = Decomposition::over(shape, rank.size())?.ghosts(vec![(1, 1); ndim])?.borders(borders)?;
    let hot = |index: &[usize]| if index[0] < 30 && index[1] % 20 < 5 { 100.0 } else { 0.1 * index[ndim - 1] as f32 };
    let mut now = DistArray::from_fn(ctx, rank, &body, hot)?;
    let mut next = DistArray::full(ctx, rank, &body, 0.0_f32)?;
    for _ in 0..STEPS {
        now.halo()?;
        let center = now.interior();
        let mut flow = &center * (-2.0 * ndim as f32);
        for (axis, distance) in (0..ndim).flat_map(|axis| [(axis, -1), (axis, 1)]) {
            let mut shift = vec![0; ndim];
            shift[axis] = distance;
            flow = flow + now.shifted(&shift)?;
        }
        (&center + flow * 0.15).assign_to(&next.interior())?;
        std::mem::swap(&mut now, &mut next);
    }
    Ok(now)
}
