// z[i] = x[i] * y[i], of complex numbers as pairs of numbers that follow each other
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> z: array<f32>;

@compute @workgroup_size(64)
fn naive_complex(@builtin(global_invocation_id) at: vec3<u32>) {
    let re = 2u * at.x;
    if re < arrayLength(&z) {
        z[re] = x[re] * y[re] - x[re + 1u] * y[re + 1u];
        z[re + 1u] = x[re] * y[re + 1u] + x[re + 1u] * y[re];
    }
}
