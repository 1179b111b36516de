//! Indirect launches: the device reads the size, which another kernel writes; a size above the limits launches nothing.

use vkarray::kernel::Error as KernelError;
use vkarray::stream::GraphRecorder;
use vkarray::{DeviceNDArray, Graph, Groups, Kernel, Source};

use super::kernel;
use crate::fixture::{Fixture, contents};

/// Counts workgroups, and the highest number on each axis.
const COUNT: &str = "
    @group(0) @binding(0) var<storage, read_write> seen: array<atomic<u32>, 4>;
    @compute @workgroup_size(2) fn count(
        @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32,
    ) {
        if i != 0u { return; }
        atomicAdd(&seen[0], 1u);
        atomicMax(&seen[1], group.x + 1u);
        atomicMax(&seen[2], group.y + 1u);
        atomicMax(&seen[3], group.z + 1u);
    }";

/// `counts[at..at + 3] = x, y, z`.
const SET: &str = "
    @group(0) @binding(0) var<storage, read_write> counts: array<u32>;
    struct Params { at: u32, x: u32, y: u32, z: u32 }
    var<immediate> params: Params;
    @compute @workgroup_size(1) fn put() {
        counts[params.at] = params.x;
        counts[params.at + 1u] = params.y;
        counts[params.at + 2u] = params.z;
    }";

const ONE: Groups<'static> = Groups::exact([1, 1, 1]);

/// The two kinds of indirect launches.
fn ways(counts: &DeviceNDArray<u32>, first: u64) -> [Groups<'_>; 2] {
    // SAFETY: the tests keep to the device's limits where they use this launch, and `COUNT` does not write the numbers.
    [Groups::indirect(counts, first), unsafe { Groups::indirect_unchecked(counts, first) }]
}

#[test]
fn the_size_that_a_kernel_wrote_is_launched() {
    let fixture = Fixture::open();
    let (set, count) = (kernel(&fixture, SET), kernel(&fixture, COUNT));
    let stream = fixture.default_stream();
    let counts = fixture.zeros::<u32>([100]).unwrap();
    for first in [0_u32, 1, 7, 97] {
        for [x, y, z] in [[1, 1, 1], [5, 1, 1], [3, 4, 5], [0, 1, 1], [2, 0, 1], [2, 3, 0]] {
            for groups in ways(&counts, first.into()) {
                let seen = fixture.zeros::<u32>([4]).unwrap();
                set.dispatch(stream, ONE, (&counts, first, x, y, z)).unwrap();
                count.dispatch(stream, groups, (&seen,)).unwrap();
                // The numbers are overwritten at once; the launch has read them before.
                set.dispatch(stream, ONE, (&counts, first, 7_u32, 1_u32, 1_u32)).unwrap();
                let expected = if x * y * z == 0 { [0; 4] } else { [x * y * z, x, y, z] };
                assert_eq!(contents(&seen), expected, "{x}, {y}, {z} from {first}: {groups:?}");
            }
        }
    }
}

#[test]
fn the_size_can_be_read_from_a_view() {
    let fixture = Fixture::open();
    let count = kernel(&fixture, COUNT);
    let host: Vec<u32> = (1..=200).map(|i| i % 5 + 1).collect();
    let all = fixture.slice_to_device(&host).unwrap();
    for from in [0_usize, 1, 63, 64, 65, 130] {
        let part = all.slice([(from..from + 5).into()]).unwrap();
        for groups in ways(&part, 2) {
            let seen = fixture.zeros::<u32>([4]).unwrap();
            count.dispatch(fixture.default_stream(), groups, (&seen,)).unwrap();
            let [x, y, z] = [2, 3, 4].map(|i| host[from + i]);
            assert_eq!(contents(&seen), [x * y * z, x, y, z], "from {from}");
        }
    }
}

#[test]
fn more_than_the_device_allows_launches_no_workgroup() {
    let fixture = Fixture::open();
    let count = kernel(&fixture, COUNT);
    let limits = fixture.info().limits.max_compute_work_group_count;
    for axis in 0..3 {
        let mut numbers = [1; 3];
        let Some(more) = limits[axis].checked_add(1) else { continue };
        for (number, expected) in [(more, 0), (u32::MAX, 0), (2, 2)] {
            numbers[axis] = number;
            let counts = fixture.slice_to_device(&numbers).unwrap();
            let seen = fixture.zeros::<u32>([4]).unwrap();
            count.dispatch(fixture.default_stream(), Groups::indirect(&counts, 0), (&seen,)).unwrap();
            assert_eq!(contents(&seen)[0], expected, "{numbers:?}");
        }
    }
}

