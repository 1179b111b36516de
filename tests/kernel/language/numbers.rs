//! References of `integers.wgsl`, `floats.wgsl`, `packing.wgsl`, `bits.wgsl`, and of numbers that not all devices have.

use half::f16;

use super::cases::{Case, Device, all, each, floats, floats_and_nan, mix, pair};

fn signed(a: u32) -> i32 {
    a.cast_signed()
}

fn bits(i: i32) -> u32 {
    i.cast_unsigned()
}

pub(super) fn integers() -> Vec<Case> {
    vec![
        pair("wraps", |a, b| {
            let (sum, product) = (a.wrapping_add(b), a.wrapping_mul(b));
            mix(mix(mix(sum, product), a.wrapping_sub(b)), product.wrapping_add(b.wrapping_sub(a)))
        }),
        pair("signs", |a, b| {
            let (i, j) = (signed(a), signed(b));
            let h = mix(bits(i.wrapping_neg()), bits(i.wrapping_abs()));
            let k = mix(bits(i.min(j)), bits(i.max(j)));
            let last = bits(i.signum()).wrapping_add(a.min(b).wrapping_mul(3)).wrapping_add(a.max(b));
            mix(mix(mix(h, k), bits(i.clamp(j.min(5), j.max(5)))), last)
        }),
        pair("compares", |a, b| {
            let (i, j) = (signed(a), signed(b));
            let truths = [a < b, a <= b, a == b, a != b, i < j, i >= j, i > j];
            truths.into_iter().enumerate().map(|(bit, truth)| u32::from(truth) << bit).sum()
        }),
        // Divided by zero, the quotient is the dividend and the remainder is zero; the same holds where the quotient
        // overflows.
        Case {
            divides_by_zero: true,
            ..pair("divides", |a, b| mix(a.checked_div(b).unwrap_or(a), a.checked_rem(b).unwrap_or(0)))
        },
        Case {
            divides_by_zero: true,
            ..pair("divides_signed", |a, b| {
                let (i, j) = (signed(a), signed(b));
                mix(bits(i.checked_div(j).unwrap_or(i)), bits(i.checked_rem(j).unwrap_or(0)))
            })
        },
        pair("divides_in_range", |a, b| {
            let (i, j) = (signed(a) >> 1, signed(b | 1));
            let (p, q, r) = (i, -i, i + 7);
            let rest = (p % j).wrapping_add(5 * (q % 7)).wrapping_add(11 * (r % -3));
            mix(mix(bits(p / j), bits((q / 7).wrapping_sub(r / -3))), bits(rest))
        }),
        pair("shifts", |a, b| {
            let n = b & 31;
            mix(mix(mix(a << n, a >> n), bits(signed(a) >> n)), (a << n) ^ (b << (31 - n)))
        }),
        pair("shifts_past_the_width", |a, b| {
            mix(mix(a.wrapping_shl(b), a.wrapping_shr(b)), bits(signed(a).wrapping_shr(b)))
        }),
        pair("high_product", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        each("square_root", |a| a.isqrt()),
        each("truths", |a| {
            let t = a != 0 && a & 1 == 0;
            let (v0, v2) = (a & 2 != 0, a > 7);
            let selected = if v2 { 5 } else { 3 };
            u32::from(t)
                | u32::from(v0 || t || v2) << 1
                | u32::from(v0 && t && v2) << 2
                | selected << 3
                | u32::from(t) << 8
        }),
    ]
}

pub(super) fn floats_cases() -> Vec<Case> {
    vec![
        // A number that is too large becomes the largest integer that is a float; the conversion of larger numbers
        // depends on rounding.
        each("to_integers", |a| {
            let f = f32::from_bits(a);
            let i = f.clamp(-2_147_483_648.0, 2_147_483_520.0) as i32;
            mix(bits(i), f.clamp(0.0, 4_294_967_040.0) as u32)
        })
        .on(floats),
        each("from_integers", |a| {
            let n = (a >> 8) << (a & 7);
            mix((n as f32).to_bits(), (-signed(n >> 1) as f32).to_bits())
        }),
        each("rounds", |a| {
            let f = (signed(a) % 4001) as f32 / 4.0;
            let h = mix(bits(f.floor() as i32), bits(f.ceil() as i32));
            let k = mix(bits(f.trunc() as i32), bits(f.round_ties_even() as i32));
            mix(mix(h, k), ((f - f.floor()) * 4.0) as u32)
        }),
        all("infinities", |x| {
            let one = |i: usize| {
                let (f, g) = (f32::from_bits(x[i]), f32::from_bits(x[(i * 5 + 2) % x.len()]));
                let truths = [f < g, f <= g, f == g, f > g, f != g, f.abs() > 3.4e38];
                truths.into_iter().enumerate().map(|(bit, truth)| u32::from(truth) << bit).sum()
            };
            (0..x.len()).map(one).collect()
        })
        .on(floats),
        each("not_numbers", |a| {
            let f = f32::from_bits(a);
            let truths = [f.is_nan(), !f.is_nan(), f < 1.0, f >= 1.0, f.is_nan()];
            truths.into_iter().enumerate().map(|(bit, truth)| u32::from(truth) << bit).sum()
        })
        .on(floats_and_nan),
        each("parts", |a| {
            let f = (signed(a) >> 8) as f32 / 64.0;
            let exp = if f == 0.0 { 0 } else { (f.to_bits() >> 23 & 255) as i32 - 126 };
            let fract = f / (exp as f32).exp2();
            let h = mix((fract + 0.0).to_bits(), bits(exp));
            let parts = bits((f.fract() * 64.0) as i32) ^ bits(signed(a) >> 8);
            mix(mix(h, bits(f.trunc() as i32)), parts)
        }),
        each("exact_sums", |a| {
            let (p, q) = ((a % 2048) as f32, (signed(a >> 11) % 2048) as f32 - 1000.0);
            let v = p * q + 3.0 + p * q - p;
            let step = if p <= q { 1.0 } else { 0.0 };
            let sum = (p * 0.5 + q * 0.5) * 2.0 + step + p.clamp(5.0, 100.0) + p.min(q);
            mix(bits(v as i32), bits(sum as i32))
        }),
        each("remainders", |a| {
            let (p, q) = ((signed(a) >> 12) as f32, (1_u32 << (a & 7)) as f32 * 0.5);
            let rest = bits((p % q * 2.0) as i32);
            mix(rest, rest)
        }),
        each("halves", |a| bits((signed(a) % 2048) << (a & 3))),
        each("geometry", |a| {
            let part = |shift: u32| signed(a >> shift & 31);
            let (v, w) = ([part(0), part(5) - 16, part(10)], [2, part(15), -3]);
            let dot: i32 = v.iter().zip(w).map(|(v, w)| v * w).sum();
            let cross = |i: usize, j: usize| v[i] * w[j] - v[j] * w[i];
            bits(dot + cross(1, 2) + 3 * cross(2, 0) + 7 * cross(0, 1) + 13)
        }),
    ]
}

/// Four bytes of a word, the lowest first.
fn unsigned_bytes(a: u32) -> [u32; 4] {
    a.to_le_bytes().map(u32::from)
}

fn signed_bytes(a: u32) -> [i32; 4] {
    a.to_le_bytes().map(|byte| i32::from(byte.cast_signed()))
}

fn packed(parts: impl IntoIterator<Item = i32>, width: u32) -> u32 {
    let mask = (1 << width) - 1;
    parts.into_iter().enumerate().map(|(i, part)| (bits(part) & mask) << (width * i as u32)).sum()
}

fn normalised(v: &[f64], least: f64, most: f64, width: u32) -> u32 {
    packed(v.iter().map(|v| (0.5 + most * v.clamp(least, 1.0)).floor() as i32), width)
}

pub(super) fn packing() -> Vec<Case> {
    vec![
        each("pack_normalised", |a| {
            let w = [0, 7, 14, 21].map(|shift| (f64::from(a >> shift & 127) * 2.0 - 127.0) / 64.0);
            let bytes = mix(normalised(&w, -1.0, 127.0, 8), normalised(&w, 0.0, 255.0, 8));
            mix(bytes, mix(normalised(&w[..2], -1.0, 32767.0, 16), normalised(&w[2..], 0.0, 65535.0, 16)))
        }),
        each("unpack_normalised", |a| {
            let ([u0, u1, u2, u3], s) = (unsigned_bytes(a), signed_bytes(a).map(|byte| bits(byte.max(-127))));
            let halves = [a & 0xffff, a >> 16];
            let [t0, t1] = halves.map(|half| bits(i32::from(half as u16 as i16).max(-32767)));
            let h = mix(mix(u0, u1), mix(u2, u3));
            let k = mix(mix(s[0], s[1]), mix(s[2], s[3]));
            mix(mix(h, k), mix(mix(halves[0], halves[1]), mix(t0, t1)))
        }),
        each("halves_in_a_word", |a| {
            let v = [(signed(a << 21) >> 21) as f32, (a >> 11 & 1023) as f32 * 0.25];
            let [low, high] = v.map(|v| u32::from(f16::from_f32(v).to_bits()));
            mix(low | high << 16, 1)
        }),
        each("bytes_in_a_word", |a| {
            let s = [signed(a) >> 24, signed(a << 8) >> 20, signed(a << 20) >> 20, 5];
            let u = [a & 511, a >> 9 & 511, a >> 18 & 511, a >> 23];
            let h = mix(packed(s, 8), packed(u.map(signed), 8));
            mix(h, mix(packed(s.map(|s| s.clamp(-128, 127)), 8), packed(u.map(|u| signed(u.min(255))), 8)))
        }),
        each("bytes_from_a_word", |a| {
            let ([s0, s1, s2, s3], [u0, u1, u2, u3]) = (signed_bytes(a), unsigned_bytes(a));
            mix(mix(bits(s0 - s1), bits(s2 * s3)), mix(u0 + 3 * u1, u2 * u3))
        }),
        pair("dots_of_bytes", |a, b| {
            let s: i32 = signed_bytes(a).iter().zip(signed_bytes(b)).map(|(a, b)| a * b).sum();
            let u: u32 = unsigned_bytes(a).iter().zip(unsigned_bytes(b)).map(|(a, b)| a * b).sum();
            mix(bits(s), u)
        }),
        each("swapped_bytes", |a| a.swap_bytes()),
        each("casts_of_bits", |a| mix(mix(a, !a), a & 0x7f7f_ffff | 0x0080_0000)),
    ]
}

/// The bits that WGSL's `extractBits` means: bits beyond the end of the word are cut off.
fn part(b: u32) -> (u32, u32) {
    let offset = (b & 63).min(32);
    (offset, (b >> 6 & 63).min(32 - offset))
}

fn inserted(into: u32, value: u32, b: u32) -> u32 {
    let (offset, count) = part(b);
    let mask = ((1_u64 << count) - 1) << offset;
    ((u64::from(into) & !mask) | ((u64::from(value) << offset) & mask)) as u32
}

pub(super) fn bit_operations() -> Vec<Case> {
    vec![
        each("counts", |a| mix(a.count_ones(), mix(a.leading_zeros(), a.trailing_zeros()))),
        each("finds", |a| {
            // A word without set bits gives all ones.
            let first = |a: u32| if a == 0 { u32::MAX } else { 31 - a.leading_zeros() };
            let last = if a == 0 { u32::MAX } else { a.trailing_zeros() };
            let magnitude = if signed(a) < 0 { !a } else { a };
            mix(mix(first(a), last), mix(first(magnitude), last))
        }),
        pair("reverses", |a, b| mix(a.reverse_bits(), mix(a.rotate_left(b & 31), b.reverse_bits()))),
        pair("extracts", |a, b| {
            let (offset, count) = part(b);
            let value = (u64::from(a) >> offset) & ((1 << count) - 1);
            let is_negative = count > 0 && value >> (count - 1) & 1 == 1;
            let extended = if is_negative { value | u64::MAX << count } else { value };
            mix(value as u32, extended as u32)
        }),
        pair("inserts", |a, b| mix(inserted(a, b, b), inserted(b, a, b))),
        pair("of_vectors", |a, b| {
            let n = [a, b, a & b, a | b].map(|v| v.count_ones() + v.leading_zeros() * 33);
            let first = |a: u32| if a == 0 { u32::MAX } else { 31 - a.leading_zeros() };
            let r = [a.reverse_bits() ^ first(a & b), b.reverse_bits() ^ first(a | b)];
            mix(mix(mix(n[0], n[1]), mix(n[2], n[3])), mix(r[0], r[1]))
        }),
        each("checksum", |a| {
            let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            !a.to_le_bytes().iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
        }),
    ]
}

fn mixed(a: u64) -> u32 {
    mix(a as u32, (a >> 32) as u32)
}

pub(super) fn wide_integers() -> Vec<Case> {
    let long = |case| Case { needs: Device::Int64, ..case };
    vec![
        long(pair("long_products", |a, b| {
            let q = (i64::from(signed(a)) * i64::from(signed(b))).wrapping_sub(1).cast_unsigned();
            mix(mixed(u64::from(a) * u64::from(b)), mixed(q))
        })),
        long(pair("long_quotients", |a, b| {
            let (n, d) = (u64::from(a) << 32 | u64::from(b), u64::from(b | 1));
            let s = i64::from(signed(a)) * 65536 / (i64::from(signed(b) >> 8) * 2 + 1);
            let last = mix(s as u32, (s.min(5).cast_unsigned() >> 32) as u32);
            mix(mix((n / d) as u32, (n % d) as u32), last)
        })),
    ]
}

pub(super) fn doubles() -> Vec<Case> {
    let sums = pair("double_sums", |a, b| {
        let p = f64::from(a) * 0.5 + f64::from(signed(b));
        let q = p * 4.0 - f64::from(a);
        mix(bits((p / 65536.0).floor() as i32), (q.abs() / 1_048_576.0) as u32)
    });
    vec![Case { needs: Device::Float64, ..sums }]
}

pub(super) fn halves() -> Vec<Case> {
    let half = |case| Case { needs: Device::Float16, ..case };
    vec![
        half(each("half_sums", |a| {
            // All values are exact in 16 bits.
            let (p, last) = ((a & 63) as f32 * 0.25, (a >> 6 & 15) as f32);
            let w = [p * last + p - 1.5, 4.0 + 2.0 - 1.5, last * p + last - 1.5];
            mix(bits((w[0] * 4.0) as i32), bits((w[1] * 2.0) as i32) ^ bits((w[2] * 4.0) as i32))
        })),
        half(each("half_words", |a| {
            let v = [(signed(a << 21) >> 21) as f32, (a >> 11 & 255) as f32];
            let [low, high] = v.map(|v| u32::from(f16::from_f32(v).to_bits()));
            mix(low | high << 16, (v[1] * 8.0) as u32)
        })),
    ]
}
