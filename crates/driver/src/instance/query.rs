//! Reads a [`DeviceInfo`] from the driver.

use std::collections::BTreeSet;
use std::ffi::CStr;

use ash::vk;

use super::{
    DeviceInfo, DeviceLimits, DeviceType, DriverInfo, Features, Heap, MemoryType, QueueFamily, Subgroup, Version,
};
use super::{External, MINIMUM_VERSION, MatrixShape};
use crate::error::{Error, Result};

/// Reads everything that the runtime uses of one device.
pub(crate) fn device_info(instance: &ash::Instance, device: vk::PhysicalDevice) -> Result<DeviceInfo> {
    let extensions = extensions(instance, device)?;
    // SAFETY: `device` was enumerated from this live `instance`.
    let base = unsafe { instance.get_physical_device_properties(device) };
    let api_version = version(base.api_version);
    let (mut facts, mut external) = (QueriedStructs::default(), External::default());
    if api_version >= MINIMUM_VERSION {
        facts.fill(instance, device, &extensions);
        external = External::query(instance, device, &extensions, &facts.id);
    }
    Ok(DeviceInfo {
        name: text(&base.device_name),
        device_type: device_type(base.device_type),
        vendor_id: base.vendor_id,
        device_id: base.device_id,
        api_version,
        driver: DriverInfo {
            id: facts.driver.driver_id.as_raw(),
            name: text(&facts.driver.driver_name),
            info: text(&facts.driver.driver_info),
            version: base.driver_version,
            uuid: hex(&facts.id.driver_uuid),
        },
        uuid: hex(&facts.id.device_uuid),
        pci_address: extensions.contains(PCI_BUS_INFO).then(|| pci_address(&facts.pci)),
        limits: limits(&base.limits, &facts),
        features: facts.features,
        subgroup: facts.subgroup(),
        memory_heaps: heaps(instance, device),
        memory_types: memory_types(instance, device),
        queue_families: queue_families(instance, device),
        extensions,
        matrix_shapes: Vec::new(),
        external,
    })
}

/// The cooperative matrices of a device that lists the extension.
pub(crate) fn matrix_shapes(
    entry: &ash::Entry,
    instance: &ash::Instance,
    device: vk::PhysicalDevice,
) -> Result<Vec<MatrixShape>> {
    let matrices = ash::khr::cooperative_matrix::Instance::new(entry, instance);
    // SAFETY: `device` was enumerated from this live `instance`, and lists the extension whose command this is.
    let listed = unsafe { matrices.get_physical_device_cooperative_matrix_properties(device) };
    let listed = listed.map_err(Error::from_call("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"))?;
    Ok(listed.iter().map(MatrixShape::new).collect())
}

/// The extension whose structure has the address of a device.
const PCI_BUS_INFO: &str = "VK_EXT_pci_bus_info";

/// An address on the PCI bus as Linux writes it.
fn pci_address(pci: &vk::PhysicalDevicePCIBusInfoPropertiesEXT<'_>) -> String {
    format!("{:04x}:{:02x}:{:02x}.{:x}", pci.pci_domain, pci.pci_bus, pci.pci_device, pci.pci_function)
}

/// The structures of Vulkan 1.3 and its extensions, as the driver fills them.
#[derive(Default)]
struct QueriedStructs {
    driver: vk::PhysicalDeviceDriverProperties<'static>,
    id: vk::PhysicalDeviceIDProperties<'static>,
    maintenance3: vk::PhysicalDeviceMaintenance3Properties<'static>,
    maintenance4: vk::PhysicalDeviceMaintenance4Properties<'static>,
    push_descriptor: vk::PhysicalDevicePushDescriptorPropertiesKHR<'static>,
    host_memory: vk::PhysicalDeviceExternalMemoryHostPropertiesEXT<'static>,
    subgroups: vk::PhysicalDeviceSubgroupProperties<'static>,
    subgroup_sizes: vk::PhysicalDeviceSubgroupSizeControlProperties<'static>,
    bounds: vk::PhysicalDeviceRobustness2PropertiesEXT<'static>,
    pci: vk::PhysicalDevicePCIBusInfoPropertiesEXT<'static>,
    features: Features,
}

