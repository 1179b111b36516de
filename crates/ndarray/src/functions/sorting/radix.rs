//! A stable radix sort of the rows of an array. Its kernels are in `shaders/library/radix.wgsl`.

use std::ops::Range;

use vkarray_driver::Stream;
use vkarray_kernel::{Arg, Arguments, Groups, Kernel, ScalarValue};
use vkarray_shaders::functions;

use super::keys::{KeyKind, Keys, bits_of, of_bits};
use super::network::Network;
use super::search::{Side, places_among};
use super::tile::Tile;
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::elementwise::Evaluate;
use crate::error::Result;
use crate::functions::indexing::{gather_rows, scatter};
use crate::functions::operand::{Widen, axis_of, longest, part, to_u32, words};
use crate::functions::scan::number_flags;

/// The most invocations of one launch. Shaders number them in 32 bits.
const MAX_INVOCATIONS: usize = 1 << 31;

/// The number of values of a digit.
const DIGITS: usize = 256;

pub(super) fn sort<T: Widen>(x: &DeviceNDArray<T>, axis: isize, is_descending: bool) -> Result<DeviceNDArray<T>> {
    let axis = axis_of(axis, x.ndim())?.cast_signed();
    let rows = x.move_axis(axis, -1)?;
    let options = SortOptions { kind: KeyKind::of::<T>(), is_descending, is_exact: true };
    let sorted = if length_of(&rows) > options.most(&rows) {
        gather_rows(&rows, &order_rows(&rows, is_descending)?.0, rows.ndim() - 1)?
    } else {
        of_bits(&options.sorted(&rows)?.keys.words, x.stream())?.reshape(rows.shape())?
    };
    sorted.move_axis(-1, axis)
}

pub(super) fn argsort<T: Widen>(x: &DeviceNDArray<T>, axis: isize, is_descending: bool) -> Result<DeviceNDArray<u32>> {
    let axis = axis_of(axis, x.ndim())?.cast_signed();
    let rows = x.move_axis(axis, -1)?;
    order_rows(&rows, is_descending)?.0.move_axis(-1, axis)
}

/// For each row, the places of its elements in sorted order, and the sorted keys.
pub(super) fn order_rows<T: Widen>(x: &DeviceNDArray<T>, is_descending: bool) -> Result<(DeviceNDArray<u32>, Keys)> {
    let options = SortOptions { kind: KeyKind::of::<T>(), is_descending, is_exact: false };
    let Sorted { keys, order } = options.sorted(x)?;
    Ok((order.reshape(x.shape())?, keys))
}

fn length_of<T: Widen>(rows: &DeviceNDArray<T>) -> usize {
    rows.shape()[rows.ndim() - 1]
}

/// What is sorted, and how. If `is_exact`, the sorted keys are numbers again, and their order is not kept.
#[derive(Debug, Clone, Copy)]
struct SortOptions {
    kind: KeyKind,
    is_descending: bool,
    is_exact: bool,
}

/// Keys, and the place that each had at first.
struct Sorted {
    keys: Keys,
    order: DeviceNDArray<u32>,
}

impl SortOptions {
    /// The most keys that the device binds at once.
    fn most<T: Widen>(self, x: &DeviceNDArray<T>) -> usize {
        longest(x.context(), 4 * self.kind.n_words, 1)
    }

    /// The rows of an array, sorted. Rows, and parts of rows, that one launch does not take are sorted one after the other.
    fn sorted<T: Widen>(self, x: &DeviceNDArray<T>) -> Result<Sorted> {
        let (ctx, stream, count) = (x.context(), x.stream(), x.size());
        to_u32(count)?;
        if count == 0 {
            return self.memory(ctx, 0);
        }
        let (bits, length, most) = (bits_of(x)?, length_of(x), self.most(x));
        let threads = Tile::new(ctx.info(), self.kind.n_words, length).teams.n_threads();
        let at_once = (most / length).clamp(1, MAX_INVOCATIONS / threads) * length;
        if count <= at_once {
            return self.sorted_part(&bits, length, most, stream);
        }
        let all = self.memory(ctx, count)?;
        for start in (0..count).step_by(at_once) {
            let range = start..count.min(start + at_once);
            let sorted = self.sorted_part(&self.words_of(&bits, &range)?, length, most, stream)?;
            self.words_of(&all.keys.words, &range)?.on(stream).assign(&sorted.keys.words)?;
            if !self.is_exact {
                part(&all.order, &range)?.on(stream).assign(&sorted.order)?;
            }
        }
        Ok(all)
    }

