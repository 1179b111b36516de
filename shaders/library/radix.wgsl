// out = the rows of `source`, each in ascending order, equal keys in their former order
//
// A radix sort with digits of eight bits, the lowest first. A workgroup has a tile of TILE keys of one row. A row of one
// tile is sorted by `radix_rows` in shared memory. For longer rows, each digit is a launch of `radix_count`, which counts
// the keys of each digit in each tile, a scan of these counts along each row, and a launch of `radix_scatter`, which moves
// each key to its place. Both have a workgroup for each tile.
//
// A digit that is the same in all keys of each row needs no pass. The first count finds the digits that differ, as bits,
// and sets the bit of the lowest digit too. The last passes have these digits, and the passes before them end at once: so
// the host knows which pass is the last, and which buffers a pass has. The pass of the lowest digit reads `numbers`, what
// the first pass has as `source`. Until that pass, `counts` keeps the counts of the lowest digit.
//
// The place of a key in its tile is its rank: the number of keys with a lower digit, and of keys with its digit before it.
// Item i of a lane of a team is key (team * ITEMS + i) * LANES + lane of the tile, so that the lanes of a team, taken
// together, see keys in their order. Each lane sets its bit in a word of shared memory for its digit, so that the lanes with
// the same digit find each other, and the first of them counts for all. Keys are loaded without branches between them,
// so that the loads of one invocation overlap.
//
// The text before this file defines `key_of.wgsl`; LANES, the invocations of a team, which is a subgroup, half of one
// with 64 invocations, or a single invocation; `struct Invocation` and `place_of`, which say where an invocation stands;
// `sum_before` and `meet`, which are operations of the team; TEAMS and ITEMS; PASSES, the number of digits;
// HAS_ORDER, and `order_of` and `set_order`, which read and write the place that each key had at first. If EXACT, `out`
// has numbers, and otherwise keys.

const THREADS = TEAMS * LANES;
const TILE = THREADS * ITEMS;
const DIGITS = 256u;
const EACH = DIGITS / LANES;
const EXCHANGE = max(TILE * select(1u, 2u, IS_PAIR), TEAMS * DIGITS);

struct Radix { n: u32, n_tiles: u32, pass_index: u32 }

@group(0) @binding(0) var<storage, read> source: array<Key>;
@group(0) @binding(1) var<storage, read_write> out: array<Key>;
@group(0) @binding(2) var<storage, read> ends: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;
@group(0) @binding(5) var<storage, read> digits: array<u32>;
@group(0) @binding(5) var<storage, read_write> found_digits: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read> numbers: array<Key>;
var<immediate> radix: Radix;

// While keys are ranked, the lanes with each digit as bits, for each team; else the first words of the keys of the tile,
// and behind them the second ones.
var<workgroup> exchange: array<atomic<u32>, EXCHANGE>;
var<workgroup> counters: array<atomic<u32>, TEAMS * DIGITS>;
var<workgroup> starts: array<u32, DIGITS + LANES>;
// The move of the keys of each digit; before the moves are known, the digits that differ in each team.
var<workgroup> moves: array<u32, DIGITS>;

fn digit_of(key: Key, digit: u32) -> u32 {
    let words = vec2<u32>(key);
    return (select(words.x, words.y, IS_PAIR && digit < 4u) >> (digit % 4u * 8u)) & (DIGITS - 1u);
}

// The number of passes that end at once, if these digits differ.
fn passes_without_digit(differing: u32) -> u32 {
    return PASSES - countOneBits(differing);
}

// The digit of a pass that has one.
fn digit_of_pass(differing: u32) -> u32 {
    var rest = differing;
    for (var i = passes_without_digit(differing); i < radix.pass_index; i++) {
        rest &= rest - 1u;
    }
    return firstTrailingBit(rest);
}

// Keeps, for each team, the digits in which one of these bits is set in one of its lanes.
fn put_digits(bits: Key, place: Place) {
    var differing = 1u;
    for (var digit = 1u; digit < PASSES; digit++) {
        differing |= u32(lanes_where(digit_of(bits, digit) != 0u, place) != 0u) << digit;
    }
    if place.lane == 0u {
        moves[place.team] = differing;
    }
}

// The digits of all teams.
fn take_digits() -> u32 {
    var differing = 0u;
    for (var team = 0u; team < TEAMS; team++) {
        differing |= moves[team];
    }
    return differing;
}

// Where `starts` has a digit: one place apart for each lane's digits, so that the lanes use different banks.
fn start_of(digit: u32) -> u32 {
    return digit + digit / EACH;
}

// A key or number of the row; behind its end, the last one.
fn read_word(base: u32, at: u32) -> Key {
    return source[base + min(at, radix.n - 1u)];
}

// The key of what `read_word` has read; behind the end of the row, the greatest key.
fn key_at(at: u32, word: Key, is_number: bool) -> Key {
    var key = word;
    if is_number {
        key = to_key(key_of(words_of(word)));
    }
    return select(to_key(vec2(0xffffffffu)), key, at < radix.n);
}

