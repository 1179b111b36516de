//! Cuts a walk into pieces that one dispatch can take.
//!
//! A shader counts in 32 bits, binds ranges of a bounded length that begin at aligned bytes, and gets its axes in push
//! constants. What is too large is halved along the axis that is to blame. Pure; what becomes of a piece is in
//! `launch.rs`.

use std::ops::Range;

use super::machine::Machine;
use super::walk::{Axis, Walk};

/// Axes that push constants have room for. `walk.wgsl` says it too.
pub(super) const MAX_AXES: usize = 8;

/// Units of a piece: far enough below 2³² that a last workgroup may reach past them.
const MAX_UNITS: u64 = 1 << 30;

/// Pieces are cut at multiples of this many units, where an axis is long, so that rows stay aligned.
const CUT: u64 = 64;

/// The two sides of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Target,
}

impl Axis {
    fn stride(&self, side: Side) -> i64 {
        match side {
            Side::Source => self.source,
            Side::Target => self.target,
        }
    }

    /// How far its last step is from its first.
    fn reach(&self, side: Side) -> i64 {
        self.stride(side) * (self.len.cast_signed() - 1)
    }
}

impl Walk {
    /// The bytes that a dispatch binds for a side: aligned at the start, whole words at the end.
    pub(super) fn window(&self, side: Side, alignment: u64) -> Range<u64> {
        let place = if side == Side::Source { self.source } else { self.target };
        let reaches = || self.axes.iter().map(|axis| axis.reach(side));
        let low = place.wrapping_add_signed(reaches().map(|reach| reach.min(0)).sum::<i64>());
        let high = place.wrapping_add_signed(reaches().map(|reach| reach.max(0)).sum::<i64>()) + 1;
        low * self.unit / alignment * alignment..(high * self.unit).next_multiple_of(self.unit.max(4))
    }

    /// The axis that the source lies packed along, if it is not the innermost one.
    pub(super) fn source_axis(&self) -> Option<usize> {
        let outer = self.axes.split_last().map_or(&[][..], |(_, outer)| outer);
        outer.iter().rposition(|axis| axis.source.unsigned_abs() == 1)
    }

    /// The walk in pieces that a dispatch can take, one after the other.
    pub(super) fn pieces(self, machine: &Machine) -> Vec<Self> {
        let (mut whole, mut pieces) = (vec![self], Vec::new());
        while let Some(walk) = whole.pop() {
            match walk.too_large(machine) {
                None => pieces.push(walk),
                Some(Cut::Away(axis)) => whole.extend((0..walk.axes[axis].len).rev().map(|i| walk.at(axis, i))),
                Some(Cut::InTwo(axis)) => whole.extend(walk.halves(axis).into_iter().rev()),
            }
        }
        pieces
    }

    fn too_large(&self, machine: &Machine) -> Option<Cut> {
        let longest = |key: &dyn Fn(&Axis) -> u64| (0..self.axes.len()).max_by_key(|&axis| key(&self.axes[axis]));
        if self.axes.len() > MAX_AXES {
            let outermost = usize::from(self.source_axis() == Some(0));
            return Some(Cut::Away(outermost));
        }
        for side in [Side::Source, Side::Target] {
            let window = self.window(side, machine.alignment);
            if window.end - window.start > machine.max_range {
                return longest(&|axis| axis.reach(side).unsigned_abs()).map(Cut::InTwo);
            }
        }
        if self.size() > MAX_UNITS { longest(&|axis| axis.len).map(Cut::InTwo) } else { None }
    }

    /// The part at index `i` of an axis.
    fn at(&self, axis: usize, i: u64) -> Self {
        let mut part = self.starting_at(axis, i);
        part.axes.remove(axis);
        part
    }

    fn halves(&self, axis: usize) -> [Self; 2] {
        let len = self.axes[axis].len;
        let first = (len / 2).next_multiple_of(CUT);
        self.cut(axis, if first < len { first } else { len / 2 })
    }

    /// The first `first` steps of an axis, and the others.
    pub(super) fn cut(&self, axis: usize, first: u64) -> [Self; 2] {
        let (mut front, mut back) = (self.clone(), self.starting_at(axis, first));
        (front.axes[axis].len, back.axes[axis].len) = (first, self.axes[axis].len - first);
        [front, back]
    }

    /// The same pairs, with an axis walked from its end.
    pub(super) fn turned(&self, axis: usize) -> Self {
        let mut turned = self.starting_at(axis, self.axes[axis].len - 1);
        let Axis { source, target, .. } = &mut turned.axes[axis];
        (*source, *target) = (-*source, -*target);
        turned
    }

    fn starting_at(&self, axis: usize, i: u64) -> Self {
        let Axis { source, target, .. } = self.axes[axis];
        let mut part = self.clone();
        part.source = self.source.wrapping_add_signed(source * i.cast_signed());
        part.target = self.target.wrapping_add_signed(target * i.cast_signed());
        part
    }
}

/// What to do about a walk that is too large.
enum Cut {
    /// Take the axis apart, into its single steps.
    Away(usize),
    /// Halve the axis.
    InTwo(usize),
}
