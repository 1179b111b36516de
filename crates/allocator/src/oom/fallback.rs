//! What is tried when memory runs out, in which order. Pure: generic over what gives the memory.
//!
//! Each step is taken once, cheapest first, and memory is asked for again only after a step that relieved something.
//! What a step does is its manager's; `manager/passthrough.rs` is the plain example. What a failed climb says of itself
//! is in `out_of_memory.rs`.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A step against running out, from the cheapest to the dearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OomStep {
    /// Frees what was dropped and the device is done with.
    Reclaim,
    /// Frees the same of what [`defer_cleanup`](crate::MemoryManager::defer_cleanup) holds back: running out is worse
    /// than a late free.
    HeldBack,
    /// Waits, for a limited time, for the oldest dropped memory that is enough.
    Wait,
    /// Waits, for a limited time, for all dropped memory.
    Drain,
    /// Gives unused memory that the manager keeps back to the driver.
    Trim,
    /// Gives up caches of other kinds.
    Caches,
    /// Asks the driver for less at once than the manager usually does.
    Smaller,
    /// Asks for memory of its own for this allocation.
    Dedicated,
    /// Asks the program to let go of something.
    Callback,
}

impl OomStep {
    /// Every step, in the order in which they are taken.
    pub const ALL: [Self; 9] = [
        Self::Reclaim,
        Self::HeldBack,
        Self::Wait,
        Self::Drain,
        Self::Trim,
        Self::Caches,
        Self::Smaller,
        Self::Dedicated,
        Self::Callback,
    ];
}

impl fmt::Display for OomStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reclaim => "free what is done",
            Self::HeldBack => "free what defer_cleanup holds back",
            Self::Wait => "wait for the oldest that is enough",
            Self::Drain => "wait for all that is dropped",
            Self::Trim => "trim",
            Self::Caches => "release caches",
            Self::Smaller => "smaller chunks",
            Self::Dedicated => "memory of its own",
            Self::Callback => "ask the program",
        })
    }
}

/// What came of taking a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepOutcome {
    /// The manager does not have it.
    Absent,
    /// There was nothing to gain.
    Nothing,
    /// The wait was given up; work that never ends may hold the memory.
    TimedOut,
    /// Something was gained, and yet the memory was not there.
    Relieved,
}

impl fmt::Display for StepOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "not there",
            Self::Nothing => "nothing to gain",
            Self::TimedOut => "given up after a while",
            Self::Relieved => "not enough",
        })
    }
}

/// The steps of one climb and what came of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOutcomes([Option<StepOutcome>; OomStep::ALL.len()]);

impl StepOutcomes {
    /// Notes what came of a step.
    pub fn note(&mut self, step: OomStep, taken: StepOutcome) {
        self.0[step as usize] = Some(taken);
    }

    /// What came of a step; nothing if it was not tried.
    #[must_use]
    pub fn at(&self, step: OomStep) -> Option<StepOutcome> {
        self.0[step as usize]
    }

    /// The steps that were there to be tried, in order.
    pub fn tried(&self) -> impl Iterator<Item = (OomStep, StepOutcome)> {
        OomStep::ALL.into_iter().zip(self.0).filter_map(|(step, taken)| Some((step, taken?)))
    }
}

/// Gives memory, and knows what may help when there is none.
pub(crate) trait OomHandler {
    /// What is wanted.
    type Memory;
    /// Why it cannot be had.
    type Error;

    /// Asks for the memory, in the way that the steps taken so far chose.
    fn attempt(&mut self) -> Result<Self::Memory, Self::Error>;

    /// Whether this error is one that a step may help against.
    fn ran_out(error: &Self::Error) -> bool;

    /// Takes a step.
    fn take(&mut self, step: OomStep) -> Result<StepOutcome, Self::Error>;
}

/// Why a climb ended without memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FallbackError<E> {
    /// It ran out on every step; the last refusal.
    RanOut(E, StepOutcomes),
    /// Something else went wrong.
    Failed(E),
}

/// How often one step was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OomStepCount {
    /// Times it was taken, where the manager has it.
    pub taken: u64,
    /// Times the memory was there right after it.
    pub helped: u64,
}

/// How often memory ran out, and what helped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OomCounts {
    /// Times the first attempt ran out.
    pub runs: u64,
    /// Times no step helped.
    pub failed: u64,
    steps: [OomStepCount; OomStep::ALL.len()],
}

impl OomCounts {
    /// How often that step was taken.
    #[must_use]
    pub fn of(&self, step: OomStep) -> OomStepCount {
        self.steps[step as usize]
    }
}

/// Climbs, and counts.
#[derive(Debug, Default)]
pub(crate) struct OomFallback {
    runs: AtomicU64,
    failed: AtomicU64,
    taken: [AtomicU64; OomStep::ALL.len()],
    helped: [AtomicU64; OomStep::ALL.len()],
}

impl OomFallback {
    /// Asks for memory; when it runs out, takes one step after the other until it is there.
    pub(crate) fn run<C: OomHandler>(&self, climber: &mut C) -> Result<C::Memory, FallbackError<C::Error>> {
        match climber.attempt() {
            Ok(memory) => Ok(memory),
            Err(error) if C::ran_out(&error) => self.run_steps(climber, error),
            Err(error) => Err(FallbackError::Failed(error)),
        }
    }

    #[cold]
    fn run_steps<C: OomHandler>(
        &self,
        climber: &mut C,
        mut last: C::Error,
    ) -> Result<C::Memory, FallbackError<C::Error>> {
        count(&self.runs);
        let mut steps = StepOutcomes::default();
        for step in OomStep::ALL {
            let taken = climber.take(step).map_err(FallbackError::Failed)?;
            steps.note(step, taken);
            if taken != StepOutcome::Absent {
                count(&self.taken[step as usize]);
            }
            if matches!(taken, StepOutcome::Absent | StepOutcome::Nothing) {
                continue;
            }
            match climber.attempt() {
                Ok(memory) => {
                    count(&self.helped[step as usize]);
                    return Ok(memory);
                }
                Err(error) if C::ran_out(&error) => last = error,
                Err(error) => return Err(FallbackError::Failed(error)),
            }
        }
        count(&self.failed);
        Err(FallbackError::RanOut(last, steps))
    }

    /// How often so far. The numbers are taken one after the other.
    pub(crate) fn counts(&self) -> OomCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let steps = OomStep::ALL.map(|step| OomStepCount {
            taken: read(&self.taken[step as usize]),
            helped: read(&self.helped[step as usize]),
        });
        OomCounts { runs: read(&self.runs), failed: read(&self.failed), steps }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
