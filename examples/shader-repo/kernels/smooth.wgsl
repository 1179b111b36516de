// y[i] = (x[i - 1] + 2 * x[i] + x[i + 1]) / 4, with the ends repeated
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn smooth_row(@builtin(global_invocation_id) at: vec3<u32>) {
    let n = arrayLength(&y);
    if at.x >= n {
        return;
    }
    let left = max(at.x, 1u) - 1u;
    let right = min(at.x + 1u, n - 1u);
    y[at.x] = 0.25 * x[left] + 0.5 * x[at.x] + 0.25 * x[right];
}
