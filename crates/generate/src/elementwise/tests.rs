//! Texts of kernels for every operation, element type and class of access, translated without a device.

use std::collections::BTreeMap;

use vkarray_layout::Layout;
use vkarray_shader::{Module, Options, Source};

use super::*;
use crate::expr::Op;
use crate::text::{Step, StepKind};

/// Invocations of a workgroup. Tiles then have 16 rows.
const GROUP: u32 = 128;

/// A program of one operation on three arrays.
fn program(op: Op, operand: DType, result: DType) -> Program<'static, Layout> {
    let leaf = |at, dtype| Step { kind: StepKind::Leaf(at), dtype };
    let first = if op == Op::Select { DType::Bool } else { operand };
    let steps = [
        leaf(0, first),
        leaf(1, operand),
        leaf(2, operand),
        Step { kind: StepKind::Apply(op, [0, 1, 2]), dtype: result },
    ];
    Program::of_steps(&steps, &[3])
}

fn check(form: &Form, program: &Program<'_, Layout>, dtypes: &[DType], name: &str) {
    let text = form.text(program, dtypes, &[1, 2, 3]);
    let translated = Module::parse(&Source::wgsl(text.clone()))
        .and_then(|module| module.translate(None, &BTreeMap::new(), &Options::default()));
    translated.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
}

#[test]
fn every_defined_operation_of_every_type_is_valid() {
    let whole = |lanes, is_wide| Form {
        lanes,
        is_wide,
        order: Order::Linear,
        n_axes: 1,
        group: 64,
        access: SmallVec::from_slice(&[Access::Packed; 4]),
    };
    let mut n_defined = 0;
    for &op in Op::ALL {
        for &operand in DType::ALL {
            let results: &[DType] = match op {
                Op::Cast => DType::ALL,
                _ => &[operand, DType::Bool, DType::F32, DType::F64],
            };
            for &result in results {
                let first = if op == Op::Select { DType::Bool } else { operand };
                if !crate::text::is_defined(op, first, result) || !fits(op, operand, result) {
                    continue;
                }
                n_defined += 1;
                let dtypes = [result, first, operand, operand];
                let lanes = (4 / result.itemsize()).max(1);
                check(
                    &whole(lanes, false),
                    &program(op, operand, result),
                    &dtypes,
                    &format!("{op:?} {operand} {result}"),
                );
            }
        }
    }
    assert!(n_defined > 500, "{n_defined}");
}

/// Whether the operation has a result of type `result` for operands of type `operand`.
fn fits(op: Op, operand: DType, result: DType) -> bool {
    let is_truth = matches!(
        op,
        Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessEqual
            | Op::Greater
            | Op::GreaterEqual
            | Op::LogicalAnd
            | Op::LogicalOr
            | Op::LogicalXor
            | Op::LogicalNot
            | Op::Isfinite
            | Op::Isinf
            | Op::Isnan
            | Op::Signbit
    );
    let is_part = matches!(op, Op::Abs | Op::Real | Op::Imag) && operand.scalar() != Some(operand);
    match op {
        Op::Cast => true,
        _ if is_truth => result == DType::Bool,
        _ if is_part => operand.scalar() == Some(result),
        _ => result == operand,
    }
}

#[test]
fn every_class_of_access_is_valid_for_every_type() {
    let accesses = [Access::Packed, Access::Single, Access::Row, Access::Column, Access::Strided];
    for &dtype in DType::ALL {
        for (lanes, is_wide) in [((4 / dtype.itemsize()).max(1), false), (4, true)] {
            for access in accesses {
                if !is_wide && matches!(access, Access::Row | Access::Column) {
                    continue;
                }
                let order = match (is_wide, access, lanes) {
                    (true, Access::Strided, _) => Order::Tiles,
                    (false, Access::Strided, 1) => Order::Rows,
                    _ => Order::Linear,
                };
                let form = Form {
                    lanes,
                    is_wide,
                    order,
                    n_axes: 3,
                    group: 256,
                    access: SmallVec::from_slice(&[Access::Packed, Access::Packed, access, access]),
                };
                let equal = program(Op::Equal, dtype, DType::Bool);
                check(&form, &program(Op::Cast, dtype, dtype), &[dtype; 4], &format!("{dtype} {access:?}"));
                if lanes == 4 {
                    check(&form, &equal, &[DType::Bool, dtype, dtype, dtype], &format!("{dtype} {access:?}"));
                }
            }
        }
    }
}

