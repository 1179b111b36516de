// uniform_double(words) = the bits of the f64 (words / 2^11, rounded down) / 2^53
//
// The bits are made of integers, for devices without f64. The text before this file defines `numbers.wgsl` and
// `wide_numbers.wgsl`.

fn uniform_double(words: vec2<u32>) -> vec2<u32> {
    let bits = integer_to_f64(vec2((words.x >> 11u) | (words.y << 21u), words.y >> 11u), false);
    return vec2(bits.x, select(0u, bits.y - (53u << 20u), bits.y != 0u));
}
