// word w of the stream = word w % LANES of philox(w / LANES + first counter, key)
//
// Philox 4x32-10 and 4x64-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011). The
// stream consists of 32-bit words; a number of 64 bits of Philox 4x64 is two words, the low one first. An invocation
// computes the words of one counter and writes the result of `convert` for each pair of them. The text before this file
// defines LANES (4 or 8), `pairs.wgsl`, and `fn convert(words: vec2<u32>) -> vec2<u32>`. `skip` words of the first
// counter are left out. Covers (number of counters).

struct Draw {
    key: vec4<u32>,
    counter: vec2<u32>,
    low: vec2<u32>,
    range: vec2<u32>,
    skip: u32,
    count: u32,
}
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(0) var<storage, read_write> quads: array<vec4<u32>>;
var<immediate> draw: Draw;

fn philox_4x32(counter: vec2<u32>) -> array<u32, 4> {
    var k = draw.key.xy;
    var c = vec4(counter, 0u, 0u);
    for (var round = 0u; round < 10u; round++) {
        let a = wide_product(0xd2511f53u, c.x);
        let b = wide_product(0xcd9e8d57u, c.z);
        c = vec4(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
        k += vec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return array(c.x, c.y, c.z, c.w);
}

fn philox_4x64(counter: vec2<u32>) -> array<u32, 8> {
    let m0 = vec2(0xe14c6c93u, 0xd2e7470eu);
    let m1 = vec2(0x95121157u, 0xca5a8263u);
    var k0 = draw.key.xy;
    var k1 = draw.key.zw;
    var c0 = counter;
    var c1 = vec2(0u);
    var c2 = vec2(0u);
    var c3 = vec2(0u);
    for (var round = 0u; round < 10u; round++) {
        let low0 = pair_product(m0, c0);
        let high0 = pair_high_product(m0, c0);
        let low1 = pair_product(m1, c2);
        let high1 = pair_high_product(m1, c2);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 = pair_sum(k0, vec2(0x7f4a7c15u, 0x9e3779b9u));
        k1 = pair_sum(k1, vec2(0x84caa73bu, 0xbb67ae85u));
    }
    return array(c0.x, c0.y, c1.x, c1.y, c2.x, c2.y, c3.x, c3.y);
}

// Normal numbers by the method of Box and Muller. Vulkan bounds the errors of sines from -pi to pi.
fn normal_floats(words: vec2<u32>) -> vec2<u32> {
    let uniform = vec2<f32>(words >> vec2(8u)) * 5.9604644775390625e-8;
    let radius = sqrt(-2.0 * log(1.0 - uniform.x));
    let angle = 6.2831853 * uniform.y - 3.1415927;
    return bitcast<vec2<u32>>(radius * vec2(cos(angle), sin(angle)));
}

fn write_word(at: u32, word: u32) {
    // A word before the first one gets a number beyond the last one, since the difference wraps around.
    if at < draw.count {
        out[at] = word;
    }
}

@compute @workgroup_size(256)
fn philox_words(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x > (draw.count + draw.skip - 1u) / LANES {
        return;
    }
    var words = philox(pair_sum(draw.counter, vec2(id.x, 0u)));
    let at = id.x * LANES - draw.skip;
    for (var lane = 0u; lane < LANES; lane += 2u) {
        let pair = convert(vec2(words[lane], words[lane + 1u]));
        write_word(at + lane, pair.x);
        write_word(at + lane + 1u, pair.y);
    }
}

// Writes the words where no words are skipped and `count` is a multiple of four.
@compute @workgroup_size(256)
fn philox_quads(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x > (draw.count - 1u) / LANES {
        return;
    }
    var words = philox(pair_sum(draw.counter, vec2(id.x, 0u)));
    for (var lane = 0u; lane < LANES; lane += 4u) {
        let at = id.x * LANES + lane;
        if at < draw.count {
            let low = convert(vec2(words[lane], words[lane + 1u]));
            quads[at / 4u] = vec4(low, convert(vec2(words[lane + 2u], words[lane + 3u])));
        }
    }
}
