//! Folded launches: a launch along one axis that is longer than the device allows is spread over several axes, and the
//! kernel still sees one axis.
//!
//! On devices with long axes such launches would take too long; `several_queues.rs` runs these tests on a layer with short
//! axes.

use vkarray::kernel::Error as KernelError;
use vkarray::stream::GraphRecorder;
use vkarray::{Graph, Groups, Kernel, Source};

use super::kernel;
use super::spirv::source;
use crate::fixture::{Fixture, contents, skipped};

/// The most workgroups that the tests launch here.
const MOST: u32 = 150_000;

/// Each workgroup of four invocations records its index and the built-in values that it sees.
const NOTE: &str = "
    @group(0) @binding(0) var<storage, read_write> visits: array<atomic<u32>>;
    @group(0) @binding(1) var<storage, read_write> wrong: array<atomic<u32>>;
    var<immediate> n: u32;
    @compute @workgroup_size(2, 2) fn note(
        @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
    ) {
        let is_right = all(id == group * vec3(2u, 2u, 1u) + local) && all(group.yz == vec2(0u)) && group.x < n
            && all(groups == vec3(n, 1u, 1u));
        if !is_right { atomicAdd(&wrong[0], 1u); }
        if id.x < arrayLength(&visits) { atomicAdd(&visits[id.x], 1u + 2u * id.y); }
    }";

/// [`NOTE`] in GLSL.
const NOTE_IN_GLSL: &str = "#version 450
    layout(local_size_x = 2, local_size_y = 2) in;
    layout(binding = 0) buffer Visits { uint visits[]; };
    layout(binding = 1) buffer Wrong { uint wrong[]; };
    layout(push_constant) uniform Push { uint n; };
    void main() {
        uvec3 id = gl_GlobalInvocationID;
        uvec3 expected = gl_WorkGroupID * uvec3(2, 2, 1) + gl_LocalInvocationID;
        bool is_right = id == expected && gl_WorkGroupID.y == 0 && gl_WorkGroupID.z == 0 && gl_WorkGroupID.x < n
            && gl_NumWorkGroups == uvec3(n, 1, 1);
        if (!is_right) atomicAdd(wrong[0], 1);
        if (gl_GlobalInvocationID.x < visits.length()) atomicAdd(visits[gl_GlobalInvocationID.x], 1 + 2 * id.y);
    }";

/// [`NOTE`] in GLSL, which asks for one of the numbers alone.
const NOTE_ONE_IN_GLSL: &str = "#version 450
    layout(local_size_x = 2, local_size_y = 2) in;
    layout(binding = 0) buffer Visits { uint visits[]; };
    layout(binding = 1) buffer Wrong { uint wrong[]; };
    layout(push_constant) uniform Push { uint n; };
    void main() {
        uint i = gl_GlobalInvocationID.x;
        if (i >= 2 * n) atomicAdd(wrong[0], 1);
        if (i < visits.length()) atomicAdd(visits[i], 1 + 2 * gl_GlobalInvocationID.y);
    }";

/// Workgroups in a row and in a plane of rows, if a longer launch is possible on this device.
fn axes(fixture: &Fixture, test: &str) -> Option<(u32, u32)> {
    let [row, n_rows, _] = fixture.info().limits.max_compute_work_group_count;
    if row >= MOST {
        skipped(test, "an axis short enough to be passed");
        return None;
    }
    Some((row, row.saturating_mul(n_rows)))
}

/// Numbers of workgroups around the ends of rows and planes.
fn lengths(row: u32, plane: u32) -> impl Iterator<Item = u32> {
    let around = [row, 2 * row, plane, plane.saturating_mul(3)];
    let all =
        around.into_iter().flat_map(|n| [n - 1, n, n.saturating_add(1)]).chain([row + 2, plane.saturating_add(row)]);
    all.filter(|&n| n <= MOST)
}

#[test]
fn every_workgroup_runs_once_and_sees_one_axis() {
    let fixture = Fixture::open();
    let Some((row, plane)) = axes(&fixture, "every_workgroup_runs_once_and_sees_one_axis") else { return };
    let notes = [Source::wgsl(NOTE), Source::glsl(NOTE_IN_GLSL), Source::glsl(NOTE_ONE_IN_GLSL)];
    let notes = notes.map(|source| fixture.kernel(source).build().unwrap());
    let wrong = fixture.zeros::<u32>([1]).unwrap();
    for (note, n) in notes.iter().flat_map(|note| lengths(row, plane).map(move |n| (note, n))) {
        // As many items as invocations on x, or one item less.
        for items in [2 * n, 2 * n - 1] {
            let visits = fixture.zeros::<u32>([items as usize + 5]).unwrap();
            let groups = Groups::covering(items as usize);
            note.dispatch(fixture.default_stream(), groups, (&visits, &wrong, n)).unwrap();
            let visits = contents(&visits);
            // Two invocations on y: one adds 1, the other 3.
            let seen = visits.iter().position(|&visits| visits != 4).unwrap();
            assert_eq!((seen, visits[seen]), (2 * n as usize, 0).min((visits.len(), 0)), "{n} workgroups");
        }
    }
    assert_eq!(contents(&wrong), [0]);
}

