//! Reductions that are refused, and the streams of others. What they compute is checked in `crates/checks`.

use vkarray::array::Bool;
use vkarray::prelude::*;

use crate::fixture::{Fixture, contents};

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
