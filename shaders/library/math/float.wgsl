// REAL_f(x) = f(x), with an error of a few units in the last place
//
// Elementary functions of floats for generated kernels, `f32` and `f64`: the generator replaces REAL by the type, and
// the constants in capitals, of which LOW is the error of the nearest number. WGSL's own functions have errors that
// drivers choose, and undefined results for infinities and NaN; these functions use additions, multiplications,
// divisions, square roots and bits alone. `f32.wgsl` and `f64.wgsl` have the bits, the reductions of arguments and the
// polynomials, which interpolate at Chebyshev nodes. Conditions have `&` and `|`, which compute both sides; `&&` and
// `||` become branches, which a kernel repeats for each element of an invocation.

fn REAL_sign(x: REAL) -> REAL {
    return select(select(select(REAL(0.0), REAL(1.0), x > 0.0), REAL(-1.0), x < 0.0), x, REAL_isnan(x));
}

// x * 2^n without overflow of a factor, for exponents that the difference of two numbers has.
fn REAL_scaled(x: REAL, n: i32) -> REAL {
    let half = n / 2;
    let rest = n - half;
    return (x * REAL_power(half)) * REAL_power(rest);
}

fn REAL_exp(x: REAL) -> REAL {
    if REAL_isnan(x) {
        return x;
    }
    if x > EXP_MAX {
        return REAL_inf();
    }
    if x < EXP_MIN {
        return 0.0;
    }
    let n = round(x * 1.4426950408889634);
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    return REAL_scaled(1.0 + REAL_small_expm1(r), i32(n));
}

fn REAL_expm1(x: REAL) -> REAL {
    if REAL_isnan(x) | (x == 0.0) {
        return x;
    }
    if x > EXP_MAX {
        return REAL_inf();
    }
    if x < -2.0 * TANH_MAX {
        return -1.0;
    }
    let n = round(x * 1.4426950408889634);
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let part = REAL_small_expm1(r);
    if n == 0.0 {
        return part;
    }
    if n > 64.0 {
        return REAL_scaled(1.0 + part, i32(n));
    }
    let power = REAL_power(i32(n));
    return power * part + (power - 1.0);
}

// Whether the logarithm of x is a special value, and that value.
fn REAL_log_edge(x: REAL) -> vec2<REAL> {
    if REAL_isnan(x) | (REAL_isinf(x) & !REAL_signbit(x)) {
        return vec2<REAL>(x, 1.0);
    }
    if REAL_is_zero(x) {
        return vec2<REAL>(-REAL_inf(), 1.0);
    }
    return vec2<REAL>(REAL_nan(), select(REAL(0.0), REAL(1.0), REAL_signbit(x)));
}

fn REAL_log(x: REAL) -> REAL {
    let edge = REAL_log_edge(x);
    if edge.y != 0.0 {
        return edge.x;
    }
    let p = REAL_near_one(x);
    return p.x * LN2_HIGH + (p.y + (REAL_log_rest(p.y) + p.x * LN2_LOW));
}

fn REAL_log2(x: REAL) -> REAL {
    let edge = REAL_log_edge(x);
    if edge.y != 0.0 {
        return edge.x;
    }
    let p = REAL_near_one(x);
    let rest = REAL_log_rest(p.y);
    return p.x + ((p.y + rest) * 1.4426950408889634 + (p.y + rest) * LOG2_E_LOW);
}

fn REAL_log10(x: REAL) -> REAL {
    let edge = REAL_log_edge(x);
    if edge.y != 0.0 {
        return edge.x;
    }
    let p = REAL_near_one(x);
    let y = (p.y + REAL_log_rest(p.y)) * 0.4342944819032518;
    return p.x * LOG10_2_HIGH + (y + p.x * LOG10_2_LOW);
}

fn REAL_log1p(x: REAL) -> REAL {
    if REAL_isnan(x) | (x == 0.0) | (REAL_isinf(x) & !REAL_signbit(x)) {
        return x;
    }
    if x <= -1.0 {
        return select(REAL_nan(), -REAL_inf(), x == -1.0);
    }
    if (x > -0.29) & (x < 0.41) {
        return x + REAL_log_rest(x);
    }
    let u = 1.0 + x;
    let lost = select(x - (u - 1.0), 1.0 - (u - x), x > 1.0);
    return REAL_log(u) + lost / u;
}

