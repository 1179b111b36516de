//! Reductions that are refused, and the streams of others. What they compute is checked in `crates/checks`.

use vkarray::array::Bool;
use vkarray::prelude::*;
use vkarray::primitives::ReductionKernel;

use crate::fixture::{Fixture, contents, with_limits};

#[test]
fn refused_reductions_name_what_is_wrong() {
    let ctx = Fixture::open();
    let empty = ctx.zeros::<f32>([2, 0]).unwrap();
    assert_eq!(empty.max(1).unwrap_err().to_string(), "max of no elements, along axes of shape (2, 0), has no value");
    assert_eq!(empty.max(0).unwrap().shape(), [0]);
    assert_eq!(contents(&empty.sum(1).unwrap()), [0.0; 2]);
    assert_eq!(contents(&empty.all(1).unwrap()).into_iter().map(bool::from).collect::<Vec<_>>(), [true; 2]);
    assert!(empty.sum(2).is_err() && empty.sum([0, 0]).is_err());
    assert!(empty.item().is_err());
    let _: DeviceNDArray<Bool> = empty.any(..).unwrap();
}

#[test]
fn a_reduction_runs_on_its_stream() {
    let ctx = Fixture::open();
    let stream = ctx.stream().unwrap();
    let x = ctx.zeros::<i32>([50, 30]).unwrap();
    for round in 1..10 {
        (&x + 1).on(&stream).assign_to(&x).unwrap();
        assert_eq!(x.on(&stream).sum(..).unwrap().item().unwrap(), 1500 * round);
        assert_eq!(x.max(0).unwrap().on(&stream).sum(..).unwrap().item().unwrap(), 30 * round);
    }
}

/// The device binds 64 KiB at once, so most of these arrays are reduced in many parts.
#[test]
fn arrays_longer_than_a_bound_range_are_reduced_in_parts() {
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| assert_reduced_in_parts(&ctx));
}

fn assert_reduced_in_parts(ctx: &Context) {
    for shape in [[1, 70_001], [7, 10_007], [257, 131]] {
        let host: Vec<f32> = (0..shape[0] * shape[1]).map(|i| (i * 7919 % 101) as f32 - 50.0).collect();
        let x = ctx.shaped_to_device(&host, shape).unwrap();
        for view in [x.clone(), x.t(), x.flip(None).unwrap()] {
            let host = view.copy_to_host().unwrap();
            for axis in [0, 1] {
                let lanes = || host.lanes(ndarray::Axis(axis)).into_iter();
                let sums: Vec<f32> = lanes().map(|lane| lane.sum()).collect();
                let least: Vec<f32> = lanes().map(|lane| lane.iter().copied().fold(f32::MAX, f32::min)).collect();
                let counts: Vec<i64> = lanes().map(|lane| lane.iter().filter(|x| **x > 30.0).count() as i64).collect();
                let axis = axis.cast_signed();
                assert_eq!(contents(&view.sum(keepdims(axis)).unwrap()), sums, "{shape:?} {axis}");
                assert_eq!(contents(&view.min(axis).unwrap()), least, "{shape:?} {axis}");
                let any = contents(&view.greater(48.0).any(axis).unwrap());
                let expected = lanes().map(|lane| lane.iter().any(|&x| x > 48.0).into());
                assert_eq!(any, expected.collect::<Vec<Bool>>(), "{shape:?} {axis}");
                if ctx.info().features.shader_int64 {
                    let found = view.greater(30.0).count_nonzero(axis).unwrap();
                    assert_eq!(contents(&found), counts, "{shape:?} {axis}");
                }
            }
            assert_eq!(view.sum(..).unwrap().item().unwrap(), host.sum());
            let largest = ReductionKernel::new("abs(x)", "max(a, b)", "a + 1.0", "0.0");
            assert_eq!(largest.arg("x", &view).reduce::<f32>(..).unwrap().item().unwrap(), 51.0);
        }
    }
    let x = ctx.zeros::<f32>([40_000, 3]).unwrap();
    assert_eq!(contents(&x.argmax(1).unwrap()), [0; 40_000]);
    let error = x.argmax(0).unwrap_err().to_string();
    assert!(error.contains("bytes of one array, more than the 65536"), "{error}");
}
