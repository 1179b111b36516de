//! The different values of an array: runs of equal keys in sorted order.

use vkarray_driver::Stream;
use vkarray_kernel::{Bool, Element};
use vkarray_layout::{Index, Order};

use super::keys::{KeyKind, bits_of};
use super::radix::{order_rows, sort};
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::Result;
use crate::expr::{Expr, Operand};
use crate::functions::indexing::{IndexMode, gather_axis, positions_of};
use crate::functions::operand::{Widen, part, to_u32};
use crate::functions::scan::number_flags;

/// The different values of an array; see [`DeviceNDArray::unique_all`](crate::DeviceNDArray::unique_all).
#[derive(Debug)]
pub struct Unique<T: Element> {
    /// The values, ascending.
    pub values: DeviceNDArray<T>,
    /// The flat place of the first element with each value.
    pub indices: DeviceNDArray<u32>,
    /// For each element, the place of its value in `values`. Has the shape of the array.
    pub inverse: DeviceNDArray<u32>,
    /// How many elements have each value.
    pub counts: DeviceNDArray<u32>,
}

/// The runs of equal keys of an array whose elements stay where they are.
pub(super) struct KeyRuns<'a, T: Element> {
    x: &'a DeviceNDArray<T>,
    /// The elements, as an array of one axis.
    flat: DeviceNDArray<T>,
    /// The places of the elements in `flat`, in sorted order.
    order: DeviceNDArray<u32>,
    /// For each place in sorted order, whether a run begins there.
    begins: DeviceNDArray<Bool>,
    /// The places in sorted order at which runs begin.
    starts: DeviceNDArray<u32>,
    /// The place of the first element of each run in `flat`.
    pub(super) places: DeviceNDArray<u32>,
}

/// The elements themselves in sorted order.
pub(super) struct SortedElements<'a, T: Element> {
    elements: DeviceNDArray<T>,
    /// For each element, whether a run of equal ones begins there.
    begins: DeviceNDArray<Bool>,
    stream: &'a Stream,
}

/// Finds the runs, and the places of all their elements. Waits for the number of runs.
pub(super) fn unique<T: Widen>(x: &DeviceNDArray<T>) -> Result<KeyRuns<'_, T>> {
    let stream = x.stream();
    let flat = x.reshape_copy(x.size(), Order::C)?;
    let (order, keys) = order_rows(&flat, false)?;
    let words = keys.words.reshape([keys.count, keys.kind.n_words])?;
    let begins = begins(&words, stream, |before, own| keys_differ(before, own, keys.kind))?;
    let starts = positions_of(&begins.on(stream))?;
    let places = gather_axis(&order.on(stream), &starts, 0)?;
    Ok(KeyRuns { x, flat, order, begins, starts, places })
}

/// Sorts the elements, and finds where runs begin.
pub(super) fn sorted<T: Widen>(x: &DeviceNDArray<T>) -> Result<SortedElements<'_, T>> {
    let (stream, kind) = (x.stream(), KeyKind::of::<T>());
    let elements = sort(&x.reshape_copy(x.size(), Order::C)?.on(stream), 0, false)?;
    let words = bits_of(&elements)?.reshape([elements.size(), kind.n_words])?;
    let begins = begins(&words, stream, |before, own| numbers_differ(before, own, kind))?;
    Ok(SortedElements { elements, begins, stream })
}

/// For each sorted element, whose words are a row, whether it is the first or differs from the element before it.
fn begins(
    words: &DeviceNDArray<u32>,
    stream: &Stream,
    differ: impl Fn(&DeviceNDArray<u32>, &DeviceNDArray<u32>) -> Result<Expr<Bool>>,
) -> Result<DeviceNDArray<Bool>> {
    let n = words.shape()[0];
    let flags = words.context().device_array::<Bool>([n])?;
    flags.on(stream).fill(Bool::from(true))?;
    if n > 1 {
        let (before, own) = (words.slice_axis(0, Index::from(..-1))?, words.slice_axis(0, Index::from(1..))?);
        differ(&before, &own)?.on(stream).assign_to(&part(&flags, &(1..n))?)?;
    }
    Ok(flags)
}

