//! Ranges against values that NumPy 2.4 printed, by their bits.

use super::*;

// Start, stop, step, bits.
const F32_RANGES: &[(f32, f32, f32, &[u32])] = &[
    (
        0.0,
        1.0,
        0.1,
        &[
            0x0, 0x3dcccccd, 0x3e4ccccd, 0x3e99999a, 0x3ecccccd, 0x3f000000, 0x3f19999a, 0x3f333333, 0x3f4ccccd,
            0x3f666667,
        ],
    ),
    (0.0, 10.0, 3.0, &[0x0, 0x40400000, 0x40c00000, 0x41100000]),
    (10.0, 0.0, -2.5, &[0x41200000, 0x40f00000, 0x40a00000, 0x40200000]),
    (1.0, 1.0, 1.0, &[]),
    (2.0, 1.0, 1.0, &[]),
    (-0.0, 2.0, 1.0, &[0x80000000, 0x3f800000]),
    (0.0, 1e-45, 1.0, &[0x0]),
    (0.0, -1e-45, f32::INFINITY, &[]),
    (0.0, 1.0, f32::INFINITY, &[0x0]),
    (0.1, 0.7, 0.1, &[0x3dcccccd, 0x3e4ccccd, 0x3e99999a, 0x3ecccccd, 0x3f000000, 0x3f19999a]),
    (-1.0, 1.0, 0.3, &[0xbf800000, 0xbf333333, 0xbecccccc, 0xbdccccc8, 0x3e4cccd0, 0x3f000000, 0x3f4cccce]),
    (100000000.0, 100000064.0, 16.0, &[0x4cbebc20, 0x4cbebc22, 0x4cbebc24, 0x4cbebc26]),
];

const F64_RANGES: &[(f64, f64, f64, &[u64])] = &[
    (
        0.0,
        1.0,
        0.1,
        &[
            0x0,
            0x3fb999999999999a,
            0x3fc999999999999a,
            0x3fd3333333333334,
            0x3fd999999999999a,
            0x3fe0000000000000,
            0x3fe3333333333334,
            0x3fe6666666666667,
            0x3fe999999999999a,
            0x3feccccccccccccd,
        ],
    ),
    (
        0.1,
        0.7,
        0.1,
        &[
            0x3fb999999999999a,
            0x3fc999999999999a,
            0x3fd3333333333334,
            0x3fd999999999999a,
            0x3fe0000000000000,
            0x3fe3333333333333,
        ],
    ),
    (
        1.0,
        2.0,
        0.1,
        &[
            0x3ff0000000000000,
            0x3ff199999999999a,
            0x3ff3333333333334,
            0x3ff4ccccccccccce,
            0x3ff6666666666668,
            0x3ff8000000000002,
            0x3ff999999999999c,
            0x3ffb333333333336,
            0x3ffcccccccccccd0,
            0x3ffe66666666666a,
        ],
    ),
    (10.0, 0.0, -3.3, &[0x4024000000000000, 0x401acccccccccccd, 0x400b333333333334, 0x3fb9999999999a00]),
    (0.0, 1.0, f64::INFINITY, &[0x0]),
    (5.0, 5.0, -1.0, &[]),
];

const F16_RANGES: &[(f32, f32, f32, &[u16])] = &[
    (0.0, 1.0, 0.1, &[0x0, 0x2e66, 0x3266, 0x34cc, 0x3666, 0x3800, 0x38cc, 0x3999, 0x3a66, 0x3b33]),
    (0.0, 3.0, 0.3, &[0x0, 0x34cd, 0x38cd, 0x3b34, 0x3ccd, 0x3e00, 0x3f34, 0x4033, 0x40cd, 0x4167]),
    (1000.0, 1010.0, 1.5, &[0x63d0, 0x63d3, 0x63d6, 0x63d9, 0x63dc, 0x63df, 0x63e2]),
    (2.0, -2.0, -0.7, &[0x4000, 0x3d33, 0x38cc, 0xae70, 0xba68, 0xbe01]),
];

