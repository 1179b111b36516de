//! Writes of elements by index, beside other writes.

use std::fmt::Debug;
use std::thread;

use vkarray::array::{Bool, DType, Element, Index};
use vkarray::prelude::*;
use vkarray::primitives::IndexMode;

use crate::fixture::{Fixture, contents};

/// Indices and values.
type Arguments<T> = (DeviceNDArray<i32>, DeviceNDArray<T>);

/// Puts into the first element of a view of 1001 elements while another thread writes element 500, which must keep that
/// value.
fn assert_put_keeps<T: Element + PartialEq + Debug>(
    of: fn(u8) -> T,
    view: fn(&DeviceNDArray<T>) -> DeviceNDArray<T>,
    arguments: fn(&DeviceNDArray<T>) -> Option<Arguments<T>>,
) {
    let fixture = Fixture::open();
    let x = fixture.slice_to_device(&[of(0); 1001]).unwrap();
    let target = view(&x);
    let own = || (fixture.slice_to_device(&[0]).unwrap(), fixture.slice_to_device(&[of(7)]).unwrap());
    let (indices, values) = arguments(&x).unwrap_or_else(own);
    thread::scope(|scope| {
        let stream = fixture.stream().unwrap();
        let (target, indices, values) = (&target, &indices, &values);
        let others = scope.spawn(move || {
            for _ in 0..100 {
                target.on(&stream).put(indices, values).unwrap();
            }
        });
        let mut value = 0_u8;
        while !others.is_finished() {
            value = value % 100 + 1;
            x.set([500], of(value)).unwrap();
            assert_eq!(x.get([500]).unwrap(), of(value));
        }
        others.join().unwrap();
    });
    assert_eq!(contents(&target)[0], contents(&values)[0]);
}

#[test]
fn put_keeps_what_others_write_meanwhile() {
    assert_put_keeps::<i32>(i32::from, DeviceNDArray::clone, |_| None);
    assert_put_keeps::<i32>(i32::from, |x| x.slice(s![1..]).unwrap(), |_| None);
    assert_put_keeps::<i32>(i32::from, |x| x.slice(s![..;2]).unwrap(), |_| None);
    assert_put_keeps::<f64>(f64::from, |x| x.flip(None).unwrap(), |_| None);
}

#[test]
fn put_of_parts_of_words_keeps_what_others_write_meanwhile() {
    assert_put_keeps::<u8>(|x| x, DeviceNDArray::clone, |_| None);
    assert_put_keeps::<u8>(|x| x, |x| x.slice(s![499..;-3]).unwrap(), |_| None);
    assert_put_keeps::<u16>(u16::from, |x| x.slice(s![3..]).unwrap(), |_| None);
}

#[test]
fn put_of_its_own_memory_keeps_what_others_write_meanwhile() {
    let own = |x: &DeviceNDArray<i32>| Some((x.slice(s![1000..]).unwrap(), x.slice(s![999..1000]).unwrap()));
    assert_put_keeps::<i32>(i32::from, DeviceNDArray::clone, own);
}

#[test]
fn put_under_a_mask_keeps_what_others_write_meanwhile() {
    let fixture = Fixture::open();
    let x = fixture.zeros::<i8>([1001]).unwrap();
    let mut flags = vec![Bool::from(false); 1001];
    flags[3] = true.into();
    let mask = fixture.slice_to_device(&flags).unwrap();
    thread::scope(|scope| {
        let stream = fixture.stream().unwrap();
        let (x, mask, seven) = (&x, &mask, fixture.full([1], 7_i8).unwrap());
        let others = scope.spawn(move || {
            for _ in 0..50 {
                x.on(&stream).put_mask(mask, &seven).unwrap();
            }
        });
        let mut value = 0_i8;
        while !others.is_finished() {
            value = value % 100 + 1;
            x.set([500], value).unwrap();
            assert_eq!(x.get([500]).unwrap(), value);
        }
        others.join().unwrap();
    });
    assert_eq!(x.get([3]).unwrap(), 7);
}

/// The view has more loops than the kernel has: no two of its axes follow each other in memory.
#[test]
fn put_writes_to_views_of_many_axes() {
    let fixture = Fixture::open();
    let x = fixture.zeros::<i16>(vec![3; 10]).unwrap();
    let view = x.slice(vec![Index::stepped(.., 2); 10]).unwrap();
    let values: Vec<i16> = (0..1024).step_by(5).map(|place| place + 1).collect();
    let places: Vec<i32> = values.iter().map(|&value| i32::from(value) - 1).collect();
    view.put(&fixture.slice_to_device(&places).unwrap(), &fixture.slice_to_device(&values).unwrap()).unwrap();
    let expected: Vec<i16> = (0..1024).map(|place| if place % 5 == 0 { place + 1 } else { 0 }).collect();
    assert_eq!(contents(&view), expected);
    let sum = |x: &DeviceNDArray<i16>| x.sum(..).unwrap().item().unwrap();
    assert_eq!(sum(&x), sum(&view));
}

/// Every mode of indices, records of three bytes, read-only arrays.
#[test]
fn put_takes_every_element_and_mode() {
    #[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C)]
    struct Odd([u8; 3]);
    impl Element for Odd {
        const DTYPE: DType = DType::record::<Self>();
    }
    let fixture = Fixture::open();
    let x = fixture.slice_to_device(&[Odd([0; 3]); 9]).unwrap();
    let indices = fixture.slice_to_device(&[-1_i64, 2, 11]).unwrap();
    let values: Vec<_> = (1..4).map(|i| Odd([i, 10 * i, 100])).collect();
    let on_device = fixture.slice_to_device(&values).unwrap();
    x.slice(s![1..]).unwrap().put_with_mode(&indices, &on_device, IndexMode::Wrap).unwrap();
    let mut expected = [Odd([0; 3]); 9];
    [expected[8], expected[3], expected[4]] = [values[0], values[1], values[2]];
    assert_eq!(contents(&x), expected);
    x.slice(s![..;-1]).unwrap().put_with_mode(&indices, &on_device, IndexMode::Clip).unwrap();
    [expected[8], expected[6], expected[0]] = [values[0], values[1], values[2]];
    assert_eq!(contents(&x), expected);
    let shared = fixture.zeros::<i32>([1]).unwrap().broadcast_to([3]).unwrap();
    let one = fixture.slice_to_device(&[1]).unwrap();
    assert!(shared.put(&one, &one).is_err());
}

#[test]
fn put_takes_indices_and_values_of_the_same_memory() {
    let fixture = Fixture::open();
    let x = fixture.slice_to_device(&[3, 2, 1, 0]).unwrap();
    x.put(&x, &x.slice(s![1..3]).unwrap()).unwrap();
    assert_eq!(contents(&x), [1, 2, 1, 2]);
}
