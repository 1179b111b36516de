// y[i] = x[0] + ... + x[i], of one workgroup's elements at most
const WORKGROUP = 64u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

var<workgroup> sums: array<u32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn running_sum(@builtin(local_invocation_index) rank: u32) {
    let is_inside = rank < arrayLength(&x);
    sums[rank] = 0u;
    if is_inside {
        sums[rank] = x[rank];
    }
    workgroupBarrier();
    for (var step = 1u; step < WORKGROUP; step *= 2u) {
        var left = 0u;
        if rank >= step {
            left = sums[rank - step];
        }
        workgroupBarrier(); // All have read before any writes.
        sums[rank] += left;
        workgroupBarrier();
    }
    if is_inside {
        y[rank] = sums[rank];
    }
}
