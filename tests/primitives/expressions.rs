//! Expressions: sizes, layouts, targets, types and refusals, compared with the host.

use half::{bf16, f16};
use vkarray::array::{Bool, Complex32, ExprError};
use vkarray::prelude::*;
use vkarray::primitives::{Assignment, assign_all};

use crate::fixture::{Fixture, contents};

fn bools(values: &[Bool]) -> Vec<bool> {
    values.iter().map(|&value| value.into()).collect()
}

#[test]
fn transposed_operands_of_any_size_are_read() {
    let ctx = Fixture::open();
    let int = |n: usize| i32::try_from(n).unwrap();
    for shape in [[32, 32], [64, 96], [96, 64], [31, 64], [64, 33], [256, 32], [1, 64]] {
        let [rows, columns] = shape;
        let x = ctx.arange(0, int(rows * columns), 1).unwrap();
        let (plain, across) = (x.reshape(shape).unwrap(), x.reshape([columns, rows]).unwrap().t());
        let expected = |row: usize, column: usize| int(row * columns + column) * 3 - int(column * rows + row);
        let expected: Vec<i32> = (0..rows * columns).map(|at| expected(at / columns, at % columns)).collect();
        assert_eq!(contents(&(&plain * 3 - &across).eval().unwrap()), expected, "{shape:?}");
        // A stack of several matrices, and a target that is transposed itself.
        let stack = plain.broadcast_to([3, rows, columns]).unwrap();
        let result = (&stack * 3 - &across).eval().unwrap();
        assert_eq!(contents(&result), expected.repeat(3), "{shape:?}, three times");
        let target = ctx.zeros::<i32>([columns, rows]).unwrap();
        (&plain * 3 - &across).assign_to(&target.t()).unwrap();
        assert_eq!(contents(&target.t()), expected, "{shape:?}, transposed");
    }
}

/// A driver ends an invocation's loops after 65,535 iterations, and a remainder of `f64` may take 187.
#[test]
fn expressions_of_too_many_loops_are_refused() {
    let ctx = Fixture::open();
    let (large, small) = (ctx.full(8, 1e300).unwrap(), ctx.full(8, 1e-290).unwrap());
    let last = (0..351).fold(small.expr(), |last, _| large.remainder(last));
    let refused = last.eval().unwrap_err().to_string();
    assert!(refused.starts_with("an expression may go 65637 times round the loops"), "{refused}");
    assert_eq!(last.max(..).unwrap_err().to_string(), refused);
}

#[test]
fn targets_may_have_gaps_between_their_rows() {
    let ctx = Fixture::open();
    for (first, len, gap) in [(0, 8, 4), (4, 8, 4), (0, 8, 3), (1, 8, 4), (0, 7, 5), (4, 252, 8), (0, 1024, 4)] {
        let width = first + len + gap;
        let whole = ctx.full([37, width], -1.0_f32).unwrap();
        let target = whole.slice(s![.., first as isize..(first + len) as isize]).unwrap();
        let x = ctx.arange(0.0_f32, (37 * len) as f32, 1.0).unwrap().reshape([37, len]).unwrap();
        (&x * 2.0 + &target).assign_to(&target).unwrap();
        let expected: Vec<f32> = (0..37 * width)
            .map(|at| (at / width, at % width))
            .map(|(row, column)| match column.checked_sub(first) {
                Some(own) if own < len => (row * len + own) as f32 * 2.0 - 1.0,
                _ => -1.0,
            })
            .collect();
        assert_eq!(contents(&whole), expected, "{len} from {first} on, with gaps of {gap}");
    }
}

