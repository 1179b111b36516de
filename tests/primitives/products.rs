//! Products of matrices, compared with sums on the host in 64 bits: around the sides of tiles, of all types, and of
//! operands that are views.
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "integers wrap around")]

use std::fmt::Debug;

use half::{bf16, f16};
use vkarray::array::{Element, Number};
use vkarray::prelude::*;
use vkarray::primitives::Widen;

use crate::fixture::{Fixture, contents, with_limits};

/// Sides of tiles are 32, 64 and 128.
const SIDES: [usize; 13] = [1, 2, 3, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129];
/// A step adds up 16 products.
const INNER: [usize; 11] = [1, 2, 4, 15, 16, 17, 20, 31, 32, 48, 53];

/// A small integer that looks random.
fn number(at: usize, seed: usize) -> i64 {
    let bits = ((at * 31 + seed) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    bits.cast_signed() % 5 - 2
}

/// The numbers of an array, `scale` times as large.
fn numbers<T>(len: usize, seed: usize, scale: i64, of: fn(i64) -> T) -> Vec<T> {
    (0..len).map(|at| of(number(at, seed).wrapping_mul(scale))).collect()
}

/// The sums of products of two stacks of matrices; a stack of one is that of all results.
fn expected<T>([m, k, n]: [usize; 3], [count_a, count_b]: [usize; 2], scale: i64, of: fn(i64) -> T) -> Vec<T> {
    let count = count_a.max(count_b);
    let sum = |at: usize| {
        let (matrix, i, j) = (at / (m * n), at / n % m, at % n);
        let [a, b] =
            [(count_a, m * k), (count_b, k * n)].map(|(count, size)| if count == 1 { 0 } else { matrix * size });
        let products = (0..k).map(|l| {
            let factors = [number(a + i * k + l, 1), number(b + l * n + j, 2)].map(|x| x.wrapping_mul(scale));
            factors[0].wrapping_mul(factors[1])
        });
        of(products.fold(0, i64::wrapping_add))
    };
    (0..count * m * n).map(sum).collect()
}

/// Compares the product of two stacks.
fn compare<T: Element + Widen + PartialEq + Debug>(
    ctx: &Context,
    sizes: [usize; 3],
    counts: [usize; 2],
    scale: i64,
    of: fn(i64) -> T,
) {
    let ([m, k, n], [count_a, count_b]) = (sizes, counts);
    let a = ctx.slice_to_device(&numbers(count_a * m * k, 1, scale, of)).unwrap().reshape([count_a, m, k]).unwrap();
    let b = ctx.slice_to_device(&numbers(count_b * k * n, 2, scale, of)).unwrap().reshape([count_b, k, n]).unwrap();
    let product = a.matmul(&b).unwrap();
    assert_eq!(product.shape(), [count_a.max(count_b), m, n]);
    assert_eq!(contents(&product), expected(sizes, counts, scale, of), "{sizes:?} {counts:?}");
}

/// Sizes in which every side meets others of all kinds.
fn mixed_sizes(n: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..n).map(|i| [SIDES[i % 13], INNER[i * 7 % 11], SIDES[(i * 5 + i / 13 + 3) % 13]])
}

#[test]
fn products_have_every_edge_of_tiles() {
    let ctx = Fixture::open();
    for sizes in mixed_sizes(91) {
        compare(&ctx, sizes, [1, 1], 1, |x| x as f32);
    }
    for sizes in [[128, 16, 128], [256, 64, 384], [384, 80, 132], [128, 36, 64], [32, 32, 32], [67, 193, 130]] {
        compare(&ctx, sizes, [1, 1], 1, |x| x as f32);
    }
}

#[test]
fn integers_wrap_around_and_short_floats_are_exact() {
    let ctx = Fixture::open();
    for sizes in [[31, 17, 33], [36, 20, 32]] {
        compare(&ctx, sizes, [1, 1], 1 << 62 | 987_654_321, |x| x);
        compare(&ctx, sizes, [1, 1], 1 << 61 | 987_654_321, |x| x as u64);
    }
    for sizes in mixed_sizes(11).chain([[64, 16, 128], [36, 20, 32], [129, 68, 132]]) {
        compare(&ctx, sizes, [1, 1], 1 << 30 | 12_345, |x| x as i32);
        compare(&ctx, sizes, [1, 1], 1 << 31 | 54_321, |x| x as u32);
        compare(&ctx, sizes, [1, 1], 77, |x| x as i8);
        compare(&ctx, sizes, [1, 1], 1, |x| f16::from_f64(x as f64));
        compare(&ctx, sizes, [1, 1], 1, |x| bf16::from_f64(x as f64));
        if ctx.device().plan().features.shader_float64 {
            compare(&ctx, sizes, [1, 1], 1 << 20 | 1, |x| x as f64);
        }
    }
}

