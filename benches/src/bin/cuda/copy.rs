//! The speed of uploads, downloads and copies on the device with CUDA.
//!
//! Sizes and repetitions are the ones of `bench copy`. Pinned and registered memory is copied asynchronously on a
//! stream, followed by a wait; pageable memory is copied with the plain functions, which wait themselves. Large pageable
//! copies are also shared by as many threads as vkarray uses for its own; the better is the figure.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{hint, ptr, thread};

use anyhow::Result;
use vkarray_benches::{Report, at_once, print_best, timed};

use crate::functions::{Address, Handle};
use crate::gpu::{Gpu, Stream};

const SIZES: [(usize, &str); 5] =
    [(4 << 10, "4KiB"), (64 << 10, "64KiB"), (1 << 20, "1MiB"), (16 << 20, "16MiB"), (256 << 20, "256MiB")];
const RUN_BYTES: usize = 256 << 20;
const MAX_COPIES: usize = 100;
const DEVICE_BYTES: usize = 1 << 30;
const IN_A_ROW: u32 = 10;
/// The least bytes that several threads copy, and the most threads; half of the processors if there are fewer.
const SHARED_BYTES: usize = 1 << 20;
const MAX_THREADS: usize = 8;
/// Threads of a workgroup of the copying kernel.
const GROUP: u32 = 128;

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    let copies = Copies { gpu, report, stream: gpu.stream()? };
    for (bytes, size) in SIZES {
        let device = gpu.zeros(bytes)?;
        copies.pinned(device, (bytes, size))?;
        copies.pageable(device, (bytes, size))?;
    }
    copies.on_device()
}

/// Copies of a row.
fn n_copies(bytes: usize) -> usize {
    (RUN_BYTES / bytes).clamp(3, MAX_COPIES)
}

struct Copies<'a> {
    gpu: &'a Gpu,
    report: Report,
    stream: Stream,
}

