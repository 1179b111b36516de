//! The greatest or least elements of rows. Long rows are cut into blocks: the k first elements of a row are in the k blocks
//! whose own first elements come first. `shaders/library/first.wgsl` finds the first element of each block, in one read.
//!
//! Equal elements are in the order of their places, and blocks with equal first elements in the order of the blocks. An
//! element of another block has all of the k first elements of these blocks before it, so it is not among the k first.

use vkarray_driver::DeviceInfo;
use vkarray_shaders::functions;

use super::keys::{KeyKind, bits_of, of_bits};
use super::radix::order_rows;
use super::tile::Tile;
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::Operand;
use crate::functions::indexing::{gather_axis, gather_rows};
use crate::functions::operand::{Widen, axis_of, kernel, packed, part, parts, run, to_u32, words};

/// The shortest blocks: one invocation of `first.wgsl` reads four quads of words.
const LEAST: usize = 16;

/// The longest blocks.
const MOST: usize = 1024;

/// Fewer elements than these are sorted at once, unless blocks make all sorts single launches.
const MANY: usize = 1 << 20;

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

/// The length of the blocks into which rows are cut, or `None` for rows that are sorted.
///
/// Both the first elements of the blocks and the elements of k blocks are sorted. They are as many at the root of
/// `length / k`.
fn block_length(device: &DeviceInfo, n_words: usize, [n_rows, length]: [usize; 2], k: usize) -> Option<usize> {
    let block = 1 << (length / k).isqrt().clamp(1, MOST).ilog2();
    let is_tile = |length: usize| length <= Tile::new(device, n_words, length).len();
    let pays = !is_tile(length) && (is_tile(length / block) || n_rows * length >= MANY);
    (block >= LEAST && pays).then_some(block)
}

/// For each of contiguous rows that are not empty, the places of its `k` first elements. `k` is not 0.
fn first_places<T: Widen>(rows: &DeviceNDArray<T>, k: usize, is_descending: bool) -> Result<DeviceNDArray<u32>> {
    let (ctx, stream, n_rows, length) = (rows.context(), rows.stream(), rows.shape()[0], rows.shape()[1]);
    let n_words = KeyKind::of::<T>().n_words;
    let up_to = |end: usize| ..end.cast_signed();
    let Some(block) = block_length(ctx.info(), n_words, [n_rows, length], k) else {
        return order_rows(rows, is_descending)?.0.on(stream).slice_axis(1, up_to(k))?.copy();
    };
    let (n_blocks, rest) = (length / block, length % block);
    let blocks = packed(&rows.slice_axis(1, up_to(length - rest))?)?.reshape([n_rows * n_blocks, block])?;
    let firsts = first_of_blocks(&blocks, is_descending)?.reshape([n_rows, n_blocks])?;
    let chosen = first_places(&firsts.on(stream), k, is_descending)?.on(stream).sort(1)?;
    let before = ctx.arange(0, to_u32(n_rows)?, 1)?.reshape([n_rows, 1])? * to_u32(n_blocks)?;
    let numbers = (&chosen + before).on(stream).eval()?;

    // The elements of the chosen blocks, and those behind the last block.
    let found = ctx.device_array::<T>([n_rows, k * block + rest])?.on(stream);
    let taken = gather_axis(&blocks, &numbers.reshape([n_rows * k])?, 0)?.reshape([n_rows, k * block])?;
    found.slice_axis(1, up_to(k * block))?.assign(&taken)?;
    found.slice_axis(1, (k * block).cast_signed()..)?.assign(&rows.slice_axis(1, (length - rest).cast_signed()..)?)?;
    let places = first_places(&found, k, is_descending)?;
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
    use crate::generate::machine;

    #[test]
    fn blocks_are_chosen_where_fewer_elements_are_sorted() {
        let device = machine("h100_580.159");
        // Words of an element, rows, their length, k; the length of a block.
        let cases = [
            ((1, [1, 1 << 28], 1000), Some(512)),
            ((2, [1, 1 << 27], 1000), Some(256)),
            ((1, [1, 1 << 28], 1), Some(1024)),
            ((1, [1, 1 << 28], 1 << 20), Some(16)),
            ((1, [1, 1 << 28], (1 << 20) + 1), None), // The blocks would be too short.
            ((1, [1, 1 << 28], 1 << 28), None),
            ((1, [1, 1 << 19], 1000), None), // Sorted at once.
            ((1, [1 << 10, 1 << 17], 100), Some(32)),
            ((1, [1, 1 << 16], 4), Some(128)), // 512 and 512 elements are sorted by a launch each.
            ((1, [1 << 20, 128], 1), None),
            ((1, [1, 1], 1), None),
        ];
        for ((n_words, shape, k), expected) in cases {
            assert_eq!(block_length(&device, n_words, shape, k), expected, "{n_words}, {shape:?}, {k}");
        }
    }
}
