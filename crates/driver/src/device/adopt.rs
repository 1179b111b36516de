//! Using a device that other code opened: a renderer, a test, another library.
//!
//! This library never destroys an adopted device. [`DevicePlan`]s are made in `instance/plan.rs` for devices that this
//! library opens; the plan of an adopted device follows from what its owner enabled, in the pure function at the end.
//! Instances are adopted in `instance/mod.rs`; streams on one adopted queue are in `stream/external.rs`.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ash::vk;

use super::Device;
use crate::error::{Error, Result};
use crate::instance::{DeviceInfo, DevicePlan, Features, PhysicalDevice, QueuePlan, check_support};
use crate::vulkan::{LogicalDevice, Queue, QueueLock};

/// A queue of another library's device, to submit to.
#[derive(Debug, Clone)]
pub struct ExternalQueue {
    /// The handle.
    pub raw: vk::Queue,
    /// The family it was created in.
    pub family: u32,
    /// The lock that each side holds while it uses the queue; `None` if this library alone uses it from now on.
    pub lock: Option<QueueLock>,
}

/// A device that other code opened, and what was enabled with it.
pub struct Adopted {
    /// The listed device that `device` was created from; see [`Instance::devices`](crate::Instance::devices).
    pub physical: PhysicalDevice,
    /// The function table and handle of the device.
    pub device: ash::Device,
    /// The queues to use. The queues for kernels are of one family; queues for copies alone are of one other family.
    pub queues: Vec<ExternalQueue>,
    /// The names of the extensions that were enabled with the device.
    pub extensions: Vec<String>,
    /// The features that were enabled with the device.
    pub features: Features,
}

impl Device {
    /// Uses a device that other code opened. This library never destroys the device, and waits only for the given
    /// queues.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the device is older than Vulkan 1.3, if a feature that the runtime needs is not
    /// enabled, or if no given queue runs kernels.
    ///
    /// # Safety
    ///
    /// - `device` was created from `physical`, `queues` from `device`, in the families named.
    /// - `extensions` and `features` were enabled with it, and `maintenance4` too.
    /// - No other code uses a queue without a lock until the returned device is gone. Other code uses a queue with a
    ///   lock only while it holds the lock. This library uses the queues from any thread, at any time.
    /// - `device` lives until the returned device and everything made from it are gone: [`Device::close`] makes sure.
    pub unsafe fn adopt(adopted: Adopted) -> Result<Arc<Self>> {
        let Adopted { physical, device, mut queues, extensions, features } = adopted;
        let families: Vec<u32> = queues.iter().map(|queue| queue.family).collect();
        let plan = plan(physical.info(), &families, extensions, features)?;
        queues.sort_by_key(|queue| queue.family != plan.compute.family); // Compute first.
        let adopted =
            |queue: ExternalQueue| Queue::new(queue.raw, queue.family, queue.family == plan.compute.family, queue.lock);
        let queues = queues.into_iter().map(adopted).collect();
        Ok(Self::new(LogicalDevice::new(&physical, device, plan, queues, true)))
    }

    /// Closes the device, as dropping its last holder would, and makes sure of it. Blocks for `timeout` at most.
    ///
    /// After success nothing of this library uses the device any more. Call it before an adopted device is destroyed,
    /// since a callback that still runs may hold the device.
    ///
    /// # Errors
    ///
    /// [`Error::StillHeld`] if something made from the device is left.
    pub fn close(self: Arc<Self>, timeout: Duration) -> Result<()> {
        let begun = Instant::now();
        let mut logical = Arc::clone(&self.logical);
        let mut device = Some(self);
        loop {
            device = device.and_then(|device| {
                let last =
                    Arc::try_unwrap(device).map(|device| device.waiter.end(timeout.saturating_sub(begun.elapsed())));
                last.err()
            });
            if device.is_none() {
                // Handles that hold only the logical device may be left.
                match Arc::try_unwrap(logical) {
                    Ok(_) => return Ok(()),
                    Err(held) => logical = held,
                }
            }
            let waited = begun.elapsed();
            if waited >= timeout {
                let count = device.as_ref().map_or(Arc::strong_count(&logical), Arc::strong_count);
                let (device, holders) = (logical.info().name.clone(), count.saturating_sub(1));
                return Err(Error::StillHeld { device, holders, waited });
            }
            thread::yield_now();
        }
    }
}

