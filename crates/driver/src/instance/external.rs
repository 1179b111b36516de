//! What a device shares with other devices, other processes and other APIs: memory and semaphores by handle type, its
//! group, and its LUID. The file has the plain data and the queries that read it.
//!
//! `vulkan/semaphore.rs` and the allocator crate export and import handles. The allocator crate's `memory/connection/`
//! decides which memory of one device another device reaches.

use std::collections::BTreeSet;

use ash::vk::{
    self, ExternalMemoryHandleTypeFlags as MemoryHandle, ExternalSemaphoreHandleTypeFlags as SemaphoreHandle,
};
use serde::{Deserialize, Serialize};

use super::DeviceInfo;
use super::plan::{EXTERNAL_MEMORY_FD, EXTERNAL_SEMAPHORE_FD};
use super::query::hex;
use crate::error::{Error, Result};

const DMA_BUF: &str = "VK_EXT_external_memory_dma_buf";
const HOST_MEMORY: &str = "VK_EXT_external_memory_host";

/// The usage of every buffer of this library: any kernel argument, and either side of a copy.
pub const BUFFER_USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER.as_raw()
        | vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER.as_raw()
        | COPY_USAGE.as_raw(),
);

const COPY_USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw() | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

/// What a device does with memory or semaphores of one handle type. All fields are false where the device does not have
/// the type or lacks the extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandleSupport {
    /// Whether the device makes handles of this type.
    pub exportable: bool,
    /// Whether the device takes handles of this type.
    pub importable: bool,
    /// Whether memory of this type belongs to one buffer alone (`VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT`).
    pub dedicated_only: bool,
}

/// What a device shares with other devices, processes and APIs.
///
/// ```
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let external = &device.info().external;
/// println!("memory goes to other processes: {}", external.memory_fd.exportable);
/// println!("timelines go to other processes: {}", external.timeline_fd.exportable);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)] // A snapshot may be older than a field.
pub struct External {
    /// Buffers in memory of opaque file descriptors, which can be shared between devices of one driver only.
    pub memory_fd: HandleSupport,
    /// Buffers in memory of Linux's DMA-BUF, which several drivers can share.
    pub dma_buf: HandleSupport,
    /// Buffers in memory of Linux's DMA-BUF that are only copied from and to.
    pub dma_buf_copies: HandleSupport,
    /// Buffers in pages of the program's own memory.
    pub host_memory: HandleSupport,
    /// Timeline semaphores as opaque file descriptors.
    pub timeline_fd: HandleSupport,
    /// Binary semaphores as opaque file descriptors.
    pub binary_fd: HandleSupport,
    /// The LUID as 16 hexadecimal digits, where the device has one.
    pub luid: Option<String>,
    /// The node mask that belongs to the LUID.
    pub node_mask: u32,
    /// The UUIDs of all devices in this device's group, in the group's order; empty for a device without a group.
    pub group: Vec<String>,
}

impl External {
    /// What a device can share that is opened with only these extensions.
    pub(crate) fn with_extensions(&self, enabled: &[String]) -> Self {
        let is_enabled = |name: &str| enabled.iter().any(|extension| extension == name);
        let keep = |name: &str, support| if is_enabled(name) { support } else { HandleSupport::default() };
        Self {
            memory_fd: keep(EXTERNAL_MEMORY_FD, self.memory_fd),
            dma_buf: keep(DMA_BUF, self.dma_buf),
            dma_buf_copies: keep(DMA_BUF, self.dma_buf_copies),
            host_memory: keep(HOST_MEMORY, self.host_memory),
            timeline_fd: keep(EXTERNAL_SEMAPHORE_FD, self.timeline_fd),
            binary_fd: keep(EXTERNAL_SEMAPHORE_FD, self.binary_fd),
            ..self.clone()
        }
    }

    /// Queries the driver. The device supports Vulkan 1.3.
    pub(super) fn query(
        instance: &ash::Instance,
        device: vk::PhysicalDevice,
        extensions: &BTreeSet<String>,
        id: &vk::PhysicalDeviceIDProperties<'_>,
    ) -> Self {
        let memory = |extension: &str, usage, handle| match extensions.contains(extension) {
            true => buffer_support(instance, device, usage, handle),
            false => HandleSupport::default(),
        };
        let semaphore = |kind| match extensions.contains(EXTERNAL_SEMAPHORE_FD) {
            true => semaphore_support(instance, device, kind),
            false => HandleSupport::default(),
        };
        Self {
            memory_fd: memory(EXTERNAL_MEMORY_FD, BUFFER_USAGE, MemoryHandle::OPAQUE_FD),
            dma_buf: memory(DMA_BUF, BUFFER_USAGE, MemoryHandle::DMA_BUF_EXT),
            dma_buf_copies: memory(DMA_BUF, COPY_USAGE, MemoryHandle::DMA_BUF_EXT),
            host_memory: memory(HOST_MEMORY, BUFFER_USAGE, MemoryHandle::HOST_ALLOCATION_EXT),
            timeline_fd: semaphore(vk::SemaphoreType::TIMELINE),
            binary_fd: semaphore(vk::SemaphoreType::BINARY),
            luid: (id.device_luid_valid != 0).then(|| hex(&id.device_luid)),
            node_mask: id.device_node_mask,
            group: Vec::new(),
        }
    }
}

