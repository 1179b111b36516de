//! A device's properties, limits and features as plain data.
//!
//! A [`DeviceInfo`] is immutable, comparable and serialisable. Which device, queues and memory types the runtime uses are
//! pure functions of it, which are tested on recorded snapshots of real machines. `query.rs` fills it in; `plan.rs` and
//! `select.rs` read it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DriverFault, External, Features, MatrixShape};

/// The kind of a device, as in `VkPhysicalDeviceType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceType {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares the host's memory.
    Integrated,
    /// A GPU behind a virtualisation layer.
    Virtual,
    /// A driver that runs on the processor.
    Cpu,
    /// Anything else.
    Other,
}

crate::display_texts!(DeviceType {
    Discrete: "discrete",
    Integrated: "integrated",
    Virtual: "virtual",
    Cpu: "cpu",
    Other: "other",
});

/// A Vulkan version without its variant.
///
/// ```
/// use vkarray_driver::Version;
///
/// let version = Version { major: 1, minor: 3, patch: 0 };
/// assert!(version < Version { major: 1, minor: 4, patch: 0 });
/// assert_eq!(version.to_string(), "1.3.0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Patch number.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The driver behind a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverInfo {
    /// `VkDriverId`, as a number.
    pub id: i32,
    /// The driver's name.
    pub name: String,
    /// The driver's own description, often its version.
    pub info: String,
    /// The packed version, in the vendor's own scheme.
    pub version: u32,
    /// Identifies the driver's build: two drivers with the same bytes agree on binary formats.
    pub uuid: String,
}

/// The limits the runtime reads. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Workgroups in one dispatch, for each axis.
    pub max_compute_work_group_count: [u32; 3],
    /// Invocations in one workgroup, for each axis.
    pub max_compute_work_group_size: [u32; 3],
    /// Invocations in one workgroup, in all.
    pub max_compute_work_group_invocations: u32,
    /// Workgroup (shared) memory of one workgroup.
    pub max_compute_shared_memory_size: u32,
    /// Push-constant bytes.
    pub max_push_constants_size: u32,
    /// Bytes one storage-buffer binding can reach.
    pub max_storage_buffer_range: u32,
    /// Bytes one uniform-buffer binding can reach.
    pub max_uniform_buffer_range: u32,
    /// Descriptor sets (WGSL: groups) one kernel can bind.
    pub max_bound_descriptor_sets: u32,
    /// Storage buffers one shader stage can bind.
    pub max_per_stage_descriptor_storage_buffers: u32,
    /// Uniform buffers one shader stage can bind.
    pub max_per_stage_descriptor_uniform_buffers: u32,
    /// Descriptors one push-descriptor set can hold; 0 without the extension.
    pub max_push_descriptors: u32,
    /// A storage-buffer binding starts at a multiple of this.
    pub min_storage_buffer_offset_alignment: u64,
    /// A uniform-buffer binding starts at a multiple of this.
    pub min_uniform_buffer_offset_alignment: u64,
    /// Flushes and invalidations of non-coherent memory are multiples of this.
    pub non_coherent_atom_size: u64,
    /// The largest single allocation the driver promises.
    pub max_memory_allocation_size: u64,
    /// Allocations that may live at once.
    pub max_memory_allocation_count: u32,
    /// The largest buffer.
    pub max_buffer_size: u64,
    /// Imported host memory starts and ends at multiples of this; 0 without the extension.
    pub min_imported_host_pointer_alignment: u64,
    /// Ranges of storage buffers are rounded up to a multiple of this where out-of-range accesses are found by
    /// `robustBufferAccess2`; 0 without.
    pub robust_storage_buffer_access_size_alignment: u64,
    /// Nanoseconds a timestamp tick lasts; 0 where there are no timestamps.
    pub timestamp_period_ns: f32,
}

/// Subgroup properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subgroup {
    /// Invocations in a subgroup, by default.
    pub size: u32,
    /// The smallest size that can be required.
    pub min_size: u32,
    /// The largest size that can be required.
    pub max_size: u32,
    /// Whether compute shaders can require a size.
    #[serde(default)] // As for features.
    pub required_in_compute: bool,
    /// The most subgroups that a workgroup of a required size has.
    #[serde(default)]
    pub max_in_workgroup: u32,
    /// Whether compute shaders have subgroup operations at all.
    pub in_compute: bool,
    /// `VkSubgroupFeatureFlags`, as bits.
    pub operations: u32,
}

/// A memory heap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// Size in bytes.
    pub size: u64,
    /// Whether it is the device's own memory.
    pub device_local: bool,
    /// Whether each device of a group has an instance of its own (`VK_MEMORY_HEAP_MULTI_INSTANCE_BIT`).
    #[serde(default)] // As for features.
    pub multi_instance: bool,
}

