//! What fits, what does not with the whole message, and where the bytes of push constants go.

use super::*;
use crate::call::shape::ArrayShape;
use crate::{DType, Module, Options, Source};

pub(crate) const LIMITS: Limits = Limits { max_storage_buffer_range: 1 << 20, ..Limits::MINIMUM };

/// A shader of `tests/shaders`, as glslang compiled it.
fn compiled(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/shaders/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

const SHADER: &str = "
struct Particle { position: vec3<f32>, id: u32 }
struct Pair { re: f32, im: f32 }
struct List { count: u32, flags: u32, items: array<vec2<u32>> }
override TILE: u32 = 8;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> points: array<vec3<f32>>;
@group(0) @binding(3) var<storage, read> particles: array<Particle>;
@group(0) @binding(4) var<storage, read> pairs: array<Pair>;
@group(0) @binding(5) var<storage, read> list: List;
@group(0) @binding(6) var<storage, read> fixed: array<u32, 16>;
@group(0) @binding(7) var<uniform> taps: array<vec4<f32>, 4>;
@group(1) @binding(0) var<storage, read_write> bins: array<atomic<u32>>;
@group(1) @binding(1) var<storage, read> frames: array<mat3x3<f32>>;
struct Args { a: f32, n: u32, color: vec3<f32>, shift: i32 }
var<immediate> args: Args;

@compute @workgroup_size(TILE) fn all() {
    out[0] = vec4(x[0], points[0].x, pairs[0].re, particles[0].position.x) + args.a + frames[0][0][0];
    atomicAdd(&bins[0], list.count + fixed[0] + u32(taps[0].x));
}
@compute @workgroup_size(1) fn only_x() { out[0] = vec4(x[0]); }
@compute @workgroup_size(1) fn only_points() { out[0].x = points[0].x; }
@compute @workgroup_size(1) fn only_particles() { out[0].x = particles[0].position.x; }
@compute @workgroup_size(1) fn only_pairs() { out[0].x = pairs[0].re; }
@compute @workgroup_size(1) fn only_list() { out[0].x = f32(list.count); }
@compute @workgroup_size(1) fn only_fixed() { out[0].x = f32(fixed[0]); }
@compute @workgroup_size(1) fn only_taps() { out[0].x = taps[0].x; }
@compute @workgroup_size(1) fn only_bins() { atomicAdd(&bins[0], 1u); }
@compute @workgroup_size(1) fn only_frames() { out[0].x = frames[0][0][0]; }
@compute @workgroup_size(1) fn only_args() { out[0].x = args.a; }
@compute @workgroup_size(TILE) fn scale() { out[0] = vec4(x[0] * args.a); }";

pub(crate) fn signature(entry: &str) -> Signature {
    let module = Module::parse(&Source::wgsl(SHADER)).unwrap();
    let mut signature = module.translate(Some(entry), &Default::default(), &Options::default()).unwrap().signature;
    if entry.starts_with("only_") && entry != "only_x" {
        signature.params.retain(|param| param.name != "out"); // Only there to be written to.
    }
    signature
}

fn array(dtype: DType, shape: &[usize]) -> ArrayShape<'_> {
    let nbytes = shape.iter().map(|&len| len as u64).product::<u64>() * u64::from(dtype.itemsize());
    ArrayShape::new(dtype, shape, nbytes)
}

fn positional<'a>(shapes: &[ArgShape<'a>]) -> Vec<Argument<'a>> {
    shapes.iter().map(|&shape| Argument::from(shape)).collect()
}

