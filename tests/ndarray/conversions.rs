//! `astype` between all types: every bit pattern of the short types, edge cases and random values of the long ones.
//!
//! Results are compared with Rust's `as`, which rounds once and saturates; for 16-bit floats, which `as` does not have,
//! with the nearest among the neighbours of an estimate.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "what `as` makes of a number is the oracle"
)]

use bytemuck::Zeroable;
use fastrand::Rng;
use half::{bf16, f16};
use vkarray::{DType, DeviceNDArray, Element, Index, Order};
use vkarray_kernel::{Bool, Complex32, Complex64};

use crate::fixture::{Fixture, contents};

/// A number, represented exactly.
#[derive(Debug, Clone, Copy)]
enum Exact {
    Integer(i128),
    Float(f64),
}

trait Number: Element + std::fmt::Debug {
    fn exact(self) -> Exact;
    fn of(value: Exact) -> Self;
}

macro_rules! numbers {
    ($variant:ident as $wide:ty: $($ty:ty)*) => {$(
        impl Number for $ty {
            fn exact(self) -> Exact {
                Exact::$variant(self as $wide)
            }

            fn of(value: Exact) -> Self {
                match value {
                    Exact::Integer(value) => value as Self,
                    Exact::Float(value) => value as Self,
                }
            }
        }
    )*};
}

numbers!(Integer as i128: i8 u8 i16 u16 i32 u32 i64 u64);
numbers!(Float as f64: f32 f64);

impl Number for Bool {
    fn exact(self) -> Exact {
        Exact::Integer(i128::from(bool::from(self)))
    }

    fn of(value: Exact) -> Self {
        Self::from(match value {
            Exact::Integer(value) => value != 0,
            Exact::Float(value) => value != 0.0,
        })
    }
}

macro_rules! halves {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            fn exact(self) -> Exact {
                Exact::Float(self.to_f64())
            }

            fn of(value: Exact) -> Self {
                // A value beyond the largest number by half a step or more is infinite.
                let max = $ty::MAX.to_f64();
                let step = max - $ty::from_bits($ty::MAX.to_bits() - 1).to_f64();
                let (guess, is_beyond, is_negative) = match value {
                    Exact::Float(value) if value.is_nan() => return $ty::NAN,
                    Exact::Float(value) => ($ty::from_f64(value), value.abs() >= max + step / 2.0, value.is_sign_negative()),
                    Exact::Integer(value) => ($ty::from_f64(value as f64), value.abs() >= (max + step / 2.0) as i128, value < 0),
                };
                if is_beyond {
                    return if is_negative { $ty::NEG_INFINITY } else { $ty::INFINITY };
                }
                let size = guess.to_bits() & 0x7fff;
                let near = [size.saturating_sub(1), size, size + 1].map(|bits| $ty::from_bits(bits | (guess.to_bits() & 0x8000)));
                // The integer part and the rest are compared, so that neither is rounded. The bits of positive numbers
                // are in the order of the numbers.
                let distance = |of: &$ty| match value {
                    Exact::Integer(value) if of.to_f64().abs() > 1e10 => ((of.to_f64() as i128 - value).abs(), 0),
                    Exact::Integer(value) => (0, (of.to_f64() - value as f64).abs().to_bits()),
                    Exact::Float(value) => (0, (of.to_f64() - value).abs().to_bits()),
                };
                let finite = near.into_iter().filter(|of| of.is_finite());
                finite.min_by_key(|of| (distance(of), of.to_bits() & 1)).unwrap()
            }
        }
    )*};
}

halves!(f16 bf16);

