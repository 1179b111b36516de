// out[o, j, k] = source[o, indices[j], k]; if ALONG, source[o, indices[o, j, k], k]
//
// All arrays are contiguous. Elements are moved in units of a word, or of a part of a word: UNITS in a word, of BITS
// bits. The last axis, `inner`, is counted in units; an element has `parts` units. Unless IS_WHOLE, the bound ranges
// are parts of longer arrays, from unit `first`, `first_index` and unit `first_source` on: units from outside the bound
// source are not changed, and `out` was zero before. The text before this file defines UNITS, BITS, ALONG, IS_WHOLE and
// `indices.wgsl`. An invocation writes one word. Covers (words of `out`).

struct Gather {
    count: u32,
    length: u32,
    n_indices: u32,
    inner: u32,
    parts: u32,
    first: u32,
    first_index: u32,
    n_bound_indices: u32,
    first_source: u32,
    n_bound_source: u32,
}

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
var<immediate> gather: Gather;

fn unit(e: u32) -> u32 {
    let row = e / gather.inner;
    var at = row % gather.n_indices;
    if ALONG {
        at = e / gather.parts;
    }
    at -= gather.first_index;
    if !IS_WHOLE && at >= gather.n_bound_indices {
        return 0u;
    }
    let place = position(at, gather.length);
    let taken = (row / gather.n_indices * gather.length + place) * gather.inner + e % gather.inner - gather.first_source;
    if !IS_WHOLE && taken >= gather.n_bound_source {
        return 0u;
    }
    return (source[taken / UNITS] >> (taken % UNITS * BITS)) & (0xffffffffu >> (32u - BITS));
}

@compute @workgroup_size(256)
fn gather_units(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x * UNITS;
    if id.x >= arrayLength(&out) || first >= gather.count {
        return;
    }
    var word = 0u;
    if !IS_WHOLE {
        word = out[id.x];
    }
    for (var i = 0u; i < min(UNITS, gather.count - first); i++) {
        word |= unit(gather.first + first + i) << (i * BITS);
    }
    out[id.x] = word;
}
