//! Arrays that are divided among ranks. **Start** at [`DistArray`].
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | creation, views, ghost zones, other decompositions |
//! | `halo.rs` | the copies and messages that fill ghost zones |
//! | `overlap.rs` | work while the elements for the ghost zones travel |
//! | `random.rs` | random numbers that are a function of the index in the global array |
//! | `files.rs` | `.npy` files, of which each rank reads and writes its part |
//! | `whole.rs` | the whole array, its text and single elements |

mod files;
mod halo;
mod overlap;
mod random;
mod whole;

use std::any::type_name;
use std::cell::OnceCell;
use std::fmt;

use vkarray::ndarray::{ArrayD, IxDyn};
use vkarray::{Context, DeviceNDArray, Element};

use crate::decomposition::{Decomposition, Overlap, Region};
use crate::error::DistError;
use crate::exchange::{Transfer, view};
use crate::transport::{Transport, TransportError, agree};
use halo::Halo;

/// An array that is divided among the ranks of a program. Each rank has a part of it with its ghost zones, which is one
/// [`DeviceNDArray`] in C order.
///
/// Methods that exchange elements are called by all ranks, in one order, on arrays of the same decomposition and type.
/// Operations on elements are those of the rank's own array: expressions of [`interior`](Self::interior) and
/// [`shifted`](Self::shifted), or kernels that take [`local`](Self::local) and [`offset`](Self::offset).
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray_dist::{Border, Decomposition, DistArray, DistError, ThreadRank};
///
/// let ctx = Context::open_default()?;
/// // The mean of each element and its two neighbours on a ring of ten.
/// let ring = Decomposition::over([10], 3)?.ghosts([(1, 1)])?.borders([Border::Periodic])?;
/// let means = ThreadRank::run(3, |rank| {
///     let x = DistArray::from_fn(&ctx, rank, &ring, |index| index[0] as f32)?;
///     let mean = DistArray::full(&ctx, rank, &ring, 0.0_f32)?;
///     x.halo()?;
///     ((&x.shifted(&[-1])? + &x.interior() + &x.shifted(&[1])?) / 3.0).assign_to(&mean.interior())?;
///     mean.gather()
/// });
/// let whole = means.into_iter().next().unwrap()?.unwrap(); // On rank 0.
/// assert_eq!(whole.as_slice().unwrap(), [10.0 / 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 17.0 / 3.0]);
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct DistArray<'t, T: Element> {
    transport: &'t dyn Transport,
    decomposition: Decomposition,
    /// The part of this rank, counted in the global array.
    part: Region,
    local: DeviceNDArray<T>,
    interior: DeviceNDArray<T>,
    /// Made by the first exchange, since not all arrays are exchanged.
    halo: OnceCell<Halo<T>>,
}

impl<'t, T: Element> DistArray<'t, T> {
    /// An array of one value. Its ghost zones are zeros. Sends no message.
    ///
    /// # Errors
    /// The decomposition is for another number of ranks, or there is no memory for the part of this rank.
    pub fn full(
        context: &Context,
        transport: &'t dyn Transport,
        decomposition: &Decomposition,
        value: T,
    ) -> Result<Self, DistError> {
        let array = Self::zeros(context, transport, decomposition)?;
        array.interior.fill(value)?;
        Ok(array)
    }

    /// An array whose elements are a function of their index in the global array. Its ghost zones are zeros. Sends no
    /// message; each rank computes its own part on the host.
    ///
    /// # Errors
    /// The errors of [`DistArray::full`].
    pub fn from_fn(
        context: &Context,
        transport: &'t dyn Transport,
        decomposition: &Decomposition,
        element: impl Fn(&[usize]) -> T,
    ) -> Result<Self, DistError> {
        let array = Self::zeros(context, transport, decomposition)?;
        let mut index = vec![0; array.part.start.len()];
        let part = ArrayD::from_shape_fn(IxDyn(&array.part.shape), |place| {
            for (axis, at) in index.iter_mut().enumerate() {
                *at = array.part.start[axis] + place[axis];
            }
            element(&index)
        });
        array.interior.copy_from_host(&part)?;
        Ok(array)
    }

    pub(crate) fn zeros(
        context: &Context,
        transport: &'t dyn Transport,
        decomposition: &Decomposition,
    ) -> Result<Self, DistError> {
        let (parts, size, rank) = (decomposition.ranks(), transport.size(), transport.rank());
        if parts != size {
            return Err(DistError::Ranks { parts, size });
        }
        let local = context.zeros(decomposition.local_shape(rank)?)?;
        Ok(Self {
            transport,
            decomposition: decomposition.clone(),
            part: decomposition.part(rank)?,
            interior: view(&local, &decomposition.interior(rank)?)?,
            local,
            halo: OnceCell::new(),
        })
    }

    /// How the array is divided.
    #[must_use]
    pub fn decomposition(&self) -> &Decomposition {
        &self.decomposition
    }

