//! The logical device: the function table, the queues, and what every handle of the device needs.
//!
//! `instance/plan.rs` decides how a device is opened, `create.rs` opens it, and `close.rs` closes it when the last
//! holder is dropped.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ash::{khr, vk};

use super::close::{OpenDevice, close_kept};
use super::create;
use super::loss::DeviceLoss;
use super::queue::{Queue, QueueIndex};
use crate::error::Result;
use crate::instance::{DeviceInfo, DevicePlan, DeviceType, External, PhysicalDevice, ProcessId};
use crate::lock::{Mutex, Rank};
use crate::trace::TraceSlot;

/// How long a wait polls before it sleeps, on a GPU. Waking a thread costs 18 to 30 µs on an H100, which is little
/// compared with a wait longer than this.
const DEFAULT_POLL: Duration = Duration::from_micros(200);

/// A `VkDevice` with its queues: the part of a [`Device`](crate::Device) that handles and timelines hold.
///
/// A [`Device`](crate::Device) dereferences to its logical device. The `VkDevice` is destroyed when the last handle
/// made from it is dropped.
///
/// ```
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// assert_eq!(device.logical().info().name, device.info().name); // A `Device` dereferences to it.
/// # Ok(())
/// # }
/// ```
pub struct LogicalDevice {
    raw: ash::Device,
    push_descriptor: Option<khr::push_descriptor::Device>,
    /// The compute queues come first, then the transfer queues, then the queues of external streams.
    queues: Mutex<Vec<Arc<Queue>>>,
    pub(crate) loss: DeviceLoss,
    /// When the driver was last asked whether the device is lost.
    pub(super) loss_asked: Mutex<Instant>,
    pub(crate) trace: TraceSlot,
    /// Timeline semaphores that are not in use, and the values that they have reached.
    pub(super) semaphores: Mutex<Vec<(vk::Semaphore, u64)>>,
    /// Semaphores that will not be used again. They are destroyed with the device, when no work can use them any more.
    pub(super) retired: Mutex<Vec<vk::Semaphore>>,
    /// How long a wait polls before it sleeps.
    pub(crate) poll: Duration,
    pub(super) n_host_waits: AtomicU64,
    plan: DevicePlan,
    /// The process that loaded Vulkan.
    pub(crate) process: ProcessId,
    /// Whether other code created the device and destroys it.
    is_adopted: bool,
    physical: PhysicalDevice, // Last: holds the instance, which must outlive the device.
}

impl LogicalDevice {
    /// Creates the device that the plan describes.
    pub(crate) fn open(physical: &PhysicalDevice, plan: DevicePlan) -> Result<Arc<Self>> {
        close_kept();
        let raw = create::create(physical, &plan)?;
        let queues = create::queues(&raw, &plan);
        Ok(Self::new(physical, raw, plan, queues, false))
    }

    /// A device with the queues of its plan, in the plan's order. An adopted device was created by other code, which
    /// destroys it.
    pub(crate) fn new(
        physical: &PhysicalDevice,
        raw: ash::Device,
        plan: DevicePlan,
        queues: Vec<Queue>,
        is_adopted: bool,
    ) -> Arc<Self> {
        let instance = physical.instance();
        let push_descriptor = plan.push_descriptors.then(|| khr::push_descriptor::Device::new(instance.raw(), &raw));
        let is_cpu = physical.info().device_type == DeviceType::Cpu;
        Arc::new(Self {
            push_descriptor,
            queues: Mutex::new(Rank::QueueList, queues.into_iter().map(Arc::new).collect()),
            loss: DeviceLoss::default(),
            loss_asked: Mutex::new(Rank::LossAsked, Instant::now()),
            trace: TraceSlot::default(),
            semaphores: Mutex::new(Rank::Semaphores, Vec::new()),
            retired: Mutex::new(Rank::Semaphores, Vec::new()),
            // On a CPU driver a polling thread would take a core from the work that it waits for.
            poll: if is_cpu { Duration::ZERO } else { DEFAULT_POLL },
            n_host_waits: AtomicU64::new(0),
            raw,
            plan,
            process: instance.process,
            is_adopted,
            physical: physical.clone(),
        })
    }

