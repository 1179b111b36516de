// Kernels with a barrier that some invocations do not reach. `x` holds 0, 1, …, 63; `y` 64 zeros.
@group(0) @binding(0) var<storage, read_write> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

var<workgroup> tile: array<i32, 64>;

@compute @workgroup_size(64) fn in_a_branch(@builtin(local_invocation_index) l: u32) {
    tile[l] = x[l];
    if x[l] < 20 {
        workgroupBarrier(); //~ in_a_branch
    }
    y[l] = tile[l];
}

@compute @workgroup_size(64) fn after_return(@builtin(local_invocation_index) l: u32) {
    if x[l] >= 50 {
        return;
    }
    tile[l] = x[l];
    workgroupBarrier(); //~ after_return
    y[l] = tile[l];
}

@compute @workgroup_size(64) fn in_a_loop(@builtin(local_invocation_index) l: u32) {
    tile[l] = 0;
    for (var i = 0; i <= x[l] / 16; i++) {
        tile[l] += i;
        workgroupBarrier(); //~ in_a_loop
    }
    y[l] = tile[l];
}

@compute @workgroup_size(64) fn storage_too(@builtin(local_invocation_index) l: u32) {
    if x[l] % 2 == 0 {
        storageBarrier(); //~ storage_too
    }
    y[l] = 1;
}
