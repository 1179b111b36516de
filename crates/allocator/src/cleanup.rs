//! The deferred-cleanup queue: what was dropped while the device may still use it.
//!
//! Generic over what completes and what is thrown away, so that the one rule that matters, *never early*, is tested
//! with a counter for a clock. Freeing is the caller's: the queue only says what may be freed.

use std::collections::VecDeque;

/// Something that is complete at some time, and stays so.
pub(crate) trait Completion {
    /// What asking can fail with.
    type Error;

    /// Whether it is complete. Does not block.
    fn is_complete(&self) -> Result<bool, Self::Error>;

    /// Blocks until it is complete.
    fn wait(&self) -> Result<(), Self::Error>;
}

/// Garbage and the last uses that must be over before it is freed.
#[derive(Debug)]
struct Entry<C, T> {
    last_uses: Vec<C>,
    bytes: u64,
    garbage: T,
}

/// Garbage in the order it was dropped.
#[derive(Debug)]
pub(crate) struct CleanupQueue<C, T> {
    entries: VecDeque<Entry<C, T>>,
    bytes: u64,
}

impl<C, T> Default for CleanupQueue<C, T> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), bytes: 0 }
    }
}

impl<C: Completion, T> CleanupQueue<C, T> {
    /// Adds garbage of `bytes` bytes that is free once all of `last_uses` are complete.
    pub(crate) fn push(&mut self, last_uses: Vec<C>, bytes: u64, garbage: T) {
        self.bytes += bytes;
        self.entries.push_back(Entry { last_uses, bytes, garbage });
    }

    /// How many entries wait, and their bytes.
    pub(crate) fn pending(&self) -> (usize, u64) {
        (self.entries.len(), self.bytes)
    }

    /// Takes out everything that may be freed now. An entry that cannot be asked about stays.
    ///
    /// Streams finish at different times, so a busy entry holds back no other.
    pub(crate) fn take_ready(&mut self) -> Result<Vec<T>, C::Error> {
        let mut ready = Vec::new();
        let mut failed = Ok(());
        for mut entry in std::mem::take(&mut self.entries) {
            match is_ready(&mut entry.last_uses) {
                Ok(true) => {
                    self.bytes -= entry.bytes;
                    ready.push(entry.garbage);
                    continue;
                }
                Ok(false) => {}
                Err(error) => failed = Err(error),
            }
            self.entries.push_back(entry);
        }
        // What is ready is given out even if another entry could not be asked: nothing is lost either way.
        if ready.is_empty() { failed.map(|()| ready) } else { Ok(ready) }
    }

    /// Takes out everything, used or not: for when the device itself is known to be done.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        self.bytes = 0;
        std::mem::take(&mut self.entries).into_iter().map(|entry| entry.garbage).collect()
    }

    /// The last uses of the oldest entries that together have so many bytes; of all where that is too much.
    pub(crate) fn enough(&self, bytes: u64) -> Vec<C>
    where
        C: Clone,
    {
        let mut sum = 0_u64;
        let oldest = self.entries.iter().take_while(|entry| {
            let is_needed = sum < bytes;
            sum = sum.saturating_add(entry.bytes);
            is_needed
        });
        oldest.flat_map(|entry| entry.last_uses.iter().cloned()).collect()
    }

    /// Every entry's last uses and bytes, oldest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&[C], u64)> {
        self.entries.iter().map(|entry| (entry.last_uses.as_slice(), entry.bytes))
    }

    /// Takes out the oldest entry's last uses, for the caller to wait for without holding the queue.
    pub(crate) fn oldest(&self) -> Option<&[C]> {
        self.entries.front().map(|entry| entry.last_uses.as_slice())
    }
}

/// Forgets the uses that are over; ready when none is left.
fn is_ready<C: Completion>(last_uses: &mut Vec<C>) -> Result<bool, C::Error> {
    while let Some(last) = last_uses.last() {
        if !last.is_complete()? {
            return Ok(false);
        }
        last_uses.pop();
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    /// Complete when the clock has reached `at`.
    #[derive(Clone, Debug)]
    struct At {
        clock: Rc<Cell<u64>>,
        at: u64,
        fails: Rc<Cell<bool>>,
    }

    impl Completion for At {
        type Error = &'static str;

        fn is_complete(&self) -> Result<bool, Self::Error> {
            if self.fails.get() { Err("lost") } else { Ok(self.clock.get() >= self.at) }
        }

        fn wait(&self) -> Result<(), Self::Error> {
            self.clock.set(self.clock.get().max(self.at));
            Ok(())
        }
    }

    #[derive(Default)]
    struct Clock(Rc<Cell<u64>>, Rc<Cell<bool>>);

    impl Clock {
        fn at(&self, at: u64) -> At {
            At { clock: Rc::clone(&self.0), at, fails: Rc::clone(&self.1) }
        }
    }

    #[test]
    fn never_frees_before_every_last_use_is_over() {
        // Every pair of last uses in 0..=3 and every clock up to 4.
        for (first, second) in (0..16).map(|i| (i / 4, i % 4)) {
            let clock = Clock::default();
            let mut queue = CleanupQueue::default();
            queue.push(vec![clock.at(first), clock.at(second)], 1, ());
            for now in 0..=4 {
                clock.0.set(now);
                let n_freed = queue.take_ready().unwrap().len();
                let due = first.max(second);
                assert_eq!(n_freed, usize::from(now == due), "uses at {first} and {second}, now {now}");
            }
            assert_eq!(queue.pending(), (0, 0));
        }
    }

    #[test]
    fn a_busy_entry_holds_back_no_other() {
        let clock = Clock::default();
        let mut queue = CleanupQueue::default();
        queue.push(vec![clock.at(9)], 10, "busy");
        queue.push(vec![], 20, "never used");
        queue.push(vec![clock.at(1)], 30, "soon");
        assert_eq!(queue.take_ready().unwrap(), ["never used"]);
        assert_eq!(queue.pending(), (2, 40));
        clock.0.set(1);
        assert_eq!(queue.take_ready().unwrap(), ["soon"]);
        assert_eq!(queue.pending(), (1, 10));
    }

    #[test]
    fn an_entry_that_cannot_be_asked_is_not_lost() {
        let clock = Clock::default();
        let mut queue = CleanupQueue::default();
        queue.push(vec![clock.at(0)], 7, "garbage");
        clock.1.set(true);
        assert_eq!(queue.take_ready(), Err("lost"));
        assert_eq!(queue.pending(), (1, 7));
        clock.1.set(false);
        assert_eq!(queue.take_ready().unwrap(), ["garbage"]);
    }

    #[test]
    fn everything_goes_when_the_device_is_done_for_good() {
        let clock = Clock::default();
        let mut queue = CleanupQueue::default();
        queue.push(vec![clock.at(3)], 5, "busy");
        queue.push(vec![], 6, "never used");
        clock.1.set(true);
        assert_eq!(queue.take_all(), ["busy", "never used"]);
        assert_eq!(queue.pending(), (0, 0));
    }

    #[test]
    fn waiting_for_the_oldest_makes_it_ready() {
        let clock = Clock::default();
        let mut queue = CleanupQueue::default();
        queue.push(vec![clock.at(3), clock.at(5)], 1, "old");
        queue.push(vec![clock.at(9)], 1, "young");
        for last_use in queue.oldest().unwrap() {
            last_use.wait().unwrap();
        }
        assert_eq!(queue.take_ready().unwrap(), ["old"]);
    }
}
