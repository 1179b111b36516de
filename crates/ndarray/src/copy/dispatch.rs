//! [`CopyDispatch`]: one dispatch of a copy as plain data: the kernel, the ranges it binds, its parameters, the workgroups.
//!
//! Four kinds of kernels copy: by rows; by words, for units smaller than a word; through a tile in workgroup memory,
//! where source and target are contiguous along different axes, four words at a time where they are aligned; and
//! between interleaved and planar data (`channels.rs`, the next file to read). The shaders are in the `vkarray-shaders`
//! crate.

use std::ops::Range;

use vkarray_shaders::library;

use super::channels::{ChannelKernel, ChannelPlan, channel_plan_of_whole};
use super::limits::CopyLimits;
use super::pieces::{CopySide, MAX_AXES};
use super::strided::{CopyAxis, StridedCopy};

/// The most units in a tile.
const TILE_UNITS: u32 = 1024;

/// The longest edge of a tile along the source's fastest axis. 32 words are a cache line and the width of a subgroup.
const TILE_EDGE: u32 = 32;

/// From this length of the target's fastest axis on, a tile is faster than rows, which would use only a small part of each
/// cache line of the source.
const MIN_TILED: u64 = 16;

/// Units of a row that one invocation copies.
const PER_LANE: u64 = 4;

/// A copying kernel, by the numbers that its text is generated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CopyKernel {
    /// Copies rows, each with `lanes` invocations.
    Strided { unit: u32, group: u32, lanes: u32 },
    /// Copies tiles. `tile` is the number of units along the source's fastest axis and along the target's.
    Tile { unit: u32, group: u32, tile: [u32; 2] },
    /// Copies square tiles of units of four bytes, four units at a time.
    Quads { group: u32 },
    /// Copies between interleaved and planar data. Axis 0 is along planes, axis 1 is the channels.
    Channels(ChannelKernel),
}

/// Units of four bytes that the kernel for quads reads and writes at a time.
const QUAD: u64 = 4;

/// The parameters of a copying kernel, in the order of `walk.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CopyParams {
    pub(crate) source_base: u32,
    pub(crate) target_base: u32,
    pub(crate) n_rows: u32,
    pub(crate) n_tiles: u32,
    pub(crate) n_axes: u32,
    pub(crate) n_run: u32,
    pub(crate) run_length: u32,
    /// The lengths of the axes, innermost axis first.
    pub(crate) lengths: [u32; MAX_AXES],
    pub(crate) source_strides: [u32; MAX_AXES],
    pub(crate) target_strides: [u32; MAX_AXES],
}

/// One dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyDispatch {
    pub(crate) kernel: CopyKernel,
    /// The bytes of the source's block that are bound.
    pub(crate) source: Range<u64>,
    /// The bytes of the target's block that are bound.
    pub(crate) target: Range<u64>,
    pub(crate) params: CopyParams,
    pub(crate) groups: [u32; 2],
}

impl CopyDispatch {
    /// Decides how to copy a piece that is within the limits of one dispatch.
    pub(super) fn new(piece: &StridedCopy, limits: &CopyLimits) -> Self {
        let mut axes: Vec<CopyAxis> = piece.axes.iter().rev().copied().collect();
        let (kernel, params, n_groups) = Self::choose_kernel(piece, &mut axes, limits);
        let (source, target) = (
            piece.bound_range(CopySide::Source, limits.alignment),
            piece.bound_range(CopySide::Target, limits.alignment),
        );
        let base = |offset: u64, bound: &Range<u64>| low_word(offset - bound.start / piece.unit);
        let params = CopyParams {
            source_base: base(piece.source, &source),
            target_base: base(piece.target, &target),
            n_axes: low_word(axes.len() as u64),
            lengths: of_each_axis(&axes, |axis| axis.len),
            source_strides: of_each_axis(&axes, |axis| axis.source.cast_unsigned()),
            target_strides: of_each_axis(&axes, |axis| axis.target.cast_unsigned()),
            ..params
        };
        Self { kernel, source, target, params, groups: limits.spread(n_groups) }
    }