/// Whether keys differ. Each NaN, which has the greatest key, differs.
fn keys_differ(before: &DeviceNDArray<u32>, own: &DeviceNDArray<u32>, kind: KeyKind) -> Result<Expr<Bool>> {
    let (mut differs, mut is_nan) = (Expr::scalar(Bool::from(false)), Expr::scalar(Bool::from(kind.is_float())));
    for word in 0..kind.n_words {
        let word = [Index::from(..), Index::At(word.cast_signed())];
        let own = own.slice(word)?;
        differs = differs | own.not_equal(before.slice(word)?);
        is_nan = is_nan & own.equal(u32::MAX);
    }
    Ok(differs | is_nan)
}

/// Whether the numbers with these words, the low one first, differ. Zeros are equal, and each NaN differs.
fn numbers_differ(before: &DeviceNDArray<u32>, own: &DeviceNDArray<u32>, kind: KeyKind) -> Result<Expr<Bool>> {
    let word = |words: &DeviceNDArray<u32>, at: usize| words.slice([Index::from(..), Index::At(at.cast_signed())]);
    let high = kind.n_words - 1;
    let [high_before, high_own, low_before, low_own] =
        [word(before, high)?, word(own, high)?, word(before, 0)?, word(own, 0)?];
    let mut differs = high_own.not_equal(&high_before);
    if kind.n_words > 1 {
        differs = differs | low_own.not_equal(&low_before);
    }
    let Some(infinity) = kind.infinity else { return Ok(differs) };
    let (rest, sign) = (&high_own & !kind.sign(), kind.sign());
    let (mut are_zeros, mut is_nan) = (((&high_own | &high_before) & !sign).equal(0), rest.greater(infinity));
    if kind.n_words > 1 {
        are_zeros = are_zeros & (&low_own | &low_before).equal(0);
        is_nan = is_nan | (rest.equal(infinity) & low_own.not_equal(0));
    }
    Ok((differs & are_zeros.logical_not()) | is_nan)
}

impl<T: Element> KeyRuns<'_, T> {
    pub(super) fn values(&self) -> Result<DeviceNDArray<T>> {
        gather_axis(&self.flat.on(self.x.stream()), &self.places, 0)
    }

    pub(super) fn counts(&self) -> Result<DeviceNDArray<u32>> {
        distances(&self.starts, self.flat.size(), self.x.stream())
    }

    /// For each element of the array, the number of its run.
    pub(super) fn inverse(&self) -> Result<DeviceNDArray<u32>> {
        let (inverse, stream) = (self.order.context().device_array::<u32>(self.x.shape())?, self.x.stream());
        let begins = self.begins.on(stream).astype::<u32>()?;
        let numbers = (&number_flags(&begins, stream)? - 1).on(stream).eval()?;
        inverse.on(stream).put_with_mode(&self.order, &numbers, IndexMode::Clip)?;
        Ok(inverse)
    }
}

impl<T: Element> SortedElements<'_, T> {
    /// The first element of each run. Waits for the number of runs.
    pub(super) fn values(&self) -> Result<DeviceNDArray<T>> {
        self.elements.on(self.stream).compact(&self.begins)
    }

    /// The first element of each run, and the number of its elements. Waits once for the number of runs.
    pub(super) fn values_and_counts(&self) -> Result<(DeviceNDArray<T>, DeviceNDArray<u32>)> {
        let starts = positions_of(&self.begins.on(self.stream))?;
        let values = gather_axis(&self.elements.on(self.stream), &starts, 0)?;
        Ok((values, distances(&starts, self.elements.size(), self.stream)?))
    }
}

/// The distances of the places at which runs begin, of the last one from the end.
fn distances(starts: &DeviceNDArray<u32>, end: usize, stream: &Stream) -> Result<DeviceNDArray<u32>> {
    let n = starts.size();
    if n == 0 {
        return Ok(starts.clone());
    }
    let counts = starts.context().device_array::<u32>([n])?;
    part(&counts, &(n - 1..n))?.on(stream).fill(to_u32(end)?)?;
    part(&counts, &(0..n - 1))?.on(stream).assign(&part(starts, &(1..n))?)?;
    (&counts - starts).on(stream).assign_to(&counts)?;
    Ok(counts)
}
