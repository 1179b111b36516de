//! A device opened with CUDA's driver: its context, streams, memory, kernels.
//!
//! The process ends with its measurements, so that nothing is destroyed and every handle lives as long as the `Gpu`;
//! only memory whose freeing is measured is freed. Read next: `graph.rs`, `launch.rs`, `copy.rs`, `memory.rs`.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr;

use anyhow::{Result, anyhow, ensure};

use crate::functions::{Address, Compiler, Functions, Handle, PoolProperties};

/// A stream that the default stream does not order: `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;
/// Memory that the host only writes: `CU_MEMHOSTALLOC_WRITECOMBINED`.
const WRITE_COMBINED: c_uint = 4;
/// How much freed memory a pool keeps: `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`.
const RELEASE_THRESHOLD: c_int = 4;

/// The version of a device: `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR`.
const MAJOR: c_int = 75;
const MINOR: c_int = 76;

/// The kernels, which the driver compiles.
const KERNELS: &str = concat!(include_str!("kernels.ptx"), "\0");

/// A device, and the objects of it that every measurement uses.
pub(crate) struct Gpu {
    pub(crate) functions: Functions,
    pub(crate) name: String,
    device: c_int,
    context: Handle,
    module: Handle,
}

// SAFETY: the driver's functions may be called from any thread, and its handles name objects that the driver's locks
// protect.
unsafe impl Sync for Gpu {}

// SAFETY: as for `Gpu`: the handle names an object that the driver's locks protect.
unsafe impl Sync for Pool {}

// SAFETY: as for `Gpu`: the handle names an object that the driver's locks protect.
unsafe impl Sync for Stream {}

/// The result of opening a device.
pub(crate) enum Opened {
    Gpu(Box<Gpu>),
    /// This machine has no such device, or no driver for it.
    Absent(String),
}

/// Device memory that is allocated in the order of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Pool(Handle);

/// An ordered queue of work.
#[derive(Clone, Copy)]
pub(crate) struct Stream(pub(crate) Handle);

/// A compiled kernel.
#[derive(Clone, Copy)]
pub(crate) struct Kernel(pub(crate) Handle);

/// Page-locked memory of the host.
#[derive(Clone, Copy)]
pub(crate) struct Pinned(pub(crate) Handle);

impl Gpu {
    /// Opens the device of that name, or without a name the first device, for this thread.
    pub(crate) fn open(name: Option<&str>) -> Result<Opened> {
        let functions = match Functions::load() {
            Ok(functions) => functions,
            Err(error) => return Ok(Opened::Absent(format!("no CUDA driver: {error}"))),
        };
        // SAFETY: the function takes no flags, and none are passed.
        if let Err(error) = functions.check("cuInit", unsafe { (functions.init)(0) }) {
            return Ok(Opened::Absent(format!("the CUDA driver does not start: {error}")));
        }
        let devices = devices(&functions)?;
        let Some((device, name)) = devices.iter().find(|(_, found)| name.is_none_or(|name| name == found)) else {
            return Ok(Opened::Absent(format!("CUDA has no device {name:?} among {devices:?}")));
        };
        let (device, name, mut context) = (*device, name.clone(), ptr::null_mut());
        // SAFETY: the driver listed the device; there is room for a handle.
        let code = unsafe { (functions.retain_context)(&raw mut context, device) };
        functions.check("cuDevicePrimaryCtxRetain", code)?;
        // SAFETY: the context was retained above, and is never released.
        functions.check("cuCtxSetCurrent", unsafe { (functions.set_context)(context) })?;
        let module = load(&functions, KERNELS.as_bytes())?;
        Ok(Opened::Gpu(Box::new(Self { functions, name, device, context, module })))
    }

    /// Makes the device the current one of this thread.
    pub(crate) fn enter(&self) -> Result<()> {
        // SAFETY: the context is never released.
        self.functions.check("cuCtxSetCurrent", unsafe { (self.functions.set_context)(self.context) })
    }

