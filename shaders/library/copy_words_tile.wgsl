// target[target_at(i)] = source[source_at(i)], through a tile that is read along axis 1 and written along axis 0
//
// Axis 0 is contiguous in the target, of which an invocation writes a word. The text before this file defines `walk.wgsl`,
// `words.wgsl`, the workgroup size `GROUP`, and `TILE_S` and `TILE_T`, the tile's lengths along the source's fastest axis
// and the target's.

// One unit of padding per row avoids bank conflicts both along rows and along columns.
const PITCH = TILE_S + 1u;
var<workgroup> tile: array<u32, TILE_T * PITCH>;

// The most words that a row of the tile can touch at any alignment: of the target, and of the source.
const ROW_WORDS = (TILE_T + 2u * UNITS - 2u) / UNITS;
const FROM_WORDS = (TILE_S + 2u * UNITS - 2u) / UNITS;

// Loads word `k` of the tile's rows and stores its units separately; rows of `room.x` units begin at `from_at` in the source.
fn fetch(from_at: u32, k: u32, room: vec2<u32>) {
    let t = k / FROM_WORDS;
    if t >= room.y {
        return;
    }
    let row_at = from_at + t * walk.source_strides[0];
    let word = row_at / UNITS + k % FROM_WORDS;
    let first = max(word * UNITS, row_at);
    let end = min((word + 1u) * UNITS, row_at + room.x);
    if first < end {
        let bits = source[word];
        for (var unit = first; unit < end; unit++) {
            tile[t * PITCH + unit - row_at] = (bits >> ((unit % UNITS) * BITS)) & UNIT_MASK;
        }
    }
}

@compute @workgroup_size(GROUP)
fn copy_words_tile(
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
    let from_at = at.x + first_s * walk.source_strides[1] + first_t * walk.source_strides[0];
    let room = select(vec2(0u), min(vec2(TILE_S, TILE_T), vec2(n_s - first_s, n_t - first_t)), is_row);
    if walk.source_strides[1] == 1u {
        for (var k = lane; k < FROM_WORDS * TILE_T; k += GROUP) {
            fetch(from_at, k, room);
        }
    } else {
        for (var k = lane; k < TILE_S * TILE_T; k += GROUP) {
            let s = k % TILE_S;
            let t = k / TILE_S;
            if s < room.x && t < room.y {
                tile[t * PITCH + s] = load(from_at + s * walk.source_strides[1] + t * walk.source_strides[0]);
            }
        }
    }
    workgroupBarrier();
    for (var k = lane; k < TILE_S * ROW_WORDS; k += GROUP) {
        let s = k / ROW_WORDS;
        if is_row && first_s + s < n_s {
            let row_at = at.y + (first_s + s) * walk.target_strides[1] + first_t;
            let word = row_at / UNITS + k % ROW_WORDS;
            let end = min((word + 1u) * UNITS, row_at + min(TILE_T, n_t - first_t));
            var value = 0u;
            var mask = 0u;
            for (var unit = max(word * UNITS, row_at); unit < end; unit++) {
                let shift = (unit % UNITS) * BITS;
                value |= tile[(unit - row_at) * PITCH + s] << shift;
                mask |= UNIT_MASK << shift;
            }
            store(word, mask, value);
        }
    }
}
