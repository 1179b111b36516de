//! Ranks that are processes, connected by MPI.

use std::ffi::c_int;
use std::fmt;
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::thread;

use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading, library_version, processor_name};
use mpi::request;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{
    Communicator as _, CommunicatorCollectives as _, Destination as _, Equivalence as _, Root as _, Source as _,
};

use super::agreement::{CHECK_CALLS, agree, switch};
use super::{Mailboxes, Place, SHARE_PAGES, Transport, TransportError, check_ranks};

/// The longest message of MPI, in bytes; its lengths are of 31 bits. Longer ones are sent in several.
const LONGEST: usize = 1 << 30;

/// The tag of all messages. Their order is enough to tell them apart.
const TAG: c_int = 0;

/// A rank that is a process, which `mpiexec` started. It has a communicator of its own, so that its messages do not mix
/// with those of the program.
pub struct MpiRank {
    // The communicator is freed before MPI ends.
    ranks: SimpleCommunicator,
    place: Place,
    /// Whether calls are compared, and whether memory is shared.
    switches: [bool; 2],
    mailboxes: Mailboxes,
    _universe: Universe,
    /// MPI is called by the thread that started it, and by no other thread.
    _thread: PhantomData<*const ()>,
}

impl MpiRank {
    /// Starts MPI, runs the program as one of its ranks, and ends MPI, which waits for all ranks.
    ///
    /// A rank whose program returns an error or panics prints it and ends all ranks, which `mpiexec` reports as a
    /// failure. Where [`Transport::checks_calls`] says so, a program that ends while other ranks go on ends all ranks
    /// too.
    ///
    /// # Errors
    /// MPI was started in this process before, or the MPI library does not allow threads, which Vulkan drivers have.
    pub fn run<E: fmt::Display>(program: impl FnOnce(&Self) -> Result<(), E>) -> Result<(), TransportError> {
        let (universe, level) = initialize_with_threading(Threading::Funneled).ok_or(TransportError::Started)?;
        if level < Threading::Funneled {
            return Err(TransportError::Threads);
        }
        let ranks = universe.world().duplicate();
        let (place, read) = (place(&ranks), switches(&ranks));
        let (switches, mailboxes) = ([false; 2], Mailboxes::default());
        let mut rank = Self { ranks, place, switches, mailboxes, _universe: universe, _thread: PhantomData };
        rank.switches = read.unwrap_or_else(|error| rank.abort(error));
        if let Err(error) = program(&rank) {
            rank.abort(error);
        }
        // A rank that ends while others call something would leave them waiting.
        if let Err(error) = agree(&rank, || "nothing more, since its program ended".to_owned()) {
            rank.abort(error);
        }
        Ok(())
    }

    fn abort(&self, error: impl fmt::Display) -> ! {
        self.report(format!(": {error}"));
        self.ranks.abort(1)
    }

    /// Prints what happened to this rank.
    fn report(&self, what: impl fmt::Display) {
        // One write, since the errors of all ranks may go to one terminal. Nobody can be told that it failed.
        let line = format!("rank {} of {}{what}\n", self.rank(), self.size());
        drop(io::stderr().write_all(line.as_bytes()));
    }
}

/// Whether calls are compared, and whether memory is shared: what rank 0 read, since not every launcher gives its variables
/// to all hosts.
fn switches(ranks: &SimpleCommunicator) -> Result<[bool; 2], TransportError> {
    let switches = [(CHECK_CALLS, cfg!(debug_assertions)), (SHARE_PAGES, true)].map(|(name, or)| switch(name, or));
    let mut of_first = switches.each_ref().map(|switch| matches!(switch, Ok(true)));
    ranks.process_at_rank(0).broadcast_into(&mut of_first);
    switches.into_iter().collect::<Result<Vec<_>, _>>().map(|_| of_first)
}

/// Finds the ranks that share the memory of a host with this one.
fn place(ranks: &SimpleCommunicator) -> Place {
    let of_host = ranks.split_shared(ranks.rank());
    let mut first = [ranks.rank()];
    of_host.process_at_rank(0).broadcast_into(&mut first);
    Place {
        transport: (library_version().unwrap_or_default().lines().next().unwrap_or("MPI").split_whitespace())
            .collect::<Vec<_>>()
            .join(" "),
        host: processor_name().unwrap_or_default(),
        host_rank: number(first[0]),
        local_rank: number(of_host.rank()),
    }
}

fn number(rank: c_int) -> usize {
    rank.try_into().expect("MPI numbers ranks from 0, and a communicator has at least one")
}

impl Drop for MpiRank {
    fn drop(&mut self) {
        // The end of MPI would wait for ranks that wait for this one.
        if thread::panicking() {
            self.report(" panicked");
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
        number(self.ranks.rank())
    }

    fn size(&self) -> usize {
        number(self.ranks.size())
    }

    fn exchange(&self, outgoing: &[(usize, &[u8])], incoming: &mut [(usize, &mut [u8])]) -> Result<(), TransportError> {
        check_ranks(self.size(), outgoing, incoming)?;
        let process = |rank: usize| {
            self.ranks.process_at_rank(c_int::try_from(rank).expect("the rank exists, and MPI numbers it by an int"))
        };
        let lens = request::scope(|scope| {
            let receives: Vec<_> = (incoming.iter_mut())
                .flat_map(|(rank, bytes)| bytes.chunks_mut(LONGEST).map(|part| (*rank, part)))
                .map(|(rank, part)| (rank, part.len(), process(rank).immediate_receive_into_with_tag(scope, part, TAG)))
                .collect();
            let sends: Vec<_> = (outgoing.iter())
                .flat_map(|&(rank, bytes)| bytes.chunks(LONGEST).map(move |part| (rank, part)))
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
        Ok(())
    }

    fn barrier(&self) -> Result<(), TransportError> {
        self.ranks.barrier();
        Ok(())
    }

    fn place(&self) -> Place {
        self.place.clone()
    }

    fn checks_calls(&self) -> Result<bool, TransportError> {
        Ok(self.switches[0])
    }

    fn mailboxes(&self) -> Result<Option<&Mailboxes>, TransportError> {
        Ok(self.switches[1].then_some(&self.mailboxes))
    }
}
