//! Places among sorted elements.

use vkarray_driver::Stream;
use vkarray_kernel::Bool;
use vkarray_layout::Order;
use vkarray_shaders::functions;

use super::keys::Keys;
use super::radix::order_rows;
use crate::array::DeviceNDArray;
use crate::error::{Error, Result};
use crate::functions::operand::{Widen, flat, kernel, part, run, to_u32, words};

/// The side of equal elements on which a value is inserted.
///
/// ```
/// use vkarray::primitives::Side;
///
/// assert_ne!(Side::Left, Side::Right);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before the first equal element.
    Left,
    /// After the last equal element.
    Right,
}

/// Invocations of a workgroup.
const THREADS: usize = 256;

/// The buckets of a search whose keys have one word. A workgroup keeps the last key of each: 16 KiB, which every device has.
/// H200, 580.159.04, 2026-11-29, 2^26 `f32` among 2^20: 21.3 Gkeys/s, and 14.3 without buckets.
const BUCKETS: usize = 4096;

/// The keys that an invocation searches if its workgroup keeps the last keys of buckets: four for each that is kept.
const STEPS: usize = 64;

/// The buckets for a search of a number of keys among sorted keys.
fn n_buckets([sorted, keys]: [&Keys; 2]) -> usize {
    let is_long = sorted.count > BUCKETS && keys.count >= THREADS * STEPS;
    if is_long { BUCKETS / keys.kind.n_words } else { 1 }
}

/// The kernel's text.
fn text([sorted, keys]: [&Keys; 2], side: Side, is_membership: bool, n_buckets: usize) -> String {
    let constants = format!(
        "const BUCKETS = {n_buckets}u;\nconst RIGHT = {};\nconst IS_MEMBERSHIP = {is_membership};\n\
         const IS_FLOAT = {};\nconst SORTED_NUMBERS = {};\nconst NUMBERS = {};\n",
        side == Side::Right,
        keys.kind.is_float(),
        sorted.are_numbers,
        keys.are_numbers,
    );
    [&keys.kind.text(false, false), functions::KEY_ORDER, &constants, functions::SEARCH].concat()
}

/// Searches every part of the sorted keys for every part of the searched keys. `results` has a number for each searched
/// key: its place, or for a question of membership, 0 or more.
fn search(
    [sorted, keys]: [&Keys; 2],
    (side, is_membership): (Side, bool),
    results: &DeviceNDArray<u32>,
    stream: &Stream,
) -> Result<()> {
    let n_buckets = n_buckets([sorted, keys]);
    let text = text([sorted, keys], side, is_membership, n_buckets);
    let kernel = kernel(results.context(), "search.wgsl", &[&text], "search_keys")?;
    let (results, sorted) = (flat(results)?, sorted.parts()?);
    for (range, own) in keys.parts()? {
        let found = part(&results, &range)?;
        for (among, sorted) in &sorted {
            let (n_sorted, count) = (to_u32(among.len())?, to_u32(range.len())?);
            let args = (words(sorted), words(&own), words(&found), n_sorted, count, u32::from(among.start == 0));
            let groups = range.len().div_ceil(THREADS);
            let groups = if n_buckets == 1 { groups } else { groups.div_ceil(STEPS) };
            run(&kernel, stream, groups * THREADS, &args)?;
        }
    }
    Ok(())
}

/// For each key, the number of sorted keys before it.
pub(super) fn places_among(sorted: &Keys, keys: &Keys, side: Side, stream: &Stream) -> Result<DeviceNDArray<u32>> {
    let places = keys.words.context().device_array::<u32>([keys.count])?;
    if sorted.count == 0 {
        places.on(stream).fill(0)?;
    } else if keys.count > 0 {
        search([sorted, keys], (side, false), &places, stream)?;
    }
    Ok(places)
}

impl<T: Widen> DeviceNDArray<T> {
    /// For each of `values`, the place in this sorted array of one axis at which it can be inserted: before equal elements
    /// ([`Side::Left`]) or after them ([`Side::Right`]). NumPy's `searchsorted`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Side;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (edges, values) = (ctx.slice_to_device(&[1, 3, 3, 5])?, ctx.slice_to_device(&[3, 0, 9])?);
    /// assert_eq!(edges.searchsorted(&values, Side::Left)?.to_vec()?, [1, 0, 4]);
    /// assert_eq!(edges.searchsorted(&values, Side::Right)?.to_vec()?, [3, 0, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::RankMismatch`](crate::Error::RankMismatch) if this array does not have one axis;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn searchsorted(&self, values: &DeviceNDArray<T>, side: Side) -> Result<DeviceNDArray<u32>> {
        if self.ndim() != 1 {
            return Err(Error::RankMismatch { expected: 1, shape: self.shape().to_vec() });
        }
        let stream = self.stream();
        let (sorted, keys) = (Keys::of(self)?, Keys::of(&values.on(stream))?);
        places_among(&sorted, &keys, side, stream)?.reshape(values.shape())
    }

    /// Whether each element is among `values`, an array of any shape: `isin` of the array API. NaN is among no values.
    /// The call does not wait.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let found = ctx.arange(0, 4, 1)?.isin(&ctx.slice_to_device(&[9, 2, 0])?)?;
    /// assert_eq!(found.to_vec()?.into_iter().map(bool::from).collect::<Vec<_>>(), [true, false, true, false]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn isin(&self, values: &DeviceNDArray<T>) -> Result<DeviceNDArray<Bool>> {
        let (ctx, stream) = (self.context(), self.stream());
        let flags = ctx.device_array::<u32>(self.shape())?;
        if values.size() == 0 {
            flags.on(stream).fill(0)?;
        } else if flags.size() > 0 {
            let values = values.on(stream).reshape_copy(values.size(), Order::C)?;
            let (sorted, keys) = (order_rows(&values.on(stream), false)?.1, Keys::of(self)?);
            search([&sorted, &keys], (Side::Left, true), &flags, stream)?;
        }
        flags.on(stream).astype()
    }
}
