//! Memory that kernels reach by its address: arrays whose addresses are push constants, and arrays that are reached through
//! others, ordered, kept and refused.

use vkarray::kernel::{AsArray, Error as KernelError, Mismatch, Reached, ShaderError, SpirvError};
use vkarray::stream::{Graph, GraphRecorder};
use vkarray::{DeviceNDArray, Groups, Kernel, Source, s};

use crate::fixture::{Fixture, contents};

/// Adds a multiple of one array to another; both are kept in variables on the way.
const AXPY: &str = "#version 450
    #extension GL_EXT_buffer_reference : require
    layout(local_size_x = 64) in;
    layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer From { uint v[]; };
    layout(buffer_reference, std430, buffer_reference_align = 4) buffer To { uint v[]; };
    layout(push_constant) uniform Push { From x; uint n; To y; uint a; };
    uint at(From from, uint i) { return from.v[i]; }
    void main() {
        uint i = gl_GlobalInvocationID.x;
        To to = y;
        if (i < n) to.v[i] += a * at(x, i);
    }";

/// Adds the values of a list of nodes that begins with the first of an array.
const WALK: &str = "#version 450
    #extension GL_EXT_buffer_reference : require
    #extension GL_EXT_buffer_reference_uvec2 : require
    layout(local_size_x = 1) in;
    layout(buffer_reference) buffer Node;
    layout(buffer_reference, std430, buffer_reference_align = 8) buffer Node { Node next; uvec2 value; };
    layout(push_constant) uniform Push { Node head; };
    layout(set = 0, binding = 0) buffer Out { uint sum; };
    void visit(inout Node node) {
        sum += node.value.x;
        node.value.y += 1;
        node = node.next;
    }
    void main() {
        Node node = head;
        #ifdef LOOP
        while (uvec2(node) != uvec2(0)) visit(node);
        #else
        visit(node); visit(node); visit(node); visit(node);
        #endif
    }";

/// Copies by an address in constant memory to one in a storage buffer.
const BLOCKS: &str = "#version 450
    #extension GL_EXT_buffer_reference : require
    layout(local_size_x = 1) in;
    layout(buffer_reference, std430, buffer_reference_align = 4) buffer Numbers { uint v[]; };
    layout(set = 0, binding = 0, std140) uniform Params { Numbers from; };
    layout(set = 0, binding = 1, std430) readonly buffer Targets { Numbers to[]; };
    void main() { to[1].v[gl_GlobalInvocationID.x] = 10 * from.v[gl_GlobalInvocationID.x]; }";

/// The kernel. Without the feature it is refused by its name; then `None`.
fn built(fixture: &Fixture, source: Source) -> Option<Kernel> {
    // SAFETY: the tests give arrays with an element for each invocation, and list all whose addresses they store.
    let built = unsafe { fixture.kernel(source).sanitize(false).assume_addresses() }.build();
    if fixture.device().plan().features.buffer_device_address {
        return Some(built.unwrap());
    }
    let error = built.unwrap_err();
    assert!(matches!(error, KernelError::Capability { .. }), "{error}");
    assert!(error.to_string().contains("needs buffer device addresses"), "{error}");
    None
}

fn numbered(fixture: &Fixture, n: u32) -> DeviceNDArray<u32> {
    fixture.slice_to_device(&(0..n).collect::<Vec<_>>()).unwrap()
}

#[test]
fn addresses_in_push_constants_take_arrays() {
    let fixture = Fixture::open();
    let Some(axpy) = built(&fixture, Source::glsl(AXPY)) else { return };
    let params: Vec<_> =
        axpy.signature().params.iter().map(|param| (&*param.name, param.reads, param.writes)).collect();
    assert_eq!((params, axpy.signature().reached), (vec![("x", true, false), ("y", true, true)], None));
    let (x, y) = (numbered(&fixture, 103), fixture.full::<u32>([103], 7).unwrap());
    axpy.launch(Groups::covering(103), (&x, &y, 103_u32, 3_u32)).unwrap();
    assert_eq!(contents(&y), (0..103).map(|i| 7 + 3 * i).collect::<Vec<_>>());
    // Views, and the same array to be read twice.
    let (head, tail) = (y.slice(s![1..6]).unwrap(), x.slice(s![98..]).unwrap());
    axpy.launch(Groups::covering(5), (&tail, &head, 5_u32, 1000_u32)).unwrap();
    let expected = (0..103).map(|i| 7 + 3 * i + if (1..6).contains(&i) { 1000 * (i + 97) } else { 0 });
    assert_eq!(contents(&y), expected.collect::<Vec<_>>());
}

