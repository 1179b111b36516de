// x = (-1)^sign * m * 2^e
//
// Elementary functions of `f32` for generated kernels. WGSL's own have errors that drivers choose, and undefined results
// for infinities and NaN; these use additions, multiplications, divisions, square roots and bits alone. The polynomials
// interpolate at Chebyshev nodes, with coefficients rounded to `f32`.

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// An integer that is larger for larger numbers, equal for all zeros, and the largest for NaN. Comparisons of integers have
// no special cases, which drivers get wrong.
fn argmax_order(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    let size = bits & 0x7fffffff;
    return select(select(size, -size, bits < 0), 0x7fffffff, size > 0x7f800000);
}

// The same with smaller numbers as the larger ones.
fn argmin_order(x: f32) -> i32 {
    return argmax_order(bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u));
}

fn is_inf(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

fn is_minus(x: f32) -> bool {
    return bitcast<u32>(x) >= 0x80000000u;
}

fn nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn inf() -> f32 {
    var bits = 0x7f800000u;
    return bitcast<f32>(bits);
}

fn with_sign(x: f32, y: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(y) & 0x80000000u));
}

fn minimum(a: f32, b: f32) -> f32 {
    return select(select(b, a, a < b), a + b, is_nan(a) || is_nan(b));
}

fn maximum(a: f32, b: f32) -> f32 {
    return select(select(b, a, a > b), a + b, is_nan(a) || is_nan(b));
}

fn sign_of(x: f32) -> f32 {
    return select(select(f32(x > 0.0), -1.0, x < 0.0), x, is_nan(x));
}

// x * 2^n for |n| < 252, without overflow of a factor.
fn scaled(x: f32, n: i32) -> f32 {
    let half = n / 2;
    let rest = n - half;
    return (x * bitcast<f32>(bitcast<u32>(half + 127) << 23u)) * bitcast<f32>(bitcast<u32>(rest + 127) << 23u);
}

// e^r - 1 for |r| <= 0.35
fn small_expm1(r: f32) -> f32 {
    let q = ((((1.9891981e-4 * r + 1.3934541e-3) * r + 8.33331e-3) * r + 4.1666456e-2) * r + 0.16666667) * r + 0.5;
    return r + r * r * q;
}

fn exp_(x: f32) -> f32 {
    if is_nan(x) {
        return x;
    }
    if x > 88.8 {
        return inf();
    }
    if x < -104.0 {
        return 0.0;
    }
    let n = round(x * 1.442695);
    let r = (x - n * 0.693115234375) - n * 3.1946184945e-5;
    return scaled(1.0 + small_expm1(r), i32(n));
}

fn expm1_(x: f32) -> f32 {
    if is_nan(x) || x == 0.0 {
        return x;
    }
    if x > 88.8 {
        return inf();
    }
    if x < -18.0 {
        return -1.0;
    }
    let n = round(x * 1.442695);
    let r = (x - n * 0.693115234375) - n * 3.1946184945e-5;
    let part = small_expm1(r);
    if n == 0.0 {
        return part;
    }
    if n > 64.0 {
        return scaled(1.0 + part, i32(n));
    }
    let power = bitcast<f32>(bitcast<u32>(i32(n) + 127) << 23u);
    return power * part + (power - 1.0);
}

// The exponent e and 2^23 m of a positive finite number, with m from 1 to 2.
fn parts(x: f32) -> vec2<i32> {
    let bits = bitcast<u32>(x);
    if bits >= 0x800000u {
        return vec2(i32(bits >> 23u) - 127, i32((bits & 0x7fffffu) | 0x800000u));
    }
    let up = countLeadingZeros(bits) - 8u;
    return vec2(-126 - i32(up), i32(bits << up));
}

// The exponent n and f of a positive finite number (1 + f) 2^n, with 1 + f from sqrt(1/2) to sqrt(2).
fn near_one(x: f32) -> vec2<f32> {
    var p = parts(x);
    if p.y > 0xb504f3 {
        return vec2(f32(p.x + 1), f32(p.y - 0x1000000) * 5.9604645e-8);
    }
    return vec2(f32(p.x), f32(p.y - 0x800000) * 1.1920929e-7);
}

