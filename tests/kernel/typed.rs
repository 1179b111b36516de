//! Kernels as Rust types (`kernel!`): the type's arguments and results are the shader's.

use vkarray::{DType, Element, Graph, Groups};

use crate::fixture::{Fixture, contents};

#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Item {
    key: u32,
    value: f32,
}

impl Element for Item {
    const DTYPE: DType = DType::record::<Self>();
}

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Line {
    steps: u32,
    padding: [u32; 3],
    start: [f32; 3],
    by: f32,
}

vkarray::kernel! {
    /// `out[i] = start[i mod 3] + by i`, of the first elements.
    struct Draw {
        wgsl: "
            struct Line { steps: u32, start: vec3<f32>, by: f32 }
            @group(0) @binding(0) var<storage, read_write> out: array<f32>;
            var<immediate> line: Line;
            @compute @workgroup_size(16) fn draw(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < line.steps { out[id.x] = line.start[id.x % 3u] + line.by * f32(id.x); }
            }",
        structs: { Line: Line },
    }
}

#[test]
fn push_constants_are_one_struct_of_the_host() {
    let fixture = Fixture::open();
    let draw = Draw::build(&fixture).unwrap();
    for steps in [3, 20, 7] {
        let line = Line { steps, padding: [7; 3], start: [1.0, 2.0, 3.0], by: 0.5 * steps as f32 };
        let out = fixture.zeros::<f32>([20]).unwrap();
        draw.dispatch(fixture.default_stream(), Groups::covering([20]), &out, &line).unwrap();
        let at = |i: u32| if i < steps { line.start[i as usize % 3] + line.by * i as f32 } else { 0.0 };
        assert_eq!(contents(&out), (0..20).map(at).collect::<Vec<_>>());
    }
}

vkarray::kernel! {
    /// Scales items whose key is even, and counts them.
    struct Scale {
        wgsl: "
            struct Item { key: u32, value: f32 }
            struct Params { by: vec2<f32>, n: u32 }
            @group(0) @binding(0) var<storage, read_write> items: array<Item>;
            @group(0) @binding(1) var<storage, read_write> stream: array<atomic<u32>>;
            @group(1) @binding(0) var<uniform> shift: vec4<f32>;
            var<immediate> params: Params;
            override STEP: u32;
            override SLOT: u32 = 0u;
            @compute @workgroup_size(16) fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < params.n && items[id.x].key % STEP == 0u {
                    items[id.x].value = items[id.x].value * params.by.x + params.by.y + shift.z;
                    atomicAdd(&stream[SLOT], 1u);
                }
            }
            @compute @workgroup_size(1) fn other() {}",
        entry: "scale",
        structs: { Item: Item },
    }
}

#[test]
fn a_typed_kernel_has_the_entry_point_and_arguments_of_its_shader() {
    let fixture = Fixture::open();
    let item = |key: u32| Item { key, value: key as f32 };
    let items: Vec<Item> = (0..50).map(item).collect();
    let shift = fixture.const_array(&[100.0_f32, 200.0, 300.0, 400.0], [4]).unwrap();
    // The constant, the number of items, and the position of the count.
    for (step, n, slot) in [(2, 50, None), (3, 40, Some(1)), (1, 0, Some(2))] {
        let (array, counts) = (fixture.slice_to_device(&items).unwrap(), fixture.zeros::<u32>([3]).unwrap());
        let scale = match slot {
            None => Scale::build(&fixture, step).unwrap(),
            Some(slot) => Scale::builder(&fixture, step).slot(slot).sanitize(true).build().unwrap(),
        };
        scale
            .dispatch(fixture.default_stream(), Groups::covering([50]), &array, &counts, &shift, [2.0, 0.5], n)
            .unwrap();
        let is_scaled = |item: &Item| item.key < n && item.key.is_multiple_of(step);
        let scaled = |item: &Item| Item { value: item.value * 2.0 + 300.5, ..*item };
        let expected: Vec<_> = items.iter().map(|item| if is_scaled(item) { scaled(item) } else { *item }).collect();
        assert_eq!(contents(&array), expected, "{step} {n}");
        let mut expected_counts = [0; 3];
        items.iter().filter(|item| is_scaled(item)).for_each(|_| expected_counts[slot.unwrap_or(0) as usize] += 1);
        assert_eq!(contents(&counts), expected_counts, "{step} {n}");
        assert_eq!(scale.kernel().signature().entry, "scale");
    }
}

vkarray::kernel! {
    /// `x[i] ← type_ x[i] + by`.
    struct Affine {
        wgsl: "
            struct Args { type_: f32, by: f32 }
            @group(0) @binding(0) var<storage, read_write> x: array<f32>;
            var<immediate> args: Args;
            @compute @workgroup_size(16) fn affine(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&x) { x[id.x] = args.type_ * x[id.x] + args.by; }
            }",
    }
}

#[test]
fn a_typed_kernel_is_launched_recorded_and_changed() {
    let fixture = Fixture::open();
    let affine = Affine::build(&fixture).unwrap();
    let (x, other) = (fixture.full([20], 1.0_f32).unwrap(), fixture.full([20], 5.0_f32).unwrap());
    affine.launch(Groups::covering(20), &x, 2.0, 1.0).unwrap();
    assert_eq!(contents(&x), [3.0; 20]);
    let recorded =
        Graph::record(fixture.default_stream(), |graph| affine.record(graph, Groups::covering(20), &x, 10.0, 0.0));
    let (mut graph, node) = recorded.unwrap();
    graph.replay(fixture.default_stream()).unwrap();
    assert_eq!(contents(&x), [30.0; 20]);
    node.set_by(&mut graph, 2.0).unwrap();
    node.set_type_(&mut graph, 1.0).unwrap();
    node.set_x(&mut graph, &other).unwrap();
    node.node().set_groups(&mut graph, Groups::exact([1, 1, 1])).unwrap();
    graph.replay(fixture.default_stream()).unwrap();
    assert_eq!(contents(&x), [30.0; 20]);
    assert_eq!(contents(&other), [[7.0; 16].as_slice(), &[5.0; 4]].concat());
}