    pub(crate) fn kernel(&self, name: &CStr) -> Result<Kernel> {
        self.kernel_of(self.module, name)
    }

    fn kernel_of(&self, module: Handle, name: &CStr) -> Result<Kernel> {
        let mut function = ptr::null_mut();
        // SAFETY: no module is ever unloaded; there is room for a handle.
        let code = unsafe { (self.functions.function)(&raw mut function, module, name.as_ptr()) };
        self.functions.check("cuModuleGetFunction", code)?;
        Ok(Kernel(function))
    }

    /// Builds the kernels of a text in C with these options of NVIDIA's compiler, and loads them.
    pub(crate) fn build(
        &self,
        compiler: &Compiler,
        text: &CStr,
        options: [String; 2],
        names: &[CString],
    ) -> Result<()> {
        let attribute = |number: c_int| {
            let mut value = 0;
            // SAFETY: the driver listed the device; there is room for a number.
            let code = unsafe { (self.functions.device_attribute)(&raw mut value, number, self.device) };
            self.functions.check("cuDeviceGetAttribute", code).map(|()| value)
        };
        let architecture = format!("-arch=sm_{}{}", attribute(MAJOR)?, attribute(MINOR)?);
        let options = [architecture].into_iter().chain(options).map(CString::new).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let (none, mut program, mut size) = (ptr::null(), ptr::null_mut(), 0);
        let check = |call: &str, code: c_int| match code {
            0 => Ok(()),
            _ => Err(anyhow!("{call} failed with {code}")),
        };
        // SAFETY: the text ends with zero, and has no headers; there is room for a handle.
        let code = unsafe { (compiler.create)(&raw mut program, text.as_ptr(), ptr::null(), 0, none, none) };
        check("nvrtcCreateProgram", code)?;
        // SAFETY: the program was created above; the options are texts that end with zero.
        check("nvrtcCompileProgram", unsafe {
            (compiler.compile)(program, pointers.len() as c_int, pointers.as_ptr())
        })?;
        // SAFETY: the program is compiled; there is room for a size.
        check("nvrtcGetCUBINSize", unsafe { (compiler.size)(program, &raw mut size) })?;
        let mut binary = vec![0_u8; size];
        // SAFETY: there is room for as many bytes as the compiler said.
        check("nvrtcGetCUBIN", unsafe { (compiler.binary)(program, binary.as_mut_ptr().cast()) })?;
        // SAFETY: the program is not used behind this.
        check("nvrtcDestroyProgram", unsafe { (compiler.destroy)(&raw mut program) })?;
        let module = load(&self.functions, &binary)?;
        names.iter().try_for_each(|name| self.kernel_of(module, name).map(drop))
    }

    pub(crate) fn stream(&self) -> Result<Stream> {
        let mut stream = ptr::null_mut();
        // SAFETY: there is room for a handle.
        let code = unsafe { (self.functions.create_stream)(&raw mut stream, NON_BLOCKING) };
        self.functions.check("cuStreamCreate", code)?;
        Ok(Stream(stream))
    }

    /// The stream of the plain copies.
    pub(crate) const fn default_stream() -> Stream {
        Stream(ptr::null_mut())
    }

    /// Blocks until the work of a stream is complete.
    pub(crate) fn wait(&self, stream: Stream) -> Result<()> {
        // SAFETY: the stream is never destroyed.
        self.functions.check("cuStreamSynchronize", unsafe { (self.functions.synchronize_stream)(stream.0) })
    }

    /// Blocks until all work is complete.
    pub(crate) fn wait_for_all(&self) -> Result<()> {
        // SAFETY: this thread has a context.
        self.functions.check("cuCtxSynchronize", unsafe { (self.functions.synchronize)() })
    }

