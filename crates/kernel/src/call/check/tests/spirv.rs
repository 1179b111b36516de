//! Calls that do not fit kernels of other compilers: types that WGSL cannot lay out, small and wide numbers, gaps.

use std::collections::BTreeMap;

use super::{LIMITS, array, compiled, positional};
use crate::call::check::check;
use crate::call::shape::{ArgShape, Argument};
use crate::{DType, Module, Options, ScalarValue, Signature, Source};

fn signature(name: &str) -> Signature {
    let module = Module::parse(&Source::spirv(compiled(name))).unwrap();
    module.translate(None, &BTreeMap::new(), &Options::default()).unwrap().signature
}

/// Kernel, the parameter that is given something else, its dtype and shape, message.
type Case<'a> = (&'a str, &'a str, DType, &'a [usize], &'a str);

const CASES: &[Case<'_>] = &[
    ("saxpy", "x", DType::F64, &[4], "`x` is array<f32>, got an array of f64 with shape (4,); convert it to f32"),
    ("saxpy", "y", DType::F16, &[2, 2], "`y` is array<f32>, got an array of f16 with shape (2, 2); convert it to f32"),
    ("saxpy", "x", DType::U8, &[7], "`x` is array<f32>, got an array of u8 with shape (7,); convert it to f32"),
    (
        "saxpy",
        "x",
        DType::Record(4),
        &[1],
        "`x` is array<f32>, got an array of record4 with shape (1,); view it as f32",
    ),
    (
        "small_numbers",
        "bytes",
        DType::U8,
        &[4],
        "`bytes` is array<i8>, got an array of u8 with shape (4,); convert it to i8, or view it as i8 if the kernel unpacks bytes",
    ),
    (
        "small_numbers",
        "shorts",
        DType::I16,
        &[4],
        "`shorts` is array<u16>, got an array of i16 with shape (4,); convert it to u16",
    ),
    (
        "small_numbers",
        "halves",
        DType::BF16,
        &[4],
        "`halves` is array<f16>, got an array of bf16 with shape (4,); convert it to f16",
    ),
    (
        "small_numbers",
        "bytes",
        DType::Bool,
        &[4],
        "`bytes` is array<i8>, got an array of bool with shape (4,); convert it to i8",
    ),
    (
        "wide_numbers",
        "doubles",
        DType::F32,
        &[4],
        "`doubles` is array<f64>, got an array of f32 with shape (4,); convert it to f64",
    ),
    (
        "wide_numbers",
        "longs",
        DType::U64,
        &[4],
        "`longs` is array<i64>, got an array of u64 with shape (4,); convert it to i64",
    ),
    (
        "wide_numbers",
        "longs",
        DType::I32,
        &[8],
        "`longs` is array<i64>, got an array of i32 with shape (8,); convert it to i64",
    ),
    ("histogram", "counts", DType::U32, &[255], "`counts` is array<u32, 256>, exactly 1024 bytes, got 1020 bytes"),
    ("histogram", "counts", DType::U32, &[0], "`counts` is array<u32, 256>, exactly 1024 bytes, got 0 bytes"),
    (
        "histogram",
        "source",
        DType::Complex32,
        &[4],
        "`source` is array<u32>, got an array of complex<f32> with shape (4,); convert it to u32",
    ),
    ("subgroup_sum", "total", DType::U32, &[2], "`total` is u32, exactly 4 bytes, got 8 bytes"),
    ("layouts", "Std140", DType::F32, &[29], "`Std140` is Std140 in constant memory, at most 112 bytes, got 116 bytes"),
    (
        "layouts",
        "Std140",
        DType::F64,
        &[14],
        "`Std140` is Std140, got an array of f64 with shape (14,); convert it to f32",
    ),
    ("layouts", "packed", DType::F32, &[19], "`packed` is Std430, exactly 80 bytes, got 76 bytes"),
    (
        "layouts",
        "packed",
        DType::Record(76),
        &[1],
        "`packed` is Std430, got an array of record76 with shape (1,); pass records of 80 bytes, or bytes",
    ),
    ("layouts", "tight", DType::F32, &[12], "`tight` is Scalar, of 52 bytes or more, got 48 bytes"),
    (
        "layouts",
        "tight",
        DType::F32,
        &[14],
        "`tight` is Scalar, 12 bytes an element, got 4 bytes after the first 52, 4 too many",
    ),
    (
        "particles",
        "list",
        DType::F32,
        &[16],
        "`list` is List, got an array of f32 with shape (16,); pass records of 32 bytes, or bytes",
    ),
    ("particles", "list", DType::U8, &[31], "`list` is List, of 32 bytes or more, got 31 bytes"),
    (
        "particles",
        "list",
        DType::Record(16),
        &[4],
        "`list` is List, got an array of record16 with shape (4,); pass records of 32 bytes, or bytes",
    ),
];