// Sine and cosine of |x|; NaN of infinities and NaN.
fn REAL_sin_cos(x: REAL) -> vec2<REAL> {
    if REAL_isnan(x) | REAL_isinf(x) {
        return vec2<REAL>(REAL_nan());
    }
    let r = REAL_reduced(x);
    let s = REAL_sin_near(r.x);
    let c = REAL_cos_near(r.x);
    switch u32(r.y) {
        case 0u: { return vec2(s, c); }
        case 1u: { return vec2(c, -s); }
        case 2u: { return vec2(-s, -c); }
        default: { return vec2(-c, s); }
    }
}

fn REAL_sin(x: REAL) -> REAL {
    if x == 0.0 {
        return x;
    }
    let s = REAL_sin_cos(x).x;
    return select(s, -s, REAL_signbit(x));
}

fn REAL_cos(x: REAL) -> REAL {
    return REAL_sin_cos(x).y;
}

fn REAL_tan(x: REAL) -> REAL {
    if x == 0.0 {
        return x;
    }
    let both = REAL_sin_cos(x);
    let t = both.x / both.y;
    return select(t, -t, REAL_signbit(x));
}

fn REAL_asin(x: REAL) -> REAL {
    let size = abs(x);
    if REAL_isnan(x) | (size > 1.0) {
        return REAL_nan();
    }
    if size <= 0.5 {
        return x + REAL_asin_rest(x);
    }
    let z = (1.0 - size) * 0.5;
    let s = sqrt(z);
    return REAL_copysign(1.5707963267948966 - (2.0 * (s + REAL_asin_rest(s)) - HALF_PI_LOW), x);
}

fn REAL_acos(x: REAL) -> REAL {
    let size = abs(x);
    if REAL_isnan(x) | (size > 1.0) {
        return REAL_nan();
    }
    if size <= 0.5 {
        return 1.5707963267948966 - (x + (REAL_asin_rest(x) - HALF_PI_LOW));
    }
    let s = sqrt((1.0 - size) * 0.5);
    let a = 2.0 * (s + REAL_asin_rest(s));
    return select(a, 3.141592653589793 - (a - 2.0 * HALF_PI_LOW), REAL_signbit(x));
}

fn REAL_atan(x: REAL) -> REAL {
    if REAL_isnan(x) {
        return x;
    }
    let size = abs(x);
    var angle = size + REAL_atan_rest(size);
    if size > 2.414213562373095 {
        let t = -1.0 / size;
        angle = 1.5707963267948966 + (t + (REAL_atan_rest(t) + HALF_PI_LOW));
    } else if size > 0.4142135623730951 {
        let t = (size - 1.0) / (size + 1.0);
        angle = 0.7853981633974483 + (t + (REAL_atan_rest(t) + 0.5 * HALF_PI_LOW));
    }
    return REAL_copysign(angle, x);
}

fn REAL_atan2(y: REAL, x: REAL) -> REAL {
    if REAL_isnan(x) | REAL_isnan(y) {
        return REAL_nan();
    }
    var angle = REAL(0.0);
    if REAL_isinf(x) & REAL_isinf(y) {
        angle = 0.7853981633974483;
    } else if (y == 0.0) | REAL_isinf(x) {
        angle = 0.0;
    } else if (x == 0.0) | REAL_isinf(y) {
        angle = 1.5707963267948966;
    } else {
        angle = REAL_atan(REAL_divide(abs(y), abs(x)));
    }
    return REAL_copysign(select(angle, 3.141592653589793 - (angle - 2.0 * HALF_PI_LOW), REAL_signbit(x)), y);
}

fn REAL_sinh(x: REAL) -> REAL {
    let size = abs(x);
    if REAL_isnan(x) | (x == 0.0) {
        return x;
    }
    if size > 20.0 {
        let e = REAL_exp(0.5 * size);
        return REAL_copysign((0.5 * e) * e, x);
    }
    let t = REAL_expm1(size);
    return REAL_copysign(0.5 * (t + t / (t + 1.0)), x);
}

