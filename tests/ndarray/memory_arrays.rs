//! Memory objects and arrays as each other: the array interface, kernel arguments, arrays over blocks.

use std::iter;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use ::ndarray::{Array2, ArrayD, Axis, Slice, arr1};
use vkarray::array::MirroredArray;
use vkarray::array::{Layout, LayoutError};
use vkarray::interop::{ArrayMemory, AsDeviceArray, InterfaceError};
use vkarray::kernel::{AsArg, Error as KernelError, Mismatch};
use vkarray::memory::usm::{DeviceMemory, HostMemory, SharedMemory, UsmKind, UsmMemory};
use vkarray::memory::{Error as MemoryError, HostOptions, MemoryKind};
use vkarray::{Context, DeviceNDArray, Error, Graph, Groups, Index, Order, s};

use super::counted;
use crate::fixture::kernels::{mix, step, stepped};
use crate::fixture::{Fixture, contents};

/// Values written through memory of this kind are read through arrays of it, and the reverse.
fn shares<K: UsmKind>(ctx: &Context) {
    let memory = UsmMemory::<K>::new(ctx, 40).unwrap();
    memory.memset(0).unwrap();
    let part = memory.view(8..32).unwrap();
    let interface = part.device_array_interface().unwrap();
    assert_eq!((interface.shape.as_slice(), interface.typestr.as_str()), (&[24][..], "|u1"));
    assert_eq!((interface.offset, interface.strides, interface.read_only), (8, None, false));
    assert!(ctx.is_device_array(&part));
    let bytes = ctx.as_device_array::<u8, _>(part.clone()).unwrap();
    bytes.fill(1).unwrap();
    let words = part.clone().into_array::<u32>(ctx).unwrap();
    assert_eq!((words.shape(), words.offset()), (&[6][..], 2));
    assert_eq!(contents(&words), [0x0101_0101; 6]);
    words.slice([Index::from(1..2)]).unwrap().fill(7).unwrap();
    let mut expected = [0; 40];
    expected[8..32].fill(1);
    expected[12..16].copy_from_slice(&7_u32.to_ne_bytes());
    assert_eq!(memory.to_bytes().unwrap(), expected);
    let again = UsmMemory::<K>::from_array(&words.slice([Index::from(1..3)]).unwrap()).unwrap();
    assert_eq!((again.nbytes(), again.to_bytes().unwrap()), (8, expected[12..20].to_vec()));
    assert!(again.reference().is_some() && Arc::ptr_eq(&again.block().unwrap().0, &memory.block().unwrap().0));
    // The array keeps the allocation that the memory object has freed.
    memory.free().unwrap();
    assert!(matches!(part.device_array_interface(), Err(Error::Memory(MemoryError::UsedAfterFree { nbytes: 24 }))));
    assert!(!ctx.is_device_array(&part));
    assert_eq!(contents(&words)[..2], [0x0101_0101, 7]);
}

#[test]
fn memory_objects_copy_from_anything_with_an_interface_or_bytes() {
    let fixture = Fixture::open();
    let ctx = &*fixture;
    let x = ctx.to_device(&Array2::from_shape_fn((3, 4), |(i, j)| u8::try_from(10 * i + j).unwrap())).unwrap();
    let memory = HostMemory::new(ctx, 14).unwrap();
    memory.copy_from_host([9; 14]).unwrap();
    memory.copy_from_interface(ctx, &x.t().read_only()).unwrap(); // Any order without gaps, in the order of memory.
    assert_eq!(memory.to_bytes().unwrap(), [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 9, 9]);
    memory.copy_from_host(vec![5, 6]).unwrap();
    memory.copy_from_host("").unwrap();
    let start = memory.view(0..4).unwrap();
    memory.view(1..5).unwrap().copy_from_interface(ctx, &start).unwrap(); // The bytes overlap.
    memory.view(6..8).unwrap().copy_from_interface(ctx, &Arc::new(x.slice(s![2, ..2]).unwrap())).unwrap();
    let expected = [5, 5, 6, 2, 3, 11, 20, 21, 20, 21, 22, 23, 9, 9];
    assert_eq!(memory.to_bytes().unwrap(), expected);

    let refused = start.copy_from_interface(ctx, &x).unwrap_err();
    assert_eq!(refused.to_string(), "12 bytes do not fit into 4");
    let gaps = memory.copy_from_interface(ctx, &x.slice(s![.., ..2]).unwrap()).unwrap_err();
    assert!(matches!(gaps, Error::Layout(_)), "{gaps}");
    let block = x.block();
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    let reversed = memory.copy_from_block(block, 8..4);
    assert!(reversed.is_err() && memory.copy_from_block(block, 8..20).is_err());
    let freed = DeviceMemory::new(ctx, 4).unwrap();
    freed.free().unwrap();
    assert!(memory.copy_from_interface(ctx, &freed).is_err() && freed.copy_from_interface(ctx, &x).is_err());
    assert_eq!(memory.to_bytes().unwrap(), expected);
}