/// The sums of an element's neighbours in three axes, of views without the outermost elements.
#[test]
fn neighbours_are_added_up_in_rows_of_any_length() {
    let ctx = Fixture::open();
    let int = |n: usize| i32::try_from(n).unwrap();
    // The last one has more than 65,536 rows.
    for shape in [[3, 4, 7], [5, 7, 205], [4, 3, 255], [3, 5, 256], [5, 4, 257], [3, 3, 1031], [263, 260, 205]] {
        let [planes, rows, columns] = shape.map(|len| len + 2);
        let value = |plane: usize, row: usize, column: usize| int((plane * 31 + row * 17 + column * 7) % 1009);
        let host: Vec<i32> = (0..planes * rows * columns)
            .map(|at| value(at / (rows * columns), at / columns % rows, at % columns))
            .collect();
        let x = ctx.slice_to_device(&host).unwrap().reshape([planes, rows, columns]).unwrap();
        let window = |at: [usize; 3]| {
            let [i, j, k] = [0, 1, 2].map(|axis| Index::from(at[axis]..at[axis] + shape[axis]));
            x.slice([i, j, k]).unwrap()
        };
        let around = window([0, 1, 1])
            + window([2, 1, 1])
            + window([1, 0, 1])
            + window([1, 2, 1])
            + window([1, 1, 0])
            + window([1, 1, 2]);
        let expected: Vec<i32> = (0..shape.iter().product())
            .map(|at: usize| (at / (shape[1] * shape[2]) + 1, at / shape[2] % shape[1] + 1, at % shape[2] + 1))
            .map(|(i, j, k)| {
                let beside = value(i - 1, j, k) + value(i + 1, j, k) + value(i, j - 1, k) + value(i, j + 1, k);
                beside + value(i, j, k - 1) + value(i, j, k + 1)
            })
            .collect();
        let packed = around.eval().unwrap();
        assert_eq!(contents(&packed), expected, "{shape:?}");
        // Into the middle of another array, whose outermost elements stay.
        let other = ctx.full([planes, rows, columns], -5).unwrap();
        let middle = other.slice(shape.map(|len| Index::from(1..len + 1))).unwrap();
        around.assign_to(&middle).unwrap();
        assert_eq!(contents(&middle), expected, "{shape:?}, with gaps");
        let outside = (planes * rows * columns - expected.len()) as i64 * -5;
        let sum: i64 = expected.iter().map(|&value| i64::from(value)).sum();
        assert_eq!(contents(&other).iter().map(|&value| i64::from(value)).sum::<i64>(), sum + outside, "{shape:?}");
        // The rows' first elements, and a row, beside a view with steps backwards.
        let (column, row) =
            (window([1, 1, 1]).slice(s![.., .., ..1]).unwrap(), window([1, 1, 1]).slice(s![0, 0]).unwrap());
        let mixed = window([1, 1, 1]).flip(Some(&[2])).unwrap() * 2 - &column + &row;
        let expected: Vec<i32> = (0..expected.len())
            .map(|at| (at / (shape[1] * shape[2]) + 1, at / shape[2] % shape[1] + 1, at % shape[2] + 1))
            .map(|(i, j, k)| value(i, j, shape[2] + 1 - k) * 2 - value(i, j, 1) + value(1, 1, k))
            .collect();
        assert_eq!(contents(&mixed.eval().unwrap()), expected, "{shape:?}, mixed");
    }
}

#[test]
fn a_target_may_be_an_operand() {
    let ctx = Fixture::open();
    let x = ctx.arange(0, 100, 1).unwrap();
    (&x * &x + 1).assign_to(&x).unwrap();
    assert_eq!(contents(&x), (0..100).map(|i| i * i + 1).collect::<Vec<_>>());
    // The target is shifted by one: every element is read before it is written.
    let y = ctx.arange(0, 100, 1).unwrap();
    let (head, tail) = (y.slice(s![..-1]).unwrap(), y.slice(s![1..]).unwrap());
    (&head + 0).assign_to(&tail).unwrap();
    assert_eq!(contents(&y), std::iter::once(0).chain(0..99).collect::<Vec<_>>());
    // There are two targets, each of which is an operand of both expressions.
    let (a, b) = (ctx.arange(0, 50, 1).unwrap(), ctx.full(50, 7).unwrap());
    assign_all(&[Assignment::new(&a, &a + &b).unwrap(), Assignment::new(&b, &a - &b).unwrap()]).unwrap();
    assert_eq!(contents(&a), (0..50).map(|i| i + 7).collect::<Vec<_>>());
    assert_eq!(contents(&b), (0..50).map(|i| i - 7).collect::<Vec<_>>());
    let refused = assign_all(&[Assignment::new(&head, &tail + 0).unwrap()]).unwrap_err();
    assert!(matches!(&refused, vkarray::Error::Expression(e) if matches!(**e, ExprError::SharedMemory { .. })));
}

