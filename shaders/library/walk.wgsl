// source_at = source_base + Σ index[axis] * source_strides[axis]; target_at has the same form
//
// The parameters of the strided copies, and the start of a row. Axes are listed innermost first; strides and bases are in
// units. All sums wrap, so that a negative stride is a large number.

struct Walk {
    source_base: u32,
    target_base: u32,
    n_rows: u32,
    n_tiles: u32,
    n_axes: u32,
    n_run: u32,
    run_length: u32,
    lengths: array<u32, 8>,
    source_strides: array<u32, 8>,
    target_strides: array<u32, 8>,
}
var<immediate> walk: Walk;

// The position of row `row` in the source and in the target; rows are counted over the axes from `first` on.
fn row_start(row: u32, first: u32) -> vec2<u32> {
    var rest = row;
    var at = vec2(walk.source_base, walk.target_base);
    for (var axis = first; axis < walk.n_axes; axis++) {
        var i = rest;
        if axis + 1u < walk.n_axes {
            i = rest % walk.lengths[axis];
            rest = rest / walk.lengths[axis];
        }
        at += i * vec2(walk.source_strides[axis], walk.target_strides[axis]);
    }
    return at;
}