/// A memory type: a heap and how it is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryType {
    /// The heap it allocates from.
    pub heap: u32,
    /// Fast for the device.
    pub device_local: bool,
    /// The host can map it.
    pub host_visible: bool,
    /// Host and device see each other's writes without flushes.
    pub host_coherent: bool,
    /// Host reads are cached, so fast.
    pub host_cached: bool,
    /// Protected, lazily allocated or otherwise special memory, which arrays do not use.
    pub special: bool,
}

/// A queue family.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueFamily {
    /// How many queues it has.
    pub count: u32,
    /// Takes graphics work.
    pub graphics: bool,
    /// Takes compute work.
    pub compute: bool,
    /// Takes copies, as compute and graphics families always do.
    pub transfer: bool,
    /// Meaningful bits of its timestamps; 0 for none.
    pub timestamp_valid_bits: u32,
}

/// Everything that the runtime reads of one device.
///
/// ```
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let info = device.info();
/// assert!(info.limits.max_compute_work_group_invocations >= 128); // Vulkan's minimum.
/// assert!(info.features.timeline_semaphore);
/// println!("{}: {} MiB", info.name, info.device_memory_bytes() >> 20);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The device's name.
    pub name: String,
    /// Its kind.
    pub device_type: DeviceType,
    /// PCI vendor, or a Khronos vendor id.
    pub vendor_id: u32,
    /// The vendor's own device id.
    pub device_id: u32,
    /// The Vulkan version that the device supports.
    pub api_version: Version,
    /// Its driver.
    pub driver: DriverInfo,
    /// Identifies the device across processes and restarts, as 32 hexadecimal digits.
    pub uuid: String,
    /// Limits.
    pub limits: Limits,
    /// Features.
    pub features: Features,
    /// Subgroups.
    pub subgroup: Subgroup,
    /// Memory heaps.
    pub memory_heaps: Vec<Heap>,
    /// Memory types, in the driver's order of preference.
    pub memory_types: Vec<MemoryType>,
    /// Queue families.
    pub queue_families: Vec<QueueFamily>,
    /// Device extensions.
    pub extensions: BTreeSet<String>,
    /// The cooperative matrices that compute kernels multiply, in the driver's order.
    #[serde(default)] // As for features.
    pub matrix_shapes: Vec<MatrixShape>,
    /// What it shares with other devices, processes and APIs.
    #[serde(default)]
    pub external: External,
}

impl DeviceInfo {
    /// Whether the device lists the extension.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// println!("push descriptors: {}", device.info().has_extension("VK_KHR_push_descriptor"));
    /// assert!(!device.info().has_extension("VK_NO_such_extension"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.contains(name)
    }

    /// What its driver is known to compute wrong. The kernels of vkarray avoid it; kernels of a program can meet it.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// for fault in device.info().known_faults() {
    ///     println!("{fault}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn known_faults(&self) -> impl Iterator<Item = &'static DriverFault> + use<> {
        DriverFault::of(self.driver.id, &self.driver.info)
    }

    /// Bytes of the device's own memory: the largest device-local heap, or the largest heap where there is none.
    pub fn device_memory_bytes(&self) -> u64 {
        let largest = |local: bool| self.memory_heaps.iter().filter(|h| h.device_local == local).map(|h| h.size).max();
        largest(true).or_else(|| largest(false)).unwrap_or(0)
    }
}

/// The recorded snapshot of a real machine, as `vkarray devices --json` prints it.
#[cfg(test)]
pub(crate) fn machine(name: &str) -> DeviceInfo {
    let path = format!("{}/../../tests/snapshots/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_those_of_the_driver_and_its_version() {
        let n_faults = |name, info: &str| {
            let mut device = machine(name);
            device.driver.info = info.to_owned();
            device.known_faults().count()
        };
        for (name, info, expected) in [
            ("lavapipe_22.3.6", "Mesa 22.3.6 (LLVM 15.0.6)", 3),
            ("lavapipe_22.3.6", "Mesa 24.3.4 (LLVM 19.1.7)", 3), // Not known to be right.
            ("lavapipe_22.3.6", "Mesa 25.0.7 (LLVM 15.0.6)", 0),
            ("lavapipe_22.3.6", "", 0),
            ("h100_580.159", "580.159.04", 2),
            ("h100_580.159", "590.1", 0),
            ("swiftshader_5.0.0", "", 0),
        ] {
            assert_eq!(n_faults(name, info), expected, "{name} {info}");
        }
    }
}
