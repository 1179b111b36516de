//! Shared parts of the programs that measure vkarray, raw Vulkan, wgpu and CUDA with the same definitions.
//!
//! A program in `bin/` measures one side and prints figures as lines (`figure.rs`): `bench` vkarray, `floor` raw Vulkan,
//! `peer` wgpu, `cuda` CUDA. `compare` runs them in turns. `merge.rs` turns their lines
//! into rows, and `table.rs` the rows into a table. `settings.rs` is the command line of all of them, `startup.rs` has
//! the kernels that they build.

mod figure;
mod merge;
mod settings;
mod startup;
mod table;

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

pub use self::figure::{ABSENT, Figure, Line, Report, Waits, median, print_best};
pub use self::merge::{Cell, Row, Sample, canonical, merge};
pub use self::settings::{Settings, Suite};
pub use self::startup::{ENTRIES, Opening, VARIANTS, Variant, first_number};
pub use self::table::table;

/// The time that `work` takes.
///
/// # Errors
///
/// The errors that `work` returns.
pub fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// The longest time that one of `n` threads takes for `work`. All threads begin it together, each with the value that
/// `prepare` made for it.
///
/// # Errors
///
/// The errors that `prepare` and `work` return.
pub fn at_once<P>(
    n: u32,
    prepare: impl Fn(u32) -> anyhow::Result<P> + Sync,
    work: impl Fn(&mut P) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<Duration> {
    let start = Barrier::new(n as usize);
    let one = |i: u32| {
        let prepared = prepare(i);
        start.wait(); // Also by a thread that failed, since the others wait for it.
        let mut prepared = prepared?;
        timed(|| work(&mut prepared))
    };
    let times = thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = (0..n).map(|i| scope.spawn(move || one(i))).collect();
        let times = threads.into_iter().map(|thread| thread.join().expect("the threads do not panic"));
        times.collect::<anyhow::Result<Vec<_>>>()
    });
    Ok(times?.into_iter().max().unwrap_or_default())
}
