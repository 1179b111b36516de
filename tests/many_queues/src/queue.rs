//! Queues that all stand for the driver's one queue, and the calls that name them.

use std::sync::{Arc, MutexGuard, PoisonError};

use ash::vk::{self, Handle};

use crate::device::{self, Device};
use crate::loader;

/// The object that the handle of a queue points to.
#[repr(C)]
pub(crate) struct Queue {
    /// The loader's table, which has to be the first field.
    _table: usize,
    device: Arc<Device>,
}

pub(crate) unsafe extern "system" fn get(device: vk::Device, family: u32, number: u32, queue: *mut vk::Queue) {
    let known = device::of(device);
    let mut queues = known.queues.lock().unwrap_or_else(PoisonError::into_inner);
    let made = queues.entry((family, number)).or_insert_with(|| {
        // SAFETY: the device is live.
        let table = unsafe { loader::key(device) };
        Box::new(Queue { _table: table, device: Arc::clone(&known) })
    });
    // SAFETY: Vulkan requires that `queue` is valid.
    unsafe { *queue = vk::Queue::from_raw(std::ptr::from_mut(made.as_mut()) as u64) };
}

pub(crate) unsafe extern "system" fn get2(
    device: vk::Device,
    info: *const vk::DeviceQueueInfo2<'_>,
    queue: *mut vk::Queue,
) {
    // SAFETY: Vulkan requires that `info` is valid.
    let info = unsafe { &*info };
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { get(device, info.queue_family_index, info.queue_index, queue) };
}

/// The device of a queue.
///
/// # Safety
///
/// `queue` came from [`get`], and its device lives.
unsafe fn device_of<'a>(queue: vk::Queue) -> &'a Device {
    // SAFETY: the caller promises that the pointer is valid.
    unsafe { &(*(queue.as_raw() as *const Queue)).device }
}

impl Device {
    fn lock(&self) -> MutexGuard<'_, vk::Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) unsafe extern "system" fn submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the loader passes queues of live devices.
    let device = unsafe { device_of(queue) };
    // SAFETY: the caller's arguments, for the driver's queue, which is locked.
    unsafe { (device.table.fp_v1_0().queue_submit)(*device.lock(), count, infos, fence) }
}

pub(crate) unsafe extern "system" fn submit2(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the loader passes queues of live devices.
    let device = unsafe { device_of(queue) };
    // SAFETY: the caller's arguments, for the driver's queue, which is locked.
    unsafe { (device.table.fp_v1_3().queue_submit2)(*device.lock(), count, infos, fence) }
}

pub(crate) unsafe extern "system" fn bind_sparse(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::BindSparseInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the loader passes queues of live devices.
    let device = unsafe { device_of(queue) };
    // SAFETY: the caller's arguments, for the driver's queue, which is locked.
    unsafe { (device.table.fp_v1_0().queue_bind_sparse)(*device.lock(), count, infos, fence) }
}

pub(crate) unsafe extern "system" fn wait_idle(queue: vk::Queue) -> vk::Result {
    // SAFETY: the loader passes queues of live devices.
    let device = unsafe { device_of(queue) };
    // SAFETY: the driver's queue is locked.
    unsafe { (device.table.fp_v1_0().queue_wait_idle)(*device.lock()) }
}
