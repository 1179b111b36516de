//! How a device is opened: with which queues, extensions and features. Pure.
//!
//! [`DevicePlan::new`] makes the plan, or refuses the device with a message for the user. `vulkan/create.rs` carries a
//! plan out.

use serde::{Deserialize, Serialize};

use super::{DeviceInfo, Features, QueueFamily, Version, features};
use crate::error::Result;

/// The Vulkan version that a device must support. Timeline semaphores and `vkQueueSubmit2` are core in this version.
pub(super) const MINIMUM_VERSION: Version = Version { major: 1, minor: 3, patch: 0 };

/// The extension of the rotation of values in a subgroup.
pub(super) const SUBGROUP_ROTATE: &str = "VK_KHR_shader_subgroup_rotate";

/// The extension of `bf16` in shaders.
pub(super) const BFLOAT16: &str = "VK_KHR_shader_bfloat16";

/// Extensions that the runtime uses where a device has them, beside those of features; none is required.
const USEFUL_EXTENSIONS: [&str; 7] = [
    "VK_KHR_push_descriptor",
    "VK_EXT_memory_budget",
    "VK_EXT_external_memory_host",
    EXTERNAL_MEMORY_FD,
    EXTERNAL_SEMAPHORE_FD,
    "VK_EXT_calibrated_timestamps",
    // Vulkan requires that a device which lists this extension is created with it.
    "VK_KHR_portability_subset",
];

/// The extension for memory as file descriptors.
pub(super) const EXTERNAL_MEMORY_FD: &str = "VK_KHR_external_memory_fd";

/// The extension for semaphores as file descriptors.
pub(super) const EXTERNAL_SEMAPHORE_FD: &str = "VK_KHR_external_semaphore_fd";

pub(crate) const COOPERATIVE_MATRIX: &str = "VK_KHR_cooperative_matrix";

/// The most compute queues that are created. Further streams share them, since a GPU runs few queues at once and each
/// costs the driver a channel.
const MAX_COMPUTE_QUEUES: u32 = 4;

/// The most transfer queues that are created: one for each direction.
const MAX_TRANSFER_QUEUES: u32 = 2;

/// Queues of one family, which are created with the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlan {
    /// The number of the queue family.
    pub family: u32,
    /// How many queues of the family are created.
    pub count: u32,
}

/// What a program requires of a device beyond the minimum.
///
/// ```
/// use vkarray_driver::{Device, DeviceRequest, Instance};
///
/// # fn main() -> Result<(), vkarray_driver::Error> {
/// let request = DeviceRequest { max_compute_queues: 1, ..DeviceRequest::default() };
/// let devices = Instance::new()?.devices()?;
/// let device = Device::open_with(&devices[0], &request)?;
/// assert_eq!(device.plan().compute.count, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRequest {
    /// Features that the device must have.
    pub features: Features,
    /// Extensions that the device must have. They are enabled.
    pub extensions: Vec<String>,
    /// Extensions that are not enabled even where the runtime could use them.
    pub without: Vec<String>,
    /// The most compute queues to create; 0 leaves the choice to the plan.
    pub max_compute_queues: u32,
}

/// How a device is opened.
///
/// ```
/// use vkarray_driver::{DevicePlan, DeviceRequest, Instance};
///
/// # fn main() -> Result<(), vkarray_driver::Error> {
/// let devices = Instance::new()?.devices()?;
/// let plan = DevicePlan::new(devices[0].info(), &DeviceRequest::default())?; // Opens nothing.
/// assert!(plan.families().contains(&plan.compute.family));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePlan {
    /// The queues that run kernels and copies. Streams are distributed over them.
    pub compute: QueuePlan,
    /// The queues that run large copies at the same time as compute work; `None` if the device has no such queues or
    /// shares its memory with the host.
    pub transfer: Option<QueuePlan>,
    /// Extensions to enable.
    pub extensions: Vec<String>,
    /// Features to enable.
    pub features: Features,
    /// Whether arguments are bound with push descriptors. Otherwise they are bound with sets from descriptor pools.
    pub push_descriptors: bool,
}

