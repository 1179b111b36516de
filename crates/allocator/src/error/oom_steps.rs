//! The steps that are tried when memory runs out, and what came of them. Plain data.

/// A step against running out of memory, from the cheapest to the most expensive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OomStep {
    /// Frees dropped memory that the device no longer uses.
    Reclaim,
    /// Frees dropped memory that [`defer_cleanup`](crate::MemoryManager::defer_cleanup) holds back and that the device no
    /// longer uses.
    HeldBack,
    /// Waits, for a limited time, for as much of the oldest dropped memory as is needed.
    Wait,
    /// Waits, for a limited time, for all dropped memory.
    Drain,
    /// Gives unused memory of the manager back to the driver.
    Trim,
    /// Requests a smaller chunk from the driver than usual.
    Smaller,
    /// Requests memory from the driver for this allocation alone.
    Dedicated,
}

impl OomStep {
    /// Every step, in order.
    pub const ALL: [Self; 7] =
        [Self::Reclaim, Self::HeldBack, Self::Wait, Self::Drain, Self::Trim, Self::Smaller, Self::Dedicated];
}

vkarray_driver::display_texts!(OomStep {
    Reclaim: "free unused memory",
    HeldBack: "free memory held back by defer_cleanup",
    Wait: "wait for the oldest dropped memory",
    Drain: "wait for all dropped memory",
    Trim: "trim",
    Smaller: "smaller chunks",
    Dedicated: "dedicated memory",
});

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepOutcome {
    /// The manager does not have this step.
    Absent,
    /// The step gained nothing.
    Nothing,
    /// The wait ended without success; work that never ends may use the memory.
    TimedOut,
    /// The step gained something, but not enough.
    Relieved,
}

vkarray_driver::display_texts!(StepOutcome {
    Absent: "not available",
    Nothing: "gained nothing",
    TimedOut: "timed out",
    Relieved: "not enough",
});

/// The steps that were tried for one allocation and their outcomes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOutcomes([Option<StepOutcome>; OomStep::ALL.len()]);

impl StepOutcomes {
    /// Records the outcome of a step.
    pub fn record(&mut self, step: OomStep, outcome: StepOutcome) {
        self.0[step as usize] = Some(outcome);
    }

    /// The outcome of a step; `None` if it was not reached.
    pub fn at(&self, step: OomStep) -> Option<StepOutcome> {
        self.0[step as usize]
    }

    /// The steps that were reached, in order.
    pub fn tried(&self) -> impl Iterator<Item = (OomStep, StepOutcome)> {
        OomStep::ALL.into_iter().zip(self.0).filter_map(|(step, outcome)| Some((step, outcome?)))
    }
}