/// A kernel like [`COUNT`], with workgroups so large that the device's own limit allows more invocations than 32 bits
/// count.
const LARGE: &str = "
    @group(0) @binding(0) var<storage, read_write> seen: array<atomic<u32>, 4>;
    override SIZE: u32;
    @compute @workgroup_size(1, SIZE) fn count() { atomicAdd(&seen[0], 1u); }";

#[test]
fn more_than_32_bits_of_invocations_launch_no_workgroup() {
    let fixture = Fixture::open();
    let limits = &fixture.info().limits;
    let size = limits.max_compute_work_group_size[1].min(limits.max_compute_work_group_invocations);
    let more = u32::try_from((1_u64 << 32) / u64::from(size) + 1).unwrap();
    let build = |checks| fixture.kernel(Source::wgsl(LARGE)).constant("SIZE", size).sanitize(checks).build().unwrap();
    if more > limits.max_compute_work_group_count[1] {
        // The device launches fewer workgroups than that, and a launch from the host reports it.
        let seen = fixture.zeros::<u32>([4]).unwrap();
        let error = build(false).dispatch(fixture.default_stream(), Groups::exact([1, more, 1]), (&seen,)).unwrap_err();
        assert!(matches!(error, KernelError::GroupCount { axis: 'y', .. }), "{error}");
        return assert_eq!(contents(&seen), [0; 4]);
    }
    let counts = fixture.slice_to_device(&[1, more, 1]).unwrap();
    let seen = fixture.zeros::<u32>([4]).unwrap();
    let launch = |checks| build(checks).dispatch(fixture.default_stream(), Groups::indirect(&counts, 0), (&seen,));
    launch(false).unwrap();
    let error = launch(true).unwrap_err();
    assert!(matches!(error, KernelError::InvocationCount { axis: 'y', .. }), "{error}");
    assert_eq!(contents(&seen), [0; 4]);
}

#[test]
fn an_indirect_launch_waits_for_the_stream_that_writes_its_size() {
    let fixture = Fixture::open();
    let (set, count) = (kernel(&fixture, SET), kernel(&fixture, COUNT));
    let counts = fixture.zeros::<u32>([3]).unwrap();
    let (writer, launcher) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    for unchecked in [0, 1] {
        let seen = fixture.zeros::<u32>([4]).unwrap();
        let mut total = 0;
        for n in 1..=40_u32 {
            set.dispatch(&writer, ONE, (&counts, 0_u32, n, 2_u32, 1_u32)).unwrap();
            count.dispatch(&launcher, ways(&counts, 0)[unchecked], (&seen,)).unwrap();
            total += 2 * n;
        }
        assert_eq!(contents(&seen), [total, 40, 2, 1]);
    }
}

fn record(graph: &mut GraphRecorder, count: &Kernel, groups: Groups<'_>, seen: &DeviceNDArray<u32>) {
    count.record(graph, groups, (seen,)).unwrap();
}

#[test]
fn each_replay_of_a_graph_reads_the_size_again() {
    let fixture = Fixture::open();
    let (set, count) = (kernel(&fixture, SET), kernel(&fixture, COUNT));
    let stream = fixture.default_stream();
    for unchecked in [0, 1] {
        let seen = fixture.zeros::<u32>([4]).unwrap();
        let counts = fixture.zeros::<u32>([6]).unwrap();
        let (graph, ()) = Graph::record(stream, |graph: &mut GraphRecorder| {
            record(graph, &count, ways(&counts, 3)[unchecked], &seen);
            // The next node reads the numbers that a node writes.
            set.record(graph, ONE, (&counts, 3_u32, 2_u32, 2_u32, 2_u32)).unwrap();
            record(graph, &count, ways(&counts, 3)[unchecked], &seen);
            Ok::<_, KernelError>(())
        })
        .unwrap();
        let mut total = 0;
        for n in [3_u32, 0, 9] {
            set.dispatch(stream, ONE, (&counts, 3_u32, n, 1_u32, 1_u32)).unwrap();
            graph.replay(stream).unwrap();
            total += n + 8;
            assert_eq!(contents(&seen)[0], total);
        }
        // The graph holds the numbers' memory.
        drop(counts);
        graph.replay(stream).unwrap();
        assert_eq!(contents(&seen), [total + 16, 9, 2, 2]);
    }
}

