// counts[d, g] = number of keys of workgroup g with (key >> shift) & 15 = d
//
// The first of three launches that sort keys by four of their bits: `radix_count`, `scan` of the counts,
// `radix_scatter`. With shift = 0, 4, ..., 28 they sort numbers of 32 bits. Workgroup g has the keys from g * GROUP on.
// Counts of the same digit are next to each other, so that their scan gives, for each digit and workgroup, where its
// keys begin. Dispatch covering (number of keys), with 16 counts for each workgroup.

const GROUP = 256u;

@group(0) @binding(0) var<storage, read> keys: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
var<immediate> shift: u32;

var<workgroup> counts_of_group: array<atomic<u32>, 16>; // Workgroup memory starts as zeros.

@compute @workgroup_size(GROUP)
fn radix_count(
    @builtin(global_invocation_id) at: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) rank: u32,
) {
    if at.x < arrayLength(&keys) {
        atomicAdd(&counts_of_group[(keys[at.x] >> shift) & 15u], 1u);
    }
    workgroupBarrier();
    if rank < 16u {
        let n_groups = arrayLength(&counts) / 16u;
        counts[rank * n_groups + group.x] = atomicLoad(&counts_of_group[rank]);
    }
}
