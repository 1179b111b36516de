//! Copies between pixels and planes: a short axis that is the innermost one of the source is an outer one of the target,
//! or the other way round.
//!
//! They go by kernels that write whole items of 4, 8 or 16 bytes, of as many pixels as an item of a plane has units. What
//! is left of each row goes as any other copy. Where bytes, or pairs of them, lie at places that no item begins at, another
//! kernel puts words together. Pure; the kernels are in `vkarray_shaders::channels`, and `launch.rs` makes a dispatch of
//! what is chosen here.

use vkarray_shaders::channels::{ChannelWords, Channels, Weave};

use super::launch::low;
use super::machine::Machine;
use super::walk::{Axis, Walk};

/// Units of a pixel at most: an item of each is in an invocation's registers. With more, tiles have whole cache lines of
/// either side.
const MAX_CHANNELS: u64 = 64;

/// Items that a row of a plane has at least: with fewer, most invocations would have nothing to do.
const MIN_ITEMS: u64 = 16;

/// Bytes that an invocation has in flight: at least, where more than one block makes them up, and at most.
const FLIGHT: (u64, u64) = (64, 256);

/// Bytes of workgroup memory: with more, a device has too few workgroups at a time.
const MAX_SHARED: u32 = 18 << 10;

/// A kernel between pixels and planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Woven {
    /// Of whole items.
    Items(Channels),
    /// For units smaller than a word, at any place.
    Words(ChannelWords),
}

impl Woven {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Items(program) => program.text(),
            Self::Words(program) => program.text(),
        }
    }
}

/// How a walk goes between pixels and planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) program: Woven,
    /// The axis along planes.
    pub(super) along: usize,
    /// The axis of channels.
    pub(super) across: usize,
    /// Pixels that are copied together: the program copies a multiple of them.
    units: u64,
}

impl Way {
    /// How many tiles a row of so many pixels has, and how many rows a workgroup has at a time.
    pub(super) fn tiles(&self, pixels: u64) -> (u64, u64) {
        match self.program {
            Woven::Items(program) => {
                let a_tile = u64::from(program.lanes * program.blocks);
                ((pixels / self.units).div_ceil(a_tile), u64::from(program.group / program.lanes))
            }
            Woven::Words(program) => {
                let (word, across) = (u64::from(program.word_units()), u64::from(program.channels));
                let units = if program.weave == Weave::ToPlanes { pixels } else { pixels * across };
                // So many words, wherever the first unit is in its own.
                let words = (units + 2 * word - 2) / word;
                (words.div_ceil(u64::from(program.tile_words)), 1)
            }
        }
    }
}

/// A piece in at most two: what goes between pixels and planes in whole items, and what is left of its rows.
pub(super) fn split(piece: Walk, machine: &Machine) -> Vec<Walk> {
    // Channels that the source has backwards are walked the other way round.
    let turned = match piece.source_axis() {
        Some(axis) if piece.axes[axis].source < 0 => piece.turned(axis),
        _ => piece.clone(),
    };
    let Some(way) = way(&turned, machine) else { return vec![piece] };
    let whole = whole(&turned, &way);
    if whole == turned.axes[way.along].len { vec![turned] } else { turned.cut(way.along, whole).into() }
}

/// How a piece goes between pixels and planes, if all of it can.
pub(super) fn way_of_whole(piece: &Walk, machine: &Machine) -> Option<Way> {
    way(piece, machine).filter(|way| whole(piece, way) == piece.axes[way.along].len)
}

/// Pixels of a row that are copied together with others.
fn whole(piece: &Walk, way: &Way) -> u64 {
    piece.axes[way.along].len / way.units * way.units
}

fn way(piece: &Walk, machine: &Machine) -> Option<Way> {
    let (weave, along, across) = axes(piece)?;
    let by_items = || {
        let program = items(piece, weave, [along, across], machine)?;
        Some((Woven::Items(program), u64::from(program.item_units())))
    };
    let by_words = || Some((Woven::Words(words(piece, weave, [along, across], machine)?), 1));
    let (program, units) = by_items().or_else(by_words)?;
    Some(Way { program, along, across, units })
}

