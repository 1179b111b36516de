//! Archives that NumPy made, and damaged archives.

use std::io::Cursor;
use std::path::PathBuf;

use half::f16;
use ndarray::{ArrayD, arr0, arr1, arr2};
use tempfile::TempDir;
use vkarray_layout::Order;
use vkarray_shader::{Bool, Complex64, DType};

use super::*;

/// Archives that NumPy's `savez` and `savez_compressed` wrote.
const STORED: &[u8] = include_bytes!("../testdata/stored.npz");
const COMPRESSED: &[u8] = include_bytes!("../testdata/compressed.npz");

/// Writes an archive `x.npz` in a folder for this archive alone.
fn archive(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn open(bytes: &[u8]) -> NpzFile {
    let (_folder, path) = archive(bytes); // The file is removed and remains open.
    NpzFile::open(path).unwrap()
}

#[test]
fn archives_that_numpy_made_read() {
    let mut stored = open(STORED);
    assert_eq!(stored.names(), ["columns", "counts", "empty", "halves", "names", "point", "raw", "truth"]);
    assert_eq!(stored.read::<i32>("counts").unwrap(), arr2(&[[0, 1, 2], [3, 4, 5]]).into_dyn());
    let columns = stored.read::<f64>("columns").unwrap(); // Big-endian, in F order.
    assert_eq!((columns.strides(), &columns), (&[1, 2][..], &arr2(&[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]).into_dyn()));
    assert_eq!(stored.read::<Bool>("truth").unwrap(), arr1(&[Bool::from(true), Bool::from(false)]).into_dyn());
    assert_eq!(stored.read::<Complex64>("point").unwrap(), arr0(Complex64 { re: 1.5, im: -2.0 }).into_dyn());
    assert_eq!(stored.read::<f16>("halves").unwrap(), arr1(&[0.5, -2.0]).mapv(f16::from_f32).into_dyn());
    assert_eq!(stored.read::<u8>("empty").unwrap().shape(), [0, 3]);
    let header = stored.header("columns").unwrap();
    assert_eq!((header.dtype(), header.shape(), header.order()), (DType::F64, &[2, 3][..], Order::F));
    assert_eq!(stored.header("raw").unwrap().dtype(), DType::Record(3));
    assert!(matches!(stored.read::<u8>("names"), Err(FileError::DType { .. }))); // Text.
    let mut compressed = open(COMPRESSED);
    assert_eq!(
        compressed.read::<u16>("ramp").unwrap(),
        (0..300).map(|i| i / 4).collect::<ndarray::Array1<_>>().into_dyn()
    );
    assert_eq!(compressed.read::<f32>("small").unwrap(), arr1(&[1.0]).into_dyn());
    let error = compressed.read::<f32>("large").unwrap_err().to_string();
    assert!(error.ends_with("x.npz has no array `large`; it has `ramp`, `small`"), "{error}");
    assert!(matches!(compressed.read::<i16>("ramp"), Err(FileError::OtherDType { .. })));
}

#[test]
fn a_written_archive_is_read_back_unchanged() {
    let ramp: ArrayD<i32> = (0..3_000_000).collect::<ndarray::Array1<_>>().into_dyn(); // Read in several steps.
    let columns = arr2(&[[1.5_f32, 2.0], [3.0, 4.0]]).reversed_axes();
    for compressed in [false, true] {
        let file = Cursor::new(Vec::new());
        let mut writer = if compressed { NpzWriter::compressed(file) } else { NpzWriter::new(file) };
        writer.add("ramp", &ramp).unwrap();
        writer.add("folder/columns", &columns).unwrap();
        assert!(matches!(writer.add("ramp", &ramp), Err(FileError::Add { .. })));
        let bytes = writer.finish().unwrap().into_inner();
        assert_eq!(bytes.len() < 12_000_000, compressed);
        let mut archive = open(&bytes);
        assert_eq!(archive.names(), ["folder/columns", "ramp"]);
        assert_eq!(archive.read::<i32>("ramp").unwrap(), ramp);
        assert_eq!(archive.read::<f32>("folder/columns").unwrap(), columns.clone().into_dyn());
    }
}

#[test]
fn damaged_archives_are_refused() {
    for bytes in [&b""[..], b"PK", &STORED[..STORED.len() / 2], b"\x93NUMPY\x01\x00"] {
        let (_folder, path) = archive(bytes);
        assert!(matches!(NpzFile::open(path), Err(FileError::Archive { .. })));
    }
    let (folder, path) = archive(STORED);
    assert!(matches!(NpzFile::open(folder.path()), Err(FileError::NotAFile { .. })));
    assert!(matches!(NpzFile::open(path.with_extension("not")), Err(FileError::Read { .. })));
    // One byte of an element is changed, so the checksum is wrong.
    let mut bytes = STORED.to_vec();
    let at = STORED.windows(8).position(|window| window == [0, 0, 0, 0, 1, 0, 0, 0]).unwrap();
    bytes[at] ^= 1;
    assert!(matches!(open(&bytes).read::<i32>("counts"), Err(FileError::Elements { .. })));
}

/// With any single byte damaged, reading gives the array or an error, and allocates no more than the header claims.
#[test]
fn any_damaged_byte_gives_the_array_or_an_error() {
    let expected = open(COMPRESSED).read::<f32>("small").unwrap();
    for at in 0..COMPRESSED.len() {
        for flip in [0xff, 0x01] {
            let mut bytes = COMPRESSED.to_vec();
            bytes[at] ^= flip;
            let (_folder, path) = archive(&bytes);
            let Ok(mut archive) = NpzFile::open(path) else { continue };
            if let Ok(array) = archive.read::<f32>("small") {
                assert_eq!(array, expected, "byte {at}");
            }
        }
    }
}

/// An entry may claim any length; memory is allocated only for the bytes that arrive.
#[test]
fn an_entry_shorter_than_it_claims_is_refused() {
    let claim = 1_u64 << 40;
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({claim},), }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    let start = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat();
    let header = NpyHeader::parse("x", &start, start.len() as u64 + claim).unwrap();
    let few = [1; 100];
    assert!(matches!(read_elements::<u8>("x", &header, &few[..], 0), Err(FileError::Elements { .. })));
}
