//! Elements and whole files, against `ndarray-npy` and against files that are damaged on purpose.

use std::path::PathBuf;

use half::{bf16, f16};
use ndarray::{Array, ArrayD, Axis, arr1, arr2};
use ndarray_npy::ReadNpyExt;
use tempfile::TempDir;
use vkarray_shader::{Complex32, Complex64};

use super::*;

/// Writes `bytes` to a file `x.npy` in a folder for this file alone.
fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// A file of version 1, written out as the format's specification requires.
fn npy(descriptor: &str, order: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descriptor}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap();
    [b"\x93NUMPY\x01\x00", &length.to_le_bytes()[..], header.as_bytes(), elements].concat()
}

fn read<T: Element>(bytes: &[u8]) -> Result<ArrayD<T>> {
    let (_folder, path) = file(bytes);
    NpyFile::open(&path)?.read()
}

/// The messages of the error and of its causes, without the folder.
fn message<T: Element + std::fmt::Debug>(bytes: &[u8]) -> String {
    let (folder, path) = file(bytes);
    let error = NpyFile::open(&path).and_then(|file| file.read::<T>()).unwrap_err();
    assert!(error.is_input());
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

/// Checks that a file with these two elements is read as these two values.
fn check<T: Element + PartialEq + std::fmt::Debug>(descriptor: &str, bytes: &[u8], expected: [T; 2]) {
    assert_eq!(
        read::<T>(&npy(descriptor, "False", "(2,)", bytes)).unwrap(),
        arr1(&expected).into_dyn(),
        "{descriptor}"
    );
}

#[test]
fn every_type_in_both_byte_orders_reads() {
    // The bytes of -2, 3 and similar values are different in each byte order.
    check("|b1", &[0, 1], [Bool::from(false), Bool::from(true)]);
    check("|i1", &[0xfe, 3], [-2_i8, 3]);
    check("|u1", &[0xfe, 3], [254_u8, 3]);
    check("<i2", &[0xfe, 0xff, 3, 0], [-2_i16, 3]);
    check(">i2", &[0xff, 0xfe, 0, 3], [-2_i16, 3]);
    check("<u2", &[1, 2, 3, 0], [0x201_u16, 3]);
    check(">u2", &[1, 2, 3, 0], [0x102_u16, 0x300]);
    check("<f2", &[0x00, 0x3c, 0x00, 0xc0], [1.0, -2.0].map(f16::from_f32));
    check(">f2", &[0x3c, 0x00, 0xc0, 0x00], [1.0, -2.0].map(f16::from_f32));
    check("|V2", &[0x80, 0x3f, 0x00, 0xc0], [1.0, -2.0].map(bf16::from_f32)); // As two opaque bytes.
    check("<V2", &[0x80, 0x3f, 0x00, 0xc0], [1.0, -2.0].map(bf16::from_f32)); // As another library writes it.
    check("<i4", &[0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0], [-2_i32, 3]);
    check(">i4", &[0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 3], [-2_i32, 3]);
    check("<u4", &[4, 3, 2, 1, 5, 0, 0, 0], [0x0102_0304_u32, 5]);
    check(">u4", &[1, 2, 3, 4, 0, 0, 0, 5], [0x0102_0304_u32, 5]);
    check("<f4", &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0], [1.0_f32, -2.0]);
    check(">f4", &[0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0], [1.0_f32, -2.0]);
    check("<i8", &[0xfe, 255, 255, 255, 255, 255, 255, 255, 3, 0, 0, 0, 0, 0, 0, 0], [-2_i64, 3]);
    check(">u8", &[1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 5], [0x0102_0304_0506_0708_u64, 5]);
    check("<f8", &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0], [1.0_f64, -2.0]);
    check(">f8", &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0], [1.0_f64, -2.0]);
    let (one, two) = (Complex32 { re: 1.0, im: -2.0 }, Complex32 { re: 0.0, im: 1.0 });
    let bytes = [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f];
    check("<c8", &bytes, [one, two]);
    let bytes = [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0x3f, 0x80, 0, 0];
    check(">c8", &bytes, [one, two]); // Each part is swapped on its own.
    let mut bytes = [0; 32];
    bytes[..2].copy_from_slice(&[0x3f, 0xf0]);
    bytes[24] = 0xc0;
    check(">c16", &bytes, [Complex64 { re: 1.0, im: 0.0 }, Complex64 { re: 0.0, im: -2.0 }]);
    check("|V3", &[1, 2, 3, 4, 5, 6], [Triple([1, 2, 3]), Triple([4, 5, 6])]);
}

#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Triple([u8; 3]);

