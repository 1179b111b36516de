// y[i] = x[n - 1 - i]

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(64)
fn reverse(@builtin(global_invocation_id) at: vec3<u32>) {
    let n = arrayLength(&x);
    if at.x < n {
        y[at.x] = x[n - 1u - at.x];
    }
}
