// out[row, i] = source[row, 0] op … op source[row, i]
//
// Rows are cut into tiles of TILE numbers, and each tile has a workgroup. A lane has QUADS times four neighbouring numbers,
// one four of each LANES fours of its team, so that the lanes of a team, taken together, have numbers in their order.
//
// A row of one tile needs nothing else. In longer rows a workgroup publishes the sum of its tile, and adds up what lies
// before the tile from the sums that others publish: a row has blocks of BLOCK tiles, the sum before each block is
// published by its predecessor's last tile, and each workgroup reads the sums of the tiles of its own block. Numbers are
// combined in an order that depends on their places alone, so results are the same on every run. Tiles are given out in
// order, by a counter, so that the sums that a workgroup needs are those of workgroups that have begun.
//
// Vulkan does not promise that workgroups that have begun go on while another waits. A sum that is not there after PATIENCE
// looks is therefore computed by the workgroup that needs it, from the numbers.
//
// `state` is zeros at first: the counter, two words for each word of the sum of each tile, and as many for the sum before
// each block. A published word is cut into halves, each with a bit beside it that says that it is there, so that no other
// memory has to be ordered.
//
// The text before this file defines `team_scan.wgsl`, `scan_words.wgsl`, QUADS, and `publishes`, whether the workgroup of a
// tile publishes its sums, which tests deny. The buffers, `load` and `store` are in `scan_numbers.wgsl` or
// `scan_quads.wgsl`. A launch has whole rows, or a part of one row that begins with a tile: number
// `base` of the bound range is its first, `first` the number of its first tile among the tiles of all rows, and `n` the
// number of elements of a row, or of the part. Lines in capitals stand for text that is repeated for each four of a lane, so
// that numbers are in registers: NVIDIA's compiler does not unroll loops of a kernel as long as this one.

const TILE = 4u * QUADS * THREADS;
const BLOCK = 2u * LANES;
const PATIENCE = 500u;
const PRESENT = 0x10000u;
const NONE = 0xffffffffu;

struct Scan { n: u32, n_tiles: u32, base: u32, first: u32, all_tiles: u32 }

@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
var<immediate> scan: Scan;

var<workgroup> ticket: u32;
var<workgroup> missing: u32;
var<workgroup> before_tile: T;
var<workgroup> block_sum: T;
var<workgroup> block_known: u32;
var<workgroup> before_block: T;

// Where the numbers of a tile are: the position of the first number of its row, or part, in the bound range, and the
// tile's first number, counted from there.
struct Range { base: u32, start: u32 }

fn range_of(tile: u32) -> Range {
    let row = tile / scan.n_tiles - scan.first / scan.n_tiles;
    let start = (tile % scan.n_tiles - scan.first % scan.n_tiles) * TILE;
    return Range(scan.base + row * scan.n, start);
}

// The number of the range with which a four of the lane begins.
fn start_of(range: Range, quad: u32, place: Place) -> u32 {
    return range.start + ((place.team * QUADS + quad) * LANES + place.lane) * 4u;
}

fn scan_four(numbers: ptr<function, array<T, 4>>) {
    for (var i = 1u; i < 4u; i++) {
        (*numbers)[i] = op((*numbers)[i - 1u], (*numbers)[i]);
    }
}

fn tile_slot(tile: u32) -> u32 {
    return 1u + 2u * WORDS * tile;
}

// The slot of the sum before a block of a row.
fn block_slot(row: u32, block: u32) -> u32 {
    return tile_slot(scan.all_tiles + row * ((scan.n_tiles - 1u) / BLOCK + 1u) + block);
}

fn publish_word(slot: u32, word: u32) {
    atomicStore(&state[slot], PRESENT | (word & 0xffffu));
    atomicStore(&state[slot + 1u], PRESENT | (word >> 16u));
}

// What is published at a slot, if it is there after some time.
fn wait_for(slot: u32) -> Published {
    var found = look(slot);
    for (var i = 1u; i < PATIENCE; i++) {
        if found.is_present {
            break;
        }
        found = look(slot);
    }
    return found;
}

// The sum of a tile, as `scan_tiles` computes it.
fn sum_of_tile(tile: u32, place: Place) -> T {
    let range = range_of(tile);
    var sum = identity();
    for (var i = 0u; i < QUADS; i++) {
        var numbers = load(range, start_of(range, i, place));
        scan_four(&numbers);
        sum = op(sum, last_lane(scan_lanes(numbers[3], place), place));
    }
    return scan_teams(sum, place).all;
}

