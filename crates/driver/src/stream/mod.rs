//! A stream: an ordered queue of work, recorded into batches that are sent to the device early when it is idle.
//!
//! [`Stream::record`] is the one way by which work enters. It asks the hazard table what must come before the
//! operation, records at most one barrier, and lets the caller record its commands. A stream has up to three lanes,
//! which record the batches: one for its work and, made when first needed, one for large copies in each direction, so
//! that copies run beside kernels. `joined` and `waiting` remember which of these lanes have waited for what, so that a
//! program sees one stream. Several streams share a queue; where one has to wait for another, the device waits and
//! never the host.
//!
//! `waits.rs` makes a stream wait for points, `completion.rs` makes the host wait for a stream, `event.rs` and
//! `future.rs` hold points for later, `default_streams.rs` and `legacy.rs` give CUDA's default streams and their order,
//! and `external.rs` uses queues and semaphores of other code. The folder `lane` has the batches.

mod auto_synchronize;
mod completion;
mod default_streams;
mod event;
mod external;
mod future;
mod late;
mod legacy;
mod wait_many;
mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

pub use self::auto_synchronize::AutoSynchronize;
pub use self::default_streams::DefaultStreams;
pub use self::event::Event;
pub use self::future::Completion;
use self::late::Late;
use self::legacy::LegacyRole;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::BlockAccess;
use crate::lane::{GraphCommands, Lane, Recorder};
use crate::lock::{Mutex, Rank};
use crate::sync::DeferDrops;
use crate::tracker::Point;
use crate::vulkan::{Queue, QueueIndex};

/// An ordered queue of work on a device. Clones are handles to the same stream.
///
/// The results are as if the work ran in the order given; independent operations may overlap. Work on different streams
/// is ordered only where it touches the same memory, or through [`Event`](crate::Event)s.
///
/// Dropping the last handle sends the recorded work and waits for it, for ten seconds at most. Memory and objects of
/// work that still runs then are leaked, since the device may still use them.
///
/// ```
/// use vkarray_driver::{Device, Event, Instance, Stream};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let stream = Stream::new(&device)?;
/// Event::with_timing(&device)?.record(&stream)?; // Returns at once.
/// stream.synchronize()?;
/// assert!(stream.query()?);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "SyclQueue")]
#[derive(Debug, Clone)]
pub struct Stream {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    work: Arc<Lane>,
    part: LegacyRole,
    /// Two more lanes, for large copies to the device and to the host. They are made when first needed.
    transfers: Option<[TransferLane; 2]>,
    /// Held while the lanes are made to wait for a point, and while a lane is made.
    changes: Mutex<()>,
    /// The newest batch of `work` that starts with a requested wait; 0 if no wait was requested.
    waiting: AtomicU64,
    device: Arc<Device>, // Last: the lanes end before it.
}

/// A lane on a transfer queue, for part of a stream's copies.
#[derive(Debug)]
struct TransferLane {
    queue: QueueIndex,
    lane: Late<Arc<Lane>>,
    /// The newest batch of this lane that the stream's main lane waits for.
    joined: AtomicU64,
}

/// The direction of a copy. Each direction has a queue of its own where the device has two transfer queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the host to the device.
    ToDevice,
    /// From the device to the host.
    ToHost,
}