/// Every bit pattern of types of up to two bytes; of longer types, values near powers of two, and noise.
fn values<T: Number>() -> Vec<T> {
    let n = size_of::<T>();
    if n <= 2 {
        let patterns = 0..=u16::MAX >> (16 - 8 * n);
        return patterns.map(|bits| bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..n])).collect();
    }
    let mut rng = Rng::with_seed(9);
    let mut values = Vec::new();
    for power in 0..70 {
        for mantissa in [1.0, 1.5, 1.25, 1.0 + f64::EPSILON, 2.0 - f64::EPSILON, 1.000_488_281_25, 1.003_906_25] {
            for sign in [-1.0, 1.0] {
                let size = mantissa * f64::powi(2.0, power);
                values.push(T::of(Exact::Integer((sign * size) as i128)));
                values.push(T::of(Exact::Integer((sign * size) as i128 - 1)));
                values.push(T::of(Exact::Float(sign * size)));
                values.push(T::of(Exact::Float(sign * size / f64::powi(2.0, 48))));
                values.push(T::of(Exact::Float(sign * size / f64::powi(2.0, 180))));
            }
        }
    }
    for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, 0.0, -0.0, 0.5] {
        values.push(T::of(Exact::Float(special)));
    }
    values.extend((0..500).map(|_| bytemuck::pod_read_unaligned::<T>(&rng.u64(..).to_le_bytes()[..n])));
    values
}

fn is_same<T: Number>(found: T, expected: T) -> bool {
    match (found.exact(), expected.exact()) {
        (Exact::Float(found), Exact::Float(expected)) if expected.is_nan() => found.is_nan(),
        _ => bytemuck::bytes_of(&found) == bytemuck::bytes_of(&expected),
    }
}

fn converts<T: Number, U: Number>(values: &[T], array: &DeviceNDArray<T>) {
    let found = contents(&array.astype::<U>().unwrap());
    for (&value, found) in values.iter().zip(found) {
        let expected = U::of(value.exact());
        assert!(is_same(found, expected), "{value:?} ({}) is {found:?}, not {expected:?} ({})", T::DTYPE, U::DTYPE);
    }
}

fn converts_to_all<T: Number>(fixture: &Fixture) {
    let values = values::<T>();
    let array = fixture.slice_to_device(&values).unwrap();
    converts::<T, Bool>(&values, &array);
    converts::<T, i8>(&values, &array);
    converts::<T, u8>(&values, &array);
    converts::<T, i16>(&values, &array);
    converts::<T, u16>(&values, &array);
    converts::<T, f16>(&values, &array);
    converts::<T, bf16>(&values, &array);
    converts::<T, i32>(&values, &array);
    converts::<T, u32>(&values, &array);
    converts::<T, f32>(&values, &array);
    converts::<T, i64>(&values, &array);
    converts::<T, u64>(&values, &array);
    converts::<T, f64>(&values, &array);
}

#[test]
fn integers_become_every_type() {
    let fixture = Fixture::open();
    converts_to_all::<Bool>(&fixture);
    converts_to_all::<i8>(&fixture);
    converts_to_all::<u8>(&fixture);
    converts_to_all::<i16>(&fixture);
    converts_to_all::<u16>(&fixture);
    converts_to_all::<i32>(&fixture);
    converts_to_all::<u32>(&fixture);
    converts_to_all::<i64>(&fixture);
    converts_to_all::<u64>(&fixture);
}

#[test]
fn floats_become_every_type() {
    let fixture = Fixture::open();
    converts_to_all::<f16>(&fixture);
    converts_to_all::<bf16>(&fixture);
    converts_to_all::<f32>(&fixture);
    converts_to_all::<f64>(&fixture);
}

#[test]
fn complex_numbers_keep_their_real_part() {
    let fixture = Fixture::open();
    let complex = |re, im| Complex32 { re, im };
    let array = fixture.slice_to_device(&[complex(1.5, 9.0), complex(0.0, -1.0), complex(0.0, -0.0)]).unwrap();
    assert_eq!(contents(&array.astype::<f64>().unwrap()), [1.5, 0.0, 0.0]);
    assert_eq!(contents(&array.astype::<u8>().unwrap()), [1, 0, 0]);
    assert_eq!(contents(&array.astype::<Bool>().unwrap()), [true, true, false].map(Bool::from));
    assert_eq!(contents(&array.astype::<Complex32>().unwrap()), contents(&array));
    let real = fixture.slice_to_device(&[-3_i64, 1 << 40]).unwrap();
    assert_eq!(contents(&real.astype::<Complex32>().unwrap()), [complex(-3.0, 0.0), complex(1_099_511_627_776.0, 0.0)]);
}

