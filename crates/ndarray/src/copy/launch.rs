//! [`Launch`]: one dispatch of a copy, as plain data: which program, what it binds, what it is told, how many workgroups.
//!
//! Four ways through a walk: row by row; word by word, for units smaller than a word; through a tile in workgroup memory,
//! where the source lies packed along another axis than the target, by quads of words where these are whole; and between
//! pixels and planes, which `channels.rs` knows. The shaders are in the `vkarray-shaders` crate. `run.rs` carries launches
//! out.

use std::ops::Range;

use vkarray_shaders::library;

use super::channels::{Way, Woven, way_of_whole};
use super::machine::Machine;
use super::walk::{Axis, Walk};
use super::window::{MAX_AXES, Side};

/// Units of a tile.
const TILE_UNITS: u32 = 1024;

/// The longest edge of a tile along the source's fastest axis: 32 words are a cache line, and a subgroup's width.
const TILE_EDGE: u32 = 32;

/// From this length of the target's fastest axis on, rows along it leave so much of each cache line of the source to
/// other workgroups that a tile pays.
const MIN_TILED: u64 = 16;

/// Units of a row that an invocation copies.
const PER_LANE: u64 = 4;

/// A variant of a library kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Program {
    /// Rows of `lanes` invocations.
    Strided { unit: u32, group: u32, lanes: u32 },
    /// Tiles of so many units along the source's fastest axis and the target's.
    Tile { unit: u32, group: u32, tile: [u32; 2] },
    /// Square tiles of units of four bytes, read and written four at a time.
    Quads { group: u32 },
    /// Between pixels and planes: axis 0 goes along planes, axis 1 across.
    Woven(Woven),
}

/// Units of four bytes in a quad.
const QUAD: u64 = 4;

/// What a copying kernel is told, in the order of `walk.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Told {
    pub(crate) source_base: u32,
    pub(crate) target_base: u32,
    pub(crate) n_rows: u32,
    pub(crate) n_tiles: u32,
    pub(crate) n_axes: u32,
    pub(crate) n_run: u32,
    pub(crate) run_length: u32,
    /// Innermost axis first.
    pub(crate) lengths: [u32; MAX_AXES],
    pub(crate) source_strides: [u32; MAX_AXES],
    pub(crate) target_strides: [u32; MAX_AXES],
}

/// One dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) program: Program,
    /// The bytes of the source's block that are bound.
    pub(crate) source: Range<u64>,
    /// The bytes of the target's block that are bound.
    pub(crate) target: Range<u64>,
    pub(crate) told: Told,
    pub(crate) groups: [u32; 2],
}

impl Launch {
    /// Decides how a piece is copied. It fits one dispatch.
    pub(super) fn new(piece: &Walk, machine: &Machine) -> Self {
        let mut axes: Vec<Axis> = piece.axes.iter().rev().copied().collect();
        let (program, told, n_groups) = Self::dispatched(piece, &mut axes, machine);
        let (source, target) =
            (piece.window(Side::Source, machine.alignment), piece.window(Side::Target, machine.alignment));
        let base = |place: u64, window: &Range<u64>| low(place - window.start / piece.unit);
        let told = Told {
            source_base: base(piece.source, &source),
            target_base: base(piece.target, &target),
            n_axes: low(axes.len() as u64),
            lengths: each(&axes, |axis| axis.len),
            source_strides: each(&axes, |axis| axis.source.cast_unsigned()),
            target_strides: each(&axes, |axis| axis.target.cast_unsigned()),
            ..told
        };
        Self { program, source, target, told, groups: machine.spread(n_groups) }
    }

    /// The program, what it is told of rows and tiles, and how many workgroups it has. Brings axes into its order, which
    /// came innermost first.
    fn dispatched(piece: &Walk, axes: &mut [Axis], machine: &Machine) -> (Program, Told, u64) {
        let (unit, last) = (low(piece.unit), axes.len() - 1);
        let tile = tile(piece, machine);
        let quads = tile.and_then(|(source_axis, _)| quads_edge(piece, source_axis, machine));
        let way = if quads.is_none() { way_of_whole(piece, machine) } else { None };
        if let Some(way) = way {
            // Along planes first, then across.
            let [along, across] = [way.along, way.across].map(|axis| last - axis);
            axes[..=along].rotate_right(1);
            if across > along {
                axes[1..=across].rotate_right(1);
            }
            return woven(axes, &way);
        }
        let Some((source_axis, edges)) = tile else {
            return if unit < 4 { worded(axes, unit, machine) } else { strided(axes, unit, machine) };
        };
        // The source's fastest axis goes next to the target's.
        axes[1..=last - source_axis].rotate_right(1);
        match quads {
            Some(edge) => tiled(axes, Program::Quads { group: machine.group }, [edge; 2]),
            None => tiled(axes, Program::Tile { unit, group: machine.group, tile: edges }, edges),
        }
    }
}

