//! Arrays of bindings: lists of arrays as one argument, in GLSL, SPIR-V and WGSL, with indices that are bounded, each array
//! ordered as its own use; and sets of any number.

use vkarray::kernel::{AsArg, Error as KernelError, Mismatch};
use vkarray::stream::{Graph, GraphRecorder};
use vkarray::{DeviceNDArray, Groups, Kernel, Source, s};

use crate::fixture::{Fixture, contents};

/// Adds a multiple of one array of four to another, all in one binding.
const GATHER: &str = "#version 450
    layout(local_size_x = 4) in;
    layout(push_constant) uniform Push { uint from; uint to; uint factor; };
    layout(set = 0, binding = 1) buffer B { uint x[]; } b[4];
    void main() {
        uint i = gl_GlobalInvocationID.x;
        if (i < b[to].x.length() && i < b[from].x.length()) b[to].x[i] += factor * b[from].x[i];
    }";

/// For each invocation, an element of an array of its own; the number of arrays is the caller's.
const PICK: &str = "#version 450
    #extension GL_EXT_nonuniform_qualifier : require
    layout(local_size_x = 8) in;
    layout(set = 3, binding = 5) writeonly buffer Out { uint outs[]; };
    layout(set = 1, binding = 2) readonly buffer B { uint n; uint x[]; } b[];
    void main() {
        uint i = gl_GlobalInvocationID.x;
        if (i < outs.length()) outs[i] = b[nonuniformEXT(i)].x[1] + 1000 * b[nonuniformEXT(i)].n;
    }";

const PICK_WGSL: &str = "enable wgpu_binding_array;
    struct B { n: u32, x: array<u32> }
    @group(1) @binding(2) var<storage, read> b: binding_array<B>;
    @group(3) @binding(5) var<storage, read_write> outs: array<u32>;
    @compute @workgroup_size(8) fn pick(@builtin(global_invocation_id) id: vec3<u32>) {
        let i = id.x;
        if i < arrayLength(&outs) { outs[i] = b[i].x[1] + 1000u * b[i].n; }
    }";

/// Without the feature a kernel is refused by its name; then `None`.
fn built(fixture: &Fixture, source: Source, is_non_uniform: bool) -> Option<Kernel> {
    let features = fixture.info().features;
    let has = features.storage_arrays_dynamic && (!is_non_uniform || features.storage_arrays_non_uniform);
    let built = fixture.kernel(source).sanitize(false).build();
    if has {
        return Some(built.unwrap());
    }
    let error = built.unwrap_err();
    assert!(matches!(error, KernelError::Capability { .. }), "{error}");
    assert!(error.to_string().contains("indices into arrays of storage buffers"), "{error}");
    None
}

