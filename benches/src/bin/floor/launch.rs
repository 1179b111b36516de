//! The cost of small dispatches in raw Vulkan: recording, running, submitting, waiting, and ordering between queues.
//!
//! Each figure has the name and definition of the figure of `bench` for which it is the floor. A chain is recorded
//! before the clock starts, since a runtime can record while the device works. Independent dispatches are recorded
//! while the clock runs, since the device runs them faster than they are recorded. `submit_empty` and `hop` exist here
//! only. Arrays are pushed with each dispatch; independent dispatches, and the chain of `axpy16`, also get them in the
//! other ways of `bindings.rs`.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use ash::vk;
use vkarray_benches::{Report, print_best, timed};

use crate::bindings;
use crate::commands::{Commands, Pair};
use crate::gpu::{Gpu, Timeline};
use crate::shader;
use crate::threads::Recording;

/// Dispatches that are recorded at once for the host's figures.
const CHAIN: u32 = 2000;
/// Dispatches of a buffer that is submitted repeatedly, and how often it is.
const NODES: u32 = 1000;
const REPLAYS: u32 = 50;
/// Dispatches, each with a wait.
const WAITS: u32 = 301;
/// Pairs of arrays that the independent dispatches use in turn.
const PAIRS: u32 = 64;
/// Empty submissions in a row, and dispatches on two queues in turn.
const SUBMITS: u32 = 200;

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    let words = shader::small()?;
    let (nop, axpy) = (gpu.pipeline(&words, c"nop")?, gpu.pipeline(&words, c"axpy")?);
    let pairs = (0..PAIRS).map(|_| Pair::new(gpu)).collect::<Result<Vec<_>>>()?;
    let mut bench = Bench { gpu, report, timeline: gpu.timeline()? };
    for (name, pipeline, n_groups) in [("nop1", nop, 1), ("nop16", nop, 16), ("axpy1", axpy, 1), ("axpy16", axpy, 16)] {
        let work = Work { pipeline, pairs: &pairs[..1], n_groups };
        report.micros(&format!("host_{name}"), &bench.host_times(work)?, CHAIN);
        bench.sync(&format!("sync_{name}"), work)?;
        let (each, host) = bench.replays(work)?;
        if name == "axpy16" {
            report.micros("host_graph_dependent_axpy16", &host, REPLAYS);
        } else {
            report.micros(&format!("stream_{name}"), &each, NODES * REPLAYS);
        }
    }
    let work = Work { pipeline: axpy, pairs: &pairs, n_groups: 16 };
    let (each, host) = bench.replays(work)?;
    report.micros("graph_independent_axpy16", &each, NODES * REPLAYS);
    report.micros("host_graph_independent_axpy16", &host, REPLAYS);
    let (mut totals, mut hosts, mut chains) = (Vec::new(), Vec::new(), Vec::new());
    for (way, pipeline, pairs) in bindings::ways(gpu, report, &words, (axpy, &pairs))? {
        let host = bench.host_times(Work { pipeline, pairs: &pairs, n_groups: 16 })?;
        hosts.push((format!("host_independent_axpy16_{way}"), host));
        let (chain, _) = bench.replays(Work { pipeline, pairs: &pairs[..1], n_groups: 16 })?;
        chains.push((format!("stream_axpy16_{way}"), chain));
        let (mut recording, queue) = (Recording::of(gpu, pairs)?, Mutex::new(gpu.queues[0]));
        let total = report.runs(|| timed(|| recording.run(gpu, &queue, pipeline, CHAIN)))?;
        totals.push((format!("independent_axpy16_{way}"), total));
    }
    for (name, ways) in [("independent_axpy16", totals), ("host_independent_axpy16", hosts)] {
        print_best(name, &ways, |name, times| report.micros(name, times, CHAIN));
    }
    print_best("stream_axpy16", &chains, |name, times| {
        report.micros(name, times, NODES * REPLAYS);
        if name == "stream_axpy16" {
            report.micros("graph_dependent_axpy16", times, NODES * REPLAYS);
        }
    });
    bench.submits()?;
    bench.hops(Work { pipeline: axpy, pairs: &pairs[..1], n_groups: 16 })
}