fn write_key(at: u32, key: Key, is_number: bool) {
    if is_number {
        out[at] = to_key(words_of(to_key(number_of(vec2<u32>(key)))));
    } else {
        out[at] = key;
    }
}

fn clear_counters(thread: u32) {
    for (var i = thread; i < TEAMS * DIGITS; i += THREADS) {
        atomicStore(&counters[i], 0u);
    }
    workgroupBarrier();
}

// The number of keys of the team with the digit, before this one. The bits of lanes are zeros before and behind it.
fn rank_in_team(place: Place, digit: u32) -> u32 {
    let slot = place.team * DIGITS + digit;
    atomicOr(&exchange[slot], 1u << place.lane);
    meet();
    let peers = atomicLoad(&exchange[slot]);
    let before = atomicLoad(&counters[slot]);
    let rank = countOneBits(peers & ((1u << place.lane) - 1u));
    meet();
    if rank == 0u {
        atomicStore(&counters[slot], before + countOneBits(peers));
        atomicStore(&exchange[slot], 0u);
    }
    meet();
    return before + rank;
}

fn put_key(rank: u32, key: Key) {
    let words = vec2<u32>(key);
    atomicStore(&exchange[rank], words.x);
    if IS_PAIR {
        atomicStore(&exchange[TILE + rank], words.y);
    }
}

fn take_key(rank: u32) -> Key {
    var words = vec2(atomicLoad(&exchange[rank]), 0u);
    if IS_PAIR {
        words.y = atomicLoad(&exchange[TILE + rank]);
    }
    return to_key(words);
}

// Changes the counters to the numbers of keys of earlier teams, and `starts` to the numbers of keys with lower digits.
fn scan_counters(place: Place) {
    workgroupBarrier();
    for (var digit = place.thread; digit < DIGITS; digit += THREADS) {
        var sum = 0u;
        for (var team = 0u; team < TEAMS; team++) {
            let count = atomicLoad(&counters[team * DIGITS + digit]);
            atomicStore(&counters[team * DIGITS + digit], sum);
            sum += count;
        }
        starts[start_of(digit)] = sum;
    }
    workgroupBarrier();
    var total = 0u;
    for (var i = 0u; i < EACH; i++) {
        total += starts[start_of(place.lane * EACH + i)];
    }
    var sum = sum_before(total);
    workgroupBarrier();
    if place.team == 0u {
        for (var i = 0u; i < EACH; i++) {
            let count = starts[start_of(place.lane * EACH + i)];
            starts[start_of(place.lane * EACH + i)] = sum;
            sum += count;
        }
    }
    workgroupBarrier();
}

@compute @workgroup_size(THREADS)
fn radix_count(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    var of_pass = 0u;
    if radix.pass_index > 0u {
        if place.thread == 0u {
            moves[0] = atomicLoad(&found_digits[0]);
        }
        let differing = workgroupUniformLoad(&moves[0]);
        if radix.pass_index <= passes_without_digit(differing) {
            return;
        }
        of_pass = digit_of_pass(differing);
    }
    let row = group.x / radix.n_tiles;
    let tile = group.x % radix.n_tiles;
    let first = tile * TILE + place.thread;
    let first_key = key_at(0u, read_word(row * radix.n, 0u), of_pass == 0u);
    var bits = Key();
    var keys: array<Key, ITEMS>;
    for (var i = 0u; i < ITEMS; i++) {
        keys[i] = read_word(row * radix.n, first + i * THREADS);
    }
    clear_counters(place.thread);
    for (var i = 0u; i < ITEMS; i++) {
        let at = first + i * THREADS;
        if at < radix.n {
            let key = key_at(at, keys[i], of_pass == 0u);
            bits |= key ^ first_key;
            atomicAdd(&counters[place.team * DIGITS + digit_of(key, of_pass)], 1u);
        }
    }
    if radix.pass_index == 0u {
        put_digits(bits, place);
    }
    workgroupBarrier();
    if radix.pass_index == 0u && place.thread == 0u {
        let differing = take_digits();
        if (differing & ~atomicLoad(&found_digits[0])) != 0u {
            atomicOr(&found_digits[0], differing);
        }
    }
    for (var digit = place.thread; digit < DIGITS; digit += THREADS) {
        var sum = 0u;
        for (var team = 0u; team < TEAMS; team++) {
            sum += atomicLoad(&counters[team * DIGITS + digit]);
        }
        counts[(row * DIGITS + digit) * radix.n_tiles + tile] = sum;
    }
}

