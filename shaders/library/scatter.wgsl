// out[places[i]] = values[j % n_values], where j = order[i] if IS_SORTED, and otherwise i
//
// If IS_SORTED, places ascend, and of equal places the last one counts; otherwise no places are equal. Places count the
// elements of an array in C order. An element lies Σ index[axis] * strides[axis] after the element of `first_place`;
// axes are listed innermost first, and all sums wrap, so that a negative stride is a large number. Places and values are
// parts of longer arrays, and `out` is a window of `n_window` elements; other launches write the elements outside of the
// window. `n_bound` places are bound: those of this launch, and the next one if there is one. Units are as in
// `gather.wgsl`, and the first unit of the window is `unit`. The text before this file defines UNITS, BITS and IS_SORTED.
// Covers (number of places * parts).

struct Scatter {
    first: u32,
    n: u32,
    n_bound: u32,
    first_place: u32,
    n_places: u32,
    n_values: u32,
    first_value: u32,
    n_values_bound: u32,
    base: u32,
    n_window: u32,
    unit: u32,
    parts: u32,
    n_axes: u32,
    lengths: array<u32, 8>,
    strides: array<u32, 8>,
}

@group(0) @binding(0) var<storage, read> places: array<u32>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;
var<immediate> scatter: Scatter;

// The element of a place, counted from the first one of the window.
fn element_at(place: u32) -> u32 {
    var rest = place;
    var at = scatter.base;
    for (var axis = 0u; axis < scatter.n_axes; axis++) {
        at += rest % scatter.lengths[axis] * scatter.strides[axis];
        rest = rest / scatter.lengths[axis];
    }
    return at;
}

@compute @workgroup_size(256)
fn scatter_units(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x / scatter.parts;
    let part = id.x % scatter.parts;
    if i >= scatter.n {
        return;
    }
    let is_followed = IS_SORTED & (i + 1u < scatter.n_bound);
    if is_followed & (places[min(i + 1u, scatter.n_bound - 1u)] == places[i]) {
        return;
    }
    let place = places[i] - scatter.first_place;
    let j = select(scatter.first + i, order[i], IS_SORTED);
    let value = j % scatter.n_values - scatter.first_value;
    let element = element_at(place);
    if (place >= scatter.n_places) | (value >= scatter.n_values_bound) | (element >= scatter.n_window) {
        return;
    }
    let from_unit = value * scatter.parts + part;
    let to_unit = scatter.unit + element * scatter.parts + part;
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
