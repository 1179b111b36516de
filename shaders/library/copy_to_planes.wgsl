// planes[c][i] = pixels[i][c]
//
// Axis 0 is i, contiguous in the planes; axis 1 is c, contiguous in the pixels, which are contiguous themselves. As
// many items of pixels give one item of each plane. The pixels are read in the order of memory and pass through
// workgroup memory. The text before this file is `walk.wgsl` and the text that `channels.rs` writes: constants, `Items`
// and functions on them.

@group(0) @binding(0) var<storage, read> source: array<Item>;
@group(0) @binding(1) var<storage, read_write> target_: array<Item>;

var<workgroup> stage: array<Item, STAGE>;

// One item is skipped after every `PAD`, so that items `CHANNELS` apart lie in different banks.
fn slot(i: u32) -> u32 {
    return i + i / PAD;
}

@compute @workgroup_size(GROUP)
fn copy_to_planes(
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
    let pixels = load_pixels(at.x / ITEM_UNITS, first * CHANNELS + along, n_blocks * CHANNELS - 1u);
    let stage_at = (lane - along) * (BLOCKS * CHANNELS);
    keep_in_order(stage_at + along, pixels);
    workgroupBarrier();
    let planes = arranged(kept_blocks(stage_at + along * CHANNELS));
    if row < walk.n_rows {
        store_planes(at.y, walk.target_strides[1], first + along, n_blocks - 1u, planes);
    }
}
