//! A device opened for work: the logical device, the record of who used which memory last, and the thread that waits.
//!
//! [`Device`] owns the objects of the folders below it: `vulkan` has the logical device, and `tracker` the record and
//! the thread. Work goes through [`Stream`](crate::Stream)s, which are built on top of the device. Memory comes from
//! the allocator crate. `instance/plan.rs` decides how a device is opened. Start here; `adopt.rs` uses devices that the
//! program opened itself, and `trace.rs` starts and ends recordings of what a device does.

mod adopt;
#[cfg(feature = "trace")]
mod trace;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use smallvec::SmallVec;

pub use self::adopt::{Adopted, ExternalQueue};
#[cfg(feature = "trace")]
pub use self::trace::Trace;
use crate::error::Result;
use crate::hazard::{BlockId, LaneId, LastUse, LastUses, Mode};
use crate::instance::{DeviceInfo, DevicePlan, DeviceRequest, DriverInfo, Instance, PhysicalDevice, Selection};
use crate::lane::Lane;
use crate::lock::{Mutex, Rank};
use crate::tracker::{HostAccess, HostAccessKind, Point, Tracker, Waiter};
use crate::vulkan::loss::DRAIN_TIMEOUT;
use crate::vulkan::{LogicalDevice, QueueIndex};

/// A device opened for work.
///
/// Everything made from a device holds it, so the device is closed when the last holder is dropped. That drop waits
/// until the callbacks of the device's streams have run, for ten seconds at most. Where a callback itself drops the
/// last holder, the device is closed when the program opens or closes another device, or ends. A `Device` dereferences
/// to its [`LogicalDevice`], which has its description and Vulkan's functions.
///
/// ```
/// use vkarray_driver::{Device, Instance, Stream};
///
/// # fn main() -> Result<(), vkarray_driver::Error> {
/// let instance = Instance::new()?;
/// let device = Device::open_selected(&instance, None)?; // `VKARRAY_DEVICE`, else the best device.
/// let stream = Stream::new(&device)?;
/// assert!(stream.query()?); // No work yet.
/// # Ok(())
/// # }
/// ```
pub struct Device {
    logical: Arc<LogicalDevice>,
    /// Shared with the lanes and the waiting thread, which must not hold the device.
    tracker: Arc<Tracker>,
    waiter: Arc<Waiter>,
    /// Streams numbered so far.
    n_numbered: AtomicU64,
    /// How many streams were given queues that they share. A stream on a queue of its own is not counted.
    n_assigned: AtomicUsize,
    /// The values that the crates above keep for each device, at most one for each type.
    extensions: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Device {
    /// Opens the device that `selector` or the environment names, or the best there is. See [`Selection`].
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`](crate::Error::NoDevice) if there is no device,
    /// [`Error::UnknownDevice`](crate::Error::UnknownDevice) if none matches the selector, and the errors of
    /// [`Device::open`].
    pub fn open_selected(instance: &Arc<Instance>, selector: Option<&str>) -> Result<Arc<Self>> {
        let devices = instance.devices()?;
        let infos: Vec<DeviceInfo> = devices.iter().map(|device| DeviceInfo::clone(device.info())).collect();
        let chosen = Selection::from_environment(selector).choose(&infos)?;
        Self::open(&devices[chosen])
    }

    /// Opens a device with every optional feature and extension that the runtime can use.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`](crate::Error::Unsuitable) if the device lacks something that the runtime needs,
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver refuses to open it, and the errors of
    /// [`Device::open_with`].
    pub fn open(physical: &PhysicalDevice) -> Result<Arc<Self>> {
        Self::open_with(physical, &DeviceRequest::default())
    }

    /// Opens a device with the queues, extensions and features of [`DevicePlan::new`], which include those of
    /// `request`.
    ///
    /// # Errors
    ///
    /// [`Unsuitable`](crate::Error::Unsuitable) if the device lacks what the runtime or `request` needs,
    /// [`Vulkan`](crate::Error::Vulkan) if the driver refuses to open it, [`Forked`](crate::Error::Forked) in a forked
    /// child of the process that loaded Vulkan.
    pub fn open_with(physical: &PhysicalDevice, request: &DeviceRequest) -> Result<Arc<Self>> {
        physical.instance().process.check()?;
        let plan = DevicePlan::new(physical.info(), request)?;
        Ok(Self::new(LogicalDevice::open(physical, plan)?))
    }