/// Dispatches that use some pairs in turn: a chain if there is only one pair.
#[derive(Clone, Copy)]
struct Work<'a> {
    pipeline: vk::Pipeline,
    pairs: &'a [Pair],
    n_groups: u32,
}

impl Work<'_> {
    /// Records `n` dispatches, with a barrier only where the pairs begin anew.
    fn record(self, commands: &Commands<'_>, n: u32) {
        commands.dispatches(self.pipeline, self.pairs, n, self.n_groups);
    }
}

struct Bench<'a> {
    gpu: &'a Gpu,
    report: Report,
    timeline: Timeline,
}

impl Bench<'_> {
    /// The times of the recording alone.
    fn host_times(&self, work: Work<'_>) -> Result<Vec<Duration>> {
        let commands = Commands::record(self.gpu, |_| ())?;
        self.report.runs(|| timed(|| commands.record_again(|commands| work.record(commands, CHAIN))))
    }

    /// One recorded dispatch, submitted and polled until it is complete.
    fn sync(&mut self, name: &str, work: Work<'_>) -> Result<()> {
        let commands = Commands::record(self.gpu, |commands| work.record(commands, 1))?;
        let report = self.report;
        report.wait(name, &report.waits(WAITS, || self.send(&commands).and_then(|()| self.wait()))?);
        Ok(())
    }

    /// A recorded buffer, submitted repeatedly. Returns the times until all work was complete, and until all was sent.
    fn replays(&mut self, work: Work<'_>) -> Result<(Vec<Duration>, Vec<Duration>)> {
        let commands = Commands::record(self.gpu, |commands| work.record(commands, NODES))?;
        let times = self.report.runs(|| {
            let start = Instant::now();
            (0..REPLAYS).try_for_each(|_| self.send(&commands))?;
            let host = start.elapsed();
            self.wait()?;
            Ok((start.elapsed(), host))
        })?;
        Ok(times.into_iter().unzip())
    }

    /// A submission without commands; the host's time.
    fn submits(&mut self) -> Result<()> {
        let times = self.report.runs(|| {
            let submit = || self.gpu.submit(self.gpu.queues[0], None, None, &mut self.timeline);
            let time = timed(|| std::iter::repeat_with(submit).take(SUBMITS as usize).collect())?;
            self.wait()?;
            Ok(time)
        })?;
        self.report.micros("submit_empty", &times, SUBMITS);
        Ok(())
    }

    /// Dispatches on two queues in turn, each of which waits for the other's timeline.
    fn hops(&mut self, work: Work<'_>) -> Result<()> {
        let &[first, second, ..] = &self.gpu.queues[..] else {
            self.report.skipped("hop", "the family has one queue");
            return Ok(());
        };
        let commands = Commands::record(self.gpu, |commands| work.record(commands, 1))?.buffer;
        let mut other = self.gpu.timeline()?;
        let times = self.report.runs(|| {
            timed(|| {
                for _ in 0..SUBMITS / 2 {
                    self.gpu.submit(first, Some(commands), Some(&other), &mut self.timeline)?;
                    self.gpu.submit(second, Some(commands), Some(&self.timeline), &mut other)?;
                }
                self.gpu.poll(&other)
            })
        })?;
        self.report.micros("hop", &times, SUBMITS);
        Ok(())
    }

    fn send(&mut self, commands: &Commands<'_>) -> Result<()> {
        self.gpu.submit(self.gpu.queues[0], Some(commands.buffer), None, &mut self.timeline)
    }

    fn wait(&self) -> Result<()> {
        self.gpu.poll(&self.timeline)
    }
}