#[test]
fn a_target_may_lie_beside_or_between_the_elements_of_an_operand() {
    let ctx = Fixture::open();
    let of = |x: &DeviceNDArray<i32>, index: Index| x.slice([index]).unwrap();
    let x = ctx.arange(0, 100, 1).unwrap();
    let (even, odd) = (of(&x, Index::stepped(.., 2)), of(&x, Index::stepped(1.., 2)));
    (&odd * 10).assign_to(&even).unwrap();
    assert_eq!(contents(&x), (0..100).map(|i| if i % 2 == 0 { (i + 1) * 10 } else { i }).collect::<Vec<_>>());
    // Kernels bind memory from aligned bytes on, here from the first element.
    let y = ctx.arange(0, 20, 1).unwrap();
    let (head, tail) = (of(&y, Index::from(..10)), of(&y, Index::from(10..)));
    (&head * 3).assign_to(&tail).unwrap();
    assert_eq!(contents(&y), (0..10).chain((0..10).map(|i| 3 * i)).collect::<Vec<_>>());
    assign_all(&[Assignment::new(&head, &tail - &head).unwrap(), Assignment::new(&tail, &tail + &head).unwrap()])
        .unwrap();
    assert_eq!(contents(&y), (0..10).map(|i| 2 * i).chain((0..10).map(|i| 4 * i)).collect::<Vec<_>>());
    let z = ctx.arange(0, 100, 1).unwrap();
    let (even, odd) = (of(&z, Index::stepped(.., 2)), of(&z, Index::stepped(1.., 2)));
    assign_all(&[Assignment::new(&even, &odd + 0).unwrap(), Assignment::new(&odd, &even + 0).unwrap()]).unwrap();
    assert_eq!(contents(&z), (0..100).map(|i| i ^ 1).collect::<Vec<_>>());
}

/// Whether a kernel may compute a type of 64 bits on this device.
fn has_64_bits(ctx: &Context) -> bool {
    let features = &ctx.device().plan().features;
    features.shader_int64 && features.shader_float64
}

fn casts_like_astype<T: Element + PartialEq + std::fmt::Debug>(ctx: &Context, x: &DeviceNDArray<T>) {
    fn one<T: Element, U: Element + std::fmt::Debug>(x: &DeviceNDArray<T>) {
        let (cast, expected) = (x.cast::<U>().eval().unwrap(), x.astype::<U>().unwrap());
        let [cast, expected] = [cast, expected].map(|array| contents(&array));
        let bytes = |values: &[U]| values.iter().map(|value| bytemuck::bytes_of(value).to_vec()).collect::<Vec<_>>();
        for (i, (got, wanted)) in bytes(&cast).iter().zip(bytes(&expected)).enumerate() {
            assert!(
                *got == wanted,
                "{} to {}, element {i}: {:?}, not {:?}",
                x.dtype(),
                DType::of::<U>(),
                cast[i],
                expected[i]
            );
        }
    }
    one::<T, Bool>(x);
    one::<T, i8>(x);
    one::<T, u8>(x);
    one::<T, i16>(x);
    one::<T, u16>(x);
    one::<T, f16>(x);
    one::<T, bf16>(x);
    one::<T, i32>(x);
    one::<T, u32>(x);
    one::<T, f32>(x);
    one::<T, Complex32>(x);
    if has_64_bits(ctx) {
        one::<T, i64>(x);
        one::<T, u64>(x);
        one::<T, f64>(x);
    }
}