#[test]
fn memory_objects_and_arrays_share_memory() {
    let fixture = Fixture::open();
    shares::<vkarray::memory::usm::OnDevice>(&fixture);
    shares::<vkarray::memory::usm::OnHost>(&fixture);
    if SharedMemory::new(&*fixture, 1).is_ok() {
        shares::<vkarray::memory::usm::OnBoth>(&fixture);
    }
}

#[test]
fn memory_of_another_kind_layout_or_device_is_refused_or_copied() {
    let fixture = Fixture::open();
    let (ctx, other) = (&*fixture, Fixture::open());
    let array = ctx.to_device(&counted(&[4, 6])).unwrap();
    let bytes: Vec<u8> = contents(&array).iter().flat_map(|value| value.to_ne_bytes()).collect();
    let refused = HostMemory::from_array(&array).unwrap_err();
    assert!(matches!(refused, Error::Memory(MemoryError::OtherKind { held: MemoryKind::Device, .. })), "{refused}");
    assert_eq!(HostMemory::copy_of_interface(ctx, &array).unwrap().to_bytes().unwrap(), bytes);
    assert_eq!(DeviceMemory::from_array(&array.transpose(None).unwrap()).unwrap().to_bytes().unwrap(), bytes);
    let gaps = array.slice([Index::from(..), Index::stepped(.., 2)]).unwrap();
    assert!(matches!(DeviceMemory::from_array(&gaps), Err(Error::Layout(LayoutError::NeedsCopy { .. }))));
    assert!(matches!(DeviceMemory::copy_of_interface(ctx, &gaps), Err(Error::Layout(_))));
    let constant = array.clone().read_only();
    assert!(matches!(DeviceMemory::from_array(&constant), Err(Error::ReadOnly { .. })));
    assert_eq!(DeviceMemory::copy_of_interface(ctx, &constant).unwrap().to_bytes().unwrap(), bytes);
    let refused = DeviceMemory::from_interface(&other, array).unwrap_err();
    assert!(matches!(refused, Error::Interface(InterfaceError::ForeignDevice { .. })), "{refused}");
    let memory = DeviceMemory::new(ctx, 42).unwrap();
    let misaligned = memory.view(2..10).unwrap().into_array::<u64>(ctx).unwrap_err();
    assert!(matches!(misaligned, Error::Interface(InterfaceError::Misaligned { bytes: 2, itemsize: 8 })));
    assert!(matches!(memory.clone().into_array::<u32>(ctx), Err(Error::Interface(_))), "42 bytes");
    let refused = memory.into_array::<u8>(&other).unwrap_err();
    assert!(matches!(refused, Error::Memory(MemoryError::ForeignDevice { .. })), "{refused}");
}

