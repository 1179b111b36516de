//! Which range is reused first, and what misuse is refused.

use std::collections::BTreeMap;

use super::*;
use crate::manager::counters::Counters;
use crate::manager::pool::free_list::Ground;
use crate::manager::pool::tag::LAST_GENERATION;

/// Uses by lane and value.
type Work = Vec<(u8, u64)>;

impl Uses for Work {
    type Lane = u8;

    fn are_over(&self) -> bool {
        self.is_empty()
    }

    fn lane(&self) -> Option<u8> {
        if let [only] = self.as_slice() { Some(only.0) } else { None }
    }
}

const KIND: MemoryKind = MemoryKind::Device;

struct Rig {
    shelf: Shelf<Work>,
    meter: Meter,
    ground: Ground<()>,
}

impl Rig {
    fn new() -> Self {
        let mut ground = Ground::default();
        ground.add((), 1 << 20);
        Self { shelf: Shelf::default(), meter: Meter::default(), ground }
    }

    /// A new range that a block has.
    fn admit(&mut self, granules: u64) -> (SlotId, BufferRange) {
        let piece = self.ground.take(granules).expect("the chunk is large");
        let span = BufferRange {
            buffer: vk::Buffer::null(),
            offset: piece.offset * GRANULE,
            mapping: None,
            kind: KIND,
            piece,
        };
        (self.shelf.admit(span, &Holder::new(), &self.meter), span)
    }

    fn put(&mut self, (place, span): (SlotId, BufferRange), mut uses: Work) -> Result<(), Misuse> {
        self.shelf.put(place, (span.buffer, span.offset), &mut uses, &self.meter)
    }

    fn take(&mut self, granules: u64, wish: Wish) -> Option<(SlotId, CachedRange<Work>)> {
        self.shelf.take(&need(granules), wish, &Holder::new(), &self.meter)
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        self.meter.add_to(&mut counters);
        counters
    }
}

fn need(granules: u64) -> Need {
    Need { size: granules * GRANULE, kind: KIND, granules }
}

fn busy(lane: u8) -> Work {
    vec![(lane, 1)]
}

#[test]
fn a_generation_begins_again_before_it_outgrows_a_tag() {
    let mut rig = Rig::new();
    let (place, span) = rig.admit(4);
    rig.shelf.slots[0].generation = LAST_GENERATION;
    assert_eq!(rig.put((place, span), vec![]), Err(Misuse::Twice), "another generation has the range");
    let last = SlotId { generation: LAST_GENERATION, ..place };
    assert_eq!(rig.put((last, span), vec![]), Ok(()));
    let (next, _) = rig.take(4, Wish::Ready).unwrap();
    assert_eq!(next, SlotId { slot: 0, generation: 1 }, "0 while the range lay ready");
    assert_eq!(rig.put((last, span), vec![]), Err(Misuse::Twice));
    assert_eq!(rig.put((next, span), vec![]), Ok(()));
}

#[test]
fn what_lies_on_a_shelf_is_counted_as_it_comes_and_goes() {
    let mut rig = Rig::new();
    let bytes = |granules: u64| {
        let mut kinds = [0; MemoryKind::ALL.len()];
        kinds[KIND.index()] = granules * GRANULE;
        kinds
    };
    let (small, large) = (rig.admit(4), rig.admit(64));
    assert_eq!(rig.meter.lying(), (0, bytes(0)));
    rig.put(small, vec![]).unwrap();
    rig.put(large, busy(1)).unwrap();
    assert_eq!(rig.meter.lying(), (2, bytes(68)), "ready or not");
    let again = rig.take(4, Wish::Ready).unwrap();
    assert_eq!(rig.meter.lying(), (1, bytes(64)), "used again");
    rig.put((again.0, again.1.span), vec![]).unwrap();
    rig.shelf.take_away(&need(64), Wish::Any, &rig.meter).unwrap();
    assert_eq!(rig.meter.lying(), (1, bytes(4)), "on another shelf");
    rig.shelf.take_ready(KIND, &rig.meter);
    assert_eq!(rig.meter.lying(), (0, bytes(0)), "back in its chunk");
    let (place, span) = rig.admit(4); // In the slot that became vacant.
    rig.put((place, span), vec![]).unwrap();
    assert_eq!(rig.meter.lying(), (1, bytes(4)));
}

