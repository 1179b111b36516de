//! An array that CUDA and vkarray share on one GPU: a kernel of each adds one in turn, in place. Nothing is copied, and the
//! host waits for nothing until the end: a timeline semaphore orders the two on the device.
//!
//! `cargo run --release --example cuda -- 10000` needs an NVIDIA GPU and its driver; `libcuda` is loaded when the program runs.
//! With a path to a Python that has CuPy and PyTorch as second argument, `shared.py` adds in place of the CUDA kernel, in a
//! process of its own: `cargo run --release --example cuda -- 1000 python3`.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "CUDA counts in signed integers")]

use std::env;
use std::ffi::c_int;
use std::fs::File;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use cudarc::driver::sys::{self, CUexternalSemaphoreHandleType_enum as HandleType};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DevicePtr, LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::Ptx;
use vkarray::interop::ExportedMemory;
use vkarray::prelude::*;
use vkarray::vulkan::{ExternalSemaphore, SemaphoreKind};

const N: u32 = 1_000_003;

const ADD_ONE: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(256) fn add_one(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] += 1.0; }
    }";

/// The kernel for CUDA: `x[i] += 1` for each `i` below `n`.
const ADD_ONE_PTX: &str = "
.version 7.0
.target sm_52
.address_size 64
.visible .entry add_one(.param .u64 x, .param .u32 n) {
    .reg .pred %outside;
    .reg .b32 %i, %n, %group, %size;
    .reg .b64 %x, %place;
    .reg .f32 %value;
    ld.param.u64 %x, [x];
    ld.param.u32 %n, [n];
    mov.u32 %group, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.u32 %i, %group, %size, %i;
    setp.ge.u32 %outside, %i, %n;
    @%outside ret;
    cvta.to.global.u64 %x, %x;
    mul.wide.u32 %place, %i, 4;
    add.u64 %place, %place, %x;
    ld.global.f32 %value, [%place];
    add.f32 %value, %value, 0f3F800000;
    st.global.f32 [%place], %value;
    ret;
}";

fn main() -> Result<()> {
    let rounds: u64 =
        env::args().nth(1).map_or(Ok(100), |text| text.parse()).context("the first argument is a number")?;
    let ctx = Context::open_default()?;
    let x = ctx.exportable_array::<f32>(N as usize)?;
    x.fill(0.0)?;
    let turn = ExternalSemaphore::new(ctx.device().logical(), SemaphoreKind::Timeline)?;
    let add_one = ctx.kernel(Source::wgsl(ADD_ONE)).build()?;

    let start = Instant::now();
    let (memory, semaphore) = (x.block().export()?, turn.export_fd()?);
    let other = match env::args().nth(2) {
        Some(python) => Other::Python(start_python(&python, rounds, &memory, semaphore)?),
        None => Other::Cuda(Cuda::open(ctx.info(), &memory, semaphore)?),
    };
    for round in 0..rounds {
        // At an odd value the other program has its turn, at an even value this one.
        add_one.launch(Groups::covering(N as usize), (&x,))?;
        // SAFETY: only this program signals odd values, each once and in order.
        unsafe { ctx.default_stream().signal_external(&turn, 2 * round + 1) }?;
        if let Other::Cuda(cuda) = &other {
            cuda.add_one(2 * round + 1)?;
        }
        // SAFETY: the other side signals this value after it has waited for the one before, which was submitted.
        unsafe { ctx.default_stream().wait_external(&turn, 2 * round + 2) }?;
    }
    let submitted = start.elapsed();
    let values = x.to_vec()?;
    let wrong = values.iter().position(|&value| value != 2.0 * rounds as f32);
    ensure!(wrong.is_none(), "element {wrong:?} is not {}", 2 * rounds);
    println!(
        "{rounds} rounds: each of {N} elements is {}; {submitted:?} to submit, {:?} in all",
        values[0],
        start.elapsed()
    );
    if let Other::Python(mut child) = other {
        ensure!(child.wait()?.success(), "the other process failed");
    }
    Ok(())
}

/// The program that adds one between our kernels.
enum Other {
    Cuda(Cuda),
    Python(std::process::Child),
}

/// The array and the semaphore, in CUDA.
struct Cuda {
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
    x: cudarc::driver::MappedBuffer,
    turn: sys::CUexternalSemaphore,
}

