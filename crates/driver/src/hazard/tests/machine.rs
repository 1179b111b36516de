//! A weakly ordered machine: nothing runs after anything else unless a barrier, a wait or a reported completion says
//! so.
//!
//! The machine runs programs against the planner, and keeps the order that the plans give as a graph over single
//! accesses. Its rules are written from the Vulkan specification and not from the planner: it uses sets of bits, merges
//! no ranges and forgets nothing. The verdicts are in `verdict.rs`.

use std::ops::Range;

use super::AccessPlan;
use super::program::{Program, Step, Touch};
use crate::hazard::{Barrier, BlockAccess, BlockId, HazardTable, LaneId, LanePoint, Mode, Operation, Points, Stage};

/// A set of accesses, by number. Programs are cut off at 64.
pub(super) type Set = u64;

pub(super) const MAX_NODES: usize = 64;

/// One access of one operation.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) operation: usize,
    pub(super) lane: usize,
    pub(super) batch: u64,
    pub(super) touch: Touch,
    /// How often the memory had changed hands.
    pub(super) owner: usize,
    /// Accesses ordered before it by barriers, and by completions the host knew of when it was recorded.
    incoming: Set,
}

#[derive(Debug)]
struct Lane {
    id: LaneId,
    open: u64,
    has_operations: bool,
    done: u64,
    seen_done: u64,
    /// (from this batch on, runs after that lane, up to this value)
    waits: Vec<(u64, usize, u64)>,
    /// Accesses that barriers order before later ones of each stage.
    behind_barriers: [Set; Stage::ALL.len()],
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    pub(super) operations: u64,
    pub(super) barriers: u64,
    pub(super) waits: u64,
    pub(super) last_uses: u64,
    pub(super) host_waits: u64,
}

#[derive(Debug, Default)]
pub(super) struct Machine {
    table: HazardTable,
    lanes: Vec<Lane>,
    /// The lane that now has each number.
    current: Vec<usize>,
    blocks: Vec<(BlockId, usize)>,
    pub(super) nodes: Vec<Node>,
    is_lazy: bool,
    pub(super) counts: Counts,
}

pub(super) fn has(set: Set, at: usize) -> bool {
    set >> at & 1 == 1
}

fn fail_if(is_wrong: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if is_wrong { Err(what()) } else { Ok(()) }
}

impl Machine {
    /// Runs a program. `check_need` also demands that every barrier, stage and wait is needed.
    pub(super) fn run(program: &Program, check_need: bool) -> Result<Self, String> {
        let mut machine = Self { is_lazy: program.is_lazy, ..Self::default() };
        for _ in 0..program.n_lanes {
            machine.current.push(machine.lanes.len());
            machine.add_lane();
        }
        for _ in 0..program.n_blocks {
            let block = machine.table.add_block();
            machine.blocks.push((block, 0));
        }
        for step in &program.steps {
            machine.step(step, check_need).map_err(|what| format!("{what}\n  at {step:?}"))?;
        }
        Ok(machine)
    }

    fn step(&mut self, step: &Step, check_need: bool) -> Result<(), String> {
        match *step {
            Step::Operate { lane, ref touches } => self.operate(self.current[lane], touches, check_need),
            Step::Submit { lane } => {
                self.close(self.current[lane]);
                Ok(())
            }
            Step::Complete { lane, is_reported } => {
                self.complete(lane % self.lanes.len(), is_reported);
                Ok(())
            }
            Step::Wait { lane, on } => {
                self.wait(self.current[lane], self.current[on]);
                Ok(())
            }
            Step::ReplaceLane { lane } => {
                self.replace_lane(lane);
                Ok(())
            }
            Step::Recycle { block } => self.recycle(block),
            Step::HostUse { block, ref range, is_write } => self.host_use(block, range, is_write),
        }
    }

    fn add_lane(&mut self) {
        let id = self.table.add_lane();
        self.lanes.push(Lane {
            id,
            open: 1,
            has_operations: false,
            done: 0,
            seen_done: 0,
            waits: Vec::new(),
            behind_barriers: [0; Stage::ALL.len()],
        });
    }