#[test]
fn the_choice_between_ranges_follows_what_they_wait_for() {
    use Found::{Pending, Ready, Shared};
    let (over, one, two) = (vec![], busy(1), vec![(1, 1), (2, 1)]);
    // Uses of what lies there, oldest first; the wish; which is taken, and as what.
    type Case<'a> = (&'a [&'a Work], Wish, Option<(usize, Found)>);
    let cases: [Case<'_>; 12] = [
        (&[], Wish::Any, None),
        (&[&over, &over], Wish::Ready, Some((1, Ready))), // The newest: it is in the caches.
        (&[&over, &one], Wish::Likely, Some((0, Ready))), // Nothing to wait for comes first.
        (&[&one, &over], Wish::Any, Some((1, Ready))),
        (&[&one], Wish::Ready, None),
        (&[&one], Wish::Likely, Some((0, Pending))),
        (&[&two], Wish::Likely, None), // Some of it is a stranger's.
        (&[&two], Wish::Any, Some((0, Shared))),
        (&[&one, &two], Wish::Any, Some((0, Pending))), // What is the sooner over.
        (&[&two, &one], Wish::Any, Some((1, Pending))),
        (&[&over, &one, &one, &one, &one, &one], Wish::Likely, Some((0, Ready))), // The oldest is looked at too.
        (&[&one, &over, &one, &one, &one, &one], Wish::Likely, Some((5, Pending))), // Not all are.
    ];
    for (lying, wish, expected) in cases {
        let mut rig = Rig::new();
        let held: Vec<_> = lying.iter().map(|_| rig.admit(4)).collect();
        for (held, uses) in held.iter().zip(lying) {
            rig.put(*held, (*uses).clone()).unwrap();
        }
        let taken = rig.take(4, wish);
        let which = |span: &BufferRange| held.iter().position(|(_, held)| held.offset == span.offset);
        let got = taken.as_ref().and_then(|(_, taken)| Some((which(&taken.span)?, taken.found)));
        assert_eq!(got, expected, "{lying:?}, {wish:?}");
        if let (Some((_, taken)), Some((idx, _))) = (taken, expected) {
            assert_eq!(&taken.uses, lying[idx], "uses were dropped from the list");
        }
    }
}

#[test]
fn threads_that_use_streams_in_turn_do_not_wait_for_each_others() {
    let mut rig = Rig::new();
    let mut held = rig.admit(4);
    for lane in [1, 1, 1] {
        rig.put(held, busy(lane)).unwrap();
        let (place, taken) = rig.take(4, Wish::Likely).expect("one stream all along");
        held = (place, taken.span);
    }
    rig.put(held, busy(2)).unwrap(); // Another stream: who knows which is next.
    assert!(rig.take(4, Wish::Likely).is_none());
    let (place, taken) = rig.take(4, Wish::Any).unwrap();
    held = (place, taken.span);
    for n in 0..STEADY {
        rig.put(held, busy(2)).unwrap();
        let likely = rig.take(4, Wish::Likely);
        assert_eq!(likely.is_some(), n == STEADY - 1, "after {n} more on one stream");
        let (place, taken) = likely.or_else(|| rig.take(4, Wish::Any)).unwrap();
        held = (place, taken.span);
    }
}

#[test]
fn what_is_given_back_twice_or_is_foreign_changes_nothing() {
    let mut rig = Rig::new();
    let (first, second) = (rig.admit(4), rig.admit(4));
    rig.put(first, vec![]).unwrap();
    let before = rig.counters();
    let never = SlotId { slot: 77, generation: 0 };
    // What is given back, what is wrong with it.
    let cases = [
        (first, Misuse::Twice),
        ((never, second.1), Misuse::Foreign),
        ((second.0, first.1), Misuse::Foreign), // Its place, and bytes of another.
        ((SlotId { generation: 9, ..second.0 }, second.1), Misuse::Twice),
    ];
    for (held, misuse) in cases {
        assert_eq!(rig.put(held, vec![]), Err(misuse), "{held:?}");
        assert_eq!(rig.counters(), before, "{held:?}");
    }
    // After the range has a new holder, the former one's name for it is still void.
    let (place, taken) = rig.take(4, Wish::Ready).unwrap();
    assert_eq!((place.slot, taken.span.offset), (first.0.slot, first.1.offset));
    assert_eq!(rig.put(first, vec![]), Err(Misuse::Twice));
    rig.put((place, taken.span), vec![]).unwrap();
}

#[test]
fn an_answer_about_uses_counts_only_for_the_range_as_it_lay() {
    let mut rig = Rig::new();
    let held = rig.admit(4);
    rig.put(held, busy(1)).unwrap();
    let (asked, _) = rig.shelf.oldest_pending(&need(4)).unwrap();
    // Meanwhile the range is given out and comes back with other work.
    let (place, taken) = rig.take(4, Wish::Any).unwrap();
    rig.put((place, taken.span), busy(2)).unwrap();
    rig.shelf.settle(asked, vec![], &rig.meter);
    assert!(rig.take(4, Wish::Ready).is_none(), "work was forgotten that nobody asked about");
    let (asked, uses) = rig.shelf.oldest_pending(&need(4)).unwrap();
    assert_eq!(uses, busy(2));
    rig.shelf.settle(asked, vec![], &rig.meter);
    assert!(rig.take(4, Wish::Ready).is_some());
}

/// What the reference knows of a range: its offset names it.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    Live(SlotId),
    SlotState(Work),
}

