//! A device opened for work: the function table, its queue, and the record of who used which memory last.
//!
//! `plan.rs` decides how a device is opened; this file carries the plan out and undoes it when the last holder is
//! gone. Work goes through [`Stream`](crate::Stream)s; memory comes from the allocator crate. The call that creates it is
//! in `device/create.rs`.

mod create;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ash::{khr, vk};
use smallvec::SmallVec;

use crate::default_streams::DefaultStreams;
use crate::error::Result;
use crate::hazard::{BlockId, LaneId, LastUse, LastUses, Mode};
use crate::hold::Gate;
use crate::instance::{Instance, PhysicalDevice};
use crate::legacy::LegacyOrder;
use crate::lock::{Mutex, MutexGuard, Rank};
use crate::loss::Loss;
use crate::number::StreamNumbers;
use crate::plan::{Plan, Request};
use crate::point::Point;
use crate::queue::{Queue, QueueIndex};
use crate::select::Selection;
use crate::snapshot::{DeviceInfo, DeviceType};
use crate::trace::TraceSlot;
use crate::tracker::Tracker;
use crate::waiter::Waiter;

/// How long a wait polls before it sleeps, on a GPU: waking a sleeper costs 18 to 30 µs on an H100.
const DEFAULT_POLL: Duration = Duration::from_micros(50);

/// A device opened for work.
///
/// Everything made from a device holds it, so it is closed when the last of them is dropped.
pub struct Device {
    raw: ash::Device,
    push_descriptor: Option<khr::push_descriptor::Device>,
    /// Those for compute first, then those for transfers, then those that external streams brought.
    queues: Mutex<Vec<Arc<Queue>>>,
    pub(crate) numbers: StreamNumbers,
    /// Shared with the waiter, which must not hold the device.
    tracker: Arc<Mutex<Tracker>>,
    pub(crate) holds: Gate, // Of `tracker`; see `hold.rs`.
    waiter: Arc<Waiter>,
    loss: Loss,
    legacy: LegacyOrder,
    trace: TraceSlot,
    default_streams: Mutex<Weak<DefaultStreams>>,
    /// Timeline semaphores that nobody uses now, and the values they stand at.
    semaphores: Mutex<Vec<(vk::Semaphore, u64)>>,
    poll: Duration,
    n_host_waits: AtomicU64,
    plan: Plan,
    /// Whether somebody else created the device and destroys it.
    is_adopted: bool,
    physical: PhysicalDevice, // Last: holds the instance, which must outlive the device.
}

impl Device {
    /// Opens the device that `selector` or the environment names, or the best there is. See [`Selection`].
    ///
    /// # Errors
    ///
    /// Those of [`Instance::devices`], [`Selection::choose`] and [`Device::open`].
    pub fn open_selected(instance: &Arc<Instance>, selector: Option<&str>) -> Result<Arc<Self>> {
        let devices = instance.devices()?;
        let infos: Vec<DeviceInfo> = devices.iter().map(|device| DeviceInfo::clone(device.info())).collect();
        let chosen = Selection::from_environment(selector).choose(&infos)?;
        Self::open(&devices[chosen])
    }

    /// Opens a device with whatever of its abilities is useful.
    ///
    /// # Errors
    ///
    /// As [`Device::open_with`].
    pub fn open(physical: &PhysicalDevice) -> Result<Arc<Self>> {
        Self::open_with(physical, &Request::default())
    }

    /// Opens a device as [`Plan::new`] says, with at least what `request` asks for.
    ///
    /// # Errors
    ///
    /// [`Unsuitable`](crate::Error::Unsuitable) if the plan refuses it, [`Vulkan`](crate::Error::Vulkan) if the driver does;
    /// [`Forked`](crate::Error::Forked).
    pub fn open_with(physical: &PhysicalDevice, request: &Request) -> Result<Arc<Self>> {
        physical.instance().origin().check()?;
        let plan = Plan::new(physical.info(), request)?;
        let raw = create::create(physical, &plan)?;
        let queues = create::queues(&raw, &plan);
        Ok(Arc::new(Self::assemble(physical, raw, plan, queues)))
    }

