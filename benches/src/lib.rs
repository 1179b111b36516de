//! Shared parts of the programs that measure vkarray, raw Vulkan, wgpu and CUDA with the same definitions.
//!
//! A program in `bin/` measures one side and prints figures as lines (`figure.rs`): `floor` raw Vulkan, `peer` wgpu, `cuda`
//! CUDA; vkarray is measured by the command `vkarray bench`. `compare` runs them in turns. `merge.rs` turns their lines
//! into rows, and `table.rs` the rows into a table. `settings.rs` is the command line of all of them.

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
