//! The different values of an array: runs of equal keys in sorted order.

use vkarray_driver::Stream;
use vkarray_kernel::{Bool, Element};
use vkarray_layout::{Index, Order};

use super::keys::Keys;
use super::radix::order_rows;
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::Result;
use crate::expr::{Expr, Operand};
use crate::functions::indexing::{IndexMode, gather_axis, positions_of, put};
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

/// The runs of equal keys.
pub(super) struct KeyRuns<'a, T: Element> {
    /// The elements, as an array of one axis.
    flat: DeviceNDArray<T>,
    shape: Vec<usize>,
    /// The places of the elements in sorted order.
    order: DeviceNDArray<u32>,
    /// For each place in sorted order, whether a run begins there.
    begins: DeviceNDArray<Bool>,
    /// The places in sorted order at which runs begin.
    starts: DeviceNDArray<u32>,
    stream: &'a Stream,
}

/// Finds the runs. Waits for the number of runs.
pub(super) fn unique<'a, T: Widen>(x: &'a DeviceNDArray<T>) -> Result<KeyRuns<'a, T>> {
    let stream = x.stream();
    let flat = x.reshape_copy(x.size(), Order::C)?;
    let (order, keys) = order_rows(&flat, false)?;
    let begins = changes(&keys, stream)?;
    let starts = positions_of(&begins.on(stream))?;
    Ok(KeyRuns { flat, shape: x.shape().to_vec(), order, begins, starts, stream })
}

/// For each sorted key, whether it differs from the key before it. Each NaN, which has the greatest key, differs.
fn changes(keys: &Keys, stream: &Stream) -> Result<DeviceNDArray<Bool>> {
    let (ctx, n) = (keys.words.context(), keys.count);
    let flags = ctx.device_array::<Bool>([n])?;
    flags.on(stream).fill(Bool::from(true))?;
    if n < 2 {
        return Ok(flags);
    }
    let rows = keys.words.reshape([n, keys.kind.n_words])?;
    let (mut differs, mut is_nan) = (Expr::scalar(Bool::from(false)), Expr::scalar(Bool::from(keys.kind.is_float())));
    for word in 0..keys.kind.n_words {
        let word = rows.slice([Index::from(..), Index::At(word.cast_signed())])?;
        let (before, own) = (part(&word, &(0..n - 1))?, part(&word, &(1..n))?);
        differs = differs | own.not_equal(before);
        is_nan = is_nan & own.equal(u32::MAX);
    }
    (differs | is_nan).on(stream).assign_to(&part(&flags, &(1..n))?)?;
    Ok(flags)
}

impl<T: Element> KeyRuns<'_, T> {
    pub(super) fn values(&self) -> Result<DeviceNDArray<T>> {
        gather_axis(&self.flat.on(self.stream), &self.first_places()?, 0)
    }

    pub(super) fn first_places(&self) -> Result<DeviceNDArray<u32>> {
        gather_axis(&self.order.on(self.stream), &self.starts, 0)
    }

    /// The distances of the places at which runs begin, of the last one from the end.
    pub(super) fn counts(&self) -> Result<DeviceNDArray<u32>> {
        let n = self.starts.size();
        if n == 0 {
            return Ok(self.starts.clone());
        }
        let counts = self.starts.context().device_array::<u32>([n])?;
        let end = to_u32(self.flat.size())?;
        let ends = [part(&self.starts, &(1..n))?, part(&counts, &(n - 1..n))?];
        ends[1].on(self.stream).fill(end)?;
        part(&counts, &(0..n - 1))?.on(self.stream).assign(&ends[0])?;
        (&counts - &self.starts).on(self.stream).assign_to(&counts)?;
        Ok(counts)
    }

    pub(super) fn inverse(&self) -> Result<DeviceNDArray<u32>> {
        let inverse = self.flat.context().device_array::<u32>(self.shape.as_slice())?;
        let begins = self.begins.on(self.stream).astype::<u32>()?;
        let numbers = (&number_flags(&begins, self.stream)? - 1).on(self.stream).eval()?;
        put(&inverse.on(self.stream), &self.order, &numbers, IndexMode::Clip)?;
        Ok(inverse)
    }
}
