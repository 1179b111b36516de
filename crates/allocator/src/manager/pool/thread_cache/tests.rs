//! Which range is reused first, and which errors are refused.

use std::collections::BTreeMap;

use super::*;
use crate::manager::counters::Counters;
use crate::manager::pool::free_list::FreeList;
use crate::manager::pool::lane_history::STEADY;
use crate::manager::pool::tag::LAST_GENERATION;

/// Uses by lane and value.
type Work = Vec<(u8, u64)>;

const KIND: MemoryKind = MemoryKind::Device;

struct Rig {
    cache: ThreadCache<Work>,
    gauges: CacheGauges,
    free_list: FreeList<()>,
}

impl Rig {
    fn new() -> Self {
        let mut free_list = FreeList::default();
        free_list.add((), 1 << 20);
        Self { cache: ThreadCache::default(), gauges: CacheGauges::default(), free_list }
    }

    /// A new range that a block has.
    fn admit(&mut self, granules: u64) -> (SlotId, BufferRange) {
        let chunk_range = self.free_list.take(granules).expect("the chunk is large");
        let range = BufferRange {
            buffer: vk::Buffer::null(),
            offset: chunk_range.offset * GRANULE,
            mapping: None,
            kind: KIND,
            chunk_range,
        };
        (self.cache.admit(range, &BlockLabel::new(), &self.gauges), range)
    }

    fn put(&mut self, (id, range): (SlotId, BufferRange), mut uses: Work) -> Result<(), FreeError> {
        self.cache.put(id, (range.buffer, range.offset), &mut uses, &self.gauges)
    }

