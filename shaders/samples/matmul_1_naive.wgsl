// c[row, column] = sum over i of a[row, i] * b[i, column], step 1 of 5: the formula
//
// a has m x k elements, b has k x n, c has m x n. Each invocation computes one element of c, and reads a row of a and a
// column of b for it: every element of a is read n times, every element of b m times. Dispatch covering (n, m).

struct Params {
    m: u32,
    n: u32,
    k: u32,
}

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<immediate> params: Params;

@compute @workgroup_size(16, 16)
fn matmul_1_naive(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= params.n || at.y >= params.m {
        return;
    }
    var sum = 0.0;
    for (var i = 0u; i < params.k; i++) {
        sum += a[at.y * params.k + i] * b[i * params.n + at.x];
    }
    c[at.y * params.n + at.x] = sum;
}
