// target[target_at(i)] = source[source_at(i)], one word of the target per invocation
//
// The innermost `n_run` axes are contiguous in the target: a run of `run_length` units. An invocation gathers the units
// of one word of the run. The text before this file defines `walk.wgsl`, `words.wgsl`, the workgroup size `GROUP`, and
// `LANES`, the invocations along a run.

// The offset in the source of index `outer` of axes 1 to `n_run`, from the start of the run.
fn run_offset(outer: u32) -> u32 {
    var rest = outer;
    var at = 0u;
    for (var axis = 1u; axis < walk.n_run; axis++) {
        at += (rest % walk.lengths[axis]) * walk.source_strides[axis];
        rest = rest / walk.lengths[axis];
    }
    return at;
}

@compute @workgroup_size(GROUP)
fn copy_words(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let row = (tile / walk.n_tiles) * (GROUP / LANES) + lane / LANES;
    if row >= walk.n_rows {
        return;
    }
    let at = row_start(row, walk.n_run);
    let word = at.y / UNITS + (tile % walk.n_tiles) * LANES + lane % LANES;
    let first = max(word * UNITS, at.y);
    let end = min((word + 1u) * UNITS, at.y + walk.run_length);
    if first >= end {
        return;
    }
    let step = walk.source_strides[0];
    var inner = first - at.y;
    var outer = 0u;
    var from_at = at.x;
    if walk.n_run > 1u {
        outer = inner / walk.lengths[0];
        inner = inner % walk.lengths[0];
        from_at += run_offset(outer);
    }
    var value = 0u;
    var mask = 0u;
    for (var unit = first; unit < end; unit++) {
        let shift = (unit % UNITS) * BITS;
        value |= load(from_at + inner * step) << shift;
        mask |= UNIT_MASK << shift;
        inner++;
        if walk.n_run > 1u && inner == walk.lengths[0] {
            inner = 0u;
            outer++;
            from_at = at.x + run_offset(outer);
        }
    }
    store(word, mask, value);
}
