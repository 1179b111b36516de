//! The greatest or least elements of rows. Long rows are cut into blocks: the k first elements of a row are in the k blocks
//! whose own first elements come first. `shaders/library/first.wgsl` finds the first element of each block, in one read;
//! `select.rs` finds the first elements of rows that one workgroup takes.
//!
//! Equal elements are in the order of their places, and blocks with equal first elements in the order of the blocks. An
//! element of another block has all of the k first elements of these blocks before it, so it is not among the k first.

use vkarray_shaders::functions;

use super::keys::{KeyKind, bits_of, of_bits};
use super::radix::order_rows;
use super::select::{Blocks, longest_row, select_first};
use super::tile::Tile;
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::Operand;
use crate::functions::indexing::{gather_axis, gather_rows};
use crate::functions::joining::concat;
use crate::functions::operand::{Widen, axis_of, kernel, packed, part, parts, run, to_u32, words};

/// The shortest blocks: one invocation of `first.wgsl` reads four quads of words.
const LEAST: usize = 16;

/// The longest blocks.
const MOST: usize = 1024;

/// The `k` greatest or least elements along an axis in their order, and their places.
pub(super) fn top_k<T: Widen>(
    x: &DeviceNDArray<T>,
    k: usize,
    axis: isize,
    is_descending: bool,
) -> Result<(DeviceNDArray<T>, DeviceNDArray<u32>)> {
    let axis = axis_of(axis, x.ndim())?;
    let length = x.shape()[axis];
    if k > length {
        let operation = if is_descending { "top_k" } else { "bottom_k" };
        return Err(Error::TooFewElements { operation, asked: k, length });
    }
    let axis = axis.cast_signed();
    let rows = packed(&x.move_axis(axis, -1)?)?;
    let last = rows.ndim() - 1;
    let shape = [&rows.shape()[..last], &[k]].concat();
    let places = if shape.contains(&0) {
        rows.context().device_array(shape)?
    } else {
        first_places(&rows.reshape([rows.size() / length, length])?, k, is_descending)?.reshape(shape)?
    };
    let values = gather_rows(&rows, &places, last)?;
    Ok((values.move_axis(-1, axis)?, places.move_axis(-1, axis)?))
}

/// The length of the blocks into which long rows are cut, or `None` for rows of which too many elements are wanted.
///
/// The first elements of the blocks and the elements of k blocks are looked at. They are as many at the root of
/// `length / k`.
fn block_length(length: usize, k: usize) -> Option<usize> {
    let block = 1 << (length / k).isqrt().clamp(1, MOST).ilog2();
    (block >= LEAST).then_some(block)
}

/// For each of contiguous rows that are not empty, the places of its `k` first elements in their order. `k` is not 0.
fn first_places<T: Widen>(rows: &DeviceNDArray<T>, k: usize, is_descending: bool) -> Result<DeviceNDArray<u32>> {
    let (ctx, stream, length, n_words) = (rows.context(), rows.stream(), rows.shape()[1], KeyKind::of::<T>().n_words);
    let tile = Tile::new(ctx.info(), n_words, length).len();
    let is_long = length > longest_row(ctx, n_words);
    let is_sorted = length <= tile || if is_long { block_length(length, k).is_none() } else { k > tile };
    if is_sorted {
        return sorted_places(rows, k, is_descending);
    }
    let chosen = chosen_places(rows, k, is_descending)?;
    let order = order_rows(&gather_rows(rows, &chosen, 1)?.on(stream), is_descending)?.0;
    gather_rows(&chosen.on(stream), &order, 1)
}

/// The places of the `k` first elements in their order, by a sort of all elements.
fn sorted_places<T: Widen>(rows: &DeviceNDArray<T>, k: usize, is_descending: bool) -> Result<DeviceNDArray<u32>> {
    order_rows(rows, is_descending)?.0.on(rows.stream()).slice_axis(1, ..k.cast_signed())?.copy()
}

