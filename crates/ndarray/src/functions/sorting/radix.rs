//! A stable radix sort of the rows of an array. Its kernels are in `shaders/library/radix.wgsl`.

use std::ops::Range;

use vkarray_driver::Stream;
use vkarray_kernel::{Arg, Kernel, ScalarValue};
use vkarray_shaders::functions;

use super::keys::{KeyKind, Keys, of_bits};
use super::network::Network;
use super::search::{Side, places_among};
use super::tile::Tile;
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::elementwise::Evaluate;
use crate::error::Result;
use crate::functions::indexing::{gather_rows, scatter};
use crate::functions::operand::{Widen, axis_of, longest, part, run, to_u32, words};
use crate::functions::scan::number_flags;

/// The most invocations of one launch. Shaders number them in 32 bits.
const MAX_INVOCATIONS: usize = 1 << 31;

/// The number of values of a digit.
const DIGITS: usize = 256;

pub(super) fn sort<T: Widen>(x: &DeviceNDArray<T>, axis: isize, is_descending: bool) -> Result<DeviceNDArray<T>> {
    let axis = axis_of(axis, x.ndim())?.cast_signed();
    let rows = x.move_axis(axis, -1)?;
    let sort = Sort { kind: KeyKind::of::<T>(), is_descending, is_exact: true, stream: x.stream() };
    let sorted = if length_of(&rows) > sort.most(&rows) {
        gather_rows(&rows, &order_rows(&rows, is_descending)?.0, rows.ndim() - 1)?
    } else {
        of_bits(&sort.rows(&rows)?.keys.words, x.stream())?.reshape(rows.shape())?
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
    let sort = Sort { kind: KeyKind::of::<T>(), is_descending, is_exact: false, stream: x.stream() };
    let Sorted { keys, order } = sort.rows(x)?;
    Ok((order.reshape(x.shape())?, keys))
}

fn length_of<T: Widen>(rows: &DeviceNDArray<T>) -> usize {
    rows.shape()[rows.ndim() - 1]
}

/// What is sorted, and how. If `is_exact`, the sorted keys are numbers again, and their order is not kept.
#[derive(Debug, Clone, Copy)]
struct Sort<'a> {
    kind: KeyKind,
    is_descending: bool,
    is_exact: bool,
    stream: &'a Stream,
}

/// Keys, and the place that each had at first.
struct Sorted {
    keys: Keys,
    order: DeviceNDArray<u32>,
}

