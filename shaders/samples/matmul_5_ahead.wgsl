// c[row, column] = sum over i of a[row, i] * b[i, column], step 5 of 5: reading one tile ahead
//
// This is step 4 with two tiles of each matrix in workgroup memory: while the invocations multiply one tile, they
// already read the numbers of the next. One barrier for each tile is enough. Dispatch covering (n / 4, m / 4), rounded
// up.

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

var<workgroup> a_tiles: array<array<vec4<f32>, SIDE>, 2 * DEPTH>; // A vector has four rows of a column of a.
var<workgroup> b_tiles: array<array<vec4<f32>, SIDE>, 2 * DEPTH>; // A vector has four columns of a row of b.

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
fn matmul_5_ahead(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let row = group.y * TILE + 4u * local.y; // The first of four rows and of four columns of this invocation.
    let column = group.x * TILE + 4u * local.x;
    var sums: array<vec4<f32>, 4>;
    var left: vec4<f32>;
    var right: vec4<f32>;
    let n_tiles = (params.k + DEPTH - 1u) / DEPTH;
    // In round t the tile t is read from the arrays, and tile t - 1 is multiplied.
    for (var t = 0u; t <= n_tiles; t++) {
        for (var s = 0u; s < 4u; s++) {
            left[s] = a_at(row + s, t * DEPTH + local.x);
            right[s] = b_at(t * DEPTH + local.y, column + s);
        }
        let full = (t + 1u) % 2u * DEPTH; // Where tile t - 1 is; zeros in round 0.
        for (var i = 0u; i < DEPTH; i++) {
            for (var r = 0u; r < 4u; r++) {
                sums[r] += a_tiles[full + i][local.y][r] * b_tiles[full + i][local.x];
            }
        }
        let empty = t % 2u * DEPTH;
        a_tiles[empty + local.x][local.y] = left;
        b_tiles[empty + local.y][local.x] = right;
        workgroupBarrier();
    }
    for (var r = 0u; r < 4u; r++) {
        for (var s = 0u; s < 4u; s++) {
            if row + r < params.m && column + s < params.n {
                c[(row + r) * params.n + column + s] = sums[r][s];
            }
        }
    }
}
