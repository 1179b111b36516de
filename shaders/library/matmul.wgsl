// c[b, i, j] = sum over l of a[b, i, l] * b[b, l, j]
//
// Contiguous matrices of m × k and k × n numbers; an operand with one matrix has stride 0 between matrices. A workgroup
// of 16 × 16 invocations computes a tile of 64 × 64 of the result, each invocation 4 × 4 numbers, and reads the
// operands 16 columns or rows at a time through workgroup memory. Products are added in the order of l: the products
// from `first` to before `end` are added to the sums of the products before `first`, which `c` has. The text before
// this file defines T, ZERO and `fn add_product(sum: T, a: T, b: T) -> T`. One workgroup for each tile and matrix,
// along x.

struct Matmul { m: u32, k: u32, n: u32, stride_a: u32, stride_b: u32, first: u32, end: u32 }

@group(0) @binding(0) var<storage, read> a: array<T>;
@group(0) @binding(1) var<storage, read> b: array<T>;
@group(0) @binding(2) var<storage, read_write> c: array<T>;
var<immediate> matmul: Matmul;

const TILE = 64u;
const DEPTH = 16u;

var<workgroup> tile_a: array<T, 1024>;
var<workgroup> tile_b: array<T, 1024>;

@compute @workgroup_size(256)
fn matmul_tile(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tiles_m = (matmul.m + TILE - 1u) / TILE;
    let tiles_n = (matmul.n + TILE - 1u) / TILE;
    let matrix = group.x / (tiles_m * tiles_n);
    let tile = group.x % (tiles_m * tiles_n);
    let first_row = tile / tiles_n * TILE;
    let first_column = tile % tiles_n * TILE;
    let row = lane / 16u * 4u;
    let column = lane % 16u * 4u;
    var sums: array<T, 16>;
    for (var i = 0u; i < 16u; i++) {
        let r = first_row + row + i / 4u;
        let s = first_column + column + i % 4u;
        sums[i] = ZERO;
        if matmul.first > 0u && r < matmul.m && s < matmul.n {
            sums[i] = c[(matrix * matmul.m + r) * matmul.n + s];
        }
    }
    for (var l = matmul.first; l < matmul.end; l += DEPTH) {
        for (var i = lane; i < TILE * DEPTH; i += 256u) {
            let r = first_row + i / DEPTH;
            let depth = l + i % DEPTH;
            var value = ZERO;
            if r < matmul.m && depth < matmul.end {
                value = a[matrix * matmul.stride_a + r * matmul.k + depth];
            }
            tile_a[i % DEPTH * TILE + i / DEPTH] = value;
            let s = first_column + i % TILE;
            let below = l + i / TILE;
            value = ZERO;
            if s < matmul.n && below < matmul.end {
                value = b[matrix * matmul.stride_b + below * matmul.n + s];
            }
            tile_b[i] = value;
        }
        workgroupBarrier();
        for (var depth = 0u; depth < min(DEPTH, matmul.end - l); depth++) {
            for (var i = 0u; i < 16u; i++) {
                let left = tile_a[depth * TILE + row + i / 4u];
                sums[i] = add_product(sums[i], left, tile_b[depth * TILE + column + i % 4u]);
            }
        }
        workgroupBarrier();
    }
    for (var i = 0u; i < 16u; i++) {
        let r = first_row + row + i / 4u;
        let s = first_column + column + i % 4u;
        if r < matmul.m && s < matmul.n {
            c[(matrix * matmul.m + r) * matmul.n + s] = sums[i];
        }
    }
}
