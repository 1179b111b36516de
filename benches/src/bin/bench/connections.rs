//! Copies between all devices of the machine, by every route, and all devices busy at once.
//!
//! There is one context on each device, and a second one on the first. `0>1` is a copy from the first to the second in
//! that order. Each route is forced by a limit, and its bytes are compared with the bytes that were sent. The pinned
//! copies of each device in the same run are an upper bound for a route through the host.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use vkarray::device::Device;
use vkarray::interop::{ConnectionLimit, MemoryConnection};
use vkarray::memory::managers::Request;
use vkarray::memory::{Block, BlockRange, MemoryKind};
use vkarray::{Context, DeviceNDArray, Kernel, Stream};
use vkarray_benches::timed;

use crate::copy::pinned;
use crate::{Bench, kernels};

/// The largest pinned copy.
const PINNED_BYTES: u64 = 256 << 20;

/// Bytes that are compared at once.
const PIECE: usize = 16 << 20;

/// Elements of the array that keeps a device busy, and iterations of its kernel.
const BUSY_ITEMS: usize = 1 << 20;
const BUSY_ROUNDS: u32 = 256;

/// How long each device is busy, at least.
const BUSY: Duration = Duration::from_millis(200);

pub(crate) fn measure(bench: Bench<'_>, bytes: u64) -> Result<()> {
    let contexts = contexts(bench.ctx)?;
    for (idx, ctx) in contexts.iter().enumerate() {
        bench.report.remark(&format!("device {idx}"), &format!("{}, {}", ctx.info().name, ctx.info().uuid));
    }
    let distinct = &contexts[..contexts.len() - 1];
    for (idx, ctx) in distinct.iter().enumerate() {
        pinned(Bench { ctx, ..bench }, &ctx.stream()?, bytes.min(PINNED_BYTES), &format!("{idx}_"))?;
    }
    let again = contexts.len() - 1;
    for (from, to) in (0..contexts.len()).flat_map(|from| (0..contexts.len()).map(move |to| (from, to))) {
        if from != to && (from.max(to) < again || from.min(to) == 0) {
            pair(bench, (from, &contexts[from]), (to, &contexts[to]), bytes)?;
        }
    }
    busy(bench, distinct)
}

/// A context on the device of `first`, one on every other device, and a second one on the first device.
fn contexts(first: &Context) -> Result<Vec<Context>> {
    let own = first.device().physical();
    let all = own.instance().devices()?;
    let others = all.iter().filter(|other| other.info().uuid != own.info().uuid).chain([own]);
    let opened = others.map(|physical| Ok(Context::on(&Device::open(physical)?)?));
    [Ok(first.clone())].into_iter().chain(opened).collect()
}

/// Every route from one context to another, for ordinary memory and for an exportable source.
fn pair(bench: Bench<'_>, from: (usize, &Context), to: (usize, &Context), bytes: u64) -> Result<()> {
    let name = format!("{}>{}", from.0, to.0);
    let (from, to) = (from.1, to.1);
    let target = to.allocator().allocate(bytes, MemoryKind::Device)?;
    for exportable in [false, true] {
        if exportable && !from.device().external().memory_fd.exportable {
            continue;
        }
        let kind = if exportable { "exportable" } else { "ordinary" };
        let request = Request::new(bytes, MemoryKind::Device).exportable(exportable);
        let source = from.allocator().allocate_for(&request)?;
        bench.report.remark(&format!("{name} {kind}"), &source.connection_to(to.device())?.to_string());
        let route = Route { from: range(&source, from.default_stream()), to: range(&target, to.default_stream()) };
        route.fill()?;
        let mut seen: Vec<MemoryConnection> = Vec::new();
        for limit in ConnectionLimit::ALL {
            let connection = route.check(limit)?;
            if seen.contains(&connection) {
                continue;
            }
            seen.push(connection);
            let times = bench.report.runs(|| route.time(limit))?;
            let way = match connection {
                MemoryConnection::None => "staging".to_owned(),
                MemoryConnection::Migratable { path, .. } => path.to_string(),
                MemoryConnection::Unified { how, .. } => how.to_string(),
            };
            bench.report.rate(&format!("{name} {kind}, {way}"), &times, bytes);
        }
    }
    Ok(())
}

fn range<'a>(block: &'a Arc<Block>, stream: &'a Stream) -> BlockRange<'a> {
    BlockRange { block, range: 0..block.size(), stream }
}

struct Route<'a> {
    from: BlockRange<'a>,
    to: BlockRange<'a>,
}

/// The words of the pattern from byte `start` on: different for each position.
fn words(start: u64, bytes: u64) -> Vec<u32> {
    let word = |at: u64| {
        let [low, high] = [at, at >> 32].map(|half| u32::try_from(half & u64::from(u32::MAX)).expect("32 bits"));
        low.wrapping_mul(0x9E37_79B1) ^ high
    };
    (start / 4..(start + bytes).div_ceil(4)).map(word).collect()
}