@compute @workgroup_size(THREADS)
fn radix_scatter(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    if radix.pass_index < passes_without_digit(digits[0]) {
        return;
    }
    let of_pass = digit_of_pass(digits[0]);
    let place = place_of(invocation);
    let base = group.x / radix.n_tiles * radix.n;
    let tile = group.x % radix.n_tiles;
    let first = tile * TILE + place.team * ITEMS * LANES + place.lane;
    var keys: array<Key, ITEMS>;
    var ranks: array<u32, ITEMS>;
    if of_pass == 0u {
        for (var i = 0u; i < ITEMS; i++) {
            keys[i] = numbers[base + min(first + i * LANES, radix.n - 1u)];
        }
    } else {
        for (var i = 0u; i < ITEMS; i++) {
            keys[i] = read_word(base, first + i * LANES);
        }
    }
    clear_counters(place.thread);
    for (var i = 0u; i < ITEMS; i++) {
        keys[i] = key_at(first + i * LANES, keys[i], of_pass == 0u);
        ranks[i] = rank_in_team(place, digit_of(keys[i], of_pass));
    }
    scan_counters(place);
    // The keys of a digit move from their places in the tile to those behind the keys of earlier tiles.
    for (var digit = place.thread; digit < DIGITS; digit += THREADS) {
        let end = (group.x / radix.n_tiles * DIGITS + digit) * radix.n_tiles + tile;
        moves[digit] = select(0u, ends[max(end, 1u) - 1u], digit + tile > 0u) - starts[start_of(digit)];
    }
    for (var i = 0u; i < ITEMS; i++) {
        let digit = digit_of(keys[i], of_pass);
        ranks[i] += starts[start_of(digit)] + atomicLoad(&counters[place.team * DIGITS + digit]);
        put_key(ranks[i], keys[i]);
    }
    workgroupBarrier();
    let n_keys = min(radix.n - tile * TILE, TILE);
    var places: array<u32, ITEMS>;
    for (var i = 0u; i < ITEMS; i++) {
        let rank = i * THREADS + place.thread;
        let key = take_key(rank);
        places[i] = base + moves[digit_of(key, of_pass)] + rank;
        if rank < n_keys {
            write_key(places[i], key, EXACT && radix.pass_index + 1u == PASSES);
        }
    }
    if !HAS_ORDER {
        return;
    }
    workgroupBarrier();
    for (var i = 0u; i < ITEMS; i++) {
        let at = first + i * LANES;
        atomicStore(&exchange[ranks[i]], order_of(base + at, at, of_pass == 0u, at < radix.n));
    }
    workgroupBarrier();
    for (var i = 0u; i < ITEMS; i++) {
        let rank = i * THREADS + place.thread;
        if rank < n_keys {
            set_order(places[i], atomicLoad(&exchange[rank]));
        }
    }
}

@compute @workgroup_size(THREADS)
fn radix_rows(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    let base = group.x * radix.n;
    let first = place.team * ITEMS * LANES + place.lane;
    var keys: array<Key, ITEMS>;
    var order: array<u32, ITEMS>;
    var ranks: array<u32, ITEMS>;
    let first_key = key_at(0u, read_word(base, 0u), true);
    var bits = Key();
    for (var i = 0u; i < ITEMS; i++) {
        let at = first + i * LANES;
        keys[i] = key_at(at, read_word(base, at), true);
        if IS_PAIR {
            bits |= select(first_key, keys[i], at < radix.n) ^ first_key;
        }
        order[i] = first + i * LANES;
    }
    // Short keys have few digits to leave out, and their rows take no look at them.
    var differing = 0u;
    if IS_PAIR {
        put_digits(bits, place);
        workgroupBarrier();
        differing = take_digits();
    }
    for (var digit = 0u; digit < PASSES; digit++) {
        if IS_PAIR && (differing & (1u << digit)) == 0u {
            continue;
        }
        for (var i = place.thread; i < TEAMS * DIGITS; i += THREADS) {
            atomicStore(&exchange[i], 0u);
        }
        clear_counters(place.thread);
        for (var i = 0u; i < ITEMS; i++) {
            ranks[i] = rank_in_team(place, digit_of(keys[i], digit));
        }
        scan_counters(place);
        for (var i = 0u; i < ITEMS; i++) {
            let of_key = digit_of(keys[i], digit);
            ranks[i] += starts[start_of(of_key)] + atomicLoad(&counters[place.team * DIGITS + of_key]);
            put_key(ranks[i], keys[i]);
        }
        workgroupBarrier();
        for (var i = 0u; i < ITEMS; i++) {
            keys[i] = take_key(first + i * LANES);
        }
        workgroupBarrier();
        if HAS_ORDER {
            for (var i = 0u; i < ITEMS; i++) {
                atomicStore(&exchange[ranks[i]], order[i]);
            }
            workgroupBarrier();
            for (var i = 0u; i < ITEMS; i++) {
                order[i] = atomicLoad(&exchange[first + i * LANES]);
            }
            workgroupBarrier();
        }
    }
    for (var i = 0u; i < ITEMS; i++) {
        let at = first + i * LANES;
        if at < radix.n {
            write_key(base + at, keys[i], EXACT);
            set_order(base + at, order[i]);
        }
    }
}
