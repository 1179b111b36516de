//! Exchange of arrays: the device array interface, DLPack, files, serde.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ::ndarray::{ArrayD, arr2};
use serde::de::DeserializeSeed;
use vkarray::interop::{AsDeviceArray, DeviceArrayInterface, HostTensor, InterfaceError, Tensor, TensorError};
use vkarray::memory::Block;
use vkarray::primitives::Evaluate;
use vkarray::stream::Point;
use vkarray::{DeviceNDArray, Element, Error, Groups, Index, Order, Result};

use super::counted;
use crate::fixture::host_semaphore::HostSemaphore;
use crate::fixture::kernels::{step, stepped};
use crate::fixture::{Fixture, contents};

/// An array of another library, in memory of this library.
struct Foreign {
    array: DeviceNDArray<i32>,
    ready: Option<Point>,
    is_gone: Arc<AtomicBool>,
    change: fn(&mut DeviceArrayInterface),
}

impl Foreign {
    fn new(array: DeviceNDArray<i32>) -> Self {
        Self { array, ready: None, is_gone: Arc::default(), change: |_| {} }
    }
}

impl AsDeviceArray for Foreign {
    fn device_array_interface(&self) -> Result<DeviceArrayInterface> {
        let mut interface = self.array.device_array_interface()?;
        (self.change)(&mut interface);
        Ok(interface)
    }

    fn memory(&self) -> Result<Arc<Block>> {
        Ok(Arc::clone(self.array.block()))
    }

    fn ready(&self) -> Option<Point> {
        self.ready.clone()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }
}

/// A whole array; an array packed in another order, one with gaps, one reversed, one repeated, one of one element, and
/// an empty one.
fn views<T: Element>(base: &DeviceNDArray<T>) -> [DeviceNDArray<T>; 6] {
    [
        base.clone(),
        base.transpose(None).unwrap(),
        base.slice([Index::stepped(.., -2), Index::from(1..5)]).unwrap(),
        base.index([2]).unwrap().broadcast_to([3, 6]).unwrap(), // numba calls this dense.
        base.index([1, 1]).unwrap(),
        base.slice([Index::from(4..)]).unwrap(),
    ]
}

/// Describes the larger of two arrays, and returns the memory of the two in turn.
struct Fickle {
    arrays: [DeviceNDArray<i32>; 2],
    n_asked: AtomicUsize,
}

impl AsDeviceArray for Fickle {
    fn device_array_interface(&self) -> Result<DeviceArrayInterface> {
        self.arrays[0].device_array_interface()
    }

    fn memory(&self) -> Result<Arc<Block>> {
        Ok(Arc::clone(self.arrays[self.n_asked.fetch_add(1, Ordering::Relaxed) % 2].block()))
    }
}

#[test]
fn the_memory_of_a_foreign_array_is_read_once() {
    let fixture = Fixture::open();
    let (large, small) = (fixture.full([16_384], 1_i32).unwrap(), fixture.full([64], 2_i32).unwrap());
    let fickle = |n_asked| Fickle { arrays: [large.clone(), small.clone()], n_asked: AtomicUsize::new(n_asked) };
    let taken = fixture.as_device_array::<i32, _>(fickle(0)).unwrap();
    assert!(Arc::ptr_eq(taken.block(), large.block()), "an array of 16,384 elements over {:?}", taken.block());
    taken.fill(3).unwrap();
    assert_eq!((contents(&small), contents(&large)), (vec![2; 64], vec![3; 16_384]));
    // The other array's memory is returned first. Where both arrays lie in one buffer, only the size distinguishes
    // them.
    let refused = fixture.as_device_array::<i32, _>(fickle(1)).unwrap_err();
    assert!(
        matches!(
            refused,
            Error::Interface(
                InterfaceError::OutOfBounds { end: 65_536, size: 256 } | InterfaceError::OtherMemory { .. }
            )
        ),
        "{refused}"
    );
}

#[test]
fn an_imported_array_is_the_same_memory() {
    let fixture = Fixture::open();
    let base = fixture.to_device(&counted(&[4, 6])).unwrap();
    for view in views(&base) {
        let foreign = Foreign::new(view.clone());
        assert!(fixture.is_device_array(&foreign));
        let taken = fixture.as_device_array::<i32, _>(foreign).unwrap();
        assert_eq!(taken.shape(), view.shape());
        assert_eq!(taken.copy_to_host().unwrap(), view.copy_to_host().unwrap());
        assert!(Arc::ptr_eq(taken.block(), base.block()));
    }
    let taken = fixture.as_device_array::<i32, _>(base.clone()).unwrap();
    taken.copy_from_host(&arr2(&[[7; 6]; 4])).unwrap();
    assert_eq!(contents(&base), [7; 24]);
}