/// The message of a check that must fail.
fn refusal(entry: &str, arguments: &[Argument<'_>]) -> String {
    check(&signature(entry), arguments, &LIMITS).unwrap_err().to_string()
}

#[test]
fn arrays_that_fit() {
    let record = DType::Record;
    let cases: &[(&str, DType, &[usize])] = &[
        ("only_points", DType::F32, &[5, 4]),    // Padded by the user.
        ("only_points", DType::F32, &[20]),      // Flat, padded.
        ("only_points", DType::F32, &[0, 3]),    // Nothing to misplace.
        ("only_frames", DType::F32, &[2, 3, 4]), // Three columns of four.
        ("only_frames", DType::F32, &[24]),
        ("only_particles", record(16), &[7]),
        ("only_particles", DType::U8, &[7, 16]), // Raw bytes.
        ("only_pairs", DType::Complex32, &[9]),
        ("only_pairs", DType::F32, &[9, 2]), // Its only scalar.
        ("only_pairs", record(8), &[9]),
        ("only_list", DType::U8, &[8]), // No items.
        ("only_list", DType::U8, &[24]),
        ("only_list", DType::U32, &[6]), // All of it is u32.
        ("only_fixed", DType::U32, &[4, 4]),
        ("only_taps", DType::F32, &[16]),
        ("only_bins", DType::U32, &[11]),
    ];
    for &(entry, dtype, shape) in cases {
        let arguments = positional(&[ArgShape::Array(array(dtype, shape))]);
        let packed = check(&signature(entry), &arguments, &LIMITS).unwrap_or_else(|e| panic!("{dtype} {shape:?}: {e}"));
        assert_eq!(packed.arrays.as_slice(), [0]);
        assert_eq!(packed.empty, shape.contains(&0).then_some(0), "{entry}");
    }
}

/// Kernel, dtype, shape, message.
const MISFITS: &[(&str, DType, &[usize], &str)] = &[
    (
        "only_points",
        DType::F64,
        &[4],
        "kernel `only_points`: `points` is array<vec3<f32>>, got an array of f64 with shape (4,); convert it to f32",
    ),
    (
        "only_points",
        DType::F32,
        &[5, 3],
        "kernel `only_points`: `points` is array<vec3<f32>>, 16 bytes an element, got 60 bytes, 12 too many",
    ),
    (
        "only_points",
        DType::F32,
        &[4, 3], // 48 bytes: three elements, all wrong.
        "kernel `only_points`: `points` is array<vec3<f32>>, 16 bytes an element of which 12 hold data, got rows of 12 bytes; \
             pad the last axis to 16 bytes",
    ),
    (
        "only_frames",
        DType::F32,
        &[4, 3, 3],
        "kernel `only_frames`: `frames` is array<mat3x3<f32>>, 48 bytes an element of which 36 hold data, got rows of 12 bytes; \
             pad the last axis to 48 bytes",
    ),
    (
        "only_particles",
        DType::Record(12),
        &[4],
        "kernel `only_particles`: `particles` is array<Particle>, got an array of record12 with shape (4,); \
             pass records of 16 bytes, or bytes",
    ),
    (
        "only_particles",
        DType::F32,
        &[4, 4], // One field is u32.
        "kernel `only_particles`: `particles` is array<Particle>, got an array of f32 with shape (4, 4); \
             pass records of 16 bytes, or bytes",
    ),
    (
        "only_particles",
        DType::U8,
        &[17],
        "kernel `only_particles`: `particles` is array<Particle>, 16 bytes an element, got 17 bytes, 1 too many",
    ),
    (
        "only_pairs",
        DType::I32,
        &[4, 2],
        "kernel `only_pairs`: `pairs` is array<Pair>, got an array of i32 with shape (4, 2); convert it to f32",
    ),
    ("only_list", DType::U8, &[7], "kernel `only_list`: `list` is List, of 8 bytes or more, got 7 bytes"),
    (
        "only_list",
        DType::U8,
        &[21],
        "kernel `only_list`: `list` is List, 8 bytes an element, got 13 bytes after the first 8, 5 too many",
    ),
    (
        "only_list",
        DType::F32,
        &[6],
        "kernel `only_list`: `list` is List, got an array of f32 with shape (6,); convert it to u32",
    ),
    ("only_fixed", DType::U32, &[15], "kernel `only_fixed`: `fixed` is array<u32, 16>, exactly 64 bytes, got 60 bytes"),
    ("only_fixed", DType::U32, &[17], "kernel `only_fixed`: `fixed` is array<u32, 16>, exactly 64 bytes, got 68 bytes"),
    (
        "only_fixed",
        DType::U8,
        &[64],
        "kernel `only_fixed`: `fixed` is array<u32, 16>, got an array of u8 with shape (64,); \
             convert it to u32, or view it as u32 if the kernel unpacks bytes",
    ),
    (
        "only_fixed",
        DType::Record(4),
        &[16],
        "kernel `only_fixed`: `fixed` is array<u32, 16>, got an array of record4 with shape (16,); view it as u32",
    ),
    (
        "only_fixed",
        DType::Bool,
        &[16],
        "kernel `only_fixed`: `fixed` is array<u32, 16>, got an array of bool with shape (16,); convert it to u32",
    ),
    (
        "only_taps",
        DType::F32,
        &[17],
        "kernel `only_taps`: `taps` is array<vec4<f32>, 4> in constant memory, at most 64 bytes, got 68 bytes",
    ),
    (
        "only_bins",
        DType::I32,
        &[4],
        "kernel `only_bins`: `bins` is array<atomic<u32>>, got an array of i32 with shape (4,); convert it to u32",
    ),
    (
        "only_bins",
        DType::U32,
        &[(1 << 18) + 1],
        "kernel `only_bins`: `bins` has 1048580 bytes, the device binds at most 1048576 bytes of storage",
    ),
];

#[test]
fn arrays_that_do_not_fit() {
    for &(entry, dtype, shape, message) in MISFITS {
        assert_eq!(refusal(entry, &positional(&[ArgShape::Array(array(dtype, shape))])), message);
    }
}

#[test]
fn untyped_bytes_fit_every_type_in_whole_elements() {
    // The kernel, a number of bytes that fits, one that does not.
    let cases: [(&str, usize, usize); 7] = [
        ("only_points", 48, 40),
        ("only_frames", 96, 44),
        ("only_particles", 32, 8),
        ("only_pairs", 24, 20),
        ("only_list", 24, 12),
        ("only_fixed", 64, 60),
        ("only_bins", 8, 6),
    ];
    for (entry, fits, partial) in cases {
        let bytes = |n: usize| {
            check(
                &signature(entry),
                &[ArgShape::Array(ArrayShape { is_untyped: true, ..array(DType::U8, &[n]) }).into()],
                &LIMITS,
            )
        };
        assert!(bytes(fits).is_ok(), "{entry}: {:?}", bytes(fits));
        assert!(bytes(partial).is_err(), "{entry}");
    }
    let message =
        refusal("only_bins", &[ArgShape::Array(ArrayShape { is_untyped: true, ..array(DType::U8, &[6]) }).into()]);
    assert!(message.contains("`bins`") && message.contains('6'), "{message}");
}

#[test]
fn arrays_in_the_wrong_state() {
    let good = ArrayShape { label: Some("bins.npy"), ..array(DType::U32, &[4]) };
    let what = "`bins.npy`, an array of u32 with shape (4,)";
    let cases = [
        (
            ArrayShape { is_contiguous: false, ..good },
            format!(
                "kernel `only_bins`: `bins` needs a contiguous array, got {what}, which is not; copy it first, with `to_contiguous`"
            ),
        ),
        (
            ArrayShape { is_writable: false, ..good },
            format!("kernel `only_bins`: `bins` is written by the kernel, got {what}, which is read-only"),
        ),
    ];
    for (shape, message) in cases {
        assert_eq!(refusal("only_bins", &positional(&[ArgShape::Array(shape)])), message);
    }
    // A parameter that is only read takes a read-only array. Where it starts is the launch's to handle.
    for offset in [512, 64, 2] {
        let fixed = ArrayShape { is_writable: false, offset, ..array(DType::U32, &[16]) };
        check(&signature("only_fixed"), &positional(&[ArgShape::Array(fixed)]), &LIMITS).unwrap();
    }
}

fn scale_arguments<'a>(names: &[Option<&'a str>]) -> Vec<Argument<'a>> {
    let color: &[ScalarValue] = &[ScalarValue::F32(1.0), ScalarValue::F32(2.0), ScalarValue::F32(3.0)];
    let shapes = [
        ArgShape::Array(array(DType::F32, &[8])),
        ArgShape::Array(array(DType::F32, &[16])),
        ArgShape::Scalar(ScalarValue::F32(0.5)),
        ArgShape::Scalar(ScalarValue::U32(7)),
        ArgShape::Scalars(color.to_vec().leak()),
        ArgShape::Scalar(ScalarValue::I32(-1)),
    ];
    names.iter().zip(shapes).map(|(&name, shape)| Argument { name, shape }).collect()
}

