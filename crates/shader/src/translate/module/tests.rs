//! Golden signatures of small shaders. Refusals are in `tests/refusals.rs`, what is written in `tests/spirv.rs` and
//! `tests/plain_types.rs`, what is read back in `tests/binary.rs`, where fields lie in `tests/layouts.rs`, how addresses are
//! followed in `tests/addresses.rs`.

use std::borrow::Cow;

use super::*;
use crate::{Access, ConstantDefault, DType, Loops, ParamKind, Sanitize, Signature, Subgroups};

fn translate_with(
    text: impl Into<Cow<'static, str>>,
    entry: Option<&str>,
    constants: &[(&str, f64)],
    options: &Options,
) -> Result<Translated> {
    let constants = constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    Module::parse(&Source::wgsl(text).named("test.wgsl"))?.translate(entry, &constants, options)
}

fn translate(text: impl Into<Cow<'static, str>>, constants: &[(&str, f64)]) -> Result<Translated> {
    translate_with(text, None, constants, &Options::default())
}

fn signature(text: impl Into<Cow<'static, str>>, constants: &[(&str, f64)]) -> Signature {
    translate(text, constants).unwrap_or_else(|error| panic!("{error}")).signature
}

const SAXPY: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> a: f32;
@compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = a * x[id.x] + y[id.x];
}";

const CONVOLVE: &str = "
override TILE: u32 = 8;
@id(7) override GAIN: f32;
override HALO = TILE + 2u;
struct Params { width: u32, height: u32, weights: vec4<f32> }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> image: array<f32>;
@group(1) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(5) var<uniform> filter_taps: array<vec4<f32>, 16>;
var<workgroup> tile: array<f32, HALO * HALO>;
var<workgroup> unused: array<f32, 99>;
@compute @workgroup_size(TILE, TILE) fn convolve(@builtin(local_invocation_index) i: u32) {
    tile[i] = image[i] * params.weights.x * filter_taps[i % 16].y * GAIN;
    workgroupBarrier();
    if i < params.width * params.height { out[i] = tile[i]; }
}";

const PARTICLES: &str = "
struct Particle { position: vec3<f32>, mass: f32, spin: vec3<f32>, id: u32 }
struct List { count: atomic<u32>, box_size: vec3<f32>, items: array<Particle> }
@group(0) @binding(0) var<storage, read_write> list: List;
@group(0) @binding(1) var<storage, read> points: array<vec3<f32>>;
@group(0) @binding(2) var<storage, read_write> grid: array<array<mat3x3<f32>, 2>, 4>;
@compute @workgroup_size(32) fn move_all(@builtin(global_invocation_id) id: vec3<u32>) {
    atomicAdd(&list.count, 1u);
    list.items[id.x].position += points[id.x];
    grid[0][1][2].x = 1.0;
}";

const HISTOGRAM: &str = "
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>, 256>;
var<workgroup> local: array<atomic<u32>, 256>;
var<workgroup> flag: bool;
var<workgroup> center: vec3<f32>;
@compute @workgroup_size(256) fn histogram(@builtin(local_invocation_index) i: u32) {
    if i == 0 { flag = true; center = vec3(1.0); }
    atomicAdd(&local[input[i] % 256], 1u);
    workgroupBarrier();
    if flag && center.x > 0.0 { atomicAdd(&bins[i], atomicLoad(&local[i])); }
}";

const TWO: &str = "
@group(0) @binding(0) var<storage, read_write> first: array<f32>;
@group(0) @binding(1) var<storage, read_write> second: array<i32>;
override A: f32 = 1.5;
override B: i32;
var<workgroup> scratch: array<i32, 8>;
@compute @workgroup_size(4) fn one() { first[0] = A; }
@compute @workgroup_size(8, 2, 3) fn two() { scratch[0] = B; second[0] = scratch[0] + i32(arrayLength(&first)); }";

