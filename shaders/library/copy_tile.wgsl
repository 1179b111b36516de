// target[target_at(i)] = source[source_at(i)], through a tile that is read along axis 1 and written along axis 0
//
// The text before this file defines `walk.wgsl`, `alias Unit`, the workgroup size `GROUP`, and `TILE_S` and `TILE_T`, the
// tile's lengths along the source's fastest axis and the target's.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> target_: array<Unit>;

// One unit of padding per row avoids bank conflicts both along rows and along columns.
const PITCH = TILE_S + 1u;
var<workgroup> tile: array<Unit, TILE_T * PITCH>;

// Units of the tile, and how many of them an invocation copies: a constant, so that the loops can be unrolled.
const UNITS = TILE_S * TILE_T;
const PER_LANE = (UNITS + GROUP - 1u) / GROUP;

@compute @workgroup_size(GROUP)
fn copy_tile(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let index = group.x + group.y * groups.x;
    let n_t = walk.lengths[0];
    let n_s = walk.lengths[1];
    let tiles_s = (n_s + TILE_S - 1u) / TILE_S;
    let first_t = (index % walk.n_tiles) * TILE_T;
    let first_s = ((index / walk.n_tiles) % tiles_s) * TILE_S;
    let row = index / walk.n_tiles / tiles_s;
    let at = row_start(row, 2u);
    let is_row = row < walk.n_rows;
    for (var j = 0u; j < PER_LANE; j++) {
        let k = lane + j * GROUP;
        let s = first_s + k % TILE_S;
        let t = first_t + k / TILE_S;
        if is_row && k < UNITS && s < n_s && t < n_t {
            let from_at = at.x + s * walk.source_strides[1] + t * walk.source_strides[0];
            tile[(k / TILE_S) * PITCH + k % TILE_S] = source[from_at];
        }
    }
    workgroupBarrier();
    for (var j = 0u; j < PER_LANE; j++) {
        let k = lane + j * GROUP;
        let t = first_t + k % TILE_T;
        let s = first_s + k / TILE_T;
        if is_row && k < UNITS && s < n_s && t < n_t {
            let to_at = at.y + s * walk.target_strides[1] + t * walk.target_strides[0];
            target_[to_at] = tile[(k % TILE_T) * PITCH + k / TILE_T];
        }
    }
}