impl Element for Triple {
    const DTYPE: DType = DType::record::<Self>();
}

#[test]
fn fortran_order_keeps_the_values_and_the_order() {
    // Columns first in the file: (1, 4), (2, 5), (3, 6).
    let array = read::<u8>(&npy("|u1", "True", "(2, 3)", &[1, 4, 2, 5, 3, 6])).unwrap();
    assert_eq!(array, arr2(&[[1, 2, 3], [4, 5, 6]]).into_dyn());
    assert_eq!(array.strides(), [1, 2]);
}

#[test]
fn unusual_shapes_read() {
    // Shape text, shape, elements.
    let cases: &[(&str, &[usize], &[u8])] = &[
        ("()", &[], &[7]),   // One element, no axes.
        ("(0,)", &[0], &[]), // No element.
        ("(3, 0, 2)", &[3, 0, 2], &[]),
        ("(1, 1, 1, 1, 1, 1, 1)", &[1; 7], &[7]), // More axes than are stored inline.
    ];
    for (text, shape, elements) in cases {
        for order in ["False", "True"] {
            let array = read::<u8>(&npy("|u1", order, text, elements)).unwrap();
            assert_eq!(array, ArrayD::from_shape_vec(*shape, elements.to_vec()).unwrap(), "{text} {order}");
        }
    }
}

#[test]
fn versions_two_and_three_read() {
    for version in [2, 3] {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        let bytes = [b"\x93NUMPY", &[version, 0][..], &length, header.as_bytes(), &2.5_f32.to_le_bytes()].concat();
        assert_eq!(read::<f32>(&bytes).unwrap(), arr1(&[2.5]).into_dyn(), "version {version}");
    }
}

/// Writes an array, and returns the file.
fn written<T: Element>(array: &ArrayD<T>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_npy(&mut bytes, array).unwrap();
    bytes
}

fn round_trip<T: Element + PartialEq + std::fmt::Debug>(elements: [T; 6]) {
    let c = Array::from_shape_vec((2, 3), elements.to_vec()).unwrap().into_dyn();
    let f = c.t().as_standard_layout().into_owned().reversed_axes();
    let mut reversed = c.clone();
    reversed.invert_axis(Axis(1));
    let column = c.index_axis(Axis(1), 1).to_owned();
    for array in
        [c, f, reversed, column, ArrayD::from_elem(vec![], elements[1]), ArrayD::from_elem(vec![0, 3], elements[0])]
    {
        let back = read::<T>(&written(&array)).unwrap();
        assert_eq!(back, array, "{}", DType::of::<T>());
        assert_eq!(back.t().is_standard_layout(), array.t().is_standard_layout(), "the order changed");
    }
}

#[test]
fn a_written_file_is_read_back_unchanged() {
    round_trip([true, false, false, true, true, false].map(Bool::from));
    round_trip([-1_i8, i8::MAX, i8::MIN, 0, 1, 2]);
    round_trip([1_u8, u8::MAX, 0, 2, 3, 4]);
    round_trip([-1_i16, i16::MAX, i16::MIN, 0, 1, 2]);
    round_trip([1_u16, u16::MAX, 0, 2, 3, 4]);
    round_trip([65504.0, -0.1, 0.0, 1.0, f32::INFINITY, 3.0].map(f16::from_f32));
    round_trip([3e38, -0.1, 0.0, 1.0, f32::INFINITY, 3.0].map(bf16::from_f32));
    round_trip([-1, i32::MAX, i32::MIN, 0, 1, 2]);
    round_trip([1, u32::MAX, 0, 2, 3, 4]);
    round_trip([f32::MIN_POSITIVE, f32::NEG_INFINITY, 0.5, 1.0, 2.0, -3.0]);
    round_trip([-1, i64::MAX, i64::MIN, 0, 1, 2]);
    round_trip([1, u64::MAX, 0, 2, 3, 4]);
    round_trip([f64::MIN_POSITIVE, f64::NEG_INFINITY, 0.5, 1.0, 2.0, -3.0]);
    round_trip([0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|re| Complex32 { re, im: -re / 2.0 }));
    round_trip([0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|re| Complex64 { re, im: -re / 2.0 }));
    round_trip([0, 1, 2, 3, 4, 5].map(|i| Triple([i, i + 1, 255])));
}