#[test]
fn casts_give_what_astype_gives() {
    let ctx = Fixture::open();
    let integers: Vec<i32> =
        [0, 1, -1, 127, 128, 255, 256, -128, -129, 32767, 65536, i32::MIN, i32::MAX, 16_777_217, 33_554_435].to_vec();
    let floats = [
        0.0_f32,
        -0.0,
        0.5,
        -1.5,
        2.5,
        255.9,
        -129.0,
        65504.0,
        65520.0,
        3e9,
        -3e9,
        1e20,
        1e-3,
        3.4e38,
        f32::INFINITY,
        -f32::INFINITY,
    ];
    let x = ctx.slice_to_device(&integers).unwrap();
    casts_like_astype(&ctx, &x);
    casts_like_astype(&ctx, &x.astype::<u32>().unwrap());
    casts_like_astype(&ctx, &x.astype::<i8>().unwrap());
    casts_like_astype(&ctx, &x.astype::<u16>().unwrap());
    casts_like_astype(&ctx, &x.astype::<Bool>().unwrap());
    let x = ctx.slice_to_device(&floats).unwrap();
    casts_like_astype(&ctx, &x);
    casts_like_astype(&ctx, &x.astype::<f16>().unwrap());
    casts_like_astype(&ctx, &x.astype::<bf16>().unwrap());
    if has_64_bits(&ctx) {
        casts_like_astype(&ctx, &x.astype::<i64>().unwrap());
        casts_like_astype(&ctx, &x.astype::<u64>().unwrap());
    }
}

#[test]
fn integers_have_numpys_results_at_the_edges() {
    let ctx = Fixture::open();
    let a = ctx.slice_to_device(&[7_i8, -7, -128, 100, 5, -5]).unwrap();
    let b = ctx.slice_to_device(&[0_i8, 2, -1, 100, -3, 9]).unwrap();
    assert_eq!(contents(&a.floor_divide(&b).eval().unwrap()), [0, -4, -128, 1, -2, -1]);
    assert_eq!(contents(&(&a % &b).eval().unwrap()), [0, 1, 0, 0, -1, 4]);
    assert_eq!(contents(&(&a * &b).eval().unwrap()), [0, -14, -128, 16, -15, -45]);
    assert_eq!(contents(&(&a << &b).eval().unwrap()), [7, -28, 0, 0, 0, 0]);
    assert_eq!(contents(&(&a >> &b).eval().unwrap()), [7, -2, -1, 0, 0, -1]);
    assert_eq!(contents(&a.abs().eval().unwrap()), [7, 7, -128, 100, 5, 5]);
    assert_eq!(contents(&(!&a).eval().unwrap()), [-8, 6, 127, -101, -6, 4]);
    let u = ctx.slice_to_device(&[0_u32, 1, u32::MAX, 10]).unwrap();
    assert_eq!(contents(&(&u - 1).eval().unwrap()), [u32::MAX, 0, u32::MAX - 1, 9]);
    assert_eq!(contents(&u.pow(3).eval().unwrap()), [0, 1, u32::MAX, 1000]);
    assert_eq!(contents(&(&u >> 32).eval().unwrap()), [0; 4]);
}

#[test]
fn nan_and_signed_zeros_are_numpys() {
    let ctx = Fixture::open();
    let nan = f32::NAN;
    let a = ctx.slice_to_device(&[nan, 1.0, -0.0, f32::INFINITY]).unwrap();
    let b = ctx.slice_to_device(&[1.0_f32, nan, 0.0, f32::INFINITY]).unwrap();
    let truth = |expr: Expr<Bool>| bools(&contents(&expr.eval().unwrap()));
    assert_eq!(truth(a.not_equal(&b)), [true, true, false, false]);
    assert_eq!(truth(a.equal(&b)), [false, false, true, true]);
    assert_eq!(truth(a.isnan()), [true, false, false, false]);
    assert_eq!(truth(a.isinf()), [false, false, false, true]);
    assert_eq!(truth(a.signbit()), [false, false, true, false]);
    assert_eq!(truth(a.logical_not()), [false, false, true, false]);
    let least = contents(&a.minimum(&b).eval().unwrap());
    assert!(least[0].is_nan() && least[1].is_nan() && least[2] == 0.0 && least[3] == f32::INFINITY, "{least:?}");
    assert!(contents(&(&a - &b).eval().unwrap())[3].is_nan());
    let special = [nan, f32::INFINITY, -f32::INFINITY, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -3.0];
    let x = ctx.slice_to_device(&special).unwrap();
    let pairs = x.expand_dims([1]).unwrap().pow(&x).eval().unwrap();
    for (i, got) in contents(&pairs).into_iter().enumerate() {
        let (base, power) = (special[i / 12], special[i % 12]);
        let exact = base.powf(power);
        let is_same = got.to_bits() == exact.to_bits()
            || (got.is_nan() && exact.is_nan())
            || (got - exact).abs() <= 2e-7 * exact.abs();
        assert!(is_same, "{base}^{power} = {got}, not {exact}");
    }
    let angles = contents(&x.expand_dims([1]).unwrap().atan2(&x).eval().unwrap());
    for (i, got) in angles.into_iter().enumerate() {
        let exact = special[i / 12].atan2(special[i % 12]);
        assert!(
            (got.is_nan() && exact.is_nan())
                || ((got - exact).abs() < 1e-6 && got.is_sign_negative() == exact.is_sign_negative())
        );
    }
}

