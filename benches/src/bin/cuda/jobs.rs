//! The cost of a small job with CUDA: bytes up, a kernel, bytes down, on one stream; and dispatches of several threads.
//!
//! Plain memory is also copied with the asynchronous functions, which stage it. Fresh memory comes from the
//! stream-ordered pool. Pinned memory is copied; or the kernel reads it, and copies of the answer go down; or the kernel
//! reads and writes it. The best is the figure.

use std::ffi::c_void;

use anyhow::Result;
use vkarray_benches::{Report, Waits, at_once, print_best};

use crate::functions::Address;
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
        let (mut memory, mut down) = (vec![0_u8; bytes], vec![0_u8; bytes]);
        let plain = (memory.as_mut_ptr().cast(), down.as_mut_ptr().cast());
        let pinned = (gpu.pinned(bytes, false)?.0, gpu.pinned(bytes, false)?.0);
        let pair = Pair::of(gpu.zeros(bytes)?, gpu.zeros(bytes)?, u32::try_from(bytes / 4)?);
        let waits = |name: &str, job: &dyn Fn() -> Result<()>| -> Result<(String, Waits)> {
            Ok((format!("job_{name}_{size}"), report.waits(JOBS, job)?))
        };
        let each = |name: &str, job: &dyn Fn() -> Result<()>| -> Result<()> {
            waits(name, job).map(|(name, waits)| report.wait(&name, &waits))
        };
        each("plain", &|| jobs.up(pair, plain).and_then(|()| jobs.down(pair, plain)))?;
        // The device has the same address for this memory as the host: every device of 64 bits does.
        let (up, answer) = (pinned.0 as Address, pinned.1 as Address);
        let (read, mapped) = (pair.with(pair.x, up), pair.with(answer, up));
        let ways = [
            waits("copied", &|| jobs.up(pair, pinned).and_then(|()| jobs.down(pair, pinned)))?,
            waits("read_mapped", &|| jobs.down(read, pinned))?,
            waits("mapped", &|| jobs.run(mapped).and_then(|()| gpu.wait(stream)))?,
        ];
        print_best(&format!("job_pinned_{size}"), &ways, |name, waits| report.wait(name, waits));
        each("fresh", &|| jobs.fresh(plain))?;
        each("down", &|| jobs.down(pair, plain))?;
        drop((memory, down)); // Used through their addresses up to this line.
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

    /// The kernel. The arrays may be pinned memory of the host.
    fn run(&self, pair: Pair) -> Result<()> {
        pair.launch(self.gpu, self.stream, self.axpy, u32::try_from(self.bytes / 4)? / GROUP)
    }

    /// The kernel, the copy down and the wait.
    fn down(&self, pair: Pair, (_, host): Host) -> Result<()> {
        let functions = &self.gpu.functions;
        self.run(pair)?;
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