#[test]
fn the_ndarray_npy_crate_reads_a_written_file() {
    let c = arr2(&[[1.5_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]).into_dyn();
    let f = arr2(&[[1_i64, -2], [3, 4], [5, 6]]).reversed_axes().into_dyn();
    assert_eq!(ArrayD::<f32>::read_npy(&written(&c)[..]).unwrap(), c);
    assert_eq!(ArrayD::<i64>::read_npy(&written(&f)[..]).unwrap(), f);
    // Every byte but 0 is true and written as 1, which this reader and NumPy require.
    let odd: Bool = bytemuck::cast(7_u8);
    let truth = arr1(&[odd, Bool::from(false)]).into_dyn();
    assert_eq!(ArrayD::<bool>::read_npy(&written(&truth)[..]).unwrap(), arr1(&[true, false]).into_dyn());
}

#[test]
fn headers_with_false_claims_are_refused_before_anything_is_allocated() {
    // The file and the message. Each file would make a reader that trusts the header allocate, overflow, recurse or
    // read too little.
    let ok = npy("<f4", "False", "(2, 3)", &[0; 24]);
    let cases: &[(&[u8], &str)] = &[
        (
            &ok[..ok.len() - 1],
            "x.npy: the .npy header claims f32 of shape (2, 3), which is 24 bytes, but 23 bytes follow it",
        ),
        (
            &[&ok[..], &[0]].concat(),
            "x.npy: the .npy header claims f32 of shape (2, 3), which is 24 bytes, but 25 bytes follow it",
        ),
        (
            &npy("<f8", "False", "(1000000, 1000000)", &[0; 8]),
            "x.npy: the .npy header claims f64 of shape (1000000, 1000000), which is 8000000000000 bytes, but 8 bytes \
             follow it",
        ),
    ];
    check_messages(cases);
}

#[test]
fn invalid_shapes_are_refused() {
    let many_axes = format!("({})", "1, ".repeat(33));
    let cases: &[(&[u8], &str)] = &[
        (
            &npy("<f4", "False", "(4294967296, 4294967296)", &[]), // 2^64 elements: zero, if it wraps.
            "x.npy: the .npy header has an invalid shape: shape (4294967296, 4294967296) is too large to \
             address with elements of 1 bytes",
        ),
        (
            &npy("<f4", "False", "(0, 4294967296, 4294967296)", &[]), // Empty, but its strides overflow.
            "x.npy: the .npy header has an invalid shape: shape (0, 4294967296, 4294967296) is too large to \
             address with elements of 1 bytes",
        ),
        (
            &npy("<f8", "False", "(4611686018427387904,)", &[]), // 2^65 bytes.
            "x.npy: the .npy header has an invalid shape: shape (4611686018427387904,) is too large to \
             address with elements of 8 bytes",
        ),
        (
            &npy("<f4", "False", &many_axes, &[0; 4]),
            "x.npy: the .npy header has an invalid shape: 33 axes asked for, at most 32 are supported",
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
    ];
    check_messages(cases);
}

#[test]
fn files_of_another_kind_are_refused() {
    let ok = npy("<f4", "False", "(2, 3)", &[0; 24]);
    let huge_header = [b"\x93NUMPY\x02\x00", &u32::MAX.to_le_bytes()[..], b"{}\n"].concat();
    let nested = [b"\x93NUMPY\x01\x00", &9000_u16.to_le_bytes()[..], &[b'('; 9000]].concat();
    let cases: &[(&[u8], &str)] = &[
        (&huge_header, "x.npy: the .npy header claims 4294967295 bytes, more than the 10000 that are read"),
        (&nested, "x.npy: the .npy header has 9000 brackets, more than the 16 that are read"),
        (&ok[..40], "x.npy: the .npy header should end at byte 70, but the file has only 40"),
        (b"", "x.npy is not a .npy file: it does not start with \"\\x93NUMPY\""),
        (b"\x93NUMPY\x01", "x.npy is not a .npy file: it does not start with \"\\x93NUMPY\""),
        (b"P6 2 2 255 and so on", "x.npy is not a .npy file: it does not start with \"\\x93NUMPY\""),
        (
            b"\x93NUMPY\x04\x00\x00\x00\x00\x00",
            "x.npy: the .npy header is damaged: error parsing header: unknown version number: 4.0",
        ),
    ];
    check_messages(cases);
}

fn check_messages(cases: &[(&[u8], &str)]) {
    for (bytes, expected) in cases {
        let text = message::<f32>(bytes);
        // Some messages repeat their cause.
        assert!(text.starts_with(*expected), "{text}");
    }
}

#[test]
fn elements_of_other_types_are_refused() {
    for descriptor in ["|S4", "<U2", "<M8[ns]", "|O", "<f16", "=f4", "|f4", "<i1", "<", "", "é"] {
        let text = message::<f32>(&npy(descriptor, "False", "(0,)", &[]));
        // A header of version 1 that is not ASCII is damaged.
        let reason = if descriptor.is_ascii() { "cannot be read; expected bool" } else { "non-ascii" };
        assert!(text.contains(reason), "{descriptor}: {text}");
    }
    // A record with fields is described by a list instead of a name.
    let record = npy("", "False", "(0,)", &[]);
    let text = String::from_utf8_lossy(&record[10..]).replace("''", "[('a', '<f4')]");
    let bytes = [&record[..8], &u16::try_from(text.len()).unwrap().to_le_bytes(), text.as_bytes()].concat();
    assert!(message::<f32>(&bytes).contains("elements of type [('a', '<f4')] cannot be read"));
    // No elements are converted, even where the bytes would be valid.
    let words = npy("<u4", "False", "(1,)", &[0; 4]);
    assert_eq!(message::<f32>(&words), "x.npy holds u32, not f32");
    assert_eq!(message::<Triple>(&npy("|V4", "False", "(1,)", &[0; 4])), "x.npy holds record4, not record3");
    assert_eq!(message::<bf16>(&npy("<f2", "False", "(1,)", &[0; 2])), "x.npy holds f16, not bf16");
}

#[test]
fn damaged_elements_and_removed_files_are_reported() {
    assert_eq!(
        message::<Bool>(&npy("|b1", "False", "(2,)", &[1, 2])),
        "x.npy: element 1 is the byte 2, which is not a bool"
    );
    let (folder, path) = file(&npy("|u1", "False", "(2,)", &[1, 2]));
    let opened = NpyFile::open(&path).unwrap();
    // The file becomes shorter between the check and the read, then longer.
    for elements in [&[1][..], &[1, 2, 3]] {
        std::fs::write(&path, npy("|u1", "False", "(2,)", elements)).unwrap();
        assert!(matches!(opened.read::<u8>(), Err(FileError::Elements { .. })));
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(opened.read::<u8>(), Err(FileError::Read { .. })));
    assert!(matches!(NpyFile::open(&path), Err(FileError::Read { .. })));
    assert!(matches!(NpyFile::open(folder.path()), Err(FileError::NotAFile { .. })));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(matches!(NpyFile::open(&path), Err(FileError::NotAFile { .. })));
    assert!(matches!(crate::npz::NpzFile::open(&path), Err(FileError::NotAFile { .. })));
}

#[test]
fn headers_are_written_byte_for_byte_as_numpy_does() {
    fn written<T: Element>(shape: &[usize], is_f_order: bool) -> Vec<u8> {
        let zeros = ArrayD::<T>::from_elem(IxDyn(shape).set_f(is_f_order), T::zeroed());
        let mut bytes = Vec::new();
        write_npy(&mut bytes, &zeros).unwrap();
        bytes.truncate(bytes.len() - zeros.len() * size_of::<T>());
        bytes
    }
    // NumPy 2.4.6: the text, and the bytes of the whole header.
    let cases: [(Vec<u8>, &str, usize); 8] = [
        (written::<f32>(&[], false), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 128),
        (written::<f32>(&[3], false), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 128),
        (written::<f64>(&[3, 4], true), "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }", 128),
        (written::<Bool>(&[0, 5], false), "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 5), }", 128),
        (
            written::<Complex64>(&[7, 1, 2], false),
            "{'descr': '<c16', 'fortran_order': False, 'shape': (7, 1, 2), }",
            128,
        ),
        (written::<Triple>(&[2], false), "{'descr': '|V3', 'fortran_order': False, 'shape': (2,), }", 128),
        (
            written::<i8>(&[1; 17], false),
            "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }",
            192,
        ),
        (
            written::<i8>(&[1; 14], false),
            "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }",
            128,
        ),
    ];
    for (found, text, n_bytes) in cases {
        let mut expected =
            [b"\x93NUMPY\x01\0", &u16::try_from(n_bytes - 10).unwrap().to_le_bytes()[..], text.as_bytes()].concat();
        expected.resize(n_bytes - 1, b' ');
        expected.push(b'\n');
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_header_without_a_newline_is_read() {
    for padding in ["", " ", "   \n", "\n"] {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }}{padding}");
        for (version, n_length) in [(1, 2), (2, 4), (3, 4)] {
            let length = &text.len().to_le_bytes()[..n_length];
            let bytes = [b"\x93NUMPY", &[version, 0][..], length, text.as_bytes(), &2.5_f32.to_le_bytes()].concat();
            assert_eq!(read::<f32>(&bytes).unwrap(), arr1(&[2.5]).into_dyn(), "version {version}, {padding:?}");
        }
    }
}
