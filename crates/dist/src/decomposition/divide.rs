//! The parts of a decomposition: who owns an element, and what two decompositions share.

use std::fmt;

use super::axis::{Axis, Border};
use super::error::DecompositionError;
use super::grid::least_surface;
use super::region::{Region, product};

/// How a global array is divided among ranks: its shape, a grid of ranks with as many axes, and for each axis the
/// widths of the ghost zones and the border.
///
/// Parts along an axis differ by one element at most. Ranks are numbered by their places in the grid, the last axis
/// fastest. All functions are pure: each rank computes what every other rank has.
///
/// ```
/// use vkarray_dist::{Border, Decomposition};
///
/// let halves = Decomposition::over([100, 7], 2)?.ghosts([(1, 1), (0, 0)])?.borders([Border::Periodic, Border::Fixed])?;
/// assert_eq!(halves.grid(), [2, 1]);
/// assert_eq!(halves.part(1)?.start, [50, 0]);
/// assert_eq!(halves.local_shape(1)?, [52, 7]);
/// assert_eq!(halves.owner(&[49, 3]), Some(0));
/// # Ok::<(), vkarray_dist::DecompositionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Decomposition {
    shape: Vec<usize>,
    grid: Vec<usize>,
    ghosts: Vec<(usize, usize)>,
    borders: Vec<Border>,
}

/// Elements that a rank has in one decomposition and another rank in another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Overlap {
    /// The rank that has them in the other decomposition.
    pub rank: usize,
    /// The elements, counted in the global array.
    pub region: Region,
}

/// Sizes and widths up to this one can be added without overflow.
const LONGEST: usize = usize::MAX / 8;

impl Decomposition {
    /// Divides an array of `shape` among `ranks` ranks by the grid that cuts through the fewest elements, without ghost
    /// zones. Where there are more ranks than elements, some ranks have none.
    ///
    /// # Errors
    /// There are no ranks, several ranks but no axis, or too many elements.
    pub fn over(shape: impl Into<Vec<usize>>, ranks: usize) -> Result<Self, DecompositionError> {
        let shape = shape.into();
        match (shape.len(), ranks) {
            (_, 0) => Err(DecompositionError::NoRanks),
            (0, 2..) => Err(DecompositionError::NoAxes { ranks }),
            _ => {
                let grid = least_surface(&shape, ranks);
                Self::with_grid(shape, grid)
            }
        }
    }

    /// Divides an array of `shape` among the ranks of `grid`, which has the number of parts along each axis.
    ///
    /// # Errors
    /// The grid has another number of axes or an axis with no rank, or there are too many elements or ranks.
    pub fn with_grid(shape: impl Into<Vec<usize>>, grid: impl Into<Vec<usize>>) -> Result<Self, DecompositionError> {
        let (shape, grid) = (shape.into(), grid.into());
        let ndim = shape.len();
        check_axes("the grid of ranks", grid.len(), ndim)?;
        if grid.contains(&0) {
            return Err(DecompositionError::NoRanks);
        }
        for (what, sizes) in [("elements", &shape), ("ranks", &grid)] {
            let count = sizes.iter().try_fold(1_usize, |count, &size| count.checked_mul(size));
            if count.is_none() || sizes.iter().any(|&size| size > LONGEST) {
                return Err(DecompositionError::TooLarge { what, sizes: sizes.clone() });
            }
        }
        Ok(Self { shape, grid, ghosts: vec![(0, 0); ndim], borders: vec![Border::Fixed; ndim] })
    }

    /// Gives the parts ghost zones: for each axis the number of elements before and after the part. They may be
    /// wider than the neighbour's part.
    ///
    /// # Errors
    /// The list has not one entry for each axis, or a width is too large.
    pub fn ghosts(self, ghosts: impl Into<Vec<(usize, usize)>>) -> Result<Self, DecompositionError> {
        let ghosts = ghosts.into();
        check_axes("the list of ghost zones", ghosts.len(), self.shape.len())?;
        match ghosts.iter().find(|(before, after)| *before.max(after) > LONGEST) {
            Some(&(before, after)) => {
                Err(DecompositionError::TooLarge { what: "ghost elements", sizes: vec![before, after] })
            }
            None => Ok(Self { ghosts, ..self }),
        }
    }

