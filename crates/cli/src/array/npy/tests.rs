use std::path::PathBuf;

use ndarray::ArrayD;
use tempfile::TempDir;

use super::*;

/// Writes `bytes` to a file `x.npy` of its own folder.
fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// A version 1 file, spelled out as the format's specification has it.
fn npy(descriptor: &str, order: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descriptor}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap();
    [b"\x93NUMPY\x01\x00", &length.to_le_bytes()[..], header.as_bytes(), elements].concat()
}

fn read(bytes: &[u8]) -> Result<HostArray> {
    let (_folder, path) = file(bytes);
    NpyFile::open(&path)?.read()
}

/// The error's paragraph, with the folder taken out.
fn message(bytes: &[u8]) -> String {
    let (folder, path) = file(bytes);
    let error = NpyFile::open(&path).and_then(|file| file.read()).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    error.paragraph().replace(&format!("{}/", folder.path().display()), "")
}

fn host<T: HostElement>(shape: &[usize], elements: &[T]) -> HostArray {
    HostArray::new(ArrayD::from_shape_vec(shape, elements.to_vec()).unwrap())
}

#[test]
fn every_type_in_both_byte_orders_reads() {
    // Descriptor, bytes of two elements, the elements. -2, 3 and their likes differ in every byte order.
    let cases: &[(&str, &[u8], HostArray)] = &[
        ("|b1", &[0, 1], host(&[2], &[Bool::from(false), Bool::from(true)])),
        ("|i1", &[0xfe, 3], host(&[2], &[-2_i8, 3])),
        ("|u1", &[0xfe, 3], host(&[2], &[254_u8, 3])),
        ("<i2", &[0xfe, 0xff, 3, 0], host(&[2], &[-2_i16, 3])),
        (">i2", &[0xff, 0xfe, 0, 3], host(&[2], &[-2_i16, 3])),
        ("<u2", &[1, 2, 3, 0], host(&[2], &[0x201_u16, 3])),
        (">u2", &[1, 2, 3, 0], host(&[2], &[0x102_u16, 0x300])),
        ("<f2", &[0x00, 0x3c, 0x00, 0xc0], host(&[2], &[f16::from_f32(1.0), f16::from_f32(-2.0)])),
        (">f2", &[0x3c, 0x00, 0xc0, 0x00], host(&[2], &[f16::from_f32(1.0), f16::from_f32(-2.0)])),
        ("<i4", &[0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0], host(&[2], &[-2_i32, 3])),
        (">i4", &[0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 3], host(&[2], &[-2_i32, 3])),
        ("<u4", &[4, 3, 2, 1, 5, 0, 0, 0], host(&[2], &[0x0102_0304_u32, 5])),
        (">u4", &[1, 2, 3, 4, 0, 0, 0, 5], host(&[2], &[0x0102_0304_u32, 5])),
        ("<f4", &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0], host(&[2], &[1.0_f32, -2.0])),
        (">f4", &[0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0], host(&[2], &[1.0_f32, -2.0])),
        ("<i8", &[0xfe, 255, 255, 255, 255, 255, 255, 255, 3, 0, 0, 0, 0, 0, 0, 0], host(&[2], &[-2_i64, 3])),
        (">u8", &[1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 5], host(&[2], &[0x0102_0304_0506_0708_u64, 5])),
        ("<f8", &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0], host(&[2], &[1.0_f64, -2.0])),
        (">f8", &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0], host(&[2], &[1.0_f64, -2.0])),
    ];
    for (descriptor, bytes, expected) in cases {
        let array = read(&npy(descriptor, "False", "(2,)", bytes)).unwrap();
        assert_eq!(array, *expected, "{descriptor}");
    }
}

#[test]
fn fortran_order_keeps_the_values_and_becomes_c_order() {
    // Columns first in the file: (1, 4), (2, 5), (3, 6).
    let array = read(&npy("|u1", "True", "(2, 3)", &[1, 4, 2, 5, 3, 6])).unwrap();
    let HostArray::U8(array) = array else { panic!("{array:?}") };
    assert_eq!(array, ndarray::arr2(&[[1, 2, 3], [4, 5, 6]]).into_dyn());
    assert_eq!(array.as_slice(), Some(&[1, 2, 3, 4, 5, 6][..]));
}

#[test]
fn unusual_shapes_read() {
    // Shape text, shape, elements.
    let cases: &[(&str, &[usize], &[u8])] = &[
        ("()", &[], &[7]),   // One element, no axis.
        ("(0,)", &[0], &[]), // No element.
        ("(3, 0, 2)", &[3, 0, 2], &[]),
        ("(1, 1, 1, 1, 1, 1, 1)", &[1; 7], &[7]), // More axes than ndarray stores inline.
    ];
    for (text, shape, elements) in cases {
        for order in ["False", "True"] {
            let array = read(&npy("|u1", order, text, elements)).unwrap();
            assert_eq!(array, host(shape, elements), "{text} {order}");
        }
    }
}