// Start, stop, how many numbers, whether `stop` is one of them, bits.
const F32_SPACED: &[(f32, f32, usize, bool, &[u32])] = &[
    (0.0, 1.0, 7, true, &[0x0, 0x3e2aaaab, 0x3eaaaaab, 0x3f000000, 0x3f2aaaab, 0x3f555556, 0x3f800000]),
    (0.0, 1.0, 7, false, &[0x0, 0x3e124925, 0x3e924925, 0x3edb6db8, 0x3f124925, 0x3f36db6e, 0x3f5b6db8]),
    (1.0, 0.3, 5, true, &[0x3f800000, 0x3f533333, 0x3f266666, 0x3ef33334, 0x3e99999a]),
    (0.0, 1.0, 1, true, &[0x0]),
    (0.0, 1.0, 1, false, &[0x0]),
    (0.0, 1.0, 0, true, &[]),
    (2.0, 2.0, 3, true, &[0x40000000, 0x40000000, 0x40000000]),
    (0.0, 1e-45, 4, true, &[0x0, 0x0, 0x1, 0x1]),
    (-0.0, 1.0, 3, true, &[0x0, 0x3f000000, 0x3f800000]),
    (0.1, 0.9, 6, false, &[0x3dcccccd, 0x3e6eeeee, 0x3ebbbbbb, 0x3effffff, 0x3f222222, 0x3f444444]),
];

const F64_SPACED: &[(f64, f64, usize, bool, &[u64])] = &[
    (
        0.0,
        1.0,
        7,
        true,
        &[
            0x0,
            0x3fc5555555555555,
            0x3fd5555555555555,
            0x3fe0000000000000,
            0x3fe5555555555555,
            0x3feaaaaaaaaaaaaa,
            0x3ff0000000000000,
        ],
    ),
    (
        0.1,
        0.9,
        6,
        false,
        &[
            0x3fb999999999999a,
            0x3fcdddddddddddde,
            0x3fd7777777777778,
            0x3fe0000000000000,
            0x3fe4444444444444,
            0x3fe8888888888888,
        ],
    ),
    (5.0, -5.0, 4, true, &[0x4014000000000000, 0x3ffaaaaaaaaaaaaa, 0xbffaaaaaaaaaaaac, 0xc014000000000000]),
    (0.0, 5e-324, 4, true, &[0x0, 0x0, 0x1, 0x1]),
];

const F16_SPACED: &[(f32, f32, usize, bool, &[u16])] = &[
    (0.0, 1.0, 7, true, &[0x0, 0x3155, 0x3555, 0x3800, 0x3955, 0x3aaa, 0x3c00]),
    (1.0, 3.0, 6, false, &[0x3c00, 0x3d55, 0x3eaa, 0x4000, 0x40aa, 0x4155]),
];

/// The bits of a range's values.
fn arange<T: Number, B>(case: (T, T, T), bits: fn(T) -> B) -> Vec<B> {
    let (start, stop, step) = case;
    let len = T::range_len(start, stop, step).unwrap();
    T::range(start, step, len).map(bits).collect()
}

#[test]
fn ranges_of_floats_have_numpys_bits() {
    for &(start, stop, step, expected) in F32_RANGES {
        assert_eq!(arange((start, stop, step), f32::to_bits), expected, "{start} {stop} {step}");
    }
    for &(start, stop, step, expected) in F64_RANGES {
        assert_eq!(arange((start, stop, step), f64::to_bits), expected, "{start} {stop} {step}");
    }
    for &(start, stop, step, expected) in F16_RANGES {
        let case = (f16::from_f32(start), f16::from_f32(stop), f16::from_f32(step));
        assert_eq!(arange(case, f16::to_bits), expected, "{start} {stop} {step}");
    }
}

