//! Random expressions that are evaluated and reduced: a reduction takes every expression that `eval` takes, with the same values.
//!
//! `VKARRAY_TEST_PROGRAMS` sets the number of expressions.
#![expect(clippy::cast_possible_truncation, reason = "the numbers are small")]

use ndarray::{ArrayD, Axis, IxDyn};
use vkarray::array::IntoExpr;
use vkarray::prelude::*;

use crate::fixture::{Fixture, contents};

/// Numbers from a seed, the same on every machine.
struct Numbers(u64);

impl Numbers {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// An expression with its values.
type Pair = (Expr<i32>, ArrayD<i32>);

/// An array that broadcasts to the shape: some of its axes have length one, and its strides are arbitrary.
fn array(ctx: &Context, numbers: &mut Numbers, shape: &[usize]) -> Pair {
    let own: Vec<usize> = shape.iter().map(|&len| if numbers.below(3) == 0 { 1 } else { len }).collect();
    let axes: Vec<usize> = (0..own.len()).collect();
    let order: Vec<usize> = if numbers.below(2) == 0 { axes } else { axes.into_iter().rev().collect() };
    let wide: Vec<usize> = order.iter().map(|&axis| own[axis] * 2).collect();
    let values = ArrayD::from_shape_simple_fn(IxDyn(&wide), || numbers.below(19) as i32 - 9);
    let back: Vec<isize> =
        (0..own.len()).map(|axis| order.iter().position(|&at| at == axis).unwrap() as isize).collect();
    let (mut x, mut host) = (
        ctx.to_device(&values).unwrap().transpose(Some(&back)).unwrap(),
        values.permuted_axes(back.iter().map(|&axis| axis.unsigned_abs()).collect::<Vec<_>>()),
    );
    let step = if numbers.below(2) == 0 { 2 } else { -2 };
    for (axis, &len) in own.iter().enumerate() {
        x = x.slice_axis(axis as isize, vkarray::array::Index::stepped(.., step)).unwrap();
        host.slice_axis_inplace(Axis(axis), ndarray::Slice::new(0, None, step));
        assert_eq!((x.shape()[axis], host.shape()[axis]), (len, len));
    }
    (x.into_expr(), host.to_owned())
}

fn combined(numbers: &mut Numbers, (a, x): Pair, (b, y): Pair, shape: &[usize]) -> Pair {
    let [x, y] = [x, y].map(|values| values.broadcast(shape).unwrap().to_owned());
    let zipped = |f: fn(i32, i32) -> i32| ndarray::Zip::from(&x).and(&y).map_collect(|&x, &y| f(x, y));
    match numbers.below(5) {
        0 => (a + b, zipped(i32::wrapping_add)),
        1 => (a - b, zipped(i32::wrapping_sub)),
        2 => (a * b, zipped(i32::wrapping_mul)),
        3 => (a.minimum(b), zipped(i32::min)),
        _ => (a.maximum(b), zipped(i32::max)),
    }
}

#[test]
fn reductions_take_every_expression_that_eval_takes() {
    let ctx = Fixture::open();
    let n: usize = std::env::var("VKARRAY_TEST_PROGRAMS").map_or(24, |text| text.parse().expect("a number"));
    let (mut numbers, mut n_refused) = (Numbers(13), 0);
    for program in 0..n {
        let shape: Vec<usize> = (0..1 + numbers.below(4)).map(|_| 1 + numbers.below(6)).collect();
        let mut sum = array(&ctx, &mut numbers, &shape);
        sum.1 = sum.1.broadcast(&shape[..]).unwrap().to_owned();
        for _ in 0..numbers.below(24) {
            let next = match numbers.below(3) {
                0 => {
                    let number = numbers.below(100) as i32;
                    (Expr::scalar(number), ArrayD::from_elem(IxDyn(&[]), number))
                }
                _ => array(&ctx, &mut numbers, &shape),
            };
            sum = combined(&mut numbers, sum, next, &shape);
        }
        let whole = ctx.zeros::<i32>(&*shape).unwrap();
        let (expr, host) = (sum.0 + &whole, sum.1);
        let axis = numbers.below(shape.len());
        let (totals, largest) = (expr.sum(axis), expr.max(..));
        let (places, are_set) = (expr.argmax(axis), expr.any(axis));
        let refusals = [totals.as_ref().err(), largest.as_ref().err(), places.as_ref().err(), are_set.as_ref().err()];
        let values = match expr.eval() {
            Ok(values) => values,
            Err(error) => {
                let error_text = error.to_string();
                assert!(
                    ["more than the", "that a kernel"].iter().all(|part| error_text.contains(part)),
                    "{error_text}"
                );
                for refused in refusals {
                    assert_eq!(refused.map(ToString::to_string), Some(&error_text).cloned(), "{program}");
                }
                n_refused += 1;
                continue;
            }
        };
        let refused: Vec<_> = refusals.into_iter().flatten().map(ToString::to_string).collect();
        assert!(refused.is_empty(), "{program}: {refused:?}");
        assert_eq!(values.copy_to_host().unwrap(), host, "{program}");
        let lanes = || host.lanes(Axis(axis)).into_iter().collect::<Vec<_>>();
        let expected: Vec<i64> = lanes().iter().map(|lane| lane.iter().map(|&x| i64::from(x)).sum()).collect();
        assert_eq!(contents(&totals.unwrap()), expected, "{program}");
        assert_eq!(largest.unwrap().item().unwrap(), *host.iter().max().unwrap(), "{program}");
        let first = |lane: &ndarray::ArrayView1<'_, i32>| {
            let largest = lane.iter().max().unwrap();
            lane.iter().position(|x| x == largest).unwrap() as i64
        };
        assert_eq!(contents(&places.unwrap()), lanes().iter().map(first).collect::<Vec<_>>(), "{program}");
        let any: Vec<bool> = contents(&are_set.unwrap()).into_iter().map(bool::from).collect();
        assert_eq!(any, lanes().iter().map(|lane| lane.iter().any(|&x| x != 0)).collect::<Vec<_>>(), "{program}");
    }
    eprintln!("{n_refused} of {n} expressions have too many parameters");
}
