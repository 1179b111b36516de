// Kernels with a data race on shared memory. `x` holds 0, 1, …, 63; `y` 64 zeros.
@group(0) @binding(0) var<storage, read_write> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

struct Pair { first: i32, second: i32 }

var<workgroup> tile: array<i32, 64>;
var<workgroup> total: i32;
var<workgroup> pairs: array<Pair, 64>;
var<workgroup> flags: array<bool, 64>;

fn fill(l: u32) {
    tile[l] = 0;
    workgroupBarrier();
}

@compute @workgroup_size(64) fn all_write(@builtin(local_invocation_index) l: u32) {
    total = x[l]; //~ all_write
}

@compute @workgroup_size(64) fn neighbour(@builtin(local_invocation_index) l: u32) {
    fill(l);
    tile[l] = tile[63u - l] + x[l]; //~ neighbour
}

@compute @workgroup_size(64) fn reduction(@builtin(local_invocation_index) l: u32) {
    tile[l] = x[l];
    workgroupBarrier();
    for (var s = 32u; s > 0u; s >>= 1u) {
        if l < s {
            tile[l] += tile[l + s]; //~ reduction
        }
    }
    if l == 0u {
        y[0] = tile[0];
    }
}

@compute @workgroup_size(64) fn through_a_pointer(@builtin(local_invocation_index) l: u32) {
    fill(l);
    let place = &tile[l / 2u];
    if x[l] >= 0 {
        *place += 1; //~ through_a_pointer
    }
}

@compute @workgroup_size(64) fn wrong_barrier(@builtin(local_invocation_index) l: u32) {
    fill(l);
    tile[l] = x[l];
    storageBarrier();
    y[l] = tile[l ^ 1u]; //~ wrong_barrier
}

@compute @workgroup_size(64) fn whole_struct(@builtin(local_invocation_index) l: u32) {
    pairs[l] = Pair(x[l], x[l]);
    workgroupBarrier();
    if l < 32u {
        pairs[l].second = 1;
    } else {
        let pair = pairs[63u - l]; //~ whole_struct
        y[l] = pair.first;
    }
}

@compute @workgroup_size(64) fn small_values(@builtin(local_invocation_index) l: u32) {
    flags[l / 2u] = x[l] > 10; //~ small_values
}

@compute @workgroup_size(64) fn second_round(@builtin(local_invocation_index) l: u32) {
    var sum = 0;
    for (var round = 0; round < 3; round++) {
        tile[l] = x[l] + round; //~ second_round
        workgroupBarrier();
        sum += tile[(l + 63u) & 63u];
    }
    y[l] = sum;
}

@compute @workgroup_size(64) fn first_round(@builtin(local_invocation_index) l: u32) {
    var sum = 0;
    for (var round = 0; round < 3; round++) {
        tile[l] = x[l] + round; sum += tile[63u - l]; //~ first_round
        workgroupBarrier();
    }
    y[l] = sum;
}
