//! The list with counters for clocks: nothing is taken out early, and nothing is forgotten.

use std::iter;

use super::*;

/// The uses of an item: clocks and the values that they reach at the end of the uses.
type Work = Vec<(u8, u64)>;

/// Two clocks that count how often they are asked, and can refuse to answer.
#[derive(Default)]
struct Clocks {
    now: [u64; 2],
    fails: [bool; 2],
    n_asked: [usize; 2],
}

impl Clocks {
    /// Removes what is over from `uses`, like the device.
    fn ask(&mut self, uses: &mut Work) -> Result<(), &'static str> {
        let mut answer = Ok(());
        uses.retain(|&(clock, value)| {
            let clock = usize::from(clock);
            self.n_asked[clock] += 1;
            if self.fails[clock] {
                answer = Err("lost");
            }
            self.fails[clock] || self.now[clock] < value
        });
        answer
    }

    fn poll<T>(&mut self, list: &mut PendingList<Work, T>) -> Result<(), &'static str> {
        list.poll(&mut CompletionQuery::new(|uses: &mut Work| self.ask(uses)))
    }

    /// Everything that is over, in the order in which it is given out.
    fn freed<T>(&mut self, list: &mut PendingList<Work, T>) -> Vec<T> {
        self.poll(list).unwrap();
        iter::from_fn(|| list.take_over()).collect()
    }
}

#[test]
fn never_frees_before_every_last_use_is_over() {
    // Every pair of last uses in 0..=3, on one clock and on two, and every time up to 4 on each.
    for (first, second, is_shared) in (0..32).map(|i| (i / 8, i / 2 % 4, i % 2 == 0)) {
        let other = usize::from(!is_shared);
        let (mut clocks, mut list) = (Clocks::default(), PendingList::default());
        list.push(vec![(0, first), (u8::from(!is_shared), second)], 0, 1, ());
        let mut n_freed = 0;
        for (now_one, now_two) in (0..=4).flat_map(|a| (0..=4).map(move |b| (a, if is_shared { a } else { b }))) {
            clocks.now[0] = clocks.now[0].max(now_one);
            clocks.now[other] = clocks.now[other].max(now_two);
            n_freed += clocks.freed(&mut list).len();
            let is_over = clocks.now[0] >= first && clocks.now[other] >= second;
            assert_eq!(n_freed, usize::from(is_over), "uses at {first} and {second}, now {now_one} and {now_two}");
        }
        assert_eq!(list.pending(), (0, 0));
    }
}

#[test]
fn what_is_over_goes_oldest_first() {
    let (mut clocks, mut list) = (Clocks::default(), PendingList::default());
    list.push(vec![(0, 9)], 0, 10, "late");
    list.push(vec![(1, 2)], 0, 20, "second");
    list.push(vec![], 0, 20, "never used");
    list.push(vec![(0, 1), (1, 1)], 0, 30, "both");
    assert_eq!(clocks.freed(&mut list), ["never used"]); // A busy item holds back no other.
    assert_eq!(list.pending(), (3, 60));
    clocks.now = [8, 2];
    assert_eq!(clocks.freed(&mut list), ["second", "both"]);
    clocks.now[0] = 9;
    assert_eq!(clocks.freed(&mut list), ["late"]);
    assert_eq!(list.pending(), (0, 0));
}

#[test]
fn asking_costs_a_question_a_clock_and_one_an_item_that_is_freed() {
    let (mut clocks, mut list) = (Clocks::default(), PendingList::default());
    for i in 0..1000 {
        list.push(vec![(0, 1 + i)], 0, 1, i);
    }
    assert_eq!(clocks.n_asked[0], 0, "adding makes no query");
    for _ in 0..10 {
        assert!(clocks.freed(&mut list).is_empty());
    }
    assert_eq!(clocks.n_asked[0], 10);
    for i in 0..5 {
        list.push(vec![(1, 0)], 0, 1, i);
    }
    assert_eq!(clocks.freed(&mut list), [0, 1, 2, 3, 4]);
    assert_eq!(clocks.n_asked, [11, 5]);
}

