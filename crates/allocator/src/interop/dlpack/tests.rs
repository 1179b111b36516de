//! Which shapes fit into memory of a given size, and tensors over bytes of the host.

use std::sync::atomic::{AtomicBool, Ordering};

use dlpark::ffi::{DLManagedTensorVersioned, DLPackVersion};

use super::*;
use crate::error::Error;

fn described(shape: &[i64], strides: &[i64], offset: u64) -> TensorShape {
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    TensorShape { shape, strides, code: DLDataTypeCode::INT.0, bits: 16, offset, read_only: true }
}

#[test]
fn elements_are_held_against_the_memory() {
    type Case<'a> = (&'a [i64], &'a [i64], u64, Option<Range<i128>>);
    // The shape, the strides, the offset in bytes, and the bytes touched, in memory of 24 bytes.
    let cases: &[Case<'_>] = &[
        (&[3, 4], &[4, 1], 0, Some(0..24)),
        (&[3, 4], &[4, -1], 6, Some(0..24)),
        (&[100], &[0], 22, Some(22..24)), // Repeated elements.
        (&[], &[], 4, Some(4..6)),
        (&[0, 5], &[9, 9], 24, Some(24..24)),
        (&[3, 4], &[4, 1], 2, None),
        (&[4], &[-1], 4, None), // Elements before the memory.
        (&[0], &[1], 26, None),
        (&[i64::MAX, i64::MAX], &[i64::MAX, i64::MAX], u64::MAX, None), // The sum does not wrap around.
        (&[-1], &[1], 0, None),
        (&[2], &[], 0, None),
    ];
    for (shape, strides, offset, expected) in cases {
        let described = described(shape, strides, *offset);
        let span = described.check(24).ok().map(|()| described.span());
        assert_eq!(span, *expected, "{shape:?} {strides:?} {offset}");
    }
}

/// Bytes that set a flag when they are dropped.
struct Bytes(Vec<u8>, Arc<AtomicBool>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_tensor_keeps_its_bytes_through_another_library() {
    let is_gone = Arc::new(AtomicBool::new(false));
    let bytes = Bytes((0..24).collect(), Arc::clone(&is_gone));
    let columns = described(&[4, 3], &[-1, 4], 6);
    let raw = tensor_of_bytes(&columns, bytes).unwrap().into_raw();
    // SAFETY: the pointer was just handed out, and is taken back once.
    let tensor = unsafe { Tensor::from_raw(raw) }.unwrap();
    assert!(tensor.flags().contains(DlpackFlags::READ_ONLY));
    // SAFETY: the tensor's bytes are the bytes of `bytes`, which nothing writes.
    let taken = unsafe { HostTensor::new(tensor) }.unwrap();
    assert_eq!((taken.shape(), taken.bytes()), (&columns, &(0..24).collect::<Vec<u8>>()[..]));
    assert!(!is_gone.load(Ordering::Relaxed));
    drop(taken);
    assert!(is_gone.load(Ordering::Relaxed));
}

#[test]
fn tensors_without_elements_have_no_memory() {
    let tensor = tensor_of_bytes(&described(&[3, 0], &[0, 1], 8), vec![0; 8]).unwrap();
    // SAFETY: nothing changes the tensor.
    let raw = unsafe { tensor.tensor() };
    assert!(raw.data.is_null() && raw.byte_offset == 0);
    // SAFETY: the tensor has no elements to read.
    assert!(unsafe { HostTensor::new(tensor) }.unwrap().bytes().is_empty());
    assert!(tensor_of_bytes(&described(&[5], &[1], 0), vec![0; 8]).is_err());
}

/// A number of bits rounded down to bytes would let a tensor describe more elements than its memory has.
#[test]
fn tensors_of_parts_of_bytes_are_not_exported() {
    for bits in [0, 1, 4, 7, 9, 12] {
        let shape = TensorShape { bits, ..described(&[1 << 20], &[1], 0) };
        let refused = tensor_of_bytes(&shape, vec![0_u8; 4]);
        assert!(matches!(refused, Err(TensorError::Element { bits: found, lanes: 1 }) if found == bits), "{bits} bits");
    }
}

/// A tensor with one change.
fn changed(change: fn(&mut DLManagedTensorVersioned)) -> Result<HostTensor, TensorError> {
    let tensor = tensor_of_bytes(&described(&[3, 4], &[4, 1], 0), vec![0_u8; 24]).unwrap();
    // SAFETY: there is no other handle, and the changed fields do not free the tensor.
    change(unsafe { &mut *tensor.as_ptr() });
    // SAFETY: the tensor is refused before its elements are read.
    unsafe { HostTensor::new(tensor) }
}

#[test]
fn tensors_that_cannot_be_read_are_refused() {
    use TensorError::{Damaged, Element, NotOnHost, OutOfBounds};
    assert!(changed(|_| ()).is_ok());
    let device = changed(|tensor| tensor.dl_tensor.device.device_type = DLDeviceType::VULKAN);
    assert!(matches!(device, Err(NotOnHost { device_type: 7 })));
    assert!(matches!(changed(|tensor| tensor.dl_tensor.dtype.lanes = 4), Err(Element { lanes: 4, .. })));
    assert!(matches!(changed(|tensor| tensor.dl_tensor.dtype.bits = 12), Err(Element { bits: 12, .. })));
    assert!(changed(|tensor| tensor.dl_tensor.dtype.bits = 0).is_err());
    assert!(matches!(changed(|tensor| tensor.dl_tensor.ndim = -1), Err(Damaged { .. })));
    assert!(matches!(changed(|tensor| tensor.dl_tensor.strides = ptr::null_mut()), Err(Damaged { .. })));
    assert!(matches!(changed(|tensor| tensor.dl_tensor.data = ptr::null_mut()), Err(OutOfBounds { .. })));
    assert!(matches!(changed(|tensor| tensor.dl_tensor.byte_offset = u64::MAX), Err(OutOfBounds { .. })));
    // An older tensor without strides is dense.
    let dense = changed(|tensor| {
        tensor.version = DLPackVersion { major: 1, minor: 0 };
        tensor.dl_tensor.strides = ptr::null_mut();
    });
    assert_eq!(dense.unwrap().shape().strides, [4, 1]);
    assert_eq!(Error::from(NotOnHost { device_type: 2 }).to_string(), NotOnHost { device_type: 2 }.to_string());
}
