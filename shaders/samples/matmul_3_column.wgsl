// c[row, column] = sum over i of a[row, i] * b[i, column], step 3 of 5: several elements for each invocation
//
// Step 2 reads two numbers from workgroup memory for each multiplication. Here an invocation computes ROWS elements of
// a column of c: a number of b, once read, is used ROWS times. The sums are private variables, which are registers.
// Dispatch covering (n, m / ROWS, rounded up).

struct Params {
    m: u32,
    n: u32,
    k: u32,
}

const TILE = 16u;
const ROWS = 4u; // Elements of c for each invocation.

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<immediate> params: Params;

var<workgroup> a_tile: array<array<f32, TILE>, ROWS * TILE>;
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
fn matmul_3_column(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let column = group.x * TILE + local.x;
    let row = group.y * ROWS * TILE + local.y; // And each TILE-th row below, ROWS in all.
    var sums: array<f32, ROWS>;
    for (var first = 0u; first < params.k; first += TILE) {
        for (var r = 0u; r < ROWS; r++) {
            a_tile[local.y + r * TILE][local.x] = a_at(row + r * TILE, first + local.x);
        }
        b_tile[local.y][local.x] = b_at(first + local.y, column);
        workgroupBarrier();
        for (var i = 0u; i < TILE; i++) {
            let right = b_tile[i][local.x];
            for (var r = 0u; r < ROWS; r++) {
                sums[r] += a_tile[local.y + r * TILE][i] * right;
            }
        }
        workgroupBarrier();
    }
    for (var r = 0u; r < ROWS; r++) {
        if column < params.n && row + r * TILE < params.m {
            c[(row + r * TILE) * params.n + column] = sums[r];
        }
    }
}
