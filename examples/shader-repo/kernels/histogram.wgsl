// bins[b] = number of elements with x[i] % 16 == b
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>, 16>;

@compute @workgroup_size(64)
fn histogram(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) {
        atomicAdd(&bins[x[at.x] % 16u], 1u);
    }
}
