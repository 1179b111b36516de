//! Arrays are handles: clones and views share memory, and the last one frees it.

use vkarray::{Context, Index};

use super::counted;
use crate::fixture::kernels::{keep_busy, spin};
use crate::fixture::{Fixture, contents};

#[test]
fn a_view_keeps_the_memory_of_a_dropped_array() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[4, 6])).unwrap();
    let view = array.reshape([3, 8]).unwrap().slice([Index::At(1)]).unwrap();
    drop(array);
    // If the memory were free, one of these arrays would reuse it.
    let others: Vec<_> = (0..50).map(|_| fixture.full([24], -1_i32).unwrap()).collect();
    assert_eq!(contents(&view), (8..16).collect::<Vec<_>>());
    drop(others);
    fixture.allocator().flush().unwrap();
    assert!(fixture.allocator().usage().in_use >= 96);
    drop(view);
    fixture.allocator().flush().unwrap();
    assert_eq!(fixture.allocator().usage().in_use, 0);
}

#[test]
fn clones_share_memory_and_the_last_frees_it() {
    let fixture = Fixture::open();
    let array = fixture.zeros::<i32>([5]).unwrap();
    let clones: Vec<_> = (0..10).map(|_| array.clone()).collect();
    clones[3].copy_from_host(&counted(&[5])).unwrap();
    assert_eq!(contents(&array), [0, 1, 2, 3, 4]);
    drop(array);
    for clone in clones {
        fixture.allocator().flush().unwrap();
        assert!(fixture.allocator().usage().in_use > 0);
        assert_eq!(contents(&clone), [0, 1, 2, 3, 4]);
    }
    fixture.allocator().flush().unwrap();
    assert_eq!(fixture.allocator().usage().in_use, 0);
}

#[test]
fn an_array_keeps_its_context() {
    let fixture = Fixture::open();
    let array = {
        let ctx = Context::on(fixture.device()).unwrap();
        ctx.to_device(&counted(&[2, 2])).unwrap()
    };
    assert_eq!(array.copy_to_host().unwrap(), counted(&[2, 2]));
    assert_eq!(contents(&array.context().full([2], 3_u8).unwrap()), [3, 3]);
}

#[test]
fn debug_shows_an_array_without_waiting_for_its_work() {
    let fixture = Fixture::open();
    let array = fixture.zeros::<u32>([2, 3]).unwrap();
    keep_busy(fixture.default_stream(), &spin(&fixture), &array.reshape([6]).unwrap());
    let text = format!("{:?}", array.transpose(None).unwrap());
    assert!(!fixture.default_stream().query().unwrap(), "printing waited for the device");
    let name = &fixture.info().name;
    let expected = format!("DeviceNDArray {{ dtype: u32, shape: [3, 2], strides: [1, 3], device: {name:?}, .. }}");
    assert_eq!(text, expected);
}
