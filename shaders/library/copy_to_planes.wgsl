// planes[c][i] = pixels[i][c]
//
// Axis 0 is i, packed in the planes; axis 1 is c, packed in the pixels, which lie packed themselves. An item of each
// plane is made of as many items of pixels. These are read in the order of memory and change invocations on a stage.
// Before it stand `walk.wgsl`, and what `channels.rs` writes: constants, `Items` and functions on them.

@group(0) @binding(0) var<storage, read> source: array<Item>;
@group(0) @binding(1) var<storage, read_write> target_: array<Item>;

var<workgroup> stage: array<Item, STAGE>;

// One item is left out behind each round of the banks, so that those that stand `CHANNELS` apart are in different ones.
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
    // What is past the end is read from the last item, and not written.
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
