//! Where fields lie, by the rules of each language, against offsets and strides worked out by hand.
//!
//! Equal members in std140, std430 and scalar layout (`tests/shaders/block_layouts.comp`, through glslang), and in
//! WGSL. An array, a matrix and a struct each have an alignment of their own there; those are what the tables are about.

use std::collections::BTreeMap;

use super::binary::compiled;
use crate::{ElementType, Field, Module, Options, ParamKind, Signature, Source};

/// Name, offset, type with its strides.
type Row<'a> = (&'a str, u32, &'a str);

/// A field's type with the distances in it, outermost first: `array<mat2x2<f32>, 2>/16/8`, rows marked with an `r`.
fn spelled(ty: &ElementType) -> String {
    let mut text = ty.to_string();
    let mut inside = ty;
    loop {
        match inside {
            ElementType::Array { element, stride, .. } => {
                text += &format!("/{stride}");
                inside = element;
            }
            ElementType::Matrix { stride, is_row_major, .. } => {
                return format!("{text}/{stride}{}", if *is_row_major { "r" } else { "" });
            }
            _ => return text,
        }
    }
}

fn check(fields: &[Field], expected: &[Row<'_>], what: &str) {
    let found: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.offset, spelled(&field.ty))).collect();
    let found: Vec<Row<'_>> = found.iter().map(|(name, offset, ty)| (*name, *offset, ty.as_str())).collect();
    assert_eq!(found, expected, "{what}");
}

fn fields(ty: &ElementType) -> &[Field] {
    match ty {
        ElementType::Struct { fields, .. } => fields,
        ElementType::Array { element, .. } => fields(element),
        _ => panic!("{ty} is no struct"),
    }
}

fn of(source: &Source) -> Signature {
    Module::parse(source).unwrap().translate(None, &BTreeMap::new(), &Options::default()).unwrap().signature
}

/// The fields of the struct in the field of that name.
fn inside<'a>(ty: &'a ElementType, name: &str) -> &'a [Field] {
    fields(&fields(ty).iter().find(|field| field.name == name).unwrap().ty)
}

/// Block, its members, those of `Branch`, those of `Leaf`, all bytes up to the last number.
type Block<'a> = (&'a str, &'a [Row<'a>], &'a [Row<'a>], &'a [Row<'a>], u64);

const GLSL: &[Block<'_>] = &[
    // Elements of arrays, columns and structs are multiples of 16 apart.
    (
        "std140_",
        &[
            ("a", 0, "array<f32, 3>/16"),
            ("b", 48, "array<vec3<f32>, 2>/16"),
            ("c", 80, "mat3x2<f32>/16"),
            ("d", 128, "mat4x3<f32>/16"),
            ("e", 192, "array<mat2x2<f32>, 2>/32/16"),
            ("f", 256, "f32"),
            ("g", 264, "vec2<f32>"),
            ("h", 272, "array<Branch, 2>/80"),
            ("i", 432, "mat3x2<f32>/16r"),
            ("j", 464, "f32"),
        ],
        &[("n", 0, "f32"), ("leaves", 16, "array<Leaf, 2>/32")],
        &[("v", 0, "vec3<f32>"), ("f", 12, "f32"), ("w", 16, "vec2<f32>")],
        468,
    ),
    // As their own alignment says: 16 for three floats, 8 for two, 4 for one.
    (
        "std430_",
        &[
            ("a", 0, "array<f32, 3>/4"),
            ("b", 16, "array<vec3<f32>, 2>/16"),
            ("c", 48, "mat3x2<f32>/8"),
            ("d", 80, "mat4x3<f32>/16"),
            ("e", 144, "array<mat2x2<f32>, 2>/16/8"),
            ("f", 176, "f32"),
            ("g", 184, "vec2<f32>"),
            ("h", 192, "array<Branch, 2>/80"),
            ("i", 352, "mat3x2<f32>/16r"),
            ("j", 384, "f32"),
        ],
        &[("n", 0, "f32"), ("leaves", 16, "array<Leaf, 2>/32")],
        &[("v", 0, "vec3<f32>"), ("f", 12, "f32"), ("w", 16, "vec2<f32>")],
        388,
    ),
    // No padding between floats at all.
    (
        "scalar_",
        &[
            ("a", 0, "array<f32, 3>/4"),
            ("b", 12, "array<vec3<f32>, 2>/12"),
            ("c", 36, "mat3x2<f32>/8"),
            ("d", 60, "mat4x3<f32>/12"),
            ("e", 108, "array<mat2x2<f32>, 2>/16/8"),
            ("f", 140, "f32"),
            ("g", 144, "vec2<f32>"),
            ("h", 152, "array<Branch, 2>/52"),
            ("i", 256, "mat3x2<f32>/12r"),
            ("j", 280, "f32"),
        ],
        &[("n", 0, "f32"), ("leaves", 4, "array<Leaf, 2>/24")],
        &[("v", 0, "vec3<f32>"), ("f", 12, "f32"), ("w", 16, "vec2<f32>")],
        284,
    ),
];

#[test]
fn blocks_of_glsl_lie_by_their_layout() {
    let signature = of(&Source::spirv(compiled("block_layouts")));
    assert_eq!(signature.params[0].kind, ParamKind::Uniform);
    for (param, &(name, all, branch, leaf, bytes)) in signature.params.iter().zip(GLSL) {
        assert_eq!((param.name.as_str(), param.fixed_bytes), (name, bytes));
        check(fields(&param.ty), all, name);
        check(inside(&param.ty, "h"), branch, name);
        let branch = fields(&param.ty).iter().find(|field| field.name == "h").unwrap();
        check(inside(&branch.ty, "leaves"), leaf, name);
        // Three and six numbers, six, twelve, eight, one, two, two times one and two times six, six, one.
        assert_eq!(param.ty.used_bytes(), 4 * (3 + 6 + 6 + 12 + 8 + 1 + 2 + 2 * (1 + 2 * 6) + 6 + 1), "{name}");
    }
}

