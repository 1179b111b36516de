//! A rank that fails ends the ranks that wait for it: `mpiexec -n 3 target/debug/examples/failing_rank error`.
//!
//! The argument is what happens on rank 1: an error, a panic, or the end of its process.

use std::{env, process};

use vkarray_dist::{MpiRank, Transport};

fn main() -> Result<(), vkarray_dist::TransportError> {
    let failure = env::args().nth(1).unwrap_or_default();
    MpiRank::run(|rank| -> anyhow::Result<()> {
        match (rank.rank(), &*failure) {
            (1, "error") => anyhow::bail!("the cause of the end"),
            (1, "panic") => panic!("the cause of the end"),
            (1, "abort") => process::abort(),
            (1, _) => anyhow::bail!("the argument is `error`, `panic` or `abort`"),
            _ => Ok(rank.exchange(Vec::new(), &[(1, 4)]).map(drop)?),
        }
    })
}
