//! Why an array cannot be divided as asked.

/// Why an array cannot be divided as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecompositionError {
    /// A grid has an axis with no rank.
    #[error("an array cannot be divided among 0 ranks; give each axis of the grid at least 1 rank")]
    NoRanks,
    /// A list has not one entry for each axis of the array.
    #[error("{what} has {given} entries, but the array has {ndim} axes; give one entry for each axis")]
    Axes {
        /// What was given.
        what: &'static str,
        /// Its number of entries.
        given: usize,
        /// The number of axes of the array.
        ndim: usize,
    },
    /// An array without axes cannot be divided.
    #[error("an array without axes cannot be divided among {ranks} ranks; use 1 rank or give it an axis")]
    NoAxes {
        /// The number of ranks.
        ranks: usize,
    },
    /// A number of elements or of ranks exceeds the range of `usize`.
    #[error("the number of {what} of {sizes:?} exceeds {}; use fewer", usize::MAX)]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// The sizes whose product, or the widths whose sum, is too large.
        sizes: Vec<usize>,
    },
    /// The array is divided among fewer ranks.
    #[error("rank {rank} does not exist: the array is divided among {ranks} ranks, numbered from 0")]
    Rank {
        /// The rank that was asked for.
        rank: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// Two arrays of different shapes share no elements.
    #[error("arrays of shapes {ours:?} and {theirs:?} share no elements; both decompositions need one shape")]
    Shapes {
        /// The shape of the first array.
        ours: Vec<usize>,
        /// The shape of the second array.
        theirs: Vec<usize>,
    },
}
