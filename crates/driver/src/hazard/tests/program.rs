//! Random programs for the oracle: what is done to which lane and block, as plain values that can be shrunk.
//!
//! Steps name lanes and blocks by small numbers and ask for nothing impossible, so every subset of a program is a
//! program. What a step means is in `machine.rs`.

use std::ops::Range;

use crate::hazard::Stage;

/// Bytes of a block that the machine keeps values for.
pub(super) const N_CELLS: u64 = 24;

#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) block: usize,
    pub(super) range: Range<u64>,
    pub(super) is_write: bool,
    pub(super) stage: Stage,
    pub(super) is_ordered: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Records an operation.
    Operate { lane: usize, touches: Vec<Touch> },
    /// Closes the open batch.
    Submit { lane: usize },
    /// Lets one more batch complete if it can, and may report it to the table.
    Complete { lane: usize, is_reported: bool },
    /// Lets a lane wait for all that another one holds.
    Wait { lane: usize, on: usize },
    /// Removes the lane and puts a new one in its place.
    ReplaceLane { lane: usize },
    /// Retires the block and gives its memory to a new one.
    Recycle { block: usize },
    /// Asks what the host has to wait for.
    HostUse { block: usize, range: Range<u64>, is_write: bool },
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) n_lanes: usize,
    pub(super) n_blocks: usize,
    /// Whether a batch that another lane waits for may go on collecting operations.
    pub(super) is_lazy: bool,
    pub(super) steps: Vec<Step>,
}

/// What kind of programs to make.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) max_lanes: u64,
    pub(super) max_blocks: u64,
    /// Operations a program.
    pub(super) n_operations: Range<u64>,
    pub(super) max_touches: u64,
    /// Bytes that operations choose from.
    pub(super) n_cells: u64,
    /// Whether there are unordered and empty accesses and recycled blocks.
    pub(super) has_exceptions: bool,
}

/// A small generator (splitmix64): the oracle needs speed and a printable seed, nothing more.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("below a usize")
    }

    /// Whether one of `n` equal chances came up.
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Program {
    pub(super) fn random(seed: u64, profile: &Profile) -> Self {
        let mut rng = Rng(seed);
        let n_lanes = 1 + rng.index(usize::try_from(profile.max_lanes).expect("small"));
        let n_blocks = 1 + rng.index(usize::try_from(profile.max_blocks).expect("small"));
        let mut maker = Maker { n_lanes, n_blocks, n_stages: 1 + rng.index(Stage::ALL.len()), profile, rng: &mut rng };
        let mut steps = Vec::new();
        let n_operations =
            profile.n_operations.start + maker.rng.below(profile.n_operations.end - profile.n_operations.start);
        for _ in 0..n_operations {
            steps.push(maker.operate());
            if maker.rng.one_in(2) {
                steps.push(maker.other());
            }
        }
        Self { n_lanes, n_blocks, is_lazy: rng.one_in(4), steps }
    }

    /// Programs with one step or one access less, to find a smaller one that fails.
    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        for at in 0..self.steps.len() {
            let mut program = self.clone();
            program.steps.remove(at);
            smaller.push(program);
        }
        for (at, step) in self.steps.iter().enumerate() {
            let Step::Operate { touches, .. } = step else { continue };
            for touch in 0..touches.len() {
                let mut program = self.clone();
                let Step::Operate { touches, .. } = &mut program.steps[at] else { unreachable!("just matched") };
                touches.remove(touch);
                smaller.push(program);
            }
        }
        smaller
    }
}

struct Maker<'a> {
    n_lanes: usize,
    n_blocks: usize,
    /// Stages that the program uses; a third of the programs only compute.
    n_stages: usize,
    profile: &'a Profile,
    rng: &'a mut Rng,
}

impl Maker<'_> {
    fn operate(&mut self) -> Step {
        let n_touches = 1 + self.rng.below(self.profile.max_touches);
        let lane = self.rng.index(self.n_lanes);
        Step::Operate { lane, touches: (0..n_touches).map(|_| self.touch()).collect() }
    }

    fn touch(&mut self) -> Touch {
        Touch {
            block: self.rng.index(self.n_blocks),
            range: self.range(),
            is_write: self.rng.one_in(2),
            stage: Stage::ALL[self.rng.index(self.n_stages)],
            is_ordered: !(self.profile.has_exceptions && self.rng.one_in(16)),
        }
    }

    fn range(&mut self) -> Range<u64> {
        if self.rng.one_in(6) {
            return 0..u64::MAX;
        }
        let start = self.rng.below(self.profile.n_cells);
        let shortest = u64::from(!self.profile.has_exceptions);
        start..start + shortest + self.rng.below((self.profile.n_cells - start).min(4))
    }

    fn other(&mut self) -> Step {
        let lane = self.rng.index(self.n_lanes);
        let block = self.rng.index(self.n_blocks);
        match self.rng.below(if self.profile.has_exceptions { 20 } else { 16 }) {
            0..5 => Step::Submit { lane },
            // Any lane that ever was: a removed one goes on to complete.
            5..12 => Step::Complete { lane: self.rng.index(self.n_lanes + 1), is_reported: !self.rng.one_in(3) },
            12 => Step::Wait { lane, on: self.rng.index(self.n_lanes) },
            13 => Step::ReplaceLane { lane },
            14 | 15 => Step::HostUse { block, range: self.range(), is_write: self.rng.one_in(2) },
            _ => Step::Recycle { block },
        }
    }
}
