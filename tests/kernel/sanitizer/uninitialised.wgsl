// Kernels that read shared memory that was not written. `x` holds 0, 1, …, 63; `y` 64 zeros.
@group(0) @binding(0) var<storage, read_write> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

struct Pair { sum: i32, product: vec3<i32> }

var<workgroup> tile: array<i32, 64>;
var<workgroup> pair: Pair;
var<workgroup> count: atomic<i32>;
var<workgroup> limit: i32;
var<workgroup> vectors: array<vec4<i32>, 64>;

@compute @workgroup_size(64) fn half_filled(@builtin(local_invocation_index) l: u32) {
    if l < 32u {
        tile[l] = x[l];
    }
    workgroupBarrier();
    y[l] = tile[l]; //~ half_filled
}

@compute @workgroup_size(64) fn half_a_struct(@builtin(local_invocation_index) l: u32) {
    if l == 0u {
        pair.sum = x[0];
    }
    workgroupBarrier();
    y[l] = pair.sum;
    y[l] += pair.product.y; //~ half_a_struct
}

@compute @workgroup_size(64) fn counter(@builtin(local_invocation_index) l: u32) {
    atomicAdd(&count, x[l]); //~ counter
}

@compute @workgroup_size(64) fn uniform_load(@builtin(local_invocation_index) l: u32) {
    y[l] = workgroupUniformLoad(&limit); //~ uniform_load
}

@compute @workgroup_size(64) fn one_component(@builtin(local_invocation_index) l: u32) {
    vectors[l].x = x[l];
    vectors[l].z = x[l];
    y[l] = vectors[l].x + vectors[l].z;
    y[l] = dot(vectors[l], vec4<i32>(1, 0, 1, 0)); //~ one_component
}
