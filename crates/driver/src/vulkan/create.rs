//! Creates a device with the queues, extensions and features of its plan.
//!
//! `instance/plan.rs` makes the plan.

use std::ffi::CString;

use ash::vk;

use super::Queue;
use crate::error::{Error, Result};
use crate::instance::{DevicePlan, PhysicalDevice};

/// Creates the device that the plan describes.
pub(super) fn create(physical: &PhysicalDevice, plan: &DevicePlan) -> Result<ash::Device> {
    let names: Vec<CString> = plan.extensions.iter().filter_map(|name| CString::new(name.as_str()).ok()).collect();
    let pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
    let most = plan.queues().map(|queues| queues.count).max().unwrap_or(1);
    let priorities = vec![1.0; most as usize];
    let queues: Vec<_> = plan
        .queues()
        .map(|queues| {
            vk::DeviceQueueCreateInfo::default()
                .queue_family_index(queues.family)
                .queue_priorities(&priorities[..queues.count as usize])
        })
        .collect();
    let mut structs = plan.features.structs();
    let mut features = structs.chain(|name| plan.extensions.iter().any(|extension| extension == name));
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&pointers)
        .push_next(&mut features);
    // SAFETY: `info` borrows everything it points to; the plan enables only what the snapshot of this device lists.
    unsafe { physical.instance().raw().create_device(physical.raw(), &info, None) }
        .map_err(Error::from_call("vkCreateDevice"))
}

/// The queues of the plan, in its order.
pub(super) fn queues(raw: &ash::Device, plan: &DevicePlan) -> Vec<Queue> {
    let mut queues = Vec::new();
    for planned in plan.queues() {
        for idx in 0..planned.count {
            // SAFETY: the plan's families exist, and the device was created with the planned number of queues in each.
            let queue = unsafe { raw.get_device_queue(planned.family, idx) };
            queues.push(Queue::new(queue, planned.family, planned == plan.compute, None));
        }
    }
    queues
}