// In the first team, the sum of the tiles of a block, if all of them are there: `count` tiles with published sums, and one
// more with the sum `own`. Each lane has two tiles. `before_tile` becomes the sum of the `count` tiles, `missing` the number
// of a lane whose tiles are not there, or NONE.
fn look_at_block(first: u32, count: u32, own: T, place: Place) -> T {
    var numbers = array<T, 2>(identity(), identity());
    var is_missing = false;
    for (var i = 0u; i < 2u; i++) {
        let at = 2u * place.lane + i;
        if at < count {
            let found = wait_for(tile_slot(first + at));
            numbers[i] = of_words(found.words);
            is_missing |= !found.is_present;
        } else if at == count {
            numbers[i] = own;
        }
    }
    let absent = lanes_where(is_missing, place);
    let sums = scan_lanes(op(numbers[0], numbers[1]), place);
    var before = previous_lane(sums, place);
    if count % 2u == 1u {
        before = op(before, numbers[0]);
    }
    if place.lane == count / 2u {
        before_tile = before;
    }
    if place.lane == 0u {
        missing = select(NONE, firstTrailingBit(absent), absent != 0u);
    }
    return last_lane(sums, place);
}

// The sum of a block, for all teams. The workgroup computes and publishes the sums of tiles that are not there.
fn sum_of_block(first: u32, count: u32, own: T, place: Place) -> T {
    for (var round = 0u; round <= LANES; round++) {
        if place.team == 0u {
            let sum = look_at_block(first, count, own, place);
            if place.lane == 0u {
                block_sum = sum;
            }
        }
        let lane = workgroupUniformLoad(&missing);
        if lane == NONE {
            break;
        }
        // The tiles of earlier launches are outside the bound range, and their sums are there.
        for (var tile = max(first + 2u * lane, scan.first); tile < first + min(2u * lane + 2u, count); tile++) {
            let sum = sum_of_tile(tile, place);
            if place.thread == 0u {
                publish(tile_slot(tile), sum);
            }
        }
    }
    return block_sum;
}

// The last block up to this one before which the sum is known, and this sum. If it is this block, the sum before the next
// one is published by the block's last tile.
fn find_start(row: u32, block: u32, is_last: bool, sum: T) {
    var found = ABSENT;
    var known = block;
    if block > 0u {
        found = wait_for(block_slot(row, block));
        for (var i = 0u; i < block; i++) {
            if found.is_present {
                break;
            }
            known--;
            found = look(block_slot(row, known));
        }
    }
    var before = identity();
    if found.is_present {
        before = of_words(found.words);
    }
    if is_last && known == block {
        publish(block_slot(row, block + 1u), op(before, sum));
    }
    block_known = known;
    before_block = before;
}

// The sum of the tiles of a row before a tile, whose own sum is `own`.
fn sum_before_tile(tile: u32, own: T, place: Place) -> T {
    let row = tile / scan.n_tiles;
    let at = tile % scan.n_tiles;
    let block = at / BLOCK;
    let count = at % BLOCK;
    let is_last = count == BLOCK - 1u && at + 1u < scan.n_tiles && publishes(tile);
    // The tile's own block comes first, and then those before it of which nobody has published the sum.
    var before = identity();
    var own_sum = identity();
    var of_block = block;
    var n_published = count;
    for (var round = 0u; round <= block + 1u; round++) {
        let sum = sum_of_block(row * scan.n_tiles + of_block * BLOCK, n_published, own, place);
        if round == 0u {
            own_sum = sum;
            if place.thread == 0u {
                find_start(row, block, is_last, sum);
            }
            of_block = workgroupUniformLoad(&block_known);
            before = before_block;
            n_published = BLOCK;
        } else {
            before = op(before, sum);
            of_block++;
            if place.thread == 0u {
                publish(block_slot(row, of_block), before);
            }
            workgroupBarrier(); // All have read `block_sum`.
        }
        if of_block == block {
            if round > 0u && is_last && place.thread == 0u {
                publish(block_slot(row, block + 1u), op(before, own_sum));
            }
            break;
        }
    }
    return op(before, before_tile);
}

@compute @workgroup_size(THREADS)
fn scan_tiles(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    var tile = scan.first + group.x;
    if scan.n_tiles > 1u {
        if place.thread == 0u {
            ticket = atomicAdd(&state[0], 1u);
        }
        tile = workgroupUniformLoad(&ticket);
    }
    let range = range_of(tile);
    // Loads have no branches between them, so that they overlap, and the fours of a lane are scanned side by side, because
    // each step waits for the step before.
    LOADS
    SCANS
    for (var by = 1u; by < LANES; by *= 2u) {
        STEPS
    }
    var sum = identity();
    SUMS
    let sums = scan_teams(sum, place);
    var before = sums.before;
    if scan.n_tiles > 1u {
        if place.thread == 0u && publishes(tile) {
            publish(tile_slot(tile), sums.all);
        }
        storageBarrier(); // No lane waits for others before the sum is published.
        before = op(sum_before_tile(tile, sums.all, place), before);
    }
    STORES
}
