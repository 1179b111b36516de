//! Push constants that come as one struct: where its bytes go, and what is refused.

use std::collections::BTreeMap;

use super::{LIMITS, array, compiled, positional, refusal, signature};
use crate::call::check::check;
use crate::call::shape::{ArgShape, Argument};
use crate::{DType, Module, Options, Signature, Source};

/// The bytes 1 to `n`.
fn bytes(n: u8) -> Vec<u8> {
    (1..=n).collect()
}

fn of_wgsl(declarations: &str, uses: &str) -> Signature {
    let text = format!(
        "{declarations} @group(0) @binding(0) var<storage, read_write> out: f32;
         @compute @workgroup_size(1) fn main() {{ out = {uses}; }}"
    );
    let translated = Module::parse(&Source::wgsl(text)).unwrap().translate(None, &BTreeMap::new(), &Options::default());
    let mut signature = translated.unwrap().signature;
    signature.params.clear();
    signature
}

fn of_spirv(name: &str) -> Signature {
    let module = Module::parse(&Source::spirv(compiled(name))).unwrap();
    let mut signature = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap().signature;
    signature.params.clear();
    signature
}

/// What the block holds of a struct of `n` bytes: ranges of it as (place, first byte of the struct, length).
fn expected(block: usize, pieces: &[(usize, usize, usize)], given: &[u8]) -> Vec<u8> {
    let mut expected = vec![0; block];
    for &(at, from, len) in pieces {
        expected[at..at + len].copy_from_slice(&given[from..from + len]);
    }
    expected
}

/// Declarations, a use of them, bytes of the block, bytes without padding, where those lie: by hand.
type Case<'a> = (&'a str, &'a str, usize, u8, &'a [(usize, usize, usize)]);

const CASES: &[Case<'_>] = &[
    ("var<immediate> a: f32;", "a", 4, 4, &[(0, 0, 4)]),
    ("var<immediate> v: vec3<f32>;", "v.x", 12, 12, &[(0, 0, 12)]),
    ("struct P { n: u32, scale: f32, shift: vec2<f32> } var<immediate> p: P;", "p.scale", 16, 16, &[(0, 0, 16)]),
    // A vector at 8, its struct of 16 bytes; the number behind it at 16, and room up to 24.
    ("struct P { n: u32, v: vec2<f32>, k: u32 } var<immediate> p: P;", "p.v.x", 24, 16, &[(0, 0, 4), (8, 4, 12)]),
    // Room of a fourth float behind the last vector.
    ("struct P { n: u32, v: vec3<f32> } var<immediate> p: P;", "p.v.x", 32, 16, &[(0, 0, 4), (16, 4, 12)]),
    // A number in the room behind a vector of three.
    ("struct P { v: vec3<f32>, n: u32, w: vec3<f32>, k: u32 } var<immediate> p: P;", "p.v.x", 32, 32, &[(0, 0, 32)]),
    // Columns of three 16 bytes apart, then elements of 8.
    (
        "struct P { m: mat2x3<f32>, n: array<vec2<u32>, 2> } var<immediate> p: P;",
        "p.m[0].x",
        48,
        40,
        &[(0, 0, 12), (16, 12, 12), (32, 24, 16)],
    ),
    // A struct in an array in a struct, each element 32 bytes.
    (
        "struct Q { n: u32, v: vec3<f32> } struct P { q: array<Q, 2>, k: u32 } var<immediate> p: P;",
        "p.q[1].v.x",
        80,
        36,
        &[(0, 0, 4), (16, 4, 12), (32, 16, 4), (48, 20, 12), (64, 32, 4)],
    ),
    // Eight bytes at a multiple of eight.
    ("struct P { n: u32, w: u64, k: u32 } var<immediate> p: P;", "f32(p.w)", 24, 16, &[(0, 0, 4), (8, 4, 12)]),
];

#[test]
fn a_struct_is_taken_as_it_lies_or_without_padding() {
    for &(declarations, uses, block, packed, pieces) in CASES {
        let signature = of_wgsl(declarations, uses);
        let push = signature.push_constants.as_ref().unwrap();
        assert_eq!(push.bytes as usize, block, "{declarations}");
        let whole = bytes(u8::try_from(block).unwrap());
        let found = check(&signature, &positional(&[ArgShape::Block(&whole)]), &LIMITS).unwrap();
        assert_eq!(found.push_constants.as_slice(), whole, "{declarations}");
        let tight = bytes(packed);
        let found = check(&signature, &positional(&[ArgShape::Block(&tight)]), &LIMITS).unwrap();
        assert_eq!(found.push_constants.as_slice(), expected(block, pieces, &tight), "{declarations}");
        for n in (0..=u8::try_from(block).unwrap() + 4).filter(|&n| n != packed && usize::from(n) != block) {
            let error = check(&signature, &positional(&[ArgShape::Block(&bytes(n))]), &LIMITS).unwrap_err();
            let (name, ty) = (&push.name, &push.ty);
            let message = format!(
                "kernel `main`: `{name}` is {ty}, {block} bytes of push constants, {packed} without padding, got a \
                 struct of {n} bytes"
            );
            assert_eq!(error.to_string(), message);
        }
    }
}

