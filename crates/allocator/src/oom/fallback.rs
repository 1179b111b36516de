//! What is tried when memory runs out, in which order. Pure: generic over what gives the memory.
//!
//! Each rung is taken once, cheapest first, and memory is asked for again only after a rung that relieved something.
//! What a rung does is its manager's; `manager/passthrough.rs` is the plain example. What a failed climb says of itself
//! is in `out_of_memory.rs`.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A step against running out, from the cheapest to the dearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rung {
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

impl Rung {
    /// Every rung, in the order in which they are taken.
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

impl fmt::Display for Rung {
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

/// What came of taking a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Taken {
    /// The manager does not have it.
    Absent,
    /// There was nothing to gain.
    Nothing,
    /// The wait was given up; work that never ends may hold the memory.
    TimedOut,
    /// Something was gained, and yet the memory was not there.
    Relieved,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "not there",
            Self::Nothing => "nothing to gain",
            Self::TimedOut => "given up after a while",
            Self::Relieved => "not enough",
        })
    }
}

/// The rungs of one climb and what came of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail([Option<Taken>; Rung::ALL.len()]);

impl Trail {
    /// Notes what came of a rung.
    pub fn note(&mut self, rung: Rung, taken: Taken) {
        self.0[rung as usize] = Some(taken);
    }

    /// What came of a rung; nothing if it was not tried.
    #[must_use]
    pub fn at(&self, rung: Rung) -> Option<Taken> {
        self.0[rung as usize]
    }

    /// The rungs that were there to be tried, in order.
    pub fn tried(&self) -> impl Iterator<Item = (Rung, Taken)> {
        Rung::ALL.into_iter().zip(self.0).filter_map(|(rung, taken)| Some((rung, taken?)))
    }
}

/// Gives memory, and knows what may help when there is none.
pub(crate) trait Climber {
    /// What is wanted.
    type Memory;
    /// Why it cannot be had.
    type Error;

    /// Asks for the memory, in the way that the rungs taken so far chose.
    fn attempt(&mut self) -> Result<Self::Memory, Self::Error>;

    /// Whether this error is one that a rung may help against.
    fn ran_out(error: &Self::Error) -> bool;

    /// Takes a rung.
    fn take(&mut self, rung: Rung) -> Result<Taken, Self::Error>;
}

/// Why a climb ended without memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fall<E> {
    /// It ran out on every rung; the last refusal.
    RanOut(E, Trail),
    /// Something else went wrong.
    Failed(E),
}

/// How often one rung was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RungCount {
    /// Times it was taken, where the manager has it.
    pub taken: u64,
    /// Times the memory was there right after it.
    pub saved: u64,
}

/// How often memory ran out, and what helped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LadderCounts {
    /// Times the first attempt ran out.
    pub climbs: u64,
    /// Times no rung helped.
    pub failed: u64,
    rungs: [RungCount; Rung::ALL.len()],
}

impl LadderCounts {
    /// How often that rung was taken.
    #[must_use]
    pub fn of(&self, rung: Rung) -> RungCount {
        self.rungs[rung as usize]
    }
}

/// Climbs, and counts.
#[derive(Debug, Default)]
pub(crate) struct Ladder {
    climbs: AtomicU64,
    failed: AtomicU64,
    taken: [AtomicU64; Rung::ALL.len()],
    saved: [AtomicU64; Rung::ALL.len()],
}

impl Ladder {
    /// Asks for memory; when it runs out, takes one rung after the other until it is there.
    pub(crate) fn climb<C: Climber>(&self, climber: &mut C) -> Result<C::Memory, Fall<C::Error>> {
        match climber.attempt() {
            Ok(memory) => Ok(memory),
            Err(error) if C::ran_out(&error) => self.climb_from(climber, error),
            Err(error) => Err(Fall::Failed(error)),
        }
    }

    #[cold]
    fn climb_from<C: Climber>(&self, climber: &mut C, mut last: C::Error) -> Result<C::Memory, Fall<C::Error>> {
        count(&self.climbs);
        let mut trail = Trail::default();
        for rung in Rung::ALL {
            let taken = climber.take(rung).map_err(Fall::Failed)?;
            trail.note(rung, taken);
            if taken != Taken::Absent {
                count(&self.taken[rung as usize]);
            }
            if matches!(taken, Taken::Absent | Taken::Nothing) {
                continue;
            }
            match climber.attempt() {
                Ok(memory) => {
                    count(&self.saved[rung as usize]);
                    return Ok(memory);
                }
                Err(error) if C::ran_out(&error) => last = error,
                Err(error) => return Err(Fall::Failed(error)),
            }
        }
        count(&self.failed);
        Err(Fall::RanOut(last, trail))
    }

    /// How often so far. The numbers are taken one after the other.
    pub(crate) fn counts(&self) -> LadderCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let rungs = Rung::ALL
            .map(|rung| RungCount { taken: read(&self.taken[rung as usize]), saved: read(&self.saved[rung as usize]) });
        LadderCounts { climbs: read(&self.climbs), failed: read(&self.failed), rungs }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