    fn take(&mut self, granules: u64, policy: ReusePolicy) -> Option<(SlotId, CachedRange<Work>)> {
        self.cache.take(&need(granules), policy, &BlockLabel::new(), &self.gauges)
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        self.gauges.add_to(&mut counters);
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
    let (id, range) = rig.admit(4);
    rig.cache.slots[0].generation = LAST_GENERATION;
    assert_eq!(rig.put((id, range), vec![]), Err(FreeError::Twice), "another generation has the range");
    let last = SlotId { generation: LAST_GENERATION, ..id };
    assert_eq!(rig.put((last, range), vec![]), Ok(()));
    let (next, _) = rig.take(4, ReusePolicy::Ready).unwrap();
    assert_eq!(next, SlotId { slot: 0, generation: 1 }, "0 while the range lay ready");
    assert_eq!(rig.put((last, range), vec![]), Err(FreeError::Twice));
    assert_eq!(rig.put((next, range), vec![]), Ok(()));
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
    assert_eq!(rig.gauges.cached(), (0, bytes(0)));
    rig.put(small, vec![]).unwrap();
    rig.put(large, busy(1)).unwrap();
    assert_eq!(rig.gauges.cached(), (2, bytes(68)), "ready or not");
    let again = rig.take(4, ReusePolicy::Ready).unwrap();
    assert_eq!(rig.gauges.cached(), (1, bytes(64)), "used again");
    rig.put((again.0, again.1.range), vec![]).unwrap();
    rig.cache.take_away(&need(64), ReusePolicy::Any, &rig.gauges).unwrap();
    assert_eq!(rig.gauges.cached(), (1, bytes(4)), "on another cache");
    rig.cache.take_ready(KIND, &rig.gauges);
    assert_eq!(rig.gauges.cached(), (0, bytes(0)), "back in its chunk");
    let (id, range) = rig.admit(4); // The range gets the slot that became vacant.
    rig.put((id, range), vec![]).unwrap();
    assert_eq!(rig.gauges.cached(), (1, bytes(4)));
}

#[test]
fn the_choice_between_ranges_follows_what_they_wait_for() {
    use RangeState::{Pending, Ready, Shared};
    let (over, one, two) = (vec![], busy(1), vec![(1, 1), (2, 1)]);
    // The uses of the cached ranges, oldest first; the policy; the range that is taken, and in which state.
    type Case<'a> = (&'a [&'a Work], ReusePolicy, Option<(usize, RangeState)>);
    let cases: [Case<'_>; 12] = [
        (&[], ReusePolicy::Any, None),
        (&[&over, &over], ReusePolicy::Ready, Some((1, Ready))), // The newest: it is in the processor's caches.
        (&[&over, &one], ReusePolicy::Likely, Some((0, Ready))), // A range without pending uses comes first.
        (&[&one, &over], ReusePolicy::Any, Some((1, Ready))),
        (&[&one], ReusePolicy::Ready, None),
        (&[&one], ReusePolicy::Likely, Some((0, Pending))),
        (&[&two], ReusePolicy::Likely, None), // Some of its uses are on an unrelated stream.
        (&[&two], ReusePolicy::Any, Some((0, Shared))),
        (&[&one, &two], ReusePolicy::Any, Some((0, Pending))), // The range that is likely free sooner.
        (&[&two, &one], ReusePolicy::Any, Some((1, Pending))),
        // The oldest range is considered too.
        (&[&over, &one, &one, &one, &one, &one], ReusePolicy::Likely, Some((0, Ready))),
        // Not all ranges are considered.
        (&[&one, &over, &one, &one, &one, &one], ReusePolicy::Likely, Some((5, Pending))),
    ];
    for (state, policy, expected) in cases {
        let mut rig = Rig::new();
        let held: Vec<_> = state.iter().map(|_| rig.admit(4)).collect();
        for (held, uses) in held.iter().zip(state) {
            rig.put(*held, (*uses).clone()).unwrap();
        }
        let taken = rig.take(4, policy);
        let which = |range: &BufferRange| held.iter().position(|(_, held)| held.offset == range.offset);
        let got = taken.as_ref().and_then(|(_, taken)| Some((which(&taken.range)?, taken.found)));
        assert_eq!(got, expected, "{state:?}, {policy:?}");
        if let (Some((_, taken)), Some((idx, _))) = (taken, expected) {
            assert_eq!(&taken.uses, state[idx], "uses were dropped from the list");
        }
    }
}

#[test]
fn threads_that_use_streams_in_turn_do_not_wait_for_each_others() {
    let mut rig = Rig::new();
    let mut held = rig.admit(4);
    for lane in [1, 1, 1] {
        rig.put(held, busy(lane)).unwrap();
        let (id, taken) = rig.take(4, ReusePolicy::Likely).expect("one stream all along");
        held = (id, taken.range);
    }
    rig.put(held, busy(2)).unwrap(); // Another stream, so the next one cannot be guessed.
    assert!(rig.take(4, ReusePolicy::Likely).is_none());
    let (id, taken) = rig.take(4, ReusePolicy::Any).unwrap();
    held = (id, taken.range);
    for n in 0..STEADY {
        rig.put(held, busy(2)).unwrap();
        let likely = rig.take(4, ReusePolicy::Likely);
        assert_eq!(likely.is_some(), n == STEADY - 1, "after {n} more on one stream");
        let (id, taken) = likely.or_else(|| rig.take(4, ReusePolicy::Any)).unwrap();
        held = (id, taken.range);
    }
}

#[test]
fn what_is_given_back_twice_or_is_foreign_changes_nothing() {
    let mut rig = Rig::new();
    let (first, second) = (rig.admit(4), rig.admit(4));
    rig.put(first, vec![]).unwrap();
    let before = rig.counters();
    let never = SlotId { slot: 77, generation: 0 };
    // What is given back, and the error.
    let cases = [
        (first, FreeError::Twice),
        ((never, second.1), FreeError::Foreign),
        ((second.0, first.1), FreeError::Foreign), // The slot of one range, and the bytes of another.
        ((SlotId { generation: 9, ..second.0 }, second.1), FreeError::Twice),
    ];
    for (held, error) in cases {
        assert_eq!(rig.put(held, vec![]), Err(error), "{held:?}");
        assert_eq!(rig.counters(), before, "{held:?}");
    }
    // After the range has a new generation, its former id is still void.
    let (id, taken) = rig.take(4, ReusePolicy::Ready).unwrap();
    assert_eq!((id.slot, taken.range.offset), (first.0.slot, first.1.offset));
    assert_eq!(rig.put(first, vec![]), Err(FreeError::Twice));
    rig.put((id, taken.range), vec![]).unwrap();
}

#[test]
fn an_answer_about_uses_counts_only_for_the_range_as_it_lay() {
    let mut rig = Rig::new();
    let held = rig.admit(4);
    rig.put(held, busy(1)).unwrap();
    let (asked, _) = rig.cache.oldest_pending(&need(4)).unwrap();
    // Between the two calls the range is given out and comes back with other work.
    let (id, taken) = rig.take(4, ReusePolicy::Any).unwrap();
    rig.put((id, taken.range), busy(2)).unwrap();
    rig.cache.update_uses(asked, vec![], &rig.gauges);
    assert!(rig.take(4, ReusePolicy::Ready).is_none(), "work was removed without a query");
    let (asked, uses) = rig.cache.oldest_pending(&need(4)).unwrap();
    assert_eq!(uses, busy(2));
    rig.cache.update_uses(asked, vec![], &rig.gauges);
    assert!(rig.take(4, ReusePolicy::Ready).is_some());
}

/// A range in the reference model, identified by its offset.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    Live(SlotId),
    SlotState(Work),
}

/// A cache, and a plain list of the ranges that it must have.
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
                10 => compared.update_uses(),
                _ => compared.take_ready(),
            }
            compared.check_counters();
        }
    }
}

