// y[i] = x[0] + ... + x[i], for each 64 elements by themselves

const WORKGROUP = 64u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

var<workgroup> sums: array<u32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn scan(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_index) rank: u32) {
    let is_inside = at.x < arrayLength(&x);
    var mine = 0u;
    if is_inside {
        mine = x[at.x];
    }
    sums[rank] = mine;
    workgroupBarrier();
    for (var step = 1u; step < WORKGROUP; step *= 2u) {
        // All read before any writes: hence two barriers in a round.
        let left = select(0u, sums[rank - min(step, rank)], rank >= step);
        workgroupBarrier();
        sums[rank] += left;
        workgroupBarrier();
    }
    if is_inside {
        y[at.x] = sums[rank];
    }
}