    /// The rank that holds this part, and its messages.
    #[must_use]
    pub fn transport(&self) -> &'t dyn Transport {
        self.transport
    }

    /// The array of this rank: its part with the ghost zones.
    #[must_use]
    pub fn local(&self) -> &DeviceNDArray<T> {
        &self.local
    }

    /// A view of the part of this rank, without the ghost zones.
    #[must_use]
    pub fn interior(&self) -> DeviceNDArray<T> {
        self.interior.clone()
    }

    /// The index in the global array of the first element of [`interior`](Self::interior), for kernels that compute
    /// from the place of an element.
    #[must_use]
    pub fn offset(&self) -> &[usize] {
        &self.part.start
    }

    /// A view of the elements beside those of [`interior`](Self::interior), by a distance along each axis: of the
    /// interior's shape, and partly in the ghost zones.
    ///
    /// # Errors
    /// The view would go beyond the ghost zones, or the list has not one distance for each axis.
    pub fn shifted(&self, shift: &[isize]) -> Result<DeviceNDArray<T>, DistError> {
        let Some(region) = self.decomposition.shifted(self.transport.rank(), shift)? else {
            return Err(DistError::Shift { shift: shift.to_vec(), ghosts: self.decomposition.widths().to_vec() });
        };
        Ok(view(&self.local, &region)?)
    }

    /// Fills the ghost zones with the elements of other ranks, corners included. Ghost zones outside of the global
    /// array follow its borders: beside a fixed border they keep what the program wrote there.
    ///
    /// Each rank sends one message to each neighbour. Blocks until the elements to send are computed and all messages
    /// have arrived; work on other arrays goes on meanwhile.
    ///
    /// # Errors
    /// A rank has ended or disagrees on the exchange, or a copy fails.
    pub fn halo(&self) -> Result<(), DistError> {
        self.agree("halo")?;
        self.halo_transfer()?.run(self.transport)
    }

    /// The ranks of this host with which ghost zones are exchanged through memory that both devices reach, without
    /// messages of elements; see [`Transport::mailboxes`]. The first exchange finds out which these are; before it,
    /// the list is empty.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray_dist::{Border, Decomposition, DistArray, DistError, ThreadRank};
    ///
    /// let ctx = Context::open_default()?;
    /// let ring = Decomposition::over([10], 3)?.ghosts([(1, 1)])?.borders([Border::Periodic])?;
    /// let sharing = ThreadRank::run(3, |rank| {
    ///     let x = DistArray::full(&ctx, rank, &ring, 1.0_f32)?;
    ///     x.halo()?;
    ///     Ok::<_, DistError>(x.sharing())
    /// });
    /// let of_first = sharing.into_iter().next().unwrap()?;
    /// assert!(of_first == [1, 2] || of_first.is_empty()); // Not each device imports memory.
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn sharing(&self) -> Vec<usize> {
        self.halo.get().map_or_else(Vec::new, Halo::sharing)
    }

    /// The copies and messages that fill the ghost zones. The first call makes them, on all ranks.
    fn halo_transfer(&self) -> Result<&Halo<T>, DistError> {
        match self.halo.get() {
            Some(halo) => Ok(halo),
            None => {
                let made = Halo::new(self)?;
                Ok(self.halo.get_or_init(|| made))
            }
        }
    }

    /// Returns an error on all ranks if one of them calls another function or has an array of another decomposition or
    /// type, and if [`Transport::checks_calls`] says that calls are compared.
    pub(crate) fn agree(&self, function: impl fmt::Display) -> Result<(), TransportError> {
        let call = || format!("{function} on {} of {}", type_name::<T>(), self.decomposition);
        agree(self.transport, call)
    }

    /// A view of elements of this rank's part, which are counted in the global array.
    fn global(&self, region: &Region) -> Result<DeviceNDArray<T>, DistError> {
        Ok(view(&self.interior, &region.counted_from(&self.part.start))?)
    }

    /// Fills this array with elements that the ranks have. `own` has those of this rank, and `owned` tells for each
    /// rank which box of this array its elements are.
    pub(crate) fn receive(
        &self,
        own: &DeviceNDArray<T>,
        owned: impl Fn(usize) -> Result<Region, DistError>,
    ) -> Result<(), DistError> {
        let (rank, from) = (self.transport.rank(), owned(self.transport.rank())?);
        let source = |to: Overlap| Ok((to.rank, view(own, &to.region.counted_from(&from.start))?));
        let sources = self.decomposition.owners(&from).into_iter().map(source).collect::<Result<_, DistError>>()?;
        let mut targets = Vec::new();
        for sender in 0..self.transport.size() {
            for to in self.decomposition.owners(&owned(sender)?).iter().filter(|to| to.rank == rank) {
                targets.push((sender, self.global(&to.region)?));
            }
        }
        Transfer::new(own.context(), self.transport, sources, targets)?.run(self.transport)
    }

    /// An array of these elements in another decomposition of their shape. Its ghost zones are zeros. Each rank sends
    /// one message to each rank that gets elements of its part. Blocks as [`halo`](Self::halo) does.
    ///
    /// # Errors
    /// The shapes or the numbers of ranks differ; and the errors of [`DistArray::full`] and [`DistArray::halo`].
    pub fn redistribute(&self, decomposition: &Decomposition) -> Result<Self, DistError> {
        self.agree(format_args!("redistribute to {decomposition}"))?;
        let rank = self.transport.rank();
        let sends = self.decomposition.overlaps(rank, decomposition)?;
        let target = Self::zeros(self.local.context(), self.transport, decomposition)?;
        let receives = decomposition.overlaps(rank, &self.decomposition)?;
        let views = |array: &Self, overlaps: Vec<Overlap>| {
            let view = |overlap: Overlap| Ok((overlap.rank, array.global(&overlap.region)?));
            overlaps.into_iter().map(view).collect::<Result<_, DistError>>()
        };
        let (sources, targets) = (views(self, sends)?, views(&target, receives)?);
        Transfer::new(self.local.context(), self.transport, sources, targets)?.run(self.transport)?;
        Ok(target)
    }
}