    /// The words of a range of keys or numbers.
    fn words_of(self, words: &DeviceNDArray<u32>, range: &Range<usize>) -> Result<DeviceNDArray<u32>> {
        part(words, &(range.start * self.kind.n_words..range.end * self.kind.n_words))
    }

    /// Sorts rows that a network takes.
    fn sort_short_rows(
        self,
        bits: &DeviceNDArray<u32>,
        length: usize,
        network: Network,
        stream: &Stream,
    ) -> Result<Sorted> {
        let count = bits.size() / self.kind.n_words;
        let text = [&self.text(), functions::KEY_ORDER, &network.text()].concat();
        let kernel = network.teams.kernel(bits.context(), "sort_network.wgsl", text, "sort_network")?;
        let groups = (count / length).div_ceil(network.n_rows());
        let groups = Groups::covering(groups * network.teams.n_threads());
        self.sorted_by((&kernel, groups), bits, &[to_u32(length)?, to_u32(count)?], stream)
    }

    /// The keys that one launch sorts, which takes these numbers behind the arrays.
    fn sorted_by(
        self,
        (kernel, groups): (&Kernel, Groups<'_>),
        bits: &DeviceNDArray<u32>,
        numbers: &[u32],
        stream: &Stream,
    ) -> Result<Sorted> {
        let sorted = self.memory(bits.context(), bits.size() / self.kind.n_words)?;
        let mut args = vec![words(bits), words(&sorted.keys.words)];
        if !self.is_exact {
            args.push(words(&sorted.order));
        }
        args.extend(numbers.iter().map(|&number| Arg::Scalar(ScalarValue::U32(number))));
        kernel.dispatch(stream, groups, &args)?;
        Ok(sorted)
    }

    /// The text that defines keys and their places.
    fn text(self) -> String {
        let places = if self.is_exact { functions::RADIX_KEYS } else { functions::RADIX_ORDER };
        [&self.kind.text(self.is_descending, self.is_exact), places].concat()
    }

    /// Memory for keys and their places.
    fn memory(self, ctx: &Context, count: usize) -> Result<Sorted> {
        let words = ctx.device_array([count * self.kind.n_words])?;
        let order = ctx.device_array([if self.is_exact { 0 } else { count }])?;
        Ok(Sorted { keys: Keys { words, count, kind: self.kind, are_numbers: false }, order })
    }

    /// The numbers with these bits, sorted in rows of `length`. The numbers of one row may be more than the `most` that the
    /// device binds at once.
    fn sorted_part(self, bits: &DeviceNDArray<u32>, length: usize, most: usize, stream: &Stream) -> Result<Sorted> {
        let count = bits.size() / self.kind.n_words;
        if count > most {
            let middle = count.div_ceil(most) / 2 * most;
            let half = |range: Range<usize>| self.sorted_part(&self.words_of(bits, &range)?, range.len(), most, stream);
            return half(0..middle)?.merged(&half(middle..count)?, self, stream);
        }
        if let Some(network) = Network::new(bits.context().info(), length) {
            return self.sort_short_rows(bits, length, network, stream);
        }
        let sort =
            TileSort { options: self, tile: Tile::new(bits.context().info(), self.kind.n_words, length), stream };
        if length <= sort.tile.len() { sort.sort_rows(bits, length) } else { sort.sort_tiles(bits, length) }
    }
}

/// Launches for keys that are bound at once.
struct TileSort<'a> {
    options: SortOptions,
    tile: Tile,
    stream: &'a Stream,
}

