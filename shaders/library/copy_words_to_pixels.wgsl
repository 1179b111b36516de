// pixels[i][c] = planes[c][i]
//
// For units smaller than a word, at any alignment. Axis 0 is i, axis 1 is c. The planes' words are loaded into
// workgroup memory, from which the pixels' words are assembled. The text before this file defines `walk.wgsl`,
// `words.wgsl`, the workgroup size `GROUP`, `CHANNELS`, `TILE_WORDS` words of pixels per workgroup, `PLANE_WORDS` words
// of each plane for them, and `LOADS` words that an invocation loads.

var<workgroup> stage: array<u32, LOADS * GROUP * 33u / 32u + 1u>;

// One word is skipped after every 32, so that planes begin in different banks.
fn slot(i: u32) -> u32 {
    return i + i / 32u;
}

@compute @workgroup_size(GROUP)
fn copy_words_to_pixels(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let row = tile / walk.n_tiles;
    let n_units = walk.lengths[0] * CHANNELS;
    let at = row_start(min(row, walk.n_rows - 1u), 2u);
    // Pixels may begin inside a word, so a tile also loads some of the units before its own.
    let first = (tile % walk.n_tiles) * (TILE_WORDS * UNITS);
    let low = (max(first, UNITS - 1u) - (UNITS - 1u)) / CHANNELS;
    let high = (min(first + TILE_WORDS * UNITS, n_units) - 1u) / CHANNELS;
    for (var j = 0u; j < LOADS; j++) {
        let i = lane + j * GROUP;
        let plane_at = at.x + min(i / PLANE_WORDS, CHANNELS - 1u) * walk.source_strides[1];
        stage[slot(i)] = source[min((plane_at + low) / UNITS + i % PLANE_WORDS, (plane_at + high) / UNITS)];
    }
    workgroupBarrier();
    for (var k = lane; k < TILE_WORDS; k += GROUP) {
        let unit = first + k * UNITS - at.y % UNITS;
        var value = 0u;
        var mask = 0u;
        for (var u = 0u; u < UNITS; u++) {
            // Before the first unit the index has wrapped to a large number.
            if unit + u < n_units {
                let c = (unit + u) % CHANNELS;
                let plane_at = at.x + c * walk.source_strides[1];
                let from_at = plane_at + (unit + u) / CHANNELS;
                let word = stage[slot(c * PLANE_WORDS + from_at / UNITS - (plane_at + low) / UNITS)];
                value |= ((word >> ((from_at % UNITS) * BITS)) & UNIT_MASK) << (u * BITS);
                mask |= UNIT_MASK << (u * BITS);
            }
        }
        if row < walk.n_rows {
            store(at.y / UNITS + first / UNITS + k, mask, value);
        }
    }
}
