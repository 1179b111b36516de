//! Memory stays the same over many exchanges. `VKARRAY_TEST_EXCHANGES` sets their number.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]

use vkarray::prelude::*;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, ThreadRank, Transport};

/// Exchanges unless `VKARRAY_TEST_EXCHANGES` is set.
const EXCHANGES: usize = 600;

/// By how much the memory of the process may grow, in bytes. An exchange that leaked its messages would leak more.
const SLACK: u64 = 3 << 20;

/// Elements along each axis of the plate.
const LEN: usize = 500;

/// The memory of the process, on Linux, and that of the arrays of a context; in bytes.
fn memory(ctx: &Context) -> (u64, u64) {
    ctx.synchronize().unwrap();
    ctx.allocator().trim(0).unwrap();
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).map_or(0, |pages| pages.parse().unwrap());
    (pages * 4096, ctx.allocator().usage().in_use)
}

/// Exchanges ghost zones, redistributes and reduces `count` times.
fn exchange(array: &DistArray<'_, f32>, rows: &Decomposition, count: usize) -> Result<(), DistError> {
    for _ in 0..count {
        array.halo()?;
    }
    for _ in 0..count / 4 {
        assert_eq!(array.redistribute(rows)?.sum()?, (LEN * LEN) as f32);
    }
    Ok(())
}

#[test]
fn memory_stays_the_same_over_many_exchanges() {
    let count = std::env::var("VKARRAY_TEST_EXCHANGES").map_or(EXCHANGES, |text| text.parse().expect("a number"));
    let ctx = Context::open_default().unwrap();
    let results = ThreadRank::run(3, |rank| -> Result<_, DistError> {
        let plate = Decomposition::over([LEN, LEN], 3)?.ghosts([(2, 2); 2])?.borders([Border::Periodic; 2])?;
        let rows = Decomposition::with_grid([LEN, LEN], [1, 3])?;
        let array = DistArray::full(&ctx, rank, &plate, 1.0_f32)?;
        // What drivers keep grows at first.
        let mut all = Vec::new();
        for count in [200, count] {
            exchange(&array, &rows, count)?;
            rank.barrier()?;
            if rank.rank() == 0 {
                all.push(memory(&ctx));
            }
            rank.barrier()?;
        }
        Ok(all)
    });
    let of_first = results.into_iter().next().unwrap().unwrap();
    let [(process, device), (process_after, device_after)] = of_first[..] else { panic!("two, not {of_first:?}") };
    println!("{count} exchanges: process {process} to {process_after} bytes, arrays {device} to {device_after}");
    assert_eq!(device_after, device);
    assert!(process_after <= process + SLACK, "{process} to {process_after} bytes after {count} exchanges");
}