const HALF: &str = "
enable f16;
@group(0) @binding(0) var<storage, read_write> h: array<vec2<f16>>;
@group(0) @binding(1) var<storage, read> wide: array<f64>;
@group(0) @binding(2) var<storage, read> long: array<i64>;
@compute @workgroup_size(1) fn main() { h[0] = vec2<f16>(f16(wide[0]), f16(subgroupAdd(i32(long[0])))); }";

/// Shader, entry point, constants, what is printed or refused.
type Case<'a> = (&'static str, Option<&'a str>, &'a [(&'a str, f64)], &'a str);

const GOLDEN: &[Case<'_>] = &[
    (
        SAXPY,
        None,
        &[],
        "
saxpy: workgroup 64×1×1
  x  storage 0:0  read        array<f32>
  y  storage 0:1  read_write  array<f32>
  a  push +0                  f32",
    ),
    (
        CONVOLVE,
        None,
        &[("TILE", 16.0), ("7", 0.5)],
        "
convolve: workgroup 16×16×1, shared 1.3 KiB
  image        storage 0:0  read        array<f32>
  filter_taps  uniform 0:5  read        array<vec4<f32>, 16>
  out          storage 1:2  read_write  array<f32>
  width        push +0                  u32
  height       push +4                  u32
  weights      push +16                 vec4<f32>
  TILE         constant                 u32 = 16 (default 8)
  GAIN         constant @7              f32 = 0.5
  HALO         constant                 u32 = 18
  tile         shared                   1.3 KiB",
    ),
    (
        PARTICLES,
        None,
        &[],
        "
move_all: workgroup 32×1×1
  list    storage 0:0  read_write  List
  points  storage 0:1  read        array<vec3<f32>>
  grid    storage 0:2  read_write  array<array<mat3x3<f32>, 2>, 4>",
    ),
    (
        HISTOGRAM,
        None,
        &[],
        "
histogram: workgroup 256×1×1, shared 1.0 KiB
  input   storage 0:0  read        array<u32>
  bins    storage 0:1  read_write  array<atomic<u32>, 256>
  local   shared                   1.0 KiB
  flag    shared                   4 bytes
  center  shared                   12 bytes",
    ),
    (
        TWO,
        Some("one"),
        &[],
        "
one: workgroup 4×1×1
  first  storage 0:0  read_write  array<f32>
  A      constant                 f32 = 1.5",
    ),
    (
        TWO,
        Some("two"),
        &[("B", -3.0), ("A", 9.0)],
        "
two: workgroup 8×2×3, shared 32 bytes
  first    storage 0:0  read_write  array<f32>
  second   storage 0:1  read_write  array<i32>
  B        constant                 i32 = -3
  scratch  shared                   32 bytes",
    ),
    (
        HALF,
        None,
        &[],
        "
main: workgroup 1×1×1, needs f16, f64, i64, 16-bit storage, 16-bit uniforms, subgroup arithmetic
  h     storage 0:0  read_write  array<vec2<f16>>
  wide  storage 0:1  read        array<f64>
  long  storage 0:2  read        array<i64>",
    ),
    (
        "@compute @workgroup_size(1) fn nothing() {}",
        None,
        &[],
        "
nothing: workgroup 1×1×1",
    ),
];

#[test]
fn golden_signatures() {
    for (text, entry, constants, expected) in GOLDEN {
        let translated = translate_with(*text, *entry, constants, &Options::default()).unwrap();
        assert_eq!(format!("\n{}", translated.signature), *expected);
    }
}

#[test]
fn sizes_are_those_of_wgsl() {
    // Offsets by hand, from the alignment table of the WGSL specification.
    let particles = signature(PARTICLES, &[]);
    let [list, points, grid] = particles.params.as_slice() else { panic!("{particles}") };
    assert_eq!((list.fixed_bytes, list.stride, list.array_len), (32, Some(32), None)); // 4, pad to 16, 12, pad to 32.
    assert_eq!((points.fixed_bytes, points.stride, points.array_len), (0, Some(16), None));
    assert_eq!((grid.fixed_bytes, grid.stride, grid.array_len), (4 * 96, Some(96), Some(4)));
    let (particle, _) = list.ty.runtime_array().unwrap();
    let offsets: Vec<_> = particle.leaves().iter().map(|leaf| leaf.0).collect();
    assert_eq!(offsets, [0, 4, 8, 12, 16, 20, 24, 28]);

    let convolve = signature(CONVOLVE, &[("TILE", 16.0), ("GAIN", 0.5)]);
    assert_eq!(convolve.shared_bytes, 18 * 18 * 4);
    assert_eq!(convolve.push_constants.as_ref().map(|push| push.bytes), Some(32));
    let taps = &convolve.params[1];
    assert_eq!(
        (taps.kind, taps.fixed_bytes, taps.stride, taps.array_len),
        (ParamKind::Uniform, 256, Some(16), Some(16))
    );

    // 1024 bytes of bins, a truth value of 4, then a vec3 of 12 at the next multiple of 16.
    assert_eq!(signature(HISTOGRAM, &[]).shared_bytes, 1040 + 12);
}

#[test]
fn reads_and_writes_are_those_of_the_entry_point() {
    let text = "
@group(0) @binding(0) var<storage, read_write> only_read: array<f32>;
@group(0) @binding(1) var<storage, read_write> only_written: array<f32>;
@group(0) @binding(2) var<storage, read_write> both: array<f32>;
@group(0) @binding(3) var<storage, read_write> counted: atomic<u32>;
@group(0) @binding(4) var<storage, read_write> measured: array<f32>;
fn store(i: u32, value: f32) { let place = &only_written[i]; *place = value; }
@compute @workgroup_size(1) fn main() {
    store(0, only_read[0]);
    both[0] += 1.0;
    atomicAdd(&counted, arrayLength(&measured));
}";
    let uses: Vec<_> = signature(text, &[]).params.into_iter().map(|p| (p.name, p.access, p.reads, p.writes)).collect();
    let expected = [
        ("only_read", true, false),
        ("only_written", false, true), // Through a pointer in a called function.
        ("both", true, true),
        ("counted", true, true),
        ("measured", false, false), // Its length is no access to its contents, but it must be bound.
    ];
    assert_eq!(uses, expected.map(|(name, reads, writes)| (name.to_owned(), Access::ReadWrite, reads, writes)));
}

#[test]
fn constants_show_default_and_value() {
    let constants = signature(CONVOLVE, &[("GAIN", 0.5)]).constants;
    let [tile, gain, halo] = constants.as_slice() else { panic!("{constants:?}") };
    assert_eq!((tile.default, tile.value), (ConstantDefault::Value(8u32.into()), 8u32.into()));
    assert_eq!(
        (gain.id, gain.dtype, gain.default, gain.value),
        (Some(7), DType::F32, ConstantDefault::Required, 0.5f32.into())
    );
    assert_eq!((halo.default, halo.value), (ConstantDefault::Derived, 10u32.into()));
}

#[test]
fn arguments_come_in_binding_order_then_offset_order() {
    let signature = signature(CONVOLVE, &[("GAIN", 1.0)]);
    let names: Vec<_> = signature.arguments().map(|argument| argument.name()).collect();
    assert_eq!(names, ["image", "filter_taps", "out", "width", "height", "weights"]);
    assert_eq!(signature.n_arguments(), names.len());
}

#[test]
fn a_signature_survives_json() {
    let translated = translate(CONVOLVE, &[("GAIN", 0.25)]).unwrap();
    let text = serde_json::to_string(&translated).unwrap();
    assert_eq!(serde_json::from_str::<Translated>(&text).unwrap(), translated);
}

mod addresses;
mod binary;
mod layouts;
mod plain_types;
mod refusals;
pub(crate) mod spirv;
