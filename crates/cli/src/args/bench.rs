//! The flags of `vkarray bench`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::EXIT_CODES;

const FIGURES: &str = "\
A figure is the median of several runs after one that is not counted, with the least and the largest beside it.

launch: stream_* is a chain of dependent dispatches, each; host_* its recording alone; independent_* one without
        dependences; host_checks the checks of a dispatch alone; sync_* one dispatch and a wait; graph_* a graph of
        1,000 replayed back to back, each dispatch; host_graph_* the call that replays it; pingpong a kernel and a
        copy on two streams that take turns
copy:   to the device and back, pinned and pageable, and on the device; overlap_ratio is the time of 32 uploads,
        kernels and downloads on three streams over that of the kernels alone, which are the longest stage;
        overlap_link_ratio the same with short kernels, over uploads and downloads at once
connections:
        0>1 is a copy from the first device to the second, beside the pinned copies of each device; the last device is
        the first one, opened again; busy_* is the sum of the throughputs of all devices at once, over that of the
        first alone, from one thread and from one thread each
jobs:   an upload, a kernel and a download, from the first call until the answer is on the host: job_plain_* from and
        to ordinary memory, job_pinned_* pinned memory, job_fresh_* with new arrays, job_down_* without the upload;
        arrays_1KiB_N is one of N arrays that are made, used and dropped, streams_1000 one of 1,000 streams,
        graph_record_10000 one dispatch of a graph that is recorded
threads:
        threads_N is the time until N threads have done their dispatches, each on a stream and on arrays of its own,
        over the number of all dispatches
arrays: arrays_*_1GiB is the rate of an expression, a reduction or a function over arrays of that size, counting the
        bytes that have to be moved; arrays_sum_* of at most 1 MiB its time; arrays_host_* the cost of the call alone,
        for an expression evaluated, assigned or summed
memory: an array made and dropped
replay: the allocations and frees of a log, as the Logging manager and RMM write it, in its order on one thread, each:
        replay_first from nothing, replay_step when memory has been taken; replay_live is the most that the log has
        live, replay_reserved the most that the manager took for it, replay_fragmentation the largest part of free
        device memory that was not in one piece, replay_refused the allocations that failed
startup: twenty different kernels built in a fresh process: cold with nothing on disk, warm with what that left there,
        startup_ratio the one over the other; startup_open is the device opened. Drivers' own caches are off

Example:
  vkarray bench launch --json > figures.jsonl
";

/// Flags of `vkarray bench`.
#[derive(Debug, Args)]
#[command(after_help = format!("{FIGURES}\n{EXIT_CODES}"))]
pub(crate) struct BenchArgs {
    /// What to measure
    pub(crate) suite: Suite,
    /// Log to replay, a CSV file
    #[arg(required_if_eq("suite", "replay"))]
    pub(crate) log: Option<PathBuf>,
    /// Memory manager by name, such as `pool` or `passthrough`; else the one that VKARRAY_MEMORY_MANAGER names
    #[arg(long, value_name = "NAME")]
    pub(crate) manager: Option<String>,
    /// Print JSON lines: the device, then one figure in each line
    #[arg(long)]
    pub(crate) json: bool,
    /// Device: an index, a part of its name, `gpu`, `cpu`, `discrete`, `uuid:...`; `vkarray devices` lists them
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) device: Option<String>,
    /// Run as the process that `bench startup` measures, with this folder as the kernel cache
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub(crate) one_start: Option<PathBuf>,
    /// Size of the copies of `bench connections`, in MiB
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) mib: NonZeroU32,
    /// Number of runs; each figure is their median
    #[arg(long, value_name = "N", default_value = "9")]
    pub(crate) runs: NonZeroU32,
}

/// What `vkarray bench` measures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Suite {
    /// Dispatches: recording, running, waiting
    Launch,
    /// Copies between host and device, and on the device
    Copy,
    /// Copies between all devices of the machine, each way forced and its bytes checked, and all devices busy at once
    Connections,
    /// Small jobs: an upload, a kernel and a download; many small arrays, streams and nodes
    Jobs,
    /// Dispatches of several threads at once
    Threads,
    /// Expressions and reductions of arrays
    Arrays,
    /// Allocations
    Memory,
    /// Allocations and frees that a program logged
    Replay,
    /// Kernels built by a new process, with an empty and with a filled cache on disk
    Startup,
}
