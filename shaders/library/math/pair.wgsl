// u64_of_pair(pair) = pair.x + 2^32 * pair.y
//
// Integers of 64 bits from their words, the low one first. `pairs.wgsl` computes with the words themselves.

fn u64_of_pair(pair: vec2<u32>) -> u64 {
    return (u64(pair.y) << 32u) | u64(pair.x);
}

fn i64_of_pair(pair: vec2<u32>) -> i64 {
    return i64(u64_of_pair(pair));
}

fn i64_of_i32(value: i32) -> i64 {
    return i64_of_pair(vec2(bitcast<u32>(value), bitcast<u32>(value >> 31u)));
}
