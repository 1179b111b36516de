//! What the device has still to do: points in the work of streams, who used which memory last, which bytes the host
//! accesses, and the thread that waits for the device.
//!
//! The folder has three records, which have one lock in [`Tracker`] because a decision needs all of them at once:
//!
//! - The hazard table (folder `hazard`) says which operation used which memory last. It identifies lanes by number, so
//!   that it stays pure.
//! - The lanes: the timeline and the lane behind each number, so that an answer of the hazard table becomes a [`Point`]
//!   that a thread or another lane can wait for.
//! - [`HostAccesses`]: the bytes that the host reads or writes in place now, so that no operation on them is recorded
//!   meanwhile.
//!
//! [`Waiter`] is the device's thread: it submits batches that nobody waits for, and runs callbacks when points are
//! reached. The folder uses lanes only through [`Submit`]: it submits their work and never records. Start here;
//! `point.rs` has the points that other folders hold, `host_access.rs` keeps host and device apart with `gate.rs`, and
//! `waiter.rs` has the thread with its `signal.rs`.

mod gate;
mod host_access;
mod point;
mod signal;
mod waiter;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::Instant;

use slotmap::SecondaryMap;
use smallvec::SmallVec;

use self::gate::Gate;
use self::host_access::HostAccesses;
pub use self::host_access::{HostAccess, HostAccessKind};
pub use self::point::Point;
pub(crate) use self::waiter::Waiter;
use crate::error::Result;
use crate::hazard::{BlockId, HazardTable, LaneId, LastUse, LastUses, Mode};
use crate::instance::ProcessId;
use crate::lock::{Mutex, MutexGuard, Rank};
use crate::vulkan::{LogicalDevice, Timeline};

/// An object that records work and can be asked to submit it: a lane.
pub(crate) trait Submit: fmt::Debug + Send + Sync {
    /// The device that the work is submitted to.
    fn device(&self) -> &Arc<LogicalDevice>;

    /// The thread that waits for the device.
    fn waiter(&self) -> &Arc<Waiter>;

    /// Submits the recorded work.
    fn flush(&self) -> Result<()>;

    /// Submits the recorded work, unless the batch of this number was submitted before.
    fn flush_up_to(&self, value: u64) -> Result<()>;

    /// Submits the open batch if its first operation was recorded before `before`. Returns whether a batch stays open.
    fn flush_if_older(&self, before: Instant) -> Result<bool>;

    /// Blocks until everything recorded so far is complete, and recycles the batches.
    fn synchronize(&self) -> Result<()>;
}

/// A lane that is registered with its device.
pub(crate) struct RegisteredLane {
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) lane: Weak<dyn Submit>,
    /// Whether the waiting thread submits the lane's old batches.
    pub(crate) is_watched: bool,
}

/// The state of a device's unfinished work, behind a lock. The lock is held for a few statements, and never across a
/// Vulkan call that can block.
#[derive(Debug)]
pub(crate) struct Tracker {
    state: Mutex<TrackerState>,
    host_access: Gate,
    process: ProcessId,
}

impl Tracker {
    /// Creates a tracker without lanes and blocks. `process` is the process that opened the device.
    pub(crate) fn new(process: ProcessId) -> Self {
        Self { state: Mutex::new(Rank::Tracker, TrackerState::default()), host_access: Gate::default(), process }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, TrackerState> {
        // A panic under the lock leaves the table in the state before an operation or after it, never in between.
        self.state.lock()
    }
}

#[derive(Default)]
pub(crate) struct TrackerState {
    pub(crate) hazards: HazardTable,
    pub(crate) host_accesses: HostAccesses,
    pub(crate) lanes: SecondaryMap<LaneId, RegisteredLane>,
}

impl TrackerState {
    /// Records that the timeline of `lane` reached `value`.
    pub(crate) fn completed(&mut self, lane: LaneId, value: u64) {
        for implied in self.hazards.completed(lane, value) {
            // A lane that was dropped has completed its work.
            if let Some(registered) = self.lanes.get(implied.lane) {
                registered.timeline.confirm_to_validation(implied.value);
            }
        }
    }

    /// Removes a lane whose work is complete up to its last batch, `newest`.
    pub(crate) fn forget(&mut self, id: LaneId, newest: u64) {
        self.completed(id, newest);
        self.hazards.remove_lane(id);
        self.lanes.remove(id);
    }

    /// The lanes whose old batches the waiting thread submits.
    pub(crate) fn watched_lanes(&self) -> Vec<Arc<dyn Submit>> {
        let watched = self.lanes.values().filter(|registered| registered.is_watched);
        watched.filter_map(|registered| registered.lane.upgrade()).collect()
    }

    /// The lanes whose streams are alive.
    pub(crate) fn live_lanes(&self) -> Vec<Arc<dyn Submit>> {
        self.lanes.values().filter_map(|registered| registered.lane.upgrade()).collect()
    }

    /// The timelines of all lanes, including leaked ones.
    pub(crate) fn timelines(&self) -> Vec<Arc<Timeline>> {
        self.lanes.values().map(|registered| Arc::clone(&registered.timeline)).collect()
    }

    /// The point at which `lane` has completed everything up to `value`; `None` if the lane was dropped, since its work
    /// is then complete.
    pub(crate) fn point(&self, lane: LaneId, value: u64) -> Option<Point> {
        let registered = self.lanes.get(lane)?;
        Some(Point::new(Arc::clone(&registered.timeline), Weak::clone(&registered.lane), value))
    }

    pub(crate) fn uses(&mut self, block: BlockId, range: Range<u64>, mode: Mode) -> SmallVec<[Point; 2]> {
        let uses = self.hazards.uses(block, range, mode);
        uses.into_iter().filter_map(|last| self.point(last.lane, last.value)).collect()
    }

    /// The points at which these uses are complete. A use by a lane that was dropped is complete and has no point.
    pub(crate) fn points(&self, uses: &[LastUse]) -> Vec<Point> {
        uses.iter().filter_map(|last| self.point(last.lane, last.value)).collect()
    }

    /// Removes the uses that are complete.
    pub(crate) fn forget_complete(&mut self, uses: &mut LastUses) -> Result<()> {
        let mut failed = Ok(());
        uses.retain(|last| {
            let Some(point) = self.point(last.lane, last.value) else { return false };
            match point.is_reached() {
                Ok(is_complete) => !is_complete,
                Err(error) => {
                    failed = Err(error);
                    true
                }
            }
        });
        failed
    }
}

crate::debug_fields!(TrackerState, this => lanes: this.lanes.len());