/// For each of contiguous rows, the places of its `k` first elements, ascending.
fn chosen_places<T: Widen>(rows: &DeviceNDArray<T>, k: usize, is_descending: bool) -> Result<DeviceNDArray<u32>> {
    let (ctx, stream, n_rows, length) = (rows.context(), rows.stream(), rows.shape()[0], rows.shape()[1]);
    let most = longest_row(ctx, KeyKind::of::<T>().n_words);
    if length <= most {
        return select_first(rows, k, None, is_descending);
    }
    let Some(block) = block_length(length, k) else {
        return sorted_places(rows, k, is_descending)?.on(stream).sort(1);
    };
    let (n_blocks, rest) = (length / block, length % block);
    let up_to = |end: usize| ..end.cast_signed();
    let blocks = packed(&rows.slice_axis(1, up_to(length - rest))?)?.reshape([n_rows * n_blocks, block])?;
    let firsts = first_of_blocks(&blocks, is_descending)?.reshape([n_rows, n_blocks])?;
    let chosen = chosen_places(&firsts.on(stream), k, is_descending)?;

    // The elements of the chosen blocks, and those behind the last block.
    let numbers = if n_rows == 1 {
        chosen.clone()
    } else {
        let before = ctx.arange(0, to_u32(n_rows)?, 1)?.reshape([n_rows, 1])? * to_u32(n_blocks)?;
        (&chosen + before).on(stream).eval()?
    };
    let taken = gather_axis(&blocks, &numbers.reshape([n_rows * k])?, 0)?.reshape([n_rows, k * block])?;
    let last = rows.slice_axis(1, (length - rest).cast_signed()..)?;
    let found = if rest == 0 { taken } else { concat(&[&taken, &last], 1)? }.on(stream);
    if found.shape()[1] <= most {
        let blocks = Blocks { numbers: &chosen, block, length };
        return select_first(&found, k, Some(blocks), is_descending);
    }
    let places = chosen_places(&found, k, is_descending)?;
    let (n_taken, block) = (to_u32(k * block)?, to_u32(block)?);
    let of_place = places.floor_divide(block).on(stream).eval()?;
    let inside = gather_rows(&chosen.on(stream), &of_place, 1)? * block + places.remainder(block);
    let behind = &places + to_u32(length - rest)? - n_taken;
    places.less(n_taken).select::<u32>(inside, behind).on(stream).eval()
}

/// The element of each block that comes first. Blocks are the rows of a contiguous array, of a length that
/// [`block_length`] gives.
fn first_of_blocks<T: Widen>(blocks: &DeviceNDArray<T>, is_descending: bool) -> Result<DeviceNDArray<T>> {
    let (ctx, stream, n_blocks, block) = (blocks.context(), blocks.stream(), blocks.shape()[0], blocks.shape()[1]);
    let kind = KeyKind::of::<T>();
    let lanes = format!("const LANES = {}u;\n", block * kind.n_words / LEAST);
    let text = [&kind.text(is_descending, true), functions::KEY_ORDER, &lanes, functions::FIRST];
    let first = kernel(ctx, "first.wgsl", &text, "first_of_blocks")?;
    let bits = bits_of(blocks)?;
    let bits = if bits.offset().is_multiple_of(4) { bits } else { bits.copy()?.on(stream) };
    let firsts = ctx.device_array::<u32>([n_blocks * kind.n_words])?;
    for range in parts(ctx, blocks.size(), 4 * kind.n_words, block) {
        let own = part(&bits, &(range.start * kind.n_words..range.end * kind.n_words))?;
        let found = part(&firsts, &(range.start / block * kind.n_words..range.end / block * kind.n_words))?;
        let count = range.len() / block;
        run(&first, stream, range.len() * kind.n_words / LEAST, &(words(&own), words(&found), to_u32(count)?))?;
    }
    of_bits(&firsts, stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_long_as_the_root_of_the_rows_length() {
        let cases = [
            ((1 << 28, 1000), Some(512)),
            ((1 << 28, 1), Some(1024)),
            ((1 << 28, 1 << 20), Some(16)),
            ((1 << 28, (1 << 20) + 1), None), // The blocks would be too short.
            ((1 << 28, 1 << 28), None),
            ((1 << 19, 1000), Some(16)),
            ((1 << 17, 100), Some(32)),
            ((1 << 16, 4), Some(128)),
            ((1, 1), None),
        ];
        for ((length, k), expected) in cases {
            assert_eq!(block_length(length, k), expected, "{length}, {k}");
        }
    }
}