/// An array that fits the parameter, whatever it is.
fn fitting(signature: &Signature) -> Vec<(String, DType, Vec<usize>)> {
    let shape = |param: &crate::Param| {
        let one = param.stride.map_or(0, u64::from);
        let bytes = if param.array_len.is_some() { param.fixed_bytes } else { param.fixed_bytes + one };
        let dtype = param.ty.scalar().unwrap_or(DType::U8);
        (param.name.clone(), dtype, vec![usize::try_from(bytes / u64::from(dtype.itemsize())).unwrap()])
    };
    signature.params.iter().map(shape).collect()
}

fn check_arrays(signature: &Signature, arrays: &[(String, DType, Vec<usize>)]) -> crate::Result<()> {
    let values: Vec<ScalarValue> = vec![1.0_f32.into(); 3];
    let scalar = |member: &crate::PushMember| ArgShape::Scalars(&values[..member.ty.leaves().len()]);
    let arrays = arrays.iter().map(|(_, dtype, shape)| ArgShape::Array(array(*dtype, shape)));
    let all: Vec<_> = arrays.chain(signature.push_members().iter().map(scalar)).collect();
    check(signature, &positional(&all), &LIMITS).map(drop)
}

#[test]
fn arrays_that_do_not_fit() {
    for &(kernel, name, dtype, shape, message) in CASES {
        let signature = signature(kernel);
        let mut arrays = fitting(&signature);
        check_arrays(&signature, &arrays).unwrap_or_else(|error| panic!("{kernel}: {error}"));
        let changed = arrays.iter_mut().find(|array| array.0 == name).unwrap_or_else(|| panic!("{kernel}: {name}"));
        (changed.1, changed.2) = (dtype, shape.to_vec());
        let found = check_arrays(&signature, &arrays).unwrap_err().to_string();
        assert_eq!(found, format!("kernel `main`: {message}"), "{kernel}");
    }
}

#[test]
fn numbers_that_do_not_fit() {
    let signature = signature("particles");
    let list = ArgShape::Array(array(DType::U8, &[64]));
    let three: &[ScalarValue] = &[1.0_f32.into(), 2.0_f32.into(), 3.0_f32.into()];
    let good = [list, ArgShape::Scalar(1.0_f32.into()), ArgShape::Scalars(three)];
    let packed = check(&signature, &positional(&good), &LIMITS).unwrap();
    assert_eq!(packed.push_constants.len(), 44); // With what is before the first, and between.
    let names = "`list`, `dt`, `wind`";
    let named = |name, shape| vec![Argument { name: Some(name), shape }];
    let cases = [
        (positional(&good[..2]), format!("kernel `main` takes 3 arguments ({names}), got 2")),
        (named("dtt", good[1]), format!("kernel `main` has no argument `dtt`; it takes {names} (did you mean `dt`?)")),
        (named("List", list), format!("kernel `main` has no argument `List`; it takes {names} (did you mean `list`?)")),
        (named("dt", good[1]), format!("kernel `main`: no value for `list`, which is List; it takes {names}")),
        (
            positional(&[list, ArgShape::Scalars(three), good[2]]),
            "kernel `main`: `dt` is f32, 1 numbers, got 3".to_owned(),
        ),
        (
            positional(&[list, good[1], ArgShape::Scalar(1.0_f32.into())]),
            "kernel `main`: `wind` is vec3<f32>, 3 numbers, got 1".to_owned(),
        ),
        (
            positional(&[list, ArgShape::Scalar(1.0_f64.into()), good[2]]),
            "kernel `main`: `dt` is f32, got 1 (f64)".to_owned(),
        ),
        (positional(&[good[1], good[1], good[2]]), "kernel `main`: `list` is an array, List, got 1 (f32)".to_owned()),
        (
            positional(&[list, list, good[2]]),
            "kernel `main`: `dt` is a scalar, f32, got an array of u8 with shape (64,)".to_owned(),
        ),
    ];
    for (arguments, message) in cases {
        assert_eq!(check(&signature, &arguments, &LIMITS).unwrap_err().to_string(), message);
    }
}
