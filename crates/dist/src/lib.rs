//! Arrays that are divided among the ranks of a program.
//!
//! **Is:** the decomposition of a global array and the schedules of messages that follow from it, as plain numbers.
//! **Is not:** elements, a device, MPI, and not a line of `unsafe`. **Start** at [`Decomposition`].
#![forbid(unsafe_code)]

mod decomposition;

pub use decomposition::{Border, Decomposition, DecompositionError, HaloMessage, HaloSchedule, Overlap, Region};