    fn new(logical: Arc<LogicalDevice>) -> Arc<Self> {
        name_faults(logical.physical().info());
        let tracker = Arc::new(Tracker::new(logical.process));
        Arc::new(Self {
            logical,
            waiter: Waiter::new(Arc::clone(&tracker)),
            tracker,
            n_numbered: AtomicU64::new(0),
            n_assigned: AtomicUsize::new(0),
            extensions: Mutex::new(Rank::DeviceExtensions, HashMap::new()),
        })
    }

    /// The logical device, which the handles made from this device hold; see [`Owned`](crate::Owned).
    #[inline]
    pub fn logical(&self) -> &Arc<LogicalDevice> {
        &self.logical
    }

    /// Registers a block of memory for hazard tracking and returns its id. `former` are uses of the same memory that
    /// may not be over yet: each operation on the block comes after them, by a barrier on the same stream and by a wait
    /// on the device between streams. The caller retires the block when it is no longer wanted. In a forked process
    /// nothing is registered, and the id names no block.
    #[must_use]
    pub fn track_block_after(&self, former: &[LastUse]) -> BlockId {
        if self.is_forked() {
            return BlockId::default();
        }
        self.tracker.lock().hazards.add_block_after(former)
    }

    /// Ends the tracking of a block and returns the uses that must be over before its memory is freed, or that the
    /// next block of the same memory comes after; see [`Device::track_block_after`].
    ///
    /// # Safety
    ///
    /// `block` is an id that this device gave out, and this is its last use. No [`HostAccess`](crate::HostAccess) of
    /// the block is relied on any more. After this call, neither new work nor the host uses the bytes, except through
    /// another block that comes after the returned uses.
    #[must_use]
    pub unsafe fn retire_block(&self, block: BlockId) -> LastUses {
        if self.is_forked() {
            return LastUses::default();
        }
        let mut tracker = self.tracker.lock();
        tracker.host_accesses.retire(block);
        tracker.hazards.retire_block(block)
    }

    /// The points at which `uses` are over.
    #[must_use]
    pub fn points(&self, uses: &[LastUse]) -> Vec<Point> {
        if self.is_forked() { Vec::new() } else { self.tracker.lock().points(uses) }
    }

    /// Removes the uses that are over from `uses`. Never blocks.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost. The uses that could not be asked about
    /// stay in `uses`.
    pub fn forget_complete(&self, uses: &mut LastUses) -> Result<()> {
        self.check_process()?;
        self.tracker.lock().forget_complete(uses)
    }

    /// The points to wait for before the host accesses the bytes `range` of a block in `mode`.
    #[must_use]
    pub fn block_uses(&self, block: BlockId, range: Range<u64>, mode: Mode) -> SmallVec<[Point; 2]> {
        if self.is_forked() { SmallVec::new() } else { self.tracker.lock().uses(block, range, mode) }
    }

    /// A number that grows each time recorded work or the host writes the block. It is 0 in a forked process. Returns
    /// at once.
    #[must_use]
    pub fn write_count(&self, block: BlockId) -> u64 {
        if self.is_forked() { 0 } else { self.tracker.lock().hazards.write_count(block) }
    }

    /// Takes the bytes `range` of a block for the host, to read or to write. Returns the hold, and the points of the
    /// uses so far, to be waited for before the host touches the bytes. While the hold lasts, later uses by any stream
    /// or thread wait or are refused, as `kind` says. Blocks only for brief holds of other threads.
    ///
    /// ```
    /// use vkarray_driver::hazard::{BlockAccess, Mode, Stage};
    /// use vkarray_driver::{Device, Error, HostAccessKind, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let block = device.track_block_after(&[]);
    /// let (access, uses) = device.begin_host_access(block, 0..16, Mode::Read, HostAccessKind::Lasting)?;
    /// for point in &uses {
    ///     point.wait(None)?;
    /// }
    /// let write = [BlockAccess::write(block, 0..16, Stage::Transfer)];
    /// // SAFETY: it records no commands.
    /// let refused = unsafe { stream.record(&write, |_| Ok::<_, Error>(())) };
    /// assert!(matches!(refused, Err(Error::HeldByHost { .. })));
    /// drop(access);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::HeldByHost`](crate::Error::HeldByHost) if another guard holds some of the bytes for the host,
    /// [`Error::Forked`](crate::Error::Forked) in a forked process.
    pub fn begin_host_access(
        &self,
        block: BlockId,
        range: Range<u64>,
        mode: Mode,
        kind: HostAccessKind,
    ) -> Result<(HostAccess<'_>, SmallVec<[Point; 2]>)> {
        self.check_process()?;
        self.tracker.begin_host_access(block, range, mode, kind)
    }

