//! The functions of the CUDA driver, found when the program runs: no toolkit is needed to build it, and no driver.
//!
//! Each is declared as in the driver's documentation; the name of a call is the newest name that version 12 of the
//! driver has. Read next: `gpu.rs`, which calls the functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use anyhow::{Context as _, Result, bail};
use libloading::Library;

/// A pointer to the device's memory.
pub(crate) type Address = u64;
/// A handle that the driver hands out, whose content only the driver reads.
pub(crate) type Handle = *mut c_void;
/// Pointers to a kernel's arguments.
pub(crate) type Arguments = *mut *mut c_void;

/// The names of the compiler's library, the newest first.
const COMPILERS: [&str; 4] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "nvrtc64_120_0.dll"];

/// Where the driver is installed.
const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// A kernel in a graph: `CUDA_KERNEL_NODE_PARAMS`.
#[repr(C)]
pub(crate) struct KernelNode {
    pub(crate) function: Handle,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) arguments: Arguments,
    pub(crate) extra: Arguments,
}

/// What a pool is made of: `CUmemPoolProps`.
#[repr(C)]
pub(crate) struct PoolProperties {
    /// Memory that is there until it is freed: `CU_MEM_ALLOCATION_TYPE_PINNED`, 1.
    pub(crate) kind: c_int,
    /// No handles for other processes: `CU_MEM_HANDLE_TYPE_NONE`, 0.
    pub(crate) handles: c_int,
    /// A device's memory, `CU_MEM_LOCATION_TYPE_DEVICE`, 1; and the device.
    pub(crate) location: [c_int; 2],
    /// A pointer, the largest size, the usage and reserved bytes: zeros are the defaults.
    pub(crate) rest: [u64; 9],
}

macro_rules! functions {
    ($(#[$about:meta])* $functions:ident: $($name:ident = $symbol:literal($($argument:ty),*);)*) => {
        $(#[$about])*
        pub(crate) struct $functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
            _library: Library, // The library keeps the code of the functions loaded.
        }

        impl $functions {
            fn of(library: Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the library's function of that name has this type, and the library stays loaded as
                        // long as the pointer is used.
                        let function = unsafe { library.get($symbol.as_bytes()) };
                        *function?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    /// The functions of NVIDIA's compiler of texts that are called. Each returns the number of an error, or 0.
    Compiler:
    create = "nvrtcCreateProgram"(*mut Handle, *const c_char, *const c_char, c_int, *const Handle, *const Handle);
    destroy = "nvrtcDestroyProgram"(*mut Handle);
    compile = "nvrtcCompileProgram"(Handle, c_int, *const *const c_char);
    size = "nvrtcGetCUBINSize"(Handle, *mut usize);
    binary = "nvrtcGetCUBIN"(Handle, *mut c_char);
}

functions! {
    /// The functions of the driver that are called. Each returns the number of an error, or 0.
    Functions:
    init = "cuInit"(c_uint);
    error_name = "cuGetErrorName"(c_int, *mut *const c_char);
    device_count = "cuDeviceGetCount"(*mut c_int);
    device = "cuDeviceGet"(*mut c_int, c_int);
    device_attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    retain_context = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
    set_context = "cuCtxSetCurrent"(Handle);
    synchronize = "cuCtxSynchronize"();
    create_stream = "cuStreamCreate"(*mut Handle, c_uint);
    synchronize_stream = "cuStreamSynchronize"(Handle);
    load_module = "cuModuleLoadData"(*mut Handle, *const c_void);
    function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
    launch = "cuLaunchKernel"(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, Arguments, Arguments
    );
    create_graph = "cuGraphCreate"(*mut Handle, c_uint);
    add_kernel_node = "cuGraphAddKernelNode"(*mut Handle, Handle, *const Handle, usize, *const KernelNode);
    instantiate_graph = "cuGraphInstantiateWithFlags"(*mut Handle, Handle, u64);
    launch_graph = "cuGraphLaunch"(Handle, Handle);
    allocate = "cuMemAlloc_v2"(*mut Address, usize);
    free = "cuMemFree_v2"(Address);
    allocate_in_order = "cuMemAllocAsync"(*mut Address, usize, Handle);
    free_in_order = "cuMemFreeAsync"(Address, Handle);
    default_pool = "cuDeviceGetDefaultMemPool"(*mut Handle, c_int);
    create_pool = "cuMemPoolCreate"(*mut Handle, *const PoolProperties);
    allocate_from_pool = "cuMemAllocFromPoolAsync"(*mut Address, usize, Handle, Handle);
    set_pool_attribute = "cuMemPoolSetAttribute"(Handle, c_int, *mut c_void);
    allocate_host = "cuMemHostAlloc"(*mut Handle, usize, c_uint);
    free_host = "cuMemFreeHost"(Handle);
    register_host = "cuMemHostRegister_v2"(Handle, usize, c_uint);
    unregister_host = "cuMemHostUnregister"(Handle);
    fill = "cuMemsetD8_v2"(Address, u8, usize);
    fill_in_order = "cuMemsetD8Async"(Address, u8, usize, Handle);
    copy_up = "cuMemcpyHtoD_v2"(Address, *const c_void, usize);
    copy_up_in_order = "cuMemcpyHtoDAsync_v2"(Address, *const c_void, usize, Handle);
    copy_down = "cuMemcpyDtoH_v2"(Handle, Address, usize);
    copy_down_in_order = "cuMemcpyDtoHAsync_v2"(Handle, Address, usize, Handle);
    copy_in_order = "cuMemcpyDtoDAsync_v2"(Address, Address, usize, Handle);
}

impl Compiler {
    /// Loads the compiler; an error if this machine has none.
    pub(crate) fn load() -> Result<Self> {
        // SAFETY: loading runs the initialisers of NVIDIA's compiler, as in every program that uses it.
        let found = COMPILERS.iter().find_map(|name| unsafe { Library::new(name) }.ok());
        Ok(Self::of(found.with_context(|| format!("none of {COMPILERS:?} is found"))?)?)
    }
}

impl Functions {
    /// Loads the driver; an error if this machine has none.
    pub(crate) fn load() -> Result<Self, libloading::Error> {
        // SAFETY: loading runs the initialisers of the system's CUDA driver, as in every program that uses CUDA.
        Self::of(unsafe { Library::new(LIBRARY) }?)
    }

    /// An error, unless the call returned 0.
    pub(crate) fn check(&self, call: &str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let mut name = ptr::null();
        // SAFETY: the pointer has room for one text, which the driver never frees.
        let unknown = unsafe { (self.error_name)(code, &raw mut name) };
        if unknown != 0 || name.is_null() {
            bail!("{call} failed with {code}");
        }
        // SAFETY: the driver has set the pointer to a text that ends with zero.
        bail!("{call} failed with {}", unsafe { CStr::from_ptr(name) }.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn structures_lie_as_the_driver_reads_them() {
        // The size on a machine of 64 bits: a pointer, seven numbers and a gap, two pointers.
        assert_eq!(size_of::<KernelNode>(), 56);
        assert_eq!(offset_of!(KernelNode, arguments), 40);
        // Four numbers, a pointer, a size, and 56 bytes.
        assert_eq!(size_of::<PoolProperties>(), 88);
    }
}
