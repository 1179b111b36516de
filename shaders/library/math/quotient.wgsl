// a = T_quotient(a, b) * b + rest, |rest| < |b|
//
// Division of integers, rounded towards zero. For b = 0 and for the least number / -1 the results are some number.
//
// Quotients of 64 bits are computed with additions and products, as on devices without an instruction for them.
// NVIDIA's compiler (580) fails, or computes wrong quotients, where a selection is an operand of `/` or `%` of 64 bits.

fn i32_quotient(a: i32, b: i32) -> i32 {
    return a / b;
}

fn u32_quotient(a: u32, b: u32) -> u32 {
    return a / b;
}

fn i64_quotient(a: i64, b: i64) -> i64 {
    let q = bitcast<i64>(u64_quotient(i64_size(a), i64_size(b)));
    return select(q, i64(0) - q, (a < i64(0)) != (b < i64(0)));
}

fn i64_size(a: i64) -> u64 {
    return bitcast<u64>(select(a, i64(0) - a, a < i64(0)));
}

// Newton's iteration for r = 2^64 / b: r + r (2^64 - b r) / 2^64 is never above 2^64 / b if r is not, and squares the
// relative error. It begins 16 units of `f32` below, which exceeds the error of drivers (2.5 in a division), so two
// iterations leave an error below 2, and the quotient at most 2 too small.
fn u64_quotient(a: u64, b: u64) -> u64 {
    let float_b = max(f32(u32(b >> 32u)) * 4294967296.0 + f32(u32(b & 0xfffffffflu)), 1.0);
    let start = 18446726481523507200.0 / float_b;
    let high = floor(start * 2.3283064365386963e-10);
    let r0 = (u64(u32(high)) << 32u) | u64(u32(start - high * 4294967296.0));
    let r1 = r0 + u64_high_product(r0, 0lu - b * r0);
    let r2 = r1 + u64_high_product(r1, 0lu - b * r1);
    let q = u64_high_product(a, r2);
    let rest = a - q * b;
    let first = u64(rest >= b);
    return q + first + u64(rest - first * b >= b);
}

// The upper 64 bits of the product.
fn u64_high_product(a: u64, b: u64) -> u64 {
    let low_a = a & 0xfffffffflu;
    let low_b = b & 0xfffffffflu;
    let up = low_a * (b >> 32u);
    let down = (a >> 32u) * low_b;
    let carry = ((low_a * low_b) >> 32u) + (up & 0xfffffffflu) + (down & 0xfffffffflu);
    return (a >> 32u) * (b >> 32u) + (up >> 32u) + (down >> 32u) + (carry >> 32u);
}
