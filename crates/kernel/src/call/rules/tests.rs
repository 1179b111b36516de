//! The fast answer compared with the full one: a rule accepts exactly the arrays that it does not refuse and that can be
//! bound where they lie, of the element type that a parameter is usually given.

use super::*;
use crate::call::check::tests::{LIMITS, signature};

/// Entry, and the element type that its one array is usually given as; `None` if the fast check accepts no array of it.
const ENTRIES: &[(&str, Option<DType>)] = &[
    ("only_particles", Some(DType::Record(16))),
    ("only_pairs", Some(DType::F32)),
    ("only_list", Some(DType::U32)), // Eight bytes before its array.
    ("only_fixed", Some(DType::U32)),
    ("only_taps", Some(DType::F32)), // Constant memory.
    ("only_bins", Some(DType::U32)), // Written.
    ("only_points", None),           // Padding in its elements.
    ("only_frames", None),
];

const DTYPES: &[DType] =
    &[DType::F32, DType::U32, DType::I32, DType::F64, DType::U8, DType::Complex32, DType::Record(8), DType::Record(16)];

/// Arrays of all lengths up to some elements and of some about the limit, in every state.
fn each_array(mut test: impl FnMut(&ArrayShape<'_>)) {
    const STATES: [[bool; 4]; 6] = [
        // Contiguous, writable, padded, untyped.
        [true, true, false, false],
        [true, true, true, false],
        [true, false, true, false],
        [false, true, true, false],
        [true, true, true, true],
        [true, false, false, true],
    ];
    let small = (0..=20).flat_map(|n| [[n, 1], [n, 3], [n, 4]]);
    let large = [(1 << 18) - 1, 1 << 18, (1 << 18) + 1].map(|n| [n, 1]);
    for shape in small.chain(large) {
        for &dtype in DTYPES {
            for (offset, state) in [0, 2, 64, 256].iter().flat_map(|&offset| STATES.map(|state| (offset, state))) {
                let [is_contiguous, is_writable, is_padded, is_untyped] = state;
                let nbytes = (shape[0] * shape[1]) as u64 * u64::from(dtype.itemsize());
                let plain = ArrayShape::new(dtype, &shape, nbytes);
                test(&ArrayShape { offset, is_contiguous, is_writable, is_padded, is_untyped, ..plain });
            }
        }
    }
}

#[test]
fn a_rule_accepts_what_it_does_not_refuse() {
    for (&(entry, usual), clamps) in ENTRIES.iter().flat_map(|entry| [false, true].map(|clamps| (entry, clamps))) {
        let signature = signature(entry);
        let (param, rule) = (&signature.params[0], &Rules::new(&signature, &LIMITS, clamps).arrays[0]);
        let (mut n_accepted, mut n_refused) = (0, 0);
        each_array(|array| {
            let fits = rule.refusal(param, array, None).is_none();
            let lies_well = array.nbytes > 0 && !rule.is_short(array) && !rule.is_misaligned(array);
            let is_accepted = rule.accepts(array);
            if usual == Some(array.dtype) {
                assert_eq!(is_accepted, fits && lies_well, "{entry}: {array:?}");
            } else {
                // No rule accepts an array of another type, which the full check may still take.
                assert!(!is_accepted, "{entry}: {array:?}");
            }
            (n_accepted, n_refused) = (n_accepted + u32::from(is_accepted), n_refused + u32::from(!fits));
        });
        assert!(n_refused > 0 && (n_accepted > 0) == usual.is_some(), "{entry}: {n_accepted}, {n_refused}");
    }
}

#[test]
fn an_array_whose_indices_are_clamped_has_an_element() {
    let signature = signature("only_list");
    let shapes = [[2], [2 + signature.params[0].stride.unwrap() as usize / 4]];
    let [header, element] = shapes.each_ref().map(|shape| ArrayShape::new(DType::U32, shape, 4 * shape[0] as u64));
    for clamps in [false, true] {
        let (param, rule) = (&signature.params[0], &Rules::new(&signature, &LIMITS, clamps).arrays[0]);
        let refused = [&header, &element].map(|array| rule.refusal(param, array, None).is_some());
        assert_eq!(refused, [clamps, false]);
    }
}

#[test]
fn a_number_is_written_where_its_rule_says_and_nowhere_else() {
    let signature = signature("scale");
    let rules = Rules::new(&signature, &LIMITS, false);
    for (rule, member) in rules.numbers.iter().zip(signature.push_members()) {
        let n = member.leaves().count();
        let given = |count: usize, value: ScalarValue| vec![value; count];
        for value in [ScalarValue::F32(1.5), ScalarValue::U32(7), ScalarValue::I32(-1), ScalarValue::F64(1.0)] {
            let fits = member.leaves().all(|(_, dtype)| dtype == value.dtype());
            for count in 0..=n + 1 {
                let mut block = vec![0; 32];
                assert_eq!(rule.pack(&given(count, value), &mut block), fits && count == n, "{}: {value}", member.name);
                for (at, byte) in (0_u32..).zip(&block).filter(|&(_, byte)| *byte != 0) {
                    let is_own = |(leaf, dtype): Leaf| (leaf..leaf + dtype.itemsize()).contains(&at);
                    assert!(member.leaves().any(is_own), "{}: {byte} at {at}", member.name);
                }
            }
        }
    }
}

#[test]
fn the_device_s_limit_is_kept() {
    let rules = Rules::new(&signature("only_bins"), &LIMITS, false);
    for (nbytes, expected) in [(1 << 20, true), ((1 << 20) + 4, false), (u64::MAX - 3, false)] {
        let array = ArrayShape::new(DType::U32, &[1], nbytes);
        assert_eq!(rules.arrays[0].accepts(&array), expected, "{nbytes}");
    }
}
