//! Views other than slices: broadcasts, inserted and removed axes, splits, other element types, iteration, and read-only
//! arrays.

use ::ndarray::{Axis, IxDyn, Slice};
use vkarray::kernel::Error as KernelError;
use vkarray::{Context, DeviceNDArray, Error, Groups, Source};
use vkarray_kernel::{DType, Mismatch};

use super::counted;
use crate::fixture::{Fixture, contents};

#[test]
fn broadcasts_equal_those_of_the_host() {
    let fixture = Fixture::open();
    let host = counted(&[3, 1, 4]);
    let device = fixture.to_device(&host).unwrap();
    for shape in [&[3, 1, 4][..], &[3, 5, 4], &[2, 3, 5, 4], &[1, 3, 0, 4]] {
        let view = device.broadcast_to(shape).unwrap();
        assert_eq!(view.copy_to_host().unwrap(), host.broadcast(IxDyn(shape)).unwrap(), "{shape:?}");
    }
    for shape in [&[3, 4][..], &[2, 1, 4], &[3, 1, 4, 1]] {
        assert!(matches!(device.broadcast_to(shape), Err(Error::Layout(_))), "{shape:?}");
    }
    // A slice of a repeated axis keeps the slice's length, and its index is checked; numba does neither.
    let repeated = device.broadcast_to([3, 5, 4]).unwrap();
    assert_eq!(repeated.slice(vkarray_ndarray::s![.., 1..3]).unwrap().shape(), [3, 2, 4]);
    assert!(repeated.index([0, 9]).is_err());
    assert!(matches!(repeated.copy_from_host(&counted(&[3, 5, 4])), Err(Error::SharedElements { .. })));
    assert_eq!(device.copy_to_host().unwrap(), host); // No element was written.
}

#[test]
fn axes_are_inserted_and_removed() {
    let fixture = Fixture::open();
    let host = counted(&[1, 3, 1, 4]);
    let device = fixture.to_device(&host).unwrap();
    let squeezed = device.squeeze(None).unwrap();
    assert_eq!(squeezed.copy_to_host().unwrap(), counted(&[3, 4]));
    assert_eq!(device.squeeze(Some(&[-2])).unwrap().shape(), [1, 3, 4]);
    assert!(device.squeeze(Some(&[1])).is_err());
    assert_eq!(squeezed.expand_dims([0, -2]).unwrap().copy_to_host().unwrap(), host);
    assert!(squeezed.expand_dims([4]).is_err());
    assert_eq!(device.swap_axes(1, -1).unwrap().copy_to_host().unwrap(), {
        let mut swapped = host.view();
        swapped.swap_axes(1, 3);
        swapped
    });
    let moved = device.move_axis([3], [0]).unwrap();
    assert_eq!(moved.copy_to_host().unwrap(), host.view().permuted_axes(IxDyn(&[3, 0, 1, 2])));
}

#[test]
fn splits_equal_those_of_the_host() {
    let fixture = Fixture::open();
    let host = counted(&[11]);
    let device = fixture.to_device(&host).unwrap();
    let lengths = |pieces: &[DeviceNDArray<i32>]| pieces.iter().map(DeviceNDArray::size).collect::<Vec<_>>();
    let pieces = device.split(4).unwrap();
    assert_eq!(lengths(&pieces), [4, 4, 3]);
    assert_eq!(pieces.iter().flat_map(contents).collect::<Vec<_>>(), contents(&device));
    assert!(device.split(0).is_err());
    assert_eq!(lengths(&device.array_split(4, 0).unwrap()), [3, 3, 3, 2]);
    assert_eq!(lengths(&device.split_at([2, -3], 0).unwrap()), [2, 6, 3]);
    let matrix = fixture.to_device(&counted(&[4, 6])).unwrap();
    let columns = matrix.array_split(2, 1).unwrap();
    assert_eq!(columns[1].copy_to_host().unwrap(), counted(&[4, 6]).slice_axis(Axis(1), Slice::from(3..)));
}

