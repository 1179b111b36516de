// c = a b by one loop for each element: slow, and plain enough to be right
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<immediate> n: u32;

@compute @workgroup_size(64)
fn naive_matmul(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= n * n {
        return;
    }
    var sum = 0.0;
    for (var k = 0u; k < n; k += 1u) {
        sum += a[at.x / n * n + k] * b[k * n + at.x % n];
    }
    c[at.x] = sum;
}
