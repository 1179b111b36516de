//! vkarray, wgpu, CUDA, the driver and others on one device, one after the other in the same run, with the same definitions.
//!
//! A program in `bin/` measures one side and prints lines (`figure.rs`): `floor` the driver alone, `peer` wgpu, `cuda` CUDA; our
//! own side is the command `vkarray bench`. `compare` runs them in turns. `merge.rs` makes rows of all their lines, and
//! `table.rs` a table of the rows. `settings.rs` is what all of them are told.

mod figure;
mod merge;
mod settings;
mod table;

use std::time::{Duration, Instant};

pub use self::figure::{ABSENT, Figure, Line, Report, median};
pub use self::merge::{Cell, Row, Sample, canonical, merge};
pub use self::settings::{Settings, Suite};
pub use self::table::table;

/// The time that `work` takes.
///
/// # Errors
///
/// Those of `work`.
pub fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}
