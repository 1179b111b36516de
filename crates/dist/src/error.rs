//! Why an operation on a distributed array fails.

use crate::decomposition::{Decomposition, DecompositionError, Region};
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
    /// The array has no element at an index.
    #[error("an array of shape {shape:?} has no element at {index:?}; give one index for each axis, counted from 0")]
    Index {
        /// The index.
        index: Vec<usize>,
        /// The shape of the global array.
        shape: Vec<usize>,
    },
    /// A file has an array of another shape.
    #[error("{name} has an array of shape {found:?}, but the decomposition divides one of shape {shape:?}")]
    FileShape {
        /// The path of the file.
        name: String,
        /// The shape of its array.
        found: Vec<usize>,
        /// The shape that is divided.
        shape: Vec<usize>,
    },
    /// A view of a box would go beyond the part.
    #[error(
        "a box of shape {:?} from {:?} on goes beyond the part, whose shape is {part:?}; boxes count from its first \
         element",
        piece.shape, piece.start
    )]
    Window {
        /// The box.
        piece: Region,
        /// The shape of the part.
        part: Vec<usize>,
    },
    /// A reduction, a scan or a sort along an axis that the array does not have.
    #[error("axes {axes:?} of an array of {ndim} axes: axis {axis} does not exist or is named twice")]
    Axis {
        /// The axis at fault.
        axis: usize,
        /// All axes that were named.
        axes: Vec<usize>,
        /// The number of axes of the array.
        ndim: usize,
    },
    /// Two arrays of an expression are divided in different ways.
    #[error(
        "an array of shape {:?} on ranks {:?} is no operand for one of shape {:?} on ranks {:?}; `redistribute` one of \
         them, since operands have one grid of ranks, and shapes that are equal or broadcast",
        operand.shape(), operand.grid(), result.shape(), result.grid()
    )]
    Operands {
        /// How the operand is divided.
        operand: Box<Decomposition>,
        /// How the result is divided.
        result: Box<Decomposition>,
    },
    /// Two arrays have no matrix product.
    #[error(
        "arrays of shapes {left:?} and {right:?} have no matrix product; both need two axes, and the left one as many \
         columns as the right one has rows"
    )]
    Product {
        /// The shape of the left array.
        left: Vec<usize>,
        /// The shape of the right array.
        right: Vec<usize>,
    },
}
