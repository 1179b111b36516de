//! Copies between interleaved and planar data: a short axis, the channels, is the innermost axis of the pixels and an
//! outer axis of the planes.
//!
//! One kernel reads and writes whole items of 4, 8 or 16 bytes. It copies as many pixels together as an item of a plane
//! has units; the remaining pixels of each row are copied by another kernel. A second kernel assembles words, for units
//! of one or two bytes at offsets that are not aligned to items. The kernels' text is in `vkarray_shaders::channels`;
//! `dispatch.rs` makes a dispatch of the plan that is chosen here.

use vkarray_shaders::channels::{ChannelDirection, ChannelWords, Channels};

use super::dispatch::low_word;
use super::limits::CopyLimits;
use super::strided::{CopyAxis, StridedCopy};

/// The most channels. An invocation keeps an item of each channel in registers. With more channels, the tile kernels
/// read and write whole cache lines on both sides.
const MAX_CHANNELS: u64 = 64;

/// The fewest items in a row of a plane. With fewer items, most invocations would be idle.
const MIN_ITEMS: u64 = 16;

/// Bytes that an invocation reads before it writes. An invocation takes several blocks of pixels to reach the first
/// number; a block with more bytes than the second number is refused.
const BYTES_IN_FLIGHT: (u64, u64) = (64, 256);

/// The most bytes of workgroup memory. With more bytes, too few workgroups run at a time.
const MAX_SHARED: u32 = 18 << 10;

/// A kernel that copies between interleaved and planar data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ChannelKernel {
    /// A kernel for whole items.
    Items(Channels),
    /// A kernel for units smaller than a word, at any offset.
    Words(ChannelWords),
}

impl ChannelKernel {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Items(kernel) => kernel.text(),
            Self::Words(kernel) => kernel.text(),
        }
    }
}

/// How pixels and planes are copied by one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChannelPlan {
    pub(super) kernel: ChannelKernel,
    /// The axis along planes.
    pub(super) along: usize,
    /// The axis of channels.
    pub(super) across: usize,
    /// The kernel copies a multiple of this many pixels.
    units: u64,
}

impl ChannelPlan {
    /// The number of tiles in a row of `pixels`, and the number of rows that a workgroup copies at a time.
    pub(super) fn tiles(&self, pixels: u64) -> (u64, u64) {
        match self.kernel {
            ChannelKernel::Items(kernel) => {
                let a_tile = u64::from(kernel.lanes * kernel.blocks);
                ((pixels / self.units).div_ceil(a_tile), u64::from(kernel.group / kernel.lanes))
            }
            ChannelKernel::Words(kernel) => {
                let (word, across) = (u64::from(kernel.word_units()), u64::from(kernel.channels));
                let units = if kernel.direction == ChannelDirection::ToPlanes { pixels } else { pixels * across };
                // The most words that this many units can touch, at any place of the first unit in its word.
                let words = (units + 2 * word - 2) / word;
                (words.div_ceil(u64::from(kernel.tile_words)), 1)
            }
        }
    }
}

/// Cuts a piece in two where that allows a channel kernel: the whole items, and the remaining pixels of the rows.
pub(super) fn split(piece: StridedCopy, limits: &CopyLimits) -> Vec<StridedCopy> {
    // Channels in reverse order in the source are copied in that order.
    let forward = match piece.source_axis() {
        Some(axis) if piece.axes[axis].source < 0 => piece.reversed(axis),
        _ => piece.clone(),
    };
    let Some(plan) = channel_plan(&forward, limits) else { return vec![piece] };
    let whole = whole(&forward, &plan);
    if whole == forward.axes[plan.along].len { vec![forward] } else { forward.cut(plan.along, whole).into() }
}

/// The plan for a piece, if a channel kernel can copy all of it.
pub(super) fn channel_plan_of_whole(piece: &StridedCopy, limits: &CopyLimits) -> Option<ChannelPlan> {
    channel_plan(piece, limits).filter(|plan| whole(piece, plan) == piece.axes[plan.along].len)
}

/// The pixels of a row that the plan's kernel copies.
fn whole(piece: &StridedCopy, plan: &ChannelPlan) -> u64 {
    piece.axes[plan.along].len / plan.units * plan.units
}

/// The plan for the whole items of a piece.
fn channel_plan(piece: &StridedCopy, limits: &CopyLimits) -> Option<ChannelPlan> {
    let axes = ChannelAxes::of(piece)?;
    let by_items = || {
        let kernel = items(piece, axes, limits)?;
        Some((ChannelKernel::Items(kernel), u64::from(kernel.item_units())))
    };
    let by_words = || Some((ChannelKernel::Words(words(piece, axes, limits)?), 1));
    let (kernel, units) = by_items().or_else(by_words)?;
    Some(ChannelPlan { kernel, along: axes.along, across: axes.across, units })
}

