// x = (-1)^sign * m * 2^e
//
// The parts of `float.wgsl` that depend on `f32`: its bits, the reduction of arguments, and polynomials.

fn f32_isnan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// An integer that is larger for larger numbers, equal for all zeros, and the largest for NaN. Comparisons of integers have
// no special cases, which drivers get wrong.
fn f32_argmax_order(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    let size = bits & 0x7fffffff;
    return select(select(size, -size, bits < 0), 0x7fffffff, size > 0x7f800000);
}

// An integer that is larger for smaller numbers, with NaN as above.
fn f32_argmin_order(x: f32) -> i32 {
    return f32_argmax_order(bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u));
}

fn f32_isinf(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

fn f32_signbit(x: f32) -> bool {
    return bitcast<u32>(x) >= 0x80000000u;
}

// The sign and the size are tested by the bits: devices may take subnormal numbers for zero.
fn f32_is_zero(x: f32) -> bool {
    return (bitcast<u32>(x) << 1u) == 0u;
}

// 2^n
fn f32_power(n: i32) -> f32 {
    return bitcast<f32>(bitcast<u32>(n + 127) << 23u);
}

fn f32_nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn f32_inf() -> f32 {
    var bits = 0x7f800000u;
    return bitcast<f32>(bits);
}

fn f32_copysign(x: f32, y: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(y) & 0x80000000u));
}

// e^r - 1 for |r| <= 0.35
fn f32_small_expm1(r: f32) -> f32 {
    let q = ((((1.9891981e-4 * r + 1.3934541e-3) * r + 8.33331e-3) * r + 4.1666456e-2) * r + 0.16666667) * r + 0.5;
    return r + r * r * q;
}

// The exponent e and 2^23 m of a positive finite number, with m from 1 to 2.
fn f32_parts(x: f32) -> vec2<i32> {
    let bits = bitcast<u32>(x);
    if bits >= 0x800000u {
        return vec2(i32(bits >> 23u) - 127, i32((bits & 0x7fffffu) | 0x800000u));
    }
    let up = countLeadingZeros(bits) - 8u;
    return vec2(-126 - i32(up), i32(bits << up));
}

// The exponent n and f of a positive finite number (1 + f) 2^n, with 1 + f from sqrt(1/2) to sqrt(2).
fn f32_near_one(x: f32) -> vec2<f32> {
    var p = f32_parts(x);
    if p.y > 0xb504f3 {
        return vec2(f32(p.x + 1), f32(p.y - 0x1000000) * 5.9604645e-8);
    }
    return vec2(f32(p.x), f32(p.y - 0x800000) * 1.1920929e-7);
}

// log(1 + f) - f for 1 + f from sqrt(1/2) to sqrt(2)
fn f32_log_rest(f: f32) -> f32 {
    var p = 0.06971612 * f - 0.11479734;
    p = p * f + 0.1168542;
    p = p * f - 0.12425687;
    p = p * f + 0.14249058;
    p = p * f - 0.16667803;
    p = p * f + 0.20000716;
    p = p * f - 0.24999997;
    p = p * f + 0.33333331;
    return f * f * (f * p - 0.5);
}

// The upper 32 bits of a product.
fn high_product(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}

// r and n with |x| = r + n pi/2 modulo 2 pi and |r| <= pi/4, for |x| >= 256: the mantissa times 96 bits of 2/pi.
fn f32_reduced_far(x: f32) -> vec2<f32> {
    var digits = array<u32, 8>(
        0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu
    );
    let p = f32_parts(abs(x));
    let first = u32(p.x + 7);
    let word = first / 32u;
    let by = first % 32u;
    var window = vec3(digits[word], digits[word + 1u], digits[word + 2u]);
    if by != 0u {
        let next = vec3(digits[word + 1u], digits[word + 2u], digits[word + 3u]);
        window = (window << vec3(by)) | (next >> vec3(32u - by));
    }
    let m = u32(p.y);
    let low = m * window.z;
    let carry = high_product(m, window.z);
    let middle = m * window.y + carry;
    let top = m * window.x + high_product(m, window.y) + u32(middle < carry);
    var n = top >> 30u;
    var high = (top << 2u) | (middle >> 30u);
    var rest = (middle << 2u) | (low >> 30u);
    var sign = 1.0;
    if high >= 0x80000000u {
        n += 1u;
        sign = -1.0;
        rest = ~rest + 1u;
        high = ~high + u32(rest == 0u);
    }
    let zeros = min(countLeadingZeros(high), 31u);
    if zeros > 0u {
        high = (high << zeros) | (rest >> (32u - zeros));
    }
    let fraction = f32(i32(high >> 1u)) * bitcast<f32>((96u - zeros) << 23u);
    return vec2(sign * fraction * 1.5707964, f32(n & 3u));
}

fn f32_reduced(x: f32) -> vec2<f32> {
    let size = abs(x);
    if size >= 256.0 {
        return f32_reduced_far(x);
    }
    let n = round(size * 0.63661975);
    // pi/2 in parts of 14 bits, whose products with n are exact.
    let rough = (size - n * 1.5706787109375) - n * 0.00011761486530303955;
    let r = (rough - n * 9.920313459588215e-10) - n * 6.223372e-14;
    return vec2(r, f32(u32(n) & 3u));
}

