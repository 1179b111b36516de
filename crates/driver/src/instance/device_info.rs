//! A device's properties, limits and features as plain data.
//!
//! A [`DeviceInfo`] is immutable, comparable and serialisable. The choice of the device, its queues and its memory
//! types are pure functions of it, which are tested on recorded snapshots of real machines. `query.rs` reads it from
//! the driver; `plan.rs` and `select.rs` use it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DeviceLimits, DriverFault, External, Features, MatrixShape};
use crate::error::Error;

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
    /// The driver's version, packed as the vendor does it.
    pub version: u32,
    /// Identifies the build of the driver. Two drivers with the same UUID agree on binary formats.
    pub uuid: String,
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
    #[serde(default)] // A snapshot may be older than the field.
    pub required_in_compute: bool,
    /// The most subgroups that a workgroup of a required size has.
    #[serde(default)]
    pub max_in_workgroup: u32,
    /// Whether compute shaders have any subgroup operations.
    pub in_compute: bool,
    /// `VkSubgroupFeatureFlags`, as bits.
    pub operations: u32,
}

/// A memory heap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// Size in bytes.
    pub size: u64,
    /// Whether the heap is the device's own memory.
    pub device_local: bool,
    /// Whether each device of a group has its own instance of the heap (`VK_MEMORY_HEAP_MULTI_INSTANCE_BIT`).
    #[serde(default)] // A snapshot may be older than the field.
    pub multi_instance: bool,
}

/// A memory type: a heap, and who can access memory of this type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryType {
    /// The number of the heap that memory of this type comes from.
    pub heap: u32,
    /// Whether the device accesses it fast.
    pub device_local: bool,
    /// Whether the host can map it.
    pub host_visible: bool,
    /// Whether host and device see each other's writes without flushes.
    pub host_coherent: bool,
    /// Whether host reads are cached, and therefore fast.
    pub host_cached: bool,
    /// Whether it is protected, lazily allocated or otherwise special memory, which arrays do not use.
    pub special: bool,
}

/// A queue family.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueFamily {
    /// The number of queues in the family.
    pub count: u32,
    /// Whether the family takes graphics work.
    pub graphics: bool,
    /// Whether the family takes compute work.
    pub compute: bool,
    /// Whether the family takes copies, which compute and graphics families always do.
    pub transfer: bool,
    /// The number of meaningful bits in the family's timestamps; 0 where it has none.
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
    /// The kind of the device.
    pub device_type: DeviceType,
    /// The vendor's PCI id, or a Khronos vendor id.
    pub vendor_id: u32,
    /// The vendor's id of the device.
    pub device_id: u32,
    /// The Vulkan version that the device supports.
    pub api_version: Version,
    /// The driver of the device.
    pub driver: DriverInfo,
    /// Identifies the device across processes and restarts, as 32 hexadecimal digits.
    pub uuid: String,
    /// The device's address on the PCI bus, such as `0000:c1:00.0`: domain, bus, device and function. `None` where the driver
    /// does not tell it.
    #[serde(default)] // A snapshot may be older than the field.
    pub pci_address: Option<String>,
    /// The device's limits.
    pub limits: DeviceLimits,
    /// The features that the device supports.
    pub features: Features,
    /// The device's subgroup properties.
    pub subgroup: Subgroup,
    /// The device's memory heaps.
    pub memory_heaps: Vec<Heap>,
    /// The device's memory types, in the driver's order of preference.
    pub memory_types: Vec<MemoryType>,
    /// The device's queue families.
    pub queue_families: Vec<QueueFamily>,
    /// The names of the extensions that the device supports.
    pub extensions: BTreeSet<String>,
    /// The cooperative matrices that compute kernels can multiply, in the driver's order.
    #[serde(default)]
    pub matrix_shapes: Vec<MatrixShape>,
    /// What the device shares with other devices, processes and APIs.
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

    /// The known faults of the device's driver. The kernels of vkarray avoid them; kernels of a program may meet them.
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

    /// The error that the device cannot be used for this reason.
    pub(crate) fn unsuitable(&self, reason: impl Into<String>) -> Error {
        Error::Unsuitable { device: self.name.clone(), reason: reason.into() }
    }

    /// The bytes of the device's own memory: of the largest device-local heap or, without one, of the largest heap.
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