fn steps_on<K: UsmKind>(ctx: &Context, range: std::ops::Range<u64>) {
    let step = step(ctx);
    let memory = UsmMemory::<K>::new(ctx, 4200).unwrap();
    memory.fill(&[5, 0, 0, 0]).unwrap();
    let part = memory.view(range.clone()).unwrap();
    let (n, stream) = ((range.end - range.start) / 4, ctx.stream().unwrap());
    let groups = || Groups::covering(usize::try_from(n).unwrap());
    step.launch(groups(), (&part, 1_u32)).unwrap();
    step.dispatch(&stream, groups(), [("add", 2_u32.as_arg()), ("x", part.as_arg())]).unwrap();
    let (graph, _) = Graph::record(&stream, |graph| step.record(graph, groups(), (&part, 3_u32))).unwrap();
    let value = stepped(stepped(stepped(5, 1), 2), 3);
    drop(part);
    graph.replay(&stream).unwrap();
    let seen = memory.to_bytes().unwrap();
    for (at, word) in (0..).step_by(4).zip(seen.chunks_exact(4)) {
        let expected = if range.contains(&at) { value } else { 5 };
        assert_eq!(u32::from_ne_bytes(word.try_into().unwrap()), expected, "byte {at} with {range:?}");
    }
    // The graph keeps the memory that is freed before the replay.
    memory.free().unwrap();
    graph.replay(&stream).unwrap();
    stream.synchronize().unwrap();
    let refused = step.launch(groups(), (&memory, 1_u32)).unwrap_err();
    assert!(matches!(refused, KernelError::Memory(MemoryError::UsedAfterFree { nbytes: 4200 })), "{refused}");
    assert!(Graph::record(&stream, |graph| step.record(graph, groups(), (&memory, 1_u32))).is_err());
}

#[test]
fn kernels_take_memory_objects() {
    let fixture = Fixture::open();
    // Ranges of the whole memory, of one word, and of parts whose offset the device cannot bind, which are copied and
    // copied back.
    for range in [0..4200, 0..4, 256..512, 4..4200, 12..16] {
        steps_on::<vkarray::memory::usm::OnDevice>(&fixture, range.clone());
        steps_on::<vkarray::memory::usm::OnHost>(&fixture, range.clone());
        if SharedMemory::new(&*fixture, 1).is_ok() {
            steps_on::<vkarray::memory::usm::OnBoth>(&fixture, range);
        }
    }
    let memory = DeviceMemory::new(&*fixture, 10).unwrap();
    let refused = step(&fixture).launch(Groups::covering(2), (&memory, 1_u32)).unwrap_err();
    let KernelError::Argument { problem, .. } = refused else { panic!("{refused}") };
    assert!(matches!(*problem, Mismatch::PartialElement { given: 10, rest: 2, .. }), "{problem:?}");
    let (left, right) = (memory.view(0..8).unwrap(), memory.view(4..8).unwrap());
    let aliased = mix(&fixture).launch(Groups::covering(1), (&right, &left, 1_u32));
    assert!(matches!(aliased, Err(KernelError::Aliased { .. })), "{aliased:?}");
}

#[test]
fn a_mirrored_array_has_the_writes_of_both_sides() {
    let fixture = Fixture::open();
    let ctx = &*fixture;
    let pair = ctx.mirrored_pair::<u32>([3, 11]).unwrap();
    assert!(!pair.is_shared());
    for array in [pair, ctx.mirrored_array([3, 11]).unwrap()] {
        array.write(|mut elements| elements.fill(4)).unwrap();
        assert_eq!(contents(array.array()), [4; 33]);
        step(ctx).launch(Groups::covering(33), (&array, 1_u32)).unwrap();
        assert_eq!(array.read(|elements| (elements[[2, 10]], elements.len())).unwrap(), (stepped(4, 1), 33));
        array.write(|mut elements| elements[[0, 1]] = 8).unwrap();
        array.array().slice([Index::from(1..)]).unwrap().fill(6).unwrap();
        assert_eq!(array.read(|elements| elements.sum()).unwrap(), 10 * stepped(4, 1) + 8 + 22 * 6);
    }
}

