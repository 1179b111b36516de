//! What the rules say against what `check` says: never more, and not less where a call is a usual one.

use smallvec::SmallVec;

use super::*;
use crate::call::check::check;
use crate::call::check::tests::{LIMITS, signature};
use crate::call::shape::{ArgShape, Argument};

/// Entry, and the element type that its one array is usually given as.
const SIMPLE: &[(&str, DType)] = &[
    ("only_particles", DType::Record(16)),
    ("only_pairs", DType::F32),
    ("only_list", DType::U32), // Eight bytes before its array.
    ("only_fixed", DType::U32),
    ("only_taps", DType::F32), // Constant memory.
    ("only_bins", DType::U32), // Written.
];

const DTYPES: &[DType] =
    &[DType::F32, DType::U32, DType::I32, DType::F64, DType::U8, DType::Complex32, DType::Record(8), DType::Record(16)];

/// Arrays of all lengths up to some elements, in every state.
fn arrays() -> impl Iterator<Item = (DType, [usize; 2], u64, bool, bool)> {
    let shapes = (0..=20).flat_map(|n| [[n, 1], [n, 3], [n, 4]]);
    shapes.flat_map(|shape| {
        DTYPES.iter().flat_map(move |&dtype| {
            [0, 64, 256].into_iter().flat_map(move |offset| {
                [(true, true), (true, false), (false, true)]
                    .map(|(is_contiguous, is_writable)| (dtype, shape, offset, is_contiguous, is_writable))
            })
        })
    })
}

#[test]
fn what_a_rule_takes_is_accepted_and_the_usual_is_taken() {
    for &(entry, usual) in SIMPLE {
        let signature = signature(entry);
        let digest = Digest::new(&signature, &LIMITS).expect("a simple signature");
        let declared = signature.params[0].fixed_bytes;
        let mut n_taken = 0;
        for (dtype, shape, offset, is_contiguous, is_writable) in arrays() {
            let nbytes = (shape[0] * shape[1]) as u64 * u64::from(dtype.itemsize());
            let plain = ArrayShape::new(dtype, &shape, nbytes);
            let array = ArrayShape { offset, is_contiguous, is_writable, is_padded: true, ..plain };
            let checked = check(&signature, &[Argument::from(ArgShape::Array(array))], &LIMITS);
            let is_accepted = checked.as_ref().is_ok_and(|packed| packed.empty.is_none());
            let is_taken = digest.arrays[0].takes(&array);
            assert!(is_accepted || !is_taken, "{entry}: {array:?}");
            // What is copied first: shorter constant memory, and what starts where nothing is bound.
            let is_continued = signature.params[0].kind == ParamKind::Uniform && nbytes < declared;
            let is_copied = is_continued || offset == 64;
            assert!(is_taken || !is_accepted || dtype != usual || is_copied, "{entry}: {array:?}");
            n_taken += u32::from(is_taken);
        }
        assert!(n_taken > 0, "{entry}");
    }
}

#[test]
fn the_device_s_limit_is_kept() {
    let signature = signature("only_bins");
    let digest = Digest::new(&signature, &LIMITS).expect("a simple signature");
    for (nbytes, expected) in [(1 << 20, true), ((1 << 20) + 4, false), (u64::MAX - 3, false)] {
        let (dtype, shape) = (DType::U32, &[1][..]);
        let array = ArrayShape::new(dtype, shape, nbytes);
        assert_eq!(digest.arrays[0].takes(&array), expected, "{nbytes}");
    }
}

#[test]
fn elements_with_padding_have_no_rule() {
    for entry in ["only_points", "only_frames", "all"] {
        assert!(Digest::new(&signature(entry), &LIMITS).is_none(), "{entry}");
    }
}

#[test]
fn numbers_are_packed_as_check_packs_them() {
    let signature = signature("only_args");
    let digest = Digest::new(&signature, &LIMITS).expect("a simple signature");
    let push_bytes = signature.push_constants.as_ref().map_or(0, |push| push.bytes as usize);
    let scalars = [ScalarValue::F32(0.5), ScalarValue::U32(7), ScalarValue::I32(-1), ScalarValue::F64(2.0)];
    let color = [1.0_f32, 2.0, 3.0].map(ScalarValue::from);
    let lists: [&[ScalarValue]; 4] = [&color, &color[..2], &[color[0], color[1], scalars[1]], &[]];
    let alone = scalars.iter().map(std::slice::from_ref);
    for (idx, rule) in digest.numbers.iter().enumerate() {
        for values in alone.clone().chain(lists) {
            let usual = [&scalars[..1], &scalars[1..2], &color, &scalars[2..3]];
            let given = |i: usize| ArgShape::Scalars(if i == idx { values } else { usual[i] });
            let arguments: Vec<_> = (0..4).map(|i| Argument::from(given(i))).collect();
            let mut block = vec![0; push_bytes];
            let mut is_packed = true;
            for (i, other) in digest.numbers.iter().enumerate().filter(|&(i, _)| i != idx) {
                is_packed &= other.pack(&Arg::Scalars(SmallVec::from_slice(usual[i])), &mut block);
            }
            is_packed &= rule.pack(&Arg::Scalars(SmallVec::from_slice(values)), &mut block);
            let checked = check(&signature, &arguments, &LIMITS);
            assert_eq!(is_packed, checked.is_ok(), "{idx}: {values:?}");
            if let Ok(packed) = checked {
                assert_eq!(block, packed.push_constants.as_slice(), "{idx}: {values:?}");
            }
            if let &[value] = values {
                let is_one = rule.pack(&Arg::Scalar(value), &mut vec![0; push_bytes]);
                assert_eq!(is_one, is_packed, "{idx}: {value:?}"); // One number is a list of one.
            }
        }
    }
}
