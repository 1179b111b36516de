//! Which bytes are live, and which were given back while work still used them. Pure.
//!
//! Ranges are in spaces: each buffer is a space, and the host's addresses are one. Memory that the host addresses is in
//! two spaces, so that two buffers over the same memory are noticed too. The uses of bytes are a type parameter.

use std::collections::BTreeMap;
use std::ops::Range;

/// A space of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Space {
    Buffer(u64),
    Host,
}

/// Bytes of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpaceRange {
    pub(crate) space: Space,
    pub(crate) bytes: Range<u64>,
}

/// Live and former ranges.
#[derive(Debug, Default)]
pub(crate) struct LiveRanges<U> {
    /// The end of each range, by space and start.
    live: BTreeMap<(Space, u64), u64>,
    former: Vec<(SpaceRange, U)>,
}

impl<U: Clone> LiveRanges<U> {
    /// Records bytes that are given out. Returns a live range that they overlap, if there is one.
    pub(crate) fn give(&mut self, range: &SpaceRange) -> Option<Range<u64>> {
        if range.bytes.is_empty() {
            return None;
        }
        let Range { start, end } = range.bytes;
        let before = self.live.range((range.space, 0)..(range.space, end)).next_back();
        let overlap = before.filter(|(_, their_end)| **their_end > start).map(|((_, from), to)| *from..*to);
        self.live.insert((range.space, start), end);
        overlap
    }

    /// Records bytes that are given back with these uses.
    pub(crate) fn take(&mut self, range: SpaceRange, uses: U) {
        if !range.bytes.is_empty() {
            self.live.remove(&(range.space, range.bytes.start));
            self.former.push((range, uses));
        }
    }

    /// The uses of former ranges that share bytes with `range`. They are removed from the former ranges, since the new
    /// range has them now.
    pub(crate) fn inherit(&mut self, range: &SpaceRange) -> Vec<U> {
        let mut inherited = Vec::new();
        for (former, uses) in std::mem::take(&mut self.former) {
            let (Range { start, end }, Range { start: from, end: to }) = (former.bytes.clone(), range.bytes.clone());
            if former.space != range.space || end <= from || to <= start {
                self.former.push((former, uses));
                continue;
            }
            inherited.push(uses.clone());
            for rest in [start..from, to..end] {
                if rest.start < rest.end {
                    self.former.push((SpaceRange { space: former.space, bytes: rest }, uses.clone()));
                }
            }
        }
        inherited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(bytes: Range<u64>) -> SpaceRange {
        SpaceRange { space: Space::Buffer(1), bytes }
    }

    #[test]
    fn overlaps_of_live_bytes_are_found() {
        let cases = [
            (0..100, None),
            (0..101, Some(100..200)), // One byte.
            (100..200, Some(100..200)),
            (120..130, Some(100..200)),
            (50..300, Some(100..200)),
            (199..300, Some(100..200)),
            (200..300, None),
            (150..150, None), // Empty ranges overlap nothing.
        ];
        for (bytes, overlap) in cases {
            let mut live_ranges = LiveRanges::<()>::default();
            assert_eq!(live_ranges.give(&range(100..200)), None);
            assert_eq!(
                live_ranges.give(&SpaceRange { space: Space::Host, bytes: bytes.clone() }),
                None,
                "another space"
            );
            assert_eq!(live_ranges.give(&range(bytes.clone())), overlap, "{bytes:?}");
        }
    }

    #[test]
    fn bytes_given_back_are_no_longer_live() {
        let mut live_ranges = LiveRanges::default();
        live_ranges.give(&range(0..10));
        live_ranges.take(range(0..10), 'a');
        assert_eq!(live_ranges.give(&range(0..10)), None);
    }

    #[test]
    fn former_uses_are_inherited_once_and_by_part() {
        let mut live_ranges = LiveRanges::default();
        live_ranges.take(range(0..100), 'a');
        live_ranges.take(range(100..200), 'b');
        assert_eq!(live_ranges.inherit(&range(200..300)), []);
        assert_eq!(live_ranges.inherit(&range(40..120)), ['a', 'b']);
        assert_eq!(live_ranges.inherit(&range(40..120)), [], "the new range has them");
        assert_eq!(live_ranges.inherit(&range(0..40)), ['a']);
        assert_eq!(live_ranges.inherit(&range(0..300)), ['b'], "what is left of it");
        assert_eq!(live_ranges.inherit(&range(0..300)), []);
    }
}