#[test]
fn a_mirrored_pair_has_what_replays_kept_handles_and_panics_wrote() {
    let fixture = Fixture::open();
    let (pair, stream) = (fixture.mirrored_pair::<u32>(33).unwrap(), fixture.stream().unwrap());
    pair.write(|mut elements| elements.fill(4)).unwrap();
    let first = |pair: &MirroredArray<u32>| pair.read(|elements| elements[[0]]).unwrap();
    let (graph, _) =
        Graph::record(&stream, |graph| step(&fixture).record(graph, Groups::covering(33), (&pair, 1_u32))).unwrap();
    let mut expected = first(&pair);
    for _ in 0..3 {
        graph.replay(&stream).unwrap();
        graph.replay(&stream).unwrap();
        expected = stepped(stepped(expected, 1), 1);
        assert_eq!(first(&pair), expected);
        graph.replay(&stream).unwrap();
        expected = stepped(expected, 1);
        pair.write(|mut elements| elements[[1]] = 0).unwrap();
        assert_eq!(first(&pair), expected, "a write of another element keeps what the replay wrote");
    }
    let kept = pair.array().slice(s![..2]).unwrap();
    for value in [7, 8] {
        kept.fill(value).unwrap();
        assert_eq!(first(&pair), value);
    }
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
        pair.write(|mut elements| {
            elements[[0]] = 9;
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!((contents(pair.array())[0], first(&pair)), (9, 9));
}

#[test]
fn a_mirrored_pair_is_read_by_one_thread_while_another_gives_it_work() {
    let fixture = Fixture::open();
    let pair = fixture.mirrored_pair::<u32>(33).unwrap();
    pair.write(|mut elements| elements.fill(0)).unwrap();
    let n_rounds = 300;
    let rounds = AtomicU32::new(0);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while rounds.load(Ordering::Relaxed) < n_rounds {
                let _ = pair.read(|elements| elements[[0]]);
            }
        });
        for round in 1..=n_rounds {
            pair.array().fill(round).unwrap();
            // The copy is refused while the other thread reads the elements on the host.
            let seen = iter::repeat_with(|| pair.read(|elements| elements[[32]])).find_map(Result::ok);
            assert_eq!(seen, Some(round));
            rounds.store(round, Ordering::Relaxed);
        }
        reader.join().unwrap();
    });
}

#[test]
fn arrays_have_the_strides_that_are_asked_for() {
    let fixture = Fixture::open();
    let host = counted(&[3, 5]);
    // Padded rows, padded columns, both backwards, one axis backwards, and elements that share memory.
    for (strides, n_elements) in [([8, 1], 21), ([1, 4], 19), ([-8, -1], 21), ([5, -1], 15), ([2, 1], 9)] {
        let array = fixture.device_array_with_strides::<i32>([3, 5], &strides).unwrap();
        assert_eq!((array.strides(), array.block().size()), (&strides[..], 4 * n_elements));
        if strides == [2, 1] {
            assert!(matches!(array.copy_from_host(&host), Err(Error::SharedElements { .. })));
            continue;
        }
        array.block().fill(fixture.default_stream(), 0xFFFF_FFFF).unwrap();
        array.copy_from_host(&host).unwrap();
        assert_eq!(array.copy_to_host().unwrap(), host, "{strides:?}");
        let all = Layout::contiguous(&[usize::try_from(n_elements).unwrap()], Order::C).unwrap();
        let all = contents(&DeviceNDArray::<i32>::from_block(&fixture, array.block(), all).unwrap());
        assert_eq!(all.iter().filter(|&&value| value == -1).count(), all.len() - 15, "gaps are not written");
    }
    assert!(matches!(fixture.device_array_with_strides::<i32>([3, 5], &[1]), Err(Error::Layout(_))));
    assert!(fixture.device_array_with_strides::<i32>([3, 5], &[isize::MAX, isize::MIN]).is_err());
    assert_eq!(fixture.device_array_with_strides::<i32>([3, 0], &[-7, 9]).unwrap().block().size(), 0);
}