impl Cuda {
    fn open(info: &vkarray::device::DeviceInfo, memory: &ExportedMemory, semaphore: OwnedFd) -> Result<Self> {
        result::init().context("CUDA does not start")?;
        let is_same = |&ordinal: &usize| {
            let uuid = result::device::get(ordinal as c_int).and_then(result::device::get_uuid);
            uuid.is_ok_and(|uuid| hex(&uuid.bytes.map(|byte| byte as u8)) == info.uuid.replace('-', ""))
        };
        let ordinal = (0..result::device::get_count()? as usize).find(is_same);
        let context = CudaContext::new(ordinal.context("CUDA does not have the device of the array")?)?;
        let stream = context.new_stream()?;
        let kernel = context.load_module(Ptx::from_src(ADD_ONE_PTX))?.load_function("add_one")?;
        // SAFETY: the size is that of the exported allocation. CUDA takes the descriptor.
        let x =
            unsafe { context.import_external_memory(File::from(memory.fd()?), memory.description().allocation_size) }?;
        Ok(Self { stream, kernel, x: x.map_all()?, turn: import_timeline(semaphore)? })
    }

    /// Waits until the timeline has `value`, adds one, and signals the next value; all on the device.
    fn add_one(&self, value: u64) -> Result<()> {
        // SAFETY: a structure of numbers, for which zero is the default.
        let mut wait: sys::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS = unsafe { zeroed() };
        wait.params.fence.value = value;
        // SAFETY: the semaphore is imported, and `wait` is complete; the call copies it.
        unsafe { sys::cuWaitExternalSemaphoresAsync(&self.turn, &wait, 1, self.stream.cu_stream()) }.result()?;
        let (address, _guard) = self.x.device_ptr(&self.stream);
        let config = LaunchConfig { grid_dim: (N.div_ceil(256), 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        let mut launch = self.stream.launch_builder(&self.kernel);
        launch.arg(&address).arg(&N);
        // SAFETY: the kernel changes the first `N` numbers at the address, all of which are mapped. The wait before and
        // the signal after the kernel keep the other program from using them.
        unsafe { launch.launch(config) }?;
        // SAFETY: a structure of numbers, for which zero is the default.
        let mut signal: sys::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS = unsafe { zeroed() };
        signal.params.fence.value = value + 1;
        // SAFETY: the semaphore is imported, and `signal` is complete; the call copies it.
        unsafe { sys::cuSignalExternalSemaphoresAsync(&self.turn, &signal, 1, self.stream.cu_stream()) }.result()?;
        Ok(())
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // SAFETY: the semaphore was imported once, and its last use is over: the program read the array after it.
        let _ = unsafe { sys::cuDestroyExternalSemaphore(self.turn) };
    }
}

fn import_timeline(semaphore: OwnedFd) -> Result<sys::CUexternalSemaphore> {
    let description = sys::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC {
        type_: HandleType::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
        handle: sys::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1 { fd: semaphore.as_raw_fd() },
        flags: 0,
        reserved: [0; 16],
    };
    let mut imported = MaybeUninit::uninit();
    // SAFETY: the descriptor is a timeline semaphore's of the same GPU; the call writes the handle if it succeeds.
    unsafe { sys::cuImportExternalSemaphore(imported.as_mut_ptr(), &description) }.result()?;
    let _ = semaphore.into_raw_fd(); // CUDA owns the descriptor now.
    // SAFETY: the call succeeded, so it wrote the handle.
    Ok(unsafe { imported.assume_init() })
}

/// Starts a process that inherits the two descriptors.
fn start_python(python: &str, rounds: u64, memory: &ExportedMemory, semaphore: OwnedFd) -> Result<std::process::Child> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/cuda/shared.py");
    let (memory_fd, size) = (memory.fd()?, memory.description().allocation_size);
    for fd in [&memory_fd, &semaphore] {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?; // The other process inherits the descriptor.
    }
    let numbers =
        [memory_fd.as_raw_fd().into(), i64::try_from(size)?, semaphore.as_raw_fd().into(), N.into(), rounds as i64];
    Ok(Command::new(python).arg(script).args(numbers.map(|number| number.to_string())).spawn()?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
