// Kernels with a data race on a buffer, inside a workgroup. `x` holds 0, 1, …, 63; `y` 64 zeros.
@group(0) @binding(0) var<storage, read_write> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

struct Item { sum: i32, values: array<i32, 3> }
@group(0) @binding(2) var<storage, read_write> items: array<Item>;

struct Whole { count: i32, rest: array<i32> }
@group(0) @binding(3) var<storage, read_write> whole: Whole;

@compute @workgroup_size(64) fn accumulate(@builtin(local_invocation_index) l: u32) {
    y[0] = y[0] + x[l]; //~ accumulate
}

@compute @workgroup_size(64) fn all_write_the_same() {
    y[3] = 7; //~ all_write_the_same
}

@compute @workgroup_size(64) fn no_barrier(@builtin(local_invocation_index) l: u32) {
    y[l] = x[l]; x[l] = y[63u - l]; //~ no_barrier
}

@compute @workgroup_size(64) fn barrier_of_shared_memory(@builtin(local_invocation_index) l: u32) {
    y[l] = x[l];
    workgroupBarrier();
    x[l] = y[l ^ 32u]; //~ barrier_of_shared_memory
}

@compute @workgroup_size(64) fn next_round(@builtin(local_invocation_index) l: u32) {
    var sum = 0;
    y[l] = x[l];
    for (var round = 0; round < 3; round++) {
        storageBarrier();
        sum += y[(l + 33u) & 63u]; y[l] = x[l] + round; //~ next_round
    }
    x[l] = sum;
}

fn add(i: u32, value: i32) {
    y[i] += value; //~ in_a_function
}

@compute @workgroup_size(64) fn in_a_function(@builtin(local_invocation_index) l: u32) {
    add(l % 7u, x[l]);
}

@compute @workgroup_size(64) fn through_a_pointer(@builtin(local_invocation_index) l: u32) {
    let place = &y[l / 2u];
    *place += 1; //~ through_a_pointer
}

@compute @workgroup_size(32) fn member(@builtin(local_invocation_index) l: u32) {
    items[l / 2u].values[l % 2u + l % 3u / 2u] = 1; //~ member
}

@compute @workgroup_size(16) fn whole_item(@builtin(local_invocation_index) l: u32) {
    items[l].sum = 1; let item = items[l ^ 15u]; y[l] = item.sum; //~ whole_item
}

@compute @workgroup_size(8) fn before_the_array(@builtin(local_invocation_index) l: u32) {
    whole.rest[l] = whole.count; whole.count = 1; //~ before_the_array
}
