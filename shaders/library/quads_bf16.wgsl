// quad = four bf16 in two words
//
// The numbers of `matmul_matrices.wgsl`. WGSL has no bf16, so they stay words, and the kernel is built with matrices of bf16
// in place of those that it loads from words. Sums are rounded to the nearest, ties to even, by `numbers.wgsl`: Vulkan leaves
// the rounding of its own conversion to the device.

alias Quad = vec2<u32>;
alias Result = Quad;

// By 16 rows, half of the columns, and 32 columns of these.
var<workgroup> tile_b: array<array<array<array<Quad, 168>, 2>, 2>, 4>;

fn quad(words: vec2<u32>) -> Quad {
    return words;
}

fn rounded(sums: vec4<f32>) -> Result {
    let bits = bitcast<vec4<u32>>(sums);
    return vec2(f32_to_bf16(bits.x) | (f32_to_bf16(bits.y) << 16u), f32_to_bf16(bits.z) | (f32_to_bf16(bits.w) << 16u));
}
