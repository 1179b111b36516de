// pair = low + 2^32 * high
//
// Integers of 64 bits as two words, the low one first, for devices with and without 64-bit integers. Sums and products are
// modulo 2^64, which is the same for signed and unsigned numbers.

// The 64-bit product of two words, from the four products of their halves.
fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let left = (a & 0xffffu) * (b >> 16u);
    let right = (a >> 16u) * (b & 0xffffu);
    let middle = (low >> 16u) + (left & 0xffffu) + (right & 0xffffu);
    let high = (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u) + (middle >> 16u);
    return vec2((low & 0xffffu) | (middle << 16u), high);
}

fn pair_sum(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2(low, a.y + b.y + u32(low < a.x));
}

fn pair_product(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = wide_product(a.x, b.x);
    return vec2(low.x, low.y + a.x * b.y + a.y * b.x);
}

// The upper 64 bits of the product of two pairs.
fn pair_high_product(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = wide_product(a.x, b.x);
    let left = pair_sum(wide_product(a.x, b.y), vec2(low.y, 0u));
    let right = pair_sum(wide_product(a.y, b.x), vec2(left.x, 0u));
    return pair_sum(wide_product(a.y, b.y), pair_sum(vec2(left.y, 0u), vec2(right.y, 0u)));
}
