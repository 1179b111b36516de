// total = total + sum over i of x[i], step 5 of 5: subgroups
//
// A subgroup is the invocations that the device runs together, such as 32. They add their numbers without memory and
// without barriers; one number of each subgroup is left for the atomic addition in workgroup memory. Any number of
// workgroups gives the sum. Needs a device with subgroup arithmetic.

enable subgroups;

const WORKGROUP = 256u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> total: array<atomic<u32>>;

var<workgroup> sum_of_group: atomic<u32>; // Workgroup memory starts as zeros.

@compute @workgroup_size(WORKGROUP)
fn reduce_5_subgroups(
    @builtin(global_invocation_id) at: vec3<u32>,
    @builtin(local_invocation_index) rank: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    var sum = 0u;
    for (var i = at.x; i < arrayLength(&x); i += WORKGROUP * groups.x) {
        sum += x[i];
    }
    sum = subgroupAdd(sum);
    if lane == 0u {
        atomicAdd(&sum_of_group, sum);
    }
    workgroupBarrier();
    if rank == 0u {
        atomicAdd(&total[0], atomicLoad(&sum_of_group));
    }
}
