//! Library kernels, and functions that any shader can include.
//!
//! A library kernel is a file of `library/` after the types and constants that make a variant of it; the functions here
//! write these lines. `vkarray-ndarray` decides which variant runs when. [`BARRIER`], [`INDEX`], [`float_atomics`] and
//! [`workgroup_sum`] are functions for other shaders, which include them with `vkarray_kernel::Source::with`.

/// Barriers that return for how many, for all or for any invocations a condition holds: `barrier_count`, `barrier_and`,
/// `barrier_or`.
pub const BARRIER: &str = include_str!("../library/barrier.wgsl");

/// Flat indices of arrays of two and three axes, and division that rounds up: `ravel2`, `unravel2`, `ravel3`, `unravel3`,
/// `div_ceil`.
pub const INDEX: &str = include_str!("../library/index.wgsl");

const FLOAT_ATOMICS: &str = include_str!("../library/float_atomics.wgsl");
const WORKGROUP_SUM: &str = include_str!("../library/workgroup_sum.wgsl");
const WALK: &str = include_str!("../library/walk.wgsl");
const WORDS: &str = include_str!("../library/words.wgsl");
const STRIDED: &str = include_str!("../library/copy_strided.wgsl");
const RUN: &str = include_str!("../library/copy_run.wgsl");
const TILE: &str = include_str!("../library/copy_tile.wgsl");
const TILE_QUADS: &str = include_str!("../library/copy_tile_quads.wgsl");
const WORDS_RUN: &str = include_str!("../library/copy_words.wgsl");
const WORDS_TILE: &str = include_str!("../library/copy_words_tile.wgsl");
/// Conversions between numbers of at most 32 bits, computed on their bits.
pub(crate) const NUMBERS: &str = include_str!("../library/numbers.wgsl");
/// Conversions from and to numbers of 64 bits, as pairs of words; they need [`NUMBERS`].
pub(crate) const WIDE_NUMBERS: &str = include_str!("../library/wide_numbers.wgsl");
const CAST: &str = include_str!("../library/cast.wgsl");

/// Copies from any strides to any strides. Units of 4, 8 or 16 bytes are loaded and stored whole; units of 1 or 2 bytes
/// are combined into words.
///
/// A workgroup has `group` invocations, of which `lanes` lie along a row. Entry `copy_strided` or `copy_words`.
#[must_use]
pub fn copy_strided(unit_bytes: u32, group: u32, lanes: u32) -> String {
    let constants = format!("const GROUP = {group}u;\nconst LANES = {lanes}u;\n");
    match unit(unit_bytes) {
        Unit::Whole(alias) => [alias, &constants, WALK, STRIDED].concat(),
        Unit::Part(units) => [&units, &constants, WALK, WORDS, WORDS_RUN].concat(),
    }
}

/// Copies the contiguous units of one buffer to another, by workgroups of [`RUN_GROUP`] invocations. Entry `copy_run`.
///
/// # Panics
///
/// If a unit is not 4, 8 or 16 bytes.
#[must_use]
pub fn copy_run(unit_bytes: u32) -> String {
    let Unit::Whole(alias) = unit(unit_bytes) else { panic!("{unit_bytes} bytes are not whole words") };
    [alias, &format!("const GROUP = {RUN_GROUP}u;\n"), RUN].concat()
}

/// Invocations in a workgroup of [`copy_run`].
pub const RUN_GROUP: u32 = 64;

/// Copies elements that are contiguous along one axis in the source and along another in the target, through a tile in
/// workgroup memory.
///
/// `tile` is the tile's lengths along the source's fastest axis and the target's. Entry `copy_tile` or
/// `copy_words_tile`.
#[must_use]
pub fn copy_tile(unit_bytes: u32, group: u32, tile: [u32; 2]) -> String {
    let [s, t] = tile;
    let constants = format!("const GROUP = {group}u;\nconst TILE_S = {s}u;\nconst TILE_T = {t}u;\n");
    match unit(unit_bytes) {
        Unit::Whole(alias) => [alias, &constants, WALK, TILE].concat(),
        Unit::Part(units) => [&units, &constants, WALK, WORDS, WORDS_TILE].concat(),
    }
}

/// Copies units of four bytes as [`copy_tile`] does, four at a time; they must be contiguous and aligned along both axes.
///
/// The tile has `4 * group` quads, so its edge is four times the square root of `group`. Entry `copy_tile_quads`.
#[must_use]
pub fn copy_tile_quads(group: u32) -> String {
    let constants = format!("const GROUP = {group}u;\nconst TILE = {}u;\n", quads_edge(group));
    [&constants, WALK, TILE_QUADS].concat()
}

/// Units along an edge of the tile of [`copy_tile_quads`], for a `group` that is a square number.
#[must_use]
pub fn quads_edge(group: u32) -> u32 {
    4 * group.isqrt()
}

