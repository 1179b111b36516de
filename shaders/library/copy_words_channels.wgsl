// planes[c][i] = pixels[i][c], or pixels[i][c] = planes[c][i] if TO_PIXELS
//
// For units smaller than a word, at any alignment. Axis 0 is i, axis 1 is c. Pixels are one line of units, planes a line for
// each channel. The words of the source's lines are loaded into workgroup memory, from which the words of the target's lines
// are assembled. The text before this file defines `walk.wgsl`, `words.wgsl`, the workgroup size `GROUP`, `CHANNELS`,
// `PIXEL`, the units from one pixel of the source to the next, `TILE_WORDS` words of each line of the target per workgroup,
// `LINE_WORDS` words of each line of the source for them, and `LOADS` words that an invocation loads.

const SOURCE_LINES = select(1u, CHANNELS, TO_PIXELS);
const TARGET_LINES = select(CHANNELS, 1u, TO_PIXELS);

var<workgroup> stage: array<u32, LOADS * GROUP * 33u / 32u + 1u>;

// One word is skipped after every 32, so that lines, and words `PIXEL` apart, lie in different banks.
fn slot(i: u32) -> u32 {
    return i + i / 32u;
}

// Where unit `i` of line `c` of the target is in the source: the line, and the unit of the line.
fn origin(c: u32, i: u32) -> vec2<u32> {
    return select(vec2(0u, i * PIXEL + c), vec2(i % CHANNELS, i / CHANNELS), TO_PIXELS);
}

@compute @workgroup_size(GROUP)
fn copy_words_channels(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let row = tile / walk.n_tiles;
    let n_units = walk.lengths[0] * select(1u, CHANNELS, TO_PIXELS);
    let at = row_start(min(row, walk.n_rows - 1u), 2u);
    // A line of the target may begin inside a word, so a tile also loads what some of the units before its own need.
    let first = (tile % walk.n_tiles) * (TILE_WORDS * UNITS);
    let low = origin(0u, max(first, UNITS - 1u) - (UNITS - 1u)).y;
    let high = origin(CHANNELS - 1u, min(first + TILE_WORDS * UNITS, n_units) - 1u).y;
    for (var j = 0u; j < LOADS; j++) {
        let i = lane + j * GROUP;
        let line_at = at.x + min(i / LINE_WORDS, SOURCE_LINES - 1u) * walk.source_strides[1];
        stage[slot(i)] = source[min((line_at + low) / UNITS + i % LINE_WORDS, (line_at + high) / UNITS)];
    }
    workgroupBarrier();
    for (var k = lane; k < TARGET_LINES * TILE_WORDS; k += GROUP) {
        let c = k / TILE_WORDS;
        let target_at = at.y + c * walk.target_strides[1];
        let unit = first + (k % TILE_WORDS) * UNITS - target_at % UNITS;
        var value = 0u;
        var mask = 0u;
        for (var u = 0u; u < UNITS; u++) {
            // Before the first unit the index has wrapped to a large number.
            if unit + u < n_units {
                let from_ = origin(c, unit + u);
                let line_at = at.x + from_.x * walk.source_strides[1];
                let from_at = line_at + from_.y;
                let word = stage[slot(from_.x * LINE_WORDS + from_at / UNITS - (line_at + low) / UNITS)];
                value |= ((word >> ((from_at % UNITS) * BITS)) & UNIT_MASK) << (u * BITS);
                mask |= UNIT_MASK << (u * BITS);
            }
        }
        if row < walk.n_rows {
            store(target_at / UNITS + first / UNITS + k % TILE_WORDS, mask, value);
        }
    }
}
