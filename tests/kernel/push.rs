//! Push constants of every type, passed one by one and as a struct, with the padding of the shader's layout.

use vkarray::kernel::{ArgList, AsArg, Error as KernelError, Immediate};
use vkarray::{Context, Graph, Groups};

use super::kernel;
use crate::fixture::kernels::{step, stepped};
use crate::fixture::{Fixture, contents, skipped};

#[test]
fn push_constants_of_every_32_bit_type_are_passed() {
    let fixture = Fixture::open();
    // The offsets are 0, 16, 28, 32, 40, 44, 48, 64, 76, with gaps before the vectors.
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
fn push_constant_matrices_are_passed_column_by_column() {
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
fn each_call_has_its_own_push_constants() {
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
fn push_constants_of_64_bits_are_passed_or_refused() {
    let fixture = Fixture::open();
    let features = fixture.info().features;
    if !features.shader_int64 {
        // The test `capabilities` tests the refusal.
        return skipped("push_constants_of_64_bits_are_passed_or_refused", "64-bit integers");
    }
    let out = unpack_wide(&fixture, "i64", -0x0123_4567_89ab_cdef_i64);
    assert_eq!(out, [7, 0x89ab_cdef_u32.wrapping_neg(), !0x0123_4567, 11]);
    let out = unpack_wide(&fixture, "u64", 0xfedc_ba98_7654_3210_u64);
    assert_eq!(out, [7, 0x7654_3210, 0xfedc_ba98, 11]);
}

/// Passes a 64-bit integer between two integers of 32 bits, and returns all of them in words.
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

/// The struct of a CUDA program: no padding between the fields.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Tight {
    n: u32,
    by: [f32; 3],
    shift: [f32; 2],
    turn: [[f32; 3]; 2],
    last: i32,
}

/// The struct with the shader's padding: offsets 0, 16, 32, 48 (columns 16 apart), 80, and 96 bytes in all.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Padded {
    n: u32,
    room: [u32; 3],
    by: [f32; 4],
    shift: [f32; 4],
    turn: [[f32; 4]; 2],
    last: i32,
    end: [u32; 3],
}

impl Tight {
    fn new(n: u32) -> Self {
        let x = n as f32;
        let turn = [[x + 6.0, x + 7.0, x + 8.0], [x + 9.0, x + 10.0, x + 11.0]];
        Self { n, by: [x + 0.5, x + 1.5, x + 2.5], shift: [x + 4.0, x + 5.0], turn, last: -12 }
    }

    fn padded(self) -> Padded {
        let Self { n, by: [x, y, z], shift: [u, v], turn, last } = self;
        // The padding may have any value.
        let turn = turn.map(|[a, b, c]| [a, b, c, 77.0]);
        Padded { n, room: [9; 3], by: [x, y, z, 77.0], shift: [u, v, 77.0, 77.0], turn, last, end: [9; 3] }
    }

    /// The words that the shader writes.
    fn numbers(&self) -> Vec<f32> {
        let numbers = [&[self.n as f32], &self.by[..], &self.shift, self.turn.as_flattened(), &[self.last as f32]];
        numbers.concat()
    }
}

const WHOLE: &str = "
    struct Params { n: u32, by: vec3<f32>, @align(16) shift: vec2<f32>, turn: mat2x3<f32>, last: i32 }
    var<immediate> params: Params;
    @group(0) @binding(0) var<storage, read_write> out: array<f32, 13>;
    @compute @workgroup_size(1) fn unpack() {
        out[0] = f32(params.n);
        for (var i = 0u; i < 3u; i++) { out[1u + i] = params.by[i]; }
        out[4] = params.shift.x; out[5] = params.shift.y;
        for (var i = 0u; i < 6u; i++) { out[6u + i] = params.turn[i / 3u][i % 3u]; }
        out[12] = f32(params.last);
    }";

#[test]
fn a_struct_of_the_host_is_passed_as_the_whole_block() {
    let fixture = Fixture::open();
    let (unpack, one, stream) = (kernel(&fixture, WHOLE), Groups::exact([1, 1, 1]), fixture.default_stream());
    let push = unpack.signature().push_constants.as_ref().unwrap();
    let offsets: Vec<_> = push.members.iter().map(|member| member.offset).collect();
    assert_eq!((push.name.as_str(), push.bytes, offsets.as_slice()), ("params", 96, &[0, 16, 32, 48, 80][..]));
    // Several calls, with and without padding, in every form of arguments; each has its own numbers.
    let outs: Vec<_> = (0..40).map(|_| fixture.zeros::<f32>([13]).unwrap()).collect();
    for (n, out) in (0..).zip(&outs) {
        let (tight, padded) = (Tight::new(n), Tight::new(n).padded());
        let (tight, padded) = (Immediate(&tight), Immediate(&padded));
        match n % 5 {
            0 => unpack.dispatch(stream, one, (out, tight)),
            1 => unpack.dispatch(stream, one, (out, &padded)),
            2 => unpack.dispatch(stream, one, ArgList::new().name("params", &padded).name("out", out)),
            3 => unpack.dispatch(stream, one, vec![("params", tight.as_arg()), ("out", out.as_arg())]),
            _ => unpack.dispatch(stream, one, vec![out.as_arg(), padded.as_arg()]),
        }
        .unwrap();
    }
    for (n, out) in (0..).zip(&outs) {
        assert_eq!(contents(out), Tight::new(n).numbers(), "{n}");
    }
}

#[test]
fn a_struct_that_is_not_the_block_is_refused_and_changes_nothing() {
    let fixture = Fixture::open();
    let (unpack, out) = (kernel(&fixture, WHOLE), fixture.zeros::<f32>([13]).unwrap());
    let (tight, number) = (Tight::new(1), 3_u32);
    let (tight, short) = (Immediate(&tight), Immediate(&[0_u32; 12]));
    let cases = [
        (
            ArgList::new().next(&out).next(&short),
            ": `params` is Params, 96 bytes of push constants, 52 without padding, got a struct of 48 bytes",
        ),
        (
            ArgList::new().next(&out).next(&tight).name("n", &number),
            ": push constants are given as `params`, the whole block, or one by one, not both; got `n` as well",
        ),
        (
            ArgList::new().next(&out).next(&tight).next(&number),
            ": push constants are given as `params`, the whole block, or one by one, not both; got 3 (u32) as well",
        ),
        (ArgList::new().next(&out).name("by", &tight), ": `by` is a scalar, vec3<f32>, got a struct of 52 bytes"),
    ];
    for (args, message) in cases {
        let error = unpack.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), args).unwrap_err();
        assert_eq!(error.to_string(), format!("kernel `unpack`{message}"));
    }
    assert_eq!(contents(&out), [0.0; 13]);
}

