// c[row, column] = sum over i of a[row, i] * b[i, column], step 4 of 5: a block of 4 x 4 elements for each invocation
//
// Eight numbers from workgroup memory are enough for 16 multiplications. The block is four vectors: one for each row.
// Dispatch covering (n / 4, m / 4), both rounded up.

struct Params {
    m: u32,
    n: u32,
    k: u32,
}

const SIDE = 16u; // Invocations along a side of the workgroup.
const TILE = 64u; // Elements of c along a side of the workgroup's part: 4 * SIDE.
const DEPTH = 16u; // Columns of a, and rows of b, in a tile.

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<immediate> params: Params;

var<workgroup> a_tile: array<array<f32, TILE>, DEPTH>; // Transposed: a_tile[i] is a column of a.
var<workgroup> b_tile: array<array<f32, TILE>, DEPTH>;

// Elements outside the matrices are zero, so that tiles at the edge need no special case.
fn a_at(row: u32, column: u32) -> f32 {
    if row >= params.m || column >= params.k {
        return 0.0;
    }
    return a[row * params.k + column];
}

fn b_at(row: u32, column: u32) -> f32 {
    if row >= params.k || column >= params.n {
        return 0.0;
    }
    return b[row * params.n + column];
}

@compute @workgroup_size(SIDE, SIDE)
fn matmul_4_block(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let corner = group.xy * TILE;
    var sums: array<vec4<f32>, 4>;
    for (var first = 0u; first < params.k; first += DEPTH) {
        for (var part = 0u; part < 4u; part++) {
            let across = local.y + part * SIDE;
            a_tile[local.x][across] = a_at(corner.y + across, first + local.x);
            let along = local.x + part * SIDE;
            b_tile[local.y][along] = b_at(first + local.y, corner.x + along);
        }
        workgroupBarrier();
        for (var i = 0u; i < DEPTH; i++) {
            let left = 4u * local.y;
            let top = 4u * local.x;
            let right = vec4(b_tile[i][top], b_tile[i][top + 1u], b_tile[i][top + 2u], b_tile[i][top + 3u]);
            for (var r = 0u; r < 4u; r++) {
                sums[r] += a_tile[i][left + r] * right;
            }
        }
        workgroupBarrier();
    }
    for (var r = 0u; r < 4u; r++) {
        let row = corner.y + 4u * local.y + r;
        for (var s = 0u; s < 4u; s++) {
            let column = corner.x + 4u * local.x + s;
            if row < params.m && column < params.n {
                c[row * params.n + column] = sums[r][s];
            }
        }
    }
}