#[test]
fn versions_two_and_three_read() {
    for version in [2, 3] {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        let bytes = [b"\x93NUMPY", &[version, 0][..], &length, header.as_bytes(), &2.5_f32.to_le_bytes()].concat();
        assert_eq!(read(&bytes).unwrap(), host(&[1], &[2.5_f32]), "version {version}");
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    let arrays = [
        host(&[2, 1], &[Bool::from(true), Bool::from(false)]),
        host(&[2, 1], &[-1_i8, i8::MAX]),
        host(&[2, 1], &[1_u8, u8::MAX]),
        host(&[2, 1], &[-1_i16, i16::MAX]),
        host(&[2, 1], &[1_u16, u16::MAX]),
        host(&[2, 1], &[f16::MAX, f16::from_f32(-0.1)]),
        host(&[2, 1], &[-1_i32, i32::MAX]),
        host(&[2, 1], &[1_u32, u32::MAX]),
        host(&[2, 1], &[f32::MIN_POSITIVE, f32::NEG_INFINITY]),
        host(&[2, 1], &[-1_i64, i64::MAX]),
        host(&[2, 1], &[1_u64, u64::MAX]),
        host(&[2, 1], &[f64::MIN_POSITIVE, f64::NEG_INFINITY]),
        host::<f32>(&[0, 3], &[]),
        host(&[], &[1.5_f32]),
    ];
    for array in arrays {
        let mut bytes = Vec::new();
        write(&array, &mut bytes).unwrap();
        assert_eq!(read(&bytes).unwrap(), array);
    }
}

#[test]
fn headers_that_lie_are_refused_before_anything_is_allocated() {
    // File, message. Each of these would make a trusting reader allocate, overflow, recurse or read short.
    let ok = npy("<f4", "False", "(2, 3)", &[0; 24]);
    let huge_header = [b"\x93NUMPY\x02\x00", &u32::MAX.to_le_bytes()[..], b"{}\n"].concat();
    let nested = [b"\x93NUMPY\x01\x00", &9000_u16.to_le_bytes()[..], &[b'('; 9000]].concat();
    let cases: &[(&[u8], &str)] = &[
        (&ok[..ok.len() - 1], "x.npy: the .npy header claims f32[2,3], which is 24 bytes, but 23 bytes follow it"),
        (
            &[&ok[..], &[0]].concat(),
            "x.npy: the .npy header claims f32[2,3], which is 24 bytes, but 25 bytes follow it",
        ),
        (
            &npy("<f8", "False", "(1000000, 1000000)", &[0; 8]),
            "x.npy: the .npy header claims f64[1000000,1000000], which is 8000000000000 bytes, but 8 bytes follow it",
        ),
        (
            &npy("<f4", "False", "(4294967296, 4294967296)", &[]), // 2^64 elements: zero, if it wraps.
            "x.npy: the .npy header claims f32[4294967296,4294967296], which overflows the address space",
        ),
        (
            &npy("<f4", "False", "(0, 4294967296, 4294967296)", &[]), // Empty, but its strides overflow.
            "x.npy: the .npy header claims f32[0,4294967296,4294967296], which overflows the address space",
        ),
        (
            &npy("<f4", "False", "(-1,)", &[]),
            "x.npy: the .npy header is damaged: error parsing header: illegal value for key shape: (-1,)",
        ),
        (
            &npy("<f4", "False", "(99999999999999999999,)", &[]), // Beyond usize.
            "x.npy: the .npy header is damaged: error parsing header: illegal value for key shape: \
             (99999999999999999999,)",
        ),
        (&huge_header, "x.npy: the .npy header claims 4294967295 bytes, more than the 10000 that are read"),
        (&nested, "x.npy: the .npy header has 9000 brackets, more than the 16 that are read"),
        (&ok[..40], "x.npy: the .npy header should end at byte 70, but the file has only 40"),
        (b"", "x.npy is not a .npy file: it does not begin as one"),
        (b"\x93NUMPY\x01", "x.npy is not a .npy file: it does not begin as one"),
        (b"P6 2 2 255 and so on", "x.npy is not a .npy file: it does not begin as one"),
        (
            b"\x93NUMPY\x04\x00\x00\x00\x00\x00",
            "x.npy: the .npy header is damaged: error parsing header: unknown version number: 4.0",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(message(bytes), *expected);
    }
}

#[test]
fn elements_of_other_types_are_refused() {
    for descriptor in ["<c8", "|S4", "<U2", "<M8[ns]", "|O", "<f16", "=f4", "|f4", "<i1", "<", "", "é"] {
        let text = message(&npy(descriptor, "False", "(0,)", &[]));
        // A header that is not ASCII is damaged in version 1, whatever the type.
        let reason = if descriptor.is_ascii() { "cannot be read; expected bool" } else { "non-ascii" };
        assert!(text.contains(reason), "{descriptor}: {text}");
    }
    // A record of fields is a list, not a name.
    let record = npy("", "False", "(0,)", &[]);
    let text = String::from_utf8_lossy(&record[10..]).replace("''", "[('a', '<f4')]");
    let bytes = [&record[..8], &u16::try_from(text.len()).unwrap().to_le_bytes(), text.as_bytes()].concat();
    assert!(message(&bytes).contains("elements of type [('a', '<f4')] cannot be read"), "{}", message(&bytes));
}

#[test]
fn damaged_elements_and_vanished_files_are_reported() {
    assert_eq!(
        message(&npy("|b1", "False", "(2,)", &[1, 2])),
        "x.npy: the elements are damaged: error parsing data: error parsing value 0x02 as a bool"
    );
    let (folder, path) = file(&npy("|u1", "False", "(2,)", &[1, 2]));
    let opened = NpyFile::open(&path).unwrap();
    std::fs::write(&path, npy("|u1", "False", "(2,)", &[1])).unwrap(); // Shrinks between the check and the read.
    assert!(matches!(opened.read(), Err(Error::NpyElements { .. })));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(opened.read(), Err(Error::Read { .. })));
    assert!(matches!(NpyFile::open(&path), Err(Error::Read { .. })));
    assert!(matches!(NpyFile::open(folder.path()), Err(Error::NotAFile { .. })));
}