#[test]
fn indexing_all_axes_gives_an_array_without_axes() {
    let fixture = Fixture::open();
    let host = counted(&[3, 4]);
    let device = fixture.to_device(&host).unwrap();
    for row in -3..3_isize {
        for column in -4..4_isize {
            let at = [row.rem_euclid(3).cast_unsigned(), column.rem_euclid(4).cast_unsigned()];
            let element = device.index([row, column]).unwrap();
            assert_eq!((element.ndim(), contents(&element)), (0, vec![host[at]]), "{row} {column}");
        }
    }
    assert_eq!(device.index([-1]).unwrap().copy_to_host().unwrap(), host.index_axis(Axis(0), 2));
    assert_eq!(device.index(()).unwrap().copy_to_host().unwrap(), host);
    for index in [&[3][..], &[-4], &[0, 4], &[0, -5], &[0, 0, 0]] {
        assert!(matches!(device.index(index), Err(Error::Layout(_))), "{index:?}");
    }
}

#[test]
fn iteration_walks_the_first_axis() {
    let fixture = Fixture::open();
    let host = counted(&[4, 3]);
    let device = fixture.to_device(&host).unwrap();
    let rows: Vec<_> = device.outer_iter().unwrap().map(|row| contents(&row)).collect();
    assert_eq!(rows, host.outer_iter().map(|row| row.iter().copied().collect()).collect::<Vec<Vec<_>>>());
    assert_eq!(contents(&device.outer_iter().unwrap().next_back().unwrap()), [9, 10, 11]);
    assert_eq!(device.slice([(2..2).into()]).unwrap().outer_iter().unwrap().len(), 0);
    assert!(matches!(device.index([0, 0]).unwrap().outer_iter().map(|_| ()), Err(Error::NoAxis { .. })));
}

#[test]
fn views_of_another_element_type_have_the_same_bytes() {
    let fixture = Fixture::open();
    let host = counted(&[3, 4]).mapv(|value| i16::try_from(value * 1000).unwrap());
    let device = fixture.to_device(&host).unwrap();
    let pairs = device.view::<u32>().unwrap();
    assert_eq!(pairs.shape(), [3, 2]);
    let bytes: Vec<u8> = host.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let words: Vec<u32> = bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
    assert_eq!(contents(&pairs), words);
    assert_eq!(contents(&device.view::<u8>().unwrap()), bytes);
    assert_eq!(contents(&pairs.view::<i16>().unwrap()), host.iter().copied().collect::<Vec<_>>());
    let columns = device.slice(vkarray_ndarray::s![.., ..;2]).unwrap();
    assert_eq!(
        columns.view::<u16>().unwrap().copy_to_host().unwrap(),
        host.slice(::ndarray::s![.., ..;2]).mapv(i16::cast_unsigned).into_dyn()
    );
    // Views with gaps, rows that do not divide, and elements at odd offsets are refused.
    assert!(columns.view::<u32>().is_err());
    assert!(device.slice(vkarray_ndarray::s![.., ..3]).unwrap().view::<u32>().is_err());
    assert!(device.slice(vkarray_ndarray::s![.., 1..3]).unwrap().view::<u32>().is_err());
    assert!(device.index([0, 0]).unwrap().view::<u8>().is_err());
}

#[test]
fn work_that_writes_a_read_only_array_is_refused() {
    let fixture = Fixture::open();
    let shared = fixture.to_device(&counted(&[4])).unwrap();
    let frozen = shared.clone().read_only();
    assert!(shared.is_writable() && !frozen.is_writable());
    let views: Vec<(&str, DeviceNDArray<i32>)> = vec![
        ("itself", frozen.clone()),
        ("slice", frozen.slice(vkarray_ndarray::s![..]).unwrap()),
        ("reshape", frozen.reshape([2, 2]).unwrap()),
        ("transpose", frozen.transpose(None).unwrap()),
        ("view", frozen.view::<u32>().unwrap().view::<i32>().unwrap()),
        ("iteration", frozen.reshape([1, 4]).unwrap().outer_iter().unwrap().next().unwrap()),
        ("split", frozen.split(4).unwrap().remove(0)),
        ("axes", frozen.expand_dims([0]).unwrap().squeeze(None).unwrap()),
    ];
    for (name, view) in views {
        assert!(matches!(view.copy_from_host(&counted(view.shape())), Err(Error::ReadOnly { .. })), "{name}");
        assert!(refused_by_a_kernel(&fixture, &view), "{name}");
    }
    assert!(!refused_by_a_kernel(&fixture, &shared));
    assert_eq!(contents(&frozen), [0, 2, 4, 6]); // The other handle's write is visible, and is the only one.
}

