//! Arrays that are divided among the ranks of a program, which are processes (MPI, the feature `mpi`) or threads.
//!
//! **Is:** the decomposition of a global array as plain numbers, arrays of which each rank has a part with ghost
//! zones, and the exchange of elements between ranks. **Is not:** a kernel, a Vulkan call, and not a line of `unsafe`.
//! **Start** at [`Decomposition`] and [`DistArray`].
//!
//! The folders, each of which uses only those above it:
//!
//! | folder | what it is |
//! |---|---|
//! | `decomposition/` | which rank owns which elements, and what ranks exchange, as plain numbers |
//! | [`model`] | how long messages take on a machine, from the numbers of the decompositions |
//! | `transport/` | messages of bytes between ranks: threads, MPI; memory that two ranks share |
//! | `exchange/` | elements from views to messages, and back |
//! | `device/` | the device of a rank, and a report of where all ranks are |
//! | `array/` | arrays: creation, views, ghost zones, other decompositions, the whole array on one rank |
//! | `functions/` | functions of whole arrays: elementwise, reductions, scans, sorting, products of matrices |
#![forbid(unsafe_code)]

mod array;
mod decomposition;
mod device;
mod error;
mod exchange;
mod functions;
pub mod model;
mod transport;

pub use array::DistArray;
pub use decomposition::{Border, Decomposition, DecompositionError, HaloMessage, HaloSchedule, Overlap, Region};
pub use device::{RankReport, Report, open_context};
pub use error::DistError;
pub use functions::{Operands, Reproducible, map};
#[cfg(feature = "mpi")]
pub use transport::MpiRank;
pub use transport::{Link, Mailboxes, Place, ThreadRank, Transport, TransportError};