fn f32_sin_near(r: f32) -> f32 {
    let z = r * r;
    let p = ((2.7243811e-6 * z - 1.9840039e-4) * z + 8.333332e-3) * z - 0.16666667;
    return r + r * z * p;
}

fn f32_cos_near(r: f32) -> f32 {
    let z = r * r;
    let p = ((-2.7295857e-7 * z + 2.480056e-5) * z - 1.3888888e-3) * z + 4.1666668e-2;
    return 1.0 - (0.5 * z - z * z * p);
}

// asin(x) - x for |x| <= 1/2
fn f32_asin_rest(x: f32) -> f32 {
    let z = x * x;
    var p = 3.3700727e-2 * z + 1.7143717e-2;
    p = p * z + 3.1101728e-2;
    p = p * z + 4.459932e-2;
    p = p * z + 7.500095e-2;
    p = p * z + 0.16666666;
    return x * z * p;
}

// atan(x) - x for |x| <= tan(pi/8)
fn f32_atan_rest(x: f32) -> f32 {
    let z = x * x;
    var p = -6.4310387e-2 * z + 0.10737397;
    p = p * z - 0.14263366;
    p = p * z + 0.19999523;
    p = p * z - 0.3333333;
    return x * z * p;
}

// The number without the lower half of its digits.
fn f32_upper_half(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

// 3 atanh(s) / s - 3 - z, divided by z^2, for z = s^2.
fn f32_log2_rest(z: f32) -> f32 {
    return (0.35005218 * z + 0.42825879) * z + 0.60000183;
}

fn f32_nextafter(x: f32, y: f32) -> f32 {
    if f32_isnan(x) | f32_isnan(y) {
        return f32_nan();
    }
    let bits = bitcast<u32>(x);
    let other = bitcast<u32>(y);
    if (bits == other) | (((bits | other) << 1u) == 0u) {
        return y;
    }
    if (bits << 1u) == 0u {
        var least = (other & 0x80000000u) | 1u;
        return bitcast<f32>(least);
    }
    // As integers, floats of one sign are in the order of their magnitudes.
    let is_away = (f32_signbit(x) == f32_signbit(y)) & ((other & 0x7fffffffu) > (bits & 0x7fffffffu));
    return bitcast<f32>(select(bits - 1u, bits + 1u, is_away));
}

// The exact remainder of x divided by y, with the sign of x.
fn f32_fmod(x: f32, y: f32) -> f32 {
    let a = bitcast<u32>(x) & 0x7fffffffu;
    let b = bitcast<u32>(y) & 0x7fffffffu;
    if f32_isnan(y) | (a >= 0x7f800000u) | (b == 0u) {
        return f32_nan();
    }
    if a < b {
        return x;
    }
    let p = f32_parts(bitcast<f32>(a));
    let q = f32_parts(bitcast<f32>(b));
    let n = u32(max(q.y, 1));
    var m = u32(p.y) % n;
    for (var left = p.x - q.x; left > 0; left -= 8) {
        m = (m << u32(min(left, 8))) % n;
    }
    return f32_copysign(f32_scaled(f32(m), q.x - 23), x);
}

// The number of a half in the low 16 bits, exactly, with a NaN's payload: fewer steps than `f16_to_f32`, for each
// element that a kernel reads. `twice` is two times a normal number, and 2^-14 more than a subnormal number, which is
// the smaller half.
fn f32_of_half(bits: u32) -> f32 {
    let twice = bitcast<f32>((bits & 0x7fffu) * 8192u + 0x38800000u);
    let size = bitcast<u32>(min(0.5 * twice, twice - 6.103515625e-5));
    return bitcast<f32>(select(size, size | 0x7f800000u, twice >= 131072.0) | ((bits << 16u) & 0x80000000u));
}

// Drivers may return zero for divisors beyond 2^126, whose reciprocals are subnormal.
fn f32_divide(x: f32, y: f32) -> f32 {
    let scale = select(1.0, 0.25, abs(y) > 0x1p+126f);
    return (x * scale) / (y * scale);
}

// The order of integers decides, and the bits are selected: devices may take subnormal numbers for zero.
fn f32_minimum(a: f32, b: f32) -> f32 {
    return bitcast<f32>(select(bitcast<u32>(b), bitcast<u32>(a), f32_argmin_order(a) > f32_argmin_order(b)));
}

fn f32_maximum(a: f32, b: f32) -> f32 {
    return bitcast<f32>(select(bitcast<u32>(b), bitcast<u32>(a), f32_argmax_order(a) > f32_argmax_order(b)));
}

// The quotient of finite numbers that are not zero, |x| >= |y|, rounded to the nearest: drivers may be 2.5 units off.
fn f32_exact_quotient(x: f32, y: f32) -> f32 {
    let p = f32_parts(f32_copysign(x, 1.0));
    let q = f32_parts(f32_copysign(y, 1.0));
    let n = u32(q.y);
    var digits = u32(p.y) / n;
    var rest = u32(p.y) % n;
    for (var i = 0u; i < 4u; i++) {
        digits = (digits << 7u) | ((rest << 7u) / n);
        rest = (rest << 7u) % n;
    }
    let size = f32_scaled(bitcast<f32>(integer_to_f32(vec2(digits | u32(rest != 0u), 0u), false, false)), p.x - q.x - 28);
    return bitcast<f32>(bitcast<u32>(size) ^ ((bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u));
}
