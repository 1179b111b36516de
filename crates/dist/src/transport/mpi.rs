//! Ranks that are processes, connected by MPI.

use std::ffi::c_int;
use std::fmt;
use std::marker::PhantomData;
use std::thread;

use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading};
use mpi::request;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _, Destination as _, Equivalence as _, Source as _};

use super::{Transport, TransportError, check_ranks};

/// The longest message of MPI, in bytes; its lengths are of 31 bits. Longer ones are sent in several.
const LONGEST: usize = 1 << 30;

/// The tag of all messages. Their order is enough to tell them apart.
const TAG: c_int = 0;

/// A rank that is a process, which `mpiexec` started. It has a communicator of its own, so that its messages do not mix
/// with those of the program.
pub struct MpiRank {
    // The communicator is freed before MPI ends.
    ranks: SimpleCommunicator,
    _universe: Universe,
    /// MPI is called by the thread that started it, and by no other thread.
    _thread: PhantomData<*const ()>,
}

impl MpiRank {
    /// Starts MPI, runs the program as one of its ranks, and ends MPI, which waits for all ranks.
    ///
    /// A rank whose program returns an error or panics prints it and ends all ranks, which `mpiexec` reports as a
    /// failure.
    ///
    /// # Errors
    /// MPI was started in this process before, or the MPI library does not allow threads, which Vulkan drivers have.
    pub fn run<E: fmt::Display>(program: impl FnOnce(&Self) -> Result<(), E>) -> Result<(), TransportError> {
        let (universe, level) = initialize_with_threading(Threading::Funneled).ok_or(TransportError::Started)?;
        if level < Threading::Funneled {
            return Err(TransportError::Threads);
        }
        let rank = Self { ranks: universe.world().duplicate(), _universe: universe, _thread: PhantomData };
        program(&rank).unwrap_or_else(|error| {
            eprintln!("rank {} of {}: {error}", rank.rank(), rank.size());
            rank.ranks.abort(1)
        });
        Ok(())
    }
}

impl Drop for MpiRank {
    fn drop(&mut self) {
        // The end of MPI would wait for ranks that wait for this one.
        if thread::panicking() {
            eprintln!("rank {} of {} panicked", self.rank(), self.size());
            self.ranks.abort(1);
        }
    }
}

impl fmt::Debug for MpiRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiRank").field("rank", &self.rank()).field("size", &self.size()).finish()
    }
}

impl Transport for MpiRank {
    fn rank(&self) -> usize {
        self.ranks.rank().try_into().expect("MPI numbers ranks from 0")
    }

    fn size(&self) -> usize {
        self.ranks.size().try_into().expect("a communicator has at least one rank")
    }

    fn exchange(
        &self,
        outgoing: Vec<(usize, Vec<u8>)>,
        incoming: &[(usize, usize)],
    ) -> Result<Vec<Vec<u8>>, TransportError> {
        check_ranks(self.size(), &outgoing, incoming)?;
        let process = |rank: usize| {
            self.ranks.process_at_rank(c_int::try_from(rank).expect("the rank exists, and MPI numbers it by an int"))
        };
        let mut received: Vec<Vec<u8>> = incoming.iter().map(|&(_, len)| vec![0; len]).collect();
        let lens = request::scope(|scope| {
            let receives: Vec<_> = (incoming.iter().zip(&mut received))
                .flat_map(|(&(rank, _), bytes)| bytes.chunks_mut(LONGEST).map(move |part| (rank, part)))
                .map(|(rank, part)| (rank, part.len(), process(rank).immediate_receive_into_with_tag(scope, part, TAG)))
                .collect();
            let sends: Vec<_> = (outgoing.iter())
                .flat_map(|(rank, bytes)| bytes.chunks(LONGEST).map(move |part| (*rank, part)))
                .map(|(rank, part)| process(rank).immediate_send_with_tag(scope, part, TAG))
                .collect();
            let lens: Vec<_> = (receives.into_iter())
                .map(|(rank, len, receive)| (rank, len, receive.wait().count(u8::equivalent_datatype())))
                .collect();
            for send in sends {
                send.wait();
            }
            lens
        });
        // MPI itself ends the program if a message is longer than expected.
        for (sender, expected, count) in lens {
            let sent = usize::try_from(count).unwrap_or(0);
            if sent != expected {
                return Err(TransportError::Length { sender, receiver: self.rank(), expected, sent });
            }
        }
        Ok(received)
    }

    fn barrier(&self) -> Result<(), TransportError> {
        self.ranks.barrier();
        Ok(())
    }
}
