//! The copies and messages that fill all ghost zones, as products of the pieces along each axis. Corners are products too,
//! and need no second round.
//!
//! Along an axis that is not divided, a rank fills its ghost zones itself, one axis after the other, before it sends. Messages
//! then have the rows along such an axis with their ghost zones, as one box.

use super::axis::{Axis, Border, Piece, pieces};
use super::divide::Decomposition;
use super::error::DecompositionError;
use super::region::{Region, product};

/// Elements that one rank sends, or copies to itself, for the ghost zones of another rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HaloMessage {
    /// The rank that owns the elements.
    pub sender: usize,
    /// The rank whose ghost zone shows them.
    pub receiver: usize,
    /// The elements, counted in the sender's array, its ghost zones included.
    pub source: Region,
    /// The first element that is written, counted in the receiver's array, its ghost zones included.
    pub target: Vec<usize>,
    /// For each axis, whether the last element of the source is written first.
    pub mirrored: Vec<bool>,
}

/// All copies and messages of one exchange: each rank first makes its [`own`](Self::own) copies in their order, and then sends
/// and receives messages. Both sides of a pair of ranks list their messages in the same order.
///
/// ```
/// use vkarray_dist::{Border, Decomposition, HaloSchedule};
///
/// let cube = Decomposition::over([64, 64, 64], 8)?.ghosts([(1, 1); 3])?.borders([Border::Periodic; 3])?;
/// let schedule = HaloSchedule::new(&cube);
/// let incoming = schedule.incoming(5)?;
/// assert_eq!(incoming.len(), 26);
/// assert_eq!(incoming.iter().map(|message| message.source.size()).sum::<usize>(), 34 * 34 * 34 - 32 * 32 * 32);
/// # Ok::<(), vkarray_dist::DecompositionError>(())
/// ```
#[derive(Debug, Clone)]
pub struct HaloSchedule {
    decomposition: Decomposition,
    /// For each axis, the ghost zones that each rank fills itself, before it sends.
    filled: Vec<Vec<Piece>>,
    /// For each axis and each part, the pieces that the part shows, counted in the arrays of their owners.
    shown: Vec<Vec<Vec<Piece>>>,
    /// For each axis and each part, the pieces that the part owns, with the parts that show them.
    owned: Vec<Vec<Vec<(usize, Piece)>>>,
}

impl HaloSchedule {
    /// The schedule of a decomposition. Its time and memory grow with the ranks and ghost elements along each axis, not
    /// with their product.
    #[must_use]
    pub fn new(decomposition: &Decomposition) -> Self {
        let (filled, shown): (Vec<_>, Vec<_>) =
            (decomposition.surroundings()).map(|(axis, ghosts, border)| along(axis, ghosts, border)).unzip();
        let owned = shown.iter().map(|parts| by_owner(parts)).collect();
        Self { decomposition: decomposition.clone(), filled, shown, owned }
    }

    /// The copies that a rank makes within its array, in their order: a copy may read what an earlier one wrote.
    ///
    /// ```
    /// use vkarray_dist::{Border, Decomposition, HaloSchedule};
    ///
    /// // The second axis is not divided: its ghost zones are one column on each side.
    /// let rows = Decomposition::with_grid([8, 5], [2, 1])?.ghosts([(1, 1); 2])?.borders([Border::Periodic; 2])?;
    /// let schedule = HaloSchedule::new(&rows);
    /// assert!(schedule.own(0)?.iter().map(|copy| &copy.source.shape).eq([[4, 1], [4, 1]].iter()));
    /// // The rows for the neighbour have these columns too.
    /// assert!(schedule.outgoing(0)?.iter().map(|message| &message.source.shape).eq([[1, 7], [1, 7]].iter()));
    /// # Ok::<(), vkarray_dist::DecompositionError>(())
    /// ```
    ///
    /// # Errors
    /// There is no such rank.
    pub fn own(&self, rank: usize) -> Result<Vec<HaloMessage>, DecompositionError> {
        let place = self.decomposition.place(rank)?;
        // The first element and the length along each axis of what is filled so far: at first the rank's own elements.
        let mut extents: Vec<(usize, usize)> = (self.decomposition.surroundings().zip(&place))
            .map(|((axis, ghosts, _), &part)| (ghosts.0, axis.part(part).1))
            .collect();
        let axes = 0..extents.len();
        let mut copies = Vec::new();
        for (axis, filled) in self.filled.iter().enumerate() {
            for piece in filled {
                let along = |other: usize, first| if other == axis { (first, piece.len) } else { extents[other] };
                let (start, shape) = axes.clone().map(|other| along(other, piece.source)).unzip();
                copies.push(HaloMessage {
                    sender: rank,
                    receiver: rank,
                    source: Region { start, shape },
                    target: axes.clone().map(|other| along(other, piece.target).0).collect(),
                    mirrored: axes.clone().map(|other| other == axis && piece.mirrored).collect(),
                });
            }
            if let ([_, ..], [whole]) = (&filled[..], &self.shown[axis][place[axis]][..]) {
                extents[axis] = (whole.target, whole.len);
            }
        }
        copies.retain(|copy| copy.source.size() > 0);
        Ok(copies)
    }