/// Whether a piece is copied through tiles: along which axis of the source, and their edges.
fn tile(piece: &Walk, machine: &Machine) -> Option<(usize, [u32; 2])> {
    let (along_target, along_source) = (piece.axes.last()?, piece.source_axis()?);
    let is_transposed = along_target.target == 1 && along_target.source.unsigned_abs() > 1;
    // Shorter units are put together to words along the target, of which a short axis has few.
    let min_tiled = MIN_TILED.max(MIN_TILED * 2 / piece.unit);
    if !is_transposed || along_target.len < min_tiled {
        return None;
    }
    let edge = low(piece.axes[along_source].len.min(u64::from(TILE_EDGE)).next_power_of_two()).max(2);
    let mut units = TILE_UNITS;
    // A row of the tile has one unit of padding.
    let bytes = |units: u32| (units + units / edge) * low(piece.unit).max(4);
    while units > edge && bytes(units) > machine.shared_bytes.min(16 << 10) {
        units /= 2;
    }
    Some((along_source, [edge, units / edge]))
}

/// The edge of the tiles, if a piece can go through tiles of quads: each quad lies packed and aligned on both sides, and
/// there is a tile's worth along both axes.
fn quads_edge(piece: &Walk, source_axis: usize, machine: &Machine) -> Option<u32> {
    let edge = library::quads_edge(machine.group);
    let last = piece.axes.len() - 1;
    let is_square = edge * edge == 16 * machine.group;
    let has_room = edge * (edge + 1) * 4 <= machine.shared_bytes;
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

fn strided(axes: &[Axis], unit: u32, machine: &Machine) -> (Program, Told, u64) {
    let lanes = match axes[0].len {
        1 => 1,
        2..=4 => 4,
        5..=64 => 16,
        65..=256 => 64,
        _ => 256,
    }
    .min(machine.group);
    let n_tiles = axes[0].len.div_ceil(u64::from(lanes) * PER_LANE);
    let (rows, told) = rows(&axes[1..], n_tiles);
    let n_groups = rows.div_ceil(u64::from(machine.group / lanes)) * n_tiles;
    (Program::Strided { unit, group: machine.group, lanes }, told, n_groups)
}

fn worded(axes: &[Axis], unit: u32, machine: &Machine) -> (Program, Told, u64) {
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
    .min(machine.group);
    let n_tiles = words.div_ceil(u64::from(lanes));
    let (rows, told) = rows(&axes[n_run..], n_tiles);
    let told = Told { n_run: low(n_run as u64), run_length: low(run), ..told };
    let n_groups = rows.div_ceil(u64::from(machine.group / lanes)) * n_tiles;
    (Program::Strided { unit, group: machine.group, lanes }, told, n_groups)
}

/// How many of the innermost axes lie packed in the target, and how many units they have.
fn packed_run(axes: &[Axis]) -> (usize, u64) {
    let (mut n_run, mut run) = (0, 1);
    for axis in axes {
        if axis.target != run {
            break;
        }
        (n_run, run) = (n_run + 1, run * axis.len.cast_signed());
    }
    (n_run, run.cast_unsigned())
}

fn tiled(axes: &[Axis], program: Program, edges: [u32; 2]) -> (Program, Told, u64) {
    let [along_source, along_target] = edges.map(u64::from);
    let n_tiles = axes[0].len.div_ceil(along_target);
    let (rows, told) = rows(&axes[2..], n_tiles);
    let n_groups = rows * n_tiles * axes[1].len.div_ceil(along_source);
    (program, told, n_groups)
}

fn woven(axes: &[Axis], way: &Way) -> (Program, Told, u64) {
    let (n_tiles, rows_at_once) = way.tiles(axes[0].len);
    let (rows, told) = rows(&axes[2..], n_tiles);
    (Program::Woven(way.program), told, rows.div_ceil(rows_at_once) * n_tiles)
}

fn rows(outer: &[Axis], n_tiles: u64) -> (u64, Told) {
    let rows = outer.iter().map(|axis| axis.len).product();
    (rows, Told { n_rows: low(rows), n_tiles: low(n_tiles), ..Told::default() })
}

fn each(axes: &[Axis], value: impl Fn(&Axis) -> u64) -> [u32; MAX_AXES] {
    let mut values = [0; MAX_AXES];
    values.iter_mut().zip(axes).for_each(|(place, axis)| *place = low(value(axis)));
    values
}

/// The lower half: all of a length or a place, which fit; and of a stride what wrapping sums need of it.
#[expect(clippy::cast_possible_truncation, reason = "a piece fits 32 bits, and strides are summed modulo 2^32")]
pub(super) fn low(value: u64) -> u32 {
    value as u32
}