#[test]
fn complex_numbers_become_wider_and_narrower() {
    let fixture = Fixture::open();
    let (single, double) = (|re, im| Complex32 { re, im }, |re, im| Complex64 { re, im });
    let parts = [(1.1, -2e300), (-0.0, 5e-324), (0.0, 0.0), (0.0, -0.0), (2e9, 1e-40), (-3.9, f64::INFINITY)];
    let numbers: Vec<Complex64> = parts.map(|(re, im)| double(re, im)).to_vec();
    let array = fixture.slice_to_device(&numbers).unwrap();
    let narrow: Vec<Complex32> = parts.map(|(re, im)| single(re as f32, im as f32)).to_vec();
    let same = |found: &[u8], expected: &[u8]| assert_eq!(found, expected);
    same(bytemuck::cast_slice(&contents(&array.astype::<Complex32>().unwrap())), bytemuck::cast_slice(&narrow));
    same(bytemuck::cast_slice(&contents(&array.astype::<Complex64>().unwrap())), bytemuck::cast_slice(&numbers));
    let narrow_array = fixture.slice_to_device(&narrow).unwrap();
    let widened: Vec<Complex64> = narrow.iter().map(|c| double(f64::from(c.re), f64::from(c.im))).collect();
    same(bytemuck::cast_slice(&contents(&narrow_array.astype::<Complex64>().unwrap())), bytemuck::cast_slice(&widened));
    // The real part alone is kept, except in a conversion to a truth value.
    assert_eq!(contents(&array.astype::<f64>().unwrap()), parts.map(|(re, _)| re));
    assert_eq!(contents(&array.astype::<f32>().unwrap()), parts.map(|(re, _)| re as f32));
    assert_eq!(contents(&array.astype::<f16>().unwrap()), parts.map(|(re, _)| f16::of(Exact::Float(re))));
    assert_eq!(contents(&array.astype::<i64>().unwrap()), parts.map(|(re, _)| re as i64));
    assert_eq!(contents(&array.astype::<u8>().unwrap()), parts.map(|(re, _)| re as u8));
    let is_true = parts.map(|(re, im)| Bool::from(re != 0.0 || im != 0.0));
    assert_eq!(contents(&array.astype::<Bool>().unwrap()), is_true);
    // Conversions from real numbers of every size, of more elements than a workgroup has, and from a view with gaps.
    let small: Vec<i8> = (-128..=127).cycle().take(1001).collect();
    let from = fixture.slice_to_device(&small).unwrap().astype::<Complex64>().unwrap();
    assert_eq!(contents(&from), small.iter().map(|&re| double(f64::from(re), 0.0)).collect::<Vec<_>>());
    let every = fixture.slice_to_device(&[i64::MAX, -3, 1 << 40]).unwrap().slice([Index::stepped(.., 2)]).unwrap();
    let expected = [double(i64::MAX as f64, 0.0), double((1_i64 << 40) as f64, 0.0)];
    assert_eq!(contents(&every.astype::<Complex64>().unwrap()), expected);
    let tail = array.slice([Index::stepped(1.., 2)]).unwrap();
    assert_eq!(contents(&tail.astype::<f64>().unwrap()), [1, 3, 5].map(|i| parts[i].0));
}

/// The bits of exponent and mantissa.
#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    mantissa: u32,
}

fn format_of<T: Element>() -> Format {
    let (exponent, mantissa) = match T::DTYPE {
        DType::F16 => (5, 10),
        DType::BF16 => (8, 7),
        DType::F32 => (8, 23),
        DType::F64 => (11, 52),
        other => panic!("{other} is no float"),
    };
    Format { exponent, mantissa }
}

/// A NaN of a sign, and a payload whose highest bit is bit 51.
fn nan<T: Element>(is_negative: bool, payload: u64) -> T {
    let Format { exponent, mantissa } = format_of::<T>();
    let bits = (u64::from(is_negative) << exponent | ((1 << exponent) - 1)) << mantissa | payload >> (52 - mantissa);
    bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()])
}

