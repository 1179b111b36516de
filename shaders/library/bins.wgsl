// counts[b] += the number of elements of `source` between edge b and edge b + 1; the last bin has its upper edge too
//
// A workgroup counts in shared memory, and adds its counts up at its end. It has COPIES counters for each bin, side by
// side, so that as many neighbouring invocations add to different counters, in different banks of the memory, whatever
// the elements are.
//
// Elements are compared with the edges as keys, exactly. If IS_EVEN, the positions of four numbers between the edges are
// computed first, in PARTS of a bin. A position may be wrong by `wrong` parts, which is less than half a bin: a number that
// is further than that from the edges needs no comparison, and others one with the nearest edge. A position above zero is
// always behind the first edge. NaN and other positions are seen by their bits, which then are 0 or above those of `limit`,
// the end of the last bin if that is as wide as the others; such numbers are counted as if the bins were not even.
//
// The text before this file defines `key_of.wgsl`, `key_order.wgsl`, THREADS, COPIES, COUNTERS, IS_EVEN, PARTS, and
// `fn distances(quad: vec4<u32>) -> vec4<f32>`, from the first edge. Words are read four at a time, from `quads`, and the
// elements behind the quads up to `end` from `source`. Any number of workgroups shares them.

struct Bins { n: u32, n_quads: u32, end: u32, origin: f32, scale: f32, limit: f32, wrong: u32 }

// 2^23. The bits of a float that is greater by a whole number of at most 2^23 are greater by that number.
const WHOLE = 8388608.0f;

@group(0) @binding(0) var<storage, read> source: array<Key>;
@group(0) @binding(1) var<storage, read> quads: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> edges: array<Key>;
@group(0) @binding(3) var<storage, read_write> counts: array<atomic<u32>>;
var<immediate> bins: Bins;

var<workgroup> counters: array<atomic<u32>, COUNTERS>;

// The key of the first edge.
var<private> lowest: u32;

fn keys_of(quad: vec4<u32>) -> vec4<u32> {
    return vec4(key_of(quad.xx).x, key_of(quad.yy).x, key_of(quad.zz).x, key_of(quad.ww).x);
}

fn count_in(bin: u32, copy: u32) {
    atomicAdd(&counters[bin * COPIES + copy], 1u);
}

// Counts a number in a bin that is searched for.
fn count(number: vec2<u32>, copy: u32) {
    let key = to_key(key_of(number));
    if precedes(key, edges[0]) | precedes(edges[bins.n], key) {
        return;
    }
    var low = 0u;
    var high = bins.n - 1u;
    while low < high {
        let probe = (low + high + 1u) / 2u;
        if precedes(key, edges[probe]) {
            high = probe - 1u;
        } else {
            low = probe;
        }
    }
    count_in(low, copy);
}

// The bins of four numbers, by their positions. Numbers that have to be searched for have none.
fn bins_of(quad: vec4<u32>) -> vec4<u32> {
    let at = distances(quad) * bins.scale;
    let position = bitcast<vec4<u32>>(at + WHOLE) - bitcast<u32>(WHOLE);
    let behind = position + bins.wrong;
    var bin = position / PARTS;
    if any((behind >= vec4(PARTS)) & (behind % PARTS < vec4(2u * bins.wrong))) {
        let nearest = min((position + PARTS / 2u) / PARTS, vec4(bins.n));
        let keys = keys_of(quad);
        let x = precedes(Key(keys.x), edges[nearest.x]);
        let y = precedes(Key(keys.y), edges[nearest.y]);
        let z = precedes(Key(keys.z), edges[nearest.z]);
        let w = precedes(Key(keys.w), edges[nearest.w]);
        bin = nearest - select(vec4(0u), vec4(1u), vec4(x, y, z, w));
    }
    return select(vec4(bins.n), bin, bitcast<vec4<u32>>(at) - 1u < vec4(bitcast<u32>(bins.limit) - 1u));
}

fn count_one(word: u32, bin: u32, copy: u32) {
    if bin < bins.n {
        count_in(bin, copy);
    } else {
        count(vec2(word), copy);
    }
}

fn count_quad(quad: vec4<u32>, copy: u32) {
    if IS_PAIR {
        count(quad.yx, copy);
        count(quad.wz, copy);
        return;
    }
    var bin = vec4(bins.n);
    if IS_EVEN {
        bin = bins_of(quad);
    }
    if all(bin < vec4(bins.n)) {
        count_in(bin.x, copy);
        count_in(bin.y, copy);
        count_in(bin.z, copy);
        count_in(bin.w, copy);
        return;
    }
    count_one(quad.x, bin.x, copy);
    count_one(quad.y, bin.y, copy);
    count_one(quad.z, bin.z, copy);
    count_one(quad.w, bin.w, copy);
}

@compute @workgroup_size(THREADS)
fn count_bins(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    lowest = vec2<u32>(edges[0]).x;
    let copy = thread % COPIES;
    let end = bins.n_quads;
    for (var i = group.x * 4u * THREADS + thread; i < end; i += groups.x * 4u * THREADS) {
        let first = quads[i]; // All four are read before one of them is counted.
        let second = quads[min(i + THREADS, end - 1u)];
        let third = quads[min(i + 2u * THREADS, end - 1u)];
        let fourth = quads[min(i + 3u * THREADS, end - 1u)];
        count_quad(first, copy);
        if i + THREADS < end {
            count_quad(second, copy);
        }
        if i + 2u * THREADS < end {
            count_quad(third, copy);
        }
        if i + 3u * THREADS < end {
            count_quad(fourth, copy);
        }
    }
    let start = end * select(4u, 2u, IS_PAIR);
    for (var i = start + group.x * THREADS + thread; i < bins.end; i += groups.x * THREADS) {
        count(words_of(source[i]), copy);
    }
    workgroupBarrier();
    for (var bin = thread; bin < bins.n; bin += THREADS) {
        var sum = 0u;
        for (var i = 0u; i < COPIES; i++) {
            sum += atomicLoad(&counters[bin * COPIES + (bin + i) % COPIES]);
        }
        if sum > 0u {
            atomicAdd(&counts[bin], sum);
        }
    }
}
