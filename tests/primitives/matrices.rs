//! Matrices: products of fractions against sums in `f64`, ones on a diagonal. Products of integers and the shapes of stacks
//! are in `numpy_functions.rs`.

use vkarray::prelude::*;
use vkarray::primitives::{Rng, eye};

use crate::fixture::{Fixture, contents};

#[test]
fn products_of_fractions_are_within_the_bound_of_serial_sums() {
    let ctx = Fixture::open();
    let (m, k, n) = (67, 193, 130);
    let mut rng = Rng::philox(8);
    let a = rng.normal(&ctx, [m, k]).unwrap();
    let b = rng.normal(&ctx, [n, k]).unwrap().t();
    let found = contents(&a.matmul(&b).unwrap());
    let (a, b) = (contents(&a), contents(&b));
    for (at, &found) in found.iter().enumerate() {
        let products = (0..k).map(|l| f64::from(a[at / n * k + l]) * f64::from(b[l * n + at % n]));
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()));
        // One rounding for each product and each addition.
        let bound = (k as f64 + 1.0) * f64::from(f32::EPSILON) / 2.0 * size;
        assert!((f64::from(found) - sum).abs() <= bound, "{found} for {sum} at {at}");
    }
}

#[test]
fn ones_are_on_the_diagonal_asked_for_and_nowhere_else() {
    let ctx = Fixture::open();
    for [rows, columns] in [[0_usize, 3], [1, 1], [3, 5], [5, 3]] {
        for k in -6..7 {
            let expected: Vec<u8> = (0..rows * columns)
                .map(|at| u8::from((at % columns).cast_signed() - (at / columns).cast_signed() == k))
                .collect();
            assert_eq!(contents(&eye::<u8>(&ctx, [rows, columns], k).unwrap()), expected, "{rows} {columns} {k}");
        }
    }
}
