//! [`LaneHistory`]: whether the threads of a cache use one stream or several in turn. Pure.

/// How many ranges in a row must have been used on one lane before the threads count as using one stream.
pub(super) const STEADY: u8 = 16;

/// The lanes on which freed ranges were used.
#[derive(Debug, Clone)]
pub(super) struct LaneHistory<L> {
    lane: Option<L>,
    n_alike: u8,
}

impl<L: PartialEq> LaneHistory<L> {
    /// A history without ranges, which counts as one stream.
    pub(super) const fn new() -> Self {
        Self { lane: None, n_alike: STEADY }
    }

    /// Adds a freed range that was used on `lane` alone.
    pub(super) fn note(&mut self, lane: L) {
        if self.lane.as_ref().is_none_or(|last| *last == lane) {
            self.n_alike = self.n_alike.saturating_add(1).min(STEADY);
        } else {
            self.n_alike = 0;
        }
        self.lane = Some(lane);
    }

    /// Whether the threads use one stream.
    pub(super) fn is_steady(&self) -> bool {
        self.n_alike >= STEADY
    }
}