#[test]
fn a_graph_node_can_change_to_an_indirect_size() {
    let fixture = Fixture::open();
    let count = kernel(&fixture, COUNT);
    let stream = fixture.default_stream();
    let seen = fixture.zeros::<u32>([4]).unwrap();
    let counts = fixture.slice_to_device(&[4_u32, 3, 1]).unwrap();
    let (mut graph, node) =
        Graph::record(stream, |graph: &mut GraphRecorder| count.record(graph, ONE, (&seen,))).unwrap();
    graph.replay(stream).unwrap();
    node.set_groups(&mut graph, Groups::indirect(&counts, 0)).unwrap();
    graph.replay(stream).unwrap();
    node.set_groups(&mut graph, ONE).unwrap();
    graph.replay(stream).unwrap();
    assert_eq!(contents(&seen), [1 + 12 + 1, 4, 3, 1]);
}

#[test]
fn a_kernel_with_checks_waits_for_the_indirect_size() {
    let fixture = Fixture::open();
    let count = fixture.kernel(Source::wgsl(COUNT)).sanitize(true).build().unwrap();
    let stream = fixture.default_stream();
    let seen = fixture.zeros::<u32>([4]).unwrap();
    let limit = fixture.info().limits.max_compute_work_group_count[1];
    let counts = fixture.slice_to_device(&[4, 3, 1, limit + 1, 1]).unwrap();
    for groups in ways(&counts, 0) {
        count.dispatch(stream, groups, (&seen,)).unwrap();
    }
    assert_eq!(contents(&seen), [24, 4, 3, 1]);
    let error = count.dispatch(stream, Groups::indirect(&counts, 2), (&seen,)).unwrap_err();
    let message = format!("{} workgroups on axis y, the device allows {limit}", u64::from(limit) + 1);
    assert_eq!(error.to_string(), message);
}

#[test]
fn arrays_that_cannot_be_an_indirect_size_are_refused() {
    let fixture = Fixture::open();
    let count = kernel(&fixture, COUNT);
    let stream = fixture.stream().unwrap();
    let seen = fixture.zeros::<u32>([4]).unwrap();
    let floats = fixture.zeros::<f32>([6]).unwrap();
    let numbers = fixture.zeros::<u32>([6]).unwrap();
    let bytes = fixture.zeros::<u8>([24]).unwrap();
    let other = Fixture::open();
    let foreign = other.zeros::<u32>([3]).unwrap();
    let strided = numbers.slice(vkarray_ndarray::s![..;2]).unwrap();
    let cases: Vec<(Groups<'_>, String)> = vec![
        (
            Groups::indirect(&floats, 0),
            "numbers of workgroups are read from contiguous arrays of u32, got an array of f32 with shape (6,)".into(),
        ),
        (
            Groups::indirect(&bytes, 0),
            "numbers of workgroups are read from contiguous arrays of u32, got an array of u8 with shape (24,)".into(),
        ),
        (
            Groups::indirect(&5_u32, 0),
            "numbers of workgroups are read from contiguous arrays of u32, got 5 (u32)".into(),
        ),
        (
            Groups::indirect(&strided, 0),
            "numbers of workgroups are read from contiguous arrays of u32, got an array of u32 with shape (3,) that is \
             not contiguous"
                .into(),
        ),
        (
            Groups::indirect(&numbers, 4),
            "the numbers of workgroups are elements 4 to 4 + 2 of an array of u32 with shape (6,)".into(),
        ),
        (
            Groups::indirect(&numbers, u64::MAX),
            format!(
                "the numbers of workgroups are elements {0} to {0} + 2 of an array of u32 with shape (6,)",
                u64::MAX
            ),
        ),
    ];
    for (groups, message) in cases {
        let error = count.dispatch(&stream, groups, (&seen,)).unwrap_err();
        assert_eq!(error.to_string(), format!("kernel `count`: {message}"));
    }
    let error = count.dispatch(&stream, Groups::indirect(&foreign, 0), (&seen,)).unwrap_err();
    assert!(error.to_string().contains("the array with its number of workgroups belongs to"), "{error}");
    // The arguments of an indirect launch are checked like any others.
    let error = count.dispatch(&stream, Groups::indirect(&numbers, 0), (&floats,)).unwrap_err();
    assert!(matches!(error, KernelError::Argument { .. }), "{error}");
    assert!(stream.query().unwrap(), "a refused call recorded something");
}
