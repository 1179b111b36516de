//! Bytes that are live, and bytes that were given back while work still used them. Pure.
//!
//! Bytes lie in spaces: the buffers, and the host's addresses. Memory that the host addresses is in two of them, so
//! that two buffers over the same memory are seen too. What uses bytes is a type parameter.

use std::collections::BTreeMap;
use std::ops::Range;

/// Where bytes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Space {
    Buffer(u64),
    Host,
}

/// Bytes of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) space: Space,
    pub(crate) bytes: Range<u64>,
}

/// Live and former spans.
#[derive(Debug)]
pub(crate) struct Spans<U> {
    /// By space and start; the end.
    live: BTreeMap<(Space, u64), u64>,
    former: Vec<(Span, U)>,
}

impl<U> Default for Spans<U> {
    fn default() -> Self {
        Self { live: BTreeMap::new(), former: Vec::new() }
    }
}

impl<U: Clone> Spans<U> {
    /// Takes note of bytes that are given out. Returns what was live there, if anything.
    pub(crate) fn give(&mut self, span: &Span) -> Option<Range<u64>> {
        if span.bytes.is_empty() {
            return None;
        }
        let Range { start, end } = span.bytes;
        let before = self.live.range((span.space, 0)..(span.space, end)).next_back();
        let overlap = before.filter(|(_, their_end)| **their_end > start).map(|((_, from), to)| *from..*to);
        self.live.insert((span.space, start), end);
        overlap
    }

    /// Takes note of bytes that are given back with these uses.
    pub(crate) fn take(&mut self, span: Span, uses: U) {
        if !span.bytes.is_empty() {
            self.live.remove(&(span.space, span.bytes.start));
            self.former.push((span, uses));
        }
    }

    /// The uses of those who had any of the bytes before; they are forgotten there, since the new owner has them now.
    pub(crate) fn inherit(&mut self, span: &Span) -> Vec<U> {
        let mut inherited = Vec::new();
        for (former, uses) in std::mem::take(&mut self.former) {
            let (Range { start, end }, Range { start: from, end: to }) = (former.bytes.clone(), span.bytes.clone());
            if former.space != span.space || end <= from || to <= start {
                self.former.push((former, uses));
                continue;
            }
            inherited.push(uses.clone());
            for rest in [start..from, to..end] {
                if rest.start < rest.end {
                    self.former.push((Span { space: former.space, bytes: rest }, uses.clone()));
                }
            }
        }
        inherited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(bytes: Range<u64>) -> Span {
        Span { space: Space::Buffer(1), bytes }
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
            (150..150, None), // No bytes are nobody's.
        ];
        for (bytes, overlap) in cases {
            let mut spans = Spans::<()>::default();
            assert_eq!(spans.give(&span(100..200)), None);
            assert_eq!(spans.give(&Span { space: Space::Host, bytes: bytes.clone() }), None, "another space");
            assert_eq!(spans.give(&span(bytes.clone())), overlap, "{bytes:?}");
        }
    }

    #[test]
    fn bytes_given_back_are_no_longer_live() {
        let mut spans = Spans::default();
        spans.give(&span(0..10));
        spans.take(span(0..10), 'a');
        assert_eq!(spans.give(&span(0..10)), None);
    }

    #[test]
    fn former_uses_are_inherited_once_and_by_part() {
        let mut spans = Spans::default();
        spans.take(span(0..100), 'a');
        spans.take(span(100..200), 'b');
        assert_eq!(spans.inherit(&span(200..300)), []);
        assert_eq!(spans.inherit(&span(40..120)), ['a', 'b']);
        assert_eq!(spans.inherit(&span(40..120)), [], "the new owner has them");
        assert_eq!(spans.inherit(&span(0..40)), ['a']);
        assert_eq!(spans.inherit(&span(0..300)), ['b'], "what is left of it");
        assert_eq!(spans.inherit(&span(0..300)), []);
    }
}
