// total = total + sum over i of x[i], step 3 of 5: a tree in workgroup memory, by halves
//
// This is step 2, except that the upper half is added to the lower half: the invocations that still work are always the
// first ones, and the others end together. Dispatch covering (length of x), with total = [0].

const WORKGROUP = 256u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> total: array<atomic<u32>>;

var<workgroup> part: array<u32, WORKGROUP>; // The memory starts as zeros.

@compute @workgroup_size(WORKGROUP)
fn reduce_3_halves(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_index) rank: u32) {
    if at.x < arrayLength(&x) {
        part[rank] = x[at.x];
    }
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
