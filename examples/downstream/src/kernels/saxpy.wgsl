// y[i] = a * x[i] + y[i]

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> a: f32;

@compute @workgroup_size(64)
fn saxpy(@builtin(global_invocation_id) at: vec3<u32>) {
    let i = at.x;
    if i < arrayLength(&y) {
        y[i] += a * x[i];
    }
}