/// A kernel with shared memory and barriers, which all invocations of a workgroup reach.
const SUM: &str = "
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> sums: array<u32>;
    var<workgroup> tile: array<u32, 4>;
    @compute @workgroup_size(4) fn sum(
        @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(local_invocation_index) i: u32,
    ) {
        if group.x == 3u { return; }
        tile[i] = x[id.x];
        workgroupBarrier();
        if i == 0u { sums[group.x] = tile[0] + tile[1] + tile[2] + tile[3]; }
    }";

fn sums(fixture: &Fixture, sum: &Kernel, n: u32) {
    let x: Vec<u32> = (0..4 * n).map(|i| i % 1009).collect();
    let device = fixture.slice_to_device(&x).unwrap();
    let sums = fixture.zeros::<u32>([n as usize]).unwrap();
    sum.dispatch(fixture.default_stream(), Groups::exact([n, 1, 1]), (&device, &sums)).unwrap();
    let mut expected: Vec<u32> = x.chunks(4).map(|four| four.iter().sum()).collect();
    expected[3] = 0;
    assert_eq!(contents(&sums), expected, "{n} workgroups");
}

#[test]
fn kernels_with_barriers_and_checks_are_folded() {
    let fixture = Fixture::open();
    let Some((row, plane)) = axes(&fixture, "kernels_with_barriers_and_checks_are_folded") else { return };
    let builder = || fixture.kernel(Source::wgsl(SUM));
    let sum = builder().build().unwrap();
    lengths(row, plane).for_each(|n| sums(&fixture, &sum, n));
    // Instrumented kernels read the number of workgroups even if the kernel itself does not.
    let checked = builder().sanitize(true).build().unwrap();
    sums(&fixture, &checked, row + 1);
    sums(&fixture, &checked, row + 2);
}

#[test]
fn kernels_of_glsl_are_folded() {
    let fixture = Fixture::open();
    let Some((row, _)) = axes(&fixture, "kernels_of_glsl_are_folded") else { return };
    let saxpy = fixture.kernel(source("saxpy.comp")).build().unwrap();
    let n = 64 * row as usize + 7;
    if n > 1 << 20 {
        return skipped("kernels_of_glsl_are_folded", "a row of less than a million items");
    }
    let (x, y) = (fixture.full([n], 2.0_f32).unwrap(), fixture.full([n], 1.0_f32).unwrap());
    saxpy.dispatch(fixture.default_stream(), Groups::covering(n), (&x, &y, 3.0_f32)).unwrap();
    assert!(contents(&y).iter().all(|&y| y == 7.0));
}

#[test]
fn dispatches_in_graphs_are_folded() {
    let fixture = Fixture::open();
    let Some((row, _)) = axes(&fixture, "dispatches_in_graphs_are_folded") else { return };
    let note = kernel(&fixture, NOTE);
    let n = row + 3;
    let visits = fixture.zeros::<u32>([2 * n as usize]).unwrap();
    let wrong = fixture.zeros::<u32>([1]).unwrap();
    let stream = fixture.default_stream();
    let record = |graph: &mut GraphRecorder| note.record(graph, Groups::exact([n, 1, 1]), (&visits, &wrong, n));
    let (mut graph, node) = Graph::record(stream, record).unwrap();
    graph.replay(stream).unwrap();
    graph.replay(stream).unwrap();
    assert_eq!((contents(&visits), contents(&wrong)), (vec![8; 2 * n as usize], vec![0]));
    // The node's launch is changed from a folded to a plain one.
    node.update(&mut graph, Groups::exact([1, 1, 1]), [("n", 1_u32)]).unwrap();
    graph.replay(stream).unwrap();
    assert_eq!((contents(&visits)[..3].to_vec(), contents(&wrong)), (vec![12, 12, 8], vec![0]));
}

