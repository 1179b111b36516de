//! [`LaneHistory`]: whether the threads of a cache use one stream or several in turn. Pure.

/// How many ranges in a row must have been used on one lane before the threads count as using one stream.
pub(super) const STEADY: u8 = 16;

/// The lanes on which freed ranges were used. A history without ranges counts as one stream.
#[derive(Debug, Clone, Default)]
pub(super) struct LaneHistory<L> {
    lane: Option<L>,
    /// How many more ranges on the last lane make the threads count as using one stream.
    n_missing: u8,
}

impl<L: PartialEq> LaneHistory<L> {
    /// Adds a freed range that was used on `lane` alone.
    pub(super) fn note(&mut self, lane: L) {
        if self.lane.as_ref().is_none_or(|last| *last == lane) {
            self.n_missing = self.n_missing.saturating_sub(1);
        } else {
            self.n_missing = STEADY;
        }
        self.lane = Some(lane);
    }

    /// Whether the threads use one stream.
    pub(super) fn is_steady(&self) -> bool {
        self.n_missing == 0
    }
}
