// total = total + sum over i of x[i], step 1 of 5: an atomic addition for each element
//
// Atomic additions to one address wait for each other, so this takes as long as if one invocation did all the work.
// The sum of integers is the same in any order; floats would be rounded differently in each run. It wraps at 2^32.
// Dispatch one invocation per element: covering (length of x), with total = [0].

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> total: array<atomic<u32>>;

@compute @workgroup_size(256)
fn reduce_1_atomic(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) {
        atomicAdd(&total[0], x[at.x]);
    }
}
