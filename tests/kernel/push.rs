//! Push constants of every type, with the padding that the shader's layout asks for.

use vkarray::{AsArg, Context, Groups};

use super::kernel;
use crate::fixture::{Fixture, contents, skipped};

#[test]
fn every_32_bit_type_arrives_in_its_place() {
    let fixture = Fixture::open();
    // Offsets 0, 16, 28, 32, 40, 44, 48, 64, 76: with gaps before the vectors.
    let wgsl = "
        struct Params { a: f32, b: vec3<f32>, c: u32, d: vec2<i32>, e: i32, f: u32, g: vec4<u32>, h: vec3<i32>, i: f32 }
        var<immediate> p: Params;
        @group(0) @binding(0) var<storage, read_write> out: array<u32, 18>;
        @compute @workgroup_size(1) fn unpack() {
            out[0] = bitcast<u32>(p.a);
            out[1] = bitcast<u32>(p.b.x); out[2] = bitcast<u32>(p.b.y); out[3] = bitcast<u32>(p.b.z);
            out[4] = p.c;
            out[5] = u32(p.d.x); out[6] = u32(p.d.y);
            out[7] = u32(p.e);
            out[8] = p.f;
            out[9] = p.g.x; out[10] = p.g.y; out[11] = p.g.z; out[12] = p.g.w;
            out[13] = u32(p.h.x); out[14] = u32(p.h.y); out[15] = u32(p.h.z);
            out[16] = bitcast<u32>(p.i);
            out[17] = 99u;
        }";
    let unpack = kernel(&fixture, wgsl);
    let push = unpack.signature().push_constants.as_ref().unwrap();
    let offsets: Vec<_> = push.members.iter().map(|member| (member.name.as_str(), member.offset)).collect();
    let expected = [("a", 0), ("b", 16), ("c", 28), ("d", 32), ("e", 40), ("f", 44), ("g", 48), ("h", 64), ("i", 76)];
    assert_eq!(offsets, expected);
    let out = fixture.zeros::<u32>([18]).unwrap();
    let args = (&out, 1.5_f32, [2.5_f32, 3.5, 4.5], 5_u32, [-6_i32, 7], -8_i32, 9_u32, [10_u32, 11, 12, 13]);
    let (out_arg, a, b, c, d, e, f, g) = args;
    let (h, i) = ([-14_i32, 15, -16], -17.5_f32);
    unpack.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (out_arg, a, b, c, d, e, f, g, h, i)).unwrap();
    let mut words = vec![a.to_bits(), b[0].to_bits(), b[1].to_bits(), b[2].to_bits(), c];
    words.extend([d[0].cast_unsigned(), d[1].cast_unsigned(), e.cast_unsigned(), f]);
    words.extend(g);
    words.extend(h.map(i32::cast_unsigned));
    words.extend([i.to_bits(), 99]);
    assert_eq!(contents(&out), words);
}

#[test]
fn matrices_and_arrays_arrive_column_by_column() {
    let fixture = Fixture::open();
    let wgsl = "
        struct Params { m: mat2x3<f32>, n: array<vec2<u32>, 2> }
        var<immediate> p: Params;
        @group(0) @binding(0) var<storage, read_write> out: array<f32, 10>;
        @compute @workgroup_size(1) fn unpack() {
            for (var column = 0u; column < 2u; column++) {
                for (var row = 0u; row < 3u; row++) { out[column * 3u + row] = p.m[column][row]; }
                out[6u + column * 2u] = f32(p.n[column].x);
                out[7u + column * 2u] = f32(p.n[column].y);
            }
        }";
    let out = fixture.zeros::<f32>([10]).unwrap();
    let args = (&out, [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [7_u32, 8, 9, 10]);
    kernel(&fixture, wgsl).dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), args).unwrap();
    assert_eq!(contents(&out), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
}

#[test]
fn each_call_keeps_its_own_numbers() {
    let fixture = Fixture::open();
    let wgsl = "
        struct Params { at: u32, value: u32 }
        var<immediate> p: Params;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn put() { out[p.at] = p.value; }";
    let (put, out) = (kernel(&fixture, wgsl), fixture.zeros::<u32>([300]).unwrap());
    for i in 0..300_u32 {
        put.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&out, i, i * i)).unwrap();
    }
    assert_eq!(contents(&out), (0..300).map(|i| i * i).collect::<Vec<u32>>());
}

#[test]
fn numbers_of_64_bits_arrive_where_the_device_has_them() {
    let fixture = Fixture::open();
    let features = fixture.info().features;
    if features.shader_int64 {
        let out = unpack_wide(&fixture, "i64", -0x0123_4567_89ab_cdef_i64);
        assert_eq!(out, [7, 0x89ab_cdef_u32.wrapping_neg(), !0x0123_4567, 11]);
        let out = unpack_wide(&fixture, "u64", 0xfedc_ba98_7654_3210_u64);
        assert_eq!(out, [7, 0x7654_3210, 0xfedc_ba98, 11]);
    } else {
        skipped("numbers_of_64_bits", "the device has no 64-bit integers; `capabilities` tests the refusal");
    }
}

/// Sends a 64-bit integer between two of 32 bits, and returns all of them in words.
fn unpack_wide(ctx: &Context, ty: &str, value: impl AsArg) -> Vec<u32> {
    let wgsl = format!(
        "struct Params {{ before: u32, wide: {ty}, after: u32 }}
        var<immediate> p: Params;
        @group(0) @binding(0) var<storage, read_write> out: array<u32, 4>;
        @compute @workgroup_size(1) fn unpack() {{
            out[0] = p.before;
            out[1] = u32(p.wide & {ty}(0xffffffffu));
            out[2] = u32((p.wide >> 32u) & {ty}(0xffffffffu));
            out[3] = p.after;
        }}"
    );
    let out = ctx.zeros::<u32>([4]).unwrap();
    let args = (&out, 7_u32, value, 11_u32);
    kernel(ctx, wgsl).dispatch(ctx.default_stream(), Groups::exact([1, 1, 1]), args).unwrap();
    contents(&out)
}
