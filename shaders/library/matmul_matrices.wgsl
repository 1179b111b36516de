// c[b, i, j] = sum over l of a[b, i, l] * b[b, l, j], of f16, bf16 or i8, by cooperative matrices of 16 × 16 sums
//
// Contiguous matrices of m × k and k × n numbers, k and n multiples of 8; an operand with one matrix has stride 0 between
// matrices. Of i8, two along the inner axis count as one number here, and `b` is n × k: devices of NVIDIA have no
// instruction that turns bytes on their way from shared memory. A workgroup of four subgroups of 32 computes a tile of
// 128 × 128, and a subgroup 64 × 64 of it in 4 × 4 matrices.
//
// A workgroup reads 64 columns of `a` and rows of `b` into registers, while it multiplies those in shared memory. The
// generated lines PLACES, SUMS, READS, PRODUCTS, STORES and WRITES name the registers and the matrices. One workgroup for
// each tile and matrix, along x.
//
// Sixteen rows of a tile are an array of their own, in which matrices lie at constant indices: so they are known to be
// inside. A row of 64 numbers of `a`, or 32 of `b`, has 8 numbers more, so that eight rows at a time fall on different
// banks. Operands are read as words, eight numbers at once, and stored so, with one clamp of an index for all stores that
// differ by constants: reads and stores are what limits the kernel. WGSL lacks most of the numbers, so the kernel is built
// with matrices of them in place of those that it loads from words.
//
// `quads_f16.wgsl`, `quads_bf16.wgsl` and `quads_i8.wgsl` have the results, and `tile_b`.

enable wgpu_cooperative_matrix;

struct Matmul { m: u32, k: u32, n: u32, stride_a: u32, stride_b: u32 }

@group(0) @binding(0) var<storage, read> a: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> c: array<Result>;
var<immediate> matmul: Matmul;

// By half of the rows, and 16 rows of these.
var<workgroup> tile_a: array<array<array<vec4<u32>, 144>, 4>, 2>;
// By subgroup, a matrix of sums.
var<workgroup> sums: array<array<vec4<f32>, 80>, 4>;

// Writes the sums of the subgroup, eight numbers of a row for each invocation.
fn write(result: u32, row: u32, column: u32, subgroup: u32, lane: u32) {
    let own = row + lane / 2u;
    let at = lane / 2u * 5u + lane % 2u * 2u;
    let beside = column + lane % 2u * 8u;
    if (own < matmul.m) & (beside < matmul.n) {
        let first = ((result * matmul.m + own) * matmul.n + beside) / 4u;
        c[first] = rounded(sums[subgroup][at]);
        c[first + 1u] = rounded(sums[subgroup][at + 1u]);
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

    // What this invocation reads: eight numbers of eight rows of `a`, 16 rows apart, and of eight rows of `b`, 8 apart, or
    // 16 as those of `a`. Rows and columns outside repeat the last.
    let row = first_row + index / 8u;
    let beside = index % 8u * 8u;
    let start_a = result * matmul.stride_a + beside;
    let at_a = index / 8u * 9u + index % 8u;
    PLACES

    let half_m = subgroup / 2u;
    let half_n = subgroup % 2u;
    SUMS
    // Each round reads a tile of either operand, and multiplies the tiles of the round before meanwhile. The first
    // multiplies the zeros that shared memory starts with, since naga takes no condition on `l` for a uniform one.
    // Numbers at and behind the end of the inner axis are zeros.
    let rounds = (matmul.k + 63u) / 64u + 1u;
    for (var round = 0u; round < rounds; round++) {
        let l = round * 64u;
        READS
        PRODUCTS
        workgroupBarrier();
        STORES
        workgroupBarrier();
    }
    let own_row = first_row + half_m * 64u;
    let own_column = first_column + half_n * 64u;
    WRITES
}
