// Kernels without a fault. Some are close to one. `x` holds 0, 1, …, 63; `y` 64 zeros.
@group(0) @binding(0) var<storage, read_write> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

struct Item { values: array<i32, 4> }
@group(0) @binding(2) var<storage, read_write> items: array<Item>;

@group(0) @binding(3) var<storage, read_write> hits: array<atomic<i32>>;

struct Padded { small: i32, wide: vec3<i32>, flag: bool }
struct Ids { @builtin(global_invocation_id) global: vec3<u32>, @builtin(local_invocation_index) local: u32 }

override N: u32 = 64;
var<workgroup> tile: array<i32, N>;
var<workgroup> other: array<i32, N>;
var<workgroup> square: array<array<i32, 8>, 8>;
var<workgroup> counts: array<atomic<u32>, 8>;
var<workgroup> padded: array<Padded, 64>;
var<workgroup> total: i32;
var<workgroup> vectors: array<vec3<i32>, 64>;
var<workgroup> matrix: mat3x3<f32>;
var<workgroup> flags: array<bool, 64>;

@compute @workgroup_size(48) fn guarded(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) {
        y[id.x] = x[id.x];
    }
}

@compute @workgroup_size(128) fn returns_early(ids: Ids) {
    if ids.global.x >= arrayLength(&x) {
        return;
    }
    y[ids.local] = x[ids.global.x];
}

@compute @workgroup_size(64) fn short_circuit(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x + 1u < arrayLength(&x) && x[id.x + 1u] > 3 {
        y[id.x] = 1;
    }
    if id.x == 0u || x[id.x - 1u] == 0 {
        y[id.x] += 1;
    }
}

@compute @workgroup_size(64) fn divides(@builtin(global_invocation_id) id: vec3<u32>) {
    let v = x[id.x];
    var quotient = (v - 32) / -1;
    if v != 0 {
        quotient += 100 / v + 100 % v;
    }
    let least = i32(-2147483648) / (v + 1);
    y[id.x] = quotient + least + (vec2<i32>(v, v) / vec2<i32>(3, -7)).y;
}

@compute @workgroup_size(64) fn reduction(@builtin(local_invocation_index) l: u32) {
    tile[l] = x[l];
    for (var s = 32u; s > 0u; s >>= 1u) {
        workgroupBarrier();
        if l < s {
            tile[l] += tile[l + s];
        }
    }
    if l == 0u {
        y[0] = tile[0];
    }
}

@compute @workgroup_size(64) fn scan(@builtin(local_invocation_index) l: u32) {
    tile[l] = x[l];
    workgroupBarrier();
    for (var s = 1u; s < 64u; s <<= 1u) {
        var sum = tile[l];
        if l >= s {
            sum += tile[l - s];
        }
        workgroupBarrier();
        tile[l] = sum;
        workgroupBarrier();
    }
    y[l] = tile[l];
}

@compute @workgroup_size(64) fn two_buffers(@builtin(local_invocation_index) l: u32) {
    tile[l] = x[l];
    for (var round = 0u; round < 6u; round++) {
        workgroupBarrier();
        if round % 2u == 0u {
            other[l] = tile[(l + 1u) % 64u];
        } else {
            tile[l] = other[(l + 1u) % 64u];
        }
    }
    workgroupBarrier();
    y[l] = tile[63u - l];
}

@compute @workgroup_size(8, 8) fn transposed(@builtin(local_invocation_id) l: vec3<u32>) {
    square[l.y][l.x] = x[l.y * 8u + l.x];
    workgroupBarrier();
    y[l.y * 8u + l.x] = square[l.x][l.y];
}

@compute @workgroup_size(64) fn histogram(@builtin(local_invocation_index) l: u32) {
    if l < 8u {
        atomicStore(&counts[l], 0u);
    }
    workgroupBarrier();
    atomicAdd(&counts[u32(x[l]) % 8u], 1u);
    workgroupBarrier();
    if l < 8u {
        y[l] = i32(atomicLoad(&counts[l]));
    }
}

@compute @workgroup_size(64) fn broadcast(@builtin(local_invocation_index) l: u32) {
    if l == 17u {
        total = x[l];
    }
    workgroupBarrier();
    y[l] = total;
    workgroupBarrier();
    if l == 3u {
        total = x[l];
    }
    y[l] += workgroupUniformLoad(&total);
    if l == 5u {
        total = 1;
    }
}

@compute @workgroup_size(64) fn padding(@builtin(local_invocation_index) l: u32) {
    padded[l].small = x[l];
    padded[l].wide = vec3<i32>(x[l]);
    padded[l].flag = l > 3u;
    workgroupBarrier();
    let item = padded[63u - l];
    y[l] = item.small + item.wide.z + select(0, 1, item.flag);
}

@compute @workgroup_size(64) fn vectors_of_three(@builtin(local_invocation_index) l: u32) {
    vectors[l].x = x[l];
    vectors[l][1] = x[l];
    vectors[l][x[l] % 1 + 2] = x[l];
    workgroupBarrier();
    let v = vectors[(l + 5u) % 64u];
    y[l] = v.x + v.y + v.z;
}

