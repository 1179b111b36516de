//! Why an operation on a distributed array fails.

use crate::decomposition::DecompositionError;
use crate::transport::TransportError;

/// Why an operation on a distributed array fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DistError {
    /// The global array cannot be divided as asked.
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
    /// Messages cannot be exchanged.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// An operation on the array of this rank fails.
    #[error(transparent)]
    Array(#[from] vkarray::Error),
    /// A decomposition is for another number of ranks.
    #[error("the array is divided among {parts} ranks, but the program has {size}; divide it among {size}")]
    Ranks {
        /// The number of ranks of the decomposition.
        parts: usize,
        /// The number of ranks of the program.
        size: usize,
    },
    /// A shifted view would go beyond the ghost zones.
    #[error(
        "a shift by {shift:?} goes beyond the ghost zones, which have {ghosts:?} elements before and after the part; \
         give one shift for each axis, within the widths that `Decomposition::ghosts` sets"
    )]
    Shift {
        /// The shift along each axis.
        shift: Vec<isize>,
        /// The widths of the ghost zones.
        ghosts: Vec<(usize, usize)>,
    },
}
