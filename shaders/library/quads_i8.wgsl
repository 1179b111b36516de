// The results of `matmul_matrices.wgsl` for products of i8
//
// The kernel is built with matrices of i32 in place of sums, whose bits pass through shared memory as f32.

alias Result = vec4<i32>;

// By half of the columns, and 16 columns of these, as rows of `a`.
var<workgroup> tile_b: array<array<array<vec4<u32>, 144>, 4>, 2>;

fn rounded(sums: vec4<f32>) -> Result {
    return bitcast<vec4<i32>>(sums);
}
