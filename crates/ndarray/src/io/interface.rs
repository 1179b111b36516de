//! `DeviceArrayInterface`: an array on a device, described in plain data, and arrays made from such descriptions.
//!
//! The semantics are those of version 3 of the CUDA Array Interface, without what its users trip over: strides are left
//! out only where the array is dense, whatever its broadcast axes; the read-only flag is kept; the consumer keeps the
//! owner alive; and nobody waits on the host, since readiness is a point on a timeline. Whether a description fits its
//! memory is decided by [`DeviceArrayInterface::layout`], in plain data. The DLPack way out
//! and in is `interface/dlpack.rs`; files are `file.rs`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vkarray_allocator::Block;
use vkarray_driver::Point;
use vkarray_kernel::{ByteOrder, DType, Element};

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;
use crate::layout::{Layout, LayoutError, Order};

/// The version of the description.
const VERSION: u32 = 3;

/// An array on a device, in plain data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceArrayInterface {
    /// Elements on each axis.
    pub shape: Vec<usize>,
    /// The element type as a NumPy type string, such as `<f4`.
    pub typestr: String,
    /// From an element to the next on each axis, in bytes; `None` where the elements are dense in C order.
    pub strides: Option<Vec<isize>>,
    /// Where the first element lies in the memory, in bytes.
    pub offset: u64,
    /// The memory.
    pub memory: MemoryHandle,
    /// Whether the consumer may not write.
    pub read_only: bool,
    /// The version of this description: 3.
    pub version: u32,
    /// When the elements are there; `None` where they are already.
    pub ready: Option<ReadyPoint>,
}

/// Memory on a device, by numbers. They mean something only in the process that made them, while the memory lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryHandle {
    /// The device's UUID.
    pub device: String,
    /// The `VkBuffer`; 0 where there are no elements.
    pub buffer: u64,
    /// Its size in bytes.
    pub nbytes: u64,
}

/// A moment in a device's work, by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyPoint {
    /// The `VkSemaphore`, a timeline.
    pub semaphore: u64,
    /// The value it reaches.
    pub value: u64,
}

/// Why a description is no array. Offsets and sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum InterfaceError {
    /// Another version.
    #[error("the description is of version {given}, version {VERSION} is understood")]
    Version { given: u32 },
    /// Other elements than asked for.
    #[error("the array's elements are `{typestr}`, not {wanted}")]
    DType { typestr: String, wanted: DType },
    /// Memory of another device, or other memory than the one that came with it.
    #[error("the description names buffer {named:#x} of device {device}, which is not the memory that came with it")]
    OtherMemory { named: u64, device: String },
    /// The memory belongs to a device that was opened separately.
    #[error("the array lies on {array} and the context on {context}: they were opened separately")]
    ForeignDevice { array: String, context: String },
    /// An offset or a stride that is no whole number of elements.
    #[error("{bytes} bytes are no whole number of elements of {itemsize} bytes")]
    Misaligned { bytes: i128, itemsize: u32 },
    /// Elements outside the memory.
    #[error("the array's elements end at byte {end}, its memory at byte {size}")]
    OutOfBounds { end: u64, size: u64 },
    /// Elements that DLPack has no description for.
    #[error("DLPack cannot describe elements of {dtype}")]
    NoTensor { dtype: DType },
    /// A shape that cannot be.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

impl DeviceArrayInterface {
    /// The layout it describes, in elements of `wanted`, in memory of `size` bytes.
    ///
    /// # Errors
    ///
    /// [`InterfaceError`], but for questions about memory and devices.
    pub fn layout(&self, wanted: DType, size: u64) -> std::result::Result<Layout, InterfaceError> {
        if self.version != VERSION {
            return Err(InterfaceError::Version { given: self.version });
        }
        let is_native = |(dtype, order): (DType, ByteOrder)| dtype.reads_as(wanted) && order == ByteOrder::NATIVE;
        if !DType::from_typestr(&self.typestr).is_some_and(is_native) {
            return Err(InterfaceError::DType { typestr: self.typestr.clone(), wanted });
        }
        let itemsize = wanted.itemsize();
        let offset = elements(i128::from(self.offset), itemsize)?;
        let strides: Vec<isize> = match &self.strides {
            None => Layout::contiguous(&self.shape, Order::C)?.strides().to_vec(),
            Some(bytes) => {
                let strides = bytes.iter().map(|&bytes| elements(bytes as i128, itemsize));
                strides.collect::<std::result::Result<_, _>>()?
            }
        };
        let layout = Layout::with_strides(&self.shape, &strides, offset.cast_unsigned())?;
        let end = (layout.extent().end as u64).saturating_mul(u64::from(itemsize));
        if end > size {
            return Err(InterfaceError::OutOfBounds { end, size });
        }
        Ok(layout)
    }
}

