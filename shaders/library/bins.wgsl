// counts[b] += the number of elements of `source` between edge b and edge b + 1; the last bin has its upper edge too
//
// A workgroup counts in shared memory, and adds its counts up at its end. It has COPIES counters for each bin, side by
// side, so that as many neighbouring invocations add to different counters, in different banks of the memory, whatever
// the elements are.
//
// Elements are compared with the edges as keys. If IS_EVEN, `at` is the position of an element in widths of a bin, and
// is wrong by less than half a bin: only the nearest edge needs a comparison. None is needed where `at` is less than
// `inside` away from the middle of a bin; that distance is compared as bits, where NaN is above all numbers.
//
// The text before this file defines `key_of.wgsl`, `key_order.wgsl`, THREADS, COPIES, COUNTERS, IS_EVEN, and
// `fn distance(number: vec2<u32>) -> f32`, from the first edge. Words are read four at a time, from `quads`, and the
// elements behind the quads up to `end` from `source`. Any number of workgroups shares them.

struct Bins { n: u32, n_quads: u32, end: u32, origin: f32, scale: f32, inside: u32 }

@group(0) @binding(0) var<storage, read> source: array<Key>;
@group(0) @binding(1) var<storage, read> quads: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> edges: array<Key>;
@group(0) @binding(3) var<storage, read_write> counts: array<atomic<u32>>;
var<immediate> bins: Bins;

var<workgroup> counters: array<atomic<u32>, COUNTERS>;

// The bin of a key between the first and the last edge.
fn bin_of(key: Key, at: f32) -> u32 {
    if IS_EVEN {
        let nearest = min(u32(at + 0.5), bins.n);
        return clamp(nearest + u32(!precedes(key, edges[nearest])), 1u, bins.n) - 1u;
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
    return low;
}

fn count(number: vec2<u32>, copy: u32) {
    let at = distance(number) * bins.scale;
    var bin = u32(at);
    let from_middle = bitcast<u32>(at - f32(bin) - 0.5) & 0x7fffffffu;
    if !IS_EVEN | (bin >= bins.n) | (from_middle >= bins.inside) {
        let key = to_key(key_of(number));
        if precedes(key, edges[0]) | precedes(edges[bins.n], key) {
            return;
        }
        bin = bin_of(key, at);
    }
    atomicAdd(&counters[bin * COPIES + copy], 1u);
}

fn count_quad(quad: vec4<u32>, copy: u32) {
    if IS_PAIR {
        count(quad.yx, copy);
        count(quad.wz, copy);
    } else {
        count(quad.xx, copy);
        count(quad.yy, copy);
        count(quad.zz, copy);
        count(quad.ww, copy);
    }
}

@compute @workgroup_size(THREADS)
fn count_bins(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
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