impl Sort<'_> {
    /// The most keys that the device binds at once.
    fn most<T: Widen>(self, x: &DeviceNDArray<T>) -> usize {
        longest(x.context(), 4 * self.kind.n_words, 1)
    }

    /// The rows of an array, sorted. Rows, and parts of rows, that one launch does not take are sorted one after the other.
    fn rows<T: Widen>(self, x: &DeviceNDArray<T>) -> Result<Sorted> {
        let (ctx, count) = (x.context(), x.size());
        if count == 0 {
            return self.memory(ctx, 0);
        }
        let (numbers, length, most) = (Keys::of(x)?, length_of(x), self.most(x));
        let threads = Tile::new(ctx.info(), self.kind.n_words, length).teams.n_threads();
        let at_once = (most / length).clamp(1, MAX_INVOCATIONS / threads) * length;
        if count <= at_once {
            return self.part(&numbers, length, most);
        }
        let all = self.memory(ctx, count)?;
        for start in (0..count).step_by(at_once) {
            let range = start..count.min(start + at_once);
            let sorted = self.part(&numbers.part(&range)?, length, most)?;
            all.keys.part(&range)?.words.on(self.stream).assign(&sorted.keys.words)?;
            if !self.is_exact {
                part(&all.order, &range)?.on(self.stream).assign(&sorted.order)?;
            }
        }
        Ok(all)
    }

    /// Numbers, sorted in rows of `length`. The numbers of one row may be more than the `most` that the device binds at
    /// once.
    fn part(self, numbers: &Keys, length: usize, most: usize) -> Result<Sorted> {
        let count = numbers.count;
        if count > most {
            let middle = count.div_ceil(most) / 2 * most;
            let half = |range: Range<usize>| self.part(&numbers.part(&range)?, range.len(), most);
            return self.merged(&half(0..middle)?, &half(middle..count)?);
        }
        let device = numbers.words.context().info();
        if let Some(network) = Network::new(device, length) {
            return self.by_network(numbers, length, network);
        }
        let tile = Tile::new(device, self.kind.n_words, length);
        if length <= tile.len() { self.by_rows(numbers, length, tile) } else { self.by_tiles(numbers, length, tile) }
    }

    /// Sorts rows that a network takes.
    fn by_network(self, numbers: &Keys, length: usize, network: Network) -> Result<Sorted> {
        let text = [&self.text(), functions::KEY_ORDER, &network.text()].concat();
        let kernel = network.teams.kernel(numbers.words.context(), "sort_network.wgsl", text, "sort_network")?;
        let n_groups = (numbers.count / length).div_ceil(network.n_rows());
        let n_threads = n_groups * network.teams.n_threads();
        self.by_launch((&kernel, n_threads), numbers, &[to_u32(length)?, to_u32(numbers.count)?])
    }

    /// The keys that one launch sorts, which takes these values behind the arrays.
    fn by_launch(self, (kernel, n_threads): (&Kernel, usize), numbers: &Keys, values: &[u32]) -> Result<Sorted> {
        let sorted = self.memory(numbers.words.context(), numbers.count)?;
        let mut args = vec![words(&numbers.words), words(&sorted.keys.words)];
        if !self.is_exact {
            args.push(words(&sorted.order));
        }
        args.extend(values.iter().map(|&value| Arg::Scalar(ScalarValue::U32(value))));
        run(kernel, self.stream, n_threads, &args)?;
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

    fn tile_kernel(self, ctx: &Context, tile: Tile, entry: &str) -> Result<Kernel> {
        let passes = format!("const PASSES = {}u;\n", self.kind.n_digits());
        let text = [&self.text(), &tile.text(), &passes, functions::RADIX].concat();
        tile.teams.kernel(ctx, "radix.wgsl", text, entry)
    }

    /// Sorts rows that are not longer than a tile.
    fn by_rows(self, numbers: &Keys, length: usize, tile: Tile) -> Result<Sorted> {
        let kernel = self.tile_kernel(numbers.words.context(), tile, "radix_rows")?;
        let n_threads = numbers.count / length * tile.teams.n_threads();
        self.by_launch((&kernel, n_threads), numbers, &[to_u32(length)?, 1, 0])
    }

    /// Sorts rows of several tiles, one digit after the other.
    fn by_tiles(self, numbers: &Keys, length: usize, tile: Tile) -> Result<Sorted> {
        let (ctx, count) = (numbers.words.context(), numbers.count);
        let (n_rows, n_tiles) = (count / length, length.div_ceil(tile.len()));
        let [count_keys, scatter] = ["radix_count", "radix_scatter"].map(|entry| self.tile_kernel(ctx, tile, entry));
        let (count_keys, scatter, n_threads) = (count_keys?, scatter?, n_rows * n_tiles * tile.teams.n_threads());
        let counts = ctx.device_array::<u32>([n_rows, DIGITS * n_tiles])?;
        let digits = ctx.device_array::<u32>([1])?;
        digits.on(self.stream).fill(0)?;
        let (digits, numbers) = (words(&digits), words(&numbers.words));
        let (mut from, mut to) = (self.memory(ctx, count)?, self.memory(ctx, count)?);
        for pass in 0..self.kind.n_digits() {
            let source = if pass == 0 { numbers.clone() } else { words(&from.keys.words) };
            let (n, tiles, target) = (to_u32(length)?, to_u32(n_tiles)?, words(&to.keys.words));
            let args = (source.clone(), words(&counts), digits.clone(), n, tiles, pass);
            run(&count_keys, self.stream, n_threads, &args)?;
            let ends = number_flags(&counts, self.stream)?;
            let mut args = vec![source, target, words(&ends)];
            if !self.is_exact {
                args.extend([words(&from.order), words(&to.order)]);
            }
            args.extend([digits.clone(), numbers.clone()]);
            args.extend([n, tiles, pass].map(|number| Arg::Scalar(ScalarValue::U32(number))));
            run(&scatter, self.stream, n_threads, &args)?;
            std::mem::swap(&mut from, &mut to);
        }
        Ok(from)
    }

    /// Merges two runs of any length. The place of a key is its number in its own run and the number of keys before it
    /// in the other; a key of the first run comes before equal keys of the second.
    fn merged(self, first: &Sorted, second: &Sorted) -> Result<Sorted> {
        let (ctx, middle) = (first.order.context(), first.keys.count);
        let all = self.memory(ctx, middle + second.keys.count)?;
        for (own, other, side, before) in
            [(first, second, Side::Left, 0), (second, first, Side::Right, to_u32(middle)?)]
        {
            let smaller = places_among(&other.keys, &own.keys, side, self.stream)?;
            let places = (&ctx.arange(0, to_u32(own.keys.count)?, 1)? + smaller).on(self.stream).eval()?;
            let order = (&own.order + before).on(self.stream).eval()?;
            scatter(&all.order.on(self.stream), &places, None, &order)?;
            let (from, to) = (&own.keys.words, &all.keys.words);
            match self.kind.n_words {
                1 => scatter(&to.on(self.stream), &places, None, from)?,
                _ => scatter(&to.view::<u64>()?.on(self.stream), &places, None, &from.view()?)?,
            }
        }
        Ok(all)
    }
}
