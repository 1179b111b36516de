// c[p, b, i, j] = sum over l of a[b, i, l] * b[b, l, j], for the l of part p
//
// Contiguous matrices of m × k and k × n numbers; an operand with one matrix has stride 0 between matrices. The inner
// axis has parts of `part` numbers, and `c` the sums of each part. A workgroup computes a tile of the result, and reads
// DEPTH columns of `a` and rows of `b` at a time through shared memory, while it multiplies those before them. An
// invocation computes BLOCKS_M × BLOCKS_N blocks of 4 × 4 numbers, in variables that the generated lines SUMS, PRODUCTS
// and WRITES name. One workgroup for each tile, matrix and part, along x.
//
// The text before this file defines Four, add_products, the constants in capitals, and with `matmul_quads.wgsl` or
// `matmul_numbers.wgsl` the buffers. INSIDE says that tiles divide the matrices.
//
// Every index of shared memory has a constant for each of its axes that the products go through. Bounding the others
// takes one operation for each invocation, not one for each access.

struct Matmul { m: u32, k: u32, n: u32, stride_a: u32, stride_b: u32, part: u32, count: u32 }

var<immediate> matmul: Matmul;

const ROWS = 4u * LANES_M * BLOCKS_M;
const COLUMNS = 4u * LANES_N * BLOCKS_N;
const LOADS_A = ROWS / 4u * (DEPTH / 4u);
const LOADS_B = COLUMNS / 4u * (DEPTH / 4u);

struct Quads { q0: Four, q1: Four, q2: Four, q3: Four }

var<workgroup> tile_a: array<array<Column, DEPTH>, STAGES>;
var<workgroup> tile_b: array<array<array<array<Four, LANES_N>, BLOCKS_N>, DEPTH>, STAGES>;

// Four rows of `a` from number l on; zeros at and behind the end.
fn fetch_a(rows: vec4<u32>, l: u32, end: u32) -> Quads {
    if INSIDE | (l < end) {
        let left = end - l;
        return Quads(read_a(rows.x + l, left), read_a(rows.y + l, left), read_a(rows.z + l, left), read_a(rows.w + l, left));
    }
    return Quads();
}

// Four numbers of each of the rows l to l + 3 of `b`; zeros at and behind the end.
fn fetch_b(start: u32, column: u32, l: u32, end: u32) -> Quads {
    var quads = Quads();
    if INSIDE | (l < end) { quads.q0 = read_b(start + l * matmul.n, column); }
    if INSIDE | (l + 1u < end) { quads.q1 = read_b(start + (l + 1u) * matmul.n, column); }
    if INSIDE | (l + 2u < end) { quads.q2 = read_b(start + (l + 2u) * matmul.n, column); }
    if INSIDE | (l + 3u < end) { quads.q3 = read_b(start + (l + 3u) * matmul.n, column); }
    return quads;
}

// Columns of `a` are rows of its tile, so that a read takes four numbers of one column.
fn put_a(stage: u32, depth: u32, at: u32, rows: Quads) {
    let block = at / LANES_M;
    let quad = at % LANES_M;
    tile_a[stage][depth].quads[block][quad] = Four(rows.q0.x, rows.q1.x, rows.q2.x, rows.q3.x);
    tile_a[stage][depth + 1u].quads[block][quad] = Four(rows.q0.y, rows.q1.y, rows.q2.y, rows.q3.y);
    tile_a[stage][depth + 2u].quads[block][quad] = Four(rows.q0.z, rows.q1.z, rows.q2.z, rows.q3.z);
    tile_a[stage][depth + 3u].quads[block][quad] = Four(rows.q0.w, rows.q1.w, rows.q2.w, rows.q3.w);
}

fn put_b(stage: u32, depth: u32, at: u32, rows: Quads) {
    let block = at / LANES_N;
    let quad = at % LANES_N;
    tile_b[stage][depth][block][quad] = rows.q0;
    tile_b[stage][depth + 1u][block][quad] = rows.q1;
    tile_b[stage][depth + 2u][block][quad] = rows.q2;
    tile_b[stage][depth + 3u][block][quad] = rows.q3;
}

@compute @workgroup_size(LANES_M * LANES_N)
fn matmul_tile(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tiles_n = (matmul.n + COLUMNS - 1u) / COLUMNS;
    let tiles = (matmul.m + ROWS - 1u) / ROWS * tiles_n;
    let tile = group.x % tiles;
    let result = group.x / tiles;
    let matrix = result % matmul.count;
    let first_row = tile / tiles_n * ROWS;
    let first_column = tile % tiles_n * COLUMNS;
    let first = result / matmul.count * matmul.part;
    let end = min(matmul.k, first + matmul.part);

    // What this invocation reads: four rows of either operand, of which rows of `a` past the last one repeat it.
    let reads_a = lane < LOADS_A;
    let reads_b = !reads_a & (lane < LOADS_A + LOADS_B);
    let load = select(lane - LOADS_A, lane, reads_a);
    let quad_a = load / (DEPTH / 4u);
    let quad_b = load % (COLUMNS / 4u);
    let depth = 4u * select(load / (COLUMNS / 4u), load % (DEPTH / 4u), reads_a);
    let row = first_row + 4u * quad_a;
    let rows = matrix * matmul.stride_a + matmul.k * min(vec4(row, row + 1u, row + 2u, row + 3u), vec4(matmul.m - 1u));
    let start = matrix * matmul.stride_b;
    let column = first_column + 4u * quad_b;

    // Subgroups of 32 cover 4 × 8 blocks, so that their reads of either tile fall on 32 banks of shared memory at most.
    let y = lane / 32u / (LANES_N / 8u) * 4u + lane / 8u % 4u;
    let x = lane / 32u % (LANES_N / 8u) * 8u + lane % 8u;
    var stage = 0u;
    SUMS
    // Each round reads a tile of either operand, and multiplies the tiles of the round before meanwhile.
    let rounds = (end - first + DEPTH - 1u) / DEPTH + 1u;
    for (var round = 0u; round < rounds; round++) {
        let l = first + round * DEPTH;
        var quads: Quads;
        if reads_a & (l < end) {
            quads = fetch_a(rows, l + depth, end);
        } else if reads_b & (l < end) {
            quads = fetch_b(start, column, l + depth, end);
        }
        if round > 0u {
            PRODUCTS
        }
        if STAGES == 1u {
            workgroupBarrier();
        }
        stage = (stage + 1u) % STAGES;
        if reads_a & (l < end) {
            put_a(stage, depth, quad_a, quads);
        } else if reads_b & (l < end) {
            put_b(stage, depth, quad_b, quads);
        }
        workgroupBarrier();
    }
    let at = result * matmul.m;
    let own_row = first_row + 4u * y;
    let own_column = first_column + 4u * x;
    WRITES
}
