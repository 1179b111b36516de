// planes[c][i] = pixels[i][c], or pixels[i][c] = planes[c][i]
//
// Axis 0 is i, contiguous in the planes; axis 1 is c, contiguous in the pixels, which are contiguous themselves. An item of
// each plane has the units of as many items of pixels. Items of pixels are read and written in the order of memory, and
// pass through workgroup memory to the invocation that has the items of planes. The text before this file is `walk.wgsl` and
// the text that `channels.rs` writes: constants, `Items` and functions on them.

@group(0) @binding(0) var<storage, read> source: array<Item>;
@group(0) @binding(1) var<storage, read_write> target_: array<Item>;

var<workgroup> stage: array<Item, STAGE>;

// One item is skipped after every `PAD`, so that items `CHANNELS` apart lie in different banks.
fn slot(i: u32) -> u32 {
    return i + i / PAD;
}

@compute @workgroup_size(GROUP)
fn copy_channels(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let row = (tile / walk.n_tiles) * (GROUP / LANES) + lane / LANES;
    let along = lane % LANES;
    let n_blocks = walk.lengths[0] / ITEM_UNITS;
    let first = (tile % walk.n_tiles) * (LANES * BLOCKS);
    // Beyond the end, the last item is read again and nothing is written.
    let at = row_start(min(row, walk.n_rows - 1u), 2u);
    let stage_at = (lane - along) * (BLOCKS * CHANNELS);
    keep(stage_at, along, load(at.x, first, along, n_blocks - 1u));
    workgroupBarrier();
    let items = kept(stage_at, along);
    if row < walk.n_rows {
        store(at.y, first, along, n_blocks - 1u, items);
    }
}
