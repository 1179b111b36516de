// c[row, column] = sum over i of a[row, i] * b[i, column], step 2 of 5: tiles in workgroup memory
//
// A workgroup computes TILE x TILE elements of c. It reads a tile of a and a tile of b into its memory, where each
// element is used TILE times: the arrays are read TILE times less often than in step 1. Dispatch covering (n, m).

struct Params {
    m: u32,
    n: u32,
    k: u32,
}

const TILE = 16u;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<immediate> params: Params;

var<workgroup> a_tile: array<array<f32, TILE>, TILE>;
var<workgroup> b_tile: array<array<f32, TILE>, TILE>;

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

@compute @workgroup_size(TILE, TILE)
fn matmul_2_tiled(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    var sum = 0.0;
    for (var first = 0u; first < params.k; first += TILE) {
        a_tile[local.y][local.x] = a_at(at.y, first + local.x);
        b_tile[local.y][local.x] = b_at(first + local.y, at.x);
        workgroupBarrier(); // The tiles are complete.
        for (var i = 0u; i < TILE; i++) {
            sum += a_tile[local.y][i] * b_tile[i][local.x];
        }
        workgroupBarrier(); // No invocation needs the tiles any longer.
    }
    if at.x < params.n && at.y < params.m {
        c[at.y * params.n + at.x] = sum;
    }
}
