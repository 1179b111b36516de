//! A stable merge sort of the rows of an array. Its kernels are in `shaders/library/sort.wgsl`.

use vkarray_driver::Stream;
use vkarray_kernel::Groups;
use vkarray_ndarray::{DeviceNDArray, OnStream, Result};
use vkarray_shaders::functions;

use super::keys::Keys;
use crate::indexing::gather_rows;
use crate::operand::{Widen, axis_of, check_bound, kernel, run, to_u32, words};

/// Number of keys that one workgroup sorts.
const BLOCK: usize = 256;

pub(super) fn sort<T: Widen>(x: OnStream<'_, T>, axis: isize, is_descending: bool) -> Result<DeviceNDArray<T>> {
    let axis = axis_of(axis, x.array().ndim())?.cast_signed();
    let rows = x.array().move_axis(&[axis], &[-1])?;
    let (order, _) = order_rows(rows.on(x.stream()), is_descending)?;
    let sorted = gather_rows(rows.on(x.stream()), &order, rows.ndim() - 1)?;
    sorted.move_axis(&[-1], &[axis])
}

pub(super) fn argsort<T: Widen>(x: OnStream<'_, T>, axis: isize, is_descending: bool) -> Result<DeviceNDArray<u32>> {
    let axis = axis_of(axis, x.array().ndim())?.cast_signed();
    let rows = x.array().move_axis(&[axis], &[-1])?;
    order_rows(rows.on(x.stream()), is_descending)?.0.move_axis(&[-1], &[axis])
}

/// For each row, the places of its elements in sorted order, and the sorted keys.
pub(super) fn order_rows<T: Widen>(x: OnStream<'_, T>, is_descending: bool) -> Result<(DeviceNDArray<u32>, Keys)> {
    let (array, stream) = (x.array(), x.stream());
    check_bound(array.context(), "sorting", array.size(), size_of::<T::Wide>())?;
    let keys = Keys::of(x, is_descending)?;
    let order = array.context().device_array::<u32>(array.shape())?;
    if keys.count == 0 {
        return Ok((order, keys));
    }
    let length = array.shape()[array.ndim() - 1];
    let mut from = Sorted { keys, order };
    let mut to = from.empty()?;
    from.sort_blocks(&to, length, stream)?;
    std::mem::swap(&mut from, &mut to);
    let mut width = BLOCK;
    while width < length {
        from.merge(&to, [length, width], stream)?;
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    Ok((from.order, from.keys))
}

/// Keys, and the place that each had at first.
struct Sorted {
    keys: Keys,
    order: DeviceNDArray<u32>,
}

impl Sorted {
    /// Memory for as many keys and places.
    fn empty(&self) -> Result<Self> {
        let ctx = self.order.context();
        let words = ctx.device_array(self.keys.words.shape())?;
        let keys = Keys { words, ..self.keys };
        Ok(Self { keys, order: ctx.device_array(self.order.shape())? })
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