impl TileSort<'_> {
    fn kernel(&self, ctx: &Context, entry: &str) -> Result<Kernel> {
        let passes = format!("const PASSES = {}u;\n", self.options.kind.n_digits());
        let text = [&self.options.text(), &self.tile.text(), &passes, functions::RADIX].concat();
        self.tile.teams.kernel(ctx, "radix.wgsl", text, entry)
    }

    /// Runs a kernel with a workgroup for each tile.
    fn run(&self, kernel: &Kernel, n_tiles: usize, args: &impl Arguments) -> Result<()> {
        Ok(kernel.dispatch(self.stream, Groups::covering(n_tiles * self.tile.teams.n_threads()), args)?)
    }

    /// Sorts rows that are not longer than a tile.
    fn sort_rows(&self, bits: &DeviceNDArray<u32>, length: usize) -> Result<Sorted> {
        let kernel = self.kernel(bits.context(), "radix_rows")?;
        let n_rows = bits.size() / self.options.kind.n_words / length;
        let groups = Groups::covering(n_rows * self.tile.teams.n_threads());
        self.options.sorted_by((&kernel, groups), bits, &[to_u32(length)?, 1, 0], self.stream)
    }

    /// Sorts rows of several tiles, one digit after the other.
    fn sort_tiles(&self, bits: &DeviceNDArray<u32>, length: usize) -> Result<Sorted> {
        let (ctx, count) = (bits.context(), bits.size() / self.options.kind.n_words);
        let (n_rows, n_tiles) = (count / length, length.div_ceil(self.tile.len()));
        let [count_keys, scatter] = [self.kernel(ctx, "radix_count")?, self.kernel(ctx, "radix_scatter")?];
        let counts = ctx.device_array::<u32>([n_rows, DIGITS * n_tiles])?;
        let digits = ctx.device_array::<u32>([1])?;
        digits.on(self.stream).fill(0)?;
        let (digits, numbers) = (words(&digits), words(bits));
        let (mut from, mut to) = (self.options.memory(ctx, count)?, self.options.memory(ctx, count)?);
        for pass in 0..self.options.kind.n_digits() {
            let source = if pass == 0 { numbers.clone() } else { words(&from.keys.words) };
            let (n, tiles, target) = (to_u32(length)?, to_u32(n_tiles)?, words(&to.keys.words));
            self.run(&count_keys, n_rows * n_tiles, &(source.clone(), words(&counts), digits.clone(), n, tiles, pass))?;
            let ends = number_flags(&counts, self.stream)?;
            let mut args = vec![source, target, words(&ends)];
            if !self.options.is_exact {
                args.extend([words(&from.order), words(&to.order)]);
            }
            args.extend([digits.clone(), numbers.clone()]);
            args.extend([n, tiles, pass].map(|number| Arg::Scalar(ScalarValue::U32(number))));
            self.run(&scatter, n_rows * n_tiles, &args)?;
            std::mem::swap(&mut from, &mut to);
        }
        Ok(from)
    }
}

impl Sorted {
    /// Merges two runs of any length. The place of a key is its number in its own run and the number of keys before it
    /// in the other; a key of this run comes before equal keys of the second.
    fn merged(&self, second: &Self, options: SortOptions, stream: &Stream) -> Result<Self> {
        let (ctx, middle) = (self.order.context(), self.keys.count);
        let all = options.memory(ctx, middle + second.keys.count)?;
        for (own, other, side, first) in [(self, second, Side::Left, 0), (second, self, Side::Right, to_u32(middle)?)] {
            let before = places_among(&other.keys, &own.keys, side, stream)?;
            let places = (&ctx.arange(0, to_u32(own.keys.count)?, 1)? + before).on(stream).eval()?;
            let order = (&own.order + first).on(stream).eval()?;
            scatter(&all.order.on(stream), &places, None, &order)?;
            let (from, to) = (&own.keys.words, &all.keys.words);
            match options.kind.n_words {
                1 => scatter(&to.on(stream), &places, None, from)?,
                _ => scatter(&to.view::<u64>()?.on(stream), &places, None, &from.view()?)?,
            }
        }
        Ok(all)
    }
}