fn REAL_cosh(x: REAL) -> REAL {
    let size = abs(x);
    if REAL_isnan(x) {
        return x;
    }
    if size > 20.0 {
        let e = REAL_exp(0.5 * size);
        return (0.5 * e) * e;
    }
    let e = REAL_exp(size);
    return 0.5 * e + 0.5 / e;
}

fn REAL_tanh(x: REAL) -> REAL {
    let size = abs(x);
    if REAL_isnan(x) | (x == 0.0) {
        return x;
    }
    if size > TANH_MAX {
        return REAL_copysign(1.0, x);
    }
    let t = REAL_expm1(2.0 * size);
    return REAL_copysign(t / (t + 2.0), x);
}

fn REAL_asinh(x: REAL) -> REAL {
    let size = abs(x);
    if REAL_isnan(x) | REAL_isinf(x) | (x == 0.0) {
        return x;
    }
    if size > ASINH_LARGE {
        return REAL_copysign(REAL_log(size) + 0.6931471805599453, x);
    }
    let z = size * size;
    return REAL_copysign(REAL_log1p(size + z / (1.0 + sqrt(z + 1.0))), x);
}

fn REAL_acosh(x: REAL) -> REAL {
    if REAL_isnan(x) | (x < 1.0) {
        return REAL_nan();
    }
    if x > ASINH_LARGE {
        return REAL_log(x) + 0.6931471805599453;
    }
    let t = x - 1.0;
    return REAL_log1p(t + sqrt(2.0 * t + t * t));
}

fn REAL_atanh(x: REAL) -> REAL {
    let size = abs(x);
    if REAL_isnan(x) | (x == 0.0) | (size > 1.0) {
        return select(x, REAL_nan(), size > 1.0);
    }
    if size == 1.0 {
        return REAL_copysign(REAL_inf(), x);
    }
    return REAL_copysign(0.5 * REAL_log1p(2.0 * size / (1.0 - size)), x);
}

fn REAL_pow(x: REAL, y: REAL) -> REAL {
    if (y == 0.0) | (x == 1.0) {
        return 1.0;
    }
    if REAL_isnan(x) | REAL_isnan(y) {
        return REAL_nan();
    }
    // The bits are selected, which also a device that takes subnormal numbers for zero keeps.
    let size = REAL_copysign(x, 1.0);
    if REAL_isinf(y) {
        if size == 1.0 {
            return 1.0;
        }
        return select(REAL(0.0), REAL_inf(), (size > 1.0) != REAL_signbit(y));
    }
    let is_whole = trunc(y) == y;
    let is_odd = is_whole & (trunc(0.5 * y) != 0.5 * y);
    let sign = select(REAL(1.0), REAL(-1.0), is_odd & REAL_signbit(x));
    if REAL_is_zero(x) | REAL_isinf(x) {
        return REAL_copysign(select(REAL(0.0), REAL_inf(), REAL_isinf(x) != REAL_signbit(y)), sign);
    }
    if REAL_signbit(x) & !is_whole {
        return REAL_nan();
    }
    let l = REAL_exact_log2(size);
    let rough = y * l.x * 0.6931471805599453;
    if (rough > EXP_MAX) | (rough < EXP_MIN) {
        return REAL_copysign(select(REAL(0.0), REAL_inf(), rough > 0.0), sign);
    }
    let p = REAL_exact_product(y, l.x);
    let n = round(p.x);
    let r = (p.x - n) + (p.y + y * l.y);
    return sign * REAL_scaled(1.0 + REAL_small_expm1(r * 0.6931471805599453), i32(n));
}