/// The plan of an adopted device, or why it cannot be used. `families` has an entry for each queue.
fn plan(device: &DeviceInfo, families: &[u32], extensions: Vec<String>, features: Features) -> Result<DevicePlan> {
    check_support(device, &Features::default(), &features, "it was opened without the feature")?;
    let (mut compute, mut transfer) = (None, None);
    for &family in families {
        let described = device.queue_families.get(family as usize);
        let described = described.ok_or_else(|| device.unsuitable(format!("it has no queue family {family}")))?;
        let planned = match (described.compute, described.transfer) {
            (true, _) => &mut compute,
            (false, true) => &mut transfer,
            (false, false) => {
                return Err(device.unsuitable(format!("queue family {family} takes neither kernels nor copies")));
            }
        };
        match planned {
            None => *planned = Some(QueuePlan { family, count: 1 }),
            Some(same) if same.family == family => same.count += 1,
            Some(other) => {
                let families = format!("{} and {family}", other.family);
                return Err(device.unsuitable(format!("its queues are of families {families} for the same work")));
            }
        }
    }
    let compute = compute.ok_or_else(|| device.unsuitable("no compute queue was given"))?;
    let push_descriptors =
        extensions.iter().any(|name| name == "VK_KHR_push_descriptor") && device.limits.max_push_descriptors > 0;
    Ok(DevicePlan { compute, transfer, extensions, features, push_descriptors })
}

crate::debug_fields!(Adopted, this => name: this.physical.info().name, queues: this.queues);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::machine;

    #[test]
    fn queues_are_sorted_by_what_they_do() {
        let device = machine("h100_580.159"); // Families: graphics, copies, compute, then video, each also for copies.
        let features = device.features;
        let queues = |family, count| QueuePlan { family, count };
        // The families of the given queues, the compute and transfer queues of the plan, or what is wrong.
        type Expected = Result<(QueuePlan, Option<QueuePlan>), &'static str>;
        let cases: &[(&[u32], Expected)] = &[
            (&[2], Ok((queues(2, 1), None))),
            (&[0], Ok((queues(0, 1), None))), // With graphics too.
            (&[1, 2, 1, 2, 2], Ok((queues(2, 3), Some(queues(1, 2))))), // In any order.
            (&[], Err("no compute queue was given")),
            (&[1], Err("no compute queue was given")), // Copies alone.
            (&[0, 2], Err("its queues are of families 0 and 2 for the same work")),
            (&[2, 99], Err("it has no queue family 99")),
        ];
        for (families, expected) in cases {
            let plan = plan(&device, families, Vec::new(), features).map(|plan| (plan.compute, plan.transfer));
            let expected = (*expected).map_err(|reason| format!("{} cannot be used: {reason}", device.name));
            assert_eq!(plan.map_err(|error| error.to_string()), expected, "{families:?}");
        }
    }

    #[test]
    fn only_what_was_enabled_is_used() {
        let device = machine("lavapipe_22.3.6");
        let none = plan(&device, &[0], Vec::new(), device.features).unwrap();
        assert!(!none.push_descriptors && none.extensions.is_empty());
        let push = vec!["VK_KHR_push_descriptor".to_owned()];
        assert!(plan(&device, &[0], push, device.features).unwrap().push_descriptors);
        let features = Features { synchronization2: false, ..device.features };
        let error = plan(&device, &[0], Vec::new(), features).unwrap_err().to_string();
        assert!(error.ends_with("it was opened without the feature synchronization2"), "{error}");
    }
}
