//! Why messages cannot be exchanged.

/// Why messages cannot be exchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// A message is for, or from, a rank that does not exist.
    #[error("rank {rank} does not exist: the program has {size} ranks, numbered from 0")]
    Rank {
        /// The rank that was named.
        rank: usize,
        /// The number of ranks.
        size: usize,
    },
    /// The ranks disagree on a message.
    #[error(
        "rank {receiver} expects {expected} bytes from rank {sender}, which sent {sent}; \
         both ranks need the same calls on arrays of the same decomposition and type"
    )]
    Length {
        /// The rank that sent the message.
        sender: usize,
        /// The rank that received it.
        receiver: usize,
        /// The length that the receiver expects, in bytes.
        expected: usize,
        /// The length of the message, in bytes.
        sent: usize,
    },
    /// The ranks disagree on a call that all of them make together. All ranks get this error, and none has exchanged
    /// an element.
    #[error(
        "rank 0 calls {ours}, but rank {other} calls {theirs}; \
         all ranks need the same calls in the same order, on arrays of the same decomposition and type"
    )]
    Calls {
        /// The first rank whose call is not that of rank 0.
        other: usize,
        /// The call of rank 0.
        ours: String,
        /// The call of the other rank.
        theirs: String,
    },
    /// A variable of the environment has an unknown value.
    #[error("{variable} is {text:?}; use one of 1, true, yes, on, 0, false, no, off")]
    Setting {
        /// The variable.
        variable: &'static str,
        /// Its value.
        text: String,
    },
    /// A rank ended before it took part in the exchange.
    #[error("rank {rank} waits for rank {ended}, which has ended; its own error is the cause")]
    Ended {
        /// The rank that waits.
        rank: usize,
        /// The rank that has ended.
        ended: usize,
    },
    /// MPI can be started once in a process.
    #[error("MPI runs already or has ended in this process; call `MpiRank::run` once, before any other use of MPI")]
    Started,
    /// The MPI library does not allow threads.
    #[error("the MPI library does not allow a program to have threads; use one with MPI_THREAD_FUNNELED or more")]
    Threads,
}