#[test]
fn push_constants_may_have_the_scalar_layout() {
    let signature = of(&Source::spirv(compiled("block_layouts")));
    let push = signature.push_constants.unwrap();
    let members: Vec<_> = push.members.iter().map(|member| (member.offset, spelled(&member.ty))).collect();
    let expected = [(0, "f32"), (4, "vec3<f32>"), (16, "mat3x2<f32>/8"), (40, "Leaf")];
    assert_eq!(members, expected.map(|(offset, ty)| (offset, ty.to_owned())));
    assert_eq!((push.name.as_str(), push.ty.as_str(), push.bytes), ("push_", "Push", 64));
}

const WGSL: &str = "
struct Leaf { v: vec3<f32>, f: f32, w: vec2<f32> }
struct Branch { n: f32, leaves: array<Leaf, 2> }
struct All {
    a: array<f32, 3>, b: array<vec3<f32>, 2>, c: mat3x2<f32>, d: mat4x3<f32>, e: array<mat2x2<f32>, 2>,
    f: f32, g: vec2<f32>, h: array<Branch, 2>, i: f32, tail: array<vec3<f32>>,
}
struct Wide { @size(16) v: f32 }
struct Constant { a: array<Wide, 3>, @align(16) c: mat3x2<f32>, d: mat4x3<f32>, @size(32) e: vec3<f32>, f: f32 }
@group(0) @binding(0) var<storage, read> all: All;
@group(0) @binding(1) var<uniform> constant: Constant;
@group(0) @binding(2) var<storage, read> few: array<array<vec2<f32>, 3>, 4>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1) fn main() { out[0] = all.i + constant.f + few[0][0].x; }";

#[test]
fn structs_of_wgsl_lie_by_its_alignments() {
    let signature = of(&Source::wgsl(WGSL));
    let [all, constant, few, _] = signature.params.as_slice() else { panic!("{signature}") };
    let rows = [
        ("a", 0, "array<f32, 3>/4"),
        ("b", 16, "array<vec3<f32>, 2>/16"),
        ("c", 48, "mat3x2<f32>/8"),
        ("d", 80, "mat4x3<f32>/16"),
        ("e", 144, "array<mat2x2<f32>, 2>/16/8"),
        ("f", 176, "f32"),
        ("g", 184, "vec2<f32>"),
        ("h", 192, "array<Branch, 2>/80"),
        ("i", 352, "f32"),
        ("tail", 368, "array<vec3<f32>>/16"),
    ];
    check(fields(&all.ty), &rows, "all");
    check(inside(&all.ty, "h"), &[("n", 0, "f32"), ("leaves", 16, "array<Leaf, 2>/32")], "h");
    assert_eq!((all.fixed_bytes, all.stride, all.array_len), (368, Some(16), None));
    // In constant memory a matrix lies as elsewhere; attributes make room.
    let rows = [
        ("a", 0, "array<Wide, 3>/16"),
        ("c", 48, "mat3x2<f32>/8"),
        ("d", 80, "mat4x3<f32>/16"),
        ("e", 144, "vec3<f32>"),
        ("f", 176, "f32"),
    ];
    check(fields(&constant.ty), &rows, "constant");
    assert_eq!((constant.fixed_bytes, constant.kind), (192, ParamKind::Uniform));
    assert_eq!(spelled(&few.ty), "array<array<vec2<f32>, 3>, 4>/24/8");
    assert_eq!((few.fixed_bytes, few.stride, few.array_len), (96, Some(24), Some(4)));
}

const FROM_TEXT: &str = "#version 450
layout(local_size_x = 1) in;
struct Leaf { vec3 v; float f; vec2 w; };
struct Branch { float n; Leaf leaves[2]; };
layout(std140, set = 0, binding = 0) uniform Std140 { float a[3]; vec3 b[2]; mat4x3 d; float f; vec2 g; Branch h[2]; float j; } std140_;
layout(std430, set = 0, binding = 1) readonly buffer Std430 { float a[3]; vec3 b[2]; mat4x3 d; float f; vec2 g; Branch h[2]; float j; } std430_;
layout(std430, set = 0, binding = 2) buffer Out { float result[]; };
void main() { result[0] = std140_.j + std430_.j; }";

#[test]
fn blocks_of_glsl_that_is_compiled_here_lie_by_their_layout() {
    let signature = of(&Source::glsl(FROM_TEXT));
    let [std140, std430, _] = signature.params.as_slice() else { panic!("{signature}") };
    let rows = |stride, [b, d, f, g, h, j]: [u32; 6]| {
        let a: &str = if stride == 16 { "array<f32, 3>/16" } else { "array<f32, 3>/4" };
        let (b, d) = (("b", b, "array<vec3<f32>, 2>/16"), ("d", d, "mat4x3<f32>/16"));
        let (f, g) = (("f", f, "f32"), ("g", g, "vec2<f32>"));
        [("a", 0, a), b, d, f, g, ("h", h, "array<Branch, 2>/80"), ("j", j, "f32")]
    };
    for (param, rows) in
        [(std140, rows(16, [48, 80, 144, 152, 160, 320])), (std430, rows(4, [16, 48, 112, 120, 128, 288]))]
    {
        check(fields(&param.ty), &rows, &param.name);
        check(inside(&param.ty, "h"), &[("n", 0, "f32"), ("leaves", 16, "array<Leaf, 2>/32")], &param.name);
    }
}