#[test]
fn evenly_spaced_numbers_have_numpys_bits() {
    for &(start, stop, num, endpoint, expected) in F32_SPACED {
        let values: Vec<_> = f32::evenly(start, stop, num, endpoint).map(f32::to_bits).collect();
        assert_eq!(values, expected, "{start} {stop} {num} {endpoint}");
    }
    for &(start, stop, num, endpoint, expected) in F64_SPACED {
        let values: Vec<_> = f64::evenly(start, stop, num, endpoint).map(f64::to_bits).collect();
        assert_eq!(values, expected, "{start} {stop} {num} {endpoint}");
    }
    for &(start, stop, num, endpoint, expected) in F16_SPACED {
        let values = f16::evenly(f16::from_f32(start), f16::from_f32(stop), num, endpoint);
        let values: Vec<_> = values.into_iter().map(f16::to_bits).collect();
        assert_eq!(values, expected, "{start} {stop} {num} {endpoint}");
    }
    let cases: &[(i32, i32, usize, bool, &[i32])] = &[
        (0, 10, 7, true, &[0, 1, 3, 5, 6, 8, 10]),
        (-5, 5, 4, true, &[-5, -2, 1, 5]),
        (-7, 0, 4, false, &[-7, -6, -4, -2]),
        (3, 3, 2, true, &[3, 3]),
    ];
    for &(start, stop, num, endpoint, expected) in cases {
        assert_eq!(
            i32::evenly(start, stop, num, endpoint).collect::<Vec<_>>(),
            expected,
            "{start} {stop} {num} {endpoint}"
        );
    }
    assert!(u8::evenly(255, 0, 4, true).eq([255, 170, 85, 0]));
    assert!(u64::evenly(0, u64::MAX, 2, true).eq([0, u64::MAX])); // `f64` cannot represent it.
}

#[test]
fn ranges_of_integers_are_exact() {
    // Start, stop, step, how many numbers, the last number.
    let cases: &[(i64, i64, i64, usize, Option<i64>)] = &[
        (0, 5, 1, 5, Some(4)),
        (0, 5, 2, 3, Some(4)),
        (0, 6, 2, 3, Some(4)),
        (5, 0, -2, 3, Some(1)),
        (5, 5, 1, 0, None),
        (5, 0, 1, 0, None),  // Leads away.
        (0, 5, -1, 0, None), // Leads away.
        (0, 5, 9, 1, Some(0)),
        (i64::MIN, i64::MAX, i64::MAX, 3, Some(i64::MAX - 1)), // The difference overflows the type, no element does.
        (0, (1 << 60) + 1, 1 << 50, 1025, Some(1 << 60)),      // NumPy's quotient loses the last one.
        (i64::MAX - 1, i64::MAX, 2, 1, Some(i64::MAX - 1)),    // The next value would overflow.
    ];
    for &(start, stop, step, len, last) in cases {
        assert_eq!(i64::range_len(start, stop, step), Ok(len), "{start} {stop} {step}");
        let values: Vec<_> = i64::range(start, step, len).collect();
        assert_eq!((values.len(), values.last().copied()), (len, last), "{start} {stop} {step}");
    }
    assert_eq!(u8::range_len(0, 255, 1), Ok(255));
    assert_eq!(u8::range(250, 2, u8::range_len(250, 255, 2).unwrap()).collect::<Vec<_>>(), [250, 252, 254]);
    assert_eq!(
        i8::range(i8::MAX, -100, i8::range_len(i8::MAX, i8::MIN, -100).unwrap()).collect::<Vec<_>>(),
        [127, 27, -73]
    );
}