    /// The properties, limits and features of the device.
    pub fn info(&self) -> &DeviceInfo {
        self.physical.info()
    }

    /// What the device shares with other devices, processes and APIs, as far as it was opened with the extensions for
    /// that.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// if device.external().memory_fd.exportable {
    ///     assert!(device.info().external.memory_fd.exportable);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn external(&self) -> External {
        self.info().external.with_extensions(&self.plan.extensions)
    }

    /// The plan by which the device was opened.
    pub fn plan(&self) -> &DevicePlan {
        &self.plan
    }

    /// The listed device that was opened.
    #[inline]
    pub fn physical(&self) -> &PhysicalDevice {
        &self.physical
    }

    /// The device's function table, whose calls are `unsafe`.
    #[inline]
    pub fn raw(&self) -> &ash::Device {
        &self.raw
    }

    /// The push-descriptor commands; `None` if the device does not have them.
    #[inline]
    pub fn push_descriptor(&self) -> Option<&khr::push_descriptor::Device> {
        self.push_descriptor.as_ref()
    }

    /// How often a thread of the program had to wait for the device so far.
    ///
    /// Order between streams costs no such wait: the number is equal before and after it.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let (first, second) = (Stream::new(&device)?, Stream::new(&device)?);
    /// let before = device.host_waits();
    /// second.wait_for(&first.point()?)?; // Ordered on the device.
    /// assert_eq!(device.host_waits(), before);
    /// # Ok(())
    /// # }
    /// ```
    pub fn host_waits(&self) -> u64 {
        self.n_host_waits.load(Ordering::Relaxed)
    }

    /// Checks that the calling process is the one that opened the device. It is called before a lock is taken: in a
    /// forked process the lock may stay locked for ever, since the thread that held it at the fork does not exist
    /// there.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// assert!(device.check_process().is_ok() && !device.is_forked());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Forked`](crate::Error::Forked) if the calling process is a fork of the one that opened the device.
    #[inline]
    pub fn check_process(&self) -> Result<()> {
        self.process.check()
    }

    /// Whether the calling process is not the one that opened the device. Drops then destroy nothing, since the device
    /// belongs to the parent.
    #[inline]
    pub fn is_forked(&self) -> bool {
        self.process.is_forked()
    }

    pub(crate) fn queue(&self, index: QueueIndex) -> Arc<Queue> {
        Arc::clone(&self.queues.lock()[index.0])
    }

    /// Whether this library's newest submission to each queue is complete. Never blocks.
    pub(crate) fn is_idle(&self) -> bool {
        self.queues.lock().iter().all(|queue| queue.is_idle())
    }

    /// The queues that this library uses.
    pub(crate) fn queues(&self) -> Vec<Arc<Queue>> {
        self.queues.lock().clone()
    }

    /// Finds the queue with the handle `raw`, or adds the one that `new` makes.
    pub(crate) fn find_queue(&self, raw: vk::Queue, new: impl FnOnce() -> Queue) -> QueueIndex {
        let mut queues = self.queues.lock();
        let found = queues.iter().position(|queue| queue.is(raw));
        QueueIndex(found.unwrap_or_else(|| {
            queues.push(Arc::new(new()));
            queues.len() - 1
        }))
    }

    /// Blocks until the driver is done with all work that was sent.
    ///
    /// On an adopted device, only the queues that this library uses are waited for.
    pub(crate) fn wait_idle(&self) -> Result<()> {
        // The list of queues is not locked while the queues are.
        self.queues().iter().try_for_each(|queue| queue.wait_idle(&self.raw))
    }
}

impl Drop for LogicalDevice {
    fn drop(&mut self) {
        if self.is_forked() {
            return; // The device belongs to the parent process.
        }
        let spare = self.semaphores.get_mut().drain(..).map(|(semaphore, _)| semaphore);
        let device = OpenDevice {
            semaphores: spare.chain(self.retired.get_mut().drain(..)).collect(),
            queues: mem::take(self.queues.get_mut()),
            raw: self.raw.clone(),
            is_adopted: self.is_adopted,
            physical: self.physical.clone(),
        };
        device.close();
    }
}

crate::debug_fields!(LogicalDevice, this => name: this.info().name, plan: this.plan);
