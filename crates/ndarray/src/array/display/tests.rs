//! Against what NumPy 2.4 prints, from `numpy_prints.txt`: a line a case, of dtype, shape, elements as hexadecimal bytes
//! (or `count`, for 0, 1, 2 and so on), and the text with `\n` for line breaks.

use super::*;

const CASES: &str = include_str!("numpy_prints.txt");

#[test]
fn arrays_print_as_numpys() {
    for line in CASES.lines().filter(|line| !line.starts_with('#')) {
        let [dtype, shape, elements, expected] = line.splitn(4, '|').collect::<Vec<_>>().try_into().unwrap();
        let shape: Vec<usize> =
            shape.split(',').filter(|len| !len.is_empty()).map(|len| len.parse().unwrap()).collect();
        let bytes: Vec<u8> = match elements {
            "count" => (0_i32..).take(shape.iter().product()).flat_map(i32::to_ne_bytes).collect(),
            hex => (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect(),
        };
        let printed = match dtype {
            "bool" => print::<Bool>(&shape, &bytes),
            "i8" => print::<i8>(&shape, &bytes),
            "u8" => print::<u8>(&shape, &bytes),
            "i32" => print::<i32>(&shape, &bytes),
            "i64" => print::<i64>(&shape, &bytes),
            "u64" => print::<u64>(&shape, &bytes),
            "f16" => print::<f16>(&shape, &bytes),
            "f32" => print::<f32>(&shape, &bytes),
            "f64" => print::<f64>(&shape, &bytes),
            "c64" => print::<Complex32>(&shape, &bytes),
            "c128" => print::<Complex64>(&shape, &bytes),
            "V3" => print::<Triple>(&shape, &bytes),
            other => panic!("{other}"),
        };
        assert_eq!(printed.replace('\n', "\\n"), expected, "{dtype} {shape:?}");
    }
}

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Triple([u8; 3]);

impl Element for Triple {
    const DTYPE: DType = DType::record::<Self>();
}

/// Prints the corners of a host array, which are selected in another way than in `corners`: by each element's index.
fn print<T: Element>(shape: &[usize], bytes: &[u8]) -> String {
    let all: Vec<T> = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
    let is_large = all.len() > THRESHOLD;
    let array = ArrayD::from_shape_vec(shape, all).unwrap();
    let is_shown = |at: &IxDyn| {
        shape.iter().enumerate().all(|(axis, &len)| !is_large || len <= 6 || at[axis] < 3 || at[axis] >= len - 3)
    };
    let shown: Vec<T> = array.indexed_iter().filter(|(at, _)| is_shown(at)).map(|(_, &value)| value).collect();
    text(shape, &shown, None, 0)
}

#[test]
fn bf16_prints_its_shortest_digits() {
    // NumPy has no `bf16`: the expected texts follow its rules for other floats.
    let words =
        |values: &[f32]| words(&values.iter().map(|&value| bf16::from_f32(value)).collect::<Vec<_>>(), false, None);
    assert_eq!(words(&[1.0, 0.1, -2.5]), [" 1. ", " 0.1", "-2.5"]);
    assert_eq!(words(&[100.0, 1.0]), ["1.e+02", "1.e+00"]);
}

#[test]
fn precision_and_width_apply_to_each_element() {
    fn printed<T: Element>(values: &[T], precision: Option<usize>, width: usize) -> String {
        text(&[values.len()], values, precision, width)
    }
    assert_eq!(printed(&[1.0_f32, -2.345, 100.0], Some(2), 0), "[  1.00  -2.35 100.00]");
    assert_eq!(printed(&[0.5_f64, 1.5, 2.5], Some(0), 0), "[0 2 2]"); // Ties to even, as Rust rounds.
    assert_eq!(printed(&[1e9_f32, 1.0], Some(1), 0), "[1000000000.0          1.0]"); // Never scientific.
    assert_eq!(printed(&[f64::NAN, f64::INFINITY, -f64::INFINITY, 1.0], Some(1), 0), "[ nan  inf -inf  1.0]");
    assert_eq!(printed(&[f16::from_f32(0.1)], Some(3), 8), "[   0.100]");
    assert_eq!(printed(&[bf16::from_f32(0.1)], Some(3), 0), "[0.100]"); // 0.10009765625.
    let complex = [Complex32 { re: 1.0, im: -2.0 }, Complex32 { re: -10.0, im: 0.25 }];
    assert_eq!(printed(&complex, Some(1), 0), "[  1.0-2.0j -10.0+0.2j]");
    assert_eq!(printed(&[7_i32, -12], Some(2), 5), "[    7   -12]"); // A precision has no effect on integers.
    assert_eq!(printed(&[Bool::from(true)], None, 6), "[  True]");
    assert_eq!(printed::<f32>(&[], Some(2), 4), "[]");
    assert_eq!(text(&[], &[2.0_f32], Some(2), 6), "  2.00");
    assert_eq!(text(&[2, 1], &[1.0_f32, -1.0], Some(1), 0), "[[ 1.0]\n [-1.0]]");
}
