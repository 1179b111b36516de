//! Ranks that are threads of one process.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::agreement::switch;
use super::{Mailboxes, Place, SHARE_PAGES, Transport, TransportError, check_ranks};

/// A rank that is a thread: for tests, and for programs on one machine without MPI.
///
/// ```
/// use vkarray_dist::{ThreadRank, Transport};
///
/// let sums = ThreadRank::run(3, |rank| {
///     let (next, before) = ((rank.rank() + 1) % 3, (rank.rank() + 2) % 3);
///     let mut received = [0];
///     rank.exchange(&[(next, &[rank.rank() as u8])], &mut [(before, &mut received)])?;
///     Ok::<_, vkarray_dist::TransportError>(received[0])
/// });
/// assert_eq!(sums, [Ok(2), Ok(0), Ok(1)]);
/// ```
#[derive(Debug)]
pub struct ThreadRank {
    rank: usize,
    /// For each rank the messages to it.
    to: Vec<Sender<Vec<u8>>>,
    /// For each rank the messages from it.
    from: Vec<Receiver<Vec<u8>>>,
    mailboxes: Mailboxes,
    /// Whether memory is shared, as a variable said when the ranks began.
    shares_memory: Result<bool, TransportError>,
}

impl ThreadRank {
    /// Runs a program with `size` ranks, and returns their results by rank. Blocks until all have ended. Ranks that
    /// wait for one that has ended get an error.
    ///
    /// # Panics
    /// If a rank panics, after all ranks have ended.
    pub fn run<R: Send>(size: usize, program: impl Fn(&Self) -> R + Sync) -> Vec<R> {
        let program = &program;
        thread::scope(|scope| {
            let threads: Vec<_> =
                Self::connected(size).into_iter().map(|rank| scope.spawn(move || program(&rank))).collect();
            let results: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
            results.into_iter().map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }

    /// All ranks of a program, with a channel from each to each.
    fn connected(size: usize) -> Vec<Self> {
        let shares_memory = switch(SHARE_PAGES, true);
        let alone = |rank| {
            let (to, from, mailboxes) = (Vec::new(), Vec::new(), Mailboxes::default());
            Self { rank, to, from, mailboxes, shares_memory: shares_memory.clone() }
        };
        let mut ranks: Vec<Self> = (0..size).map(alone).collect();
        for sender in 0..size {
            for receiver in 0..size {
                let (to, from) = channel();
                ranks[sender].to.push(to);
                ranks[receiver].from.push(from);
            }
        }
        ranks
    }
}

impl Transport for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, outgoing: &[(usize, &[u8])], incoming: &mut [(usize, &mut [u8])]) -> Result<(), TransportError> {
        check_ranks(self.size(), outgoing, incoming)?;
        for &(receiver, bytes) in outgoing {
            let ended = TransportError::Ended { rank: self.rank, ended: receiver };
            self.to[receiver].send(bytes.to_vec()).map_err(|_| ended)?;
        }
        for (sender, target) in incoming {
            let ended = TransportError::Ended { rank: self.rank, ended: *sender };
            let bytes = self.from[*sender].recv().map_err(|_| ended)?;
            if bytes.len() != target.len() {
                let (expected, sent) = (target.len(), bytes.len());
                return Err(TransportError::Length { sender: *sender, receiver: self.rank, expected, sent });
            }
            target.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn barrier(&self) -> Result<(), TransportError> {
        let outgoing: Vec<(usize, &[u8])> = (0..self.size()).map(|rank| (rank, [].as_slice())).collect();
        let mut incoming: Vec<(usize, &mut [u8])> = (0..self.size()).map(|rank| (rank, [].as_mut_slice())).collect();
        self.exchange(&outgoing, &mut incoming)
    }

    fn place(&self) -> Place {
        let (transport, host) = ("threads of one process".to_owned(), "this process".to_owned());
        Place { transport, host, host_rank: 0, local_rank: self.rank }
    }

    fn mailboxes(&self) -> Result<Option<&Mailboxes>, TransportError> {
        Ok(self.shares_memory.clone()?.then_some(&self.mailboxes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_gets_what_each_rank_sent_to_it_in_order() {
        for size in [1, 2, 3, 4, 7] {
            let results = ThreadRank::run(size, |rank| {
                let text = |from: usize, to: usize, nth: usize| format!("{from}>{to}").as_bytes()[nth..].to_vec();
                let ranks = (0..2).flat_map(|nth| (0..size).map(move |other| (other, nth)));
                let texts: Vec<_> = ranks.clone().map(|(to, nth)| (to, text(rank.rank(), to, nth))).collect();
                let outgoing: Vec<_> = texts.iter().map(|(to, text)| (*to, text.as_slice())).collect();
                let incoming: Vec<_> = ranks.clone().map(|(from, nth)| (from, 3 - nth)).collect();
                let received = crate::transport::received(rank, &outgoing, &incoming).unwrap();
                let expected: Vec<_> = ranks.map(|(from, nth)| text(from, rank.rank(), nth)).collect();
                received == expected
            });
            assert_eq!(results, vec![true; size]);
        }
    }

    #[test]
    fn a_rank_that_ends_ends_those_that_wait_for_it() {
        let results = ThreadRank::run(3, |rank| if rank.rank() == 1 { Ok(()) } else { rank.barrier() });
        let ended = |rank| Err(TransportError::Ended { rank, ended: 1 });
        // A rank may also notice another one that noticed first.
        assert_eq!(results[1], Ok(()));
        for rank in [0, 2] {
            let other = Err(TransportError::Ended { rank, ended: 2 - rank });
            assert!(results[rank] == ended(rank) || results[rank] == other, "{:?}", results[rank]);
        }
        assert!(results.contains(&ended(0)) || results.contains(&ended(2)));
    }

    #[test]
    fn a_barrier_is_passed_when_all_ranks_have_reached_it() {
        let reached = std::sync::atomic::AtomicUsize::new(0);
        let counts = ThreadRank::run(4, |rank| {
            reached.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            rank.barrier().unwrap();
            reached.load(std::sync::atomic::Ordering::SeqCst)
        });
        assert_eq!(counts, [4; 4]);
    }

    #[test]
    fn refusals_name_the_culprit() {
        let results = ThreadRank::run(1, |rank| {
            let unknown = rank.exchange(&[(0, &[1]), (1, &[2])], &mut []).unwrap_err();
            // The refused call sent nothing.
            let received = crate::transport::received(rank, &[(0, &[3])], &[(0, 1)]).unwrap();
            (unknown, received, rank.exchange(&[(0, &[4])], &mut [(0, &mut [0, 0])]).unwrap_err())
        });
        let length = TransportError::Length { sender: 0, receiver: 0, expected: 2, sent: 1 };
        assert_eq!(results, [(TransportError::Rank { rank: 1, size: 1 }, vec![vec![3]], length)]);
    }
}
