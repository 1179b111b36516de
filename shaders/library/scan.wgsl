// out[row, i] = source[row, 0] op … op source[row, i]
//
// Rows are cut into tiles of TILE numbers, and each tile has a workgroup. Item i of a lane of a team is number
// (team * ITEMS + i) * LANES + lane of the tile, so that the lanes of a team, taken together, have numbers in their order.
//
// A row of one tile needs nothing else. In longer rows a workgroup publishes the sum of its tile, and adds up what lies
// before the tile from the sums that others publish: a row has blocks of THREADS tiles, the sum before each block is
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
// The text before this file defines `team_scan.wgsl`; ITEMS; S, the type of the numbers that are read, and `widen`, which
// makes T of it; and `publishes`, whether the workgroup of a tile publishes its sum, which tests deny. A launch has whole
// rows, or a part of one row that begins with a tile: number `base` of the bound range is its first, `first` the number
// of its first tile among the tiles of all rows, and `n` the number of elements of a row, or of the part.

const TILE = THREADS * ITEMS;
const PATIENCE = 64u;
const PRESENT = 0x10000u;
const NONE = 0xffffffffu;

struct Scan { n: u32, n_tiles: u32, base: u32, first: u32, all_tiles: u32 }

@group(0) @binding(0) var<storage, read> source: array<S>;
@group(0) @binding(1) var<storage, read_write> out: array<T>;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
var<immediate> scan: Scan;

var<workgroup> ticket: u32;
var<workgroup> first_missing: atomic<u32>;
var<workgroup> missing: u32;
var<workgroup> block_known: u32;
var<workgroup> sum_known: T;

// Where the numbers of a tile are: the position of the first number of its row, or part, in the bound range, and the
// tile's first number, counted from there.
struct Range { base: u32, start: u32 }

fn range_of(tile: u32) -> Range {
    let row = tile / scan.n_tiles - scan.first / scan.n_tiles;
    let start = (tile % scan.n_tiles - scan.first % scan.n_tiles) * TILE;
    return Range(scan.base + row * scan.n, start);
}

// A number of the tile; behind the end of the row, the identity.
fn number_at(range: Range, item: u32, place: Place) -> T {
    let at = range.start + (place.team * ITEMS + item) * LANES + place.lane;
    return select(identity(), widen(source[range.base + min(at, scan.n - 1u)]), at < scan.n);
}

fn tile_slot(tile: u32) -> u32 {
    return 1u + 2u * WORDS * tile;
}

// The slot of the sum before a block of a row.
fn block_slot(row: u32, block: u32) -> u32 {
    return tile_slot(scan.all_tiles + row * ((scan.n_tiles - 1u) / THREADS + 1u) + block);
}

fn publish_word(slot: u32, word: u32) {
    atomicStore(&state[slot], PRESENT | (word & 0xffffu));
    atomicStore(&state[slot + 1u], PRESENT | (word >> 16u));
}

fn publish(slot: u32, number: T) {
    let words = words_of(number);
    publish_word(slot, words.x);
    if WORDS == 2u {
        publish_word(slot + 2u, words.y);
    }
}

struct Published { words: vec2<u32>, is_present: bool }

fn look(slot: u32) -> Published {
    let low = vec2(atomicLoad(&state[slot]), atomicLoad(&state[slot + 1u]));
    var high = vec2(PRESENT);
    if WORDS == 2u {
        high = vec2(atomicLoad(&state[slot + 2u]), atomicLoad(&state[slot + 3u]));
    }
    let halves = vec4(low, high);
    let words = (halves.xz & vec2(0xffffu)) | (halves.yw << vec2(16u));
    return Published(words, all((halves & vec4(PRESENT)) != vec4(0u)));
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
    for (var i = 0u; i < ITEMS; i++) {
        sum = op(sum, last_lane(scan_lanes(number_at(range, i, place), place), place));
    }
    return scan_teams(sum, place).all;
}

// The sums of the first `count` tiles of a block, and of all THREADS tiles if `own` is the sum of the tile behind the first
// `count`, and this tile is the last.
fn sums_of_block(first: u32, count: u32, own: T, place: Place) -> Sums {
    for (var round = 0u; round <= THREADS; round++) {
        var number = select(identity(), own, place.thread == count);
        if place.thread == 0u {
            atomicStore(&first_missing, NONE);
        }
        workgroupBarrier();
        if place.thread < count {
            let found = wait_for(tile_slot(first + place.thread));
            number = of_words(found.words);
            if !found.is_present {
                atomicMin(&first_missing, place.thread);
            }
        }
        workgroupBarrier();
        if place.thread == 0u {
            missing = atomicLoad(&first_missing);
        }
        let lost = workgroupUniformLoad(&missing);
        if lost == NONE {
            let sum = scan_lanes(number, place);
            let teams = scan_teams(last_lane(sum, place), place);
            if place.thread + 1u == count {
                sum_known = op(teams.before, sum);
            }
            let before = workgroupUniformLoad(&sum_known);
            return Sums(before, teams.all);
        }
        let sum = sum_of_tile(first + lost, place);
        if place.thread == 0u {
            publish(tile_slot(first + lost), sum);
        }
    }
    return Sums(identity(), identity());
}

// The sum of the tiles of a row before a tile, whose own sum is `own`.
fn sum_before_tile(tile: u32, own: T, place: Place) -> T {
    let row = tile / scan.n_tiles;
    let at = tile % scan.n_tiles;
    let block = at / THREADS;
    let count = at % THREADS;
    let sums = sums_of_block(tile - count, count, own, place);
    if place.thread == 0u {
        block_known = block;
        if block > 0u {
            var found = wait_for(block_slot(row, block));
            for (var i = 0u; i < block; i++) {
                if found.is_present {
                    break;
                }
                block_known--;
                found = look(block_slot(row, block_known));
            }
            sum_known = of_words(found.words);
        }
    }
    let known = workgroupUniformLoad(&block_known);
    var before = workgroupUniformLoad(&sum_known);
    if known == 0u {
        before = identity();
    }
    for (var i = known; i < block; i++) {
        before = op(before, sums_of_block(row * scan.n_tiles + i * THREADS, THREADS, own, place).all);
        if place.thread == 0u {
            publish(block_slot(row, i + 1u), before);
        }
    }
    if place.thread == 0u && count == THREADS - 1u && at + 1u < scan.n_tiles {
        publish(block_slot(row, block + 1u), op(before, sums.all));
    }
    return select(op(before, sums.before), before, count == 0u);
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
    // Loads have no branches between them, so that they overlap.
    var numbers: array<T, ITEMS>;
    for (var i = 0u; i < ITEMS; i++) {
        numbers[i] = number_at(range, i, place);
    }
    var sum = identity();
    for (var i = 0u; i < ITEMS; i++) {
        let number = scan_lanes(numbers[i], place);
        numbers[i] = op(sum, number);
        sum = op(sum, last_lane(number, place));
    }
    let sums = scan_teams(sum, place);
    var before = sums.before;
    if scan.n_tiles > 1u {
        if place.thread == 0u && publishes(tile) {
            publish(tile_slot(tile), sums.all);
        }
        before = op(sum_before_tile(tile, sums.all, place), before);
    }
    for (var i = 0u; i < ITEMS; i++) {
        let at = range.start + (place.team * ITEMS + i) * LANES + place.lane;
        if at < scan.n {
            out[range.base + at] = op(before, numbers[i]);
        }
    }
}
