// out[indices[j]] = values[j % n_values]; of several j with the same index the last one counts
//
// `put_owners` writes the last j, plus one, for each element of `out`; `put_units` then writes those elements. Units are
// as in `gather.wgsl`. The text before this file defines UNITS, BITS and `indices.wgsl`.
// `put_owners` covers (number of indices), `put_units` (words of `out`).

struct Put { n_indices: u32, length: u32, n_values: u32, parts: u32 }

@group(0) @binding(0) var<storage, read> indices: array<u32>;
@group(0) @binding(1) var<storage, read_write> owners: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;
var<immediate> put: Put;

@compute @workgroup_size(256)
fn put_owners(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < put.n_indices {
        atomicMax(&owners[position(id.x, put.length)], id.x + 1u);
    }
}

@compute @workgroup_size(256)
fn put_units(@builtin(global_invocation_id) id: vec3<u32>) {
    let count = put.length * put.parts;
    let first = id.x * UNITS;
    if first >= count {
        return;
    }
    let mask = 0xffffffffu >> (32u - BITS);
    var word = out[id.x];
    for (var i = 0u; i < min(UNITS, count - first); i++) {
        let e = first + i;
        let owner = atomicLoad(&owners[e / put.parts]);
        if owner != 0u {
            let taken = (owner - 1u) % put.n_values * put.parts + e % put.parts;
            let value = (values[taken / UNITS] >> (taken % UNITS * BITS)) & mask;
            word = (word & ~(mask << (i * BITS))) | (value << (i * BITS));
        }
    }
    out[id.x] = word;
}