#[test]
fn rows_that_fill_workgroups_are_computed_by_their_own() {
    let form = |lens: &[u64], out: &[i64], dtype| {
        let nest = Nest::for_tests(lens, &[out, &[2, 4000, 40_000, 400_000]], &[0, 0], &[dtype, dtype]);
        let form = Form::new(&nest, 1, GROUP, 0);
        (form.order, form.groups(&nest))
    };
    let packed = |lens: &[u64]| -> Vec<i64> {
        lens.iter().scan(1, |size, &len| Some(std::mem::replace(size, *size * len as i64))).collect()
    };
    for (lens, expected) in [
        (&[127, 5][..], (Order::Rows, 5)),
        (&[128, 5], (Order::Linear, 2)), // Four elements at once.
        (&[129, 5], (Order::Linear, 6)), // Half of the invocations would have no element.
        (&[205, 5, 3], (Order::Rows, 30)),
        (&[203, 5, 3], (Order::Linear, 24)),
        (&[1001, 3, 2, 2], (Order::Rows, 96)),
        (&[1001], (Order::Linear, 8)),
    ] {
        assert_eq!(form(lens, &packed(lens), DType::F32), expected, "{lens:?}");
        assert_eq!(form(lens, &packed(lens), DType::U16).0, Order::Linear, "{lens:?}");
    }
    assert_eq!(form(&[128, 5], &[1, 131], DType::F32), (Order::Rows, 5));
}

#[test]
fn the_form_follows_from_strides_and_alignment() {
    let form = |lens: &[u64], strides: &[&[i64]], offsets: &[u64], dtypes: &[DType]| {
        let nest = Nest::for_tests(lens, strides, offsets, dtypes);
        let form = Form::new(&nest, 1, GROUP, 0);
        (form.lanes, form.is_wide, form.access.to_vec())
    };
    let f = DType::F32;
    use Access::{Column, Packed, Row, Single, Strided};
    assert_eq!(form(&[8], &[&[1], &[1], &[0]], &[0, 4, 9], &[f, f, f]), (4, true, vec![Packed, Packed, Single]));
    assert_eq!(form(&[8], &[&[1], &[1]], &[0, 1], &[f, f]), (1, false, vec![Packed, Packed]));
    assert_eq!(form(&[7], &[&[1], &[1]], &[0, 0], &[f, f]), (1, false, vec![Packed, Packed]));
    assert_eq!(form(&[7], &[&[1], &[1]], &[0, 0], &[DType::Bool, f]), (4, false, vec![Packed, Packed]));
    let rows: &[&[i64]] = &[&[1, 8], &[1, 0], &[0, 1], &[1, 12], &[2, 16]];
    let expected = (4, true, vec![Packed, Row, Column, Row, Strided]);
    assert_eq!(form(&[8, 3], rows, &[0; 5], &[f; 5]), expected);
    assert_eq!(form(&[8, 3], &[&[1, 8], &[1, 9]], &[0; 2], &[f; 2]), (4, true, vec![Packed, Strided]));
    let nest = Nest::for_tests(&[8], &[&[1], &[1]], &[0; 2], &[f; 2]);
    let lanes = |rounds| Form::new(&nest, 1, GROUP, rounds).lanes;
    assert_eq!([0, 16_383, 16_384].map(lanes), [4, 4, 1], "rounds of the loops of four elements");
    // Targets with gaps between their rows.
    assert_eq!(form(&[8, 3], &[&[1, 12], &[1, 12]], &[4, 0], &[f; 2]), (4, true, vec![Row, Row]));
    assert_eq!(form(&[8, 3], &[&[1, 12], &[1, 8]], &[0, 8], &[f; 2]), (4, true, vec![Row, Packed]));
    for (len, stride, offset) in [(8, 9, 0), (8, 12, 1), (7, 12, 0)] {
        let (lanes, is_wide, access) = form(&[len, 3], &[&[1, stride], &[1, 12]], &[offset, 0], &[f; 2]);
        assert_eq!((lanes, is_wide, access), (1, false, vec![Strided, Strided]), "{len} {stride} {offset}");
    }
}

#[test]
fn workgroups_compute_tiles_where_an_operand_lies_across() {
    let is_tiled = |lens: &[u64], strides: &[&[i64]]| {
        let nest = Nest::for_tests(lens, strides, &[0; 2], &[DType::F32; 2]);
        Form::new(&nest, 1, GROUP, 0).order == Order::Tiles
    };
    assert!(is_tiled(&[64, 32], &[&[1, 64], &[32, 1]]), "a transposed matrix");
    assert!(is_tiled(&[64, 32, 3], &[&[1, 64, 2048], &[32, 1, 2048]]), "several of them");
    for (lens, operand) in
        [([64, 32], [1, 64]), ([64, 32], [2, 128]), ([60, 32], [32, 1]), ([64, 24], [24, 1]), ([64, 32], [0, 1])]
    {
        assert!(!is_tiled(&lens, &[&[1, lens[0].cast_signed()], &operand]), "{lens:?} {operand:?}");
    }
}
