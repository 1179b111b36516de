//! The device's book: the hazard table, and which timeline each of its lanes signals.
//!
//! The table speaks of lanes by number, so that it is pure; this file turns numbers into timelines. One lock guards
//! both, held for lines and never across a Vulkan call that can block.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use crate::error::Result;
use crate::hazard::{BlockId, HazardTable, LaneId, LastUse, LastUses, Mode};
use crate::hold::Holds;
use crate::lane::Lane;
use crate::point::Point;
use crate::timeline::Timeline;

/// A lane as its device knows it.
pub(crate) struct Registered {
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) lane: Weak<Lane>,
    /// Whether the waiter may take hold of it.
    pub(crate) is_watched: bool,
}

#[derive(Default)]
pub(crate) struct Tracker {
    pub(crate) hazards: HazardTable,
    pub(crate) holds: Holds,
    lanes: HashMap<LaneId, Registered>,
}

impl Tracker {
    pub(crate) fn register(&mut self, id: LaneId, registered: Registered) {
        self.lanes.insert(id, registered);
    }

    /// Takes note that the timeline of `lane` was seen to reach `value`.
    pub(crate) fn completed(&mut self, lane: LaneId, value: u64) {
        for implied in self.hazards.completed(lane, value) {
            // A lane that is gone was seen to be done.
            if let Some(registered) = self.lanes.get(&implied.lane) {
                registered.timeline.show_reached(implied.value);
            }
        }
    }

    /// Forgets a lane whose work is done, up to its last batch.
    pub(crate) fn forget(&mut self, id: LaneId, newest: u64) {
        self.completed(id, newest);
        self.hazards.remove_lane(id);
        self.lanes.remove(&id);
    }

    /// The lanes that the waiter looks after.
    pub(crate) fn watched_lanes(&self) -> Vec<Arc<Lane>> {
        let watched = self.lanes.values().filter(|registered| registered.is_watched);
        watched.filter_map(|registered| registered.lane.upgrade()).collect()
    }

    /// Keeps the waiter from taking hold of the lane from here on.
    pub(crate) fn unwatch(&mut self, id: LaneId) {
        if let Some(registered) = self.lanes.get_mut(&id) {
            registered.is_watched = false;
        }
    }

    /// The lanes that somebody still records on.
    pub(crate) fn lanes(&self) -> Vec<Arc<Lane>> {
        self.lanes.values().filter_map(|registered| registered.lane.upgrade()).collect()
    }

    /// Where the work of every lane ends, also of those whose work was never seen to end.
    pub(crate) fn timelines(&self) -> Vec<Arc<Timeline>> {
        self.lanes.values().map(|registered| Arc::clone(&registered.timeline)).collect()
    }

    /// The point at which `lane` has done everything up to `value`; nothing if the lane is gone, so done.
    pub(crate) fn point(&self, lane: LaneId, value: u64) -> Option<Point> {
        let registered = self.lanes.get(&lane)?;
        Some(Point::new(Arc::clone(&registered.timeline), Weak::clone(&registered.lane), value))
    }

    pub(crate) fn uses(&mut self, block: BlockId, range: Range<u64>, mode: Mode) -> SmallVec<[Point; 2]> {
        let uses = self.hazards.uses(block, range, mode);
        uses.into_iter().filter_map(|last| self.point(last.lane, last.value)).collect()
    }

    /// The points at which these uses are over. Those of lanes that are gone are.
    pub(crate) fn points(&self, uses: &[LastUse]) -> Vec<Point> {
        uses.iter().filter_map(|last| self.point(last.lane, last.value)).collect()
    }

    /// Forgets the uses that are over.
    pub(crate) fn forget_complete(&mut self, uses: &mut LastUses) -> Result<()> {
        let mut failed = Ok(());
        uses.retain(|last| {
            let Some(point) = self.point(last.lane, last.value) else { return false };
            match point.is_complete() {
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

impl fmt::Debug for Tracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracker").field("lanes", &self.lanes.len()).finish_non_exhaustive()
    }
}