    fn replace_lane(&mut self, number: usize) {
        let old = self.current[number];
        self.close(old);
        self.table.remove_lane(self.lanes[old].id);
        self.current[number] = self.lanes.len();
        self.add_lane();
    }

    fn close(&mut self, lane: usize) {
        self.lanes[lane].open += 1;
        self.lanes[lane].has_operations = false;
    }

    fn wait(&mut self, lane: usize, on: usize) {
        if lane == on {
            return;
        }
        self.close(on);
        if self.lanes[lane].has_operations {
            self.close(lane);
        }
        let (since, value) = (self.lanes[lane].open, self.lanes[on].open - 1);
        self.lanes[lane].waits.push((since, on, value));
        self.table.waited(self.lanes[lane].id, since, LanePoint { lane: self.lanes[on].id, value });
    }

    fn complete(&mut self, lane: usize, is_reported: bool) {
        let next = self.lanes[lane].done + 1;
        let can_run = |&(since, on, value): &(u64, usize, u64)| since > next || self.lanes[on].done >= value;
        if next < self.lanes[lane].open && self.lanes[lane].waits.iter().all(can_run) {
            self.lanes[lane].done = next;
        }
        let done = self.lanes[lane].done;
        if is_reported && done > 0 {
            self.tell(lane, done);
            self.table.completed(self.lanes[lane].id, done);
            self.table.completed(self.lanes[lane].id, done - 1); // Late news changes nothing.
        }
    }

    /// The host has seen that a batch is done, so all that it had waited for is done.
    fn tell(&mut self, lane: usize, value: u64) {
        self.lanes[lane].seen_done = self.lanes[lane].seen_done.max(value);
        for (since, on, waited) in self.lanes[lane].waits.clone() {
            if since <= value && self.lanes[on].seen_done < waited {
                self.tell(on, waited);
            }
        }
    }

    fn operate(&mut self, lane: usize, touches: &[Touch], check_need: bool) -> Result<(), String> {
        if self.nodes.len() + touches.len() > MAX_NODES {
            return Ok(());
        }
        let accesses: Vec<BlockAccess> = touches.iter().map(|touch| self.access(touch)).collect();
        let plan = self.table.plan(self.lanes[lane].id, &accesses);
        let waits = self.check_points(&plan.waits)?;
        fail_if(waits.iter().any(|&(on, _)| on == lane), || "a lane waits for itself".into())?;
        if check_need {
            self.check_need(lane, touches, &plan, &waits)?;
        }
        if !waits.is_empty() && self.lanes[lane].has_operations {
            self.close(lane);
        }
        for &(on, value) in &waits {
            if !self.is_lazy && self.lanes[on].open == value {
                self.close(on);
            }
            let since = self.lanes[lane].open;
            self.lanes[lane].waits.push((since, on, value));
        }
        self.table.commit(&plan, self.lanes[lane].open, Operation::Once(&accesses));
        self.counts.waits += waits.len() as u64;
        self.record(lane, touches, plan.barrier);
        Ok(())
    }

    fn record(&mut self, lane: usize, touches: &[Touch], barrier: Option<Barrier>) {
        if let Some(barrier) = barrier {
            self.counts.barriers += 1;
            let earlier = self.barrier_sources(lane, barrier);
            for stage in barrier.dst_stages.iter() {
                self.lanes[lane].behind_barriers[stage as usize] |= earlier;
            }
        }
        let seen_done = self.seen_done();
        self.lanes[lane].has_operations = true;
        for touch in touches {
            let Lane { open: batch, behind_barriers, .. } = self.lanes[lane];
            let operation = usize::try_from(self.counts.operations).expect("small");
            let incoming = seen_done | behind_barriers[touch.stage as usize];
            let owner = self.blocks[touch.block].1;
            self.nodes.push(Node { operation, lane, batch, touch: touch.clone(), owner, incoming });
        }
        self.counts.operations += 1;
    }

