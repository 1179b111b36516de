//! The cleanup queue with a counter for a clock: nothing is taken out early, and nothing is forgotten.

use std::cell::Cell;
use std::rc::Rc;

use super::*;

/// Complete when its clock has reached `at`.
#[derive(Clone, Debug)]
struct At {
    clock: Clock,
    at: u64,
}

/// A clock that counts how often it is asked, and can refuse to answer.
#[derive(Clone, Debug, Default)]
struct Clock {
    name: u8,
    now: Rc<Cell<u64>>,
    fails: Rc<Cell<bool>>,
    n_asked: Rc<Cell<usize>>,
}

impl Clock {
    fn named(name: u8) -> Self {
        Self { name, ..Self::default() }
    }

    fn at(&self, at: u64) -> At {
        At { clock: self.clone(), at }
    }
}

impl Completion for At {
    type Error = &'static str;
    type Timeline = u8;

    fn timeline(&self) -> u8 {
        self.clock.name
    }

    fn value(&self) -> u64 {
        self.at
    }

    fn is_complete(&self) -> Result<bool, &'static str> {
        self.clock.n_asked.set(self.clock.n_asked.get() + 1);
        if self.clock.fails.get() { Err("lost") } else { Ok(self.clock.now.get() >= self.at) }
    }
}

/// Everything that is eligible, in the order in which it is given out.
fn freed<T>(queue: &mut CleanupQueue<At, T>) -> Vec<T> {
    queue.poll().unwrap();
    std::iter::from_fn(|| queue.take_eligible()).collect()
}

#[test]
fn never_frees_before_every_last_use_is_over() {
    // Every pair of last uses in 0..=3, on one clock and on two, and every time up to 4 on each.
    for (first, second, is_shared) in (0..32).map(|i| (i / 8, i / 2 % 4, i % 2 == 0)) {
        let (one, two) = (Clock::named(1), if is_shared { Clock::named(1) } else { Clock::named(2) });
        let two = if is_shared { one.clone() } else { two };
        let mut queue = CleanupQueue::default();
        queue.push(vec![one.at(first), two.at(second)], 0, 1, ());
        let mut n_freed = 0;
        for (now_one, now_two) in (0..=4).flat_map(|a| (0..=4).map(move |b| (a, if is_shared { a } else { b }))) {
            one.now.set(one.now.get().max(now_one));
            two.now.set(two.now.get().max(now_two));
            n_freed += freed(&mut queue).len();
            let is_over = one.now.get() >= first && two.now.get() >= second;
            assert_eq!(n_freed, usize::from(is_over), "uses at {first} and {second}, now {now_one} and {now_two}");
        }
        assert_eq!(queue.pending(), (0, 0));
    }
}

#[test]
fn what_is_eligible_goes_oldest_first() {
    let (one, two) = (Clock::named(1), Clock::named(2));
    let mut queue = CleanupQueue::default();
    queue.push(vec![one.at(9)], 0, 10, "late");
    queue.push(vec![two.at(2)], 0, 20, "second");
    queue.push(vec![], 0, 20, "never used");
    queue.push(vec![one.at(1), two.at(1)], 0, 30, "both");
    assert_eq!(freed(&mut queue), ["never used"]); // A busy entry holds back no other.
    assert_eq!(queue.pending(), (3, 60));
    one.now.set(8);
    two.now.set(2);
    assert_eq!(freed(&mut queue), ["second", "both"]);
    one.now.set(9);
    assert_eq!(freed(&mut queue), ["late"]);
    assert_eq!(queue.pending(), (0, 0));
}

#[test]
fn asking_costs_a_question_a_clock_and_one_an_entry_that_is_freed() {
    let (busy, quick) = (Clock::named(1), Clock::named(2));
    let mut queue = CleanupQueue::default();
    for i in 0..1000 {
        queue.push(vec![busy.at(1 + i)], 0, 1, i);
    }
    assert_eq!(busy.n_asked.get(), 0, "adding makes no query");
    for _ in 0..10 {
        assert!(freed(&mut queue).is_empty());
    }
    assert_eq!(busy.n_asked.get(), 10);
    for i in 0..5 {
        queue.push(vec![quick.at(0)], 0, 1, i);
    }
    assert_eq!(freed(&mut queue), [0, 1, 2, 3, 4]);
    assert_eq!((busy.n_asked.get(), quick.n_asked.get()), (11, 5));
}