impl Copies<'_> {
    fn pinned(&self, device: Address, (bytes, size): (usize, &str)) -> Result<()> {
        for (name, is_combined) in [("pinned", false), ("combined", true)] {
            let host = self.gpu.pinned(bytes, is_combined)?;
            // SAFETY: the memory was allocated with `bytes` bytes, and no reference to it exists.
            unsafe { ptr::write_bytes(host.0.cast::<u8>(), 7, bytes) };
            self.each(&format!("copy_up_{name}_{size}"), bytes, || self.up(device, host.0, bytes))?;
            if !is_combined {
                self.each(&format!("copy_down_{name}_{size}"), bytes, || self.down(host.0, device, bytes))?;
            }
            // SAFETY: every copy was waited for.
            unsafe { self.gpu.free_pinned(host) }?;
        }
        Ok(())
    }

    /// Copies of the program's memory: plain, and registered.
    fn pageable(&self, device: Address, (bytes, size): (usize, &str)) -> Result<()> {
        let mut memory = vec![7_u8; bytes];
        let (host, functions): (*mut c_void, _) = (memory.as_mut_ptr().cast(), &self.gpu.functions);
        let up = self.times(bytes, || {
            // SAFETY: both sides have `bytes` bytes, and live until the copy is complete.
            functions.check("cuMemcpyHtoD", unsafe { (functions.copy_up)(device, host, bytes) })?;
            self.gpu.wait(Gpu::default_stream()) // A small copy returns before it is complete.
        })?;
        let down = self.times(bytes, || {
            // SAFETY: both sides have `bytes` bytes and live until the copy is complete; nothing else uses the memory.
            functions.check("cuMemcpyDtoH", unsafe { (functions.copy_down)(host, device, bytes) })
        })?;
        for (way, alone) in [("up", up), ("down", down)] {
            let name = format!("copy_{way}_pageable_{size}");
            let rate = |name: &str, times: &Vec<_>| self.report.rate(name, times, (bytes * n_copies(bytes)) as u64);
            if bytes < SHARED_BYTES {
                rate(&name, &alone);
                continue;
            }
            let shared = self.shared(way == "up", device, (host, bytes))?;
            print_best(&name, &[(format!("{name}_alone"), alone), (format!("{name}_threads"), shared)], rate);
        }
        // SAFETY: the memory lives until it is unregistered.
        let register = || functions.check("cuMemHostRegister", unsafe { (functions.register_host)(host, bytes, 0) });
        // SAFETY: the memory was registered, and no copy is in flight.
        let unregister = || functions.check("cuMemHostUnregister", unsafe { (functions.unregister_host)(host) });
        let times = self.report.runs(|| timed(|| register().and_then(|()| unregister())))?;
        self.report.micros(&format!("register_{size}"), &times, 1);
        register()?;
        self.each(&format!("copy_up_registered_{size}"), bytes, || self.up(device, host, bytes))?;
        self.each(&format!("copy_down_registered_{size}"), bytes, || self.down(host, device, bytes))?;
        unregister()?; // Every copy was waited for.
        drop(memory); // Used through its address up to this line.
        Ok(())
    }

    /// The times of copies that several threads share: each copies a part on its own stream, and all begin the next copy
    /// together.
    fn shared(&self, is_up: bool, device: Address, (host, bytes): (Handle, usize)) -> Result<Vec<Duration>> {
        let n_threads = (thread::available_parallelism().map_or(1, usize::from) / 2).clamp(1, MAX_THREADS);
        let (host, part, n) = (host as usize, bytes / n_threads, n_copies(bytes));
        let (gpu, report) = (self.gpu, self.report);
        let streams = (0..n_threads).map(|_| gpu.stream()).collect::<Result<Vec<_>>>()?;
        let own = |i: u32| {
            gpu.enter()?;
            let begin = i as usize * part;
            let part = if i as usize + 1 == n_threads { bytes - begin } else { part };
            Ok((Copies { gpu, report, stream: streams[i as usize] }, begin, part))
        };
        report.runs(|| {
            let n_done = AtomicUsize::new(0);
            at_once(n_threads as u32, own, |&mut (ref own, begin, part)| {
                let (device, host) = (device + begin as u64, (host + begin) as Handle);
                let copy = || if is_up { own.up(device, host, part) } else { own.down(host, device, part) };
                // A thread that failed goes on, since the others wait for it.
                let copies = (1..=n).map(|round| {
                    let copied = copy();
                    n_done.fetch_add(1, Ordering::AcqRel);
                    while n_done.load(Ordering::Acquire) < round * n_threads {
                        hint::spin_loop();
                    }
                    copied
                });
                copies.collect::<Vec<_>>().into_iter().collect()
            })
        })
    }

    /// A copy to the device, with the wait for it. Both sides have `bytes` bytes.
    fn up(&self, device: Address, host: Handle, bytes: usize) -> Result<()> {
        let functions = &self.gpu.functions;
        // SAFETY: the callers' memory has `bytes` bytes on both sides, and lives until the wait below is over.
        let code = unsafe { (functions.copy_up_in_order)(device, host, bytes, self.stream.0) };
        functions.check("cuMemcpyHtoDAsync", code)?;
        self.gpu.wait(self.stream)
    }

    /// A copy to the host, with the wait for it. Both sides have `bytes` bytes.
    fn down(&self, host: Handle, device: Address, bytes: usize) -> Result<()> {
        let functions = &self.gpu.functions;
        // SAFETY: the callers' memory has `bytes` bytes on both sides and lives until the wait below; nothing else uses
        // the host's side.
        let code = unsafe { (functions.copy_down_in_order)(host, device, bytes, self.stream.0) };
        functions.check("cuMemcpyDtoHAsync", code)?;
        self.gpu.wait(self.stream)
    }

    /// Reports the rate of copies that are waited for one by one.
    fn each(&self, name: &str, bytes: usize, copy: impl Fn() -> Result<()>) -> Result<()> {
        self.report.rate(name, &self.times(bytes, copy)?, (bytes * n_copies(bytes)) as u64);
        Ok(())
    }

    /// The times of rows of such copies.
    fn times(&self, bytes: usize, copy: impl Fn() -> Result<()>) -> Result<Vec<Duration>> {
        self.report.runs(|| timed(|| (0..n_copies(bytes)).try_for_each(|_| copy())))
    }

    fn on_device(&self) -> Result<()> {
        let (mut source, mut target) = (self.gpu.zeros(DEVICE_BYTES)?, self.gpu.zeros(DEVICE_BYTES)?);
        let mut n_items = u32::try_from(DEVICE_BYTES / 16)?;
        let (kernel, n_groups) = (self.gpu.kernel(c"copy")?, n_items.div_ceil(GROUP));
        let (gpu, stream) = (self.gpu, self.stream);
        let by_command = || {
            // SAFETY: both arrays have `DEVICE_BYTES` bytes, do not overlap, and are never freed.
            let code = unsafe { (gpu.functions.copy_in_order)(target, source, DEVICE_BYTES, stream.0) };
            gpu.functions.check("cuMemcpyDtoDAsync", code)
        };
        self.in_a_row("copy_device_command_1GiB", by_command)?;
        let arguments: [*mut c_void; 3] =
            [(&raw mut source).cast(), (&raw mut target).cast(), (&raw mut n_items).cast()];
        let by_kernel = || {
            // SAFETY: these are the kernel's arguments, and both arrays have as many items as the kernel copies.
            unsafe { gpu.launch(stream, kernel, [n_groups, GROUP], &mut { arguments }) }
        };
        self.in_a_row("copy_device_kernel_1GiB", by_kernel)
    }

    /// Reports the rate of copies that follow each other without a wait. A byte counts when read and when written.
    fn in_a_row(&self, name: &str, copy: impl Fn() -> Result<()>) -> Result<()> {
        let run = || (0..IN_A_ROW).try_for_each(|_| copy()).and_then(|()| self.gpu.wait(self.stream));
        let times = self.report.runs(|| timed(run))?;
        self.report.rate(name, &times, 2 * DEVICE_BYTES as u64 * u64::from(IN_A_ROW));
        Ok(())
    }
}