    /// Launches a kernel on `n_groups` workgroups of `size` threads.
    ///
    /// # Safety
    ///
    /// The array has as many pointers as the kernel has arguments, each points to an argument of its type, and the
    /// kernel stays inside the memory that the arguments name.
    pub(crate) unsafe fn launch(
        &self,
        stream: Stream,
        kernel: Kernel,
        [n_groups, size]: [u32; 2],
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let (launch, none) = (self.functions.launch, ptr::null_mut());
        let arguments = arguments.as_mut_ptr();
        // SAFETY: kernel and stream are never destroyed; the caller vouches for the arguments.
        let code = unsafe { launch(kernel.0, n_groups, 1, 1, size, 1, 1, 0, stream.0, arguments, none) };
        self.functions.check("cuLaunchKernel", code)
    }

    /// Takes memory from the driver.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Address> {
        let mut address = 0;
        // SAFETY: there is room for an address.
        let code = unsafe { (self.functions.allocate)(&raw mut address, bytes) };
        self.functions.check("cuMemAlloc", code)?;
        Ok(address)
    }

    /// Takes zeroed memory from the driver.
    pub(crate) fn zeros(&self, bytes: usize) -> Result<Address> {
        let address = self.allocate(bytes)?;
        // SAFETY: the memory was allocated just now, with `bytes` bytes.
        self.functions.check("cuMemsetD8", unsafe { (self.functions.fill)(address, 0, bytes) })?;
        Ok(address)
    }

    /// Gives memory back.
    ///
    /// # Safety
    ///
    /// The address came from [`Gpu::allocate`], was not freed before, and is not used any more.
    pub(crate) unsafe fn free(&self, address: Address) -> Result<()> {
        // SAFETY: the caller promises that the address is allocated and unused.
        self.functions.check("cuMemFree", unsafe { (self.functions.free)(address) })
    }

    /// Lets the device's pool keep all freed memory.
    pub(crate) fn keep_freed(&self) -> Result<()> {
        let mut pool = ptr::null_mut();
        // SAFETY: the driver listed the device; there is room for a handle.
        let code = unsafe { (self.functions.default_pool)(&raw mut pool, self.device) };
        self.functions.check("cuDeviceGetDefaultMemPool", code)?;
        self.keep_freed_of(Pool(pool))
    }

    fn keep_freed_of(&self, pool: Pool) -> Result<()> {
        let mut all = u64::MAX;
        // SAFETY: no pool is destroyed; the attribute's value is a number of 64 bits.
        let code = unsafe { (self.functions.set_pool_attribute)(pool.0, RELEASE_THRESHOLD, (&raw mut all).cast()) };
        self.functions.check("cuMemPoolSetAttribute", code)
    }

    /// Makes a pool that keeps all freed memory.
    pub(crate) fn pool(&self) -> Result<Pool> {
        let properties = PoolProperties { kind: 1, handles: 0, location: [1, self.device], rest: [0; 9] };
        let mut pool = ptr::null_mut();
        // SAFETY: the structure is filled as the driver reads it; there is room for a handle.
        let code = unsafe { (self.functions.create_pool)(&raw mut pool, &raw const properties) };
        self.functions.check("cuMemPoolCreate", code)?;
        self.keep_freed_of(Pool(pool))?;
        Ok(Pool(pool))
    }

    /// Takes memory from a pool, in the order of a stream.
    pub(crate) fn allocate_from(&self, pool: Pool, stream: Stream, bytes: usize) -> Result<Address> {
        let mut address = 0;
        // SAFETY: pool and stream are never destroyed; there is room for an address.
        let code = unsafe { (self.functions.allocate_from_pool)(&raw mut address, bytes, pool.0, stream.0) };
        self.functions.check("cuMemAllocFromPoolAsync", code)?;
        Ok(address)
    }

    /// Takes memory from the device's pool, in the order of a stream.
    pub(crate) fn allocate_in_order(&self, stream: Stream, bytes: usize) -> Result<Address> {
        let mut address = 0;
        // SAFETY: the stream is never destroyed; there is room for an address.
        let code = unsafe { (self.functions.allocate_in_order)(&raw mut address, bytes, stream.0) };
        self.functions.check("cuMemAllocAsync", code)?;
        Ok(address)
    }

    /// Gives memory back to its pool, in the order of a stream.
    ///
    /// # Safety
    ///
    /// The address came from [`Gpu::allocate_in_order`] or [`Gpu::allocate_from`], was not freed before, and nothing uses it
    /// after the stream's work so far.
    pub(crate) unsafe fn free_in_order(&self, stream: Stream, address: Address) -> Result<()> {
        // SAFETY: the caller promises that the address is allocated and unused after the stream's work; the stream is
        // never destroyed.
        self.functions.check("cuMemFreeAsync", unsafe { (self.functions.free_in_order)(address, stream.0) })
    }

    /// Makes memory of the host that the device reaches.
    pub(crate) fn pinned(&self, bytes: usize, is_combined: bool) -> Result<Pinned> {
        let (mut pinned, flags) = (ptr::null_mut(), if is_combined { WRITE_COMBINED } else { 0 });
        // SAFETY: there is room for a pointer.
        let code = unsafe { (self.functions.allocate_host)(&raw mut pinned, bytes, flags) };
        self.functions.check("cuMemHostAlloc", code)?;
        ensure!(!pinned.is_null(), "cuMemHostAlloc has returned nothing");
        Ok(Pinned(pinned))
    }

    /// Gives pinned memory back.
    ///
    /// # Safety
    ///
    /// The memory came from [`Gpu::pinned`], was not freed before, and is not used any more.
    pub(crate) unsafe fn free_pinned(&self, pinned: Pinned) -> Result<()> {
        // SAFETY: the caller promises that the memory is allocated and unused.
        self.functions.check("cuMemFreeHost", unsafe { (self.functions.free_host)(pinned.0) })
    }
}