#[test]
fn push_constants_lie_at_their_offsets() {
    let mut expected = [0u8; 32];
    expected[0..4].copy_from_slice(&0.5f32.to_ne_bytes());
    expected[4..8].copy_from_slice(&7u32.to_ne_bytes());
    for (i, value) in [1.0f32, 2.0, 3.0].into_iter().enumerate() {
        expected[16 + 4 * i..20 + 4 * i].copy_from_slice(&value.to_ne_bytes()); // The vector starts at its alignment.
    }
    expected[28..32].copy_from_slice(&(-1i32).to_ne_bytes());
    let signature = signature("scale");
    let packed = check(&signature, &scale_arguments(&[None; 6]), &LIMITS).unwrap();
    assert_eq!(packed.push_constants.as_slice(), expected);
    assert_eq!(packed.arrays.as_slice(), [0, 1]);

    // The arguments by name, in another order.
    let names = ["x", "out", "a", "n", "color", "shift"].map(Some);
    let mut arguments = scale_arguments(&names);
    arguments.reverse();
    let by_name = check(&signature, &arguments, &LIMITS).unwrap();
    assert_eq!(by_name.push_constants, packed.push_constants);
    assert_eq!(by_name.arrays.as_slice(), [5, 4]); // Where `x` and `out` now stand.

    // Two by position, the rest by name.
    let mixed = [None, None, Some("a"), Some("n"), Some("color"), Some("shift")];
    assert_eq!(check(&signature, &scale_arguments(&mixed), &LIMITS).unwrap(), packed);
}

