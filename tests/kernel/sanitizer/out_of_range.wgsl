// Kernels with one index that is out of range. `x` holds 0, 1, …, 63; `y` 64 zeros.
@group(0) @binding(0) var<storage, read_write> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

struct Item { values: array<i32, 4> }
@group(0) @binding(2) var<storage, read_write> items: array<Item>;

override N: u32 = 16;
var<workgroup> tile: array<i32, N>;
var<workgroup> counts: array<atomic<i32>, 16>;

@compute @workgroup_size(64) fn past_end(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = x[id.x + 1u]; //~ past_end
}

@compute @workgroup_size(64) fn before_start(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    y[i] = x[i - 1]; //~ before_start
}

@compute @workgroup_size(64) fn write_past_end(@builtin(global_invocation_id) id: vec3<u32>) {
    let value = x[id.x];
    y[id.x + 3u] = value; //~ write_past_end
}

@compute @workgroup_size(128) fn surplus(@builtin(global_invocation_id) id: vec3<u32>) {
    x[id.x] += 1; //~ surplus
}

@compute @workgroup_size(64) fn private_array(@builtin(global_invocation_id) id: vec3<u32>) {
    var squares: array<i32, 8>;
    for (var i = 0; i < 8; i++) {
        squares[i] = i * i;
    }
    y[id.x] = squares[x[id.x]]; //~ private_array
}

@compute @workgroup_size(16) fn shared_array(@builtin(local_invocation_index) l: u32) {
    tile[l] = x[l];
    workgroupBarrier();
    y[l] = tile[l + 1u]; //~ shared_array
}

@compute @workgroup_size(64) fn component(@builtin(global_invocation_id) id: vec3<u32>) {
    let v = vec4<i32>(1, 2, 3, 4);
    y[id.x] = v[x[id.x] % 5]; //~ component
}

@compute @workgroup_size(16) fn member(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = items[id.x].values[id.x / 2u]; //~ member
}

@compute @workgroup_size(32) fn fixed_index(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = x[64]; //~ fixed_index
}

fn at(i: u32) -> i32 {
    return x[i]; //~ in_function
}

@compute @workgroup_size(32) fn in_function(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = at(id.x * 3u);
}

@compute @workgroup_size(32) fn atomic_index(@builtin(local_invocation_index) l: u32) {
    if l < 16u {
        atomicStore(&counts[l], 0);
    }
    workgroupBarrier();
    atomicAdd(&counts[x[l]], 1); //~ atomic_index
}

@compute @workgroup_size(64) fn guard_too_late(@builtin(global_invocation_id) id: vec3<u32>) {
    if x[id.x + 1u] > 0 && id.x < 63u { //~ guard_too_late
        y[id.x] = 1;
    }
}

@compute @workgroup_size(64) fn loop_too_long(@builtin(global_invocation_id) id: vec3<u32>) {
    var sum = 0;
    for (var i = 0u; i <= arrayLength(&x); i++) {
        sum += x[i]; //~ loop_too_long
    }
    y[id.x] = sum;
}