    /// Chooses the kernel, its parameters for rows and tiles, and the number of workgroups. Sorts the axes from
    /// innermost first into the kernel's order.
    fn choose_kernel(piece: &StridedCopy, axes: &mut [CopyAxis], limits: &CopyLimits) -> (CopyKernel, CopyParams, u64) {
        let (unit, last) = (low_word(piece.unit), axes.len() - 1);
        let tile = tile(piece, limits);
        let quads = tile.and_then(|(source_axis, _)| quads_edge(piece, source_axis, limits));
        let channels = if quads.is_none() { channel_plan_of_whole(piece, limits) } else { None };
        if let Some(channels) = channels {
            // The axis along planes goes first, then the axis of channels.
            let [along, across] = [channels.along, channels.across].map(|axis| last - axis);
            axes[..=along].rotate_right(1);
            if across > along {
                axes[1..=across].rotate_right(1);
            }
            return channel_copy(axes, &channels);
        }
        let Some((source_axis, edges)) = tile else {
            return if unit < 4 { word_copy(axes, unit, limits) } else { row_copy(axes, unit, limits) };
        };
        // The source's fastest axis goes next to the target's fastest axis.
        axes[1..=last - source_axis].rotate_right(1);
        match quads {
            Some(edge) => tile_copy(axes, CopyKernel::Quads { group: limits.group }, [edge; 2]),
            None => tile_copy(axes, CopyKernel::Tile { unit, group: limits.group, tile: edges }, edges),
        }
    }
}

/// The source's contiguous axis and the edges of a tile, if a piece is copied through tiles.
fn tile(piece: &StridedCopy, limits: &CopyLimits) -> Option<(usize, [u32; 2])> {
    let (along_target, along_source) = (piece.axes.last()?, piece.source_axis()?);
    let is_transposed = along_target.target == 1 && along_target.source.unsigned_abs() > 1;
    // Units smaller than a word are assembled into words along the target, and a short axis has few words.
    let min_tiled = MIN_TILED.max(MIN_TILED * 2 / piece.unit);
    if !is_transposed || along_target.len < min_tiled {
        return None;
    }
    let edge = low_word(piece.axes[along_source].len.min(u64::from(TILE_EDGE)).next_power_of_two()).max(2);
    let mut units = TILE_UNITS;
    // Each row of a tile has one unit of padding.
    let bytes = |units: u32| (units + units / edge) * low_word(piece.unit).max(4);
    while units > edge && bytes(units) > limits.shared_bytes.min(16 << 10) {
        units /= 2;
    }
    Some((along_source, [edge, units / edge]))
}

/// The edge of a tile, if the piece can be copied four words at a time: each group of four words is contiguous and
/// aligned on both sides, and both axes are as long as a tile.
fn quads_edge(piece: &StridedCopy, source_axis: usize, limits: &CopyLimits) -> Option<u32> {
    let edge = library::quads_edge(limits.group);
    let last = piece.axes.len() - 1;
    let is_square = edge * edge == 16 * limits.group;
    let has_room = edge * (edge + 1) * 4 <= limits.shared_bytes;
    let is_long = |axis: usize| piece.axes[axis].len >= u64::from(edge) && piece.axes[axis].len.is_multiple_of(QUAD);
    let is_packed = piece.axes[source_axis].source == 1 && piece.axes[last].target == 1;
    let is_whole = |stride: i64| stride.unsigned_abs().is_multiple_of(QUAD);
    let is_aligned = piece.source.is_multiple_of(QUAD)
        && piece.target.is_multiple_of(QUAD)
        && piece
            .axes
            .iter()
            .enumerate()
            .all(|(i, axis)| (i == source_axis || is_whole(axis.source)) && (i == last || is_whole(axis.target)));
    (piece.unit == 4 && is_square && has_room && is_long(source_axis) && is_long(last) && is_packed && is_aligned)
        .then_some(edge)
}