#[test]
fn launches_that_cannot_be_folded_are_refused_with_both_numbers() {
    let fixture = Fixture::open();
    let [x, y, z] = fixture.info().limits.max_compute_work_group_count;
    let note = kernel(&fixture, NOTE);
    let array = fixture.zeros::<u32>([4]).unwrap();
    let other = fixture.zeros::<u32>([4]).unwrap();
    let stream = fixture.stream().unwrap();
    let refused = |groups| note.dispatch(&stream, groups, (&array, &other, 1_u32)).unwrap_err();
    let message = |n: u64, axis, limit| format!("{n} workgroups on axis {axis}, the device allows {limit}");
    if let Some(more) = x.checked_add(1) {
        assert_eq!(refused(Groups::exact([more, 2, 1])).to_string(), message(more.into(), 'x', x));
        assert_eq!(refused(Groups::exact([more, 1, 2])).to_string(), message(more.into(), 'x', x));
    }
    assert_eq!(refused(Groups::exact([1, y + 1, 1])).to_string(), message(u64::from(y) + 1, 'y', y));
    assert_eq!(refused(Groups::exact([1, 1, z + 1])).to_string(), message(u64::from(z) + 1, 'z', z));
    // The number of invocations exceeds 32 bits, or the size of all axes.
    let most = u128::from(x) * u128::from(y) * u128::from(z);
    let most = u64::try_from(most).unwrap_or(u64::MAX).min(u32::MAX.into());
    let error = refused(Groups::covering(usize::try_from(2 * most + 1).unwrap()));
    assert_eq!(error.to_string(), message(most + 1, 'x', x));
    assert!(stream.query().unwrap(), "a refused call recorded something");
}

#[test]
fn a_launch_of_more_than_32_bits_of_invocations_is_refused() {
    let fixture = Fixture::open();
    let limits = fixture.info().limits.max_compute_work_group_count;
    let note = kernel(&fixture, NOTE); // Two by two invocations a workgroup.
    let visits = fixture.zeros::<u32>([64]).unwrap();
    let wrong = fixture.zeros::<u32>([1]).unwrap();
    let stream = fixture.stream().unwrap();
    let refused = |groups| note.dispatch(&stream, groups, (&visits, &wrong, 1_u32)).unwrap_err();
    let most: u64 = limits.iter().map(|&limit| u64::from(limit)).fold(1, u64::saturating_mul);
    let message = |n: u64, axis| {
        format!(
            "{n} workgroups of 2 invocations on axis {axis}: one dispatch has at most 4294967296 invocations on an \
             axis, which global_invocation_id numbers in 32 bits; dispatch the items in parts"
        )
    };
    // The launch is along x, and folded where the device's axis is shorter.
    let n = (1_u32 << 31) + 1;
    let covered = [(1_usize << 32) + 1, (1 << 32) + 64, (1 << 33) - 2]
        .map(|items| (Groups::covering(items), items.div_ceil(2) as u64));
    for (groups, n) in covered.into_iter().chain([(Groups::exact([n, 1, 1]), n.into())]) {
        let error = refused(groups);
        if n > most {
            // The launch is too long to be folded.
            assert!(matches!(error, KernelError::GroupCount { axis: 'x', .. }), "{error}");
        } else {
            assert_eq!(error.to_string(), message(n, 'x'));
        }
    }
    let error = refused(Groups::covering([1_u64 << 40]));
    assert!(matches!(error, KernelError::GroupCount { axis: 'x', .. }), "{error}");
    // A long launch on another axis runs only where a device launches that many workgroups.
    if limits[1] >= n {
        assert_eq!(refused(Groups::exact([1, n, 1])).to_string(), message(n.into(), 'y'));
    }
    assert!(stream.query().unwrap(), "a refused call recorded something");
    assert_eq!(contents(&visits), [0; 64]);
}

#[test]
fn long_launches_of_spirv_are_refused() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_compute_work_group_count[0];
    let saxpy = fixture.kernel(source("saxpy.spv")).build().unwrap();
    let (x, y) = (fixture.zeros::<f32>([4]).unwrap(), fixture.zeros::<f32>([4]).unwrap());
    let n = (limit as usize + 1) * 64;
    let error = saxpy.dispatch(fixture.default_stream(), Groups::covering(n), (&x, &y, 1.0_f32)).unwrap_err();
    if n > 1 << 32 {
        // On a device with a long axis, the number of invocations exceeds 32 bits.
        return assert!(matches!(error, KernelError::InvocationCount { axis: 'x', .. }), "{error}");
    }
    assert!(matches!(error, KernelError::GroupCount { axis: 'x', .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "{} workgroups on axis x, the device allows {limit}; SPIR-V is taken as it is, so it is not folded: launch \
             it over several axes",
            u64::from(limit) + 1
        )
    );
}