impl Stream {
    /// Creates a stream.
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver cannot make another semaphore,
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Forked`](crate::Error::Forked)
    /// in a forked process.
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        Self::with_part(device, LegacyRole::Ordinary)
    }

    fn with_part(device: &Arc<Device>, part: LegacyRole) -> Result<Self> {
        let (queue, transfer) = device.assign_queues();
        let beside = |queue| TransferLane { queue, lane: Late::new(), joined: AtomicU64::new(0) };
        Self::on_queues(device, part, queue, transfer.map(|queues| queues.map(beside)))
    }

    /// Creates a stream. Without `transfers`, its copies run on the same queue as its other work.
    fn on_queues(
        device: &Arc<Device>,
        part: LegacyRole,
        queue: QueueIndex,
        transfers: Option<[TransferLane; 2]>,
    ) -> Result<Self> {
        let (work, device) = (device.new_lane(queue)?, Arc::clone(device));
        let (changes, waiting) = (Mutex::new(Rank::TransferLanes, ()), AtomicU64::new(0));
        Ok(Self { shared: Arc::new(Shared { work, part, transfers, changes, waiting, device }) })
    }

    /// The number of the stream on its device, which reports name it by. Streams are numbered from 1 in the order of
    /// creation.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let (first, second) = (Stream::new(&device)?, Stream::new(&device)?);
    /// assert!(first.number() < second.number());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn number(&self) -> u64 {
        self.shared.work.stream_number()
    }

    /// The device that the stream runs on.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.shared.device
    }

    /// Records one operation.
    ///
    /// `accesses` lists every byte range that the operation touches, and how. `commands` records the operation's
    /// commands, after what orders the operation. Returns at once; the work is sent when the device is idle, when the
    /// batch is full, or when a thread waits for it.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses an earlier batch that this operation waits for,
    /// [`Error::HeldByHost`](crate::Error::HeldByHost) if a guard holds some of the bytes for the host,
    /// [`Error::Forked`](crate::Error::Forked) in a forked process, and the errors that `commands` returns.
    ///
    /// # Safety
    ///
    /// `commands` runs under the stream's lock: it uses no stream, and waits for no thread that may use one. The
    /// commands touch no memory that `accesses` does not list, touch the listed memory only in the listed way, and
    /// leave the command buffer recording. Pipelines, descriptors and push constants for compute are bound only through
    /// the recorder, or with its knowledge. Every object that the commands refer to is kept with [`Recorder::keep`], or
    /// lives until the points of last use of its block are reached.
    pub unsafe fn record<R, E: From<crate::Error>>(
        &self,
        accesses: &[BlockAccess],
        commands: impl FnOnce(&mut Recorder<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.in_legacy_order(|| self.shared.work.record(accesses, commands))
    }

    /// Records copies between host and device memory on the stream's transfer queue of this direction, which runs at the same
    /// time as the stream's other work. A stream without such a queue records them with [`Stream::record`]. Work that touches
    /// the same memory is still ordered, and waiting for the stream includes the copies.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost,
    /// [`Error::HeldByHost`](crate::Error::HeldByHost) if a guard holds some of the bytes for the host, and the errors
    /// of [`Stream::record`].
    ///
    /// # Safety
    ///
    /// The obligations of [`Stream::record`] hold. In addition, the commands are only copies and fills.
    pub unsafe fn record_beside<R, E: From<crate::Error>>(
        &self,
        direction: Direction,
        accesses: &[BlockAccess],
        commands: impl FnOnce(&mut Recorder<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.device().check_lost()?; // Before a lock is taken.
        self.in_legacy_order(|| match &self.shared.transfers {
            Some(transfers) => {
                let lane = transfers[direction as usize].lane(&self.shared)?;
                self.shared.work.note_beside();
                lane.record(accesses, commands)
            }
            None => self.shared.work.record(accesses, commands),
        })
    }

    /// Whether the stream has queues for transfers, on which [`Stream::record_beside`] records.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// println!("transfers beside kernels: {}", Stream::new(&device)?.has_transfer_queues());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn has_transfer_queues(&self) -> bool {
        self.shared.transfers.is_some()
    }

    /// Whether the stream and its transfer queue of this direction are idle, so that a copy there waits for nothing.
    ///
    /// ```
    /// use vkarray_driver::{Device, Direction, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let stream = Stream::new(&Device::open_selected(&Instance::new()?, None)?)?;
    /// assert_eq!(stream.is_idle_beside(Direction::ToHost), stream.has_transfer_queues());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_idle_beside(&self, direction: Direction) -> bool {
        self.shared.transfers.as_ref().is_some_and(|transfers| {
            self.shared.work.is_idle() && self.device().queue(transfers[direction as usize].queue).is_idle()
        })
    }

    /// Whether the next operation is probably one of a few between two waits of a thread, as far as the last ones tell.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let stream = Stream::new(&Device::open_selected(&Instance::new()?, None)?)?;
    /// assert!(stream.is_in_job()); // Nothing tells that the next operation is one of many.
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_in_job(&self) -> bool {
        self.shared.work.is_in_job()
    }

    /// Whether the next operation is probably waited for alone, as the last one was, and the device is idle.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// Event::with_timing(&device)?.record(&stream)?;
    /// stream.synchronize()?;
    /// assert!(stream.is_single()); // The operation was waited for alone.
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.shared.work.follows_single() && self.device().is_idle()
    }

    /// The point at which everything recorded so far is complete.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// Event::with_timing(&device)?.record(&stream)?;
    /// let done = stream.point()?;
    /// done.wait(None)?;
    /// assert!(done.is_complete()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the copies on transfer queues, which the point includes,
    /// [`Error::Forked`](crate::Error::Forked) in a forked process.
    pub fn point(&self) -> Result<Point> {
        self.join_legacy()?;
        self.joined_point()
    }

    /// Does what [`Stream::point`] does, without the waits of the legacy ordering.
    fn joined_point(&self) -> Result<Point> {
        self.device().check_lost()?;
        for (beside, lane) in self.beside() {
            let point = lane.point();
            if beside.joined.load(Ordering::Acquire) < point.value() {
                self.shared.work.wait_for(&point)?;
                // The value is stored after the wait is recorded, so that a wait that failed is tried again.
                beside.joined.fetch_max(point.value(), Ordering::AcqRel);
            }
        }
        Ok(self.shared.work.point())
    }

    /// Submits a graph's commands for the stream's queue family, as one operation.
    pub(crate) fn replay(&self, commands: &Arc<GraphCommands>) -> Result<()> {
        self.in_legacy_order(|| self.shared.work.replay(commands))
    }

    /// A queue of the family that the stream's work runs on.
    pub(crate) fn work_queue(&self) -> &Queue {
        &self.shared.work.queue
    }

    /// The points at which everything recorded so far is complete. On the legacy stream they include the work of the
    /// blocking streams.
    fn points(&self) -> SmallVec<[Point; 3]> {
        let mut points = self.own_points();
        if let LegacyRole::Legacy(order) = &self.shared.part {
            points.extend(order.blocking().iter().flat_map(Self::own_points));
        }
        points
    }

    fn own_points(&self) -> SmallVec<[Point; 3]> {
        self.beside().map(|(_, lane)| lane.point()).chain([self.shared.work.point()]).collect()
    }

    fn beside(&self) -> impl Iterator<Item = (&TransferLane, &Arc<Lane>)> {
        self.shared.transfers.iter().flatten().filter_map(|beside| Some((beside, beside.lane.get()?)))
    }
}

/// Two handles are equal if they name the same stream.
impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared.work, &other.shared.work)
    }
}
impl Eq for Stream {}

impl Drop for Shared {
    /// Drops the lanes on the thread that drops the stream, and not on the waiting thread, which may still run while
    /// the process exits.
    fn drop(&mut self) {
        if self.device.is_forked() {
            return;
        }
        let beside = self.transfers.iter().flatten().filter_map(|beside| beside.lane.get());
        self.device.unwatch(beside.chain([&self.work]).map(|lane| lane.id));
    }
}

impl TransferLane {
    /// The lane, made now if there is none. A new lane starts after what the stream itself waits for.
    fn lane(&self, stream: &Shared) -> Result<&Arc<Lane>> {
        let _defer = self.lane.get().is_none().then(DeferDrops::begin); // Ends after the lock is released.
        self.lane.get_or_make(&stream.changes, || {
            let lane = stream.work.beside(self.queue)?;
            lane.wait_for(&stream.work.point())?;
            Ok(lane)
        })
    }
}