fn row_copy(axes: &[CopyAxis], unit: u32, limits: &CopyLimits) -> (CopyKernel, CopyParams, u64) {
    let lanes = match axes[0].len {
        1 => 1,
        2..=4 => 4,
        5..=64 => 16,
        65..=256 => 64,
        _ => 256,
    }
    .min(limits.group);
    let n_tiles = axes[0].len.div_ceil(u64::from(lanes) * PER_LANE);
    let (rows, params) = rows(&axes[1..], n_tiles);
    let n_groups = rows.div_ceil(u64::from(limits.group / lanes)) * n_tiles;
    (CopyKernel::Strided { unit, group: limits.group, lanes }, params, n_groups)
}

fn word_copy(axes: &[CopyAxis], unit: u32, limits: &CopyLimits) -> (CopyKernel, CopyParams, u64) {
    let (n_run, run) = packed_run(axes);
    let units_a_word = u64::from(4 / unit);
    let words = (run + 2 * units_a_word - 2) / units_a_word;
    let lanes = match words {
        1 => 1,
        2..=4 => 4,
        5..=16 => 16,
        17..=64 => 64,
        _ => 256,
    }
    .min(limits.group);
    let n_tiles = words.div_ceil(u64::from(lanes));
    let (rows, params) = rows(&axes[n_run..], n_tiles);
    let params = CopyParams { n_run: low_word(n_run as u64), run_length: low_word(run), ..params };
    let n_groups = rows.div_ceil(u64::from(limits.group / lanes)) * n_tiles;
    (CopyKernel::Strided { unit, group: limits.group, lanes }, params, n_groups)
}

/// How many of the innermost axes are contiguous in the target, and how many units these axes have together.
fn packed_run(axes: &[CopyAxis]) -> (usize, u64) {
    let (mut n_run, mut run) = (0, 1);
    for axis in axes {
        if axis.target != run {
            break;
        }
        (n_run, run) = (n_run + 1, run * axis.len.cast_signed());
    }
    (n_run, run.cast_unsigned())
}

fn tile_copy(axes: &[CopyAxis], kernel: CopyKernel, edges: [u32; 2]) -> (CopyKernel, CopyParams, u64) {
    let [along_source, along_target] = edges.map(u64::from);
    let n_tiles = axes[0].len.div_ceil(along_target);
    let (rows, params) = rows(&axes[2..], n_tiles);
    let n_groups = rows * n_tiles * axes[1].len.div_ceil(along_source);
    (kernel, params, n_groups)
}

fn channel_copy(axes: &[CopyAxis], plan: &ChannelPlan) -> (CopyKernel, CopyParams, u64) {
    let (n_tiles, rows_at_once) = plan.tiles(axes[0].len);
    let (rows, params) = rows(&axes[2..], n_tiles);
    (CopyKernel::Channels(plan.kernel), params, rows.div_ceil(rows_at_once) * n_tiles)
}

fn rows(outer: &[CopyAxis], n_tiles: u64) -> (u64, CopyParams) {
    let rows = outer.iter().map(|axis| axis.len).product();
    (rows, CopyParams { n_rows: low_word(rows), n_tiles: low_word(n_tiles), ..CopyParams::default() })
}

fn of_each_axis(axes: &[CopyAxis], value: impl Fn(&CopyAxis) -> u64) -> [u32; MAX_AXES] {
    let mut values = [0; MAX_AXES];
    values.iter_mut().zip(axes).for_each(|(slot, axis)| *slot = low_word(value(axis)));
    values
}

/// The lower 32 bits of a value. Lengths and offsets of a piece have at most 32 bits. Indices are sums modulo 2³², so
/// the upper bits of a stride have no effect.
#[expect(clippy::cast_possible_truncation, reason = "a piece fits 32 bits, and strides are summed modulo 2^32")]
pub(super) fn low_word(value: u64) -> u32 {
    value as u32
}
