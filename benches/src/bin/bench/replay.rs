//! The cost of a program's allocations and frees, repeated from a log without the program.
//!
//! Steps run in the log's order on one thread, without work on the device in between. Allocations that failed in the log
//! are left out. Memory is counted in a run of its own, so that counting does not change the times.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use vkarray::memory::managers::{LogStep, read_log};
use vkarray::memory::{Allocator, Block, Error as MemoryError, MemoryKind};
use vkarray_benches::timed;

use crate::Bench;

/// Reads a log from a file.
pub(crate) fn read(path: &Path) -> Result<Vec<LogStep>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    read_log(BufReader::new(file)).with_context(|| format!("cannot replay {}", path.display()))
}

pub(crate) fn measure(bench: Bench<'_>, log: &[LogStep]) -> Result<()> {
    let n_steps = log.iter().filter(|step| !matches!(step, LogStep::Failure { .. })).count();
    let n = u32::try_from(n_steps.max(1)).unwrap_or(u32::MAX);
    let allocator = bench.ctx.allocator();
    let run = || timed(|| Ok(replay(allocator, log, |_| {}).map(drop)?));
    bench.report.micros("replay_first", &[run()?], n);
    bench.report.micros("replay_step", &bench.report.runs(run)?, n);
    // All cached memory is freed first, so that only this log's memory is counted.
    allocator.flush()?;
    allocator.trim(0)?;
    let mut peaks = Peaks::default();
    let n_refused = replay(allocator, log, |allocator| peaks.update(allocator))?;
    let one = |name, unit, value: f64| bench.report.figure(name, unit, [value].into_iter());
    one("replay_live", "MiB", mebibytes(most_live(log)));
    one("replay_reserved", "MiB", mebibytes(peaks.reserved));
    match peaks.fragmentation {
        Some(fragmentation) => one("replay_fragmentation", "ratio", fragmentation),
        None => bench.report.skipped("replay_fragmentation", "the memory manager does not count what is free"),
    }
    one("replay_refused", "count", f64::from(n_refused));
    Ok(())
}

/// Runs every step, and returns how many allocations were refused.
fn replay(
    allocator: &Arc<Allocator>,
    log: &[LogStep],
    mut between: impl FnMut(&Allocator),
) -> Result<u32, MemoryError> {
    let (mut blocks, mut n_refused) = (Vec::<Option<Arc<Block>>>::with_capacity(log.len()), 0);
    for step in log {
        match *step {
            LogStep::Allocate { size, kind } => blocks.push(match allocator.allocate(size, kind) {
                Ok(block) => Some(block),
                Err(MemoryError::OutOfMemory(_) | MemoryError::TooLarge { .. } | MemoryError::NoSuchMemory { .. }) => {
                    n_refused += 1;
                    None
                }
                Err(error) => return Err(error),
            }),
            LogStep::Failure { .. } => {}
            LogStep::Free { nth } => drop(blocks[nth].take()),
        }
        between(allocator);
    }
    Ok(n_refused)
}

/// The largest sum of sizes that are live at the same time.
fn most_live(log: &[LogStep]) -> u64 {
    let (mut sizes, mut live, mut most) = (Vec::new(), 0, 0);
    for step in log {
        match *step {
            LogStep::Allocate { size, .. } => {
                sizes.push(size);
                live += size;
                most = most.max(live);
            }
            LogStep::Failure { .. } => {}
            LogStep::Free { nth } => live -= sizes[nth],
        }
    }
    most
}

/// The largest values between steps.
#[derive(Debug, Default)]
struct Peaks {
    reserved: u64,
    fragmentation: Option<f64>,
}

impl Peaks {
    fn update(&mut self, allocator: &Allocator) {
        self.reserved = self.reserved.max(allocator.usage().reserved);
        let counters = allocator.counters();
        if counters.total(|kind| kind.reserved) > 0 {
            let now = counters.kind(MemoryKind::Device).fragmentation();
            self.fragmentation = Some(self.fragmentation.map_or(now, |before| before.max(now)));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure is printed with three digits")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_is_live_is_found() {
        let kind = MemoryKind::Device;
        let give = |size| LogStep::Allocate { size, kind };
        let cases: &[(&[LogStep], u64)] = &[
            (&[], 0),
            (&[give(3), give(4)], 7),                                    // Never freed.
            (&[give(3), LogStep::Free { nth: 0 }, give(4)], 4),          // Not at the same time.
            (&[give(3), give(4), LogStep::Free { nth: 1 }, give(2)], 7), // Before the last.
            (&[LogStep::Failure { size: 9, kind }, give(1)], 1),         // Never live, and not numbered.
        ];
        for &(log, most) in cases {
            assert_eq!(most_live(log), most, "{log:?}");
        }
    }
}
