//! The places of the elements that come first in short rows. Their kernel is `shaders/library/select.wgsl`.

use vkarray_kernel::{Groups, Kernel};
use vkarray_shaders::functions;

use super::keys::{KeyKind, bits_of};
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;
use crate::functions::operand::{Widen, longest, part, to_u32, words};
use crate::functions::team::Teams;

/// The most elements of an invocation. They are counted in halves of a word.
const ROUNDS: usize = 32;

/// The teams of a workgroup: the fewest that have at most eight elements a lane.
fn teams(ctx: &Context, length: usize) -> Teams {
    Teams::new(ctx.info(), [1, 2, 4, 8, 16, 32], |n_threads| n_threads * 8 >= length)
}

/// The most elements of a row.
pub(super) fn longest_row(ctx: &Context, n_words: usize) -> usize {
    (teams(ctx, usize::MAX).n_threads() * ROUNDS).min(longest(ctx, 4 * n_words, 1))
}

/// Blocks of longer rows, whose elements, and those behind the last block, are the rows from which some are selected.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a> {
    /// The numbers of the blocks of each row, ascending.
    pub(super) numbers: &'a DeviceNDArray<u32>,
    /// The elements of a block, and of a longer row.
    pub(super) block: usize,
    pub(super) length: usize,
}

fn kernel(ctx: &Context, teams: Teams, kind: KeyKind, is_descending: bool) -> Result<Kernel> {
    let constants = format!("const N_DIGITS = {}u;\nconst ROUNDS = {ROUNDS}u;\n", kind.n_digits());
    let text = [&kind.text(is_descending, false), functions::KEY_ORDER, &teams.text(), &constants, functions::SELECT];
    teams.kernel(ctx, "select.wgsl", text.concat(), "select_first")
}

/// For each of contiguous rows that [`longest_row`] allows, the places of its `k` first elements, ascending. `k` is not 0,
/// and at most the length. Places of elements of blocks are those in the longer rows.
pub(super) fn select_first<T: Widen>(
    rows: &DeviceNDArray<T>,
    k: usize,
    blocks: Option<Blocks<'_>>,
    is_descending: bool,
) -> Result<DeviceNDArray<u32>> {
    let (ctx, kind, n_rows, length) = (rows.context(), KeyKind::of::<T>(), rows.shape()[0], rows.shape()[1]);
    let teams = teams(ctx, length);
    let select = kernel(ctx, teams, kind, is_descending)?;
    let (bits, places) = (bits_of(rows)?, ctx.device_array::<u32>([n_rows, k])?);
    let at_once = longest(ctx, 4 * kind.n_words, 1) / length.max(k);
    let [block, whole] = blocks.map_or([0; 2], |blocks| [blocks.block, blocks.length]);
    for start in (0..n_rows).step_by(at_once) {
        let range = start..n_rows.min(start + at_once);
        let own = part(&bits, &(range.start * length * kind.n_words..range.end * length * kind.n_words))?;
        let out = part(&places, &range)?;
        let numbers = match blocks {
            Some(blocks) => part(blocks.numbers, &range)?,
            None => own.clone(), // The kernel reads nothing of it.
        };
        let sizes = (to_u32(length)?, to_u32(k)?, to_u32(block)?, to_u32(whole)?);
        let args = (words(&own), words(&numbers), words(&out), sizes.0, sizes.1, sizes.2, sizes.3);
        select.dispatch(rows.stream(), Groups::covering(range.len() * teams.n_threads()), &args)?;
    }
    Ok(places)
}