#[test]
fn every_writing_method_refuses_a_read_only_array() {
    let fixture = Fixture::open();
    let host = counted(&[4]);
    let pinned = fixture.pinned_array::<i32>([4]).unwrap();
    pinned.copy_from_host(&host).unwrap();
    let frozen = pinned.clone().read_only();
    let other = fixture.to_device(&counted(&[4]).mapv(|value| -value)).unwrap();
    let mut registered = [5_i32; 4];
    let from_slice = fixture.register(&mut registered, |mut slice| slice.copy_to(0, &frozen)).unwrap();
    let refused = [
        ("copy_from_host", frozen.copy_from_host(&host)),
        ("copy_from_device", frozen.copy_from_device(&other)),
        ("assign", frozen.assign(&other.index([0]).unwrap())),
        ("fill", frozen.fill(7)),
        ("set", frozen.set([0], 7)),
        ("write_on_host", frozen.write_on_host().map(|_| ())),
        ("Registered::copy_to", from_slice),
    ];
    for (name, result) in refused {
        let error = result.expect_err(name);
        assert!(matches!(&error, Error::ReadOnly { dtype: DType::I32, shape } if *shape == [4]), "{name}: {error}");
    }
    assert_eq!(contents(&pinned), [0, 1, 2, 3]);
    // Reads are accepted, and so are writes to a copy.
    assert_eq!(frozen.read_on_host().unwrap().view(), host);
    let copy = frozen.astype::<f32>().unwrap();
    copy.fill(1.0).unwrap();
    assert!(copy.is_writable());
}

/// Runs a kernel that doubles the array.
fn refused_by_a_kernel(context: &Context, array: &DeviceNDArray<i32>) -> bool {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<i32>;
        @compute @workgroup_size(4) fn double(@builtin(local_invocation_index) i: u32) { x[i] *= 2; }";
    let kernel = context.kernel(Source::wgsl(text)).build().unwrap();
    match kernel.dispatch(context.default_stream(), Groups::exact([1, 1, 1]), (array,)) {
        Ok(_) => false,
        Err(KernelError::Argument { problem, .. }) if matches!(*problem, Mismatch::ReadOnly { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn axes_and_positions_are_numbers_of_any_usual_type() {
    let fixture = Fixture::open();
    let x = fixture.arange(0_i32, 24, 1).unwrap().reshape([2, 3, 4]).unwrap();
    let (last, negative) = (2_usize, -1_isize);
    let swapped = x.swap_axes(0, 2).unwrap();
    for same in [x.swap_axes(0_u32, last), x.swap_axes(0_usize, negative), x.swap_axes(last, 0_i32)] {
        assert_eq!(same.unwrap().layout(), swapped.layout());
    }
    let moved = x.move_axis(0, -1).unwrap();
    for same in [x.move_axis([0_u32], [2_i32]), x.move_axis([0_usize], vec![-1_isize])] {
        assert_eq!(same.unwrap().layout(), moved.layout());
    }
    assert_eq!(x.index(1_u32).unwrap().layout(), x.index([1_usize]).unwrap().layout());
    assert_eq!(x.expand_dims(last).unwrap().shape(), x.expand_dims([2_i32]).unwrap().shape());
    assert_eq!(x.split_at([1_usize], 1_u32).unwrap()[1].layout(), x.split_at(-2, -2).unwrap()[1].layout());
    assert_eq!(x.diagonal(0, 0_usize, -1).unwrap().layout(), x.diagonal(0, 0, 2_u32).unwrap().layout());
    let name = String::from("short_lived.wgsl");
    let source = vkarray::Source::wgsl("no shader").named(name.as_str());
    drop(name);
    assert_eq!(source.name(), "short_lived.wgsl");
}
