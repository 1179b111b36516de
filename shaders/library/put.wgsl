// out[indices[j]] = values[j % n_values]; of several j with the same index the last j counts
//
// `put_owners` writes the last j, plus one, for each place; `put_values` then writes the elements for which an index of
// the launch is the last. An element lies Σ index[axis] * strides[axis] after the element of `first_place`; axes are
// listed innermost first, and all sums wrap, so that a negative stride is a large number. Indices, values and places
// are parts of longer arrays, and `out` is a window of `n_window` elements; other launches write the elements outside
// of the window. Units are as in `gather.wgsl`, and the first unit of the window is `unit`. The text before this file
// defines UNITS, BITS and `indices.wgsl`. `put_owners` covers (number of indices), `put_values` (number of indices *
// parts).

struct Put {
    first_index: u32,
    n_indices: u32,
    length: u32,
    first_place: u32,
    n_places: u32,
    n_values: u32,
    first_value: u32,
    n_bound: u32,
    base: u32,
    n_window: u32,
    unit: u32,
    parts: u32,
    n_axes: u32,
    lengths: array<u32, 8>,
    strides: array<u32, 8>,
}

@group(0) @binding(0) var<storage, read> indices: array<u32>;
@group(0) @binding(1) var<storage, read_write> owners: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> last: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;
var<immediate> put: Put;

@compute @workgroup_size(256)
fn put_owners(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= put.n_indices {
        return;
    }
    let place = position(id.x, put.length) - put.first_place;
    if place < put.n_places {
        atomicMax(&owners[place], put.first_index + id.x + 1u);
    }
}

// The element of a place, counted from the first one of the window.
fn element_at(place: u32) -> u32 {
    var rest = place;
    var at = put.base;
    for (var axis = 0u; axis < put.n_axes; axis++) {
        at += rest % put.lengths[axis] * put.strides[axis];
        rest = rest / put.lengths[axis];
    }
    return at;
}

@compute @workgroup_size(256)
fn put_values(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x / put.parts;
    let part = id.x % put.parts;
    if index >= put.n_indices {
        return;
    }
    let j = put.first_index + index;
    let place = position(index, put.length) - put.first_place;
    let value = j % put.n_values - put.first_value;
    if place >= put.n_places || value >= put.n_bound {
        return;
    }
    let element = element_at(place);
    if element >= put.n_window || last[place] != j + 1u {
        return;
    }
    let from_unit = value * put.parts + part;
    let to_unit = put.unit + element * put.parts + part;
    let mask = 0xffffffffu >> (32u - BITS);
    let bits = (values[from_unit / UNITS] >> (from_unit % UNITS * BITS)) & mask;
    let shift = to_unit % UNITS * BITS;
    // The other units of the word belong to other elements, which other invocations may write.
    if UNITS > 1u {
        atomicAnd(&out[to_unit / UNITS], ~(mask << shift));
        atomicOr(&out[to_unit / UNITS], bits << shift);
    } else {
        atomicStore(&out[to_unit], bits);
    }
}
