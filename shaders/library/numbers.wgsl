// float = (-1)^sign * 1.mantissa * 2^(exponent - bias), rounded to the nearest, ties to even
//
// Conversions between floating-point formats, computed on their bits, so that the result is the same on every device,
// including devices without the type and devices that flush subnormal numbers. Numbers of 64 bits are pairs, the low
// word first. `odd` rounds to odd; a second rounding, to fewer bits, then gives the result of a single rounding.

// The function has no branches: a kernel converts each element that it reads.
fn f16_to_f32(bits: u32) -> u32 {
    let sign = (bits & 0x8000u) << 16u;
    let rest = (bits & 0x7fffu) << 13u;
    // The digits of a subnormal number are the difference of 2^-14 with these digits and 2^-14.
    let small = bitcast<u32>(bitcast<f32>(rest + 0x38800000u) - 6.103515625e-5);
    let special = (rest + 0x70000000u) | select(0u, 0x400000u, rest > 0x0f800000u);
    return sign | select(select(rest + 0x38000000u, small, rest < 0x800000u), special, rest >= 0x0f800000u);
}

fn f32_to_f16(bits: u32) -> u32 {
    let sign = (bits >> 16u) & 0x8000u;
    let rest = bits & 0x7fffffffu;
    if rest - 0x38800000u < 0x0f000000u { // From 2^-14 to below 2^16.
        return sign | ((rest - 0x38000000u + 0xfffu + ((rest >> 13u) & 1u)) >> 13u);
    }
    if rest > 0x7f800000u {
        return sign | 0x7e00u | ((rest >> 13u) & 0x1ffu);
    }
    if rest >= 0x47800000u {
        return sign | 0x7c00u;
    }
    if rest <= 0x33000000u {
        return sign;
    }
    let mantissa = (rest & 0x7fffffu) | 0x800000u;
    return sign | shift_to_nearest(mantissa, 126u - (rest >> 23u), false);
}

fn f32_to_bf16(bits: u32) -> u32 {
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return (bits >> 16u) | 0x40u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

// `value` / 2^by for 1 <= by <= 31, rounded to the nearest; `is_more` if `value` has further bits set below these bits.
fn shift_to_nearest(value: u32, by: u32, is_more: bool) -> u32 {
    let quotient = value >> by;
    let rest = value & ((1u << by) - 1u);
    let half = 1u << (by - 1u);
    let is_up = (rest > half) | ((rest == half) & (is_more | ((quotient & 1u) == 1u)));
    return quotient + u32(is_up);
}

// A NaN becomes a quiet NaN, as in all other conversions.
fn bf16_to_f32(bits: u32) -> u32 {
    let value = bits << 16u;
    return value | select(0u, 0x400000u, (value & 0x7fffffffu) > 0x7f800000u);
}

// Truncates to an integer and clamps it to `low` and `high`; zero for NaN.
fn f32_to_i32(bits: u32, low: i32, high: i32) -> u32 {
    let rest = bits & 0x7fffffffu;
    if rest > 0x7f800000u {
        return 0u;
    }
    if rest >= 0x4f000000u {
        return bitcast<u32>(select(high, low, bits > rest));
    }
    return bitcast<u32>(clamp(i32(bitcast<f32>(bits)), low, high));
}

fn f32_to_u32(bits: u32) -> u32 {
    if (bits >= 0x80000000u) | (bits > 0x7f800000u) {
        return 0u;
    }
    if bits >= 0x4f800000u {
        return 0xffffffffu;
    }
    return u32(bitcast<f32>(bits));
}
