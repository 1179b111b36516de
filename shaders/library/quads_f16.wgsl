// quad = four f16 in two words
//
// The numbers of `matmul_matrices.wgsl`.

alias Quad = vec4<f16>;
alias Result = Quad;

// By 16 rows, half of the columns, and 32 columns of these.
var<workgroup> tile_b: array<array<array<array<Quad, 168>, 2>, 2>, 4>;

fn quad(words: vec2<u32>) -> Quad {
    return Quad(vec4(unpack2x16float(words.x), unpack2x16float(words.y)));
}

fn rounded(sums: vec4<f32>) -> Result {
    return Quad(sums);
}
