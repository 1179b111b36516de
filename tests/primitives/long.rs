//! Functions of arrays of 70,001 elements, and of more than 2^32 bytes where the device has 48 GiB. Each result
//! has a closed form.
#![expect(clippy::cast_possible_truncation, reason = "places fit into 32 bits")]

use vkarray::prelude::*;
use vkarray::primitives::Side;

use crate::fixture::{Fixture, assert_holds};

/// A prime, so that its multiples visit every place of a shorter array whose length it does not divide.
const STEP: usize = 2_654_435_761;

#[test]
fn functions_of_long_arrays_are_right() {
    let fixture = Fixture::open();
    assert_functions(&fixture, 70_001);
    let free = fixture.allocator().memory_info().unwrap().free;
    if free > 48 << 30 && fixture.info().limits.max_buffer_size > 9 << 30 {
        assert_functions(&fixture, (1 << 30) + 70_001);
    }
}

fn assert_functions(ctx: &Context, n: usize) {
    let shuffled = |at: usize| (at * STEP % n) as u32;
    let x = ctx.slice_to_device(&(0..n).map(shuffled).collect::<Vec<_>>()).unwrap();
    let sorted = x.sort(0).unwrap();
    assert_holds(&sorted, |at| at as u32);
    let (greatest, places) = x.top_k(3, 0).unwrap();
    assert_holds(&greatest, |at| (n - 1 - at) as u32);
    assert_holds(&x.take(&places, 0).unwrap(), |at| (n - 1 - at) as u32);
    assert_holds(&sorted.searchsorted(&x, Side::Left).unwrap(), shuffled);
    drop(sorted);
    let places = x.argsort(0).unwrap();
    assert_holds(&x.take(&places, 0).unwrap(), |at| at as u32);
    drop(places);
    let kept = x.compact(&x.less(5).eval().unwrap()).unwrap();
    assert_eq!(kept.sort(0).unwrap().to_vec().unwrap(), [0, 1, 2, 3, 4]);
    drop(x);

    let x = ctx.slice_to_device(&(0..n).map(|at| at as u32 % 7).collect::<Vec<_>>()).unwrap();
    let sum = |count: usize| (count / 7 * 21 + (0..count % 7).sum::<usize>()) as u64;
    assert_eq!(x.sum(..).unwrap().item().unwrap(), sum(n));
    assert_holds(&x.cumulative_sum(0).unwrap(), |at| sum(at + 1));
    let count = |value: usize| (n / 7 + usize::from(value < n % 7)) as u32;
    assert_holds(&x.histogram_between(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap(), count);
    assert_holds(&x.unique_values().unwrap(), |at| at as u32);
    let kept = x.compact(&x.equal(6).eval().unwrap()).unwrap();
    assert_eq!(kept.size(), count(6) as usize);
    let floats = x.cast::<f32>().eval().unwrap();
    let mean = sum(n) as f64 / n as f64;
    let square = (0..7).map(|value| f64::from(count(value)) * (value as f64 - mean).powi(2)).sum::<f64>() / n as f64;
    assert!((f64::from(floats.var(..).unwrap().item().unwrap()) - square).abs() < 1e-4);
}
