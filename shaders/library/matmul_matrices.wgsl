// c[b, i, j] = sum over l of a[b, i, l] * b[b, l, j], of f16, by cooperative matrices of 16 × 16 whose sums are f32
//
// Contiguous matrices of m × k and k × n numbers, k and n multiples of 4; an operand with one matrix has stride 0 between
// matrices. A workgroup of four subgroups of 32 computes a tile of 128 × 128, a subgroup 64 × 64 of it in 4 × 4 matrices.
// It reads 32 columns of `a` and rows of `b` at a time into one of two stages of shared memory, while it multiplies the
// other. The generated lines SUMS, PRODUCTS and WRITES name the matrices. One workgroup for each tile and matrix, along x.
//
// Sixteen rows of a tile are an array of their own, in which matrices lie at constant indices: so they are known to be
// inside. A row of 32 numbers has 8 numbers more, so that eight rows at a time fall on different banks.

enable f16;
enable wgpu_cooperative_matrix;

struct Matmul { m: u32, k: u32, n: u32, stride_a: u32, stride_b: u32 }

alias Quad = vec4<f16>;

@group(0) @binding(0) var<storage, read> a: array<Quad>;
@group(0) @binding(1) var<storage, read> b: array<Quad>;
@group(0) @binding(2) var<storage, read_write> c: array<Quad>;
var<immediate> matmul: Matmul;

// By stage, half of the rows, and 16 rows of these.
var<workgroup> tile_a: array<array<array<array<Quad, 160>, 4>, 2>, 2>;
// By stage, 16 rows, half of the columns, and 32 columns of these.
var<workgroup> tile_b: array<array<array<array<array<Quad, 168>, 2>, 2>, 2>, 2>;
// By subgroup, a matrix of sums.
var<workgroup> sums: array<array<vec4<f32>, 80>, 4>;

// Four numbers of column l of a tile of `a`; zeros at and behind the end.
fn read_a(start: u32, row: u32, l: u32) -> Quad {
    var quad = Quad();
    if l < matmul.k {
        quad = a[(start + min(row, matmul.m - 1u) * matmul.k + l) / 4u];
    }
    return quad;
}

// Four numbers of row l of `b`; zeros at and behind the end.
fn read_b(start: u32, column: u32, l: u32) -> Quad {
    var quad = Quad();
    if l < matmul.k {
        quad = b[(start + l * matmul.n + min(column, matmul.n - 4u)) / 4u];
    }
    return quad;
}

// Writes the sums of the subgroup, eight numbers of a row for each invocation.
fn write(result: u32, row: u32, column: u32, subgroup: u32, lane: u32) {
    let own = row + lane / 2u;
    let at = lane / 2u * 5u + lane % 2u * 2u;
    let beside = column + lane % 2u * 8u;
    if (own < matmul.m) & (beside < matmul.n) {
        c[((result * matmul.m + own) * matmul.n + beside) / 4u] = Quad(sums[subgroup][at]);
    }
    if (own < matmul.m) & (beside + 4u < matmul.n) {
        c[((result * matmul.m + own) * matmul.n + beside) / 4u + 1u] = Quad(sums[subgroup][at + 1u]);
    }
}

@compute @workgroup_size(128)
fn matmul_matrices(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let tiles_n = (matmul.n + 127u) / 128u;
    let tiles = (matmul.m + 127u) / 128u * tiles_n;
    let tile = group.x % tiles;
    let result = group.x / tiles;
    let first_row = tile / tiles_n * 128u;
    let first_column = tile % tiles_n * 128u;

    // What this invocation reads: four numbers of eight rows of `a`, 16 rows apart, and of eight rows of `b`, 4 apart.
    let start_a = result * matmul.stride_a;
    let start_b = result * matmul.stride_b;
    let row = first_row + index / 8u;
    let beside = index % 8u * 4u;
    let column = first_column + index % 32u * 4u;
    let below = index / 32u;
    let at_a = index / 8u * 10u + index % 8u;
    let at_b = index / 32u * 10u + index % 8u;
    let half_b = index % 32u / 16u;
    let pair_b = index % 16u / 8u;

    let half_m = subgroup / 2u;
    let half_n = subgroup % 2u;
    var stage = 0u;
    SUMS
    // Each round reads a tile of either operand, and multiplies the tiles of the round before meanwhile. The first
    // multiplies the zeros that shared memory starts with, since naga takes no condition on `l` for a uniform one.
    let rounds = (matmul.k + 31u) / 32u + 1u;
    for (var round = 0u; round < rounds; round++) {
        let l = round * 32u;
        let a0 = read_a(start_a, row, l + beside);
        let a1 = read_a(start_a, row + 16u, l + beside);
        let a2 = read_a(start_a, row + 32u, l + beside);
        let a3 = read_a(start_a, row + 48u, l + beside);
        let a4 = read_a(start_a, row + 64u, l + beside);
        let a5 = read_a(start_a, row + 80u, l + beside);
        let a6 = read_a(start_a, row + 96u, l + beside);
        let a7 = read_a(start_a, row + 112u, l + beside);
        let b0 = read_b(start_b, column, l + below);
        let b1 = read_b(start_b, column, l + below + 4u);
        let b2 = read_b(start_b, column, l + below + 8u);
        let b3 = read_b(start_b, column, l + below + 12u);
        let b4 = read_b(start_b, column, l + below + 16u);
        let b5 = read_b(start_b, column, l + below + 20u);
        let b6 = read_b(start_b, column, l + below + 24u);
        let b7 = read_b(start_b, column, l + below + 28u);
        PRODUCTS
        stage = 1u - stage;
        tile_a[stage][0][0][at_a] = a0;
        tile_a[stage][0][1][at_a] = a1;
        tile_a[stage][0][2][at_a] = a2;
        tile_a[stage][0][3][at_a] = a3;
        tile_a[stage][1][0][at_a] = a4;
        tile_a[stage][1][1][at_a] = a5;
        tile_a[stage][1][2][at_a] = a6;
        tile_a[stage][1][3][at_a] = a7;
        tile_b[stage][0][half_b][pair_b][at_b] = b0;
        tile_b[stage][0][half_b][pair_b][at_b + 40u] = b1;
        tile_b[stage][0][half_b][pair_b][at_b + 80u] = b2;
        tile_b[stage][0][half_b][pair_b][at_b + 120u] = b3;
        tile_b[stage][1][half_b][pair_b][at_b] = b4;
        tile_b[stage][1][half_b][pair_b][at_b + 40u] = b5;
        tile_b[stage][1][half_b][pair_b][at_b + 80u] = b6;
        tile_b[stage][1][half_b][pair_b][at_b + 120u] = b7;
        workgroupBarrier();
    }
    let own_row = first_row + half_m * 64u;
    let own_column = first_column + half_n * 64u;
    WRITES
}
