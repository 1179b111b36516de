//! Creates a device as its plan says: with its queues, extensions and features.
//!
//! `instance/plan.rs` decides what is enabled.

use std::ffi::CString;

use ash::vk;

use super::Queue;
use crate::error::{Error, Result};
use crate::instance::{DevicePlan, Features, PhysicalDevice};

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
    let mut v11 = features_11(&plan.features);
    let mut v12 = features_12(&plan.features);
    let mut v13 = features_13(&plan.features);
    let core = features_core(&plan.features);
    let mut matrices = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default()
        .cooperative_matrix(true)
        .cooperative_matrix_robust_buffer_access(plan.features.cooperative_matrix_robust_buffers);
    let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
    let mut pipelines = vk::PhysicalDevicePipelineRobustnessFeaturesEXT::default().pipeline_robustness(true);
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&pointers)
        .enabled_features(&core)
        .push_next(&mut v11)
        .push_next(&mut v12)
        .push_next(&mut v13);
    let info = if plan.features.robust_buffer_access_2 { info.push_next(&mut robustness) } else { info };
    let info = if plan.features.pipeline_robustness { info.push_next(&mut pipelines) } else { info };
    let info = if plan.features.cooperative_matrix { info.push_next(&mut matrices) } else { info };
    // SAFETY: `info` borrows everything it points to; the plan enables only what the snapshot of this device lists.
    unsafe { physical.instance().raw().create_device(physical.raw(), &info, None) }
        .map_err(Error::from_call("vkCreateDevice"))
}

/// The queues of the plan, in its order.
pub(super) fn queues(raw: &ash::Device, plan: &DevicePlan) -> Vec<Queue> {
    let mut queues = Vec::new();
    for planned in plan.queues() {
        for idx in 0..planned.count {
            // SAFETY: the plan's families exist, and so many queues of each were created with the device.
            let queue = unsafe { raw.get_device_queue(planned.family, idx) };
            queues.push(Queue::new(queue, planned.family, planned == plan.compute));
        }
    }
    queues
}

fn features_core(wanted: &Features) -> vk::PhysicalDeviceFeatures {
    vk::PhysicalDeviceFeatures::default()
        .robust_buffer_access(wanted.robust_buffer_access)
        .shader_float64(wanted.shader_float64)
        .shader_int64(wanted.shader_int64)
        .shader_int16(wanted.shader_int16)
}

fn features_11(wanted: &Features) -> vk::PhysicalDeviceVulkan11Features<'static> {
    vk::PhysicalDeviceVulkan11Features::default()
        .storage_buffer16_bit_access(wanted.storage_buffer_16bit)
        .uniform_and_storage_buffer16_bit_access(wanted.uniform_buffer_16bit)
        .storage_push_constant16(wanted.push_constant_16bit)
        .variable_pointers_storage_buffer(wanted.variable_pointers_storage_buffer)
        .variable_pointers(wanted.variable_pointers)
}

fn features_12(wanted: &Features) -> vk::PhysicalDeviceVulkan12Features<'static> {
    vk::PhysicalDeviceVulkan12Features::default()
        .timeline_semaphore(wanted.timeline_semaphore)
        .shader_float16(wanted.shader_float16)
        .shader_int8(wanted.shader_int8)
        .storage_buffer8_bit_access(wanted.storage_buffer_8bit)
        .uniform_and_storage_buffer8_bit_access(wanted.uniform_buffer_8bit)
        .storage_push_constant8(wanted.push_constant_8bit)
        .shader_buffer_int64_atomics(wanted.buffer_int64_atomics)
        .shader_shared_int64_atomics(wanted.shared_int64_atomics)
        .buffer_device_address(wanted.buffer_device_address)
        .scalar_block_layout(wanted.scalar_block_layout)
        .vulkan_memory_model(wanted.vulkan_memory_model)
        .vulkan_memory_model_device_scope(wanted.vulkan_memory_model_device_scope)
        .host_query_reset(wanted.host_query_reset)
}

fn features_13(wanted: &Features) -> vk::PhysicalDeviceVulkan13Features<'static> {
    vk::PhysicalDeviceVulkan13Features::default()
        .synchronization2(wanted.synchronization2)
        .subgroup_size_control(wanted.subgroup_size_control)
        .compute_full_subgroups(wanted.compute_full_subgroups)
        .shader_zero_initialize_workgroup_memory(wanted.zero_initialize_workgroup_memory)
        .shader_integer_dot_product(wanted.integer_dot_product)
        .maintenance4(true) // Every 1.3 device has it.
}