    /// Puts a device together from its handle, how it was opened, and the queues of the plan, in its order.
    pub(crate) fn assemble(physical: &PhysicalDevice, raw: ash::Device, plan: Plan, queues: Vec<Queue>) -> Self {
        let instance = physical.instance().raw();
        let push_descriptor = plan.push_descriptors.then(|| khr::push_descriptor::Device::new(instance, &raw));
        let is_cpu = physical.info().device_type == DeviceType::Cpu;
        Self {
            push_descriptor,
            queues: Mutex::new(Rank::QueueList, queues.into_iter().map(Arc::new).collect()),
            numbers: StreamNumbers::default(),
            tracker: Arc::new(Mutex::new(Rank::Tracker, Tracker::default())),
            holds: Gate::default(),
            waiter: Waiter::new(),
            loss: Loss::default(),
            legacy: LegacyOrder::default(),
            trace: TraceSlot::default(),
            default_streams: Mutex::new(Rank::DefaultStreamSet, Weak::new()),
            semaphores: Mutex::new(Rank::Semaphores, Vec::new()),
            // On a CPU driver a polling thread takes a core from the work it waits for.
            poll: if is_cpu { Duration::ZERO } else { DEFAULT_POLL },
            n_host_waits: AtomicU64::new(0),
            raw,
            plan,
            is_adopted: false,
            physical: physical.clone(),
        }
    }

    /// Leaves the handle to whoever created it.
    pub(crate) fn adopted(mut self) -> Self {
        self.is_adopted = true;
        self
    }

    /// Whether the validation layer listens.
    pub(crate) fn is_validating(&self) -> bool {
        self.physical.instance().is_validating()
    }

