// y[i] = x[indices[i]]
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn gather(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&y) {
        y[at.x] = x[indices[at.x]];
    }
}