#[test]
fn an_imported_array_keeps_its_owner_alive_and_stays_read_only() {
    let fixture = Fixture::open();
    let foreign = Foreign::new(fixture.to_device(&counted(&[8])).unwrap().read_only());
    let is_gone = Arc::clone(&foreign.is_gone);
    let taken = fixture.as_device_array::<i32, _>(foreign).unwrap();
    let part = taken.slice([Index::from(2..4)]).unwrap();
    drop(taken);
    assert!(!is_gone.load(Ordering::Relaxed), "a view keeps the owner");
    assert!(matches!(part.copy_from_host(&counted(&[2])), Err(Error::ReadOnly { .. })));
    drop(part);
    assert!(is_gone.load(Ordering::Relaxed), "the owner is gone");
}

#[test]
fn an_expression_keeps_the_owner_of_an_imported_array_alive() {
    let fixture = Fixture::open();
    let foreign = Foreign::new(fixture.full([4], 3).unwrap());
    let is_gone = Arc::clone(&foreign.is_gone);
    let array = fixture.as_device_array::<i32, _>(foreign).unwrap();
    let sum = &array + 1;
    drop(array);
    assert!(!is_gone.load(Ordering::Relaxed));
    assert_eq!(contents(&sum.eval().unwrap()), [4; 4]);
    drop(sum);
    assert!(is_gone.load(Ordering::Relaxed));
}

#[test]
fn work_on_an_imported_array_waits_until_it_is_ready() {
    let fixture = Fixture::open();
    let semaphore = HostSemaphore::new(fixture.device());
    let array = fixture.to_device(&counted(&[8])).unwrap();
    fixture.synchronize().unwrap();
    let mut foreign = Foreign::new(array.clone());
    foreign.ready = Some(semaphore.point(3));
    let taken = fixture.as_device_array::<i32, _>(foreign).unwrap();
    // The stream does not wait for the array's work.
    let stream = fixture.stream().unwrap();
    taken.block().fill(&stream, 9).unwrap();
    stream.flush().unwrap();
    assert!(!stream.query().unwrap(), "the stream did not wait");
    // The interface now returns a point that covers all of that work.
    let interface = array.device_array_interface().unwrap();
    assert!(interface.ready.is_some_and(|point| point.semaphore != 0 && point.value != 0));
    semaphore.signal(3);
    assert_eq!(contents(&array), [9; 8]);
    stream.synchronize().unwrap();
    fixture.synchronize().unwrap();
    assert_eq!(array.device_array_interface().unwrap().ready, None);
}

#[test]
fn inconsistent_array_interfaces_are_refused() {
    let fixture = Fixture::open();
    let changes: [fn(&mut DeviceArrayInterface); 7] = [
        |interface| interface.version = 2,
        |interface| interface.typestr = "<f4".to_owned(),
        |interface| interface.memory.buffer ^= 1,
        |interface| interface.memory.device = "another".to_owned(),
        |interface| interface.shape = vec![9],
        |interface| interface.offset = 2,
        |interface| interface.strides = Some(vec![-4]),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut foreign = Foreign::new(fixture.to_device(&counted(&[8])).unwrap());
        foreign.change = change;
        // The question about any element type is answered, not refused.
        assert_eq!(fixture.is_device_array(&foreign), at == 1);
        assert!(matches!(fixture.as_device_array::<i32, _>(foreign), Err(Error::Interface(_))), "{at}");
    }
    let other = Fixture::open();
    let array = other.zeros::<i32>([2]).unwrap();
    let refused = fixture.as_device_array::<i32, _>(array).unwrap_err();
    assert!(matches!(refused, Error::Interface(InterfaceError::ForeignDevice { .. })), "{refused}");
}

