// The results of `matmul_matrices.wgsl` as f16, four in two words

alias Result = vec2<u32>;

// By 16 rows, half of the columns, and 32 columns of these.
var<workgroup> tile_b: array<array<array<array<vec4<u32>, 84>, 2>, 2>, 4>;

fn rounded(sums: vec4<f32>) -> Result {
    return vec2(pack2x16float(sums.xy), pack2x16float(sums.zw));
}
