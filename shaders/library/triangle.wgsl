// out[b, i, j] = source[b, i, j] if j - i <= k, else 0; without LOWER, if j - i >= k
//
// Units are as in `gather.wgsl`. The text before this file defines UNITS, BITS and LOWER. The bound range begins with
// unit `first`. An invocation writes one word. Covers (words of `out`).

struct Triangle { count: u32, rows: u32, columns: u32, parts: u32, first: u32, k: i32 }

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<immediate> triangle: Triangle;

@compute @workgroup_size(256)
fn triangle_units(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x * UNITS;
    if first >= triangle.count {
        return;
    }
    let word = source[id.x];
    var kept = 0u;
    for (var i = 0u; i < min(UNITS, triangle.count - first); i++) {
        let element = (triangle.first + first + i) / triangle.parts;
        let row = element / triangle.columns % triangle.rows;
        let distance = i32(element % triangle.columns) - i32(row);
        if select(distance >= triangle.k, distance <= triangle.k, LOWER) {
            kept |= word & ((0xffffffffu >> (32u - BITS)) << (i * BITS));
        }
    }
    out[id.x] = kept;
}
