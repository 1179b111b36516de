// planes[c][i] = pixels[i][c]
//
// For units smaller than a word, at any alignment. Axis 0 is i, axis 1 is c; pixels are `PIXEL` units apart. The pixels'
// words are loaded into workgroup memory, from which the planes' words are assembled. The text before this file defines
// `walk.wgsl`, `words.wgsl`, the workgroup size `GROUP`, `CHANNELS`, `TILE_WORDS` words of each plane per workgroup, and
// `LOADS` words that an invocation loads.

var<workgroup> stage: array<u32, LOADS * GROUP * 33u / 32u + 1u>;

// One word is skipped after every 32, so that words `PIXEL` apart lie in different banks.
fn slot(i: u32) -> u32 {
    return i + i / 32u;
}

@compute @workgroup_size(GROUP)
fn copy_words_to_planes(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let row = tile / walk.n_tiles;
    let n = walk.lengths[0];
    let at = row_start(min(row, walk.n_rows - 1u), 2u);
    // Planes may begin inside a word, so a tile also loads some of the pixels before its own.
    let first = (tile % walk.n_tiles) * (TILE_WORDS * UNITS);
    let low = max(first, UNITS - 1u) - (UNITS - 1u);
    let high = min(first + TILE_WORDS * UNITS, n) - 1u;
    let from_word = (at.x + low * PIXEL) / UNITS;
    let last_word = (at.x + high * PIXEL + CHANNELS - 1u) / UNITS;
    for (var j = 0u; j < LOADS; j++) {
        let i = lane + j * GROUP;
        stage[slot(i)] = source[min(from_word + i, last_word)];
    }
    workgroupBarrier();
    for (var k = lane; k < CHANNELS * TILE_WORDS; k += GROUP) {
        let c = k / TILE_WORDS;
        let plane_at = at.y + c * walk.target_strides[1];
        let pixel = first + (k % TILE_WORDS) * UNITS - plane_at % UNITS;
        var value = 0u;
        var mask = 0u;
        for (var u = 0u; u < UNITS; u++) {
            // Before the first pixel the index has wrapped to a large number.
            if pixel + u < n {
                let unit = at.x + (pixel + u) * PIXEL + c;
                let word = stage[slot(unit / UNITS - from_word)];
                value |= ((word >> ((unit % UNITS) * BITS)) & UNIT_MASK) << (u * BITS);
                mask |= UNIT_MASK << (u * BITS);
            }
        }
        if row < walk.n_rows {
            store(plane_at / UNITS + first / UNITS + k % TILE_WORDS, mask, value);
        }
    }
}