#[test]
fn files_keep_elements_and_order() {
    let fixture = Fixture::open();
    let folder = std::env::temp_dir().join(format!("vkarray-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.npy");
    let device = fixture.to_device(&counted(&[3, 5])).unwrap();
    for (array, is_f_order) in [(device.clone(), false), (device.transpose(None).unwrap(), true)] {
        array.save_npy(&path).unwrap();
        let back = fixture.load_npy::<i32>(&path).unwrap();
        assert_eq!(back.copy_to_host().unwrap(), array.copy_to_host().unwrap());
        assert_eq!(back.is_f_contiguous(), is_f_order);
    }
    assert!(matches!(fixture.load_npy::<f32>(&path), Err(Error::File(_))));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn serde_writes_the_same_as_for_a_host_array() {
    let fixture = Fixture::open();
    let host: ArrayD<i32> = counted(&[2, 3]);
    let device = fixture.device_array_with_order([2, 3], Order::F).unwrap();
    device.copy_from_host(&host).unwrap();
    let text = serde_json::to_string(&device).unwrap();
    assert_eq!(text, r#"{"v":1,"dim":[2,3],"data":[0,1,2,3,4,5]}"#);
    let seed = fixture.array_seed::<i32>();
    let back = seed.deserialize(&mut serde_json::Deserializer::from_str(&text)).unwrap();
    assert_eq!(back.copy_to_host().unwrap(), host);
    let lie = r#"{"v":1,"dim":[1099511627776,3],"data":[0,1]}"#;
    assert!(fixture.array_seed::<i32>().deserialize(&mut serde_json::Deserializer::from_str(lie)).is_err());
}

#[test]
fn tensors_on_the_host_keep_elements_and_layout() {
    let fixture = Fixture::open();
    let base = fixture.to_device(&counted(&[4, 6])).unwrap();
    let [first, .., empty] = views(&base);
    let read_only = [first.read_only(), empty.read_only()];
    for view in views(&base).into_iter().chain(read_only) {
        // Through the raw pointer, as another library would get it.
        let raw = view.to_dlpack_host().unwrap().into_raw();
        // SAFETY: the line above handed the tensor out, and it is taken back once.
        let tensor = unsafe { Tensor::from_raw(raw) }.unwrap();
        // SAFETY: the elements are initialised, and no work on the array is recorded until the tensor is gone.
        let tensor = unsafe { HostTensor::new(tensor) }.unwrap();
        assert!(tensor.shape().read_only || view.is_writable());
        let back = fixture.dlpack_to_device::<i32>(&tensor).unwrap();
        assert_eq!(back.copy_to_host().unwrap(), view.copy_to_host().unwrap());
        assert!(matches!(fixture.dlpack_to_device::<f32>(&tensor), Err(Error::Interface(_))));
    }
}

#[test]
fn a_host_tensor_holds_its_elements_open_without_a_copy() {
    let fixture = Fixture::open();
    let options = vkarray::memory::HostOptions::default();
    let mut arrays =
        vec![fixture.pinned_array::<i32>([4, 64]).unwrap(), fixture.mapped_array([4, 64], options).unwrap()];
    arrays.extend(fixture.shared_array([4, 64]));
    for array in arrays {
        array.copy_from_host(&counted(&[4, 64])).unwrap();
        let address = array.read_on_host().unwrap().as_slice().unwrap().as_ptr().addr();
        let [upper, lower] = [0..2, 2..4].map(|rows| array.slice([Index::from(rows)]).unwrap());
        // A read-only tensor is a reader: other readers are allowed.
        let tensor = upper.clone().read_only().to_dlpack_host().unwrap();
        assert!(upper.fill(0).is_err() && upper.write_on_host().is_err(), "the tensor is read");
        assert_eq!(upper.copy_to_host().unwrap(), counted(&[2, 64]));
        assert!(upper.read_on_host().is_ok());
        drop(tensor);
        // A writable tensor excludes all other users of its elements, and of no other elements.
        let tensor = upper.to_dlpack_host().unwrap();
        // SAFETY: the descriptor is only read.
        let raw = unsafe { tensor.tensor() };
        assert_eq!((raw.data.addr(), raw.byte_offset), (address, 0), "no copy");
        assert!(upper.copy_to_host().is_err() && upper.read_on_host().is_err(), "the tensor may be written");
        lower.fill(5).unwrap();
        // SAFETY: the tensor opens this element, and nothing else uses it now.
        unsafe { raw.data.cast::<i32>().write(77) };
        let block = Arc::downgrade(array.block());
        drop((array, upper, lower));
        assert!(block.upgrade().is_some(), "the tensor keeps the memory");
        // SAFETY: the tensor opens its elements, and its deleter is the library's.
        let tensor = unsafe { HostTensor::new(tensor) }.unwrap();
        let taken = fixture.from_dlpack::<i32>(tensor).unwrap();
        assert_eq!(contents(&taken)[..3], [77, 1, 2]);
        drop(taken);
        fixture.allocator().flush().unwrap();
        assert!(block.upgrade().is_none(), "nothing keeps the memory");
    }
    // The tensor of an array in device memory is a copy, on every device.
    let array = fixture.full([3], 1_i32).unwrap();
    let tensor = array.to_dlpack_host().unwrap();
    array.fill(2).unwrap();
    // SAFETY: the copy is read-only, and its deleter is the library's.
    let tensor = unsafe { HostTensor::new(tensor) }.unwrap();
    assert_eq!(bytemuck::cast_slice::<u8, i32>(tensor.bytes()), [1; 3]);
}

#[test]
fn exclusive_tensors_of_whole_pages_are_reached_where_they_are() {
    let fixture = Fixture::open();
    let other = Fixture::open(); // The memory of another context is foreign to this one.
    let pages = memmap2::MmapMut::map_anon(3 * 4096).unwrap();
    let start = pages.as_ptr().addr();
    let pinned = other.pin(pages).unwrap();
    pinned.copy_from_slice(&[3; 3 * 4096]).unwrap();
    let is_imported = pinned.path() == vkarray::memory::RegisteredPath::Imported;
    let words = pinned.view::<u32>().unwrap();
    // SAFETY: only this tensor uses the elements, and its deleter is the library's.
    let tensor = unsafe { HostTensor::exclusive(words.to_dlpack_host().unwrap()) }.unwrap();
    let array = fixture.from_dlpack::<u32>(tensor).unwrap();
    assert_eq!(array.block().mapped().map(|at| at.addr().get()) == Some(start), is_imported);
    step(&fixture).launch(Groups::covering(array.shape()), (&array, 1_u32)).unwrap();
    assert_eq!(contents(&array), vec![stepped(0x0303_0303, 1); 3 * 1024]);
    if is_imported {
        assert!(words.copy_to_host().is_err(), "the tensor holds it open");
        drop(array);
        fixture.allocator().flush().unwrap();
        assert_eq!(contents(&words), vec![stepped(0x0303_0303, 1); 3 * 1024], "the same memory");
    }
    // Elements that other code may read are copied.
    let tensor = words.clone().read_only().to_dlpack_host().unwrap();
    // SAFETY: the tensor is refused before its elements are read.
    assert!(matches!(unsafe { HostTensor::exclusive(tensor) }, Err(TensorError::ReadOnly)));
    let tensor = words.clone().read_only().to_dlpack_host().unwrap();
    // SAFETY: the tensor opens its elements, and its deleter is the library's.
    let tensor = unsafe { HostTensor::new(tensor) }.unwrap();
    let copy = fixture.from_dlpack::<u32>(tensor).unwrap();
    copy.fill(0).unwrap();
    assert_eq!(contents(&words)[0], if is_imported { stepped(0x0303_0303, 1) } else { 0x0303_0303 });
    // SAFETY: only this tensor uses the elements, and its deleter is the library's.
    let floats = unsafe { HostTensor::exclusive(words.to_dlpack_host().unwrap()) }.unwrap();
    assert!(matches!(fixture.from_dlpack::<f32>(floats), Err(Error::Interface(InterfaceError::DType { .. }))));
}

#[test]
fn device_tensors_share_the_arrays_buffer() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[4, 6])).unwrap().read_only();
    let column = array.slice([Index::from(..), Index::At(2)]).unwrap();
    let block = Arc::downgrade(array.block());
    let tensor = column.to_dlpack_vulkan().unwrap();
    let buffer = array.block().handle();
    drop((array, column));
    let says = tensor.validate().unwrap();
    assert_eq!((says.shape(), says.strides()), (&[4_i64][..], Some(&[6_i64][..])));
    // SAFETY: the tensor is not changed.
    let raw = unsafe { tensor.tensor() };
    assert_eq!((raw.device.device_type.0, raw.data.addr() as u64, raw.byte_offset), (7, buffer, 8));
    assert_eq!((raw.dtype.code.0, raw.dtype.bits, raw.dtype.lanes), (0, 32, 1));
    assert!(block.upgrade().is_some(), "the tensor keeps the memory");
    // SAFETY: the tensor is refused before its elements are read.
    let refused = unsafe { HostTensor::new(tensor) };
    assert!(matches!(refused, Err(TensorError::NotOnHost { device_type: 7 })));
    assert!(block.upgrade().is_none(), "the memory is gone");
}
