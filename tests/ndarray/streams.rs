//! Arrays with a stream: what keeps it, and where the work of each function runs.

use crate::fixture::Fixture;
use vkarray::array::{IntoExpr, Order};
use vkarray::prelude::*;
use vkarray::primitives::{Rng, concat, stack};

#[test]
fn views_and_expressions_keep_the_stream_and_results_do_not() {
    let ctx = Fixture::open();
    let (stream, other) = (ctx.stream().unwrap(), ctx.stream().unwrap());
    let array = ctx.arange(0, 12, 1).unwrap().reshape([3, 4]).unwrap();
    let x = array.on(&stream);
    assert_ne!(stream, other);
    assert_eq!((array.stream(), x.on(&other).stream()), (ctx.default_stream(), &other));
    let views = [
        x.clone(),
        x.t(),
        x.slice(s![1.., ..;2]).unwrap(),
        x.reshape([12]).unwrap(),
        x.broadcast_to([2, 3, 4]).unwrap(),
        x.slice_axis(0, 1).unwrap(),
        x.view::<i32>().unwrap(),
        x.to_contiguous(Order::C).unwrap(),
        x.t().to_contiguous(Order::C).unwrap(), // A copy, since there is no view.
        x.t().reshape_copy([12], Order::C).unwrap(),
    ];
    for (i, view) in views.iter().enumerate() {
        assert_eq!(view.stream(), &stream, "view {i}");
    }
    assert_eq!((&x + 1).stream(), Some(&stream));
    assert_eq!((&array + &x).stream(), Some(&stream));
    assert_eq!((&array).into_expr().stream(), None);
    let results = [
        x.copy().unwrap(),
        x.astype::<i32>().unwrap(),
        x.sort(-1).unwrap(),
        x.roll(1, 0).unwrap(),
        x.matmul(&x.t()).unwrap(),
        (&x + 1).eval().unwrap(),
        x.max(0).unwrap(),
        concat(&[&x, &array], 0).unwrap(),
    ];
    for (i, result) in results.iter().enumerate() {
        assert_eq!(result.stream(), ctx.default_stream(), "result {i}");
    }
}

#[test]
fn all_work_of_a_function_runs_on_the_stream_of_its_array() {
    let ctx = Fixture::open();
    let stream = ctx.stream().unwrap();
    let x = ctx.arange(0.0_f32, 6000.0, 1.0).unwrap().reshape([60, 100]).unwrap();
    let (row, mask) = (x.slice(s![0]).unwrap().copy().unwrap(), x.greater(9.0).eval().unwrap());
    let indices = ctx.slice_to_device(&[3_u32, 1, 2]).unwrap();
    let (on, target) = (x.on(&stream), x.copy().unwrap().on(&stream));
    type Function<'a> = (&'static str, &'a dyn Fn());
    let functions: &[Function<'_>] = &[
        ("fill", &|| target.fill(1.0).unwrap()),
        ("copy", &|| drop(on.copy().unwrap())),
        ("astype", &|| drop(on.astype::<i32>().unwrap())),
        ("to_contiguous", &|| drop(on.t().to_contiguous(Order::C).unwrap())),
        ("eval", &|| drop((&on + &row).eval().unwrap())),
        ("assign_to", &|| (&on * 1.0).assign_to(&x).unwrap()),
        ("sum", &|| drop(on.sum(0).unwrap())),
        ("argmax", &|| drop(on.argmax(1).unwrap())),
        ("std", &|| drop(on.std(..).unwrap())),
        ("median", &|| drop(on.median(1).unwrap())),
        ("cumulative_sum", &|| drop(on.cumulative_sum(0).unwrap())),
        ("take", &|| drop(on.take(&indices, 0).unwrap())),
        ("put", &|| on.put(&indices, &row).unwrap()),
        ("compact", &|| drop(on.compact(&mask).unwrap())),
        ("nonzero", &|| drop(on.nonzero().unwrap())),
        ("sort", &|| drop(on.sort(1).unwrap())),
        ("argsort", &|| drop(on.argsort(0).unwrap())),
        ("searchsorted", &|| {
            drop(row.on(&stream).searchsorted(&x.slice(s![1]).unwrap(), vkarray::primitives::Side::Left).unwrap());
        }),
        ("unique_all", &|| drop(on.unique_all().unwrap())),
        ("histogram", &|| drop(on.histogram(10, 0.0..=100.0).unwrap())),
        ("matmul", &|| drop(on.matmul(&x.t()).unwrap())),
        ("tensordot", &|| drop(on.tensordot(&x, [0], [0]).unwrap())),
        ("tril", &|| drop(on.tril(0).unwrap())),
        ("concat", &|| drop(concat(&[&on, &x], 1).unwrap())),
        ("stack", &|| drop(stack(&[&on, &x], 0).unwrap())),
        ("tile", &|| drop(on.tile(&[2, 2]).unwrap())),
        ("repeat", &|| drop(on.repeat(2, 0).unwrap())),
        ("roll", &|| drop(on.roll(3, 1).unwrap())),
        ("diff", &|| drop(on.diff(1, 0).unwrap())),
        ("fill_uniform", &|| Rng::philox(1).fill_uniform(&target).unwrap()),
        ("permutation", &|| drop(Rng::philox(1).permutation(&on).unwrap())),
        ("choice", &|| drop(Rng::philox(1).choice(&on, 5).unwrap())),
    ];
    let recorded = || [&stream, ctx.default_stream()].map(|stream| stream.point().unwrap().value());
    for (name, function) in functions {
        // Work of one batch has one point.
        stream.synchronize().unwrap();
        ctx.default_stream().synchronize().unwrap();
        let before = recorded();
        function();
        let after = recorded();
        assert!(after[0] > before[0], "{name} records nothing on the stream of its array");
        assert_eq!(after[1], before[1], "{name} records work on the default stream");
    }
}
