//! Random numbers that are a function of the index in the global array.

use vkarray::primitives::Rng;
use vkarray::{Context, DeviceNDArray, Element};

use super::DistArray;
use crate::decomposition::{Decomposition, Region};
use crate::error::DistError;
use crate::exchange::view;
use crate::transport::Transport;

/// The most elements that are drawn at once where only some of them are kept.
const DRAWN: usize = 1 << 22;

impl<'t, T: Element> DistArray<'t, T> {
    /// An array of random numbers: those that `draw` gives for the whole shape in one call, whatever the number of
    /// ranks and the decomposition. `draw` is called with generators at the positions of this rank's elements, and
    /// shapes of one axis. It draws from the generator once, by [`Rng::bits`], [`Rng::uniform`], [`Rng::integers`],
    /// [`Rng::normal`], [`Rng::exponential`] or [`Rng::choice`]. Sends no message; ghost zones are zeros.
    ///
    /// A rank draws its own elements where its part is contiguous in the global array, as with a grid that divides the
    /// first axis alone. Otherwise it draws the elements between its own as well: as many times its own elements as the
    /// last divided axis has parts.
    ///
    /// ```
    /// use vkarray::primitives::Rng;
    /// use vkarray::prelude::*;
    /// use vkarray_dist::{Decomposition, DistArray, DistError, ThreadRank};
    ///
    /// let ctx = Context::open_default()?;
    /// let parts = Decomposition::over([4, 5], 4)?;
    /// let drawn = ThreadRank::run(4, |rank| {
    ///     let rng = Rng::philox(7);
    ///     DistArray::random(&ctx, rank, &parts, &rng, |rng, ctx, count| rng.uniform::<f32>(ctx, count))?.gather()
    /// });
    /// let whole = drawn.into_iter().next().unwrap()?.unwrap(); // On rank 0.
    /// assert_eq!(whole, Rng::philox(7).uniform::<f32>(&ctx, [4, 5])?.copy_to_host()?);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    /// The errors of `draw` and of [`DistArray::full`].
    pub fn random(
        context: &Context,
        transport: &'t dyn Transport,
        decomposition: &Decomposition,
        rng: &Rng,
        draw: impl Fn(&mut Rng, &Context, usize) -> vkarray::Result<DeviceNDArray<T>>,
    ) -> Result<Self, DistError> {
        let array = Self::zeros(context, transport, decomposition)?;
        // How many words an element takes, and where the first one begins.
        let mut probe = rng.clone();
        draw(&mut probe, context, 1)?;
        let after_one = probe.position();
        draw(&mut probe, context, 1)?;
        let words = probe.position().wrapping_sub(after_one);
        for Drawn { first, count, kept, target } in draws(decomposition.shape(), &array.part) {
            let position = after_one.wrapping_add(words.wrapping_mul(first as u64)).wrapping_sub(words);
            let drawn = draw(&mut rng.clone().at(position), context, count)?;
            let wide = drawn.reshape([kept.shape[0], count / kept.shape[0]].as_slice())?;
            let target = view(&array.interior, &target)?;
            target.copy_from_device(&view(&wide, &kept)?.reshape(target.shape())?)?;
        }
        Ok(array)
    }
}

/// Elements that follow each other in the global array, and those of them that belong to a part.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Drawn {
    /// The number of the first element in the global array, in C order.
    first: usize,
    /// The number of elements.
    count: usize,
    /// The elements of the part, as columns of rows of equal length.
    kept: Region,
    /// The box of the part that they are, counted from its first element.
    target: Region,
}

/// What to draw for a part of an array of `shape`.
fn draws(shape: &[usize], part: &Region) -> Vec<Drawn> {
    if part.size() == 0 {
        return Vec::new();
    }
    // The last axis that is divided. Elements along the axes after it follow each other in the part, too.
    let last = (0..shape.len()).rev().find(|&axis| part.shape[axis] < shape[axis]).unwrap_or(0);
    let inner: usize = shape[last.min(shape.len())..].iter().skip(1).product();
    let [row, own] = [shape, &part.shape].map(|lens| lens.get(last).map_or(1, |len| len * inner));
    // Rows are the axis before it, and all axes before that one are walked through.
    let walked = last.saturating_sub(1);
    let rows = if last == 0 { 1 } else { part.shape[walked] };
    let step = (DRAWN / row).clamp(1, rows);
    let starts =
        (0..part.shape[..walked].iter().product()).flat_map(|at| (0..rows).step_by(step).map(move |row| (at, row)));
    starts
        .map(|(outer, start)| {
            let rows = step.min(rows - start);
            let mut target = Region { start: vec![0; shape.len()], shape: part.shape.clone() };
            let mut rest = outer;
            for axis in (0..walked).rev() {
                (target.start[axis], target.shape[axis]) = (rest % part.shape[axis], 1);
                rest /= part.shape[axis];
            }
            if last > 0 {
                (target.start[walked], target.shape[walked]) = (start, rows);
            }
            let before = part.start.get(last).map_or(0, |start| start * inner);
            let place = (0..last).fold(0, |place, axis| place * shape[axis] + part.start[axis] + target.start[axis]);
            let (first, kept) = match last {
                0 => (before, Region { start: vec![0, 0], shape: vec![1, own] }),
                _ => (place * row, Region { start: vec![0, before], shape: vec![rows, own] }),
            };
            let count = if last == 0 { own } else { rows * row };
            Drawn { first, count, kept, target }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_parts_are_drawn_at_once() {
        let part = |start: &[usize], shape: &[usize]| Region { start: start.to_vec(), shape: shape.to_vec() };
        let drawn = |shape: &[usize], part: &Region| {
            draws(shape, part).iter().map(|drawn| (drawn.first, drawn.count, drawn.kept.clone())).collect::<Vec<_>>()
        };
        assert_eq!(drawn(&[], &part(&[], &[])), [(0, 1, part(&[0, 0], &[1, 1]))]);
        assert_eq!(drawn(&[4, 3, 2], &part(&[1, 0, 0], &[2, 3, 2])), [(6, 12, part(&[0, 0], &[1, 12]))]);
        assert_eq!(drawn(&[4, 3, 2], &part(&[1, 1, 0], &[2, 1, 2])), [(6, 12, part(&[0, 2], &[2, 2]))]);
        let planes = drawn(&[4, 3, 2], &part(&[1, 1, 1], &[2, 2, 1]));
        assert_eq!(planes, [(8, 4, part(&[0, 1], &[2, 1])), (14, 4, part(&[0, 1], &[2, 1]))]);
        assert_eq!(drawn(&[4, 0], &part(&[1, 0], &[2, 0])), []);
    }

    #[test]
    fn long_rows_are_drawn_in_several_steps() {
        let half = Region { start: vec![0, 0], shape: vec![5, DRAWN / 4] };
        let drawn = draws(&[5, DRAWN / 2], &half);
        let rows: Vec<_> = drawn.iter().map(|drawn| (drawn.first, drawn.count, drawn.target.shape[0])).collect();
        assert_eq!(rows, [(0, DRAWN, 2), (DRAWN, DRAWN, 2), (2 * DRAWN, DRAWN / 2, 1)]);
    }
}