/// A count of bytes as a count of elements.
pub(super) fn elements(bytes: i128, itemsize: u32) -> std::result::Result<isize, InterfaceError> {
    let misaligned = InterfaceError::Misaligned { bytes, itemsize };
    if bytes % i128::from(itemsize) != 0 {
        return Err(misaligned);
    }
    isize::try_from(bytes / i128::from(itemsize)).map_err(|_| misaligned)
}

/// Something that has an array on a device to show: arrays of this library, and others' that lie in its memory.
///
/// An implementation may be wrong without harm: [`Context::as_device_array`] calls each method once, and compares the
/// description with the memory that came with it.
pub trait AsDeviceArray {
    /// Describes the array.
    ///
    /// # Errors
    ///
    /// Those of sending work that the array waits for.
    fn device_array_interface(&self) -> Result<DeviceArrayInterface>;

    /// The memory it lies in.
    fn memory(&self) -> &Arc<Block>;

    /// When its elements are there, if that is known to nobody but its owner: work of the runtime is known already.
    fn ready(&self) -> Option<Point> {
        None
    }
}

impl<A: AsDeviceArray + ?Sized> AsDeviceArray for Arc<A> {
    fn device_array_interface(&self) -> Result<DeviceArrayInterface> {
        (**self).device_array_interface()
    }

    fn memory(&self) -> &Arc<Block> {
        (**self).memory()
    }

    fn ready(&self) -> Option<Point> {
        (**self).ready()
    }
}

/// The point covers all work that was asked for on the array's memory, whatever its streams.
impl<T: Element> AsDeviceArray for DeviceNDArray<T> {
    fn device_array_interface(&self) -> Result<DeviceArrayInterface> {
        let itemsize = isize::try_from(size_of::<T>()).expect("an element is small");
        let is_dense = self.is_c_contiguous();
        let ready = self.block().ready_point(self.context().default_stream())?;
        Ok(DeviceArrayInterface {
            shape: self.shape().to_vec(),
            typestr: DType::of::<T>().typestr(ByteOrder::NATIVE),
            strides: (!is_dense).then(|| self.strides().iter().map(|stride| stride * itemsize).collect()),
            offset: self.offset() as u64 * size_of::<T>() as u64,
            memory: MemoryHandle {
                device: self.context().info().uuid.clone(),
                buffer: if self.size() == 0 { 0 } else { self.block().handle() },
                nbytes: self.block().size(),
            },
            read_only: !self.is_writable(),
            version: VERSION,
            ready: ready.map(|point| ReadyPoint { semaphore: point.timeline().handle(), value: point.value() }),
        })
    }

    fn memory(&self) -> &Arc<Block> {
        self.block()
    }
}

impl Context {
    /// Whether [`Context::as_device_array`] would take the object as an array of its own element type.
    #[must_use]
    #[doc(alias = "is_cuda_array")]
    pub fn is_device_array(&self, object: &impl AsDeviceArray) -> bool {
        let Ok(interface) = object.device_array_interface() else { return false };
        let dtype = DType::from_typestr(&interface.typestr);
        dtype.is_some_and(|(dtype, _)| self.check_interface(object.memory(), &interface, dtype).is_ok())
    }

    /// Takes somebody's array as one of this library's: the same memory, nothing copied. Returns at once.
    ///
    /// The array and its views keep `object` alive, cannot be written if it is read-only, and all work on its memory
    /// that comes later waits, on the device, until it is ready.
    ///
    /// # Errors
    ///
    /// [`Error::Interface`](crate::Error::Interface) if the description is not of a `T` array in that memory on this
    /// context's device; those of [`AsDeviceArray::device_array_interface`], and of recording the wait.
    #[doc(alias = "as_cuda_array")]
    pub fn as_device_array<T, A>(&self, object: A) -> Result<DeviceNDArray<T>>
    where
        T: Element,
        A: AsDeviceArray + Send + Sync + 'static,
    {
        let interface = object.device_array_interface()?;
        // Called once: a second call may return another block.
        let memory = Arc::clone(object.memory());
        let layout = self.check_interface(&memory, &interface, DType::of::<T>())?;
        if let Some(point) = object.ready() {
            memory.order_after(self.default_stream(), &point)?;
        }
        let array = DeviceNDArray::new(self, memory, layout)?.with_owner(Arc::new(object));
        Ok(if interface.read_only { array.read_only() } else { array })
    }

