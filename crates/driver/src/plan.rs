//! From what a device says to how it is opened: queues, extensions, features. Pure.
//!
//! [`Plan::new`] refuses a device with a sentence for the user. `device.rs` carries a plan out.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::snapshot::{DeviceInfo, Features, QueueFamily, Version};

/// The Vulkan version a device must speak. Timeline semaphores and `vkQueueSubmit2` are core there.
pub const MINIMUM_VERSION: Version = Version { major: 1, minor: 3, patch: 0 };

/// Extensions the runtime uses where a device has them; none is needed.
const USEFUL_EXTENSIONS: [&str; 4] = [
    "VK_KHR_push_descriptor",
    "VK_EXT_memory_budget",
    "VK_EXT_external_memory_host",
    // A device that lists it must have it enabled.
    "VK_KHR_portability_subset",
];

/// How a device is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The family that runs kernels and copies.
    pub compute_family: u32,
    /// Extensions to enable.
    pub extensions: Vec<String>,
    /// Features to enable.
    pub features: Features,
    /// Whether arguments are bound with push descriptors; else from descriptor pools.
    pub push_descriptors: bool,
}

impl Plan {
    /// Plans how to open `device`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] with the first thing the device lacks.
    pub fn new(device: &DeviceInfo) -> Result<Self> {
        let lacks = |reason: String| Error::Unsuitable { device: device.name.clone(), reason };
        if device.api_version < MINIMUM_VERSION {
            return Err(lacks(format!(
                "it speaks Vulkan {}, and {} or later is needed",
                device.api_version, MINIMUM_VERSION
            )));
        }
        if !device.features.timeline_semaphore {
            return Err(lacks("it has no timeline semaphores".to_owned()));
        }
        if !device.features.synchronization2 {
            return Err(lacks("it has no synchronization2".to_owned()));
        }
        let compute_family =
            compute_family(&device.queue_families).ok_or_else(|| lacks("it has no compute queue".to_owned()))?;
        let extensions: Vec<String> =
            USEFUL_EXTENSIONS.iter().filter(|name| device.has_extension(name)).map(|name| (*name).to_owned()).collect();
        Ok(Self {
            compute_family,
            push_descriptors: device.has_extension("VK_KHR_push_descriptor") && device.limits.max_push_descriptors > 0,
            extensions,
            features: device.features,
        })
    }
}

/// A family without graphics first: on an H100 a submit and wait there takes 30 µs, against 44 with graphics.
fn compute_family(families: &[QueueFamily]) -> Option<u32> {
    let usable = |f: &QueueFamily| f.compute && f.count > 0;
    let position =
        families.iter().position(|f| usable(f) && !f.graphics).or_else(|| families.iter().position(usable))?;
    u32::try_from(position).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(graphics: bool, compute: bool, count: u32) -> QueueFamily {
        QueueFamily { count, graphics, compute, transfer: true, timestamp_valid_bits: 64 }
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
