// quad = eight i8 in two words, four numbers of `matmul_matrices.wgsl`
//
// WGSL has no i8, so they stay words, and the kernel is built with matrices of i8 in place of those that it loads from
// words, and of i32 in place of sums, whose bits pass through shared memory as f32.

alias Quad = vec2<u32>;
alias Result = vec4<i32>;

// By half of the columns, and 16 columns of these, as rows of `a`.
var<workgroup> tile_b: array<array<array<Quad, 288>, 4>, 2>;

fn quad(words: vec2<u32>) -> Quad {
    return words;
}

fn rounded(sums: vec4<f32>) -> Result {
    return bitcast<vec4<i32>>(sums);
}