fn buffer_support(
    instance: &ash::Instance,
    device: vk::PhysicalDevice,
    usage: vk::BufferUsageFlags,
    handle: MemoryHandle,
) -> HandleSupport {
    use vk::ExternalMemoryFeatureFlags as F;
    let info = vk::PhysicalDeviceExternalBufferInfo::default().usage(usage).handle_type(handle);
    let mut properties = vk::ExternalBufferProperties::default();
    // SAFETY: the device is of this instance, and both structures are complete.
    unsafe { instance.get_physical_device_external_buffer_properties(device, &info, &mut properties) };
    let features = properties.external_memory_properties.external_memory_features;
    HandleSupport {
        exportable: features.contains(F::EXPORTABLE),
        importable: features.contains(F::IMPORTABLE),
        dedicated_only: features.contains(F::DEDICATED_ONLY),
    }
}

fn semaphore_support(instance: &ash::Instance, device: vk::PhysicalDevice, kind: vk::SemaphoreType) -> HandleSupport {
    use vk::ExternalSemaphoreFeatureFlags as F;
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(kind);
    let info =
        vk::PhysicalDeviceExternalSemaphoreInfo::default().handle_type(SemaphoreHandle::OPAQUE_FD).push_next(&mut kind);
    let mut properties = vk::ExternalSemaphoreProperties::default();
    // SAFETY: the device is of this instance, and all structures are complete.
    unsafe { instance.get_physical_device_external_semaphore_properties(device, &info, &mut properties) };
    let features = properties.external_semaphore_features;
    HandleSupport {
        exportable: features.contains(F::EXPORTABLE),
        importable: features.contains(F::IMPORTABLE),
        dedicated_only: false,
    }
}

/// Adds the UUIDs of the group to each device that is in a group with others. `handles` and `infos` are in the same
/// order.
pub(super) fn add_groups(
    instance: &ash::Instance,
    handles: &[vk::PhysicalDevice],
    infos: &mut [DeviceInfo],
) -> Result<()> {
    let failed = |code| Error::from_call("vkEnumeratePhysicalDeviceGroups")(code);
    // SAFETY: the instance is alive and speaks Vulkan 1.3.
    let n_groups = unsafe { instance.enumerate_physical_device_groups_len() }.map_err(failed)?;
    let mut groups = vec![vk::PhysicalDeviceGroupProperties::default(); n_groups];
    // SAFETY: the instance is alive and speaks Vulkan 1.3, and the list has one complete structure for each group.
    unsafe { instance.enumerate_physical_device_groups(&mut groups) }.map_err(failed)?;
    for group in groups.iter().filter(|group| group.physical_device_count > 1) {
        let members = &group.physical_devices[..group.physical_device_count as usize];
        let members: Vec<usize> =
            members.iter().filter_map(|member| handles.iter().position(|handle| handle == member)).collect();
        let uuids: Vec<String> = members.iter().map(|&member| infos[member].uuid.clone()).collect();
        members.iter().for_each(|&member| infos[member].external.group.clone_from(&uuids));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::machine;

    #[test]
    fn what_a_device_was_not_opened_for_it_does_not_share() {
        let yes = HandleSupport { exportable: true, importable: true, dedicated_only: false };
        let all = External {
            memory_fd: yes,
            dma_buf: yes,
            dma_buf_copies: yes,
            host_memory: yes,
            timeline_fd: yes,
            binary_fd: yes,
            node_mask: 1,
            ..External::default()
        };
        let opened_with = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let External { memory_fd, dma_buf, dma_buf_copies, host_memory, timeline_fd, binary_fd, node_mask, .. } =
                all.with_extensions(&names);
            assert_eq!(node_mask, 1);
            [memory_fd, dma_buf, dma_buf_copies, host_memory, timeline_fd, binary_fd].map(|support| support == yes)
        };
        assert_eq!(opened_with(&[]), [false; 6]);
        assert_eq!(opened_with(&[EXTERNAL_MEMORY_FD]), [true, false, false, false, false, false]);
        assert_eq!(opened_with(&[DMA_BUF]), [false, true, true, false, false, false]);
        assert_eq!(opened_with(&[HOST_MEMORY]), [false, false, false, true, false, false]);
        assert_eq!(opened_with(&[EXTERNAL_SEMAPHORE_FD]), [false, false, false, false, true, true]);
    }

    #[test]
    fn snapshots_say_what_each_driver_shares() {
        // The snapshot, then for memory, host memory, timelines and binary semaphores whether each is exported and
        // imported.
        let cases = [
            ("lavapipe_22.3.6", [(true, true), (false, true), (false, false), (false, false)]),
            ("swiftshader_5.0.0", [(true, true), (false, false), (false, false), (true, true)]),
        ];
        for (name, expected) in cases {
            let External { memory_fd, host_memory, timeline_fd, binary_fd, .. } = machine(name).external;
            let found = [memory_fd, host_memory, timeline_fd, binary_fd].map(|both| (both.exportable, both.importable));
            assert_eq!(found, expected, "{name}");
        }
    }
}
