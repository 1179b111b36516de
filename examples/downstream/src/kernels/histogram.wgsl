// bins[b] = number of i with x[i] == b; larger values count in the last bin

const BINS = 16u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>, BINS>;

@compute @workgroup_size(64)
fn histogram(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) {
        atomicAdd(&bins[min(x[at.x], BINS - 1u)], 1u);
    }
}