#[test]
fn an_item_that_cannot_be_asked_is_not_lost_and_holds_back_no_other_clock() {
    let (mut clocks, mut list) = (Clocks::default(), PendingList::default());
    list.push(vec![(0, 0)], 0, 7, "lost");
    list.push(vec![(1, 0)], 0, 5, "well");
    clocks.fails[0] = true;
    assert_eq!(clocks.poll(&mut list), Err("lost"));
    assert_eq!((list.take_over(), list.take_over()), (Some("well"), None));
    assert_eq!(list.pending(), (1, 7));
    clocks.fails[0] = false;
    assert_eq!(clocks.freed(&mut list), ["lost"]);
}

#[test]
fn everything_goes_when_the_device_is_done_for_good() {
    let (mut clocks, mut list) = (Clocks::default(), PendingList::default());
    list.push(vec![(0, 3)], 0, 5, "busy");
    list.push(vec![], 1, 6, "never used");
    clocks.fails[0] = true;
    assert_eq!(list.take_all().collect::<Vec<_>>(), ["busy", "never used"]);
    assert_eq!(list.pending(), (0, 0));
    clocks.fails[0] = false;
    list.push(vec![(0, 0)], 1, 5, "next"); // And it goes on.
    assert_eq!(clocks.freed(&mut list), ["next"]);
}

#[test]
fn more_than_the_limit_is_due_and_the_limit_itself_is_not() {
    // Bytes pushed on heap 0 and on heap 1, whether that is due at 3 items, 100 bytes and 50 bytes.
    let cases: &[(&[u64], &[u64], bool)] = &[
        (&[], &[], false),
        (&[0, 0, 0], &[], false), // As many as may wait.
        (&[0, 0], &[0, 0], true), // One more, wherever it lies.
        (&[60, 40], &[], false),  // As many bytes as may wait.
        (&[60, 41], &[], true),   // One more.
        (&[60], &[50], false),    // Each heap has its own limit:
        (&[60], &[51], true),     // the second's is smaller.
        (&[101], &[], true),      // One item alone can be too much.
    ];
    let limits = HeapLimits { count: 3, bytes: vec![100, 50] };
    for (first, second, is_due) in cases {
        let mut list = PendingList::<Work, ()>::default();
        first.iter().for_each(|&bytes| list.push(vec![], 0, bytes, ()));
        second.iter().for_each(|&bytes| list.push(vec![], 1, bytes, ()));
        assert_eq!(list.is_due(&limits), *is_due, "{first:?} and {second:?}");
    }
}

#[test]
fn what_is_waited_for_is_enough_and_one_value_a_clock() {
    let mut list = PendingList::default();
    list.push(vec![(0, 5)], 0, 10, ());
    list.push(vec![(0, 3), (1, 7)], 1, 10, ()); // Of another heap.
    list.push(vec![(1, 2)], 0, 10, ());
    list.push(vec![(1, 1)], 0, 10, ());
    list.push(vec![(0, 9)], 0, 10, ());
    let sorted = |mut uses: Work| {
        uses.sort_unstable();
        uses
    };
    // Bytes asked for on heap 0, what to wait for.
    let cases: &[(u64, &[(u8, u64)])] = &[
        (0, &[]),
        (1, &[(0, 5)]),
        (10, &[(0, 5)]),
        (11, &[(0, 5), (1, 2)]),
        (30, &[(0, 5), (1, 2)]), // The later of two values on one clock.
        (31, &[(0, 9), (1, 2)]),
        (u64::MAX, &[(0, 9), (1, 2)]), // All there is.
    ];
    for (bytes, expected) in cases {
        assert_eq!(sorted(list.uses_of_oldest(0, *bytes)), *expected, "{bytes} bytes");
    }
    assert_eq!(sorted(list.uses()), [(0, 9), (1, 7)]);
}
