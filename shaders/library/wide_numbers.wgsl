// value = low + 2^32 * high
//
// Conversions from and to 64 bits. The text before this file defines `numbers.wgsl`.

fn f32_to_f64(bits: u32) -> vec2<u32> {
    let sign = bits & 0x80000000u;
    let rest = bits & 0x7fffffffu;
    var exponent = (rest >> 23u) + 896u;
    var mantissa = rest & 0x7fffffu;
    if rest >= 0x7f800000u {
        exponent = 0x7ffu;
        mantissa |= select(0u, 0x400000u, mantissa != 0u);
    } else if rest == 0u {
        exponent = 0u;
    } else if rest < 0x800000u {
        let top = firstLeadingBit(mantissa);
        exponent = top + 874u;
        mantissa = (mantissa << (23u - top)) & 0x7fffffu;
    }
    return vec2(mantissa << 29u, sign | (exponent << 20u) | (mantissa >> 3u));
}

fn f64_to_f32(bits: vec2<u32>, odd: bool) -> u32 {
    let sign = bits.y & 0x80000000u;
    let rest = bits.y & 0x7fffffffu;
    let exponent = rest >> 20u;
    let mantissa = ((rest & 0xfffffu) << 3u) | (bits.x >> 29u);
    let below = bits.x & 0x1fffffffu;
    if (rest > 0x7ff00000u) | ((rest == 0x7ff00000u) & (bits.x != 0u)) {
        return sign | 0x7fc00000u | mantissa;
    }
    if exponent >= 1151u {
        return sign | 0x7f800000u;
    }
    if exponent >= 897u {
        let value = ((exponent - 896u) << 23u) | mantissa;
        if odd {
            return sign | value | u32(below != 0u);
        }
        let is_up = (below > 0x10000000u) | ((below == 0x10000000u) & ((value & 1u) == 1u));
        return sign | (value + u32(is_up));
    }
    if exponent < 873u {
        return sign | u32(odd & ((rest | bits.x) != 0u));
    }
    let by = 897u - exponent;
    let value = mantissa | 0x800000u;
    if odd {
        return sign | (value >> by) | u32((below != 0u) | ((value & ((1u << by) - 1u)) != 0u));
    }
    return sign | shift_to_nearest(value, by, below != 0u);
}

fn negated(value: vec2<u32>) -> vec2<u32> {
    return vec2(~value.x + 1u, ~value.y + u32(value.x == 0u));
}

fn is_negative(value: vec2<u32>, is_signed: bool) -> bool {
    return is_signed & (value.y >= 0x80000000u);
}

// The magnitude, shifted left until its highest bit is set, and the number of bits of the shift.
fn normal(value: vec2<u32>, is_signed: bool) -> vec3<u32> {
    let size = select(value, negated(value), is_negative(value, is_signed));
    if size.y == 0u {
        let by = countLeadingZeros(size.x);
        return vec3(0u, size.x << (by & 31u), by + 32u);
    }
    let by = countLeadingZeros(size.y);
    if by == 0u {
        return vec3(size, 0u);
    }
    return vec3(size.x << by, (size.y << by) | (size.x >> (32u - by)), by);
}

fn integer_to_f32(value: vec2<u32>, is_signed: bool, odd: bool) -> u32 {
    if all(value == vec2(0u)) {
        return 0u;
    }
    let sign = select(0u, 0x80000000u, is_negative(value, is_signed));
    let size = normal(value, is_signed);
    let exponent = (189u - size.z) << 23u;
    if odd {
        return sign | (exponent + (size.y >> 8u)) | u32(((size.y & 0xffu) != 0u) | (size.x != 0u));
    }
    return sign | (exponent + shift_to_nearest(size.y, 8u, size.x != 0u));
}

fn integer_to_f64(value: vec2<u32>, is_signed: bool) -> vec2<u32> {
    if all(value == vec2(0u)) {
        return value;
    }
    let sign = select(0u, 0x80000000u, is_negative(value, is_signed));
    let size = normal(value, is_signed);
    let low = (size.y << 21u) | (size.x >> 11u);
    let below = size.x & 0x7ffu;
    let is_up = (below > 0x400u) | ((below == 0x400u) & ((low & 1u) == 1u));
    let carry = u32(is_up & (low == 0xffffffffu));
    return vec2(low + u32(is_up), sign | (((1085u - size.z) << 20u) + (size.y >> 11u) + carry));
}

// Truncates to an integer and clamps it to minus `low` and `high`; zero for NaN.
fn f64_to_integer(bits: vec2<u32>, low: vec2<u32>, high: vec2<u32>) -> vec2<u32> {
    let rest = bits.y & 0x7fffffffu;
    let exponent = rest >> 20u;
    if (exponent < 1023u) | (rest > 0x7ff00000u) | ((rest == 0x7ff00000u) & (bits.x != 0u)) {
        return vec2(0u);
    }
    let limit = select(high, low, bits.y > rest);
    let top = (rest & 0xfffffu) | 0x100000u;
    var size = vec2(0xffffffffu);
    if (exponent >= 1075u) & (exponent < 1087u) {
        let by = exponent - 1075u;
        size = vec2(bits.x << by, select((top << by) | (bits.x >> ((32u - by) & 31u)), top, by == 0u));
    } else if (exponent >= 1043u) & (exponent < 1075u) {
        let by = 1075u - exponent;
        size = vec2(select((bits.x >> (by & 31u)) | (top << ((32u - by) & 31u)), top, by == 32u), select(top >> (by & 31u), 0u, by == 32u));
    } else if exponent < 1043u {
        size = vec2(top >> (1043u - exponent), 0u);
    }
    if (size.y > limit.y) | ((size.y == limit.y) & (size.x > limit.x)) {
        size = limit;
    }
    return select(size, negated(size), bits.y > rest);
}
