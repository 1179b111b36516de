//! A rank that fails ends the ranks that wait for it: `mpiexec -n 3 target/debug/examples/failing_rank error`.
//!
//! The argument is what happens on rank 1: an error, a panic, the end of its process, another call than that of the
//! other ranks, or an early end of its program. With `none` the ranks exchange elements until one of them is killed.

use std::{env, process};

use vkarray::Context;
use vkarray_dist::{Border, Decomposition, DistArray, MpiRank, Transport};

fn main() -> Result<(), vkarray_dist::TransportError> {
    let failure = env::args().nth(1).unwrap_or_default();
    #[cfg(unix)]
    println!("process {} of {}", process::id(), std::os::unix::process::parent_id());
    MpiRank::run(|rank| -> anyhow::Result<()> {
        println!("running");
        match (rank.rank(), &*failure) {
            (1, "error") => anyhow::bail!("the cause of the end"),
            (1, "panic") => panic!("the cause of the end"),
            (1, "abort") => process::abort(),
            (1, "end") => Ok(()),
            (_, "call" | "end" | "none") => exchange(rank, &failure),
            (1, _) => anyhow::bail!("the argument is `error`, `panic`, `abort`, `call`, `end` or `none`"),
            _ => Ok(rank.exchange(&[], &mut [(1, &mut [0; 4])])?),
        }
    })
}

fn exchange(rank: &MpiRank, failure: &str) -> anyhow::Result<()> {
    let plate = Decomposition::over([300, 200], rank.size())?.ghosts([(2, 2); 2])?.borders([Border::Periodic; 2])?;
    let array = DistArray::full(&Context::open_default()?, rank, &plate, 1.0_f32)?;
    loop {
        array.halo()?;
        if failure == "call" && rank.rank() == 1 {
            array.max()?;
        }
        anyhow::ensure!(array.sum()? == 60_000.0, "the sum has changed");
    }
}
