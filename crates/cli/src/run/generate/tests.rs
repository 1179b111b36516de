//! Arrays made from descriptions.

use std::collections::BTreeSet;

use vkarray::array::Bool;

use super::*;
use crate::array::with_array;

fn make(fill: Fill, dtype: DType, shape: &[usize]) -> HostArray {
    let generated = Generated { fill, dtype, shape: shape.to_vec() };
    generated.check("x").unwrap();
    generated.make().unwrap()
}

const ALL: [DType; 12] = [
    DType::Bool,
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::F16,
    DType::I32,
    DType::U32,
    DType::F32,
    DType::I64,
    DType::U64,
    DType::F64,
];

#[test]
fn every_type_and_shape_can_be_made() {
    for dtype in ALL {
        for shape in [&[][..], &[0], &[1], &[2, 1], &[2, 0, 3]] {
            let full = Fill::Full("1".to_owned());
            for fill in [Fill::Zeros, full, Fill::Arange, Fill::Random { seed: 3 }] {
                let array = make(fill.clone(), dtype, shape);
                assert_eq!(with_array!(&array, array => array.shape().to_vec()), shape, "{fill:?} {dtype}");
                assert_eq!(dtype_of(&array), dtype, "{fill:?} {shape:?}");
            }
        }
    }
}

fn dtype_of(array: &HostArray) -> DType {
    fn typed<T: HostElement>(_: &ArrayD<T>) -> DType {
        DType::of::<T>()
    }
    with_array!(array, array => typed(array))
}

#[test]
fn values_are_what_was_asked_for() {
    let cases = [
        (make(Fill::Zeros, DType::U32, &[3]), HostArray::new(ndarray::arr1(&[0_u32, 0, 0]).into_dyn())),
        (make(Fill::Zeros, DType::Bool, &[1]), HostArray::new(ndarray::arr1(&[Bool::from(false)]).into_dyn())),
        (
            make(Fill::Full("-0x10".to_owned()), DType::I64, &[2]),
            HostArray::new(ndarray::arr1(&[-16_i64, -16]).into_dyn()),
        ),
        (make(Fill::Full("0.1".to_owned()), DType::F32, &[1]), HostArray::new(ndarray::arr1(&[0.1_f32]).into_dyn())),
        (
            make(Fill::Arange, DType::F32, &[2, 3]), // The last axis varies fastest.
            HostArray::new(ndarray::arr2(&[[0.0_f32, 1.0, 2.0], [3.0, 4.0, 5.0]]).into_dyn()),
        ),
        (
            make(Fill::Arange, DType::Bool, &[2]),
            HostArray::new(ndarray::arr1(&[Bool::from(false), Bool::from(true)]).into_dyn()),
        ),
    ];
    for (array, expected) in cases {
        assert_eq!(array, expected);
    }
}

#[test]
fn floats_are_uniform_below_one() {
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let array = make(Fill::Random { seed: 7 }, dtype, &[10_000]);
        let values: Vec<f64> = match &array {
            HostArray::F16(array) => array.iter().map(|&value| f64::from(value)).collect(),
            HostArray::F32(array) => array.iter().map(|&value| f64::from(value)).collect(),
            HostArray::F64(array) => array.iter().copied().collect(),
            other => panic!("{other:?}"),
        };
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)), "{dtype}");
        // Ten bins of 1000 each: six standard deviations are 180.
        for bin in 0..10 {
            let n = values.iter().filter(|&&value| (value * 10.0).floor() == f64::from(bin)).count();
            assert!((820..1180).contains(&n), "{dtype}: {n} of 10000 in bin {bin}");
        }
    }
}

#[test]
fn even_steps_have_both_ends() {
    let linspace = |start: &str, stop: &str, n| {
        let fill = Fill::Linspace { start: start.to_owned(), stop: stop.to_owned() };
        let HostArray::F64(array) = make(fill, DType::F64, &[n]) else { panic!("asked for f64") };
        array.iter().copied().collect::<Vec<f64>>()
    };
    assert_eq!(linspace("0", "1", 5), [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(linspace("3", "-3", 3), [3.0, 0.0, -3.0]);
    assert_eq!(linspace("0.1", "0.7", 4), [0.1, 0.1 + (0.7 - 0.1) / 3.0, 0.1 + 2.0 * ((0.7 - 0.1) / 3.0), 0.7]); // NumPy's.
    assert_eq!((linspace("2", "9", 1), linspace("2", "9", 0)), (vec![2.0], vec![]));
    let fill = Fill::Linspace { start: "0".to_owned(), stop: "1e6".to_owned() };
    let error = Generated { fill, dtype: DType::F16, shape: vec![2] }.check("x").unwrap_err();
    assert!(matches!(error, Error::Number { .. }), "{error}");
}

#[test]
fn normal_numbers_have_mean_zero_and_deviation_one() {
    let HostArray::F32(array) = make(Fill::Normal { seed: 7 }, DType::F32, &[10_000]) else { panic!("asked for f32") };
    let n = array.len() as f64;
    let mean = array.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
    let variance = array.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
    // The bounds are six standard deviations of the mean and of the variance.
    assert!(mean.abs() < 0.06 && (variance - 1.0).abs() < 0.085, "{mean} {variance}");
    let beyond_two = array.iter().filter(|x| x.abs() > 2.0).count();
    assert!((330..580).contains(&beyond_two), "{beyond_two}"); // 455 are expected.
    assert_ne!(make(Fill::Normal { seed: 8 }, DType::F32, &[10_000]), HostArray::F32(array));
}

#[test]
fn integers_take_the_full_range() {
    let HostArray::U8(array) = make(Fill::Random { seed: 1 }, DType::U8, &[10_000]) else { panic!("asked for u8") };
    assert_eq!(array.iter().collect::<BTreeSet<_>>().len(), 256);
    let HostArray::I64(array) = make(Fill::Random { seed: 1 }, DType::I64, &[1000]) else { panic!("asked for i64") };
    assert!(array.iter().any(|&value| value < i64::MIN / 2) && array.iter().any(|&value| value > i64::MAX / 2));
}

#[test]
fn a_seed_means_the_same_array_everywhere() {
    // The values are pinned: PCG XSL RR 128/64 seeded through `seed_from_u64`. A change here breaks the users' stored
    // results.
    let array = make(Fill::Random { seed: 7 }, DType::U32, &[4]);
    assert_eq!(
        array,
        HostArray::new(ndarray::arr1(&[3_507_742_735_u32, 1_427_645_005, 1_059_717_588, 279_434_225]).into_dyn())
    );
    assert_ne!(make(Fill::Random { seed: 8 }, DType::U32, &[4]), array);
}