    fn access(&self, touch: &Touch) -> BlockAccess {
        BlockAccess {
            block: self.blocks[touch.block].0,
            range: touch.range.clone(),
            mode: if touch.is_write { Mode::Write } else { Mode::Read },
            stage: touch.stage,
            ordered: touch.is_ordered,
        }
    }

    fn recycle(&mut self, number: usize) -> Result<(), String> {
        let (block, owner) = self.blocks[number];
        let last_uses = self.table.retire_block(block);
        let points: Points = last_uses.iter().map(|last| last.point()).collect();
        self.check_reached(&points, |node| node.touch.block == number)?;
        self.counts.last_uses += points.len() as u64;
        let block = if points.is_empty() { self.table.add_block() } else { self.table.add_block_after(&last_uses) };
        self.blocks[number] = (block, owner + 1);
        Ok(())
    }

    fn host_use(&mut self, number: usize, range: &Range<u64>, is_write: bool) -> Result<(), String> {
        let block = self.blocks[number].0;
        let mode = if is_write { Mode::Write } else { Mode::Read };
        let points = self.table.uses(block, range.clone(), mode);
        let host = Touch { block: number, range: range.clone(), is_write, stage: Stage::Transfer, is_ordered: true };
        self.check_reached(&points, |node| overlap(&node.touch, &host) && (node.touch.is_write || is_write))?;
        self.counts.host_waits += points.len() as u64;
        Ok(())
    }

    /// Checks that all `wanted` accesses are done after a wait for `points`.
    fn check_reached(&self, points: &Points, wanted: impl Fn(&Node) -> bool) -> Result<(), String> {
        let direct =
            self.check_points(points)?.iter().fold(self.seen_done(), |set, &(on, value)| set | self.up_to(on, value));
        let reached = close(direct, &self.closure());
        let missed = self.nodes.iter().enumerate().find(|&(at, node)| wanted(node) && !has(reached, at));
        missed.map_or(Ok(()), |(_, node)| Err(format!("{points:?} does not cover {node:?}")))
    }

    /// Checks that points are distinct, exist and are not known to be reached, and returns them as (lane, value).
    fn check_points(&self, points: &Points) -> Result<Vec<(usize, u64)>, String> {
        let mut found: Vec<(usize, u64)> = Vec::new();
        for point in points {
            let on = self.lanes.iter().position(|lane| lane.id == point.lane).ok_or("a point on no lane")?;
            fail_if(found.iter().any(|&(other, _)| other == on), || format!("lane {on} twice in {points:?}"))?;
            let (seen_done, open) = (self.lanes[on].seen_done, self.lanes[on].open);
            fail_if(point.value <= seen_done || point.value > open, || {
                format!("{point:?}: seen_done {seen_done}, open {open}")
            })?;
            found.push((on, point.value));
        }
        Ok(found)
    }

    /// Checks that each wait and each stage is needed: without it, some conflict would be unordered.
    fn check_need(
        &self,
        lane: usize,
        touches: &[Touch],
        plan: &AccessPlan,
        waits: &[(usize, u64)],
    ) -> Result<(), String> {
        let closure = self.closure();
        let seen_done = self.seen_done();
        let before = |touch: &Touch, waits: &mut dyn Iterator<Item = (usize, u64)>, barrier: Set| {
            let own = self.lanes[lane].behind_barriers[touch.stage as usize] | self.waited(lane, self.lanes[lane].open);
            close(waits.fold(seen_done | own | barrier, |set, (on, value)| set | self.up_to(on, value)), &closure)
        };
        let all = || waits.iter().copied();
        let sources = plan.barrier.map_or(0, |barrier| self.barrier_sources(lane, barrier));
        for &wait in waits {
            let is_needed = touches.iter().any(|touch| {
                let is_dst = plan.barrier.is_some_and(|barrier| barrier.dst_stages.contains(touch.stage));
                let set = before(touch, &mut all().filter(|&other| other != wait), if is_dst { sources } else { 0 });
                self.conflicts(touch).any(|at| !has(set, at))
            });
            fail_if(!is_needed, || format!("needless wait for {wait:?} in {waits:?}"))?;
        }
        let Some(barrier) = plan.barrier else { return Ok(()) };
        let unordered = |touch: &Touch| {
            let set = before(touch, &mut all(), 0);
            self.conflicts(touch).filter(move |&at| !has(set, at)).collect::<Vec<_>>()
        };
        for dst in barrier.dst_stages.iter() {
            let is_needed = touches.iter().any(|touch| touch.stage == dst && !unordered(touch).is_empty());
            fail_if(!is_needed, || format!("needless destination {dst:?} in {barrier:?}"))?;
        }
        for src in barrier.src_stages.iter() {
            let is_src = |at: usize| self.nodes[at].touch.stage == src;
            let is_needed = touches.iter().any(|touch| unordered(touch).into_iter().any(is_src));
            fail_if(!is_needed, || format!("needless source {src:?} in {barrier:?}"))?;
        }
        Ok(())
    }

