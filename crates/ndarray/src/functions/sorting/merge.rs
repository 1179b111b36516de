//! A stable merge sort of the rows of an array. Its kernels are in `shaders/library/sort.wgsl`.

use std::ops::Range;

use vkarray_driver::Stream;
use vkarray_kernel::Groups;
use vkarray_shaders::functions;

use super::keys::Keys;
use super::search::{Side, places_among};
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::Result;
use crate::functions::indexing::{IndexMode, gather_rows, put};
use crate::functions::operand::{Widen, axis_of, flat, kernel, longest, part, run, to_u32, words};

/// Number of keys that one workgroup sorts.
const BLOCK: usize = 256;

pub(super) fn sort<T: Widen>(x: &DeviceNDArray<T>, axis: isize, is_descending: bool) -> Result<DeviceNDArray<T>> {
    let axis = axis_of(axis, x.ndim())?.cast_signed();
    let rows = x.move_axis(axis, -1)?;
    let (order, _) = order_rows(&rows, is_descending)?;
    let sorted = gather_rows(&rows, &order, rows.ndim() - 1)?;
    sorted.move_axis(-1, axis)
}

pub(super) fn argsort<T: Widen>(x: &DeviceNDArray<T>, axis: isize, is_descending: bool) -> Result<DeviceNDArray<u32>> {
    let axis = axis_of(axis, x.ndim())?.cast_signed();
    let rows = x.move_axis(axis, -1)?;
    order_rows(&rows, is_descending)?.0.move_axis(-1, axis)
}

/// For each row, the places of its elements in sorted order, and the sorted keys. Rows and parts of rows that the device
/// does not bind at once are sorted one after the other.
pub(super) fn order_rows<T: Widen>(x: &DeviceNDArray<T>, is_descending: bool) -> Result<(DeviceNDArray<u32>, Keys)> {
    let (array, stream) = (x, x.stream());
    let keys = Keys::of(x, is_descending)?;
    let order = array.context().device_array::<u32>(array.shape())?;
    if keys.count == 0 {
        return Ok((order, keys));
    }
    let length = array.shape()[array.ndim() - 1];
    let most = longest(array.context(), 4 * keys.kind.n_words, 1);
    if keys.count <= most {
        let sorted = Sorted::of(keys, length, most, stream)?;
        return Ok((sorted.order.reshape(array.shape())?, sorted.keys));
    }
    let all = Sorted { order: flat(&order)?, keys: keys.like(keys.count)? };
    let at_once = (most / length).max(1) * length;
    for start in (0..keys.count).step_by(at_once) {
        let range = start..keys.count.min(start + at_once);
        let sorted = Sorted::of(keys.part(&range)?, length, most, stream)?;
        part(&all.order, &range)?.on(stream).assign(&sorted.order)?;
        all.keys.part(&range)?.words.on(stream).assign(&sorted.keys.words)?;
    }
    Ok((order, all.keys))
}

/// Keys, and the place that each had at first.
struct Sorted {
    keys: Keys,
    order: DeviceNDArray<u32>,
}

impl Sorted {
    /// The keys of rows of `length`, sorted in each row. Keys of one row may be more than the `most` that the device binds
    /// at once.
    fn of(keys: Keys, length: usize, most: usize, stream: &Stream) -> Result<Self> {
        if keys.count > most {
            let middle = keys.count.div_ceil(most) / 2 * most;
            let half = |range: Range<usize>| Self::of(keys.part(&range)?, range.len(), most, stream);
            return half(0..middle)?.merged(&half(middle..keys.count)?, stream);
        }
        let mut from = Self::like(&keys, keys.count)?;
        let mut to = Self::like(&keys, keys.count)?;
        Self { keys, order: to.order.clone() }.sort_blocks(&from, length, stream)?;
        let mut width = BLOCK;
        while width < length {
            from.merge(&to, [length, width], stream)?;
            std::mem::swap(&mut from, &mut to);
            width *= 2;
        }
        Ok(from)
    }

    /// Memory for keys of this kind and their places.
    fn like(keys: &Keys, count: usize) -> Result<Self> {
        Ok(Self { keys: keys.like(count)?, order: keys.words.context().device_array([count])? })
    }

    /// Merges two runs of any length. The place of a key is its number in its own run and the number of keys before it
    /// in the other; a key of this run comes before equal keys of the second.
    fn merged(&self, second: &Self, stream: &Stream) -> Result<Self> {
        let (ctx, middle) = (self.order.context(), self.keys.count);
        let all = Self::like(&self.keys, middle + second.keys.count)?;
        for (own, other, side, first) in [(self, second, Side::Left, 0), (second, self, Side::Right, to_u32(middle)?)] {
            let before = places_among(&other.keys, &own.keys, side, stream)?;
            let places = (&ctx.arange(0, to_u32(own.keys.count)?, 1)? + before).on(stream).eval()?;
            let order = (&own.order + first).on(stream).eval()?;
            put(&all.order.on(stream), &places, &order, IndexMode::Clip)?;
            let (from, to) = (&own.keys.words, &all.keys.words);
            match self.keys.kind.n_words {
                1 => put(&to.on(stream), &places, from, IndexMode::Clip)?,
                _ => put(&to.view::<u64>()?.on(stream), &places, &from.view()?, IndexMode::Clip)?,
            }
        }
        Ok(all)
    }

    fn sort_blocks(&self, to: &Self, length: usize, stream: &Stream) -> Result<()> {
        let text = [&self.keys.kind.text(), functions::SORT];
        let kernel = kernel(self.order.context(), "sort.wgsl", &text, "sort_blocks")?;
        let (n, count, width) = (to_u32(length)?, to_u32(self.keys.count)?, to_u32(BLOCK)?);
        let args = (words(&self.keys.words), words(&to.keys.words), words(&to.order), n, count, width);
        let n_blocks = self.keys.count / length * length.div_ceil(BLOCK);
        Ok(kernel.dispatch(stream, Groups::covering(n_blocks * BLOCK), args)?)
    }

    fn merge(&self, to: &Self, [length, width]: [usize; 2], stream: &Stream) -> Result<()> {
        let text = [&self.keys.kind.text(), functions::SORT];
        let kernel = kernel(self.order.context(), "sort.wgsl", &text, "sort_merge")?;
        let (n, count, width) = (to_u32(length)?, to_u32(self.keys.count)?, to_u32(width)?);
        let from = (words(&self.keys.words), words(&self.order));
        let args = (from.0, from.1, words(&to.keys.words), words(&to.order), n, count, width);
        run(&kernel, stream, self.keys.count, &args)
    }
}