impl Compared {
    fn admit(&mut self) {
        let (id, range) = self.rig.admit(self.random.u64(1..40));
        assert!(self.known.insert(range.offset, (Known::Live(id), range)).is_none(), "two have one range");
    }

    fn put(&mut self) {
        let is_live = |(_, (known, _)): &(&u64, &mut (Known, BufferRange))| matches!(known, Known::Live(_));
        let mut live: Vec<_> = self.known.iter_mut().filter(is_live).collect();
        if live.is_empty() {
            return;
        }
        let (_, (known, range)) = live.swap_remove(self.random.usize(..live.len()));
        let Known::Live(id) = *known else { unreachable!("only those were collected") };
        let work: Work = (0..self.random.u8(0..3)).map(|lane| (lane, self.random.u64(1..9))).collect();
        self.rig.put((id, *range), work.clone()).unwrap();
        *known = Known::SlotState(work);
    }

    fn take(&mut self) {
        let size = self.random.u64(1..40);
        let policy = [ReusePolicy::Ready, ReusePolicy::Likely, ReusePolicy::Any][self.random.usize(0..3)];
        let Some((id, taken)) = self.rig.take(size, policy) else { return };
        assert!(need(size).is_met_by(taken.range.chunk_range.granules));
        let former = self.known.insert(taken.range.offset, (Known::Live(id), taken.range)).unwrap().0;
        assert_eq!(taken.found == RangeState::Ready, taken.uses.is_empty());
        assert!(policy != ReusePolicy::Ready || taken.uses.is_empty());
        assert_eq!(former, Known::SlotState(taken.uses), "uses were lost or invented");
    }

    fn update_uses(&mut self) {
        let pending: Vec<_> = self.rig.cache.pending().map(|(id, _, uses)| (id, uses.clone())).collect();
        for (id, mut uses) in pending {
            uses.pop();
            self.rig.cache.update_uses(id, uses, &self.rig.gauges);
        }
        for (known, _) in self.known.values_mut() {
            if let Known::SlotState(work) = known {
                work.pop();
            }
        }
    }

    fn take_ready(&mut self) {
        for range in self.rig.cache.take_ready(KIND, &self.rig.gauges) {
            let (former, _) = self.known.remove(&range.offset).expect("it lay there");
            assert_eq!(former, Known::SlotState(vec![]), "its uses are not over");
            self.rig.free_list.give(range.chunk_range);
        }
        let is_ready = |known: &Known| matches!(known, Known::SlotState(work) if work.is_empty());
        assert!(!self.known.values().any(|(known, _)| is_ready(known)), "something that is ready was left");
    }

    fn check_counters(&self) {
        let (mut live, mut pending, mut ready, mut n_pending) = (0, 0, 0, 0);
        for (known, range) in self.known.values() {
            let bytes = range.chunk_range.granules * GRANULE;
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
