// target[target_at(i)] = source[source_at(i)], four units of a row per invocation
//
// The text before this file defines `walk.wgsl`, `alias Unit`, the workgroup size `GROUP`, and `LANES`, the invocations
// along a row.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> target_: array<Unit>;

@compute @workgroup_size(GROUP)
fn copy_strided(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let row = (tile / walk.n_tiles) * (GROUP / LANES) + lane / LANES;
    if row >= walk.n_rows {
        return;
    }
    let at = row_start(row, 1u);
    let step = vec2(walk.source_strides[0], walk.target_strides[0]);
    let first = (tile % walk.n_tiles) * (4u * LANES) + lane % LANES;
    if first + 3u * LANES < walk.lengths[0] {
        // All loads come before the first store, so that their latencies overlap.
        let i0 = at + first * step;
        let i1 = at + (first + LANES) * step;
        let i2 = at + (first + 2u * LANES) * step;
        let i3 = at + (first + 3u * LANES) * step;
        let a = source[i0.x];
        let b = source[i1.x];
        let c = source[i2.x];
        let d = source[i3.x];
        target_[i0.y] = a;
        target_[i1.y] = b;
        target_[i2.y] = c;
        target_[i3.y] = d;
        return;
    }
    let end = min(first + 4u * LANES, walk.lengths[0]);
    for (var i = first; i < end; i += LANES) {
        let place = at + i * step;
        target_[place.y] = source[place.x];
    }
}
