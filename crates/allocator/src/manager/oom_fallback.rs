//! The steps that are tried when memory runs out, and their order: control flow, generic over the source of the memory.
//!
//! Each step is taken at most once, cheapest first. Memory is requested again only after a step that gained something.
//! The manager defines each step; `passthrough/fallback.rs` is the simplest example. The report of an
//! allocation that failed in the end is in `error/out_of_memory.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, OomStep, OutOfMemory, Result, StepOutcome, StepOutcomes};

/// How long the steps of one allocation may wait in total.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(10);

/// One allocation: how to attempt it, and what each step does.
pub(crate) trait OomHandler {
    /// The memory that is allocated.
    type Memory;

    /// Requests the memory, in the form that the steps taken so far have determined.
    fn attempt(&mut self) -> Result<Self::Memory>;

    /// Takes a step.
    fn take(&mut self, step: OomStep) -> Result<StepOutcome>;

    /// Adds to the report of an allocation that no step helped.
    fn complete(&self, report: &mut OutOfMemory);
}

/// How often one step was taken, and how often it helped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OomStepCount {
    /// How often the step was taken.
    pub taken: u64,
    /// How often the allocation succeeded right after the step.
    pub helped: u64,
}

/// How often memory ran out, and which steps helped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OomCounts {
    /// Allocations whose first attempt ran out of memory.
    pub runs: u64,
    /// Allocations that no step helped.
    pub failed: u64,
    steps: [OomStepCount; OomStep::ALL.len()],
}

impl OomCounts {
    /// The counts of a step.
    pub fn of(&self, step: OomStep) -> OomStepCount {
        self.steps[step as usize]
    }
}

/// Runs the steps and counts them.
#[derive(Debug, Default)]
pub(crate) struct OomFallback {
    runs: AtomicU64,
    failed: AtomicU64,
    taken: [AtomicU64; OomStep::ALL.len()],
    helped: [AtomicU64; OomStep::ALL.len()],
}

impl OomFallback {
    /// Attempts an allocation. When memory runs out, takes one step after the other until an attempt succeeds.
    pub(crate) fn run<C: OomHandler>(&self, allocation: &mut C) -> Result<C::Memory> {
        match allocation.attempt() {
            Err(error) if error.is_out_of_memory() => self.run_steps(allocation, error),
            outcome => outcome,
        }
    }

    #[cold]
    fn run_steps<C: OomHandler>(&self, allocation: &mut C, mut last: Error) -> Result<C::Memory> {
        count(&self.runs);
        let mut steps = StepOutcomes::default();
        for step in OomStep::ALL {
            let outcome = allocation.take(step)?;
            steps.record(step, outcome);
            if outcome != StepOutcome::Absent {
                count(&self.taken[step as usize]);
            }
            if matches!(outcome, StepOutcome::Absent | StepOutcome::Nothing) {
                continue;
            }
            match allocation.attempt() {
                Ok(memory) => {
                    count(&self.helped[step as usize]);
                    return Ok(memory);
                }
                Err(error) if error.is_out_of_memory() => last = error,
                Err(error) => return Err(error),
            }
        }
        count(&self.failed);
        if let Error::OutOfMemory(report) = &mut last {
            report.steps = steps;
            allocation.complete(report);
        }
        Err(last)
    }

    /// The counts so far. The counters are read one after the other.
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
