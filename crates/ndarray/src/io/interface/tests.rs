//! For which reasons a description of a device array is refused, and the layout that it means.

use super::*;

fn described(shape: &[usize], strides: Option<&[isize]>, offset: u64) -> DeviceArrayInterface {
    let memory = MemoryHandle { device: "x".into(), buffer: 7, nbytes: 96 };
    let (shape, strides) = (shape.to_vec(), strides.map(<[isize]>::to_vec));
    let typestr = DType::F32.typestr(ByteOrder::NATIVE);
    DeviceArrayInterface { shape, typestr, strides, offset, memory, read_only: true, version: 3, ready: None }
}

#[test]
fn descriptions_are_checked_against_the_memory() {
    use InterfaceError::{Misaligned, OutOfBounds};
    type Case<'a> = (&'a [usize], Option<&'a [isize]>, u64, std::result::Result<&'a [isize], InterfaceError>);
    let cases: &[Case<'_>] = &[
        // Shape, strides and offset in bytes; then the strides in elements, of elements within 96 bytes.
        (&[4, 6], None, 0, Ok(&[6, 1])),
        (&[4, 3], Some(&[24, 8]), 4, Ok(&[6, 2])),
        (&[4, 3], Some(&[0, 8]), 72, Ok(&[0, 2])), // Repeated elements.
        (&[4, 6], Some(&[24, -4]), 20, Ok(&[6, -1])),
        (&[0, 6], None, 96, Ok(&[0, 0])), // No elements, at the end.
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
        described(&[4], Some(&[-4]), 4), // Starts before the memory.
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
    assert_eq!(older.layout(DType::F32, 96), Err(InterfaceError::Version { given: 2, supported: VERSION }));
}

#[test]
fn a_description_survives_json() {
    let ready = Some(ReadyPoint { semaphore: u64::MAX, value: 3 });
    let interface = DeviceArrayInterface { ready, ..described(&[2, 3], Some(&[-12, 4]), 12) };
    let text = serde_json::to_string(&interface).unwrap();
    assert_eq!(serde_json::from_str::<DeviceArrayInterface>(&text).unwrap(), interface);
}