impl DevicePlan {
    /// Plans how to open `device` for `request`. Optional features and extensions that the runtime can use are enabled
    /// where the device has them.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`](crate::Error::Unsuitable) with the first feature, extension, version or queue that the
    /// device lacks.
    pub fn new(device: &DeviceInfo, request: &DeviceRequest) -> Result<Self> {
        check_support(device, &request.features, &device.features, "it does not have the feature")?;
        if let Some(missing) = request.extensions.iter().find(|name| !device.has_extension(name)) {
            return Err(device.unsuitable(format!("it does not have the extension {missing}")));
        }
        let compute = compute_family(&device.queue_families);
        let compute = compute.ok_or_else(|| device.unsuitable("it has no compute queue"))?;
        let has = |name: &str| device.has_extension(name) && !request.without.iter().any(|without| without == name);
        let useful = USEFUL_EXTENSIONS.iter().chain(features::EXTENSIONS).filter(|name| has(name));
        let mut extensions = request.extensions.clone();
        extensions.extend(useful.map(|name| (*name).to_owned()).filter(|name| !request.extensions.contains(name)));
        let enabled = |name: &str| extensions.iter().any(|extension| extension == name);
        let most = if request.max_compute_queues == 0 { MAX_COMPUTE_QUEUES } else { request.max_compute_queues };
        Ok(Self {
            compute: QueuePlan { family: compute, count: count(device, compute).min(most) },
            transfer: transfer(device),
            push_descriptors: has("VK_KHR_push_descriptor") && device.limits.max_push_descriptors > 0,
            features: device.features.enabled_with(enabled),
            extensions,
        })
    }

    /// The queues of each family: the compute queues first, then the transfer queues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = QueuePlan> {
        std::iter::once(self.compute).chain(self.transfer)
    }

    /// The families whose queues share memory.
    pub fn families(&self) -> Vec<u32> {
        self.queues().map(|queues| queues.family).collect()
    }
}

/// Refuses a device without Vulkan 1.3, or without a feature in `needed` or of the runtime's own that `available`
/// lacks.
pub(crate) fn check_support(device: &DeviceInfo, needed: &Features, available: &Features, without: &str) -> Result<()> {
    let needed = Features { timeline_semaphore: true, synchronization2: true, ..*needed };
    let (version, missing) = (device.api_version, needed.missing_from(available));
    let reason = match missing {
        _ if version < MINIMUM_VERSION => {
            format!("it speaks Vulkan {version}, and {MINIMUM_VERSION} or later is needed")
        }
        Some(missing) => format!("{without} {missing}"),
        None => return Ok(()),
    };
    Err(device.unsuitable(reason))
}

/// The family for compute work. A family without graphics is preferred: on an H100 a submission and a wait take 30 µs
/// there, against 44 µs on a family with graphics.
fn compute_family(families: &[QueueFamily]) -> Option<u32> {
    let usable = |f: &QueueFamily| f.compute && f.count > 0;
    let position =
        families.iter().position(|f| usable(f) && !f.graphics).or_else(|| families.iter().position(usable))?;
    u32::try_from(position).ok()
}

/// The queues for copies alone. A device that shares its memory with the host gets none, since copies at the same time
/// as compute work gain nothing there.
fn transfer(device: &DeviceInfo) -> Option<QueuePlan> {
    let has_own_memory = device.memory_types.iter().any(|kind| kind.device_local && !kind.host_visible);
    let only_copies = |f: &QueueFamily| f.transfer && !f.compute && !f.graphics && f.count > 0;
    let position = device.queue_families.iter().position(only_copies).filter(|_| has_own_memory)?;
    let family = u32::try_from(position).ok()?;
    Some(QueuePlan { family, count: count(device, family).min(MAX_TRANSFER_QUEUES) })
}