    /// Recorded accesses that a new access has to be ordered after, if all have the same owner.
    fn conflicts(&self, touch: &Touch) -> impl Iterator<Item = usize> {
        let conflicts = move |node: &Node| {
            let is_ordered = node.touch.is_ordered && touch.is_ordered;
            is_ordered && overlap(&node.touch, touch) && (node.touch.is_write || touch.is_write)
        };
        self.nodes.iter().enumerate().filter(move |(_, node)| conflicts(node)).map(|(at, _)| at)
    }

    fn set_of(&self, wanted: impl Fn(&Node) -> bool) -> Set {
        self.nodes.iter().enumerate().filter(|(_, node)| wanted(node)).fold(0, |set, (at, _)| set | 1 << at)
    }

    fn barrier_sources(&self, lane: usize, barrier: Barrier) -> Set {
        self.set_of(|node| node.lane == lane && barrier.src_stages.contains(node.touch.stage))
    }

    /// Accesses that the host has seen done.
    fn seen_done(&self) -> Set {
        self.set_of(|node| node.batch <= self.lanes[node.lane].seen_done)
    }

    /// Accesses that are done when `lane` reaches `value`: the lane's accesses, and the accesses that its batches had
    /// waited for.
    fn up_to(&self, lane: usize, value: u64) -> Set {
        self.reached_through(vec![(lane, value)])
    }

    /// Accesses done when the batch of `lane` begins.
    fn waited(&self, lane: usize, batch: u64) -> Set {
        self.reached_through(self.waits_of(lane, batch).collect())
    }

    fn waits_of(&self, lane: usize, batch: u64) -> impl Iterator<Item = (usize, u64)> {
        let waits = self.lanes[lane].waits.iter();
        waits.filter(move |&&(since, ..)| since <= batch).map(|&(_, on, value)| (on, value))
    }

    /// Follows waits back from the points still `to_visit`.
    fn reached_through(&self, mut to_visit: Vec<(usize, u64)>) -> Set {
        let mut reached = vec![0; self.lanes.len()];
        while let Some((lane, value)) = to_visit.pop() {
            if reached[lane] < value {
                reached[lane] = value;
                to_visit.extend(self.waits_of(lane, value));
            }
        }
        self.set_of(|node| node.batch <= reached[node.lane])
    }

    /// For each access, all accesses that are certain to run before it.
    pub(super) fn closure(&self) -> Vec<Set> {
        let direct = |node: &Node| node.incoming | self.waited(node.lane, node.batch);
        let mut closure: Vec<Set> = self.nodes.iter().map(direct).collect();
        for via in 0..closure.len() {
            for at in 0..closure.len() {
                if has(closure[at], via) {
                    closure[at] |= closure[via];
                }
            }
        }
        closure
    }
}

/// Whether two accesses share a byte.
pub(super) fn overlap(a: &Touch, b: &Touch) -> bool {
    a.block == b.block && a.range.start.max(b.range.start) < a.range.end.min(b.range.end)
}

/// The accesses in `set`, and all accesses that are certain to run before one of them.
fn close(set: Set, closure: &[Set]) -> Set {
    closure.iter().enumerate().filter(|&(at, _)| has(set, at)).fold(set, |all, (_, before)| all | before)
}