impl QueriedStructs {
    fn fill(&mut self, instance: &ash::Instance, device: vk::PhysicalDevice, extensions: &BTreeSet<String>) {
        let mut properties = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut self.driver)
            .push_next(&mut self.id)
            .push_next(&mut self.maintenance3)
            .push_next(&mut self.maintenance4)
            .push_next(&mut self.subgroups)
            .push_next(&mut self.subgroup_sizes);
        if extensions.contains("VK_KHR_push_descriptor") {
            properties = properties.push_next(&mut self.push_descriptor);
        }
        if extensions.contains("VK_EXT_external_memory_host") {
            properties = properties.push_next(&mut self.host_memory);
        }
        if extensions.contains("VK_EXT_robustness2") {
            properties = properties.push_next(&mut self.bounds);
        }
        if extensions.contains(PCI_BUS_INFO) {
            properties = properties.push_next(&mut self.pci);
        }
        // SAFETY: `device` belongs to `instance`; every chained structure is known to a 1.3 device or to an extension
        // that it has.
        unsafe { instance.get_physical_device_properties2(device, &mut properties) };
        self.features = Features::read(
            |name| extensions.contains(name),
            // SAFETY: `device` belongs to `instance`; the chain holds structures of Vulkan 1.3 and of extensions that
            // the device has.
            |chain| unsafe { instance.get_physical_device_features2(device, chain) },
        );
        if self.driver.driver_id == vk::DriverId::GOOGLE_SWIFTSHADER {
            // SwiftShader lists the feature, and ends the process where the length of a buffer is asked for that a
            // computed index picks (5.0.0, 2026-11-26).
            self.features.storage_arrays_dynamic = false;
        }
    }

    fn subgroup(&self) -> Subgroup {
        Subgroup {
            size: self.subgroups.subgroup_size,
            min_size: self.subgroup_sizes.min_subgroup_size,
            max_size: self.subgroup_sizes.max_subgroup_size,
            required_in_compute: self
                .subgroup_sizes
                .required_subgroup_size_stages
                .contains(vk::ShaderStageFlags::COMPUTE),
            max_in_workgroup: self.subgroup_sizes.max_compute_workgroup_subgroups,
            in_compute: self.subgroups.supported_stages.contains(vk::ShaderStageFlags::COMPUTE),
            operations: self.subgroups.supported_operations.as_raw(),
        }
    }
}

fn limits(base: &vk::PhysicalDeviceLimits, facts: &QueriedStructs) -> DeviceLimits {
    DeviceLimits {
        max_compute_work_group_count: base.max_compute_work_group_count,
        max_compute_work_group_size: base.max_compute_work_group_size,
        max_compute_work_group_invocations: base.max_compute_work_group_invocations,
        max_compute_shared_memory_size: base.max_compute_shared_memory_size,
        max_push_constants_size: base.max_push_constants_size,
        max_storage_buffer_range: base.max_storage_buffer_range,
        max_uniform_buffer_range: base.max_uniform_buffer_range,
        max_bound_descriptor_sets: base.max_bound_descriptor_sets,
        max_per_stage_descriptor_storage_buffers: base.max_per_stage_descriptor_storage_buffers,
        max_per_stage_descriptor_uniform_buffers: base.max_per_stage_descriptor_uniform_buffers,
        max_push_descriptors: facts.push_descriptor.max_push_descriptors,
        min_storage_buffer_offset_alignment: base.min_storage_buffer_offset_alignment,
        min_uniform_buffer_offset_alignment: base.min_uniform_buffer_offset_alignment,
        non_coherent_atom_size: base.non_coherent_atom_size,
        max_memory_allocation_size: facts.maintenance3.max_memory_allocation_size,
        max_memory_allocation_count: base.max_memory_allocation_count,
        max_buffer_size: facts.maintenance4.max_buffer_size,
        min_imported_host_pointer_alignment: facts.host_memory.min_imported_host_pointer_alignment,
        robust_storage_buffer_access_size_alignment: facts.bounds.robust_storage_buffer_access_size_alignment,
        timestamp_period_ns: base.timestamp_period,
    }
}

