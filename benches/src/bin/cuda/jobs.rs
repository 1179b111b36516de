//! The cost of a small job with CUDA: bytes up, a kernel, bytes down, on one stream; and dispatches of several threads.
//!
//! Plain memory is also copied with the asynchronous functions, which stage it. Fresh memory comes from the
//! stream-ordered pool.

use std::ffi::c_void;

use anyhow::Result;
use vkarray_benches::{Report, at_once, timed};

use crate::gpu::{Gpu, Kernel, Stream};
use crate::launch::{GROUP, Pair};

const SIZES: [(usize, &str); 3] = [(4 << 10, "4KiB"), (64 << 10, "64KiB"), (1 << 20, "1MiB")];
/// Jobs, timed one by one.
const JOBS: u32 = 301;
const THREADS: [u32; 5] = [1, 2, 4, 8, 16];
/// Dispatches of a thread, and the pairs of arrays that they use in turn.
const DISPATCHES: u32 = 20_000;
const PAIRS: u32 = 8;

/// The host's memory that a job copies from and to.
type Host = (*mut c_void, *mut c_void);

struct Jobs<'a> {
    gpu: &'a Gpu,
    stream: Stream,
    axpy: Kernel,
    bytes: usize,
}

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    gpu.keep_freed()?;
    let (stream, axpy) = (gpu.stream()?, gpu.kernel(c"axpy")?);
    for (bytes, size) in SIZES {
        let jobs = Jobs { gpu, stream, axpy, bytes };
        let (mut up, mut down) = (vec![0_u8; bytes], vec![0_u8; bytes]);
        let plain = (up.as_mut_ptr().cast(), down.as_mut_ptr().cast());
        let pinned = (gpu.pinned(bytes, false)?.0, gpu.pinned(bytes, false)?.0);
        let pair = Pair::of(gpu.zeros(bytes)?, gpu.zeros(bytes)?, u32::try_from(bytes / 4)?);
        let each = |name: &str, job: &dyn Fn() -> Result<()>| -> Result<()> {
            report.micros(&format!("job_{name}_{size}"), &report.samples(JOBS, || timed(job))?, 1);
            Ok(())
        };
        each("plain", &|| jobs.up(pair, plain).and_then(|()| jobs.down(pair, plain)))?;
        each("pinned", &|| jobs.up(pair, pinned).and_then(|()| jobs.down(pair, pinned)))?;
        each("fresh", &|| jobs.fresh(plain))?;
        each("down", &|| jobs.down(pair, plain))?;
        drop((up, down)); // Used through their addresses up to this line.
    }
    Ok(())
}

impl Jobs<'_> {
    fn up(&self, pair: Pair, (host, _): Host) -> Result<()> {
        let functions = &self.gpu.functions;
        // SAFETY: both sides have `self.bytes` bytes, and live until the job is waited for.
        let code = unsafe { (functions.copy_up_in_order)(pair.y, host, self.bytes, self.stream.0) };
        functions.check("cuMemcpyHtoDAsync", code)
    }

    /// The kernel, the copy down and the wait.
    fn down(&self, pair: Pair, (_, host): Host) -> Result<()> {
        let functions = &self.gpu.functions;
        let n_groups = u32::try_from(self.bytes / 4)? / GROUP;
        pair.launch(self.gpu, self.stream, self.axpy, n_groups)?;
        // SAFETY: both sides have `self.bytes` bytes, and live until the job is waited for.
        let code = unsafe { (functions.copy_down_in_order)(host, pair.x, self.bytes, self.stream.0) };
        functions.check("cuMemcpyDtoHAsync", code)?;
        self.gpu.wait(self.stream)
    }

    fn fresh(&self, host: Host) -> Result<()> {
        let allocate = || self.gpu.allocate_in_order(self.stream, self.bytes);
        let pair = Pair::of(allocate()?, allocate()?, u32::try_from(self.bytes / 4)?);
        let functions = &self.gpu.functions;
        // SAFETY: the memory was allocated just now, with `self.bytes` bytes.
        let code = unsafe { (functions.fill_in_order)(pair.x, 0, self.bytes, self.stream.0) };
        functions.check("cuMemsetD8Async", code)?;
        self.up(pair, host)?;
        self.down(pair, host)?;
        // SAFETY: the memory was allocated above, and the stream's work was waited for.
        unsafe { self.gpu.free_in_order(self.stream, pair.x) }?;
        // SAFETY: the memory was allocated above, and the stream's work was waited for.
        unsafe { self.gpu.free_in_order(self.stream, pair.y) }
    }
}

/// Each thread has a stream and arrays of its own.
pub(crate) fn threads(gpu: &Gpu, report: Report) -> Result<()> {
    let pairs = |_| (0..PAIRS).map(|_| Pair::new(gpu)).collect::<Result<Vec<_>>>();
    let pairs = (0..THREADS[THREADS.len() - 1]).map(pairs).collect::<Result<Vec<_>>>()?;
    for n in THREADS {
        let prepare = |i: u32| -> Result<(Stream, Kernel, &[Pair])> {
            gpu.enter()?;
            Ok((gpu.stream()?, gpu.kernel(c"axpy")?, &pairs[i as usize]))
        };
        let work = |(stream, axpy, pairs): &mut (Stream, Kernel, &[Pair])| {
            let mut in_turn = pairs.iter().cycle().take(DISPATCHES as usize);
            in_turn.try_for_each(|pair| pair.launch(gpu, *stream, *axpy, 16))?;
            gpu.wait(*stream)
        };
        report.micros(&format!("threads_{n}"), &report.runs(|| at_once(n, prepare, work))?, n * DISPATCHES);
    }
    Ok(())
}
