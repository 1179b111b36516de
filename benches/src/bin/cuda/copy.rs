//! The speed of uploads, downloads and copies on the device with CUDA.
//!
//! Sizes and repetitions are the ones of `bench copy`. Pinned and registered memory is copied asynchronously on a
//! stream, followed by a wait; pageable memory is copied with the plain functions, which wait themselves.

use std::ffi::c_void;
use std::ptr;

use anyhow::Result;
use vkarray_benches::{Report, timed};

use crate::functions::{Address, Handle};
use crate::gpu::{Gpu, Stream};

const SIZES: [(usize, &str); 5] =
    [(4 << 10, "4KiB"), (64 << 10, "64KiB"), (1 << 20, "1MiB"), (16 << 20, "16MiB"), (256 << 20, "256MiB")];
const RUN_BYTES: usize = 256 << 20;
const MAX_COPIES: usize = 100;
const DEVICE_BYTES: usize = 1 << 30;
const IN_A_ROW: u32 = 10;
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
        self.each(&format!("copy_up_pageable_{size}"), bytes, || {
            // SAFETY: both sides have `bytes` bytes, and live until the copy is complete.
            functions.check("cuMemcpyHtoD", unsafe { (functions.copy_up)(device, host, bytes) })?;
            self.gpu.wait(Gpu::default_stream()) // A small copy returns before it is complete.
        })?;
        self.each(&format!("copy_down_pageable_{size}"), bytes, || {
            // SAFETY: both sides have `bytes` bytes and live until the copy is complete; nothing else uses the memory.
            functions.check("cuMemcpyDtoH", unsafe { (functions.copy_down)(host, device, bytes) })
        })?;
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
        let n = (RUN_BYTES / bytes).clamp(3, MAX_COPIES);
        let times = self.report.runs(|| timed(|| (0..n).try_for_each(|_| copy())))?;
        self.report.rate(name, &times, (bytes * n) as u64);
        Ok(())
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