#[test]
fn a_block_that_begins_late_keeps_its_place() {
    // glslang's: a float at byte 16, a vector of three at 32; the block ends with it.
    let signature = of_spirv("particles");
    let push = signature.push_constants.as_ref().unwrap();
    assert_eq!((push.name.as_str(), push.ty.as_str(), push.bytes), ("step_", "Push", 44));
    let tight = bytes(16);
    let found = check(&signature, &positional(&[ArgShape::Block(&tight)]), &LIMITS).unwrap();
    assert_eq!(found.push_constants.as_slice(), expected(44, &[(16, 0, 4), (32, 4, 12)], &tight));
    let whole = bytes(44);
    let found = check(&signature, &positional(&[ArgShape::Block(&whole)]), &LIMITS).unwrap();
    assert_eq!(found.push_constants.as_slice(), whole);
}

#[test]
fn it_is_the_same_by_position_by_name_and_one_by_one() {
    let signature = signature("scale");
    let one_by_one = check(&signature, &super::scale_arguments(&[None; 6]), &LIMITS).unwrap();
    let (x, out) = (ArgShape::Array(array(DType::F32, &[8])), ArgShape::Array(array(DType::F32, &[16])));
    // Without padding; then as the shader has it.
    let words = [0.5_f32.to_bits(), 7, 1.0_f32.to_bits(), 2.0_f32.to_bits(), 3.0_f32.to_bits(), u32::MAX];
    let tight: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    for bytes in [tight.as_slice(), one_by_one.push_constants.as_slice()] {
        let block = ArgShape::Block(bytes);
        assert_eq!(check(&signature, &positional(&[x, out, block]), &LIMITS).unwrap(), one_by_one);
        let named = |name, shape| Argument { name: Some(name), shape };
        let by_name = [named("args", block), named("out", out), named("x", x)];
        let found = check(&signature, &by_name, &LIMITS).unwrap();
        assert_eq!((found.push_constants, found.arrays.as_slice()), (one_by_one.push_constants.clone(), &[2, 1][..]));
        let mixed = [x.into(), named("args", block), named("out", out)];
        assert_eq!(check(&signature, &mixed, &LIMITS).unwrap().push_constants, one_by_one.push_constants);
    }
}

#[test]
fn a_struct_is_the_only_argument_for_push_constants() {
    let (x, out) = (ArgShape::Array(array(DType::F32, &[8])), ArgShape::Array(array(DType::F32, &[16])));
    let (block, number) = (ArgShape::Block(&[0; 32]), ArgShape::Scalar(0.5_f32.into()));
    let three = ArgShape::Scalars(&[]);
    let named = |name, shape| Argument { name: Some(name), shape };
    let both = |other: &str| {
        format!("push constants are given as `args`, the whole block, or one by one, not both; got {other} as well")
    };
    let takes = |given| format!("takes 3 arguments (`x`, `out`, `args`), got {given}");
    // Arguments, what follows the kernel's name.
    let cases: &[(&[Argument<'_>], String)] = &[
        (&[x.into(), out.into(), block.into(), number.into()], format!(": {}", both("0.5 (f32)"))),
        (&[x.into(), out.into(), number.into(), block.into()], format!(": {}", both("0.5 (f32)"))),
        (&[x.into(), out.into(), block.into(), three.into()], format!(": {}", both("0 numbers"))),
        (&[x.into(), out.into(), block.into(), named("a", number)], format!(": {}", both("`a`"))),
        (&[x.into(), named("color", three), named("args", block)], format!(": {}", both("`color`"))),
        (&[x.into(), out.into(), block.into(), block.into()], format!(" {}", takes(4))),
        (&[x.into(), block.into()], format!(" {}", takes(2))),
        (&[x.into(), named("args", block), named("args", block)], ": `args` is given twice".into()),
        (
            &[x.into(), block.into(), block.into()],
            ": `out` is an array, array<vec4<f32>>, got a struct of 32 bytes".into(),
        ),
        (&[named("x", block)], ": no value for `out`, which is array<vec4<f32>>; it takes `x`, `out`, `args`".into()),
        (&[named("n", block)], ": `n` is a scalar, u32, got a struct of 32 bytes".into()),
        (
            &[x.into(), out.into(), named("arg", block)],
            " has no argument `arg`; it takes `x`, `out`, `args` (did you mean `args`?)".into(),
        ),
        (
            &[x.into(), named("args", out), named("out", block)],
            ": `out` is an array, array<vec4<f32>>, got a struct of 32 bytes".into(),
        ),
        // The block's name is no member's.
        (
            &[x.into(), out.into(), named("args", number)],
            " has no argument `args`; it takes `x`, `out`, `a`, `n`, `color`, `shift`".into(),
        ),
    ];
    for (arguments, message) in cases {
        assert_eq!(refusal("scale", arguments), format!("kernel `scale`{message}"));
    }
    // By position it may stand anywhere among the arrays.
    for arguments in [[x, out, block], [x, block, out], [block, x, out]] {
        let packed = check(&signature("scale"), &positional(&arguments), &LIMITS).unwrap();
        assert_eq!(packed.arrays.len(), 2);
    }
    let message = "kernel `only_x` takes 2 arguments (`x`, `out`), got 3";
    assert_eq!(refusal("only_x", &positional(&[x, out, block])), message);
    let arguments = [x.into(), named("out", out), named("args", block)];
    assert_eq!(refusal("only_x", &arguments), "kernel `only_x` has no argument `args`; it takes `x`, `out`");
}
