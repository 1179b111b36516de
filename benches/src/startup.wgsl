// Five kernels of usual size. The bench replaces TYPE by an element type, and FUNCTION by a function of `a` and `b`.
const WIDTH: u32 = 128u;

@group(0) @binding(0) var<storage, read> x: array<TYPE>;
@group(0) @binding(1) var<storage, read> y: array<TYPE>;
@group(0) @binding(2) var<storage, read_write> out: array<TYPE>;
var<immediate> n: u32;
var<workgroup> tile: array<TYPE, WIDTH>;
var<workgroup> left: array<TYPE, 256>;
var<workgroup> right: array<TYPE, 256>;

fn combine(a: TYPE, b: TYPE) -> TYPE {
    return FUNCTION;
}

// out[i] = f(x[i], f(y[i], x[i])), four elements an invocation.
@compute @workgroup_size(WIDTH)
fn map(@builtin(global_invocation_id) id: vec3<u32>) {
    for (var k = 0u; k < 4u; k++) {
        let i = id.x * 4u + k;
        if i < n {
            out[i] = combine(x[i], combine(y[i], x[i]));
        }
    }
}

// out[group] = the sum of f(x[i], y[i]) over the group's elements.
@compute @workgroup_size(WIDTH)
fn sum(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    tile[local] = TYPE(0);
    if id.x < n {
        tile[local] = combine(x[id.x], y[id.x]);
    }
    workgroupBarrier();
    for (var half = WIDTH / 2u; half > 0u; half /= 2u) {
        if local < half {
            tile[local] += tile[local + half];
        }
        workgroupBarrier();
    }
    if local == 0u {
        out[group.x] = tile[0];
    }
}

// out[i] = f of each element and its neighbours, which wrap around.
@compute @workgroup_size(WIDTH)
fn stencil(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= n {
        return;
    }
    let before = x[(id.x + n - 1u) % n];
    let after = x[(id.x + 1u) % n];
    var value = combine(before, x[id.x]) + combine(x[id.x], after);
    for (var k = 2u; k < 8u; k++) {
        value = combine(value, y[(id.x + k) % n]);
    }
    out[id.x] = value;
}

// out = x y, of n × n elements, by tiles of 16 × 16.
@compute @workgroup_size(16, 16)
fn product(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>,
) {
    var value = TYPE(0);
    let at = local.y * 16u + local.x;
    for (var start = 0u; start < n; start += 16u) {
        left[at] = x[id.y * n + start + local.x];
        right[at] = y[(start + local.y) * n + id.x];
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            value += combine(left[local.y * 16u + k], right[k * 16u + local.x]);
        }
        workgroupBarrier();
    }
    out[id.y * n + id.x] = value;
}

// out = the tiles of f(x, y), each sorted.
@compute @workgroup_size(WIDTH)
fn sort(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    tile[local] = combine(x[id.x], y[id.x]);
    workgroupBarrier();
    for (var size = 2u; size <= WIDTH; size *= 2u) {
        for (var distance = size / 2u; distance > 0u; distance /= 2u) {
            let other = local ^ distance;
            if other > local {
                let ascending = (local & size) == 0u;
                let a = tile[local];
                let b = tile[other];
                if (a > b) == ascending {
                    tile[local] = b;
                    tile[other] = a;
                }
            }
            workgroupBarrier();
        }
    }
    out[id.x] = tile[local];
}
