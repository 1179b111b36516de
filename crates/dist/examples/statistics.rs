//! A table of random numbers that is divided among processes, its histogram, quantiles, sums and products:
//! `mpiexec -n 4 target/debug/examples/statistics`.
//!
//! The program ends with an error if a result is not, bit for bit, that of a single rank.

use vkarray::ndarray::ArrayD;
use vkarray::prelude::*;
use vkarray::primitives::Rng;
use vkarray_dist::{Decomposition, DistArray, DistError, MpiRank, ThreadRank, Transport, map, open_context};

const SHAPE: [usize; 2] = [301, 203];

/// What does not depend on the number of ranks.
#[derive(Debug, PartialEq)]
struct Results {
    counts: Vec<u64>,
    quartiles: [f32; 3],
    sum: f32,
    /// The sums of the rows, on rank 0.
    rows: Option<ArrayD<f32>>,
    /// For each column, how many of the numbers up to each row are above the mean; on rank 0.
    above: Option<ArrayD<i64>>,
    /// The products of the columns with each other, rounded to integers before; on rank 0.
    products: Option<ArrayD<i32>>,
}

fn main() -> Result<(), vkarray_dist::TransportError> {
    MpiRank::run(|rank| -> anyhow::Result<()> {
        let ctx = open_context(rank)?;
        let results = statistics(&ctx, rank)?;
        if rank.rank() > 0 {
            return Ok(());
        }
        let Results { counts, quartiles, sum, .. } = &results;
        println!("{} ranks: histogram {counts:?}, quartiles {quartiles:?}, sum {sum}", rank.size());
        let alone = ThreadRank::run(1, |rank| statistics(&ctx, rank)).remove(0)?;
        anyhow::ensure!(results == alone, "the results of one rank are {alone:?}");
        println!("all results are those of one rank");
        Ok(())
    })
}

fn statistics(ctx: &Context, rank: &dyn Transport) -> Result<Results, DistError> {
    let table = Decomposition::over(SHAPE, rank.size())?;
    let x = DistArray::random(ctx, rank, &table, &Rng::philox(11), |rng, ctx, count| rng.normal::<f32>(ctx, count))?;
    let (counts, _edges) = x.histogram(12, -3.0..=3.0)?;

    let list = Decomposition::over([SHAPE[0] * SHAPE[1]], rank.size())?;
    let draw = |rng: &mut Rng, ctx: &Context, count| rng.normal::<f32>(ctx, count);
    let sorted = DistArray::random(ctx, rank, &list, &Rng::philox(11), draw)?.sort(0)?;
    let quarter = SHAPE[0] * SHAPE[1] / 4;
    let quartiles = [sorted.get(&[quarter])?, sorted.get(&[2 * quarter])?, sorted.get(&[3 * quarter])?];

    let mean = x.reproducible_sum()? / (SHAPE[0] * SHAPE[1]) as f32;
    let above = map(&x, |x| x.greater(mean).cast::<i32>())?.cumulative_sum(0)?;
    let rounded = map(&x, |x| (x * 8.0).round().cast::<i32>())?;
    Ok(Results {
        counts,
        quartiles,
        sum: x.reproducible_sum()?,
        rows: x.reproducible_sum_along(&[1])?.gather()?,
        above: above.gather()?,
        products: rounded.transpose()?.matmul(&rounded)?.gather()?,
    })
}
