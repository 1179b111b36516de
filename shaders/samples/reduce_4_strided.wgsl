// total = total + sum over i of x[i], step 4 of 5: many elements for each invocation
//
// Each invocation first adds elements that lie a whole launch apart, in a register: most additions need no barrier, and
// neighbours read neighbouring elements. Any number of workgroups gives the sum; a few for each core are enough.

const WORKGROUP = 256u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> total: array<atomic<u32>>;

var<workgroup> part: array<u32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn reduce_4_strided(
    @builtin(global_invocation_id) at: vec3<u32>,
    @builtin(local_invocation_index) rank: u32,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    var sum = 0u;
    for (var i = at.x; i < arrayLength(&x); i += WORKGROUP * groups.x) {
        sum += x[i];
    }
    part[rank] = sum;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        if rank < half {
            part[rank] += part[rank + half];
        }
        workgroupBarrier();
    }
    if rank == 0u {
        atomicAdd(&total[0], part[0]);
    }
}