fn extensions(instance: &ash::Instance, device: vk::PhysicalDevice) -> Result<BTreeSet<String>> {
    // SAFETY: `device` was enumerated from this live `instance`.
    let listed = unsafe { instance.enumerate_device_extension_properties(device) }
        .map_err(Error::from_call("vkEnumerateDeviceExtensionProperties"))?;
    Ok(listed.iter().map(|e| text(&e.extension_name)).collect())
}

fn heaps(instance: &ash::Instance, device: vk::PhysicalDevice) -> Vec<Heap> {
    // SAFETY: `device` was enumerated from this live `instance`.
    let memory = unsafe { instance.get_physical_device_memory_properties(device) };
    let heap = |h: &vk::MemoryHeap| Heap {
        size: h.size,
        device_local: h.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
        multi_instance: h.flags.contains(vk::MemoryHeapFlags::MULTI_INSTANCE),
    };
    memory.memory_heaps_as_slice().iter().map(heap).collect()
}

fn memory_types(instance: &ash::Instance, device: vk::PhysicalDevice) -> Vec<MemoryType> {
    use vk::MemoryPropertyFlags as F;
    // SAFETY: `device` was enumerated from this live `instance`.
    let memory = unsafe { instance.get_physical_device_memory_properties(device) };
    let special = F::PROTECTED | F::LAZILY_ALLOCATED | F::DEVICE_COHERENT_AMD | F::DEVICE_UNCACHED_AMD;
    let kind = |t: &vk::MemoryType| MemoryType {
        heap: t.heap_index,
        device_local: t.property_flags.contains(F::DEVICE_LOCAL),
        host_visible: t.property_flags.contains(F::HOST_VISIBLE),
        host_coherent: t.property_flags.contains(F::HOST_COHERENT),
        host_cached: t.property_flags.contains(F::HOST_CACHED),
        special: t.property_flags.intersects(special),
    };
    memory.memory_types_as_slice().iter().map(kind).collect()
}

fn queue_families(instance: &ash::Instance, device: vk::PhysicalDevice) -> Vec<QueueFamily> {
    use vk::QueueFlags as F;
    // SAFETY: `device` was enumerated from this live `instance`.
    let families = unsafe { instance.get_physical_device_queue_family_properties(device) };
    let family = |q: &vk::QueueFamilyProperties| QueueFamily {
        count: q.queue_count,
        graphics: q.queue_flags.contains(F::GRAPHICS),
        compute: q.queue_flags.contains(F::COMPUTE),
        transfer: q.queue_flags.intersects(F::TRANSFER | F::COMPUTE | F::GRAPHICS),
        timestamp_valid_bits: q.timestamp_valid_bits,
    };
    families.iter().map(family).collect()
}

fn device_type(raw: vk::PhysicalDeviceType) -> DeviceType {
    match raw {
        vk::PhysicalDeviceType::DISCRETE_GPU => DeviceType::Discrete,
        vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceType::Integrated,
        vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceType::Virtual,
        vk::PhysicalDeviceType::CPU => DeviceType::Cpu,
        _ => DeviceType::Other,
    }
}

fn version(raw: u32) -> Version {
    Version { major: vk::api_version_major(raw), minor: vk::api_version_minor(raw), patch: vk::api_version_patch(raw) }
}

/// Decodes a fixed-size, NUL-terminated array; without a terminator the whole array is the text.
fn text(raw: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = raw.iter().map(|&c| c.to_ne_bytes()[0]).collect();
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