#[test]
fn complex_numbers_are_computed_in_parts() {
    let ctx = Fixture::open();
    let z = ctx
        .slice_to_device(&[
            Complex32 { re: 3.0, im: 4.0 },
            Complex32 { re: -1.0, im: 0.5 },
            Complex32 { re: 0.0, im: 1.0 },
        ])
        .unwrap();
    let square = contents(&(&z * &z).eval().unwrap());
    assert_eq!(square.iter().map(|z| (z.re, z.im)).collect::<Vec<_>>(), [(-7.0, 24.0), (0.75, -1.0), (-1.0, 0.0)]);
    assert_eq!(contents(&z.abs().eval().unwrap())[..1], [5.0]);
    assert_eq!(
        contents(&(z.conj() + z.imag().cast::<Complex32>()).eval().unwrap())[0],
        Complex32 { re: 7.0, im: -4.0 }
    );
}

#[test]
fn operands_that_do_not_fit_are_refused_by_name() {
    let ctx = Fixture::open();
    let a = ctx.zeros::<f32>([2, 3]).unwrap().with_label("weights");
    let b = ctx.zeros::<f32>([2]).unwrap();
    let message = |result: vkarray::Result<DeviceNDArray<f32>>| result.unwrap_err().to_string();
    assert_eq!(
        message((&a + &b).sin().eval()),
        "add has operands without a common shape: `weights` of f32 (2, 3) and f32 (2,)"
    );
    assert_eq!(
        message((Expr::scalar(1.0_f32) + 2.0).eval()),
        "an expression without an array has no device to be computed on"
    );
    let refused = (&a + 1.0).assign_to(&b).unwrap_err();
    assert_eq!(refused.to_string(), "an expression of shape (2, 3) does not fill f32 (2,)");
    assert!((&a + 1.0).assign_to(&a.clone().read_only()).is_err());
    let deep = (0..1000).fold(a.expr(), |expr, _| expr + 1.0);
    assert!(message(deep.eval()).starts_with("an expression has more than 500 operations inside each other"));
    let sum = (0..200).fold(a.expr(), |expr, _| expr + &ctx.zeros::<f32>([2, 3]).unwrap());
    let refused = message(sum.eval());
    assert!(refused.contains("evaluate a part of"), "{refused}"); // The limit is a number of arrays or of bytes.
}

#[test]
fn an_expression_runs_on_its_stream() {
    let ctx = Fixture::open();
    let (first, second) = (ctx.stream().unwrap(), ctx.stream().unwrap());
    let x = ctx.zeros::<i32>(1000).unwrap();
    for round in 0..20 {
        let stream = if round % 2 == 0 { &first } else { &second };
        (&x + 1).on(stream).assign_to(&x).unwrap();
    }
    assert_eq!(contents(&(x.on(&first).expr() * 2).eval().unwrap()), [40; 1000]);
    // Memory that the host addresses.
    let shared = ctx.shared_array::<i32>(100).unwrap();
    shared.fill(3).unwrap();
    (&shared * &shared).assign_to(&shared).unwrap();
    assert_eq!(contents(&shared), [9; 100]);
}