fn count(device: &DeviceInfo, family: u32) -> u32 {
    device.queue_families[family as usize].count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::machine;

    fn family(graphics: bool, compute: bool, count: u32) -> QueueFamily {
        QueueFamily { count, graphics, compute, transfer: true, timestamp_valid_bits: 64 }
    }

    fn queues(family: u32, count: u32) -> QueuePlan {
        QueuePlan { family, count }
    }

    #[test]
    fn real_machines_get_the_queues_meant() {
        // Machine, compute, transfer, push descriptors.
        let cases = [
            ("lavapipe_22.3.6", queues(0, 1), None, true), // One queue for everything, memory shared with the host.
            ("swiftshader_5.0.0", queues(0, 1), None, false), // Likewise, and descriptors come from pools.
            ("h100_580.159", queues(2, 4), Some(queues(1, 2)), true), // Compute without graphics, copies beside it.
        ];
        for (name, compute, transfer, push_descriptors) in cases {
            let plan = DevicePlan::new(&machine(name), &DeviceRequest::default()).expect(name);
            assert_eq!((plan.compute, plan.transfer), (compute, transfer), "{name}");
            assert_eq!(plan.push_descriptors, push_descriptors, "{name}");
        }
    }

    #[test]
    fn what_is_asked_for_and_missing_is_an_error() {
        let device = machine("swiftshader_5.0.0");
        let feature = DeviceRequest {
            features: Features { shader_float64: true, ..Features::default() },
            ..DeviceRequest::default()
        };
        let extension =
            DeviceRequest { extensions: vec!["VK_EXT_memory_budget".to_owned()], ..DeviceRequest::default() };
        let mut old = device.clone();
        old.api_version = Version { major: 1, minor: 2, patch: 999 };
        let mut mute = device.clone();
        mute.queue_families.clear();
        // Device, request, message.
        let name = "SwiftShader Device (Subzero) cannot be used: ";
        let cases = [
            (&device, &feature, "it does not have the feature shader_float64"),
            (&device, &extension, "it does not have the extension VK_EXT_memory_budget"),
            (&old, &DeviceRequest::default(), "it speaks Vulkan 1.2.999, and 1.3.0 or later is needed"),
            (&mute, &DeviceRequest::default(), "it has no compute queue"),
        ];
        for (device, request, message) in cases {
            let refused = DevicePlan::new(device, request).expect_err(message);
            assert_eq!(refused.to_string(), format!("{name}{message}"));
        }
    }

    #[test]
    fn what_is_useful_is_used_and_what_is_asked_for_is_enabled_once() {
        let device = machine("lavapipe_22.3.6");
        let asked = |name: &str| DeviceRequest { extensions: vec![name.to_owned()], ..DeviceRequest::default() };
        let plan = DevicePlan::new(&device, &asked("VK_KHR_push_descriptor")).expect("lavapipe has it");
        assert_eq!(
            plan.extensions,
            [
                "VK_KHR_push_descriptor",
                "VK_EXT_external_memory_host",
                "VK_KHR_external_memory_fd",
                "VK_EXT_calibrated_timestamps",
                "VK_EXT_robustness2",
                "VK_EXT_shader_atomic_float",
                "VK_EXT_shader_atomic_float2",
                "VK_KHR_shader_clock",
            ]
        );
        assert!(plan.features.shader_float64);
        let push = "VK_KHR_push_descriptor".to_owned();
        let plan = DevicePlan::new(&device, &DeviceRequest { without: vec![push.clone()], ..DeviceRequest::default() })
            .expect("less");
        assert!(!plan.push_descriptors && !plan.extensions.contains(&push));
    }

    #[test]
    fn compute_family_avoids_graphics_where_it_can() {
        let cases: &[(&[QueueFamily], Option<u32>)] = &[
            (&[], None),
            (&[family(true, true, 1)], Some(0)), // CPU drivers: one family for all.
            (&[family(true, true, 16), family(false, false, 2), family(false, true, 8)], Some(2)), // H100.
            (&[family(false, false, 1)], None),  // Transfer only.
            (&[family(false, true, 0), family(true, true, 1)], Some(1)), // A family of no queues.
        ];
        for (families, expected) in cases {
            assert_eq!(compute_family(families), *expected, "{families:?}");
        }
    }
}