/// The kernel with the largest items that the piece's offsets and strides allow.
fn items(piece: &StridedCopy, axes: ChannelAxes, limits: &CopyLimits) -> Option<Channels> {
    let ChannelAxes { direction, along, across, pixel } = axes;
    let (len, channels) = (piece.axes[along].len, piece.axes[across].len);
    let is_fit = |item: &u64| {
        let units = item / piece.unit;
        units > 0
            && len / units >= MIN_ITEMS
            && channels * item <= BYTES_IN_FLIGHT.1
            && pixel == channels
            && item_offsets(piece, axes).all(|offset| offset.is_multiple_of(units))
    };
    let item = [16, 8, 4].into_iter().find(is_fit)?;
    let lanes = match len / (item / piece.unit) {
        ..=64 => 16,
        65..=256 => 64,
        _ => 256,
    };
    let blocks = BYTES_IN_FLIGHT.0.div_ceil(channels * item);
    let [unit_bytes, item_bytes, channels, blocks] = [piece.unit, item, channels, blocks].map(low_word);
    let group = limits.group;
    let mut kernel = Channels { direction, unit_bytes, item_bytes, channels, blocks, group, lanes: lanes.min(group) };
    while kernel.shared_bytes() > MAX_SHARED.min(limits.shared_bytes) {
        kernel.group /= 2;
        kernel.lanes = kernel.lanes.min(kernel.group);
    }
    (kernel.group > 0).then_some(kernel)
}

/// The kernel that assembles words, for units smaller than a word.
fn words(piece: &StridedCopy, axes: ChannelAxes, limits: &CopyLimits) -> Option<ChannelWords> {
    let ChannelAxes { direction, along, across, pixel } = axes;
    let units = (4 / piece.unit).max(1);
    if units == 1 || piece.axes[along].len < MIN_ITEMS * units {
        return None;
    }
    let [unit_bytes, channels, pixel] = [piece.unit, piece.axes[across].len, pixel].map(low_word);
    let tile_words = low_word(BYTES_IN_FLIGHT.0 / 4) * limits.group;
    let mut kernel = ChannelWords { direction, unit_bytes, channels, pixel, tile_words, group: limits.group };
    while kernel.tile_words > 0 && kernel.shared_bytes() > MAX_SHARED.min(limits.shared_bytes) {
        kernel.tile_words /= 2;
    }
    (kernel.tile_words > 0).then_some(kernel)
}

/// The side of a piece that has pixels.
#[derive(Clone, Copy)]
struct ChannelAxes {
    direction: ChannelDirection,
    /// The axis along planes.
    along: usize,
    /// The axis of channels.
    across: usize,
    /// Units from one pixel to the next.
    pixel: u64,
}

impl ChannelAxes {
    /// The axes of a piece, if one of its sides has pixels.
    fn of(piece: &StridedCopy) -> Option<Self> {
        let last = piece.axes.len().checked_sub(1)?;
        let is_short = |axis: usize| (2..=MAX_CHANNELS).contains(&piece.axes[axis].len);
        if piece.axes[last].target != 1 {
            return None;
        }
        let to_planes = || {
            let across = piece.source_axis().filter(|across| is_short(*across))?;
            let (channels, pixel) = (piece.axes[across].len, u64::try_from(piece.axes[last].source).ok()?);
            let is_packed = piece.axes[across].source == 1 && (channels..=MAX_CHANNELS).contains(&pixel);
            is_packed.then_some(Self { direction: ChannelDirection::ToPlanes, along: last, across, pixel })
        };
        let to_pixels = || {
            let along = last.checked_sub(1).filter(|_| is_short(last))?;
            let pixel = piece.axes[last].len;
            let is_packed = piece.axes[along].source == 1 && piece.axes[along].target == pixel.cast_signed();
            is_packed.then_some(Self { direction: ChannelDirection::ToPixels, along, across: last, pixel })
        };
        to_planes().or_else(to_pixels)
    }
}

/// The strides and offsets that have to be whole items: all strides but the stride along planes and the stride between
/// the channels of a pixel.
fn item_offsets(piece: &StridedCopy, axes: ChannelAxes) -> impl Iterator<Item = u64> {
    let ChannelAxes { direction, along, across, .. } = axes;
    let of_axis = move |(i, axis): (usize, &CopyAxis)| {
        let is_between = |side: ChannelDirection| i == across && direction == side;
        let source = if is_between(ChannelDirection::ToPlanes) { 0 } else { axis.source.unsigned_abs() };
        let target = if is_between(ChannelDirection::ToPixels) { 0 } else { axis.target.unsigned_abs() };
        if i == along { [0; 2] } else { [source, target] }
    };
    piece.axes.iter().enumerate().flat_map(of_axis).chain([piece.source, piece.target])
}
