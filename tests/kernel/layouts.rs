//! Structs, nested arrays and matrices of WGSL: the device reads them at the offsets of the language's layout rules.

use vkarray::Groups;

use super::kernel;
use crate::fixture::{Fixture, contents};

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
    @group(0) @binding(2) var<storage, read_write> of_all: array<f32>;
    @group(0) @binding(3) var<storage, read_write> of_constant: array<f32>;
    var<private> k: u32;
    fn put(value: f32) { of_all[k] = value; k++; }
    fn put2(value: vec2<f32>) { put(value.x); put(value.y); }
    fn put3(value: vec3<f32>) { put2(value.xy); put(value.z); }
    fn put_constant(value: f32) { of_constant[k] = value; k++; }
    @compute @workgroup_size(1) fn unpack() {
        for (var i = 0; i < 3; i++) { put(all.a[i]); }
        for (var i = 0; i < 2; i++) { put3(all.b[i]); }
        for (var i = 0; i < 3; i++) { put2(all.c[i]); }
        for (var i = 0; i < 4; i++) { put3(all.d[i]); }
        for (var i = 0; i < 4; i++) { put2(all.e[i / 2][i % 2]); }
        put(all.f); put2(all.g);
        for (var i = 0; i < 2; i++) {
            put(all.h[i].n);
            for (var j = 0; j < 2; j++) {
                put3(all.h[i].leaves[j].v); put(all.h[i].leaves[j].f); put2(all.h[i].leaves[j].w);
            }
        }
        put(all.i);
        for (var i = 0u; i < arrayLength(&all.tail); i++) { put3(all.tail[i]); }
        k = 0u;
        for (var i = 0; i < 3; i++) { put_constant(constant.a[i].v); }
        for (var i = 0; i < 6; i++) { put_constant(constant.c[i / 2][i % 2]); }
        for (var i = 0; i < 12; i++) { put_constant(constant.d[i / 3][i % 3]); }
        for (var i = 0; i < 3; i++) { put_constant(constant.e[i]); }
        put_constant(constant.f);
    }";

/// Offsets of rows of floats: `len` floats in each row, and `apart` bytes from one row to the next.
fn rows(at: usize, (n_rows, apart): (usize, usize), len: usize) -> Vec<usize> {
    (0..n_rows).flat_map(|row| (0..len).map(move |i| at + row * apart + 4 * i)).collect()
}

/// A buffer of `bytes` bytes with 1, 2, 3, … at the offsets, and other numbers elsewhere.
fn numbered(bytes: usize, offsets: &[usize]) -> Vec<u8> {
    let mut words = vec![-7.0_f32; bytes / 4];
    offsets.iter().enumerate().for_each(|(k, &at)| words[at / 4] = (k + 1) as f32);
    bytemuck::cast_slice(&words).to_vec()
}

#[test]
fn structs_of_wgsl_are_read_at_the_offsets_of_its_layout_rules() {
    let fixture = Fixture::open();
    // The offsets are computed by hand, from the table of alignments in the specification of WGSL.
    let leaf = |at: usize| [at, at + 4, at + 8, at + 12, at + 16, at + 20];
    let branch = |at: usize| [&[at][..], &leaf(at + 16), &leaf(at + 48)].concat();
    let all = [
        rows(0, (3, 4), 1),
        rows(16, (2, 16), 3),
        rows(48, (3, 8), 2),
        rows(80, (4, 16), 3),
        rows(144, (4, 8), 2),
        vec![176, 184, 188],
        branch(192),
        branch(272),
        vec![352],
        rows(368, (5, 16), 3),
    ]
    .concat();
    let constant = [rows(0, (3, 16), 1), rows(48, (3, 8), 2), rows(80, (4, 16), 3), vec![144, 148, 152, 176]].concat();
    let unpack = kernel(&fixture, WGSL);
    let upload = |bytes: Vec<u8>| fixture.slice_to_device(&bytes).unwrap();
    let args = (
        &upload(numbered(368 + 5 * 16, &all)),
        &upload(numbered(192, &constant)),
        &fixture.zeros::<f32>([all.len()]).unwrap(),
        &fixture.zeros::<f32>([constant.len()]).unwrap(),
    );
    unpack.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), args).unwrap();
    let counted = |n: usize| (1..=n).map(|k| k as f32).collect::<Vec<_>>();
    assert_eq!(contents(args.2), counted(all.len()));
    assert_eq!(contents(args.3), counted(constant.len()));
}