impl Route<'_> {
    /// The bytes in pieces: the start and the length of each.
    fn pieces(&self) -> impl Iterator<Item = (u64, usize)> + use<> {
        let bytes = self.from.range.end;
        let piece = PIECE as u64;
        (0..bytes.div_ceil(piece))
            .map(move |idx| (idx * piece, usize::try_from(piece.min(bytes - idx * piece)).unwrap_or(PIECE)))
    }

    fn fill(&self) -> Result<()> {
        let send = |(start, len)| {
            let words = words(start, len as u64);
            Ok(self.from.block.copy_from_host(self.from.stream, start, &bytemuck::cast_slice(&words)[..len])?)
        };
        self.pieces().try_for_each(send)
    }

    /// Copies once, and compares all bytes.
    fn check(&self, limit: ConnectionLimit) -> Result<MemoryConnection> {
        self.to.block.fill(self.to.stream, 0)?;
        let connection = self.from.copy_within_limit(&self.to, limit)?;
        for (start, len) in self.pieces() {
            let mut found = vec![0; len];
            self.to.block.copy_to_host(self.to.stream, start, &mut found)?;
            let words = words(start, len as u64);
            let sent: &[u8] = &bytemuck::cast_slice(&words)[..len];
            if found != sent {
                let at = found.iter().zip(sent).position(|(found, sent)| found != sent).unwrap_or_default();
                bail!("a copy between devices ({connection}) is wrong at byte {}", start + at as u64);
            }
        }
        Ok(connection)
    }

    /// The time of a copy and the waits for both sides.
    fn time(&self, limit: ConnectionLimit) -> Result<Duration> {
        timed(|| {
            self.from.copy_within_limit(&self.to, limit)?;
            self.to.stream.synchronize()?;
            Ok(self.from.stream.synchronize()?)
        })
    }
}

/// A device with work.
struct Busy {
    stream: Stream,
    kernel: Kernel,
    array: DeviceNDArray<u32>,
}

impl Busy {
    fn new(ctx: &Context) -> Result<Self> {
        Ok(Self { stream: ctx.stream()?, kernel: kernels::spin(ctx)?, array: ctx.full(BUSY_ITEMS, 7_u32)? })
    }

    fn record(&self) -> Result<()> {
        Ok(self.kernel.dispatch(&self.stream, kernels::covering(BUSY_ITEMS as u64), (&self.array, BUSY_ROUNDS))?)
    }

    /// The time of `n` dispatches.
    fn time(&self, n: u32) -> Result<Duration> {
        timed(|| {
            (0..n).try_for_each(|_| self.record())?;
            Ok(self.stream.synchronize()?)
        })
    }

    /// The number of dispatches that take [`BUSY`].
    fn count(&self) -> Result<u32> {
        let mut n = 1;
        self.time(n)?;
        while self.time(n)? < BUSY {
            n *= 2;
        }
        Ok(n)
    }
}

/// The sum of the devices' throughputs while all are busy, divided by the throughput of the first device alone.
fn busy(bench: Bench<'_>, contexts: &[Context]) -> Result<()> {
    if contexts.len() < 2 {
        bench.report.skipped("busy_one_thread, busy_threads", "one device");
        return Ok(());
    }
    let devices = contexts.iter().map(Busy::new).collect::<Result<Vec<_>>>()?;
    let counts = devices.iter().map(Busy::count).collect::<Result<Vec<_>>>()?;
    let mut alone = bench.report.runs(|| devices[0].time(counts[0]))?;
    alone.sort();
    let rate = |n: u32, time: Duration| f64::from(n) / time.as_secs_f64();
    let first = rate(counts[0], alone[alone.len() / 2]);
    let sum: u32 = counts.iter().sum();
    let from_one = || {
        timed(|| {
            for turn in 0..counts.iter().copied().max().unwrap_or(0) {
                let mut due = devices.iter().zip(&counts).filter(|(_, count)| turn < **count);
                due.try_for_each(|(device, _)| device.record())?;
            }
            devices.iter().try_for_each(|device| Ok(device.stream.synchronize()?))
        })
    };
    let from_each = || {
        timed(|| {
            thread::scope(|scope| {
                let threads: Vec<_> =
                    devices.iter().zip(&counts).map(|(device, &n)| scope.spawn(move || device.time(n))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("no panic").map(drop))
            })
        })
    };
    let ratios = |times: Vec<Duration>| times.into_iter().map(move |time| rate(sum, time) / first);
    bench.report.figure("busy_one_thread", "ratio", ratios(bench.report.runs(from_one)?));
    bench.report.figure("busy_threads", "ratio", ratios(bench.report.runs(from_each)?));
    Ok(())
}
