//! Writes of elements by index, beside other writes.

use std::thread;

use crate::fixture::{Fixture, contents};
use vkarray::prelude::*;

#[test]
fn put_keeps_what_others_write_meanwhile() {
    let fixture = Fixture::open();
    let x = fixture.zeros::<i32>([1000]).unwrap();
    let (indices, values) = (fixture.slice_to_device(&[0]).unwrap(), fixture.slice_to_device(&[7]).unwrap());
    thread::scope(|scope| {
        let stream = fixture.stream().unwrap();
        let (x, indices, values) = (&x, &indices, &values);
        let others = scope.spawn(move || {
            for _ in 0..100 {
                x.on(&stream).put(indices, values).unwrap();
            }
        });
        let mut value = 0;
        while !others.is_finished() {
            value += 1;
            x.set([500], value).unwrap();
            assert_eq!(x.get([500]).unwrap(), value);
        }
        others.join().unwrap();
    });
    assert_eq!(x.get([0]).unwrap(), 7);
}

#[test]
fn put_takes_indices_and_values_of_the_same_memory() {
    let fixture = Fixture::open();
    let x = fixture.slice_to_device(&[3, 2, 1, 0]).unwrap();
    x.put(&x, &x.slice(s![1..3]).unwrap()).unwrap();
    assert_eq!(contents(&x), [1, 2, 1, 2]);
}