#[test]
fn names_that_do_not_fit() {
    let all = "`x`, `out`, `a`, `n`, `color`, `shift`";
    let cases: [(&[Option<&str>], String); 8] = [
        (&[None; 5], format!("kernel `scale` takes 6 arguments ({all}), got 5")),
        (&[], format!("kernel `scale` takes 6 arguments ({all}), got 0")),
        (
            &[Some("x"), Some("outt")],
            format!("kernel `scale` has no argument `outt`; it takes {all} (did you mean `out`?)"),
        ),
        (&[None, Some("zebra")], format!("kernel `scale` has no argument `zebra`; it takes {all}")),
        (
            &[None, None, None, None, None, Some("TILE")],
            "kernel `scale`: `TILE` is a constant of the shader, not an argument; set it before the kernel is built"
                .into(),
        ),
        (&[None, Some("x")], "kernel `scale`: `x` is given twice".into()),
        (&[Some("x"), None], "kernel `scale`: argument 2 has no name, but follows a named one".into()),
        (
            &[Some("x"), Some("out"), Some("a"), Some("n")],
            format!("kernel `scale`: no value for `color`, which is vec3<f32>; it takes {all}"),
        ),
    ];
    for (names, message) in cases {
        assert_eq!(refusal("scale", &scale_arguments(names)), message);
    }
    let mut seven = scale_arguments(&[None; 6]);
    seven.push(ArgShape::Scalar(ScalarValue::U32(0)).into());
    assert_eq!(refusal("scale", &seven), format!("kernel `scale` takes 6 arguments ({all}), got 7"));
}

#[test]
fn numbers_that_do_not_fit() {
    let two: &[ScalarValue] = &[ScalarValue::F32(1.0), ScalarValue::F32(2.0)];
    let mixed: &[ScalarValue] = &[ScalarValue::F32(1.0), ScalarValue::F32(2.0), ScalarValue::U32(3)];
    let cases = [
        (0, ArgShape::Scalar(2.0f32.into()), "`x` is an array, array<f32>, got 2 (f32)"),
        (1, ArgShape::Scalars(two), "`out` is an array, array<vec4<f32>>, got 2 numbers"),
        (2, ArgShape::Array(array(DType::F32, &[1])), "`a` is a scalar, f32, got an array of f32 with shape (1,)"),
        (2, ArgShape::Scalar(2.0f64.into()), "`a` is f32, got 2 (f64)"), // Never narrowed.
        (2, ArgShape::Scalar(2i32.into()), "`a` is f32, got 2 (i32)"),
        (3, ArgShape::Scalar(2i32.into()), "`n` is u32, got 2 (i32)"), // Though it would fit.
        (3, ArgShape::Scalar(2u64.into()), "`n` is u32, got 2 (u64)"),
        (3, ArgShape::Scalar(true.into()), "`n` is u32, got true (bool)"),
        (4, ArgShape::Scalar(1.0f32.into()), "`color` is vec3<f32>, 3 numbers, got 1"),
        (4, ArgShape::Scalars(two), "`color` is vec3<f32>, 3 numbers, got 2"),
        (4, ArgShape::Scalars(mixed), "`color` is vec3<f32>, got 3 (u32)"),
        (5, ArgShape::Scalars(&[]), "`shift` is i32, 1 numbers, got 0"),
    ];
    for (index, shape, message) in cases {
        let mut arguments = scale_arguments(&[None; 6]);
        arguments[index].shape = shape;
        assert_eq!(refusal("scale", &arguments), format!("kernel `scale`: {message}"));
    }
}

#[test]
fn every_parameter_of_a_large_kernel_is_bound() {
    let signature = signature("all");
    let f32_8 = ArgShape::Array(array(DType::F32, &[8]));
    let arguments = positional(&[
        f32_8,                                           // x
        f32_8,                                           // out
        f32_8,                                           // points
        ArgShape::Array(array(DType::Record(16), &[3])), // particles
        ArgShape::Array(array(DType::F32, &[0])),        // pairs: empty
        ArgShape::Array(array(DType::U32, &[8])),        // list
        ArgShape::Array(array(DType::U32, &[16])),       // fixed
        ArgShape::Array(array(DType::F32, &[16])),       // taps
        ArgShape::Array(array(DType::U32, &[1])),        // bins
        ArgShape::Array(array(DType::F32, &[12])),       // frames
        ArgShape::Scalar(1.0f32.into()),
        ArgShape::Scalar(1u32.into()),
        ArgShape::Scalars(&[ScalarValue::F32(0.0), ScalarValue::F32(0.0), ScalarValue::F32(0.0)]),
        ArgShape::Scalar(1i32.into()),
    ]);
    let packed = check(&signature, &arguments, &LIMITS).unwrap();
    assert_eq!(packed.arrays.as_slice(), (0..10).collect::<Vec<_>>());
    assert_eq!(packed.empty, Some(4));
}

mod constant_memory;
mod push_block;
mod spirv;