fn numbered(fixture: &Fixture, n: u32, first: u32) -> DeviceNDArray<u32> {
    fixture.slice_to_device(&(first..first + n).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_list_of_arrays_is_one_argument() {
    let fixture = Fixture::open();
    let Some(gather) = built(&fixture, Source::glsl(GATHER), false) else { return };
    let line = "  b       storage 0:1  read_write  binding_array<array<u32>, 4>";
    assert!(gather.signature().to_string().contains(line), "{}", gather.signature());
    let arrays = [7, 5, 9, 3].map(|n| numbered(&fixture, n, n));
    let launch = |arrays: &[&DeviceNDArray<u32>], from: u32, to: u32, factor: u32| {
        gather.launch(Groups::covering(9), (arrays, from, to, factor)).unwrap();
    };
    let [x, y, z, w] = &arrays;
    launch(&[x, y, z, w], 2, 1, 100);
    assert_eq!(contents(y), [905, 1006, 1107, 1208, 1309]);
    // Any index out of range means the last array, as a clamped index does.
    launch(&[x, y, z, w], 0, 4, 10);
    launch(&[x, y, z, w], 0, u32::MAX, 10);
    assert_eq!(contents(w), [3 + 140, 4 + 160, 5 + 180]);
    assert_eq!(contents(z), (9..18).collect::<Vec<_>>());
    // By name, from a `Vec`, and as views of one array, one of which the device cannot bind at its offset.
    let whole = numbered(&fixture, 64, 0);
    let views = [s![0..7], s![13..18], s![21..30], s![61..64]].map(|range| whole.slice(range).unwrap());
    let views = views.to_vec();
    let args = [("b", views.as_arg()), ("from", 2_u32.as_arg()), ("to", 1_u32.as_arg()), ("factor", 3_u32.as_arg())];
    gather.launch(Groups::covering(9), args).unwrap();
    let expected = (0..64).map(|i| if (13..18).contains(&i) { i + 3 * (i + 8) } else { i });
    assert_eq!(contents(&whole), expected.collect::<Vec<_>>());
}

#[test]
fn lists_are_counted_at_the_launch() {
    let fixture = Fixture::open();
    for source in [Source::glsl(PICK), Source::wgsl(PICK_WGSL)] {
        let Some(pick) = built(&fixture, source, true) else { continue };
        let text = pick.signature().to_string();
        assert!(text.contains("storage 1:2  read") && text.contains("binding_array<B>"), "{text}");
        let lists: Vec<_> = (0..11).map(|n| numbered(&fixture, 3 + n, 5 * n)).collect();
        for n in [3, 1, 8, 11, 3] {
            let outs = fixture.zeros::<u32>([n]).unwrap();
            pick.launch(Groups::covering(n), (&lists[..n], &outs)).unwrap();
            let expected = (0..n).map(|i| u32::try_from(5 * i + 2 + 1000 * 5 * i).unwrap());
            assert_eq!(contents(&outs), expected.collect::<Vec<_>>(), "{n} in {text}");
        }
        // GLSL clamps the index to the last array, WGSL reads zero.
        let outs = fixture.zeros::<u32>([4]).unwrap();
        pick.launch(Groups::covering(4), (&lists[..2], &outs)).unwrap();
        let rest = if text.starts_with("main") { 5007 } else { 0 };
        assert_eq!(contents(&outs), [2, 5007, rest, rest]);
    }
}

/// A kernel that writes through an array of bindings, and one that reads what it wrote, on another stream.
#[test]
fn each_array_of_a_list_is_ordered() {
    let fixture = Fixture::open();
    let Some(gather) = built(&fixture, Source::glsl(GATHER), false) else { return };
    let n = 1 << 16;
    let arrays = [1, 1000, 1_000_000, 7].map(|value| fixture.full::<u32>([n], value).unwrap());
    let [x, y, z, w] = &arrays;
    let (first, second) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    let groups = Groups::covering(n);
    for _ in 0..20 {
        gather.dispatch(&first, groups, ([x, y, z, w], 0_u32, 1_u32, 1_u32)).unwrap(); // y += x
        gather.dispatch(&second, groups, ([w, z, y, x], 2_u32, 1_u32, 1_u32)).unwrap(); // z += y
    }
    let expected = 1_000_000 + (1..=20).map(|round| 1000 + round).sum::<u32>();
    assert_eq!(contents(z), vec![expected; n]);
    assert_eq!(contents(y), vec![1020; n]);
}

#[test]
fn graphs_keep_lists_and_take_others() {
    let fixture = Fixture::open();
    let Some(pick) = built(&fixture, Source::glsl(PICK), true) else { return };
    let outs = fixture.zeros::<u32>([3]).unwrap();
    let (mut graph, node) = {
        let lists = [numbered(&fixture, 3, 0), numbered(&fixture, 3, 5)];
        Graph::record(fixture.default_stream(), |graph: &mut GraphRecorder| {
            pick.record(graph, Groups::covering(3), (&lists[..], &outs))
        })
        .unwrap()
    };
    graph.replay(fixture.default_stream()).unwrap();
    assert_eq!(contents(&outs), [2, 5007, 5007]);
    let lists = [9, 8, 7].map(|first| numbered(&fixture, 2, first));
    let refused = node.set(&mut graph, "b", [&lists[0]; 0]).unwrap_err();
    assert!(matches!(refused, KernelError::Argument { .. }), "{refused}");
    let lists = lists.map(|list| numbered(&fixture, 3, contents(&list)[0]));
    node.set(&mut graph, "b", &lists).unwrap();
    graph.replay(fixture.default_stream()).unwrap();
    assert_eq!(contents(&outs), [9011, 8010, 7009]);
}

#[test]
fn a_list_that_does_not_fit_is_refused() {
    let fixture = Fixture::open();
    let Some(gather) = built(&fixture, Source::glsl(GATHER), false) else { return };
    let [x, y, z] = [5, 6, 7].map(|n| numbered(&fixture, n, 0));
    let floats = fixture.zeros::<f32>([3]).unwrap();
    let refused = |args: &[(&str, vkarray::kernel::Arg<'_>)]| {
        let mut args = args.to_vec();
        args.extend(["from", "to", "factor"].map(|name| (name, 0_u32.as_arg())));
        gather.launch(Groups::covering(4), args).unwrap_err().to_string()
    };
    let error = refused(&[("b", x.as_arg())]);
    let expected = "is an array of bindings, binding_array<array<u32>, 4>, got an array of u32 with shape (5,); give a list of \
                    arrays, as in `&[&x, &y]`";
    assert!(error.ends_with(expected), "{error}");
    let error = refused(&[("b", [&x, &y, &z].as_arg())]);
    assert!(error.ends_with("binding_array<array<u32>, 4>, which takes 4 arrays, got 3"), "{error}");
    let error = refused(&[("b", [&x, &y, &z, &x].as_arg())]);
    assert!(error.starts_with("kernel `main`: `b[0]` is written and shares memory with `b[3]`; "), "{error}");
    let mixed = [&x as &dyn vkarray::kernel::AsArray, &y, &floats, &z];
    let error = refused(&[("b", mixed.as_arg())]);
    assert!(error.starts_with("kernel `main`: `b[2]` is array<u32>, got an array of f32"), "{error}");
    let read_only = x.clone().read_only();
    let error = refused(&[("b", [&y, &z, &read_only, &x].as_arg())]);
    assert!(error.contains("`b[2]`") && error.contains("read-only"), "{error}");

    let plain = super::kernel(&fixture, crate::fixture::kernels::STEP);
    let Err(KernelError::Argument { problem, .. }) = plain.launch(Groups::covering(4), ([&x, &y], 1_u32)) else {
        panic!("a list for one array")
    };
    assert!(matches!(*problem, Mismatch::WantsArray { .. }), "{problem}");
}

#[test]
fn arrays_of_uniform_buffers_take_lists() {
    let fixture = Fixture::open();
    let text = "#version 450
        layout(local_size_x = 3) in;
        layout(set = 2, binding = 0) uniform U { vec4 scale; float shift; } u[2];
        layout(set = 2, binding = 4) buffer X { float x[]; };
        void main() { uint i = gl_GlobalInvocationID.x; x[i] = x[i] * u[1].scale.y + u[0].shift; }";
    let kernel = fixture.kernel(Source::glsl(text)).build().unwrap();
    let u = [[1.0_f32, 2.0, 3.0, 4.0, 5.0], [10.0, 20.0, 30.0, 40.0, 50.0]];
    let u = u.map(|values| fixture.slice_to_device(&values).unwrap());
    let x = fixture.slice_to_device(&[1.0_f32, 2.0, 3.0]).unwrap();
    kernel.launch(Groups::covering(3), (&u, &x)).unwrap();
    assert_eq!(contents(&x), [25.0, 45.0, 65.0]);
}

/// [`PICK`] as SPIR-V of `glslangValidator`, for a target before the indices' capabilities were part of SPIR-V.
#[test]
fn spirv_takes_lists() {
    let fixture = Fixture::open();
    let Some(pick) = built(&fixture, super::spirv::source("binding_array.spv"), true) else { return };
    let lists = [4, 2, 7].map(|first| numbered(&fixture, 3, first));
    let outs = fixture.zeros::<u32>([5]).unwrap();
    pick.launch(Groups::covering(5), (&lists, &outs)).unwrap();
    assert_eq!(contents(&outs), [4006, 2004, 7009, 7009, 7009]);
}

/// Adds two buffers and a texel of an image whose sampler is given with it, into a third buffer of the list.
const WITH_IMAGE: &str = "#version 450
    layout(local_size_x = 1) in;
    layout(set = 0, binding = 0) uniform sampler2D image;
    layout(set = 0, binding = 1) buffer B { float x[]; } b[3];
    void main() {
        uint i = gl_GlobalInvocationID.x;
        b[2].x[i] = b[0].x[i] + b[1].x[i] + texelFetch(image, ivec2(i, 0), 0).x;
    }";

#[test]
fn a_list_stands_beside_an_image() {
    let fixture = Fixture::open();
    let Some(add) = built(&fixture, Source::glsl(WITH_IMAGE), false) else { return };
    let row = |first: f32| fixture.arange(first, first + 5.0, 1.0).unwrap();
    let (x, y, out, image) = (row(0.0), row(10.0), row(100.0), row(1000.0).reshape([1, 5]).unwrap());
    add.launch(Groups::covering(5), (&image, [&x, &y, &out])).unwrap();
    assert_eq!(contents(&out), [1010.0, 1013.0, 1016.0, 1019.0, 1022.0]);

    let error = add.launch(Groups::covering(5), (&out.reshape([1, 5]).unwrap(), [&x, &y, &out])).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`b[2]`") && text.contains("`image`"), "{text}");
}