/// The program of the largest items that a piece is made of.
fn items(piece: &Walk, weave: Weave, [along, across]: [usize; 2], machine: &Machine) -> Option<Channels> {
    let (len, channels) = (piece.axes[along].len, piece.axes[across].len);
    let is_fit = |item: &u64| {
        let units = item / piece.unit;
        units > 0
            && len / units >= MIN_ITEMS
            && channels * item <= FLIGHT.1
            && pixel(piece, weave, along) == channels
            && places(piece, weave, along, across).all(|place| place.is_multiple_of(units))
    };
    let item = [16, 8, 4].into_iter().find(is_fit)?;
    let lanes = match len / (item / piece.unit) {
        ..=64 => 16,
        65..=256 => 64,
        _ => 256,
    };
    let blocks = FLIGHT.0.div_ceil(channels * item);
    let [unit_bytes, item_bytes, channels, blocks] = [piece.unit, item, channels, blocks].map(low);
    let group = machine.group;
    let mut program = Channels { weave, unit_bytes, item_bytes, channels, blocks, group, lanes: lanes.min(group) };
    while program.shared_bytes() > MAX_SHARED.min(machine.shared_bytes) {
        program.group /= 2;
        program.lanes = program.lanes.min(program.group);
    }
    (program.group > 0).then_some(program)
}

/// The program that puts words together, for units that are smaller.
fn words(piece: &Walk, weave: Weave, [along, across]: [usize; 2], machine: &Machine) -> Option<ChannelWords> {
    let units = (4 / piece.unit).max(1);
    if units == 1 || piece.axes[along].len < MIN_ITEMS * units {
        return None;
    }
    let [unit_bytes, channels, pixel] = [piece.unit, piece.axes[across].len, pixel(piece, weave, along)].map(low);
    let tile_words = low(FLIGHT.0 / 4) * machine.group;
    let mut program = ChannelWords { weave, unit_bytes, channels, pixel, tile_words, group: machine.group };
    while program.tile_words > 0 && program.shared_bytes() > MAX_SHARED.min(machine.shared_bytes) {
        program.tile_words /= 2;
    }
    (program.tile_words > 0).then_some(program)
}

/// Units from one pixel to the next.
fn pixel(piece: &Walk, weave: Weave, along: usize) -> u64 {
    let stride = if weave == Weave::ToPlanes { piece.axes[along].source } else { piece.axes[along].target };
    stride.unsigned_abs()
}

/// Which side of a piece has pixels, if one has, which axis goes along planes and which one across.
fn axes(piece: &Walk) -> Option<(Weave, usize, usize)> {
    let last = piece.axes.len().checked_sub(1)?;
    let is_short = |axis: usize| (2..=MAX_CHANNELS).contains(&piece.axes[axis].len);
    if piece.axes[last].target != 1 {
        return None;
    }
    let to_planes = || {
        let across = piece.source_axis().filter(|across| is_short(*across))?;
        let least = piece.axes[across].len.cast_signed();
        let is_packed =
            piece.axes[across].source == 1 && (least..=MAX_CHANNELS.cast_signed()).contains(&piece.axes[last].source);
        is_packed.then_some((Weave::ToPlanes, last, across))
    };
    let to_pixels = || {
        let along = last.checked_sub(1).filter(|_| is_short(last))?;
        let is_packed = piece.axes[along].source == 1 && piece.axes[along].target == piece.axes[last].len.cast_signed();
        is_packed.then_some((Weave::ToPixels, along, last))
    };
    to_planes().or_else(to_pixels)
}

/// Strides and places that are to be whole items: all but those along planes, and between the channels of a pixel.
fn places(piece: &Walk, weave: Weave, along: usize, across: usize) -> impl Iterator<Item = u64> {
    let of_axis = move |(i, axis): (usize, &Axis)| {
        let is_between = |side: Weave| i == across && weave == side;
        let source = if is_between(Weave::ToPlanes) { 0 } else { axis.source.unsigned_abs() };
        let target = if is_between(Weave::ToPixels) { 0 } else { axis.target.unsigned_abs() };
        if i == along { [0; 2] } else { [source, target] }
    };
    piece.axes.iter().enumerate().flat_map(of_axis).chain([piece.source, piece.target])
}
