//! The cost of a dispatch in raw Vulkan while several threads dispatch.
//!
//! Each thread records its dispatches into command buffers of its own and submits them to one of the device's queues.
//! If there are fewer queues than threads, several threads share one. Nothing else is shared.

use std::sync::{Mutex, MutexGuard};

use anyhow::Result;
use ash::vk;
use vkarray_benches::{Report, at_once};

use crate::commands::{Commands, Pair};
use crate::gpu::{Gpu, Timeline};
use crate::shader;

const THREADS: [u32; 5] = [1, 2, 4, 8, 16];
/// Dispatches of a thread, dispatches of one command buffer, and command buffers that a thread uses in turn.
const DISPATCHES: u32 = 20_000;
const BATCH: u32 = 128;
const BUFFERS: usize = 8;
/// Pairs of arrays that the dispatches of a thread use in turn.
const PAIRS: u32 = 8;

/// The command buffers and the timeline of one thread.
pub(crate) struct Recording<'a> {
    buffers: Vec<Commands<'a>>,
    pairs: Vec<Pair>,
    timeline: Timeline,
}

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    let axpy = gpu.pipeline(&shader::small()?, c"axpy")?;
    let threads = (0..THREADS[THREADS.len() - 1]).map(|_| Ok(Mutex::new(Recording::new(gpu, PAIRS)?)));
    let threads = threads.collect::<Result<Vec<_>>>()?;
    for n_queues in [1, 2, 4, 8] {
        let Some(queues) = gpu.queues.get(..n_queues) else { break };
        let queues: Vec<_> = queues.iter().map(|&queue| Mutex::new(queue)).collect();
        for n in THREADS {
            let prepare = |i: u32| Ok((lock(&threads[i as usize]), &queues[i as usize % n_queues]));
            let times = report.runs(|| at_once(n, prepare, |(own, queue)| own.run(gpu, queue, axpy, DISPATCHES)))?;
            report.micros(&format!("threads_{n}_of_{n_queues}_queues"), &times, n * DISPATCHES);
            if n_queues == gpu.queues.len() {
                report.micros(&format!("threads_{n}"), &times, n * DISPATCHES);
            }
        }
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics under a lock")
}

impl<'a> Recording<'a> {
    pub(crate) fn new(gpu: &'a Gpu, n_pairs: u32) -> Result<Self> {
        Self::of(gpu, (0..n_pairs).map(|_| Pair::new(gpu)).collect::<Result<_>>()?)
    }

    /// For dispatches that use these pairs.
    pub(crate) fn of(gpu: &'a Gpu, pairs: Vec<Pair>) -> Result<Self> {
        let buffers = (0..BUFFERS).map(|_| Commands::record(gpu, |_| ())).collect::<Result<_>>()?;
        Ok(Self { buffers, pairs, timeline: gpu.timeline()? })
    }

    /// Records dispatches that use the pairs in turn, submits them as they are recorded, and waits for them.
    pub(crate) fn run(
        &mut self,
        gpu: &Gpu,
        queue: &Mutex<vk::Queue>,
        pipeline: vk::Pipeline,
        total: u32,
    ) -> Result<()> {
        let mut left = total;
        for commands in self.buffers.iter().cycle() {
            let n = left.min(BATCH);
            if n == 0 {
                break;
            }
            left -= n;
            // The buffer may be recorded again when its last submission is complete.
            while !gpu.has_reached(&self.timeline, (self.timeline.value + 1).saturating_sub(BUFFERS as u64))? {
                std::hint::spin_loop();
            }
            commands.record_again(|commands| {
                commands.dispatches(pipeline, &self.pairs, n, 16);
            })?;
            gpu.submit(*lock(queue), Some(commands.buffer), None, &mut self.timeline)?;
        }
        gpu.poll(&self.timeline)
    }
}