@compute @workgroup_size(3) fn columns(@builtin(local_invocation_index) l: u32) {
    matrix[l] = vec3<f32>(f32(x[l]));
    workgroupBarrier();
    let m = matrix;
    y[l] = i32(m[l][2] + transpose(m)[2][l]);
}

@compute @workgroup_size(64) fn truth(@builtin(local_invocation_index) l: u32) {
    flags[l] = x[l] > 10;
    workgroupBarrier();
    y[l] = select(0, 1, flags[l ^ 1u] && flags[l ^ 2u]);
}

fn twice(cells: ptr<function, array<i32, 4>>, i: u32) -> i32 {
    (*cells)[i] += 1;
    return (*cells)[i] * 2;
}

@compute @workgroup_size(64) fn pointers(@builtin(local_invocation_index) l: u32) {
    tile[l] = x[l];
    other[l] = x[l];
    let place = &tile[l];
    *place += 5;
    var own = array<i32, 4>(1, 2, 3, 4);
    y[l] = twice(&own, l % 4u) + *place;
    workgroupBarrier();
    y[l] += tile[l / 2u] + other[63u - l];
}

@compute @workgroup_size(64) fn uniform_branch(
    @builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3<u32>,
) {
    tile[l] = x[l];
    if w.x % 2u == 1u {
        workgroupBarrier();
        if w.x == 1u {
            y[l] = tile[63u - l];
        }
        workgroupBarrier();
        tile[l] = 0;
    }
    workgroupBarrier();
}

@compute @workgroup_size(64) fn nested_loops(@builtin(local_invocation_index) l: u32) {
    var sum = 0;
    for (var i = 0u; i < 3u; i++) {
        tile[l] = x[l];
        workgroupBarrier();
        for (var j = 0u; j < l; j++) {
            if tile[j] % 2 == 0 {
                continue;
            }
            if sum > 1000 {
                break;
            }
            sum += tile[j];
        }
        workgroupBarrier();
    }
    y[l] = sum;
}

@compute @workgroup_size(64) fn own_items(@builtin(local_invocation_index) l: u32) {
    tile[l] = x[l];
    tile[l] += 1;
    y[l] = tile[l];
}

@compute @workgroup_size(16) fn members(@builtin(global_invocation_id) id: vec3<u32>) {
    var sum = 0;
    for (var i = 0; i < 4; i++) {
        sum += items[id.x].values[i];
    }
    items[id.x].values[3] = sum;
    y[id.x] = items[id.x].values[3];
}

@compute @workgroup_size(64) fn private_arrays(@builtin(global_invocation_id) id: vec3<u32>) {
    var stack: array<i32, 8>;
    var depth = 0;
    var n = x[id.x];
    while n > 0 {
        stack[depth] = n % 2;
        depth++;
        n /= 2;
    }
    while depth > 0 {
        depth--;
        y[id.x] = y[id.x] * 10 + stack[depth];
    }
}

@compute @workgroup_size(16) fn halo(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    tile[l + 1u] = x[id.x];
    if l == 0u {
        tile[0] = x[max(id.x, 1u) - 1u];
    }
    if l == 15u {
        tile[17] = x[min(id.x + 1u, 63u)];
    }
    workgroupBarrier();
    y[id.x] = tile[l] + tile[l + 1u] + tile[l + 2u];
}

@compute @workgroup_size(4, 4, 4) fn switches(@builtin(local_invocation_index) l: u32) {
    tile[l] = 0;
    switch x[l] % 3 {
        case 0: { tile[l] = x[l]; }
        case 1: { tile[l] = x[l] / 3; }
        default: { tile[l] -= 1; }
    }
    workgroupBarrier();
    y[l] = tile[l ^ 7u];
}

// The following kernels come close to a race on a buffer.
@compute @workgroup_size(64) fn one_accumulates(@builtin(local_invocation_index) l: u32) {
    if l == 5u {
        for (var i = 0; i < 64; i++) {
            y[0] = y[0] + x[i];
        }
    }
}

@compute @workgroup_size(64) fn exchanged(@builtin(local_invocation_index) l: u32) {
    y[l] = x[l];
    storageBarrier();
    let other = y[63u - l];
    storageBarrier();
    y[l] = other * 2;
}

@compute @workgroup_size(64) fn read_by_all_then_written(@builtin(local_invocation_index) l: u32) {
    let sum = x[0] + x[63];
    storageBarrier();
    x[l] = sum;
    y[l] = x[l];
}

@compute @workgroup_size(64) fn atomic_hits(@builtin(local_invocation_index) l: u32) {
    atomicAdd(&hits[l % 3u], 1);
    atomicMax(&hits[3], i32(l));
    y[l] = 1;
}

@compute @workgroup_size(16) fn parts_of_workgroups(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3<u32>,
) {
    y[id.x] = x[id.x] + x[0];
    storageBarrier();
    if l == 0u {
        var sum = 0;
        for (var i = 0u; i < 16u; i++) {
            sum += y[w.x * 16u + i];
        }
        y[id.x] = sum;
    }
}

@compute @workgroup_size(16) fn own_members(@builtin(local_invocation_index) l: u32) {
    items[l].values[1] = 3;
    let item = items[l];
    y[l] = item.values[0] + item.values[1];
}