fn nans_become<T: Element, U: Element>(fixture: &Fixture) {
    const QUIET: u64 = 1 << 51;
    let lost = 52 - format_of::<T>().mantissa;
    let payloads = [QUIET, QUIET | 0x5_5aa5_1234_5678, 0x2_1000_0000_0000, QUIET | ((1 << 51) - 1), 1 << lost, 7 << 49];
    let cases: Vec<(bool, u64)> = payloads.iter().flat_map(|&payload| [(false, payload), (true, payload)]).collect();
    let given: Vec<T> = cases.iter().map(|&(sign, payload)| nan(sign, payload)).collect();
    let found = contents(&fixture.slice_to_device(&given).unwrap().astype::<U>().unwrap());
    let is_same = T::DTYPE == U::DTYPE;
    for (&(sign, payload), found) in cases.iter().zip(&found) {
        let known = payload >> lost << lost; // The bits that the source has.
        let expected: U = nan(sign, if is_same { known } else { known | QUIET });
        assert_eq!(
            bytemuck::bytes_of(found),
            bytemuck::bytes_of(&expected),
            "{payload:#x}, {} to {}",
            T::DTYPE,
            U::DTYPE
        );
    }
}

#[test]
fn nans_keep_their_sign_and_payload_and_become_quiet() {
    macro_rules! all {
        ($fixture:ident: $($from:ty)*) => {$(
            nans_become::<$from, f16>($fixture);
            nans_become::<$from, bf16>($fixture);
            nans_become::<$from, f32>($fixture);
            nans_become::<$from, f64>($fixture);
        )*};
    }
    let fixture = &Fixture::open();
    all!(fixture: f16 bf16 f32 f64);
}

#[test]
fn views_are_converted_and_the_copy_keeps_their_order() {
    let fixture = Fixture::open();
    let host = super::counted(&[5, 6, 7]);
    let array = fixture.to_device(&host).unwrap().transpose(Some(&[2, 0, 1])).unwrap();
    let converted = array.astype::<f32>().unwrap();
    assert_eq!((converted.shape(), converted.strides()), ([7, 5, 6].as_slice(), [1, 42, 7].as_slice()));
    let expected = host.permuted_axes(::ndarray::IxDyn(&[2, 0, 1])).mapv(|value| value as f32);
    assert_eq!(converted.copy_to_host().unwrap(), expected);
    // Views from an odd offset in the block, with gaps, reversed, and empty.
    let cut = array.slice([Index::stepped(.., -2), Index::from(1..), Index::stepped(1.., 3)]).unwrap();
    let part = expected.slice(::ndarray::s![..;-2, 1.., 1..;3]).mapv(|value| value as u8);
    assert_eq!(cut.astype::<u8>().unwrap().copy_to_host().unwrap(), part.into_dyn());
    let tail = fixture.slice_to_device(&[1_u8, 2, 3, 4, 5, 6, 7]).unwrap().slice([Index::from(3..)]).unwrap();
    assert_eq!(contents(&tail.astype::<i16>().unwrap()), [4, 5, 6, 7]);
    assert_eq!(tail.slice([Index::from(1..1)]).unwrap().astype::<f64>().unwrap().shape(), [0]);
    let same = tail.astype::<u8>().unwrap();
    tail.fill(9).unwrap();
    assert_eq!(contents(&same), [4, 5, 6, 7], "a conversion to the same type is a copy");
    assert!(same.to_contiguous(Order::C).unwrap().is_c_contiguous());
}

#[test]
fn records_have_no_conversion() {
    #[derive(Debug, Clone, Copy, bytemuck::Pod, Zeroable)]
    #[repr(C)]
    struct Pair([u32; 2]);
    impl Element for Pair {
        const DTYPE: vkarray::DType = vkarray::DType::record::<Self>();
    }
    let fixture = Fixture::open();
    let error = fixture.zeros::<Pair>([3]).unwrap().astype::<f32>().unwrap_err();
    assert_eq!(error.to_string(), "elements of record8 cannot be converted to f32");
}
