//! References of `flow.wgsl`, `vectors.wgsl` and `constants.wgsl`.

use super::cases::{Case, each, groups, mix, pair, random};

pub(super) fn flow() -> Vec<Case> {
    vec![
        each("collatz", |a| {
            let (mut n, mut steps) = (a % 10000 + 1, 0);
            while n != 1 && steps < 100 {
                n = if n & 1 == 1 { 3 * n + 1 } else { n / 2 };
                steps += 1;
            }
            steps
        }),
        pair("greatest_common_divisor", |a, b| {
            let (mut p, mut q) = (a | 1, b | 2);
            while q != 0 {
                (p, q) = (q, p % q);
            }
            p
        }),
        each("selects", |a| {
            let h: u32 = match a % 8 {
                0 | 3 => 10,
                5 if a & 16 == 0 => 1,
                5 => 30,
                7 => 1,
                other => 20 + other,
            };
            match (a % 5).cast_signed() - 2 {
                -2 => h * 3,
                -1 | 2 => h + 7,
                _ => h ^ 0xff,
            }
        }),
        each("continues", |a| {
            let (mut h, mut i) = (0, 0);
            loop {
                if i % 3 != 1 {
                    h = mix(h, i ^ a);
                    if h % 17 == 3 {
                        break;
                    }
                }
                i += 1 + (a & 1);
                if i > 20 {
                    break;
                }
            }
            mix(h, i)
        }),
        each("nested", |a| {
            let mut h = 0;
            for i in (0..7).filter(|i| *i != a % 7) {
                h += (0..=i + (a & 3)).filter(|j| (i + j) % 3 != 0).map(|j| i * j + 1).sum::<u32>();
                if h > 90 {
                    break;
                }
            }
            h
        }),
        each("switch_in_a_loop", |a| {
            let mut h = a;
            for i in 0..12 {
                match h % 4 {
                    0 => {
                        h = h / 4 + i;
                        continue;
                    }
                    1 => h = h.wrapping_mul(5).wrapping_add(1),
                    3 if h > 0x0100_0000 => return !h,
                    _ => {}
                }
                h = h.wrapping_mul(3).wrapping_add(1);
            }
            h
        }),
        each("returns_early", |a| {
            let n = a % 3000 + 2;
            (2..40).find(|d| n % d == 0).unwrap_or(n)
        }),
        each("short_circuits", |a| {
            let bit = |i: u32| a >> i & 1 == 1;
            let n = 1 + u32::from(bit(0)) + 1 + u32::from(!bit(2)) + 2;
            let truths = [bit(0) && bit(1), bit(2) || bit(3), bit(4) && bit(5)];
            n << 4 | truths.into_iter().enumerate().map(|(i, truth)| u32::from(truth) << i).sum::<u32>()
        }),
        each("own_stack", |a| {
            fn ackermann(m: u32, n: u32) -> u32 {
                match (m, n) {
                    (0, n) => n + 1,
                    (m, 0) => ackermann(m - 1, 1),
                    (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
                }
            }
            ackermann(a % 3, (a >> 2) % 5)
        }),
    ]
}

pub(super) fn vectors() -> Vec<Case> {
    vec![
        each("swizzles", |a| {
            let v = [a, a >> 8, a >> 16, a >> 24];
            let sum = |i: usize, j: usize| v[i].wrapping_add(v[j]);
            let mut w = [sum(3, 0), sum(2, 0), sum(1, 2), sum(0, 2)];
            w[1] = v[0];
            let at = (a % 4) as usize;
            w[at] = w[at].wrapping_add(5);
            mix(mix(w[0], w[1]), mix(w[2], w[3])) ^ [9, w[1], w[2]][(a % 3) as usize]
        }),
        each("comparisons", |a| {
            let v = [a, a << 7, a << 19].map(u32::cast_signed);
            let below = [v[0] < 0, v[1] < 5, v[2] < -5];
            let rotated = [v[2], v[0], v[1]];
            let s: [i32; 3] = std::array::from_fn(|i| if below[i] { rotated[i] } else { v[i] });
            let word = (s[0] ^ s[1].wrapping_add(s[2].wrapping_mul(3))).cast_unsigned();
            u32::from(below == [true; 3]) | u32::from(below != [false; 3]) << 1 | word << 2
        }),
        each("products", |a| {
            let f = [a & 7, a >> 3 & 7, a >> 6 & 7, 1].map(u32::cast_signed);
            // m[c][r] is an element of column c, which is f rotated by c.
            let m = |c: usize, r: usize| f[(r + c) % 4];
            let product = |c: usize, r: usize| (0..4).map(|k| m(k, r) * m(k, c)).sum::<i32>() + 2 * m(c, r);
            let v: [i32; 4] = std::array::from_fn(|r| {
                (0..4).map(|c| product(c, r) * f[c]).sum::<i32>() + (0..4).map(|k| f[k] * m(r, k)).sum::<i32>()
            });
            let (x, y, z) = (f[0], f[1], f[2]);
            let (a, b, c) = ([x, y, z], [y, z, x], [1, 2, 3]);
            let minor = |i: usize, j: usize| b[i] * c[j] - b[j] * c[i];
            let d = a[0] * minor(1, 2) - a[1] * minor(0, 2) + a[2] * minor(0, 1);
            let [p, q] = [v[0] + 2 * v[1], v[2] + 3 * v[3]].map(i32::cast_unsigned);
            mix(p, q) ^ d.cast_unsigned()
        }),
        each("computed_columns", |a| {
            let mut m = [[0; 3]; 4];
            for i in 0..12 {
                m[i % 4][i / 4] = a >> i & 15;
            }
            m[(a % 4) as usize] = m[((a >> 2) % 4) as usize].map(|value| value * 2);
            m[((a >> 4) % 4) as usize][(a % 3) as usize] + m[0][0] * 32 + m[3][2] * 1024
        }),
        each("integer_vectors", |a| {
            let v = [a.wrapping_mul(3), a.wrapping_mul(2), (!a).wrapping_mul(5)];
            let v: [u32; 3] = std::array::from_fn(|i| (v[i] << 1 ^ v[i] >> (3 + i)) | 1);
            let v = [v[0] % 1000, v[1] % 77, v[2] % (a | 1)];
            let d = v[0].wrapping_add(2 * v[1]).wrapping_add(v[2].wrapping_mul(3));
            let last = (v[0].cast_signed() * 3 - 14).cast_unsigned();
            mix(d, v[0] ^ v[1] ^ v[2]).wrapping_add(v[0].max(v[2])).wrapping_sub(last)
        }),
    ]
}

const GIVEN: &[(&str, f64)] =
    &[("FACTOR", 7.0), ("OFFSET", -100.0), ("IS_ON", 1.0), ("HALF", 0.625), ("7", 4_294_967_295.0)];

pub(super) fn constants() -> Vec<Case> {
    vec![
        each("of_the_module", |a| (a & 31) * [3, 5, 7][(a % 3) as usize] + 10),
        each("defaults", |a| a.wrapping_mul(3).wrapping_add(11).wrapping_sub(4).wrapping_add(4 + 11)),
        Case {
            constants: GIVEN,
            ..each("given", |a| (!a.wrapping_mul(7).wrapping_add(19).wrapping_sub(100)).wrapping_add(5).wrapping_sub(1))
        },
        Case {
            constants: &[("GROUP", 24.0)],
            ..groups("sized", |x| x.chunks(24).flat_map(|x| x.iter().rev().map(|x| x.wrapping_add(24))).collect())
        }
        .on(|| random(24 * 13)),
    ]
}