    /// Blocks until the driver is done with all work that was sent to a device that has failed, for a limited time.
    ///
    /// A failed device is sent no more work, so the memory that its work used may be freed after this call.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`](crate::Error::Timeout) if some work still runs, [`Error::Forked`](crate::Error::Forked) in a
    /// forked process, [`Error::Vulkan`](crate::Error::Vulkan) if the driver refuses the wait.
    pub fn drain_after_loss(&self) -> Result<()> {
        debug_assert!(self.check_lost().is_err(), "only a device that has failed gets no more work");
        self.check_process()?;
        for queue in self.queues() {
            drop(queue.lock()); // A submission under way has ended; none follows.
        }
        let timelines = self.tracker.lock().timelines(); // The lock is given back: waiting takes time.
        timelines.iter().try_for_each(|timeline| timeline.drain(timeline.submitted()))?;
        if self.is_submission_unsure() { self.wait_idle() } else { Ok(()) }
    }

    /// Blocks until everything that was recorded on any stream of the device is complete.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let streams = [Stream::new(&device)?, Stream::new(&device)?];
    /// streams.iter().try_for_each(|stream| Event::with_timing(&device)?.record(stream))?;
    /// device.synchronize()?;
    /// assert!(streams[0].query()? && streams[1].query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost,
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver refuses unsent work,
    /// [`Error::Forked`](crate::Error::Forked) in a forked process.
    pub fn synchronize(&self) -> Result<()> {
        self.check_process()?;
        self.check_lost()?;
        let lanes = self.tracker.lock().live_lanes();
        // All lanes submit before the first is waited for.
        lanes.iter().try_for_each(|lane| lane.flush())?;
        lanes.iter().try_for_each(|lane| lane.synchronize())
    }

    /// The queues of the next stream: the queue for its work and, where the device has transfer queues, the queue for
    /// each direction of its copies.
    pub(crate) fn assign_queues(&self) -> (QueueIndex, Option<[QueueIndex; 2]>) {
        let n = self.n_assigned.fetch_add(1, Ordering::Relaxed);
        let n_compute = self.plan().compute.count as usize;
        let transfer = self.plan().transfer.map(|queues| {
            let first = n_compute;
            [first, first + (queues.count as usize).min(2) - 1].map(QueueIndex)
        });
        (QueueIndex(n % n_compute), transfer)
    }

    /// Makes the lane of a new stream. Streams are numbered from 1 in the order of their creation.
    pub(crate) fn new_lane(&self, queue: QueueIndex) -> Result<Arc<Lane>> {
        let stream = self.n_numbered.fetch_add(1, Ordering::Relaxed) + 1;
        Lane::new(&self.logical, &self.tracker, &self.waiter, queue, (stream, None))
    }

    /// Keeps the waiter from using these lanes from now on. Returns when it uses none of them.
    pub(crate) fn unwatch(&self, lanes: impl Iterator<Item = LaneId>) {
        for lane in lanes {
            if let Some(registered) = self.tracker.lock().lanes.get_mut(lane) {
                registered.is_watched = false;
            }
        }
        self.waiter.wait_until_lanes_released();
    }

    /// Runs `callback` on the waiter's thread once `point` is reached, or with the error that keeps the point from
    /// being reached. The waiter does not hold the device, whose drop waits for the callback.
    pub(crate) fn add_callback(&self, point: Point, callback: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        self.waiter.add(point, Box::new(callback))
    }

    /// The device's value of the type `T`, made when first asked for. The crates above keep their state of a device in
    /// such a value, which must not hold the device.
    pub fn extension<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut extensions = self.extensions.lock();
        let value = extensions.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value).downcast().expect("a value is stored under its own type")
    }
}

impl Deref for Device {
    type Target = LogicalDevice;

    #[inline]
    fn deref(&self) -> &LogicalDevice {
        &self.logical
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if !self.is_forked() {
            self.waiter.end(DRAIN_TIMEOUT);
        }
    }
}

crate::debug_fields!(Device, this => name: this.info().name, plan: this.plan());

/// Names the known faults of a driver in the log, once for each driver and process.
fn name_faults(info: &DeviceInfo) {
    static NAMED: AtomicU64 = AtomicU64::new(0);
    let faults: Vec<String> = info.known_faults().map(ToString::to_string).collect();
    let bit = 1_u64 << (info.driver.id & 63);
    if !faults.is_empty() && NAMED.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        let DriverInfo { name, info, .. } = &info.driver;
        log::warn!("{name} {info} has known faults that kernels of a program can meet: {}", faults.join("; "));
    }
}
