//! [`Table`]: trampolines for all Vulkan calls that can fail. They count the calls and make the n-th one fail.
//!
//! The trampolines lie above the validation layer, so a call that fails here does not reach it. They are installed with
//! [`InstanceBuilder::intercept`](vkarray::device::InstanceBuilder::intercept). One test at a time uses the table, which it
//! gets from [`Table::take`]. Read `scenario.rs` next.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ash::vk::{self, Handle};
use vkarray::device::{Device, Instance};

/// A call that shall fail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) call: &'static str,
    /// The first call that fails, counted from one.
    pub(crate) nth: u32,
    /// The number of calls in a row that fail.
    pub(crate) times: u32,
    pub(crate) code: vk::Result,
}

/// The state of the trampolines.
#[derive(Default)]
struct Calls {
    real: BTreeMap<&'static str, usize>,
    counted: BTreeMap<&'static str, u32>,
    live: BTreeMap<&'static str, i64>,
    fault: Option<Fault>,
    n_failed: u32,
    device: vk::Device,
}

static CALLS: Mutex<Option<Calls>> = Mutex::new(None);

/// The number of destroyed objects. It is read without a lock, so that it can be read after a fork.
pub(crate) static N_DESTROYED: AtomicU32 = AtomicU32::new(0);

/// Locked by the test that runs.
static TURN: Mutex<()> = Mutex::new(());

/// Locked while a queue is used, since simulating a lost device waits for all queues.
static QUEUES: Mutex<()> = Mutex::new(());

/// The trampolines, for one test.
pub(crate) struct Table {
    _turn: MutexGuard<'static, ()>,
}

impl Table {
    /// Waits until no other test uses the trampolines.
    pub(crate) fn take() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        *CALLS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Calls::default());
        Self { _turn: turn }
    }

    /// An instance whose calls go through the trampolines, under validation.
    pub(crate) fn instance(&self) -> Arc<Instance> {
        let builder = Instance::builder().validation(true);
        // SAFETY: each trampoline either makes the call or returns an error that the call may return.
        unsafe { builder.intercept(replaced) }.build().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Resets the counts and sets the fault.
    pub(crate) fn arm(&self, fault: Fault) {
        with(|calls| {
            calls.counted.clear();
            calls.fault = Some(fault);
            calls.n_failed = 0;
        });
    }

    /// Removes the fault, and returns how many calls failed because of it.
    pub(crate) fn disarm(&self) -> u32 {
        with(|calls| {
            calls.fault = None;
            calls.n_failed
        })
    }

    /// How many calls have failed since the fault was set.
    pub(crate) fn n_failed(&self) -> u32 {
        with(|calls| calls.n_failed)
    }

    /// Closes the device; fails if objects are left or the validation layer has reported anything.
    pub(crate) fn close(&self, device: Arc<Device>) {
        let instance = Arc::clone(device.physical().instance());
        device.close(Duration::from_secs(20)).unwrap();
        assert_eq!(self.live(), []);
        assert_eq!(instance.take_messages(), []);
    }

    /// The number of objects that were created and not destroyed, by kind.
    pub(crate) fn live(&self) -> Vec<(&'static str, i64)> {
        with(|calls| calls.live.iter().filter(|(_, n)| **n != 0).map(|(kind, n)| (*kind, *n)).collect())
    }
}

/// The names of the calls that can be made to fail.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FALLIBLE.iter().map(|(name, _)| *name)
}