    /// Gives the array other borders, one for each axis.
    ///
    /// # Errors
    /// The list has not one entry for each axis.
    pub fn borders(self, borders: impl Into<Vec<Border>>) -> Result<Self, DecompositionError> {
        let borders = borders.into();
        check_axes("the list of borders", borders.len(), self.shape.len())?;
        Ok(Self { borders, ..self })
    }

    /// The shape of the global array.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of parts along each axis.
    #[must_use]
    pub fn grid(&self) -> &[usize] {
        &self.grid
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.grid.iter().product()
    }

    /// The rank that owns the element at `index` of the global array, `None` if there is no such element.
    #[must_use]
    pub fn owner(&self, index: &[usize]) -> Option<usize> {
        let exists = index.len() == self.shape.len() && index.iter().zip(&self.shape).all(|(at, len)| at < len);
        let place: Vec<usize> = exists.then(|| self.axes().zip(index).map(|(axis, &at)| axis.owner(at)).collect())?;
        Some(self.rank_at(&place))
    }

    /// The elements that a rank owns, counted in the global array.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn part(&self, rank: usize) -> Result<Region, DecompositionError> {
        let place = self.place(rank)?;
        let (start, shape) = self.axes().zip(place).map(|(axis, part)| axis.part(part)).unzip();
        Ok(Region { start, shape })
    }

    /// The shape of a rank's array, its ghost zones included.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn local_shape(&self, rank: usize) -> Result<Vec<usize>, DecompositionError> {
        let shape = self.part(rank)?.shape;
        Ok(shape.iter().zip(&self.ghosts).map(|(len, (before, after))| before + len + after).collect())
    }

    /// The elements that a rank owns, counted in its array, whose first elements are ghost zones.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn interior(&self, rank: usize) -> Result<Region, DecompositionError> {
        let shape = self.part(rank)?.shape;
        Ok(Region { start: self.ghosts.iter().map(|&(before, _)| before).collect(), shape })
    }

    /// The box beside a rank's interior at a distance along each axis, `None` if it would go beyond the ghost zones or
    /// the list has not one distance for each axis.
    pub(crate) fn shifted(&self, rank: usize, shift: &[isize]) -> Result<Option<Region>, DecompositionError> {
        let Region { start, shape } = self.interior(rank)?;
        let is_within = shift.len() == start.len()
            && (shift.iter().zip(&self.ghosts))
                .all(|(shift, (before, after))| shift.unsigned_abs() <= if *shift < 0 { *before } else { *after });
        let moved = || start.iter().zip(shift).map(|(at, shift)| at.wrapping_add_signed(*shift)).collect();
        Ok(is_within.then(|| Region { start: moved(), shape }))
    }

    /// The widths of the ghost zones before and after each part, for each axis.
    #[must_use]
    pub fn widths(&self) -> &[(usize, usize)] {
        &self.ghosts
    }

    /// The widths of the ghost zones that other ranks fill: none along an axis that is not divided, where each rank fills its
    /// ghost zones itself.
    pub(crate) fn widths_from_others(&self) -> Vec<(usize, usize)> {
        let axes = self.ghosts.iter().zip(&self.grid);
        axes.map(|(&width, &parts)| if parts > 1 { width } else { (0, 0) }).collect()
    }

    /// The elements of a rank's part in the order of the ranks that have them in `other`: what the rank sends where an
    /// array is redistributed to `other`, and, asked of `other`, what it receives.
    ///
    /// # Errors
    /// The global shapes differ, or there is no such rank.
    pub fn overlaps(&self, rank: usize, other: &Self) -> Result<Vec<Overlap>, DecompositionError> {
        if self.shape != other.shape {
            return Err(DecompositionError::Shapes { ours: self.shape.clone(), theirs: other.shape.clone() });
        }
        Ok(other.owners(&self.part(rank)?))
    }

    /// The elements of a box of the global array in the order of the ranks that own them. The box must lie in the
    /// array.
    pub(crate) fn owners(&self, region: &Region) -> Vec<Overlap> {
        if region.size() == 0 {
            return Vec::new();
        }
        let ranges: Vec<Vec<usize>> = (self.axes().zip(region.start.iter().zip(&region.shape)))
            .map(|(axis, (&start, &len))| (axis.owner(start)..=axis.owner(start + len - 1)).collect())
            .collect();
        let places = product(&ranges.iter().map(Vec::as_slice).collect::<Vec<_>>());
        places.iter().map(|at| Overlap { rank: self.rank_at(at), region: self.shared(region, at) }).collect()
    }

    /// What `part` has in common with the part at `place`.
    fn shared(&self, part: &Region, place: &[usize]) -> Region {
        let axes = self.axes().zip(place).zip(part.start.iter().zip(&part.shape));
        let (start, shape) = axes
            .map(|((axis, &at), (&start, &len))| {
                let (theirs, their_len) = axis.part(at);
                let first = start.max(theirs);
                (first, (start + len).min(theirs + their_len) - first)
            })
            .unzip();
        Region { start, shape }
    }

    /// The first element of each part along an axis that has elements.
    pub(crate) fn starts(&self, axis: usize) -> impl Iterator<Item = usize> {
        let axes = self.axes().skip(axis).take(1);
        axes.flat_map(|axis| (0..axis.parts.min(axis.len)).map(move |part| axis.part(part).0))
    }

    /// The decomposition of the array with its axes reversed.
    pub(crate) fn reversed(&self) -> Self {
        let mut reversed = self.clone();
        reversed.shape.reverse();
        reversed.grid.reverse();
        reversed.ghosts.reverse();
        reversed.borders.reverse();
        reversed
    }

    pub(super) fn axes(&self) -> impl Iterator<Item = Axis> {
        self.shape.iter().zip(&self.grid).map(|(&len, &parts)| Axis { len, parts })
    }

    /// For each axis its parts, its ghost zones and its border.
    pub(super) fn surroundings(&self) -> impl Iterator<Item = (Axis, (usize, usize), Border)> {
        self.axes().zip(&self.ghosts).zip(&self.borders).map(|((axis, &ghosts), &border)| (axis, ghosts, border))
    }

    /// The rank at a place in the grid.
    pub(crate) fn rank_at(&self, place: &[usize]) -> usize {
        place.iter().zip(&self.grid).fold(0, |rank, (at, parts)| rank * parts + at)
    }

    /// The place of a rank in the grid.
    pub(crate) fn place(&self, rank: usize) -> Result<Vec<usize>, DecompositionError> {
        let ranks = self.ranks();
        if rank >= ranks {
            return Err(DecompositionError::Rank { rank, ranks });
        }
        let mut rest = rank;
        let mut place: Vec<usize> = (self.grid.iter().rev())
            .map(|parts| {
                let at = rest % parts;
                rest /= parts;
                at
            })
            .collect();
        place.reverse();
        Ok(place)
    }
}

/// All that tells it from another decomposition, in one line.
impl fmt::Display for Decomposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, grid, ghosts, borders } = self;
        write!(f, "shape {shape:?} divided as {grid:?} with ghost zones {ghosts:?} and borders {borders:?}")
    }
}

fn check_axes(what: &'static str, given: usize, ndim: usize) -> Result<(), DecompositionError> {
    if given == ndim { Ok(()) } else { Err(DecompositionError::Axes { what, given, ndim }) }
}