// log(1 + f) - f for 1 + f from sqrt(1/2) to sqrt(2)
fn log_rest(f: f32) -> f32 {
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

// Whether the logarithm of x is none of an ordinary number, and what it is then.
fn log_edge(x: f32) -> vec2<f32> {
    if is_nan(x) || (is_inf(x) && !is_minus(x)) {
        return vec2(x, 1.0);
    }
    if x == 0.0 && (bitcast<u32>(x) << 1u) == 0u {
        return vec2(-inf(), 1.0);
    }
    return vec2(nan(), f32(is_minus(x)));
}

fn log_(x: f32) -> f32 {
    let edge = log_edge(x);
    if edge.y != 0.0 {
        return edge.x;
    }
    let p = near_one(x);
    return p.x * 0.693115234375 + (p.y + (log_rest(p.y) + p.x * 3.1946184945e-5));
}

fn log2_(x: f32) -> f32 {
    let edge = log_edge(x);
    if edge.y != 0.0 {
        return edge.x;
    }
    let p = near_one(x);
    let rest = log_rest(p.y);
    // 1 / log(2) as the sum of two floats.
    return p.x + ((p.y + rest) * 1.442695 + (p.y + rest) * 1.925963e-8);
}

fn log10_(x: f32) -> f32 {
    let edge = log_edge(x);
    if edge.y != 0.0 {
        return edge.x;
    }
    let p = near_one(x);
    let y = (p.y + log_rest(p.y)) * 0.4342945;
    return p.x * 0.301025390625 + (y + p.x * 4.6050390665e-6);
}

fn log1p_(x: f32) -> f32 {
    if is_nan(x) || x == 0.0 || (is_inf(x) && !is_minus(x)) {
        return x;
    }
    if x <= -1.0 {
        return select(nan(), -inf(), x == -1.0);
    }
    if x > -0.29 && x < 0.41 {
        return x + log_rest(x);
    }
    let u = 1.0 + x;
    let lost = select(x - (u - 1.0), 1.0 - (u - x), x > 1.0);
    return log_(u) + lost / u;
}

// The upper 32 bits of a product.
fn high_product(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}

// r and n with |x| = r + n pi/2 modulo 2 pi and |r| <= pi/4, for |x| >= 256: the mantissa times 96 bits of 2/pi.
fn reduced_far(x: f32) -> vec2<f32> {
    var digits = array<u32, 8>(
        0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu
    );
    let p = parts(abs(x));
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

fn reduced(x: f32) -> vec2<f32> {
    let size = abs(x);
    if size >= 256.0 {
        return reduced_far(x);
    }
    let n = round(size * 0.63661975);
    // pi/2 in parts of 14 bits, whose products with n are exact.
    let rough = (size - n * 1.5706787109375) - n * 0.00011761486530303955;
    let r = (rough - n * 9.920313459588215e-10) - n * 6.223372e-14;
    return vec2(r, f32(u32(n) & 3u));
}

fn sin_near(r: f32) -> f32 {
    let z = r * r;
    let p = ((2.7243811e-6 * z - 1.9840039e-4) * z + 8.333332e-3) * z - 0.16666667;
    return r + r * z * p;
}

fn cos_near(r: f32) -> f32 {
    let z = r * r;
    let p = ((-2.7295857e-7 * z + 2.480056e-5) * z - 1.3888888e-3) * z + 4.1666668e-2;
    return 1.0 - (0.5 * z - z * z * p);
}

// Sine and cosine of |x|; NaN of infinities and NaN.
fn sin_cos(x: f32) -> vec2<f32> {
    if is_nan(x) || is_inf(x) {
        return vec2(nan());
    }
    let r = reduced(x);
    let s = sin_near(r.x);
    let c = cos_near(r.x);
    switch u32(r.y) {
        case 0u: { return vec2(s, c); }
        case 1u: { return vec2(c, -s); }
        case 2u: { return vec2(-s, -c); }
        default: { return vec2(-c, s); }
    }
}

fn sin_(x: f32) -> f32 {
    if x == 0.0 {
        return x;
    }
    let s = sin_cos(x).x;
    return select(s, -s, is_minus(x));
}

fn cos_(x: f32) -> f32 {
    return sin_cos(x).y;
}

fn tan_(x: f32) -> f32 {
    if x == 0.0 {
        return x;
    }
    let both = sin_cos(x);
    let t = both.x / both.y;
    return select(t, -t, is_minus(x));
}

// asin(x) - x for |x| <= 1/2
fn asin_rest(x: f32) -> f32 {
    let z = x * x;
    var p = 3.3700727e-2 * z + 1.7143717e-2;
    p = p * z + 3.1101728e-2;
    p = p * z + 4.459932e-2;
    p = p * z + 7.500095e-2;
    p = p * z + 0.16666666;
    return x * z * p;
}

fn asin_(x: f32) -> f32 {
    let size = abs(x);
    if is_nan(x) || size > 1.0 {
        return nan();
    }
    if size <= 0.5 {
        return x + asin_rest(x);
    }
    let z = (1.0 - size) * 0.5;
    let s = sqrt(z);
    return with_sign(1.5707964 - (2.0 * (s + asin_rest(s)) + 4.371139e-8), x);
}

fn acos_(x: f32) -> f32 {
    let size = abs(x);
    if is_nan(x) || size > 1.0 {
        return nan();
    }
    if size <= 0.5 {
        return 1.5707964 - (x + (asin_rest(x) + 4.371139e-8));
    }
    let s = sqrt((1.0 - size) * 0.5);
    let a = 2.0 * (s + asin_rest(s));
    return select(a, 3.1415927 - (a + 8.742278e-8), is_minus(x));
}

// atan(x) - x for |x| <= tan(pi/8)
fn atan_rest(x: f32) -> f32 {
    let z = x * x;
    var p = -6.4310387e-2 * z + 0.10737397;
    p = p * z - 0.14263366;
    p = p * z + 0.19999523;
    p = p * z - 0.3333333;
    return x * z * p;
}

fn atan_(x: f32) -> f32 {
    if is_nan(x) {
        return x;
    }
    let size = abs(x);
    var angle = size + atan_rest(size);
    if size > 2.4142135 {
        let t = -1.0 / size;
        angle = 1.5707964 + (t + (atan_rest(t) - 4.371139e-8));
    } else if size > 0.41421357 {
        let t = (size - 1.0) / (size + 1.0);
        angle = 0.78539819 + (t + (atan_rest(t) - 2.1855694e-8));
    }
    return with_sign(angle, x);
}

fn atan2_(y: f32, x: f32) -> f32 {
    if is_nan(x) || is_nan(y) {
        return nan();
    }
    var angle = 0.0;
    if is_inf(x) && is_inf(y) {
        angle = 0.78539819;
    } else if y == 0.0 || is_inf(x) {
        angle = 0.0;
    } else if x == 0.0 || is_inf(y) {
        angle = 1.5707964;
    } else {
        angle = atan_(abs(y) / abs(x));
    }
    return with_sign(select(angle, 3.1415927 - (angle + 8.742278e-8), is_minus(x)), y);
}

fn sinh_(x: f32) -> f32 {
    let size = abs(x);
    if is_nan(x) || x == 0.0 {
        return x;
    }
    if size > 20.0 {
        let e = exp_(0.5 * size);
        return with_sign((0.5 * e) * e, x);
    }
    let t = expm1_(size);
    return with_sign(0.5 * (t + t / (t + 1.0)), x);
}

fn cosh_(x: f32) -> f32 {
    let size = abs(x);
    if is_nan(x) {
        return x;
    }
    if size > 20.0 {
        let e = exp_(0.5 * size);
        return (0.5 * e) * e;
    }
    let e = exp_(size);
    return 0.5 * e + 0.5 / e;
}

fn tanh_(x: f32) -> f32 {
    let size = abs(x);
    if is_nan(x) || x == 0.0 {
        return x;
    }
    if size > 10.0 {
        return with_sign(1.0, x);
    }
    let t = expm1_(2.0 * size);
    return with_sign(t / (t + 2.0), x);
}

fn asinh_(x: f32) -> f32 {
    let size = abs(x);
    if is_nan(x) || is_inf(x) || x == 0.0 {
        return x;
    }
    if size > 4096.0 {
        return with_sign(log_(size) + 0.6931472, x);
    }
    let z = size * size;
    return with_sign(log1p_(size + z / (1.0 + sqrt(z + 1.0))), x);
}

fn acosh_(x: f32) -> f32 {
    if is_nan(x) || x < 1.0 {
        return nan();
    }
    if x > 4096.0 {
        return log_(x) + 0.6931472;
    }
    let t = x - 1.0;
    return log1p_(t + sqrt(2.0 * t + t * t));
}

fn atanh_(x: f32) -> f32 {
    let size = abs(x);
    if is_nan(x) || x == 0.0 || size > 1.0 {
        return select(x, nan(), size > 1.0);
    }
    if size == 1.0 {
        return with_sign(inf(), x);
    }
    return with_sign(0.5 * log1p_(2.0 * size / (1.0 - size)), x);
}

// The product and what it lacks.
fn exact_product(a: f32, b: f32) -> vec2<f32> {
    let p = a * b;
    let a_high = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let b_high = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    let a_low = a - a_high;
    let b_low = b - b_high;
    return vec2(p, (((a_high * b_high - p) + a_high * b_low) + a_low * b_high) + a_low * b_low);
}

// log2 of a positive finite number as the sum of two floats.
fn exact_log2(x: f32) -> vec2<f32> {
    let p = near_one(x);
    let f = p.y;
    let d = 2.0 + f;
    let d_low = f - (d - 2.0);
    let s = f / d;
    let back = exact_product(s, d);
    let s_low = (((f - back.x) - back.y) - s * d_low) / d;
    let z = s * s;
    let t = s * z * (((0.11668406 * z + 0.14275293) * z + 0.20000061) * z + 0.33333334);
    let v = s_low + t;
    let u = s + v;
    let u_low = v - (u - s);
    let m = exact_product(u, 2.88539);
    let m_low = m.y + (u * 3.851926e-8 + u_low * 2.88539);
    if p.x == 0.0 {
        return vec2(m.x, m_low);
    }
    let sum = p.x + m.x;
    return vec2(sum, (m.x - (sum - p.x)) + m_low);
}

fn pow_(x: f32, y: f32) -> f32 {
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if is_nan(x) || is_nan(y) {
        return nan();
    }
    let size = abs(x);
    if is_inf(y) {
        if size == 1.0 {
            return 1.0;
        }
        return select(0.0, inf(), (size > 1.0) != is_minus(y));
    }
    let is_whole = abs(y) >= 8388608.0 || trunc(y) == y;
    let is_odd = is_whole && abs(y) < 16777216.0 && (i32(y) & 1) != 0;
    let sign = select(1.0, -1.0, is_odd && is_minus(x));
    if (bitcast<u32>(x) << 1u) == 0u || is_inf(x) {
        return with_sign(select(0.0, inf(), is_inf(x) != is_minus(y)), sign);
    }
    if is_minus(x) && !is_whole {
        return nan();
    }
    let l = exact_log2(size);
    let rough = y * l.x;
    if rough > 129.0 || rough < -151.0 {
        return with_sign(select(0.0, inf(), rough > 0.0), sign);
    }
    let p = exact_product(y, l.x);
    let n = round(p.x);
    let r = (p.x - n) + (p.y + y * l.y);
    return sign * scaled(1.0 + small_expm1(r * 0.6931472), i32(n));
}

fn hypot_(x: f32, y: f32) -> f32 {
    if is_inf(x) || is_inf(y) {
        return inf();
    }
    let large = max(abs(x), abs(y));
    let small = min(abs(x), abs(y));
    if is_nan(x) || is_nan(y) {
        return nan();
    }
    if large == 0.0 {
        return large;
    }
    let ratio = small / large;
    return large * sqrt(1.0 + ratio * ratio);
}

fn logaddexp_(x: f32, y: f32) -> f32 {
    if is_nan(x) || is_nan(y) {
        return nan();
    }
    if x == y {
        return x + 0.6931472;
    }
    return max(x, y) + log1p_(exp_(-abs(x - y)));
}

fn nextafter_(x: f32, y: f32) -> f32 {
    if is_nan(x) || is_nan(y) {
        return nan();
    }
    let bits = bitcast<u32>(x);
    let other = bitcast<u32>(y);
    if bits == other || ((bits | other) << 1u) == 0u {
        return y;
    }
    if (bits << 1u) == 0u {
        var least = (other & 0x80000000u) | 1u;
        return bitcast<f32>(least);
    }
    // As integers, floats of one sign are in the order of their magnitudes.
    let is_away = is_minus(x) == is_minus(y) && (other & 0x7fffffffu) > (bits & 0x7fffffffu);
    return bitcast<f32>(select(bits - 1u, bits + 1u, is_away));
}

// What is left of x after subtracting y as often as it fits, exactly, with the sign of x.
fn fmod_(x: f32, y: f32) -> f32 {
    let a = bitcast<u32>(x) & 0x7fffffffu;
    let b = bitcast<u32>(y) & 0x7fffffffu;
    if is_nan(y) || a >= 0x7f800000u || b == 0u {
        return nan();
    }
    if a < b {
        return x;
    }
    let p = parts(bitcast<f32>(a));
    let q = parts(bitcast<f32>(b));
    let n = u32(max(q.y, 1));
    var m = u32(p.y) % n;
    for (var left = p.x - q.x; left > 0; left -= 8) {
        m = (m << u32(min(left, 8))) % n;
    }
    return with_sign(scaled(f32(m), q.x - 23), x);
}

fn remainder_(x: f32, y: f32) -> f32 {
    let m = fmod_(x, y);
    if m == 0.0 {
        return with_sign(0.0, y);
    }
    return select(m, m + y, (m < 0.0) != (y < 0.0) && !is_nan(m));
}

fn floor_divide_(x: f32, y: f32) -> f32 {
    if (bitcast<u32>(y) << 1u) == 0u {
        if is_nan(x) || (bitcast<u32>(x) << 1u) == 0u {
            return nan();
        }
        return select(inf(), -inf(), is_minus(x) != is_minus(y));
    }
    let m = fmod_(x, y);
    if is_nan(m) {
        return m;
    }
    var quotient = (x - m) / y;
    if m != 0.0 && (y < 0.0) != (m < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return select(0.0, -0.0, is_minus(x) != is_minus(y));
    }
    let whole = floor(quotient);
    return select(whole, whole + 1.0, quotient - whole > 0.5);
}
