//! Threads dealt to a few stripes, so that what many of them do at once is counted apart.
//!
//! A count that eight threads raise and lower at a time costs each of them half a microsecond; one that is a thread's
//! own costs a few nanoseconds. Whoever keeps such counts keeps [`N_STRIPES`] of them, on cache lines of their own.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many stripes there are.
pub const N_STRIPES: usize = 16;

/// The stripe of the calling thread, below [`N_STRIPES`]. Threads are dealt to stripes in turn, so few share one.
#[inline]
#[must_use]
pub fn stripe() -> usize {
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(N_STRIPES) };
    }
    let dealt = OWN.get();
    if dealt < N_STRIPES {
        return dealt;
    }
    let next = deal();
    OWN.set(next);
    next
}

#[cold]
fn deal() -> usize {
    /// Threads seen so far.
    static N_THREADS: AtomicUsize = AtomicUsize::new(0);
    N_THREADS.fetch_add(1, Ordering::Relaxed) % N_STRIPES
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_keeps_its_stripe_and_others_get_others() {
        let own = stripe();
        assert!(own < N_STRIPES && (0..3).all(|_| stripe() == own));
        // One after the other, so that they are dealt in turn whatever other tests do: at most those take one away.
        let dealt: HashSet<_> = (0..4).map(|_| thread::spawn(stripe).join().expect("it does not panic")).collect();
        assert!(dealt.len() > 1, "{dealt:?}");
    }
}