#[test]
fn addresses_order_two_streams() {
    let fixture = Fixture::open();
    let Some(axpy) = built(&fixture, Source::glsl(AXPY)) else { return };
    let n = 1 << 16;
    let [x, y, z] = [1_u32, 1000, 1_000_000].map(|value| fixture.full([n], value).unwrap());
    let (first, second) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    for _ in 0..20 {
        axpy.dispatch(&first, Groups::covering(n), (&x, &y, 1_u32 << 16, 1_u32)).unwrap();
        axpy.dispatch(&second, Groups::covering(n), (&y, &z, 1_u32 << 16, 1_u32)).unwrap();
    }
    assert_eq!(contents(&z), vec![1_000_000 + (1..=20).map(|round| 1000 + round).sum::<u32>(); n]);
}

#[test]
fn memory_is_not_reused_while_it_is_reached() {
    let fixture = Fixture::open();
    let Some(axpy) = built(&fixture, Source::glsl(AXPY)) else { return };
    let (n, y) = (1 << 16, fixture.zeros::<u32>([1 << 16]).unwrap());
    let stream = fixture.stream().unwrap();
    for _ in 0..30 {
        let x = fixture.full::<u32>([n], 5).unwrap();
        axpy.dispatch(&stream, Groups::covering(n), (&x, &y, 1_u32 << 16, 1_u32)).unwrap();
        drop(x);
        fixture.full::<u32>([n], 9).unwrap();
    }
    assert_eq!(contents(&y), vec![150; n]);
}

/// A list of nodes in two arrays, linked across them.
#[test]
fn a_list_is_walked_through_listed_arrays() {
    let fixture = Fixture::open();
    // SwiftShader reads by an address also where no invocation does (5.0.0, 2026-11-26), so nothing may depend on a null there.
    let source = match fixture.info().name.starts_with("SwiftShader") {
        true => Source::glsl(WALK),
        false => Source::glsl(WALK).define("LOOP", "1"),
    };
    let Some(walk) = built(&fixture, source) else { return };
    assert_eq!(walk.signature().reached, Some(vkarray::kernel::signature::Access::ReadWrite));
    let [a, b] = [0, 1].map(|_| fixture.zeros::<u64>([3, 2]).unwrap());
    let [at_a, at_b] = [&a, &b].map(|array| array.device_address().unwrap());
    let stream = fixture.default_stream();
    // a[0] -> b[2] -> a[1] -> b[0]
    a.copy_from_host(&ndarray::arr2(&[[at_b + 32, 1], [at_b, 4], [0, 9]])).unwrap();
    b.copy_from_host(&ndarray::arr2(&[[0, 8], [0, 9], [at_a + 16, 2]])).unwrap();
    let out = fixture.zeros::<u32>([1]).unwrap();
    let nodes = a.view::<u8>().unwrap();
    let reached = [&a as &dyn AsArray, &b];
    walk.dispatch(stream, Groups::exact([1, 1, 1]), (&out, &nodes, Reached(&reached))).unwrap();
    assert_eq!(contents(&out), [15]);
    let (graph, _) = Graph::record(stream, |graph: &mut GraphRecorder| {
        walk.record(graph, Groups::exact([1, 1, 1]), (Reached(&reached), &out, &nodes))
    })
    .unwrap();
    graph.replay(stream).unwrap();
    graph.replay(stream).unwrap();
    assert_eq!(contents(&out), [45]);
    let count = |value: u64| value | 3 << 32;
    assert_eq!(contents(&b)[1], count(8));
    assert_eq!((contents(&a)[1], contents(&a)[3], contents(&a)[5]), (count(1), count(4), 9));
}

#[test]
fn addresses_in_blocks_are_numbers() {
    let fixture = Fixture::open();
    let Some(copy) = built(&fixture, Source::glsl(BLOCKS)) else { return };
    let (x, y) = (numbered(&fixture, 5), fixture.zeros::<u32>([5]).unwrap());
    let [from, to] = [&x, &y].map(|array| array.device_address().unwrap());
    let params = fixture.slice_to_device(&[from, 0]).unwrap();
    let targets = fixture.slice_to_device(&[0, to]).unwrap();
    let params = params.slice(s![..1]).unwrap();
    copy.launch(Groups::covering(5), (&params, &targets, Reached(&[&x, &y]))).unwrap();
    assert_eq!(contents(&y), [0, 10, 20, 30, 40]);
    let other = numbered(&fixture, 2).read_only();
    let error = copy.launch(Groups::covering(5), (&params, &targets, Reached(&[&x, &other]))).unwrap_err();
    assert!(error.to_string().contains("`reached[1]` is written by the kernel"), "{error}");
}

