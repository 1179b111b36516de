//! Every form a constant comes in, against where its numbers must go.

use super::*;
use crate::{Module, Options, Source};

const SHADER: &str = "
struct Wide { @size(16) v: f32 }
struct Light { position: vec3<f32>, color: vec3<f32>, kind: u32 }
struct Header { n: u32, by: vec2<u32>, k: u32 }
@group(0) @binding(0) var<uniform> floats: array<Wide, 4>;
@group(0) @binding(1) var<uniform> points: array<vec3<f32>, 4>;
@group(0) @binding(2) var<uniform> turn: mat3x3<f32>;
@group(0) @binding(3) var<uniform> lights: array<Light, 2>;
@group(0) @binding(4) var<uniform> header: Header;
@group(0) @binding(5) var<uniform> fours: array<vec4<u32>, 2>;
@group(0) @binding(6) var<storage, read> many: array<vec3<f32>>;
@group(0) @binding(7) var<storage, read_write> out: f32;
@compute @workgroup_size(1) fn all() {
    out = floats[0].v + points[0].x + turn[0].x + lights[0].color.x + f32(header.n + fours[0].x) + many[0].x;
}";

fn param(name: &str) -> Param {
    let module = Module::parse(&Source::wgsl(SHADER)).unwrap();
    let signature = module.translate(None, &Default::default(), &Options::default()).unwrap().signature;
    signature.params.into_iter().find(|param| param.name == name).unwrap()
}

fn array(dtype: DType, shape: &[usize]) -> ArrayShape<'_> {
    let nbytes = shape.iter().product::<usize>() as u64 * u64::from(dtype.itemsize());
    ArrayShape { is_writable: false, ..ArrayShape::new(dtype, shape, nbytes) }
}

fn as_words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}

/// Where each word of the device comes from, counted from one; zero is padding.
fn words(param: &Param, dtype: DType, shape: &[usize]) -> Option<Vec<u32>> {
    let array = array(dtype, shape);
    let packing = Packing::of(param, &array)?;
    let values: Vec<u32> = (1..=u32::try_from(array.nbytes / 4).unwrap()).collect();
    let laid = packing.pad(bytemuck::cast_slice(&values));
    assert_eq!(laid.len() as u64, packing.nbytes(array.nbytes));
    Some(as_words(&laid))
}

#[test]
fn packed_numbers_go_where_the_shader_looks_for_them() {
    let f32 = DType::F32;
    // Parameter, dtype, shape, words.
    let cases: &[(&str, DType, &[usize], &[u32])] = &[
        ("floats", f32, &[3], &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]),
        ("floats", f32, &[4], &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]), // Not one element of four words.
        ("floats", f32, &[1, 4], &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]),
        ("points", f32, &[0, 3], &[]),
        ("points", f32, &[2, 3], &[1, 2, 3, 0, 4, 5, 6, 0]),
        ("points", f32, &[6], &[1, 2, 3, 0, 4, 5, 6, 0]),
        ("points", f32, &[4], &[1, 2, 3, 0, 4, 0, 0, 0]), // The last element has zeros behind its number.
        ("many", f32, &[2, 3], &[1, 2, 3, 0, 4, 5, 6, 0]), // Storage is laid out too.
        ("turn", f32, &[3, 3], &[1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0]),
        ("turn", f32, &[9], &[1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0]),
        // A struct of the host has no padding. The shader's `kind` lies behind `color`, in the room of its fourth float.
        ("lights", DType::Record(28), &[2], &[1, 2, 3, 0, 4, 5, 6, 7, 8, 9, 10, 0, 11, 12, 13, 14]),
        ("header", DType::Record(16), &[1], &[1, 0, 2, 3, 4, 0]),
        ("header", DType::U32, &[4], &[1, 0, 2, 3, 4, 0]), // All of it is u32.
    ];
    for &(name, dtype, shape, expected) in cases {
        assert_eq!(words(&param(name), dtype, shape).as_deref(), Some(expected), "{name} from {dtype} {shape:?}");
    }
}

#[test]
fn what_lies_right_or_does_not_fit_is_left_alone() {
    let cases: &[(&str, DType, &[usize])] = &[
        ("points", DType::F32, &[2, 4]), // The padding is there.
        ("turn", DType::F32, &[3, 4]),
        ("turn", DType::F32, &[12]),
        ("lights", DType::Record(32), &[2]),
        ("lights", DType::U8, &[64]),        // Raw bytes.
        ("lights", DType::Record(24), &[2]), // No struct of the shader's.
        ("header", DType::Record(24), &[1]),
        ("fours", DType::U32, &[5]), // No padding.
        ("points", DType::F64, &[2, 3]),
        ("fours", DType::U8, &[8]), // Bytes are not widened.
    ];
    for &(name, dtype, shape) in cases {
        assert_eq!(Packing::of(&param(name), &array(dtype, shape)), None, "{name} from {dtype} {shape:?}");
    }
}

#[test]
fn truth_values_become_numbers() {
    let (param, shape) = (param("fours"), [5]);
    let packing = Packing::of(&param, &array(DType::Bool, &shape)).unwrap();
    assert_eq!((packing.nbytes(5), packing.rest(5), packing.packed_bytes()), (32, 1, 4));
    let laid = packing.pad(&[0, 1, 200, 0, 1]);
    assert_eq!(as_words(&laid), [0, 1, 1, 0, 1, 0, 0, 0]);
}
