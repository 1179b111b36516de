// Kernels without a fault that rely on shared memory starting as zero. `x` holds 0, 1, …, 63; `y` 64 zeros.
@group(0) @binding(0) var<storage, read_write> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

struct Pair { sum: i32, flags: vec3<bool> }

var<workgroup> n: atomic<u32>;
var<workgroup> counts: array<atomic<i32>, 8>;
var<workgroup> tile: array<i32, 64>;
var<workgroup> pairs: array<Pair, 5>;

@compute @workgroup_size(64) fn counts_at_once(@builtin(local_invocation_index) l: u32) {
    if x[l] % 3 == 0 {
        atomicAdd(&n, 1u);
    }
    workgroupBarrier();
    y[l] = i32(atomicLoad(&n));
}

@compute @workgroup_size(64) fn histogram_at_once(@builtin(local_invocation_index) l: u32) {
    atomicAdd(&counts[x[l] % 7], 1);
    workgroupBarrier();
    if l < 8u {
        y[l] = atomicLoad(&counts[l]) + 1;
    }
}

@compute @workgroup_size(64) fn half_filled(@builtin(local_invocation_index) l: u32) {
    if l < 32u {
        tile[l] = x[l];
    }
    workgroupBarrier();
    y[l] = tile[l ^ 16u];
}

@compute @workgroup_size(64) fn never_written(@builtin(local_invocation_index) l: u32) {
    let pair = pairs[l % 5u];
    y[l] = 1 + pair.sum + select(0, 9, any(pair.flags));
}