fn with<R>(look: impl FnOnce(&mut Calls) -> R) -> R {
    look(CALLS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// Counts a call, and returns the error if the call shall fail.
fn counted(call: &'static str) -> Option<vk::Result> {
    let failed = with(|calls| {
        let n = calls.counted.entry(call).or_default();
        *n += 1;
        let due = |fault: &Fault| fault.call == call && *n >= fault.nth && *n - fault.nth < fault.times;
        let fault = calls.fault.filter(due)?;
        calls.n_failed += 1;
        Some((fault.code, calls.device))
    });
    let (code, device) = failed?;
    if code == vk::Result::ERROR_DEVICE_LOST && !device.is_null() {
        // After its loss a device does no more work, so its work is finished first.
        let _queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the address was loaded for this name, and this is the type of the function.
        let wait: vk::PFN_vkDeviceWaitIdle = unsafe { transmute(real("vkDeviceWaitIdle")) };
        // SAFETY: the device is live, and its queues are locked.
        unsafe { wait(device) }.result().expect("the device is not really lost");
    }
    Some(code)
}

fn real(call: &'static str) -> usize {
    with(|calls| calls.real[call])
}

fn note_live(call: &'static str, n: i64) {
    let kind = match call {
        "vkAllocateMemory" | "vkFreeMemory" => "Memory",
        "vkCreateComputePipelines" => "Pipeline",
        call => match call.strip_prefix("vkCreate").or_else(|| call.strip_prefix("vkDestroy")) {
            Some(kind) => kind,
            None => return,
        },
    };
    with(|calls| *calls.live.entry(kind).or_default() += n);
}

fn called(call: &'static str, real: impl FnOnce() -> vk::Result) -> vk::Result {
    if let Some(code) = counted(call) {
        return code;
    }
    let uses_queues = matches!(call, "vkQueueSubmit2" | "vkQueueWaitIdle" | "vkDeviceWaitIdle");
    let _queues = uses_queues.then(|| QUEUES.lock().unwrap_or_else(PoisonError::into_inner));
    let code = real();
    if code == vk::Result::SUCCESS {
        note_live(call, 1);
    }
    code
}

macro_rules! fallible {
    ($($call:ident($($arg:ident: $ty:ty),*);)*) => {
        $(#[expect(non_snake_case, reason = "Vulkan's own name")]
        unsafe extern "system" fn $call($($arg: $ty),*) -> vk::Result {
            // SAFETY: the address was loaded for this name, and this is the type of the function.
            let real: unsafe extern "system" fn($($ty),*) -> vk::Result = unsafe { transmute(real(stringify!($call))) };
            // SAFETY: the caller keeps the call's own contract.
            called(stringify!($call), || unsafe { real($($arg),*) })
        })*
        /// Trampolines by name.
        const FALLIBLE: &[(&str, *const c_void)] = &[$((stringify!($call), $call as *const c_void)),*];
    };
}

macro_rules! destroying {
    ($($call:ident: $ty:ty;)*) => {
        $(#[expect(non_snake_case, reason = "Vulkan's own name")]
        unsafe extern "system" fn $call(device: vk::Device, handle: $ty, allocator: Allocation) {
            // SAFETY: the address was loaded for this name, and this is the type of the function.
            let real: unsafe extern "system" fn(vk::Device, $ty, Allocation) = unsafe { transmute(real(stringify!($call))) };
            // SAFETY: the caller keeps the call's own contract.
            unsafe { real(device, handle, allocator) };
            N_DESTROYED.fetch_add(1, Ordering::Relaxed);
            note_live(stringify!($call), if handle.is_null() { 0 } else { -1 });
        })*
        /// Trampolines by name.
        const DESTROYING: &[(&str, *const c_void)] = &[$((stringify!($call), $call as *const c_void)),*];
    };
}

type Allocation = *const vk::AllocationCallbacks<'static>;
type Info = *const c_void;

fallible! {
    vkCreateBuffer(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::Buffer);
    vkCreateBufferView(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::BufferView);
    vkCreateImage(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::Image);
    vkCreateImageView(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::ImageView);
    vkCreateSampler(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::Sampler);
    vkBindImageMemory(device: vk::Device, image: vk::Image, memory: vk::DeviceMemory, offset: u64);
    vkCreateCommandPool(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::CommandPool);
    vkCreateDescriptorPool(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::DescriptorPool);
    vkCreateDescriptorSetLayout(device: vk::Device, info: Info, allocator: Allocation, made: *mut u64);
    vkCreateDescriptorUpdateTemplate(device: vk::Device, info: Info, allocator: Allocation, made: *mut u64);
    vkCreatePipelineCache(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::PipelineCache);
    vkCreatePipelineLayout(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::PipelineLayout);
    vkCreateQueryPool(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::QueryPool);
    vkCreateSemaphore(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::Semaphore);
    vkCreateShaderModule(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::ShaderModule);
    vkCreateComputePipelines(
        device: vk::Device, cache: vk::PipelineCache, n: u32, infos: Info, allocator: Allocation, made: *mut vk::Pipeline
    );
    vkAllocateMemory(device: vk::Device, info: Info, allocator: Allocation, made: *mut vk::DeviceMemory);
    vkGetMemoryHostPointerPropertiesEXT(device: vk::Device, handle: u32, address: Info, properties: *mut c_void);
    vkMapMemory(
        device: vk::Device, memory: vk::DeviceMemory, offset: u64, size: u64, flags: u32, address: *mut *mut c_void
    );
    vkFlushMappedMemoryRanges(device: vk::Device, n: u32, ranges: Info);
    vkInvalidateMappedMemoryRanges(device: vk::Device, n: u32, ranges: Info);
    vkBindBufferMemory(device: vk::Device, buffer: vk::Buffer, memory: vk::DeviceMemory, offset: u64);
    vkAllocateCommandBuffers(device: vk::Device, info: Info, made: *mut vk::CommandBuffer);
    vkAllocateDescriptorSets(device: vk::Device, info: Info, made: *mut vk::DescriptorSet);
    vkResetCommandPool(device: vk::Device, pool: vk::CommandPool, flags: u32);
    vkResetDescriptorPool(device: vk::Device, pool: vk::DescriptorPool, flags: u32);
    vkBeginCommandBuffer(commands: vk::CommandBuffer, info: Info);
    vkEndCommandBuffer(commands: vk::CommandBuffer);
    vkQueueSubmit2(queue: vk::Queue, n: u32, infos: Info, fence: vk::Fence);
    vkGetSemaphoreCounterValue(device: vk::Device, semaphore: vk::Semaphore, value: *mut u64);
    vkWaitSemaphores(device: vk::Device, info: Info, timeout: u64);
    vkSignalSemaphore(device: vk::Device, info: Info);
    vkGetQueryPoolResults(
        device: vk::Device, pool: vk::QueryPool, first: u32, n: u32, bytes: usize, to: *mut c_void, stride: u64, flags: u32
    );
    vkQueueWaitIdle(queue: vk::Queue);
    vkDeviceWaitIdle(device: vk::Device);
    vkGetPipelineCacheData(device: vk::Device, cache: vk::PipelineCache, bytes: *mut usize, to: *mut c_void);
    vkCreateDevice(physical: vk::PhysicalDevice, info: Info, allocator: Allocation, made: *mut vk::Device);
}

destroying! {
    vkDestroyBuffer: vk::Buffer;
    vkDestroyBufferView: vk::BufferView;
    vkDestroyImage: vk::Image;
    vkDestroyImageView: vk::ImageView;
    vkDestroySampler: vk::Sampler;
    vkDestroyCommandPool: vk::CommandPool;
    vkDestroyDescriptorPool: vk::DescriptorPool;
    vkDestroyDescriptorSetLayout: vk::DescriptorSetLayout;
    vkDestroyDescriptorUpdateTemplate: vk::DescriptorUpdateTemplate;
    vkDestroyPipeline: vk::Pipeline;
    vkDestroyPipelineCache: vk::PipelineCache;
    vkDestroyPipelineLayout: vk::PipelineLayout;
    vkDestroyQueryPool: vk::QueryPool;
    vkDestroySemaphore: vk::Semaphore;
    vkDestroyShaderModule: vk::ShaderModule;
    vkFreeMemory: vk::DeviceMemory;
}

#[expect(non_snake_case, reason = "Vulkan's own name")]
unsafe extern "system" fn vkDestroyDevice(device: vk::Device, allocator: Allocation) {
    with(|calls| calls.device = vk::Device::null());
    // SAFETY: the address was loaded for this name, and this is the type of the function.
    let real: unsafe extern "system" fn(vk::Device, Allocation) = unsafe { transmute(real("vkDestroyDevice")) };
    // SAFETY: the caller keeps the call's own contract.
    unsafe { real(device, allocator) };
    N_DESTROYED.fetch_add(1, Ordering::Relaxed);
    note_live("vkDestroyDevice", -1);
}

/// Returns the trampoline for an entry point if there is one, and stores the real address.
fn replaced(name: &CStr, real: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    let own = [("vkGetDeviceProcAddr", device_address as *const c_void), ("vkDestroyDevice", vkDestroyDevice as _)];
    let mut trampolines = FALLIBLE.iter().chain(DESTROYING).chain(&own);
    let Some((call, trampoline)) = trampolines.find(|(call, _)| name.to_bytes() == call.as_bytes()) else {
        return real;
    };
    let address = real? as usize;
    with(|calls| calls.real.insert(call, address));
    // SAFETY: the address of a function with the type of this entry point.
    Some(unsafe { transmute::<*const c_void, unsafe extern "system" fn()>(*trampoline) })
}

/// The trampoline of `vkGetDeviceProcAddr`.
unsafe extern "system" fn device_address(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    with(|calls| calls.device = device);
    // SAFETY: the address was loaded for this name, and this is the type of the function.
    let real: vk::PFN_vkGetDeviceProcAddr = unsafe { transmute(real("vkGetDeviceProcAddr")) };
    // SAFETY: the device and the name are the caller's arguments, passed on unchanged.
    let function = unsafe { real(device, name) };
    // SAFETY: the caller's name ends with NUL.
    replaced(unsafe { CStr::from_ptr(name) }, function)
}