/// Loads a module: a text with a zero at its end, or a binary.
fn load(functions: &Functions, code: &[u8]) -> Result<Handle> {
    let mut module = ptr::null_mut();
    // SAFETY: the caller has a text with a zero at its end, or a whole binary; there is room for a handle.
    let code = unsafe { (functions.load_module)(&raw mut module, code.as_ptr().cast()) };
    functions.check("cuModuleLoadData", code)?;
    Ok(module)
}

/// All devices, and their names.
fn devices(functions: &Functions) -> Result<Vec<(c_int, String)>> {
    let mut n = 0;
    // SAFETY: there is room for a number.
    functions.check("cuDeviceGetCount", unsafe { (functions.device_count)(&raw mut n) })?;
    (0..n).map(|i| device(functions, i)).collect()
}

fn device(functions: &Functions, i: c_int) -> Result<(c_int, String)> {
    let (mut device, mut name) = (0, [0_u8; 256]);
    // SAFETY: there are more devices than `i`; there is room for a device.
    functions.check("cuDeviceGet", unsafe { (functions.device)(&raw mut device, i) })?;
    // SAFETY: there is room for 256 bytes.
    let code = unsafe { (functions.device_name)(name.as_mut_ptr().cast(), 256, device) };
    functions.check("cuDeviceGetName", code)?;
    let name = CStr::from_bytes_until_nul(&name)?.to_string_lossy().into_owned();
    Ok((device, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_are_one_text_with_every_entry() {
        let text = CStr::from_bytes_with_nul(KERNELS.as_bytes()).unwrap().to_str().unwrap();
        for entry in ["axpy(", "nop(", "copy("] {
            assert_eq!(text.matches(&format!(".visible .entry {entry}")).count(), 1, "{entry}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }

    #[test]
    fn a_device_that_is_not_there_is_absent() {
        // The name matches no device, so no device is opened on any machine.
        let opened = Gpu::open(Some("a device of no name")).unwrap();
        assert!(matches!(opened, Opened::Absent(reason) if !reason.is_empty()));
    }
}