/// Sizes about the tiles of the kernel for cooperative matrices, which takes inner axes and columns of whole eights. Products
/// of `bf16` are up to 676, so that sums are rounded: they are exact in `f32`, and many end between two `bf16`.
#[test]
fn products_of_short_floats_have_every_edge_of_tiles() {
    let ctx = Fixture::open();
    let sides = [32, 33, 64, 65, 127, 128, 129];
    let columns = [32, 40, 120, 128, 136, 248, 36];
    for (i, inner) in [8, 16, 24, 56, 64, 72, 120, 128, 136, 200, 100, 12].into_iter().enumerate() {
        for j in 0..2 {
            let sizes = [sides[(i * 3 + j) % 7], inner, columns[(i * 2 + j * 3) % 7]];
            let counts = [[1, 1], [3, 3], [1, 3], [3, 1]][(i + j) % 4];
            compare(&ctx, sizes, counts, 1, |x| f16::from_f64(x as f64));
            compare(&ctx, sizes, counts, 13, |x| bf16::from_f64(x as f64));
        }
    }
}

/// Products of numbers with the identity, from the left and from the right; `len` of them are whole rows of 64.
fn by_identity<T: Number + Widen>(numbers: &[T]) -> [Vec<T>; 2] {
    let ctx = Fixture::open();
    let identity = vkarray::primitives::eye::<T>(&ctx, [64, 64], 0).unwrap();
    let x = ctx.slice_to_device(numbers).unwrap().reshape([numbers.len() / 64, 64]).unwrap();
    let columns = x.t().to_contiguous(Order::C).unwrap();
    [x.matmul(&identity).unwrap(), identity.matmul(&columns).unwrap().t()].map(|product| contents(&product))
}

/// Each pattern of bits but for NaN, of which a product keeps no bits, by the identity.
#[test]
fn products_with_the_identity_keep_every_short_float() {
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|x| x.is_finite()).collect();
    for product in by_identity(&all[..all.len() / 64 * 64]) {
        assert_eq!(product.iter().zip(&all).find(|(found, x)| found != x), None);
    }
    // Subnormal numbers of `bf16` are so in `f32` too, where a device may take them for zeros.
    let all: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).filter(|x| x.is_finite()).collect();
    let is_kept = |found: bf16, x: bf16| found == x || (!x.is_normal() && found == bf16::ZERO);
    for product in by_identity(&all[..all.len() / 64 * 64]) {
        assert_eq!(product.iter().zip(&all).find(|&(&found, &x)| !is_kept(found, x)), None);
    }
}

