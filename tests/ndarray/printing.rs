//! Printing: the text is NumPy's, and only the elements that are shown are read.

use ::ndarray::{Array1, arr0};
use vkarray::{DeviceNDArray, Index};

use super::counted;
use crate::fixture::Fixture;

#[test]
fn small_arrays_are_printed_completely() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[2, 3])).unwrap();
    assert_eq!(array.to_string(), "[[0 1 2]\n [3 4 5]]");
    let turned = array.transpose(None).unwrap().slice([Index::stepped(.., -1)]).unwrap();
    assert_eq!(turned.to_string(), "[[2 5]\n [1 4]\n [0 3]]");
    assert_eq!(fixture.to_device(&arr0(1.5_f32)).unwrap().to_string(), "1.5");
    assert_eq!(fixture.zeros::<f64>([0, 3]).unwrap().to_string(), "[]");
    let halves = fixture.to_device(&Array1::from_vec(vec![0.5_f64, -10.25, f64::NAN])).unwrap();
    assert_eq!(format!("{halves}"), "[  0.5  -10.25    nan]");
}

#[test]
fn large_arrays_are_printed_as_their_corners() {
    let fixture = Fixture::open();
    let line = fixture.arange(0_i32, 2000, 1).unwrap();
    assert_eq!(line.to_string(), "[   0    1    2 ... 1997 1998 1999]");
    let backwards = line.slice([Index::stepped(.., -1)]).unwrap();
    assert_eq!(backwards.to_string(), "[1999 1998 1997 ...    2    1    0]");
    let block = line.reshape([2, 10, 100]).unwrap();
    let expected = "[[[   0    1    2 ...   97   98   99]\n  [ 100  101  102 ...  197  198  199]\n  \
        [ 200  201  202 ...  297  298  299]\n  ...\n  [ 700  701  702 ...  797  798  799]\n  \
        [ 800  801  802 ...  897  898  899]\n  [ 900  901  902 ...  997  998  999]]\n\n \
        [[1000 1001 1002 ... 1097 1098 1099]\n  [1100 1101 1102 ... 1197 1198 1199]\n  \
        [1200 1201 1202 ... 1297 1298 1299]\n  ...\n  [1700 1701 1702 ... 1797 1798 1799]\n  \
        [1800 1801 1802 ... 1897 1898 1899]\n  [1900 1901 1902 ... 1997 1998 1999]]]";
    assert_eq!(block.to_string(), expected);
    // Far more elements than could be read in the time of a test.
    let endless = line.index([7]).unwrap().broadcast_to([1 << 40]).unwrap();
    assert_eq!(endless.to_string(), "[7 7 7 ... 7 7 7]");
}

#[test]
fn debug_does_not_print_elements() {
    let fixture = Fixture::open();
    let array: DeviceNDArray<i32> = fixture.to_device(&counted(&[2, 3])).unwrap().transpose(None).unwrap();
    let text = format!("{array:?}");
    assert!(text.starts_with("DeviceNDArray { dtype: i32, shape: [3, 2], strides: [1, 3], device: "), "{text}");
}
