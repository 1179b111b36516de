//! The rules for arrays compared with `check`: they accept no more, and every array of the usual element type that `check`
//! accepts without a copy.

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
fn a_rule_accepts_what_check_accepts_for_the_usual_element_type() {
    for &(entry, usual) in SIMPLE {
        let signature = signature(entry);
        let rules = FastCheck::new(&signature, &LIMITS).expect("a simple signature");
        let declared = signature.params[0].fixed_bytes;
        let mut n_accepted = 0;
        for (dtype, shape, offset, is_contiguous, is_writable) in arrays() {
            let nbytes = (shape[0] * shape[1]) as u64 * u64::from(dtype.itemsize());
            let plain = ArrayShape::new(dtype, &shape, nbytes);
            let array = ArrayShape { offset, is_contiguous, is_writable, is_padded: true, ..plain };
            let checked = check(&signature, &[Argument::from(ArgShape::Array(array))], &LIMITS);
            let is_checked = checked.as_ref().is_ok_and(|packed| packed.empty.is_none());
            let is_accepted = rules.arrays[0].accepts(&array);
            assert!(is_checked || !is_accepted, "{entry}: {array:?}");
            // What is copied first: shorter constant memory, and what starts where nothing is bound.
            let is_continued = signature.params[0].kind == ParamKind::Uniform && nbytes < declared;
            let is_copied = is_continued || offset == 64;
            assert!(is_accepted || !is_checked || dtype != usual || is_copied, "{entry}: {array:?}");
            n_accepted += u32::from(is_accepted);
        }
        assert!(n_accepted > 0, "{entry}");
    }
}

#[test]
fn the_device_s_limit_is_kept() {
    let signature = signature("only_bins");
    let rules = FastCheck::new(&signature, &LIMITS).expect("a simple signature");
    for (nbytes, expected) in [(1 << 20, true), ((1 << 20) + 4, false), (u64::MAX - 3, false)] {
        let (dtype, shape) = (DType::U32, &[1][..]);
        let array = ArrayShape::new(dtype, shape, nbytes);
        assert_eq!(rules.arrays[0].accepts(&array), expected, "{nbytes}");
    }
}

#[test]
fn elements_with_padding_have_no_rule() {
    for entry in ["only_points", "only_frames", "all"] {
        assert!(FastCheck::new(&signature(entry), &LIMITS).is_none(), "{entry}");
    }
}