    /// What the device says of itself.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.physical.info()
    }

    /// How it was opened.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The listed device behind it.
    #[must_use]
    #[inline]
    pub fn physical(&self) -> &PhysicalDevice {
        &self.physical
    }

    /// The function table. Using it is up to the caller's `unsafe`.
    #[must_use]
    pub fn raw(&self) -> &ash::Device {
        &self.raw
    }

    /// The push-descriptor commands, where the device has them.
    #[must_use]
    pub fn push_descriptor(&self) -> Option<&khr::push_descriptor::Device> {
        self.push_descriptor.as_ref()
    }

    /// Registers a block of memory for hazard tracking. The caller retires it when the memory is no longer wanted. In a
    /// forked process nothing is registered, and the id names no block.
    #[must_use]
    pub fn track_block(&self) -> BlockId {
        if self.is_forked() {
            return BlockId::default();
        }
        self.tracker().hazards.add_block()
    }

    /// Registers a block whose memory has `former` uses that may not be over: each operation on the block comes after
    /// them, on the same stream by a barrier and on others by a wait, both on the device.
    #[must_use]
    pub fn track_block_after(&self, former: &[LastUse]) -> BlockId {
        if self.is_forked() {
            return BlockId::default();
        }
        self.tracker().hazards.add_block_after(former)
    }

    /// Ends the tracking of a block and returns the uses that must be over before its memory is freed, or that the
    /// next block of the same memory comes after; see [`Device::track_block_after`].
    ///
    /// # Safety
    ///
    /// `block` is an id that this device gave out, and this is its last use. No [`HostHold`](crate::HostHold) of the block is
    /// relied on any more. From here on, the bytes are neither used by new work nor read or written by the host, except as
    /// another block that comes after the uses that are returned.
    #[must_use]
    pub unsafe fn retire_block(&self, block: BlockId) -> LastUses {
        if self.is_forked() {
            return LastUses::default();
        }
        let mut tracker = self.tracker();
        tracker.holds.retire(block);
        tracker.hazards.retire_block(block)
    }

    /// The points at which `uses` are over.
    #[must_use]
    pub fn points(&self, uses: &[LastUse]) -> Vec<Point> {
        if self.is_forked() { Vec::new() } else { self.tracker().points(uses) }
    }

    /// Forgets those of `uses` that are over. Never blocks.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost); the uses that could not be asked about stay.
    pub fn forget_complete(&self, uses: &mut LastUses) -> Result<()> {
        self.check_process()?;
        self.tracker().forget_complete(uses)
    }

    /// The points to wait for before the host touches the bytes `range` of a block.
    #[must_use]
    pub fn block_uses(&self, block: BlockId, range: Range<u64>, mode: Mode) -> SmallVec<[Point; 2]> {
        if self.is_forked() { SmallVec::new() } else { self.tracker().uses(block, range, mode) }
    }

    /// How often a thread had to wait for the device so far. The device's own waiting thread does not count.
    ///
    /// What is ordered on the device costs none: the difference of two calls proves it.
    #[must_use]
    pub fn host_waits(&self) -> u64 {
        self.n_host_waits.load(Ordering::Relaxed)
    }

    pub(crate) fn note_host_wait(&self) {
        self.n_host_waits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn queue(&self, index: QueueIndex) -> Arc<Queue> {
        Arc::clone(&self.queues()[index.0])
    }

    /// Finds the queue with that handle, or adds the one that `new` makes.
    pub(crate) fn find_queue(&self, raw: vk::Queue, new: impl FnOnce() -> Queue) -> QueueIndex {
        let mut queues = self.queues();
        let found = queues.iter().position(|queue| queue.is(raw));
        QueueIndex(found.unwrap_or_else(|| {
            queues.push(Arc::new(new()));
            queues.len() - 1
        }))
    }

    pub(crate) fn queues(&self) -> MutexGuard<'_, Vec<Arc<Queue>>> {
        self.queues.lock()
    }

    #[inline]
    pub(crate) fn loss(&self) -> &Loss {
        &self.loss
    }

    /// The queues for the next stream: for its work, and where there are such for its transfers in each direction.
    pub(crate) fn deal_queues(&self) -> (QueueIndex, Option<[QueueIndex; 2]>) {
        let n = self.numbers.deal();
        let n_compute = self.plan.compute.count as usize;
        let transfer = self.plan.transfer.map(|queues| {
            let first = n_compute;
            [first, first + (queues.count as usize).min(2) - 1].map(QueueIndex)
        });
        (QueueIndex(n % n_compute), transfer)
    }

    pub(crate) fn take_semaphore(&self) -> Option<(vk::Semaphore, u64)> {
        self.semaphores.lock().pop()
    }

    pub(crate) fn give_semaphore(&self, semaphore: vk::Semaphore, value: u64) {
        self.semaphores.lock().push((semaphore, value));
    }

    pub(crate) fn waiter(&self) -> &Arc<Waiter> {
        &self.waiter
    }

    pub(crate) fn trace(&self) -> &TraceSlot {
        &self.trace
    }

    pub(crate) fn legacy(&self) -> &LegacyOrder {
        &self.legacy
    }

    pub(crate) fn default_streams(&self) -> &Mutex<Weak<DefaultStreams>> {
        &self.default_streams
    }

    pub(crate) fn poll(&self) -> Duration {
        self.poll
    }

    pub(crate) fn shared_tracker(&self) -> &Arc<Mutex<Tracker>> {
        &self.tracker
    }

    pub(crate) fn tracker(&self) -> MutexGuard<'_, Tracker> {
        // A panic inside leaves the table as it was before the operation or after it, never between.
        self.tracker.lock()
    }

    /// Blocks until the driver is done with everything that was sent.
    ///
    /// Of an adopted device only the queues that we use are waited for: the others are their owner's.
    pub(crate) fn wait_idle(&self) -> Result<()> {
        let queues: Vec<_> = self.queues().clone(); // The list is not locked while its queues are.
        queues.iter().try_for_each(|queue| queue.wait_idle(&self.raw))
    }

    pub(crate) fn add_lane(&self, queue: QueueIndex) -> LaneId {
        let queue = u32::try_from(queue.0).expect("a device has few queues");
        self.tracker().hazards.add_lane(queue)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.is_forked() {
            return; // The device is the parent's.
        }
        self.waiter.stop();
        // Lanes waited for their work; this waits until the driver has let go of what the work used.
        if let Err(error) = self.wait_idle() {
            tracing::warn!(%error, "the device is closed before it is idle");
        }
        for (semaphore, _) in self.semaphores.get_mut().drain(..) {
            // SAFETY: given back by its timeline, so in no use, and destroyed once.
            unsafe { self.raw.destroy_semaphore(semaphore, None) };
        }
        if !self.is_adopted {
            // SAFETY: every handle made from the device holds it, so none is left, and lanes waited for their work.
            unsafe { self.raw.destroy_device(None) };
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.info().name).field("plan", &self.plan).finish_non_exhaustive()
    }
}
