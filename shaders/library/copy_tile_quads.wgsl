// target[target_at(i)] = source[source_at(i)], through a tile that is read along axis 1 and written along axis 0
//
// Units of four bytes are copied four at a time: a quad is contiguous along axis 1 in the source and axis 0 in the target.
// The text before this file defines `walk.wgsl`, the workgroup size `GROUP`, and `TILE`, the units along an edge of the
// tile; an invocation copies four quads.

@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec4<u32>>;

// One unit of padding per row: at most two invocations of a subgroup use the same bank, along rows and along columns.
const PITCH = TILE + 1u;
var<workgroup> tile: array<u32, TILE * PITCH>;

// Quads of a row of the tile.
const QUADS = TILE / 4u;

fn fetch(from_at: u32, k: u32, room: vec2<u32>) -> vec4<u32> {
    let s = (k % QUADS) * 4u;
    let t = k / QUADS;
    if s >= room.x || t >= room.y {
        return vec4(0u);
    }
    return source[(from_at + s + t * walk.source_strides[0]) / 4u];
}

fn keep(k: u32, quad: vec4<u32>) {
    let at = (k / QUADS) * PITCH + (k % QUADS) * 4u;
    tile[at] = quad.x;
    tile[at + 1u] = quad.y;
    tile[at + 2u] = quad.z;
    tile[at + 3u] = quad.w;
}

fn put(to_at: u32, k: u32, room: vec2<u32>) {
    let t = (k % QUADS) * 4u;
    let s = k / QUADS;
    if s < room.x && t < room.y {
        let at = t * PITCH + s;
        let quad = vec4(tile[at], tile[at + PITCH], tile[at + 2u * PITCH], tile[at + 3u * PITCH]);
        target_[(to_at + t + s * walk.target_strides[1]) / 4u] = quad;
    }
}

@compute @workgroup_size(GROUP)
fn copy_tile_quads(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let index = group.x + group.y * groups.x;
    let tiles_s = (walk.lengths[1] + TILE - 1u) / TILE;
    let t = (index % walk.n_tiles) * TILE;
    let s = ((index / walk.n_tiles) % tiles_s) * TILE;
    let row = index / walk.n_tiles / tiles_s;
    let at = row_start(row, 2u);
    let room = select(vec2(0u), vec2(walk.lengths[1] - s, walk.lengths[0] - t), row < walk.n_rows);
    let from_at = at.x + s + t * walk.source_strides[0];
    // All loads come before the first use of one, so that their latencies overlap.
    let a = fetch(from_at, lane, room);
    let b = fetch(from_at, lane + GROUP, room);
    let c = fetch(from_at, lane + 2u * GROUP, room);
    let d = fetch(from_at, lane + 3u * GROUP, room);
    keep(lane, a);
    keep(lane + GROUP, b);
    keep(lane + 2u * GROUP, c);
    keep(lane + 3u * GROUP, d);
    workgroupBarrier();
    let to_at = at.y + t + s * walk.target_strides[1];
    for (var j = 0u; j < 4u; j++) {
        put(to_at, lane + j * GROUP, room);
    }
}