/// A shelf and a plain list of what must be on it.
struct Compared {
    rig: Rig,
    known: BTreeMap<u64, (Known, BufferRange)>,
    random: fastrand::Rng,
}

#[test]
fn random_programs_match_a_list() {
    for seed in 0..80 {
        let random = fastrand::Rng::with_seed(seed);
        let mut compared = Compared { rig: Rig::new(), known: BTreeMap::new(), random };
        for _ in 0..500 {
            match compared.random.u32(0..12) {
                0..=2 => compared.admit(),
                3..=6 => compared.put(),
                7..=9 => compared.take(),
                10 => compared.settle(),
                _ => compared.take_ready(),
            }
            compared.check_counters();
        }
    }
}

impl Compared {
    fn admit(&mut self) {
        let (place, span) = self.rig.admit(self.random.u64(1..40));
        assert!(self.known.insert(span.offset, (Known::Live(place), span)).is_none(), "two have one range");
    }

    fn put(&mut self) {
        let is_live = |(_, (known, _)): &(&u64, &mut (Known, BufferRange))| matches!(known, Known::Live(_));
        let mut live: Vec<_> = self.known.iter_mut().filter(is_live).collect();
        if live.is_empty() {
            return;
        }
        let (_, (known, span)) = live.swap_remove(self.random.usize(..live.len()));
        let Known::Live(place) = *known else { unreachable!("only those were collected") };
        let work: Work = (0..self.random.u8(0..3)).map(|lane| (lane, self.random.u64(1..9))).collect();
        self.rig.put((place, *span), work.clone()).unwrap();
        *known = Known::SlotState(work);
    }

    fn take(&mut self) {
        let size = self.random.u64(1..40);
        let wish = [Wish::Ready, Wish::Likely, Wish::Any][self.random.usize(0..3)];
        let Some((place, taken)) = self.rig.take(size, wish) else { return };
        assert!(need(size).is_met_by(taken.span.piece.granules));
        let former = self.known.insert(taken.span.offset, (Known::Live(place), taken.span)).unwrap().0;
        assert_eq!(taken.found == Found::Ready, taken.uses.is_empty());
        assert!(wish != Wish::Ready || taken.uses.is_empty());
        assert_eq!(former, Known::SlotState(taken.uses), "uses were lost or invented");
    }

    fn settle(&mut self) {
        let pending: Vec<_> = self.rig.shelf.pending().map(|(place, _, uses)| (place, uses.clone())).collect();
        for (place, mut uses) in pending {
            uses.pop();
            self.rig.shelf.settle(place, uses, &self.rig.meter);
        }
        for (known, _) in self.known.values_mut() {
            if let Known::SlotState(work) = known {
                work.pop();
            }
        }
    }

    fn take_ready(&mut self) {
        for span in self.rig.shelf.take_ready(KIND, &self.rig.meter) {
            let (former, _) = self.known.remove(&span.offset).expect("it lay there");
            assert_eq!(former, Known::SlotState(vec![]), "its uses are not over");
            self.rig.ground.give(span.piece);
        }
        let is_ready = |known: &Known| matches!(known, Known::SlotState(work) if work.is_empty());
        assert!(!self.known.values().any(|(known, _)| is_ready(known)), "something that is ready was left");
    }

    fn check_counters(&self) {
        let (mut live, mut pending, mut ready, mut n_pending) = (0, 0, 0, 0);
        for (known, span) in self.known.values() {
            let bytes = span.piece.granules * GRANULE;
            match known {
                Known::Live(_) => live += bytes,
                Known::SlotState(work) if work.is_empty() => ready += bytes,
                Known::SlotState(_) => (pending, n_pending) = (pending + bytes, n_pending + 1),
            }
        }
        let counters = self.rig.counters();
        let kind = counters.kind(KIND);
        assert_eq!((kind.in_use, kind.pending, kind.ready, counters.n_pending), (live, pending, ready, n_pending));
        assert!(kind.peak >= kind.in_use);
    }
}
