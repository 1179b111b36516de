//! The cost of a small job with wgpu: `write_buffer`, a pass, a copy to a mapped buffer; and dispatches of several
//! threads.
//!
//! A job is waited for by polling, and as `…_sleeping` by wgpu's own wait. `job_pinned_…` writes and reads mapped
//! buffers in place, like `copy_…_pinned_…`. Each thread records its dispatches into passes of its own; all threads
//! submit to the one queue that wgpu has.

use anyhow::{Context as _, Result};
use vkarray_benches::at_once;
use wgpu::{BindGroup, Buffer, BufferUsages, ComputePipeline, MapMode};

use crate::copy::map;
use crate::launch::{SHADER, chain};
use crate::peer::Peer;

const SIZES: [(u64, &str); 3] = [(4 << 10, "4KiB"), (64 << 10, "64KiB"), (1 << 20, "1MiB")];
/// Jobs, timed one by one.
const JOBS: u32 = 301;
const THREADS: [u32; 5] = [1, 2, 4, 8, 16];
/// Dispatches of a thread and of a pass, and the pairs of buffers that they use in turn.
const DISPATCHES: u32 = 20_000;
const IN_A_PASS: u32 = 1000;
const PAIRS: u32 = 8;

struct Job<'a> {
    peer: &'a Peer,
    pipeline: &'a ComputePipeline,
    bytes: u64,
    y: Buffer,
    x: Buffer,
    group: BindGroup,
    staging: Buffer,
}

pub(crate) fn measure(peer: &Peer) -> Result<()> {
    let pipeline = peer.pipeline(SHADER, "axpy");
    for (bytes, size) in SIZES {
        jobs(peer, &pipeline, bytes, size)?;
        jobs(&peer.sleeping(), &pipeline, bytes, &format!("{size}_sleeping"))?;
    }
    Ok(())
}

fn jobs(peer: &Peer, pipeline: &ComputePipeline, bytes: u64, size: &str) -> Result<()> {
    let (mut host, job) = (vec![7_u8; usize::try_from(bytes)?], Job::new(peer, pipeline, bytes));
    let up = peer.buffer_for(bytes, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC);
    map(peer, &up, MapMode::Write)?;
    let mut each = |name: &str, run: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>| -> Result<()> {
        let waits = peer.report.waits(JOBS, || run(&mut host))?;
        peer.report.wait(&format!("job_{name}_{size}"), &waits);
        Ok(())
    };
    each("plain", &mut |host| {
        peer.queue.write_buffer(&job.y, 0, host);
        job.run(None, Some(host))
    })?;
    each("pinned", &mut |_| {
        up.unmap();
        job.run(Some(&up), None)?;
        map(peer, &up, MapMode::Write)
    })?;
    each("fresh", &mut |host| {
        let job = Job::new(peer, pipeline, bytes);
        peer.queue.write_buffer(&job.y, 0, host);
        job.run(None, Some(host))
    })?;
    each("down", &mut |host| job.run(None, Some(host)))
}

impl<'a> Job<'a> {
    fn new(peer: &'a Peer, pipeline: &'a ComputePipeline, bytes: u64) -> Self {
        let (x, y) = (peer.buffer(bytes), peer.buffer(bytes));
        let group = peer.bind(pipeline, &x, &y);
        let staging = peer.buffer_for(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        Self { peer, pipeline, bytes, y, x, group, staging }
    }

    /// Copies from `up`, if it is given, runs the kernel, and copies down to the mapped buffer, and from there to `down`.
    fn run(&self, up: Option<&Buffer>, down: Option<&mut Vec<u8>>) -> Result<()> {
        self.peer.submit(|encoder| {
            if let Some(up) = up {
                encoder.copy_buffer_to_buffer(up, 0, &self.y, 0, self.bytes);
            }
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(self.pipeline);
            pass.set_bind_group(0, &self.group, &[]);
            pass.dispatch_workgroups((self.bytes / 256) as u32, 1, 1);
            drop(pass);
            encoder.copy_buffer_to_buffer(&self.x, 0, &self.staging, 0, self.bytes);
        });
        map(self.peer, &self.staging, MapMode::Read)?;
        if let Some(down) = down {
            down.copy_from_slice(&self.staging.slice(..).get_mapped_range().context("mapping the buffer")?);
        }
        self.staging.unmap();
        Ok(())
    }
}

pub(crate) fn threads(peer: &Peer) -> Result<()> {
    let pipeline = peer.pipeline(SHADER, "axpy");
    for n in THREADS {
        let prepare = |_| {
            let pair = |_| peer.bind(&pipeline, &peer.buffer(4096), &peer.buffer(4096));
            Ok((0..PAIRS).map(pair).collect::<Vec<_>>())
        };
        let work = |pairs: &mut Vec<BindGroup>| {
            (0..DISPATCHES / IN_A_PASS).try_for_each(|_| chain(peer, &pipeline, pairs, (IN_A_PASS, 16)))?;
            peer.wait()
        };
        let times = peer.report.runs(|| at_once(n, prepare, work))?;
        peer.report.micros(&format!("threads_{n}"), &times, n * DISPATCHES);
    }
    Ok(())
}
