// y[j, i] = x[i, j] of n rows and columns
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> n: u32;

@compute @workgroup_size(64)
fn naive_transpose(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < n * n {
        y[at.x % n * n + at.x / n] = x[at.x];
    }
}
