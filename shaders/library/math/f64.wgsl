// x = (-1)^sign * m * 2^e
//
// The parts of `float.wgsl` that depend on `f64`: its bits, which need 64-bit integers, the reduction of arguments, and
// polynomials.

fn f64_isnan(x: f64) -> bool {
    return (bitcast<u64>(x) & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu;
}

fn f64_isinf(x: f64) -> bool {
    return (bitcast<u64>(x) & 0x7ffffffffffffffflu) == 0x7ff0000000000000lu;
}

fn f64_signbit(x: f64) -> bool {
    return (bitcast<u64>(x) >> 63u) != 0lu;
}

fn f64_is_zero(x: f64) -> bool {
    return (bitcast<u64>(x) << 1u) == 0lu;
}

fn f64_nan() -> f64 {
    var bits = 0x7ff8000000000000lu;
    return bitcast<f64>(bits);
}

fn f64_inf() -> f64 {
    var bits = 0x7ff0000000000000lu;
    return bitcast<f64>(bits);
}

fn f64_copysign(x: f64, y: f64) -> f64 {
    return bitcast<f64>((bitcast<u64>(x) & 0x7ffffffffffffffflu) | ((bitcast<u64>(y) >> 63u) << 63u));
}

// 2^n
fn f64_power(n: i32) -> f64 {
    return bitcast<f64>(u64(n + 1023) << 52u);
}

// e^r - 1 for |r| <= 0.3475
fn f64_small_expm1(r: f64) -> f64 {
    var p = 1.6086770194332677e-10 * r + 2.0918351141207293e-09;
    p = p * r + 2.50520707088271e-08;
    p = p * r + 2.755726270076176e-07;
    p = p * r + 2.7557319247579834e-06;
    p = p * r + 2.4801587336984012e-05;
    p = p * r + 0.00019841269841263163;
    p = p * r + 0.001388888888887887;
    p = p * r + 0.008333333333333333;
    p = p * r + 0.04166666666666668;
    p = p * r + 0.16666666666666666;
    p = p * r + 0.5;
    return r + r * r * p;
}

// The exponent n and f of a positive finite number (1 + f) 2^n, with 1 + f from sqrt(1/2) to sqrt(2).
fn f64_near_one(x: f64) -> vec2<f64> {
    let is_small = x < 2.2250738585072014e-308;
    let bits = bitcast<u64>(select(x, x * 18014398509481984.0, is_small));
    let n = i32(bits >> 52u) - select(1023, 1077, is_small);
    let m = bitcast<f64>((bits & 0xffffffffffffflu) | 0x3ff0000000000000lu);
    if m > 1.4142135623730951 {
        return vec2<f64>(f64(n + 1), 0.5 * m - 1.0);
    }
    return vec2<f64>(f64(n), m - 1.0);
}

// log(1 + f) - f for 1 + f from sqrt(1/2) to sqrt(2)
fn f64_log_rest(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    var p = 0.146171283998073 * z + 0.15331666676597175;
    p = p * z + 0.1818289077802613;
    p = p * z + 0.22222211112104948;
    p = p * z + 0.2857142862611452;
    p = p * z + 0.399999999998992;
    p = p * z + 0.666666666666667;
    let half = 0.5 * f * f;
    return s * (half + z * p) - half;
}

// r and n with |x| = r + n pi/2 modulo 2 pi and |r| <= pi/4, for |x| >= 2^22: the mantissa times 192 bits of 2/pi.
fn f64_reduced_far(x: f64) -> vec2<f64> {
    var digits = array<u32, 38>(
        0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
        0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u,
        0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu,
        0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u,
        0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u
    );
    let bits = bitcast<u64>(x);
    let first = u32((bits >> 52u) & 0x7fflu) - 1045u;
    let by = first % 32u;
    let low = bits & 0xfffffffflu;
    let high = ((bits >> 32u) & 0xffffflu) | 0x100000lu;
    var product: array<u32, 6>;
    var carry = 0lu;
    var after = 0lu; // The word after the current one.
    for (var i = 5u; i < 6u; i--) {
        let pair = (u64(digits[first / 32u + i]) << 32u) | u64(digits[first / 32u + i + 1u]);
        let word = ((pair << by) >> 32u) & 0xfffffffflu;
        let sum = low * word + carry;
        let both = high * after + (sum & 0xfffffffflu);
        product[i] = u32(both & 0xfffffffflu);
        carry = (sum >> 32u) + (both >> 32u);
        after = word;
    }
    var n = product[0] >> 30u;
    var top = (u64(product[0]) << 34u) | (u64(product[1]) << 2u) | u64(product[2] >> 30u);
    var rest = (u64(product[2]) << 34u) | (u64(product[3]) << 2u) | u64(product[4] >> 30u);
    var sign = f64(1.0);
    if (top >> 63u) != 0lu {
        n += 1u;
        sign = f64(-1.0);
        rest = ~rest + 1lu;
        top = ~top + select(0lu, 1lu, rest == 0lu);
    }
    let upper = u32(top >> 32u);
    let zeros = min(select(countLeadingZeros(upper), 32u + countLeadingZeros(u32(top & 0xfffffffflu)), upper == 0u), 63u);
    if zeros > 0u {
        top = (top << zeros) | (rest >> (64u - zeros));
    }
    let fraction = f64((top >> 11u) + ((top >> 10u) & 1lu)) * f64_power(-53 - i32(zeros));
    return vec2<f64>(sign * (fraction * 1.5707963267948966 + fraction * 6.123233995736766e-17), f64(n & 3u));
}

fn f64_reduced(x: f64) -> vec2<f64> {
    let size = abs(x);
    if size >= 4194304.0 {
        return f64_reduced_far(x);
    }
    let n = round(size * 0.6366197723675814);
    // pi/2 in parts of 30 bits, whose products with n are exact, and the rest.
    let rough = (size - n * 1.570796325802803) - n * 9.920935791635221e-10;
    let r = (rough - n * 5.17018297889025e-19) - n * 2.9038559739793605e-28;
    return vec2<f64>(r, f64(u32(n) & 3u));
}

fn f64_sin_near(r: f64) -> f64 {
    let z = r * r;
    var p = -7.586576588171073e-13 * z + 1.6058529572267877e-10;
    p = p * z - 2.5052106219521895e-08;
    p = p * z + 2.755731921930192e-06;
    p = p * z - 0.00019841269841265017;
    p = p * z + 0.008333333333333331;
    p = p * z - 0.16666666666666666;
    return r + r * z * p;
}

fn f64_cos_near(r: f64) -> f64 {
    let z = r * r;
    var p = 4.745804889760674e-14 * z - 1.1470459749675607e-11;
    p = p * z + 2.087675578389404e-09;
    p = p * z - 2.7557319221382114e-07;
    p = p * z + 2.4801587301584618e-05;
    p = p * z - 0.0013888888888888887;
    p = p * z + 0.041666666666666664;
    return 1.0 - (0.5 * z - z * z * p);
}

// asin(x) - x for |x| <= 1/2
fn f64_asin_rest(x: f64) -> f64 {
    let z = x * x;
    var p = 0.028757851367421566 * z - 0.014851887071247204;
    p = p * z + 0.01740087944269402;
    p = p * z + 0.005457506718640358;
    p = p * z + 0.01032281435018578;
    p = p * z + 0.011479177415184906;
    p = p * z + 0.013971212973552933;
    p = p * z + 0.017352392720869973;
    p = p * z + 0.02237217294214989;
    p = p * z + 0.030381944138531247;
    p = p * z + 0.04464285714635543;
    p = p * z + 0.07499999999998433;
    p = p * z + 0.16666666666666669;
    return x * z * p;
}

// atan(x) - x for |x| <= tan(pi/8)
fn f64_atan_rest(x: f64) -> f64 {
    let z = x * x;
    var p = -0.019169476385361265 * z + 0.03922560559586107;
    p = p * z - 0.05085240174154878;
    p = p * z + 0.05858108856106755;
    p = p * z - 0.06664506835133263;
    p = p * z + 0.07692182863309693;
    p = p * z - 0.09090904564022367;
    p = p * z + 0.11111111014909221;
    p = p * z - 0.14285714284662226;
    p = p * z + 0.199999999999955;
    p = p * z - 0.3333333333333333;
    return x * z * p;
}

// The number without the lower half of its digits.
fn f64_upper_half(x: f64) -> f64 {
    return bitcast<f64>(bitcast<u64>(x) & 0xfffffffff8000000lu);
}

// 3 atanh(s) / s - 3 - z, divided by z^2, for z = s^2.
fn f64_log2_rest(z: f64) -> f64 {
    var p = 0.19371156161661132 * z + 0.19928877104149642;
    p = p * z + 0.23078363971651178;
    p = p * z + 0.272727123469207;
    p = p * z + 0.33333333406803;
    p = p * z + 0.4285714285700743;
    return p * z + 0.6000000000000004;
}

fn f64_nextafter(x: f64, y: f64) -> f64 {
    if f64_isnan(x) | f64_isnan(y) {
        return f64_nan();
    }
    let bits = bitcast<u64>(x);
    let other = bitcast<u64>(y);
    if (bits == other) | (((bits | other) << 1u) == 0lu) {
        return y;
    }
    if f64_is_zero(x) {
        return bitcast<f64>(((other >> 63u) << 63u) | 1lu);
    }
    // As integers, floats of one sign are in the order of their magnitudes.
    let is_away = (f64_signbit(x) == f64_signbit(y)) & ((other << 1u) > (bits << 1u));
    return bitcast<f64>(select(bits - 1lu, bits + 1lu, is_away));
}

// The exact remainder of x divided by y, with the sign of x.
fn f64_fmod(x: f64, y: f64) -> f64 {
    let a = bitcast<u64>(x) & 0x7ffffffffffffffflu;
    let b = bitcast<u64>(y) & 0x7ffffffffffffffflu;
    if f64_isnan(y) | (a >= 0x7ff0000000000000lu) | (b == 0lu) {
        return f64_nan();
    }
    if a < b {
        return x;
    }
    let a_exponent = max(i32(a >> 52u), 1);
    let b_exponent = max(i32(b >> 52u), 1);
    let n = (b & 0xffffffffffffflu) | select(0lu, 0x10000000000000lu, (b >> 52u) != 0lu);
    var m = ((a & 0xffffffffffffflu) | select(0lu, 0x10000000000000lu, (a >> 52u) != 0lu)) % n;
    for (var left = a_exponent - b_exponent; left > 0; left -= 11) {
        m = (m << u32(min(left, 11))) % n;
    }
    return f64_copysign(f64_scaled(f64(m), b_exponent - 1075), x);
}

fn f64_divide(x: f64, y: f64) -> f64 {
    return x / y;
}

fn f64_minimum(a: f64, b: f64) -> f64 {
    return select(select(b, a, a < b), a + b, f64_isnan(a) | f64_isnan(b));
}

fn f64_maximum(a: f64, b: f64) -> f64 {
    return select(select(b, a, a > b), a + b, f64_isnan(a) | f64_isnan(b));
}

// Drivers round these operations to the nearest.
fn f64_exact_quotient(x: f64, y: f64) -> f64 {
    return x / y;
}
