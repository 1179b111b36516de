// firsts[b] = the element of block b that comes first in the order
//
// LANES invocations share a block of 4 * LANES quads of words. Each reads four of them, and the first of their keys are
// compared in shared memory. LANES is a power of two, at most 128. The keys are EXACT, so that they become numbers again.
//
// The text before this file defines `key_of.wgsl`, `key_order.wgsl` and LANES.

const THREADS = 256u;

@group(0) @binding(0) var<storage, read> quads: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> firsts: array<Key>;
var<immediate> n_blocks: u32;

var<workgroup> keys: array<Key, THREADS>;

fn first(a: Key, b: Key) -> Key {
    return select(a, b, precedes(b, a));
}

fn first_of_quad(quad: vec4<u32>) -> Key {
    if IS_PAIR {
        return first(to_key(key_of(quad.yx)), to_key(key_of(quad.wz)));
    }
    let low = first(to_key(key_of(quad.xx)), to_key(key_of(quad.yy)));
    return first(low, first(to_key(key_of(quad.zz)), to_key(key_of(quad.ww))));
}

@compute @workgroup_size(THREADS)
fn first_of_blocks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let lane = thread % LANES;
    let block = group.x * (THREADS / LANES) + thread / LANES;
    let at = min(block, n_blocks - 1u) * 4u * LANES + lane;
    let a = quads[at]; // All four are read before one of them is compared.
    let b = quads[at + LANES];
    let c = quads[at + 2u * LANES];
    let d = quads[at + 3u * LANES];
    var key = first(first(first_of_quad(a), first_of_quad(b)), first(first_of_quad(c), first_of_quad(d)));
    keys[thread] = key;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            key = first(key, keys[thread + half]);
            keys[thread] = key;
        }
    }
    if lane == 0u && block < n_blocks {
        firsts[block] = to_key(words_of(to_key(number_of(vec2<u32>(key)))));
    }
}