#[test]
fn arrays_over_blocks_are_checked() {
    let fixture = Fixture::open();
    let base = fixture.to_device(&counted(&[4, 6])).unwrap();
    let layout = |strides: &[isize], offset| Layout::with_strides(&[4], strides, offset).unwrap();
    let from = |layout| DeviceNDArray::<i32>::from_block(&fixture, base.block(), layout);
    assert_eq!(contents(&from(layout(&[-7], 21)).unwrap()), [21, 14, 7, 0]);
    assert!(matches!(from(layout(&[7], 3)), Err(Error::Memory(MemoryError::OutOfBounds { .. }))));
    let bytes = DeviceNDArray::<u8>::from_block(&fixture, base.block(), layout(&[4], 4)).unwrap();
    assert_eq!(contents(&bytes), if cfg!(target_endian = "little") { [1, 2, 3, 4] } else { [0; 4] });
    let other = Fixture::open();
    let refused = DeviceNDArray::<i32>::from_block(&other, base.block(), layout(&[1], 0)).unwrap_err();
    assert!(matches!(refused, Error::Memory(MemoryError::ForeignDevice { .. })), "{refused}");
}

#[test]
fn arrays_like_host_arrays_have_their_order() {
    let fixture = Fixture::open();
    let c: ArrayD<i32> = counted(&[2, 3, 4]);
    let permuted = c.view().permuted_axes(vec![1, 2, 0]);
    let mut backwards = c.view();
    backwards.invert_axis(Axis(1));
    let repeated = c.slice_axis(Axis(0), Slice::from(..1)).into_owned();
    let repeated = repeated.broadcast(vec![5, 3, 4]).unwrap();
    for host in [c.view(), c.t(), permuted, backwards, repeated] {
        // The strides of NumPy's `empty_like`, by the rule for device arrays, which NumPy's recorded results test.
        let device = fixture.to_device(&host.as_standard_layout()).unwrap();
        let strides: Vec<isize> = host.strides().iter().map(|stride| stride.abs()).collect();
        let expected = Layout::with_strides(device.shape(), &strides, 0).unwrap().like();
        let options = HostOptions::default();
        let layouts = [
            fixture.device_array_like(&host).unwrap().layout().clone(),
            fixture.pinned_array_like(&host).unwrap().layout().clone(),
            fixture.mapped_array_like(&host, options).unwrap().layout().clone(),
            fixture.full_like_as(&host, 1_u8).unwrap().layout().clone(),
        ];
        assert!(layouts.iter().all(|layout| *layout == expected), "{layouts:?}, not {expected:?}");
        if let Ok(shared) = fixture.shared_array_like(&host) {
            assert_eq!(*shared.layout(), expected);
        }
    }
    let turned = Array2::<f32>::zeros([3, 2]);
    let f = fixture.mapped_array_like(&turned.t(), HostOptions::default()).unwrap();
    assert_eq!(f.strides(), [1, 2]);
    f.write_on_host().unwrap().view_mut().assign(&Array2::from_elem([2, 3], 2.5));
    assert_eq!(contents(&f), [2.5; 6]);
}

#[test]
fn repeated_axes_of_a_host_array_are_sent_once() {
    let fixture = Fixture::open();
    let row = arr1(&[1_i32, 2, 3]);
    let host = row.broadcast([4, 3]).unwrap();
    let array = fixture.to_device(&host).unwrap();
    assert_eq!((array.strides(), array.block().size()), (&[0, 1][..], 12));
    assert_eq!(array.copy_to_host().unwrap(), host.into_dyn());
    assert!(matches!(array.fill(0), Err(Error::SharedElements { .. })), "its elements share memory");
    array.to_contiguous(Order::C).unwrap().fill(0).unwrap();
    // An axis of one element is not repeated, nor is an axis of an array without elements.
    let column = ::ndarray::arr2(&[[0_i32], [1]]);
    let all = column.broadcast([5, 2, 3]).unwrap();
    let array = fixture.to_device(&all).unwrap();
    assert_eq!((array.strides(), array.block().size()), (&[0, 1, 0][..], 8));
    assert_eq!(array.copy_to_host().unwrap(), all.into_dyn());
    let none = row.slice(::ndarray::s![..0]).into_owned();
    assert_eq!(fixture.to_device(&none.broadcast([4, 0]).unwrap()).unwrap().shape(), [4, 0]);
}