/// Converts items of one size to items of another, each of 1, 2, 4, 8 or 16 bytes.
///
/// `convert` is a WGSL expression of `item`, the bits of an item as `vec4<u32>`, and `value`, the first two of its words.
/// It may call the functions of `numbers.wgsl` and, if `is_wide`, of `wide_numbers.wgsl`. Entry `cast_items`.
#[must_use]
pub fn cast(bytes: [u32; 2], group: u32, is_wide: bool, convert: &str) -> String {
    let [from, to] = bytes;
    let constants = format!("const GROUP = {group}u;\nconst FROM = {from}u;\nconst TO = {to}u;\n");
    let convert =
        format!("fn convert(item: vec4<u32>) -> vec2<u32> {{\n    let value = item.xy;\n    return {convert};\n}}\n");
    let wide = if is_wide { WIDE_NUMBERS } else { "" };
    [constants.as_str(), NUMBERS, wide, convert.as_str(), CAST].concat()
}

/// Atomic operations on the floats of a storage array called `array`, declared as `array<atomic<u32>>`.
///
/// The functions are named `…_add`, `…_min` and `…_max`, with the array's name before them. WGSL and most devices have
/// no atomic floats; these functions repeat a compare-and-exchange until it succeeds. They return the old value; minimum
/// and maximum do not store a NaN.
#[must_use]
pub fn float_atomics(array: &str) -> String {
    let functions = [
        ["add", "true", "ARRAY_number + ARRAY_value"],
        ["min", "ARRAY_value < ARRAY_number", "ARRAY_value"],
        ["max", "ARRAY_value > ARRAY_number", "ARRAY_value"],
    ];
    let text = |[name, changes, result]: [&str; 3]| {
        let own = FLOAT_ATOMICS.replace("CHANGES", changes).replace("RESULT", result).replace("NAME", name);
        own.replace("ARRAY", array) // The last one, because the name may have any of these words in it.
    };
    functions.map(text).concat()
}

/// The function `workgroup_sum`: the sum of numbers of type `ty` over a workgroup of `group` invocations, without
/// subgroup operations.
#[must_use]
pub fn workgroup_sum(ty: &str, group: u32) -> String {
    [format!("alias T = {ty};\nconst GROUP = {group}u;\n").as_str(), WORKGROUP_SUM].concat()
}

enum Unit {
    Whole(&'static str),
    Part(String),
}

fn unit(bytes: u32) -> Unit {
    match bytes {
        4 => Unit::Whole("alias Unit = u32;\n"),
        8 => Unit::Whole("alias Unit = vec2<u32>;\n"),
        16 => Unit::Whole("alias Unit = vec4<u32>;\n"),
        _ => Unit::Part(format!("const UNITS = {}u;\nconst BITS = {}u;\n", 4 / bytes, 8 * bytes)),
    }
}

#[cfg(test)]
mod tests {
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::*;

    #[test]
    fn every_variant_is_valid() {
        for bytes in [1, 2, 4, 8, 16] {
            for source in [
                copy_strided(bytes, 256, 1),
                copy_strided(bytes, 128, 128),
                copy_tile(bytes, 256, [32, 16]),
                copy_tile(bytes, 64, [2, 256]),
                copy_run(bytes.max(4)),
                copy_tile_quads(256),
                cast([bytes.min(8), 8], 256, true, "integer_to_f64(value, true)"),
                cast([8, bytes.min(8)], 256, false, "value"),
            ] {
                let module = naga::front::wgsl::parse_str(&source);
                let module = module.unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
                let checked = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES).validate(&module);
                checked.unwrap_or_else(|error| panic!("{bytes}: {}", error.emit_to_string(&source)));
                assert_eq!(module.entry_points.len(), 1);
            }
        }
    }

    #[test]
    fn atomic_operations_of_floats_take_an_array_of_any_name() {
        for name in ["bins", "i", "value", "old", "number", "tried", "result", "NAME", "CHANGES"] {
            let binding = format!("@group(0) @binding(0) var<storage, read_write> {name}: array<atomic<u32>>;\n");
            let calls = ["add", "min", "max"].map(|of| format!("    _ = {name}_{of}(0u, 1.0);\n")).concat();
            let source = binding + &float_atomics(name) + "@compute @workgroup_size(1)\nfn run() {\n" + &calls + "}\n";
            let module = naga::front::wgsl::parse_str(&source);
            let module = module.unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
            let checked = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
            checked.unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
        }
    }

    #[test]
    fn library_files_are_short_and_begin_with_their_formula() {
        for (name, body) in [
            ("walk", WALK),
            ("words", WORDS),
            ("copy_strided", STRIDED),
            ("copy_run", RUN),
            ("copy_tile", TILE),
            ("copy_tile_quads", TILE_QUADS),
            ("copy_words", WORDS_RUN),
            ("copy_words_tile", WORDS_TILE),
            ("cast", CAST),
            ("numbers", NUMBERS),
            ("wide_numbers", WIDE_NUMBERS),
            ("barrier", BARRIER),
            ("index", INDEX),
            ("float_atomics", FLOAT_ATOMICS),
            ("workgroup_sum", WORKGROUP_SUM),
        ] {
            // The two files that have only functions may be longer.
            assert!(body.lines().count() <= if name.contains("numbers") { 150 } else { 80 }, "{name}");
            let first = body.lines().next().unwrap();
            assert!(first.starts_with("// ") && first.contains(" = "), "{name}: {first}");
        }
    }
}
