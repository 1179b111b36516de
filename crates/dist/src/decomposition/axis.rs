//! One axis: its even parts, and where the elements around a part come from.

use std::ops::Range;

/// What surrounds the global array along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Border {
    /// Ghost zones outside the array keep what the program writes there; no message reaches them.
    #[default]
    Fixed,
    /// The array repeats: before the first element comes the last.
    Periodic,
    /// The array is mirrored at its edge, the element at the edge included: element −1 is element 0.
    Reflecting,
}

/// An axis of `len` elements in `parts` parts, which differ by one element at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Axis {
    pub(super) len: usize,
    pub(super) parts: usize,
}

impl Axis {
    /// The first element of a part and its number of elements. The first parts are the longer ones.
    pub(super) fn part(self, part: usize) -> (usize, usize) {
        let (short, longer) = (self.len / self.parts, self.len % self.parts);
        (part * short + part.min(longer), short + usize::from(part < longer))
    }

    /// The part that has an element, which must be less than `len`.
    pub(super) fn owner(self, element: usize) -> usize {
        let (short, longer) = (self.len / self.parts, self.len % self.parts);
        let in_longer = longer * (short + 1);
        // Where `short` is 0, all elements are in the longer parts.
        if element < in_longer { element / (short + 1) } else { longer + (element - in_longer) / short }
    }
}

/// Neighbouring elements along one axis that one part has and another one shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The part that has the elements.
    pub(super) owner: usize,
    /// The first of them, counted in the global array by [`pieces`].
    pub(super) source: usize,
    /// The first element that is written, counted in the local array, its ghost zone included.
    pub(super) target: usize,
    pub(super) len: usize,
    /// Whether the last element of the source is written first.
    pub(super) mirrored: bool,
    /// Whether these are the part's own elements, which stay where they are.
    pub(super) interior: bool,
}

impl Piece {
    /// Takes in the element after this piece, if the piece remains one range of one owner.
    fn extend(&mut self, owner: usize, source: usize, target: usize, mirrored: bool) -> bool {
        let next = if mirrored { source + 1 == self.source } else { source == self.source + self.len };
        let joins = next && target == self.target + self.len && owner == self.owner && mirrored == self.mirrored;
        if joins {
            self.len += 1;
            self.source = self.source.min(source);
        }
        joins
    }
}

/// All pieces that a part with ghost zones of `ghosts` elements consists of, in the order of their targets.
/// A part without elements has none.
pub(super) fn pieces(axis: Axis, part: usize, ghosts: (usize, usize), border: Border) -> Vec<Piece> {
    let (start, len) = axis.part(part);
    if len == 0 {
        return Vec::new();
    }
    let own = Piece { owner: part, source: start, target: ghosts.0, len, mirrored: false, interior: true };
    let zone = |targets: Range<usize>| zone(axis, border, targets, |target| (start + target, ghosts.0));
    let (before, after) = (zone(0..ghosts.0), zone(ghosts.0 + len..ghosts.0 + len + ghosts.1));
    before.into_iter().chain([own]).chain(after).collect()
}

/// The pieces of one ghost zone. `place` gives the place of a target in the global array as a difference of two numbers,
/// since it may be before the first element.
fn zone(axis: Axis, border: Border, targets: Range<usize>, place: impl Fn(usize) -> (usize, usize)) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for target in targets {
        let Some((source, mirrored)) = inside(axis.len, border, place(target)) else { continue };
        let owner = axis.owner(source);
        if !pieces.last_mut().is_some_and(|piece| piece.extend(owner, source, target, mirrored)) {
            pieces.push(Piece { owner, source, target, len: 1, mirrored, interior: false });
        }
    }
    pieces
}

/// The element shown at the place `plus - minus` of an axis of `len` elements, and whether its surroundings are mirrored.
fn inside(len: usize, border: Border, (plus, minus): (usize, usize)) -> Option<(usize, bool)> {
    let within = |period: usize| (plus + (period - minus % period)) % period;
    match border {
        Border::Fixed => Some((plus.checked_sub(minus).filter(|&element| element < len)?, false)),
        Border::Periodic => Some((within(len), false)),
        Border::Reflecting => {
            let element = within(2 * len);
            Some(if element < len { (element, false) } else { (2 * len - 1 - element, true) })
        }
    }
}