    fn check_interface(
        &self,
        memory: &Block,
        interface: &DeviceArrayInterface,
        wanted: DType,
    ) -> std::result::Result<Layout, InterfaceError> {
        if !Arc::ptr_eq(memory.device(), self.device()) {
            let (array, context) = (memory.device().info().name.clone(), self.info().name.clone());
            return Err(InterfaceError::ForeignDevice { array, context });
        }
        let named = &interface.memory;
        let is_empty = interface.shape.contains(&0);
        if named.device != self.info().uuid || (named.buffer != memory.handle() && !is_empty) {
            return Err(InterfaceError::OtherMemory { named: named.buffer, device: named.device.clone() });
        }
        interface.layout(wanted, memory.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(shape: &[usize], strides: Option<&[isize]>, offset: u64) -> DeviceArrayInterface {
        let memory = MemoryHandle { device: "x".into(), buffer: 7, nbytes: 96 };
        let (shape, strides) = (shape.to_vec(), strides.map(<[isize]>::to_vec));
        let typestr = DType::F32.typestr(ByteOrder::NATIVE);
        DeviceArrayInterface { shape, typestr, strides, offset, memory, read_only: true, version: 3, ready: None }
    }

    #[test]
    fn descriptions_are_held_against_the_memory() {
        use InterfaceError::{Misaligned, OutOfBounds};
        type Case<'a> = (&'a [usize], Option<&'a [isize]>, u64, std::result::Result<&'a [isize], InterfaceError>);
        let cases: &[Case<'_>] = &[
            // Shape, strides and offset in bytes; strides in elements, in 96 bytes.
            (&[4, 6], None, 0, Ok(&[6, 1])),
            (&[4, 3], Some(&[24, 8]), 4, Ok(&[6, 2])),
            (&[4, 3], Some(&[0, 8]), 72, Ok(&[0, 2])), // Repeated: few bytes, many elements.
            (&[4, 6], Some(&[24, -4]), 20, Ok(&[6, -1])),
            (&[0, 6], None, 96, Ok(&[0, 0])), // Nothing, at the end.
            (&[0], None, 100, Err(OutOfBounds { end: 100, size: 96 })),
            (&[25], None, 0, Err(OutOfBounds { end: 100, size: 96 })),
            (&[4, 6], None, 4, Err(OutOfBounds { end: 100, size: 96 })),
            (&[4], None, 2, Err(Misaligned { bytes: 2, itemsize: 4 })),
            (&[4], Some(&[6]), 0, Err(Misaligned { bytes: 6, itemsize: 4 })),
        ];
        for (shape, strides, offset, expected) in cases {
            let layout = described(shape, *strides, *offset).layout(DType::F32, 96);
            assert_eq!(layout.as_ref().map(Layout::strides), expected.as_ref().copied(), "{shape:?} {strides:?}");
        }
        let refused = [
            described(&[4], Some(&[-4]), 4), // Begins before the memory.
            described(&[4], Some(&[4, 4]), 0),
            described(&[usize::MAX, 2], None, 0),
            described(&[1 << 40, 1 << 40], Some(&[0, 0]), 0),
        ];
        for interface in refused {
            assert!(matches!(interface.layout(DType::F32, 96), Err(InterfaceError::Layout(_))), "{interface:?}");
        }
    }

    #[test]
    fn other_elements_and_versions_are_refused() {
        let interface = described(&[4], None, 0);
        assert!(matches!(interface.layout(DType::I32, 96), Err(InterfaceError::DType { .. })));
        for typestr in [">f4", "<f8", "f4", ""] {
            let other = DeviceArrayInterface { typestr: typestr.into(), ..interface.clone() };
            assert!(matches!(other.layout(DType::F32, 96), Err(InterfaceError::DType { .. })), "{typestr}");
        }
        let opaque = DeviceArrayInterface { typestr: "|V2".into(), ..interface.clone() };
        assert!(opaque.layout(DType::BF16, 96).is_ok());
        let older = DeviceArrayInterface { version: 2, ..interface };
        assert_eq!(older.layout(DType::F32, 96), Err(InterfaceError::Version { given: 2 }));
    }

    #[test]
    fn a_description_survives_json() {
        let ready = Some(ReadyPoint { semaphore: u64::MAX, value: 3 });
        let interface = DeviceArrayInterface { ready, ..described(&[2, 3], Some(&[-12, 4]), 12) };
        let text = serde_json::to_string(&interface).unwrap();
        assert_eq!(serde_json::from_str::<DeviceArrayInterface>(&text).unwrap(), interface);
    }
}