/// Random numbers against sums in `f64`, with the error that sums in `f32` in any order, truncated or rounded, and one
/// rounding to `bf16` may have. Rows with infinities and NaN have what the sum has.
#[test]
fn products_of_bf16_are_as_near_as_sums_in_f32() {
    let ctx = Fixture::open();
    let [m, k, n] = [135, 328, 264];
    let random = |len: usize, seed: usize| -> Vec<bf16> {
        let bits = |at: usize| ((at * 31 + seed) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..len).map(|at| bf16::from_f64(bits(at) as f64 / f64::from(1 << 23) - 1.0)).collect()
    };
    let (mut a, b) = (random(m * k, 5), random(k * n, 6));
    a[3 * k + 7] = bf16::INFINITY;
    a[70 * k + 327] = bf16::NEG_INFINITY;
    a[134 * k] = bf16::NAN;
    (a[5 * k], a[5 * k + 200]) = (bf16::INFINITY, bf16::INFINITY);
    let x = ctx.slice_to_device(&a).unwrap().reshape([m, k]).unwrap();
    let y = ctx.slice_to_device(&b).unwrap().reshape([k, n]).unwrap();
    for (at, found) in contents(&x.matmul(&y).unwrap()).into_iter().enumerate() {
        let products = || (0..k).map(|l| a[at / n * k + l].to_f64() * b[l * n + at % n].to_f64());
        let (exact, sizes) = (products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
        let bound = k as f64 * sizes / f64::from(1 << 23) + exact.abs() / 256.0;
        let found = found.to_f64();
        let is_near = (found - exact).abs() <= bound || found == exact || (found.is_nan() && exact.is_nan());
        assert!(is_near, "{at}: {found}, {exact} within {bound}");
    }
}

/// Numbers of the whole range of `i8`.
fn bytes(ctx: &Context, shape: &[usize], seed: usize) -> DeviceNDArray<i8> {
    let bits = |at: usize| ((at * 31 + seed) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let numbers: Vec<i8> = (0..shape.iter().product()).map(|at| bits(at) as i8).collect();
    ctx.slice_to_device(&numbers).unwrap().reshape(shape).unwrap()
}

/// Compares the product of two stacks of matrices of `i8` with sums in 64 bits.
fn compare_bytes(a: &DeviceNDArray<i8>, b: &DeviceNDArray<i8>) {
    let product = a.matmul_i32(b).unwrap();
    let (stack, &[m, n]) = product.shape().split_at(product.ndim() - 2) else { panic!("{:?}", product.shape()) };
    let k = b.shape()[b.ndim() - 2];
    let [x, y] = [(a, [m, k]), (b, [k, n])]
        .map(|(array, matrix)| contents(&array.broadcast_to([stack, &matrix].concat().as_slice()).unwrap()));
    let sum = |at: usize| {
        let (matrix, i, j) = (at / (m * n), at / n % m, at % n);
        let products = (0..k).map(|l| i64::from(x[(matrix * m + i) * k + l]) * i64::from(y[(matrix * k + l) * n + j]));
        products.sum::<i64>() as i32
    };
    let expected: Vec<i32> = (0..product.size()).map(sum).collect();
    assert_eq!(contents(&product), expected, "{:?} {:?}", a.shape(), b.shape());
}

#[test]
fn products_of_bytes_have_every_edge_of_tiles_and_of_words() {
    let ctx = Fixture::open();
    let edges = [[128, 128, 128], [129, 97, 136], [33, 131, 40], [64, 16, 32], [65, 15, 248], [127, 257, 64]];
    for [m, k, n] in mixed_sizes(39).chain(edges).chain([[3, 0, 4], [0, 5, 4], [3, 5, 0], [40, 0, 40]]) {
        compare_bytes(&bytes(&ctx, &[m, k], 1), &bytes(&ctx, &[k, n], 2));
    }
}

#[test]
fn products_of_bytes_are_of_views_and_stacks() {
    let ctx = Fixture::open();
    let x = bytes(&ctx, &[200, 144], 3);
    for (a, b) in [
        (x.slice(s![1..;2, 3..]).unwrap(), x.slice(s![..141, ..;-3]).unwrap()),
        (x.slice(s![.., ..;-1]).unwrap(), x.t()),
        (x.t().slice(s![..70, 1..]).unwrap(), x.slice(s![1.., 5..6]).unwrap()),
        (x.t().slice(s![.., 7..]).unwrap(), x.slice(s![7.., 8..]).unwrap()),
        (x.slice(s![7..8, ..]).unwrap(), x.t()),
        (x.slice(s![.., 4..132]).unwrap(), x.slice(s![8..136, ..128]).unwrap()),
    ] {
        compare_bytes(&a, &b);
    }
    for (left, right) in [(vec![5], vec![5]), (vec![], vec![5]), (vec![5], vec![1]), (vec![2, 1], vec![3])] {
        for [m, k, n] in [[32, 32, 32], [7, 9, 11], [1, 33, 6], [6, 33, 1], [34, 50, 40], [1, 5, 1]] {
            let [a, b] = [(&left, [m, k], 4), (&right, [k, n], 5)]
                .map(|(stack, matrix, seed)| bytes(&ctx, &[stack.as_slice(), &matrix].concat(), seed));
            compare_bytes(&a, &b);
        }
    }
    let (row, column) = (bytes(&ctx, &[144], 6), bytes(&ctx, &[200], 7));
    assert_eq!(contents(&x.matmul_i32(&row).unwrap()), contents(&x.matmul_i32(&row.expand_dims(1).unwrap()).unwrap()));
    assert_eq!(column.matmul_i32(&x).unwrap().shape(), [144]);
    assert_eq!(row.matmul_i32(&row).unwrap().shape(), [0; 0]);
}

#[test]
fn sums_of_bytes_wrap_around_at_32_bits() {
    let ctx = Fixture::open();
    for k in [131_071, 131_072, 131_077] {
        let wrapped = (16_384 * k as i64) as i32;
        for [m, n] in [[1, 3], [33, 40], [5, 7]] {
            let [a, b] = [[m, k], [k, n]].map(|shape| ctx.full(shape, -128_i8).unwrap());
            let product = contents(&a.matmul_i32(&b).unwrap());
            assert_eq!(product.iter().find(|&&sum| sum != wrapped), None, "{m} {k} {n}, not {wrapped}");
            assert_eq!(product.len(), m * n);
        }
    }
    for (x, y) in [(-128, -128), (-128, 127), (127, 127), (127, -1)] {
        let [a, b] = [([36, 100], x), ([100, 40], y)].map(|(shape, x)| ctx.full(shape, x as i8).unwrap());
        let product = contents(&a.matmul_i32(&b).unwrap());
        assert_eq!(product.iter().find(|&&sum| sum != 100 * x * y), None, "{x} · {y}");
    }
}

#[test]
fn products_of_bytes_refuse_what_matmul_refuses() {
    let ctx = Fixture::open();
    let of = |shape: &[usize]| ctx.zeros::<i8>(shape).unwrap();
    let error = of(&[2, 3]).matmul_i32(&of(&[4, 5])).unwrap_err();
    assert!(matches!(error, Error::Lengths { operation: "matmul_i32", axes: [1, 0], .. }), "{error}");
    let error = of(&[]).matmul_i32(&of(&[4, 5])).unwrap_err();
    assert!(matches!(error, Error::Shapes { operation: "matmul_i32", .. }), "{error}");
    let error = of(&[2, 3, 4]).matmul_i32(&of(&[3, 4, 5])).unwrap_err();
    assert!(matches!(error, Error::Layout(_)), "{error}");
}

#[test]
fn stacks_of_matrices_broadcast() {
    let ctx = Fixture::open();
    for counts in [[5, 5], [1, 5], [5, 1]] {
        for sizes in [[32, 32, 32], [7, 9, 11], [1, 33, 6], [6, 33, 1], [129, 17, 4], [1, 5, 1]] {
            compare(&ctx, sizes, counts, 1, |x| x as f32);
            compare(&ctx, sizes, counts, 1 << 30 | 3, |x| x as i32);
        }
    }
}

#[test]
fn operands_are_views() {
    let ctx = Fixture::open();
    let x = ctx.slice_to_device(&numbers(200 * 140, 1, 1, |x| x as f32)).unwrap().reshape([200, 140]).unwrap();
    let host = x.copy_to_host().unwrap();
    let cases = [
        (x.slice(s![1..;2, 3..]).unwrap(), x.slice(s![..137, ..;-3]).unwrap()),
        (x.t().slice(s![..70, 1..]).unwrap(), x.slice(s![1.., 5..6]).unwrap()),
        (x.slice(s![7..8, ..]).unwrap(), x.t()),
        (x.slice(s![.., 4..132]).unwrap(), x.slice(s![8..136, ..128]).unwrap()),
    ];
    assert_eq!(host.len(), 28_000);
    for (a, b) in cases {
        let product = contents(&a.matmul(&b).unwrap());
        let ([m, k], n) = ([a.shape()[0], a.shape()[1]], b.shape()[1]);
        let (a, b) = (contents(&a), contents(&b));
        let sum = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum::<f32>();
        assert_eq!(product, (0..m * n).map(sum).collect::<Vec<_>>(), "{m} {k} {n}");
    }
}

#[test]
fn nothing_is_added_up_to_zeros() {
    let ctx = Fixture::open();
    for ([m, k, n], len) in [([3, 0, 4], 12), ([0, 5, 4], 0), ([3, 5, 0], 0), ([1, 0, 4], 4), ([4, 0, 1], 4)] {
        let (a, b) = (ctx.ones::<f32>([m, k]).unwrap(), ctx.ones::<f32>([k, n]).unwrap());
        assert_eq!(contents(&a.matmul(&b).unwrap()), vec![0.0; len]);
    }
}

#[test]
fn smaller_devices_take_smaller_tiles_or_one_stage() {
    for limits in [
        r#"{"max_compute_shared_memory_size": 16384}"#,
        r#"{"max_compute_shared_memory_size": 16384, "max_compute_work_group_invocations": 128}"#,
    ] {
        with_limits(limits, |ctx| {
            for sizes in [[128, 32, 128], [129, 20, 68], [65, 33, 31]] {
                compare(&ctx, sizes, [2, 1], 1, |x| x as f32);
            }
            compare(&ctx, [36, 20, 68], [1, 2], 1 << 40 | 77, |x| x);
            compare_bytes(&bytes(&ctx, &[65, 33], 1), &bytes(&ctx, &[33, 68], 2));
        });
    }
}

#[test]
fn kernels_of_products_pass_the_sanitizer() {
    let ctx = Fixture::open();
    ctx.kernel_cache().set_sanitize(true);
    for sizes in [[20, 12, 24], [7, 5, 9]] {
        compare(&ctx, sizes, [1, 2], 1, |x| x as f32);
        compare_bytes(&bytes(&ctx, &sizes[..2], 1), &bytes(&ctx, &sizes[1..], 2));
    }
}