    /// The messages that fill a rank's ghost zones, by sender.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn incoming(&self, rank: usize) -> Result<Vec<HaloMessage>, DecompositionError> {
        let place = self.decomposition.place(rank)?;
        let lists: Vec<Vec<(usize, Piece)>> = (self.shown.iter().zip(&place))
            .map(|(parts, &at)| parts[at].iter().map(|&piece| (at, piece)).collect())
            .collect();
        Ok(self.messages(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    }

    /// The messages that a rank sends, by receiver.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn outgoing(&self, rank: usize) -> Result<Vec<HaloMessage>, DecompositionError> {
        let place = self.decomposition.place(rank)?;
        let lists: Vec<&[(usize, Piece)]> =
            self.owned.iter().zip(&place).map(|(parts, &at)| parts[at].as_slice()).collect();
        Ok(self.messages(&lists))
    }

    /// One message for each combination of pieces, without the receiver's own elements.
    fn messages(&self, lists: &[&[(usize, Piece)]]) -> Vec<HaloMessage> {
        let combinations = product(lists).into_iter().filter(|pieces| !pieces.iter().all(|(_, piece)| piece.interior));
        let mut messages: Vec<HaloMessage> = combinations.map(|pieces| self.message(&pieces)).collect();
        messages.sort_by(|a, b| (a.sender, a.receiver, &a.target).cmp(&(b.sender, b.receiver, &b.target)));
        messages
    }

    fn message(&self, pieces: &[(usize, Piece)]) -> HaloMessage {
        let (receiver, sender): (Vec<usize>, Vec<usize>) = pieces.iter().map(|(at, piece)| (*at, piece.owner)).unzip();
        let (start, shape) = pieces.iter().map(|(_, piece)| (piece.source, piece.len)).unzip();
        HaloMessage {
            sender: self.decomposition.rank_at(&sender),
            receiver: self.decomposition.rank_at(&receiver),
            source: Region { start, shape },
            target: pieces.iter().map(|(_, piece)| piece.target).collect(),
            mirrored: pieces.iter().map(|(_, piece)| piece.mirrored).collect(),
        }
    }
}

/// The ghost zones along an axis that each rank fills itself, and for each part the pieces that it shows after that, counted in
/// the arrays of their owners.
fn along(axis: Axis, ghosts: (usize, usize), border: Border) -> (Vec<Piece>, Vec<Vec<Piece>>) {
    let local = |piece: Piece| Piece { source: piece.source - axis.part(piece.owner).0 + ghosts.0, ..piece };
    let parts =
        (0..axis.parts).map(|part| pieces(axis, part, ghosts, border).into_iter().map(local).collect::<Vec<_>>());
    if axis.parts > 1 || axis.len == 0 || border == Border::Fixed {
        return (Vec::new(), parts.collect());
    }
    let filled = parts.flatten().filter(|piece| !piece.interior).collect();
    let len = ghosts.0 + axis.len + ghosts.1;
    let whole = Piece { owner: 0, source: 0, target: 0, len, mirrored: false, interior: true };
    (filled, vec![vec![whole]])
}

/// For each part the pieces that it owns, with the parts that show them.
fn by_owner(shown: &[Vec<Piece>]) -> Vec<Vec<(usize, Piece)>> {
    let mut owned = vec![Vec::new(); shown.len()];
    for (at, piece) in shown.iter().enumerate().flat_map(|(at, pieces)| pieces.iter().map(move |&piece| (at, piece))) {
        owned[piece.owner].push((at, piece));
    }
    owned
}
