// The results of `matmul_matrices.wgsl` as bf16, four in two words
//
// Sums are rounded to the nearest, ties to even, by `numbers.wgsl`: Vulkan leaves the rounding of its own conversion to the
// device.

alias Result = vec2<u32>;

// By 16 rows, half of the columns, and 32 columns of these.
var<workgroup> tile_b: array<array<array<array<vec4<u32>, 84>, 2>, 2>, 4>;

fn rounded(sums: vec4<f32>) -> Result {
    let bits = bitcast<vec4<u32>>(sums);
    return vec2(f32_to_bf16(bits.x) | (f32_to_bf16(bits.y) << 16u), f32_to_bf16(bits.z) | (f32_to_bf16(bits.w) << 16u));
}