#[test]
fn an_entry_that_cannot_be_asked_is_not_lost_and_holds_back_no_other_clock() {
    let (lost, well) = (Clock::named(1), Clock::named(2));
    let mut queue = CleanupQueue::default();
    queue.push(vec![lost.at(0)], 0, 7, "lost");
    queue.push(vec![well.at(0)], 0, 5, "well");
    lost.fails.set(true);
    assert_eq!(queue.poll(), Err("lost"));
    assert_eq!((queue.take_eligible(), queue.take_eligible()), (Some("well"), None));
    assert_eq!(queue.pending(), (1, 7));
    lost.fails.set(false);
    assert_eq!(freed(&mut queue), ["lost"]);
}

#[test]
fn everything_goes_when_the_device_is_done_for_good() {
    let clock = Clock::default();
    let mut queue = CleanupQueue::default();
    queue.push(vec![clock.at(3)], 0, 5, "busy");
    queue.push(vec![], 1, 6, "never used");
    clock.fails.set(true);
    assert_eq!(queue.take_all(), ["busy", "never used"]);
    assert_eq!(queue.pending(), (0, 0));
    clock.fails.set(false);
    queue.push(vec![clock.at(0)], 1, 5, "next"); // And it goes on.
    assert_eq!(freed(&mut queue), ["next"]);
}

#[test]
fn more_than_the_limit_is_due_and_the_limit_itself_is_not() {
    // Bytes pushed on heap 0 and on heap 1, whether that is due at 3 entries, 100 bytes and 50 bytes.
    let cases: &[(&[u64], &[u64], bool)] = &[
        (&[], &[], false),
        (&[0, 0, 0], &[], false), // As many as may wait.
        (&[0, 0], &[0, 0], true), // One more, wherever it lies.
        (&[60, 40], &[], false),  // As many bytes as may wait.
        (&[60, 41], &[], true),   // One more.
        (&[60], &[50], false),    // Each heap has its own limit:
        (&[60], &[51], true),     // the second's is smaller.
        (&[101], &[], true),      // One entry alone can be too much.
    ];
    let limits = HeapLimits { count: 3, bytes: vec![100, 50] };
    for (first, second, is_due) in cases {
        let mut queue = CleanupQueue::<At, ()>::default();
        first.iter().for_each(|&bytes| queue.push(vec![], 0, bytes, ()));
        second.iter().for_each(|&bytes| queue.push(vec![], 1, bytes, ()));
        assert_eq!(queue.is_due(&limits), *is_due, "{first:?} and {second:?}");
    }
}

#[test]
fn what_is_waited_for_is_enough_and_one_point_a_clock() {
    let (one, two) = (Clock::named(1), Clock::named(2));
    let mut queue = CleanupQueue::default();
    queue.push(vec![one.at(5)], 0, 10, ());
    queue.push(vec![one.at(3), two.at(7)], 1, 10, ()); // Of another heap.
    queue.push(vec![two.at(2)], 0, 10, ());
    queue.push(vec![two.at(1)], 0, 10, ());
    queue.push(vec![one.at(9)], 0, 10, ());
    let points = |mut points: Vec<At>| {
        points.sort_by_key(At::timeline);
        points.iter().map(|at| (at.timeline(), at.value())).collect::<Vec<_>>()
    };
    // Bytes asked for on heap 0, what to wait for.
    let cases: &[(u64, &[(u8, u64)])] = &[
        (0, &[]),
        (1, &[(1, 5)]),
        (10, &[(1, 5)]),
        (11, &[(1, 5), (2, 2)]),
        (30, &[(1, 5), (2, 2)]), // The later of two points on one clock.
        (31, &[(1, 9), (2, 2)]),
        (u64::MAX, &[(1, 9), (2, 2)]), // All there is.
    ];
    for (bytes, expected) in cases {
        assert_eq!(points(queue.last_uses_of_oldest(0, *bytes)), *expected, "{bytes} bytes");
    }
    assert_eq!(points(queue.last_uses()), [(1, 9), (2, 7)]);
}
