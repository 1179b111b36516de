// partial[g] = sum of the 64 elements of x that begin at 64 * g

const WORKGROUP = 64u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> partial: array<u32>;

var<workgroup> part: array<u32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn sum(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_index) rank: u32) {
    var mine = 0u;
    if at.x < arrayLength(&x) {
        mine = x[at.x];
    }
    part[rank] = mine;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        if rank < half {
            part[rank] += part[rank + half];
        }
        workgroupBarrier();
    }
    if rank == 0u {
        partial[at.x / WORKGROUP] = part[0];
    }
}
