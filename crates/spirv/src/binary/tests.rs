//! Signatures of what glslang made, against what its sources say. What naga made, and GLSL that is compiled in a test, is
//! tested where it is made: in `translate/module/tests/` of `vkarray-shader`. Refusals are in `tests/hostile.rs`, what is
//! read and written in `tests/uses.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use spirv::Op;

use super::*;
use crate::binary::validator::Validator;
use crate::binary::words::{instructions, op};
use crate::{ElementType, ParamKind};

/// A shader of `tests/shaders`, as glslang compiled it.
pub(crate) fn compiled(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/shaders/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Assembles a module, as Khronos's tool reads it.
pub(crate) fn assemble(text: &str) -> Vec<u8> {
    let mut child = Command::new("spirv-as")
        .args(["--preserve-numeric-ids", "--target-env", "vulkan1.3", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("spirv-as, of Khronos's SPIRV-Tools, is installed");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{text}");
    output.stdout
}

/// Makes a kernel of an entry point, the first if `entry` is `None`.
fn chosen(bytes: &[u8], entry: Option<&str>, constants: &[(&str, f64)], options: EntryOptions) -> Result<Chosen> {
    let constants = constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let binary = Binary::parse("x.spv", bytes)?;
    let entry = entry.or_else(|| binary.entry_points().next()).expect("a compute entry point");
    binary.choose(("x.spv", entry), &constants, options, None::<&Check<'_, ()>>).map(|(chosen, _)| chosen)
}

fn translated(name: &str, constants: &[(&str, f64)]) -> Result<Chosen> {
    chosen(&compiled(name), None, constants, CHECKED)
}

const UNCHECKED: EntryOptions = EntryOptions { bounds: None, counts: [0; MAX_COUNTED], assume_addresses: false };

/// For a device that bounds nothing.
const CHECKED: EntryOptions = EntryOptions {
    bounds: Some(DeviceBounds { buffers: false, matrices: false, non_uniform: [false; 2] }),
    ..UNCHECKED
};

/// For a device that bounds buffers.
const ROBUST: EntryOptions = EntryOptions {
    bounds: Some(DeviceBounds { buffers: true, matrices: false, non_uniform: [false; 2] }),
    ..UNCHECKED
};

/// What Khronos's validator says against the SPIR-V. `cargo xtask setup --tests` installs it.
fn spirv_val(words: &[u32]) -> Option<String> {
    Validator::of_environment(false).check(words).err().map(|error| error.to_string())
}

/// How often an instruction stands in a module.
fn count(words: &[u32], wanted: Op) -> usize {
    instructions(words).filter(|instruction| op(instruction) == Some(wanted)).count()
}

/// Shader, constants, what is printed.
type Case<'a> = (&'a str, &'a [(&'a str, f64)], &'a str);

const GOLDEN: &[Case<'_>] = &[
    (
        "saxpy",
        &[],
        "
main: workgroup 64×1×1
  x  storage 0:0  read        array<f32>
  y  storage 0:1  read_write  array<f32>
  a  push +0                  f32",
    ),
    (
        "saxpy_vulkan10", // Storage buffers as `Uniform` and `BufferBlock`.
        &[],
        "
main: workgroup 64×1×1
  x  storage 0:0  read        array<f32>
  y  storage 0:1  read_write  array<f32>
  a  push +0                  f32",
    ),
    (
        "layouts",
        &[],
        "
main: workgroup 1×1×1
  Std140  uniform 0:0  read   Std140
  packed  storage 0:1  read   Std430
  tight   storage 0:2  read   Scalar
  result  storage 1:3  write  array<f32>",
    ),
    (
        "reverse",
        &[("LANES", 8.0), ("1", 3.0)],
        "
main: workgroup 8×1×1, shared 96 bytes
  data    storage 0:0  read_write  array<f32>
  LANES   constant @0              u32 = 8 (default 32), and the workgroup's x
  DEPTH   constant @1              u32 = 3 (default 2)
  FACTOR  constant @2              f32 = 1.5
  NEGATE  constant @3              bool = false
  SHIFT   constant @4              i32 = -1
  tile    shared                   96 bytes",
    ),
    (
        "reverse_vulkan13", // `LocalSizeId` in place of `WorkgroupSize`.
        &[("0", 4.0), ("NEGATE", 1.0)],
        "
main: workgroup 4×1×1, shared 32 bytes
  data    storage 0:0  read_write  array<f32>
  LANES   constant @0              u32 = 4 (default 32), and the workgroup's x
  DEPTH   constant @1              u32 = 2
  FACTOR  constant @2              f32 = 1.5
  NEGATE  constant @3              bool = true (default false)
  SHIFT   constant @4              i32 = -1
  tile    shared                   32 bytes",
    ),
    (
        "small_numbers",
        &[],
        "
main: workgroup 1×1×1, needs i8, i16, 8-bit storage, 16-bit storage
  bytes   storage 0:0  read   array<i8>
  shorts  storage 0:1  read   array<u16>
  halves  storage 0:2  read   array<f16>
  wide    storage 0:3  write  array<f32>",
    ),
    (
        "wide_numbers",
        &[("SCALE", -2.0)],
        "
main: workgroup 1×1×1, needs f64, i64
  doubles  storage 0:0  read_write  array<f64>
  longs    storage 0:1  read_write  array<i64>
  SCALE    constant @7              i64 = -2 (default 5000000000)",
    ),
    (
        "subgroup_sum",
        &[],
        "
main: workgroup 64×1×1, needs subgroups, subgroup arithmetic
  values  storage 0:0  read        array<u32>
  total   storage 0:1  read_write  u32",
    ),
    (
        "particles",
        &[],
        "
main: workgroup 32×1×1
  list  storage 2:1  read_write  List
  dt    push +16                 f32
  wind  push +32                 vec3<f32>",
    ),
];

#[test]
fn golden_signatures() {
    for (name, constants, expected) in GOLDEN {
        let translated = translated(name, constants).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(format!("\n{}", translated.signature), *expected, "{name}");
    }
}

#[test]
fn constants_become_specialisation_constants() {
    let given = [("LANES", 8.0), ("FACTOR", 0.25), ("3", 1.0), ("SHIFT", -7.0)];
    let found = translated("reverse", &given).unwrap().specialization;
    assert_eq!(found, [(0, 8_u32.into()), (2, 0.25_f32.into()), (3, true.into()), (4, (-7_i32).into())]);
    let cases = [
        (&[("LANES", 1.5)][..], "kernel `main`: constant `LANES` is u32 and cannot be 1.5: "),
        (&[("SHIFT", 3e9)], "kernel `main`: constant `SHIFT` is i32 and cannot be 3000000000: "),
        (&[("LANE", 1.0)], "kernel `main`: no constant `LANE`; there is `LANES`, `DEPTH`, `FACTOR`, `NEGATE`, `SHIFT`"),
        (&[("LANES", 1.0), ("0", 1.0)], "kernel `main`: constant `LANES` is set twice, by name and as `0`"),
        (&[("DEPTH", 0.0)], "x.spv: SPIR-V word 218: `tile`: the length of an array is no number above 0"),
        (&[("LANES", 0.0)], "x.spv: SPIR-V word 16: entry point `main`: its workgroup has no invocations on an axis"),
    ];
    for (given, message) in cases {
        let found = translated("reverse", given).unwrap_err().to_string();
        assert!(found.starts_with(message), "{found}\n{message}");
    }
}

/// Offsets of the numbers in a buffer, as a list a block.
fn offsets(ty: &ElementType) -> Vec<u32> {
    ty.leaves().iter().map(|leaf| leaf.0).collect()
}

#[test]
fn layouts_are_those_the_compiler_chose() {
    let signature = translated("layouts", &[]).unwrap().signature;
    let [std140, std430, scalar, _] = signature.params.as_slice() else { panic!("{signature}") };
    // By hand, from the rules of GLSL: arrays and columns of 16 bytes in std140, of their own size in std430 and scalar.
    let expected = [
        (0, 16, 32, 36, 48, 52, 64, 68, 72, 76),   // float[2], mat2, vec3, float
        (80, 84, 88, 92, 96, 100, 104, 108, 0, 0), // Inner[2]
    ];
    let [a, b] = expected;
    let std140_offsets = [a.0, a.1, a.2, a.3, a.4, a.5, a.6, a.7, a.8, a.9, b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7];
    assert_eq!((std140.kind, std140.fixed_bytes), (ParamKind::Uniform, 112));
    assert_eq!(offsets(&std140.ty), std140_offsets);
    // float[2], mat2, mat3x2 as two rows of three (16 bytes apart), Inner.
    assert_eq!(offsets(&std430.ty), [0, 4, 8, 12, 16, 20, 32, 36, 40, 48, 52, 56, 64, 68, 72, 76]);
    // vec3, float, mat3 with columns of 12 bytes, vec3[] of 12 bytes.
    assert_eq!(offsets(&scalar.ty), (0..16).map(|i| 4 * i).collect::<Vec<_>>());
    assert_eq!((scalar.fixed_bytes, scalar.stride), (52, Some(12)));
}

#[test]
fn either_byte_order_is_read() {
    let swapped: Vec<u8> = compiled("saxpy").chunks(4).flat_map(|word| [word[3], word[2], word[1], word[0]]).collect();
    let read = |bytes: &[u8]| chosen(bytes, None, &[], UNCHECKED).unwrap();
    assert_eq!(read(&swapped), read(&compiled("saxpy")));
}

#[test]
fn what_is_no_buffer_is_refused_by_name() {
    let message = "kernel `main` reaches memory by the address `far`, and nothing keeps that inside an array; bind the array as \
                   a storage buffer, or promise it with the unsafe `assume_addresses` of the kernel's builder (`vkarray run \
                   --unsafe-addresses`)";
    assert_eq!(translated("address", &[]).unwrap_err().to_string(), message);
    let picture = &translated("texture", &[]).unwrap().signature.params[0];
    assert_eq!((picture.name.as_str(), picture.ty.to_string().as_str()), ("picture", "texture_storage_2d<rgba8unorm>"));
}

mod binding_arrays;
mod bounds;
mod hostile;
mod kept;
mod matrices;
mod uses;