#[test]
fn a_struct_in_a_graph_can_be_replaced() {
    let fixture = Fixture::open();
    let (unpack, one, stream) = (kernel(&fixture, WHOLE), Groups::exact([1, 1, 1]), fixture.default_stream());
    let outs = [(); 2].map(|()| fixture.zeros::<f32>([13]).unwrap());
    let (mut graph, nodes) = Graph::record(stream, |graph| {
        // The struct no longer exists when the graph is replayed.
        let node = |(n, out)| unpack.record(graph, one, (out, Immediate(&Tight::new(n))));
        (1..).zip(&outs).map(node).collect::<Result<Vec<_>, KernelError>>()
    })
    .unwrap();
    let replay = |graph: &mut Graph| {
        graph.replay(stream).unwrap();
        outs.each_ref().map(contents)
    };
    assert_eq!(replay(&mut graph), [1, 2].map(|n| Tight::new(n).numbers()));
    nodes[0].set(&mut graph, "params", Immediate(&Tight::new(5).padded())).unwrap();
    assert_eq!(replay(&mut graph), [5, 2].map(|n| Tight::new(n).numbers()));
    nodes[1].update(&mut graph, one, (&outs[1], Immediate(&Tight::new(6)))).unwrap();
    assert_eq!(replay(&mut graph), [5, 6].map(|n| Tight::new(n).numbers()));
    let refused = nodes[0].set(&mut graph, "n", 3_u32).unwrap_err().to_string();
    let message = "push constants are given as `params`, the whole block, or one by one, not both; got `n` as well";
    assert_eq!(refused, format!("kernel `unpack`: {message}"));
    let refused = nodes[0].set(&mut graph, "params", Immediate(&[0_u32; 3])).unwrap_err().to_string();
    assert!(refused.ends_with("52 without padding, got a struct of 12 bytes"), "{refused}");
    assert_eq!(replay(&mut graph), [5, 6].map(|n| Tight::new(n).numbers()));
}

#[test]
fn arguments_without_names_are_recorded_and_replaced_by_their_kind() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let arrays = [fixture.slice_to_device(&[1_u32; 5]).unwrap(), fixture.slice_to_device(&[2_u32; 5]).unwrap()];
    let all = || Groups::covering([5]);
    let (mut graph, node) = Graph::record(&stream, |graph| step.record(graph, all(), (3_u32, &arrays[0]))).unwrap();
    node.set(&mut graph, "add", 4_u32).unwrap();
    graph.replay(&stream).unwrap();
    node.update(&mut graph, all(), (5_u32, &arrays[1])).unwrap();
    graph.replay(&stream).unwrap();
    node.update(&mut graph, all(), (6_u32,)).unwrap();
    graph.replay(&stream).unwrap();
    assert_eq!(arrays.each_ref().map(contents), [[stepped(1, 4); 5], [stepped(stepped(2, 5), 6); 5]]);
}
