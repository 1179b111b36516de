//! What messages and exchanges take on this machine, and what the model says: `mpiexec -n 2 target/debug/examples/measure`,
//! or `target/debug/examples/measure threads 2`.
//!
//! Ranks 0 and 1 measure messages between them, rank 0 measures copies of its device, and all ranks exchange ghost
//! zones. `docs/scale.md` explains the results.

use std::env;
use std::time::Instant;

use vkarray::prelude::*;
use vkarray_dist::model::{Connection, Machine, halo_messages};
use vkarray_dist::{Border, Decomposition, DistArray, MpiRank, ThreadRank, Transport, open_context};

/// Messages of these lengths, in bytes.
const LENGTHS: [usize; 7] = [1, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24];

/// Elements along each axis of a rank's cube.
const CUBES: [usize; 4] = [16, 48, 96, 160];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(MpiRank::run(|rank| measure(rank))?),
        ["threads", ranks] => ThreadRank::run(ranks.parse()?, |rank| measure(rank)).into_iter().collect(),
        _ => anyhow::bail!("the arguments are none, or `threads` and a number of ranks"),
    }
}

fn measure(rank: &dyn Transport) -> anyhow::Result<()> {
    anyhow::ensure!(rank.size() > 1, "start two ranks or more");
    let ctx = open_context(rank)?;
    let messages = messages(rank)?;
    rank.barrier()?;
    let copies = if rank.rank() == 0 { copies(&ctx)? } else { messages };
    rank.barrier()?;
    let machine = Machine { ranks_per_host: rank.size(), copies, host: messages, network: messages };
    if rank.rank() == 0 {
        println!("{}: {} ranks, {}", rank.place().transport, rank.size(), ctx.info().name);
        println!("messages: {messages:?}\ncopies: {copies:?}");
        println!("{:>10}{:>12}{:>14}{:>14}", "cube", "bytes", "measured us", "model us");
    }
    for len in CUBES {
        let grid = Decomposition::over([1 << 16; 3], rank.size())?.grid().to_vec();
        let shape: Vec<usize> = grid.iter().map(|parts| parts * len).collect();
        let cubes = Decomposition::with_grid(shape, grid)?.ghosts([(1, 1); 3])?.borders([Border::Periodic; 3])?;
        let array = DistArray::full(&ctx, rank, &cubes, 1.0_f32)?;
        let seconds = least(200, || Ok(array.halo()?))?;
        let estimate = machine.round(rank.size(), halo_messages(&cubes, 4)?);
        if rank.rank() == 0 {
            let [measured, modelled] = [seconds, estimate.seconds].map(|seconds| seconds * 1e6);
            println!("{len:>10}{:>12}{measured:>14.0}{modelled:>14.0}", estimate.bytes / rank.size() as u64);
        }
    }
    Ok(())
}

/// The least time of some calls, in seconds, since what else the machine does only adds to it.
fn least(calls: usize, mut call: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let mut seconds = f64::INFINITY;
    for _ in 0..calls {
        let start = Instant::now();
        call()?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    Ok(seconds)
}

/// Messages between ranks 0 and 1: half the time from a message to its answer.
fn messages(rank: &dyn Transport) -> anyhow::Result<Connection> {
    let both = |len: usize, count: usize| {
        let other = 1 - rank.rank();
        let (sent, mut received) = (vec![1; len], vec![0; len * count]);
        let outgoing = vec![(other, &*sent); count];
        least(if len > 1 << 18 { 40 } else { 1000 }, || {
            let mut incoming: Vec<_> = received.chunks_mut(len).map(|bytes| (other, bytes)).collect();
            if rank.rank() == 0 {
                rank.exchange(&outgoing, &mut [])?;
            }
            rank.exchange(&[], &mut incoming)?;
            if rank.rank() == 1 {
                rank.exchange(&outgoing, &mut [])?;
            }
            Ok(())
        })
    };
    let mut times = Vec::new();
    let mut many = 0.0;
    if rank.rank() < 2 {
        for len in LENGTHS {
            let seconds = both(len, 1)? / 2.0;
            if rank.rank() == 0 {
                println!("{len:>10} bytes {:>10.2} us {:>10.3} GB/s", seconds * 1e6, len as f64 / seconds / 1e9);
            }
            times.push(seconds);
        }
        many = both(1, 32)? / 2.0;
    }
    let &[latency, .., longest] = &times[..] else {
        return Ok(Connection { latency: 0.0, overhead: 0.0, bandwidth: 1.0 });
    };
    let bandwidth = *LENGTHS.last().unwrap_or(&1) as f64 / (longest - latency);
    Ok(Connection { latency, overhead: (many - latency) / 31.0, bandwidth })
}

/// Copies of short and long views to pinned memory, and of the same elements back, by way of an array in which they are
/// packed. Faces are no contiguous memory, and neither are these views.
fn copies(ctx: &Context) -> anyhow::Result<Connection> {
    const LONG: usize = 128 * 128 * 64;
    let array = ctx.zeros::<f32>([128; 3])?;
    let short: Vec<_> = (0..32).map(|at| array.slice(s![at..at + 8, ..8, at..at + 1])).collect::<Result<_, _>>()?;
    let long = [array.slice(s![.., .., ..64])?];
    let both = |views: &[DeviceNDArray<f32>]| {
        let size = views[0].size();
        let (packed, pinned) =
            (ctx.device_array::<f32>(size * views.len())?, ctx.pinned_array::<f32>(size * views.len())?);
        let places = packed.split(size)?.into_iter().zip(views).map(|(place, view)| place.reshape(view.shape()));
        let places: Vec<_> = places.collect::<Result<_, _>>()?;
        least(200, || {
            places.iter().zip(views).try_for_each(|(place, view)| place.copy_from_device(view))?;
            pinned.copy_from_device(&packed)?;
            drop(pinned.write_on_host()?);
            packed.copy_from_device(&pinned)?;
            places.iter().zip(views).try_for_each(|(place, view)| view.copy_from_device(place))?;
            Ok(ctx.synchronize()?)
        })
    };
    let [one, many, long] = [both(&short[..1])? / 2.0, both(&short)? / 2.0, both(&long)? / 2.0];
    Ok(Connection { latency: one, overhead: (many - one) / 31.0, bandwidth: LONG as f64 * 4.0 / (long - one) })
}