#[test]
fn ranges_without_a_length_are_refused() {
    use RangeProblem::{NotANumber, TooLong, ZeroStep};
    assert_eq!(i32::range_len(0, 1, 0), Err(ZeroStep));
    assert_eq!(i64::range_len(i64::MIN, i64::MAX, 1).is_err(), usize::BITS < 64);
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let cases = [
        (0.0, 1.0, 0.0, Err(ZeroStep)),
        (0.0, 0.0, -0.0, Err(ZeroStep)),
        (nan, 1.0, 1.0, Err(NotANumber)),
        (0.0, nan, 1.0, Err(NotANumber)),
        (0.0, 1.0, nan, Err(NotANumber)),
        (inf, inf, 1.0, Err(NotANumber)), // The difference is not a number.
        (0.0, inf, inf, Err(NotANumber)),
        (0.0, inf, 1.0, Err(TooLong)),
        (0.0, f32::MAX, 1.0, Err(TooLong)), // Finite, but too large.
        (0.0, 1.0, f32::MIN_POSITIVE, Err(TooLong)),
        (inf, 1.0, 0.25, Err(TooLong)), // Leads away; NumPy refuses it too.
        (0.0, -inf, 1.0, Err(TooLong)),
        (-inf, 0.0, -1.0, Err(TooLong)),
        (f32::MAX, 0.0, 1e-5, Err(TooLong)),
        (-f32::MAX, f32::MAX, 1.0, Err(TooLong)), // The difference overflows.
        (inf, 1.0, inf, Err(NotANumber)),
        (0.0, 1.0, inf, Ok(1)),
        (0.0, 1.0, -inf, Ok(0)),
    ];
    for (start, stop, step, expected) in cases {
        assert_eq!(f32::range_len(start, stop, step), expected, "{start} {stop} {step}");
    }
}

#[test]
fn only_exact_ranges_of_floats_are_computed_on_the_device() {
    // Start, step, length, whether the device computes the same bits.
    let cases = [
        (0.0, 1.0, 1 << 24, true),
        (0.0, 1.0, (1 << 24) + 1, true),  // Its last value is 2^24.
        (0.0, 1.0, (1 << 24) + 2, false), // 2^24 + 1 is not a float.
        (0.5, 0.25, 1000, true),
        (0.5, 0.25, 1 << 23, true),
        (0.5, 0.25, 1 << 24, false), // Multiples of a quarter are exact up to 2^22.
        (0.0, 0.1, 3, false),        // 0.1 has 24 bits: thrice it has more.
        (0.0, 0.1, 2, true),
        (1e8, 16.0, 10, true),
        (1e8, 1.0, 10, true), // As in NumPy, adding the step changes nothing, and all are equal.
        (-3.0, -2.0, 100, true),
        (-0.0, 1.0, 2, false),  // Its first element is -0.
        (0.0, 1e-45, 2, false), // Subnormal.
        (f32::MIN_POSITIVE, f32::MIN_POSITIVE, 9, true),
        (1.5 * f32::MIN_POSITIVE, f32::MIN_POSITIVE, 9, false), // Its unit is subnormal.
        (f32::INFINITY, 1.0, 2, false),
        (0.0, f32::NAN, 2, false),
    ];
    for (start, step, len, is_exact) in cases {
        let ramp = f32::on_device(start, step, len);
        assert_eq!(ramp.is_some(), is_exact, "{start} {step} {len}");
        let Some(ramp @ DeviceRange::Floats { start, step }) = ramp else { continue };
        // The bits are the same with a fused operation, and from any first element.
        for i in [0, 1, len / 3, len - 1] {
            let (fused, plain) = ((i as f32).mul_add(step, start), start + i as f32 * step);
            assert_eq!(fused.to_bits(), plain.to_bits(), "{start} {step} {i}");
            let DeviceRange::Floats { start: later, .. } = ramp.advanced(i) else { unreachable!() };
            assert_eq!(later.to_bits(), plain.to_bits(), "{start} {step} {i}");
        }
    }
}

#[test]
fn a_range_of_integers_can_start_at_any_element() {
    let ramp = i32::on_device(-5, -7, 100).unwrap();
    assert_eq!(
        ramp.advanced(10),
        DeviceRange::Words { start: (-75_i32).cast_unsigned(), step: (-7_i32).cast_unsigned() }
    );
    let ramp = u64::on_device(u64::MAX - 10, 3 << 40, 100).unwrap();
    let start = (u64::MAX - 10).wrapping_add(30 << 40);
    assert_eq!(ramp.advanced(10), DeviceRange::Pairs { start, step: 3 << 40 });
}
