// total = total + sum over i of x[i], step 2 of 5: a tree in workgroup memory, by pairs
//
// Neighbours are added, then pairs of pairs, until one sum is left: 8 rounds for 256 elements, and one atomic addition
// for each workgroup. In each round the invocations that still work lie further apart, although the device runs
// neighbouring invocations together. Dispatch covering (length of x), with total = [0].

const WORKGROUP = 256u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> total: array<atomic<u32>>;

var<workgroup> part: array<u32, WORKGROUP>; // The memory starts as zeros.

@compute @workgroup_size(WORKGROUP)
fn reduce_2_pairs(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_index) rank: u32) {
    if at.x < arrayLength(&x) {
        part[rank] = x[at.x];
    }
    workgroupBarrier();
    for (var step = 1u; step < WORKGROUP; step *= 2u) {
        if rank % (2u * step) == 0u {
            part[rank] += part[rank + step];
        }
        workgroupBarrier();
    }
    if rank == 0u {
        atomicAdd(&total[0], part[0]);
    }
}