// log2 of a positive finite number as the sum of two floats.
fn REAL_exact_log2(x: REAL) -> vec2<REAL> {
    let p = REAL_near_one(x);
    let d = 2.0 + p.y;
    let s = p.y / d;
    let back = REAL_exact_product(s, d);
    let s_low = (((p.y - back.x) - back.y) - s * (p.y - (d - 2.0))) / d;
    // 3 atanh(s) / s = a + a_low
    let z = REAL_exact_product(s, s);
    let r = z.x * z.x * REAL_log2_rest(z.x) + (z.y + 2.0 * s * s_low);
    let sum = z.x + r;
    let a = 3.0 + sum;
    let a_low = (sum - (a - 3.0)) + (r - (sum - z.x));
    let u = REAL_exact_product(s, a);
    let v = REAL_exact_product(u.x, LOG2_E_THIRDS);
    let low = v.y + (u.x * LOG2_E_REST + (u.y + (s * a_low + s_low * a)) * LOG2_E_THIRDS);
    if p.x == 0.0 {
        return vec2<REAL>(v.x, low);
    }
    let whole = p.x + v.x;
    return vec2<REAL>(whole, (v.x - (whole - p.x)) + low);
}

// The product, and its rounding error.
fn REAL_exact_product(a: REAL, b: REAL) -> vec2<REAL> {
    let p = a * b;
    let a_high = REAL_upper_half(a);
    let b_high = REAL_upper_half(b);
    let a_low = a - a_high;
    let b_low = b - b_high;
    return vec2<REAL>(p, (((a_high * b_high - p) + a_high * b_low) + a_low * b_high) + a_low * b_low);
}

fn REAL_hypot(x: REAL, y: REAL) -> REAL {
    if REAL_isinf(x) | REAL_isinf(y) {
        return REAL_inf();
    }
    let large = max(abs(x), abs(y));
    let small = min(abs(x), abs(y));
    if REAL_isnan(x) | REAL_isnan(y) {
        return REAL_nan();
    }
    if large == 0.0 {
        return large;
    }
    let ratio = REAL_divide(small, large);
    return large * sqrt(1.0 + ratio * ratio);
}

fn REAL_logaddexp(x: REAL, y: REAL) -> REAL {
    if REAL_isnan(x) | REAL_isnan(y) {
        return REAL_nan();
    }
    let large = max(x, y);
    if REAL_isinf(x) | REAL_isinf(y) {
        return select(large, 0.0, large == 0.0); // The logarithm of 1 is not -0.
    }
    // log(1 + e) = high + rest; the rounding errors of the sums of large parts are added last, since the terms may
    // cancel.
    let e = REAL_exp(-abs(x - y));
    let u = 1.0 + e;
    let p = REAL_near_one(u);
    let high = p.x * LN2_HIGH + p.y;
    let rest = REAL_log_rest(p.y) + (p.x * LN2_LOW + (e - (u - 1.0)) / u);
    let sum = large + high;
    let back = sum - large;
    let lost = (large - (sum - back)) + (high - back) + ((p.x * LN2_HIGH - high) + p.y);
    return sum + (lost + rest);
}

fn REAL_remainder(x: REAL, y: REAL) -> REAL {
    let m = REAL_fmod(x, y);
    if m == 0.0 {
        return REAL_copysign(0.0, y);
    }
    return select(m, m + y, ((m < 0.0) != (y < 0.0)) & !REAL_isnan(m));
}

fn REAL_floor_divide(x: REAL, y: REAL) -> REAL {
    if REAL_is_zero(y) {
        if REAL_isnan(x) | REAL_is_zero(x) {
            return REAL_nan();
        }
        return select(REAL_inf(), -REAL_inf(), REAL_signbit(x) != REAL_signbit(y));
    }
    let m = REAL_fmod(x, y);
    if REAL_isnan(m) {
        return m;
    }
    var quotient = REAL_divide(x - m, y);
    if abs(quotient) >= 1048576.0 {
        // For smaller quotients, the error of a driver's division is below a half.
        quotient = REAL_exact_quotient(x - m, y);
    }
    if (m != 0.0) & ((y < 0.0) != (m < 0.0)) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        // NVIDIA's compiler (580.159) takes both zeros for equal, and chooses between two constants without the condition.
        return REAL_copysign(0.0, select(REAL(1.0), REAL(-1.0), REAL_signbit(x) != REAL_signbit(y)));
    }
    let whole = floor(quotient);
    return select(whole, whole + 1.0, quotient - whole > 0.5);
}