#[test]
fn refusals_name_the_address() {
    let fixture = Fixture::open();
    let cases = [(AXPY, "the address `x`"), (WALK, "the address `head`"), (BLOCKS, "an address in `from`")];
    for (text, address) in cases {
        // SAFETY: no kernel is built.
        let unchecked = unsafe { fixture.kernel(Source::glsl(text)).unchecked() };
        for builder in [fixture.kernel(Source::glsl(text)), unchecked] {
            let error = builder.build().unwrap_err();
            assert!(matches!(error, KernelError::Shader(ShaderError::Spirv(SpirvError::Addresses { .. }))), "{error}");
            let expected =
                format!("kernel `main` reaches memory by {address}, and nothing keeps that inside an array; bind ");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
    let Some(axpy) = built(&fixture, Source::glsl(AXPY)) else { return };
    // SAFETY: no kernel is built.
    let checked = unsafe { fixture.kernel(Source::glsl(AXPY)).sanitize(true).assume_addresses() };
    let error = checked.build().unwrap_err().to_string();
    assert_eq!(
        error,
        "kernel `main` cannot be sanitized: no check follows the address `x`; build this kernel with `sanitize(false)`"
    );
    let (x, y) = (numbered(&fixture, 9), numbered(&fixture, 9));
    let refused = |x: &dyn vkarray::kernel::AsArg, y: &dyn vkarray::kernel::AsArg| {
        let error = axpy.launch(Groups::covering(9), (x, y, 9_u32, 1_u32)).unwrap_err();
        let KernelError::Argument { param, problem, .. } = error else { return error.to_string() };
        format!("{param} {problem}")
    };
    let floats = fixture.zeros::<f32>([9]).unwrap();
    assert!(refused(&floats, &y).starts_with("x is array<u32>, got an array of f32"));
    assert!(refused(&x, &x).starts_with("kernel `main`: `y` is written and shares memory with `x`"));
    assert!(refused(&x, &y.clone().read_only()).starts_with("y is written by the kernel"));
    assert!(refused(&x, &7_u64).contains("takes") || refused(&x, &7_u64).contains("is"), "{}", refused(&x, &7_u64));
    let bytes = fixture.zeros::<u8>([41]).unwrap();
    let odd =
        vkarray::kernel::ArrayShape { offset: 2, ..vkarray::kernel::ArrayShape::new(vkarray::DType::U32, &[9], 36) };
    let odd = vkarray::kernel::ArrayArg::new(bytes.block(), odd);
    let error = axpy.launch(Groups::covering(9), (vkarray::kernel::Arg::Array(odd), &y, 9_u32, 1_u32)).unwrap_err();
    let KernelError::Argument { problem, .. } = error else { panic!("{error}") };
    assert!(matches!(*problem, Mismatch::Misaligned { alignment: 4, offset: 2, .. }), "{problem}");
}

/// Memory that other libraries or processes reach has no address, and on a device without the feature no memory has.
#[test]
fn arrays_without_an_address_are_refused() {
    let fixture = Fixture::open();
    let y = numbered(&fixture, 9);
    let Some(axpy) = built(&fixture, Source::glsl(AXPY)) else {
        let error = y.device_address().unwrap_err().to_string();
        assert!(error.contains("the device was opened without bufferDeviceAddress, or lacks it"), "{error}");
        return;
    };
    let Ok(exported) = y.to_exportable() else { return assert!(!fixture.info().external.memory_fd.exportable) };
    let error = exported.device_address().unwrap_err().to_string();
    assert!(error.contains("it is imported, exported, or of a memory manager that gives it none"), "{error}");
    let error = axpy.launch(Groups::covering(9), (&exported, &y, 9_u32, 1_u32)).unwrap_err().to_string();
    assert!(error.contains("`x`") && error.contains("it is imported, exported"), "{error}");
    assert_eq!(contents(&y), (0..9).collect::<Vec<_>>());
    axpy.launch(Groups::covering(9), (&numbered(&fixture, 9), &exported, 9_u32, 1_u32)).unwrap_err();
    assert_eq!(contents(&exported), (0..9).collect::<Vec<_>>());
}
