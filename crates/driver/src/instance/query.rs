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
    // SAFETY: `device` was enumerated from this live `instance`.
    let memory = unsafe { instance.get_physical_device_memory_properties(device) };
    let api_version = version(base.api_version);
    let mut facts = QueriedStructs { limits: base.limits, ..QueriedStructs::default() };
    let mut external = External::default();
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
        limits: DeviceLimits::read(&facts),
        features: facts.features,
        subgroup: facts.subgroup(),
        memory_heaps: memory.memory_heaps_as_slice().iter().map(heap).collect(),
        memory_types: memory.memory_types_as_slice().iter().map(memory_type).collect(),
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

/// The limits of Vulkan 1.0, and the structures of Vulkan 1.3 and its extensions, as the driver fills them.
#[derive(Default)]
pub(super) struct QueriedStructs {
    pub(super) limits: vk::PhysicalDeviceLimits,
    driver: vk::PhysicalDeviceDriverProperties<'static>,
    id: vk::PhysicalDeviceIDProperties<'static>,
    pub(super) maintenance3: vk::PhysicalDeviceMaintenance3Properties<'static>,
    pub(super) maintenance4: vk::PhysicalDeviceMaintenance4Properties<'static>,
    pub(super) push_descriptor: vk::PhysicalDevicePushDescriptorPropertiesKHR<'static>,
    pub(super) host_memory: vk::PhysicalDeviceExternalMemoryHostPropertiesEXT<'static>,
    subgroups: vk::PhysicalDeviceSubgroupProperties<'static>,
    subgroup_sizes: vk::PhysicalDeviceSubgroupSizeControlProperties<'static>,
    pub(super) bounds: vk::PhysicalDeviceRobustness2PropertiesEXT<'static>,
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

fn extensions(instance: &ash::Instance, device: vk::PhysicalDevice) -> Result<BTreeSet<String>> {
    // SAFETY: `device` was enumerated from this live `instance`.
    let listed = unsafe { instance.enumerate_device_extension_properties(device) }
        .map_err(Error::from_call("vkEnumerateDeviceExtensionProperties"))?;
    Ok(listed.iter().map(|e| text(&e.extension_name)).collect())
}

fn heap(raw: &vk::MemoryHeap) -> Heap {
    Heap {
        size: raw.size,
        device_local: raw.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
        multi_instance: raw.flags.contains(vk::MemoryHeapFlags::MULTI_INSTANCE),
    }
}

fn memory_type(raw: &vk::MemoryType) -> MemoryType {
    use vk::MemoryPropertyFlags as F;
    let flags = raw.property_flags;
    MemoryType {
        heap: raw.heap_index,
        device_local: flags.contains(F::DEVICE_LOCAL),
        host_visible: flags.contains(F::HOST_VISIBLE),
        host_coherent: flags.contains(F::HOST_COHERENT),
        host_cached: flags.contains(F::HOST_CACHED),
        special: flags.intersects(F::PROTECTED | F::LAZILY_ALLOCATED | F::DEVICE_COHERENT_AMD | F::DEVICE_UNCACHED_AMD),
    }
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
