//! Kernels whose computation is a text in WGSL, compared with the host.

use half::f16;
use vkarray::array::{Bool, Complex32};
use vkarray::prelude::*;
use vkarray::primitives::{Assignment, ReductionKernel, ScanKernel, assign_all};

use crate::fixture::{Fixture, contents};

/// Sizes around the units and the workgroups of the kernels, and a prime.
const SIZES: [usize; 12] = [0, 1, 2, 3, 4, 5, 63, 64, 255, 256, 257, 4099];

#[test]
fn a_text_computes_every_element_of_any_layout() {
    let ctx = Fixture::open();
    let kernel = ctx.elementwise("z = a * x + y");
    for n in SIZES {
        let x = ctx.arange(0.0_f32, n as f32, 1.0).unwrap();
        let y = ctx.arange(0.0_f32, 2.0 * n as f32, 1.0).unwrap().slice(s![..;-2]).unwrap();
        let z = kernel.arg("x", &x).arg("a", 3.0_f32).arg("y", &y).result::<f32>().unwrap();
        let expected: Vec<_> = (0..n).map(|i| 3.0 * i as f32 + (2 * (n - 1 - i) + 1) as f32).collect();
        assert_eq!(contents(&z.eval().unwrap()), expected, "{n}");
        let host = x.to_vec().unwrap();
        // A row and a column, of integers.
        let (row, column) = (ctx.arange(0, 5, 1).unwrap(), ctx.arange(0, i32::try_from(n).unwrap(), 1).unwrap());
        let column = column.reshape([n, 1]).unwrap();
        let table = kernel.arg("a", &row).arg("x", &column).arg("y", 7).result::<i32>().unwrap().eval().unwrap();
        let expected: Vec<_> = (0..5 * n).map(|i| i32::try_from(i % 5 * (i / 5) + 7).unwrap()).collect();
        assert_eq!((table.shape(), contents(&table)), ([n, 5].as_slice(), expected), "{}", host.len());
    }
}

#[test]
fn several_results_are_computed_in_one_pass_and_in_place() {
    let ctx = Fixture::open();
    let kernel = ctx.elementwise("let d = x - y; x_new = x + y; y_new = d; is_less = d < 0;");
    assert_eq!(kernel.results(), ["x_new", "y_new", "is_less"]);
    for n in SIZES {
        let length = i32::try_from(n).unwrap();
        let (x, y) = (ctx.arange(0, length, 1).unwrap(), ctx.full(n, 2).unwrap());
        let less = ctx.zeros::<Bool>(n).unwrap();
        let call = kernel.arg("x", &x).arg("y", &y);
        assert_eq!(call.result_types().unwrap(), [DType::I32, DType::I32, DType::Bool]);
        let (sum, difference, is_less) = call.results::<(i32, i32, Bool)>().unwrap();
        let all = [
            Assignment::new(&x, sum).unwrap(),
            Assignment::new(&y, difference).unwrap(),
            Assignment::new(&less, is_less).unwrap(),
        ];
        assign_all(&all).unwrap();
        assert_eq!(contents(&x), (0..length).map(|i| i + 2).collect::<Vec<_>>());
        assert_eq!(contents(&y), (0..length).map(|i| i - 2).collect::<Vec<_>>());
        assert_eq!(contents(&less), (0..length).map(|i| (i < 2).into()).collect::<Vec<Bool>>());
    }
}

#[test]
fn functions_are_those_of_expressions() {
    let ctx = Fixture::open();
    let special = [0.0_f32, -0.0, 1.0, -1.0, 0.3, 88.0, 1e30, 1e-40, f32::INFINITY, -f32::INFINITY, f32::NAN];
    let x = ctx.slice_to_device(&special).unwrap();
    let y = ctx.slice_to_device(&[2.0_f32]).unwrap();
    let cases: [(&str, Expr<f32>); 6] = [
        ("z = exp(x)", x.exp()),
        ("z = log1p(x) + 1.0", x.log1p() + 1.0),
        ("z = sin(x)", x.sin()),
        ("z = pow(x, y)", x.pow(&y)),
        ("z = maximum(hypot(x, y), 3.0)", x.hypot(&y).maximum(3.0)),
        ("z = select(x, 0.0, isnan(x))", x.isnan().select::<f32>(0.0, &x)),
    ];
    for (text, expected) in cases {
        let kernel = ctx.elementwise(text);
        let call = kernel.arg("x", &x);
        let call = if kernel.arguments().len() > 1 { call.arg("y", &y) } else { call };
        let bits = |expr: &Expr<f32>| contents(&expr.eval().unwrap()).into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(&call.result().unwrap()), bits(&expected), "{text}");
    }
}

#[test]
fn a_number_that_is_not_one_is_unequal_to_itself() {
    let ctx = Fixture::open();
    let x = ctx.slice_to_device(&[f32::NAN, 1.0, f32::INFINITY]).unwrap();
    let is_nan = ctx.elementwise("select(0u, 1u, x != x)");
    assert_eq!(contents(&is_nan.arg("x", &x).result::<u32>().unwrap().eval().unwrap()), [1, 0, 0]);
    let comment = ctx.elementwise("y = x; // Θ(n) of ∑(x)");
    assert_eq!(contents(&comment.arg("x", &x).result::<f32>().unwrap().eval().unwrap())[1..], [1.0, f32::INFINITY]);
}

#[test]
fn the_fault_that_is_farthest_is_named() {
    let ctx = Fixture::open();
    let x = ctx.zeros::<f32>(3).unwrap();
    let kernel = ctx.elementwise("a = x > 1.0; b = x * 2.0; c = norm(x)");
    let error = kernel.arg("x", &x).result_types().unwrap_err().to_string();
    assert!(error.contains("column 31 of") && error.contains("nothing is called `norm`"), "{error}");
}

#[test]
fn short_and_complex_types_have_their_own_values() {
    let ctx = Fixture::open();
    let wraps = ctx.elementwise("z = x * x");
    let bytes: Vec<u8> = (0..=255).collect();
    let x = ctx.slice_to_device(&bytes).unwrap();
    // The product is cut to a byte before it is compared.
    let z = wraps.arg("x", &x).result::<u8>().unwrap();
    let squares: Vec<_> = bytes.iter().map(|x| x.wrapping_mul(*x)).collect();
    assert_eq!(contents(&z.eval().unwrap()), squares);
    let large = contents(&z.greater(200).eval().unwrap()).into_iter().map(bool::from);
    assert!(large.eq(squares.iter().map(|&x| x > 200)));
    let halves = ctx.slice_to_device(&[1.5, -2.25, 300.0].map(f16::from_f32)).unwrap();
    let z = wraps.arg("x", &halves).result::<f16>().unwrap().eval().unwrap();
    assert_eq!(contents(&z), [2.25, 5.0625, f32::INFINITY].map(f16::from_f32));
    let turned = ctx.elementwise("z.x = -w.y; z.y = w.x");
    let w = ctx.slice_to_device(&[Complex32 { re: 1.0, im: 2.0 }, Complex32 { re: -3.0, im: 0.5 }]).unwrap();
    let z = contents(&turned.arg("w", &w).result::<Complex32>().unwrap().eval().unwrap());
    assert_eq!(z, [Complex32 { re: -2.0, im: 1.0 }, Complex32 { re: -0.5, im: -3.0 }]);
}

#[test]
fn a_text_is_part_of_expressions_and_of_reductions() {
    let ctx = Fixture::open();
    let norm = ctx.elementwise("z = x * x");
    let x = ctx.arange(0.0_f32, 12.0, 1.0).unwrap().reshape([3, 4]).unwrap();
    let squares = norm.arg("x", &x + 1.0).result::<f32>().unwrap();
    let expected: Vec<f32> = (0..3).map(|row| (0..4).map(|i| ((row * 4 + i + 1) as f32).powi(2)).sum()).collect();
    assert_eq!(contents(&squares.sum(1).unwrap()), expected);
    // Two texts, one of them twice with other arguments.
    let (a, b) = (norm.arg("x", &x).result::<f32>().unwrap(), norm.arg("x", 3.0_f32).result::<f32>().unwrap());
    let swap = ctx.elementwise("r = p - q");
    let r = swap.arg("q", a).arg("p", b).result::<f32>().unwrap();
    let stream = ctx.stream().unwrap();
    assert_eq!(contents(&r.on(&stream).eval().unwrap()), (0..12).map(|i| 9.0 - (i * i) as f32).collect::<Vec<_>>());
}

#[test]
fn refused_texts_name_what_is_wrong() {
    let ctx = Fixture::open();
    let x = ctx.zeros::<f32>(3).unwrap();
    let kernel = ctx.elementwise("z = a * x");
    let message = |result: vkarray::Result<Expr<f32>>| {
        result.and_then(|expr| expr.eval()).map(|array| array.size()).unwrap_err().to_string()
    };
    let own = |text: &str| message(ctx.elementwise(text).arg("x", &x).result());
    let cases = [
        (
            own("y = x + y"),
            "line 1, column 9 of the text, with x: f32, y: f32: `y` is a result, and has no value yet where it is read: give \
             argument and result different names\n    y = x + y\n            ^",
        ),
        (
            own("result + x"),
            "line 1, column 1 of the text, with x: f32, result: f32: `result` is the value of the expression itself: give \
             the argument another name\n    result + x\n    ^",
        ),
        (message(kernel.arg("x", &x).result()), "argument `a` has no value; the arguments are `a`, `x`"),
        (
            message(kernel.arg("x", &x).arg("b", 1.0_f32).result()),
            "the text has no argument `b`; its arguments are `a`, `x`",
        ),
        (message(kernel.arg("x", &x).arg("x", 1.0_f32).result()), "argument `x` is given twice"),
        (
            message(kernel.arg("x", &x).arg("a", 1.0_f32).result_of(&[DType::F32; 2], 0)),
            "2 results are asked for, and the text has `z`",
        ),
        (
            message(kernel.arg("x", &x).arg("a", 2_i32).result()),
            "line 1, column 5 of the text, with a: i32, x: f32, z: f32: the left side is `i32` and the right side `f32`: \
             convert one of them, as in `i32(…)`\n    z = a * x\n        ^",
        ),
        (
            message(kernel.arg("x", &x).arg("a", ctx.zeros::<f32>(4).unwrap()).result()),
            "an elementwise kernel has operands without a common shape: f32 (4,) and f32 (3,)",
        ),
    ];
    for (got, expected) in cases {
        assert_eq!(got, expected);
    }
    let wrong = kernel.arg("x", &x).arg("a", 2_i32).result::<f32>().unwrap().eval().unwrap_err();
    assert!(matches!(&wrong, vkarray::Error::Text(fault) if fault.column == 5), "{wrong}");
}

#[test]
fn a_scan_combines_along_any_axis() {
    let ctx = Fixture::open();
    // The larger value wins, and of equal values the later one: the operation is not commutative.
    let kernel = ScanKernel::new("select(a, b, b / 8 >= a / 8)", "-8");
    for n in [0_usize, 1, 2, 255, 256, 257, 1791, 1792, 1793, 5003] {
        let host: Vec<i32> = (0..3 * n).map(|i| i32::try_from(i * 7919 % 1009).unwrap()).collect();
        let x = ctx.shaped_to_device(&host, [n, 3]).unwrap();
        let later = |a: i32, b: i32| if b / 8 >= a / 8 { b } else { a };
        let column = |start: usize| {
            let own = host.iter().skip(start).step_by(3);
            own.scan(-8, |acc, &b| {
                *acc = later(*acc, b);
                Some(*acc)
            })
        };
        let columns: Vec<Vec<i32>> = (0..3).map(|start| column(start).collect()).collect();
        let expected: Vec<i32> = (0..3 * n).map(|i| columns[i % 3][i / 3]).collect();
        assert_eq!(contents(&kernel.inclusive(&x, 0).unwrap()), expected, "{n}");
        let shifted: Vec<i32> = (0..3 * n).map(|i| if i < 3 { -8 } else { expected[i - 3] }).collect();
        assert_eq!(contents(&kernel.exclusive(&x, 0).unwrap()), shifted, "{n}");
        let flipped = contents(&kernel.inclusive(&x.t(), 1).unwrap());
        assert_eq!(flipped, columns.concat(), "{n}");
    }
    let wrong = ScanKernel::new("a + c", "0").inclusive(&ctx.ones::<f32>(3).unwrap(), 0).unwrap_err().to_string();
    let expected = "line 1, column 5 of the text, with a: f32, b: f32, result: f32: nothing is called `c` here: declare it, or \
                    correct its name\n    a + c\n        ^";
    assert_eq!(wrong, expected);
}

#[test]
fn a_reduction_combines_over_any_axes() {
    let ctx = Fixture::open();
    let kernel = ReductionKernel::new("let d = x - 2; z = d * d * m", "min(a, b)", "a + 1", "2147483647");
    for n in [1_usize, 2, 31, 32, 255, 256, 257, 1021, 70_001] {
        let host: Vec<i32> = (0..2 * n).map(|i| i32::try_from(i * 7919 % 1009).unwrap()).collect();
        let x = ctx.shaped_to_device(&host, [n, 2]).unwrap();
        let least = |own: &mut dyn Iterator<Item = &i32>| own.map(|x| 1 - (x - 2).pow(2)).min().unwrap();
        let by = |view: &DeviceNDArray<i32>, axes: &[isize]| {
            contents(&kernel.arg("x", view).arg("m", -1).reduce::<i32>(axes).unwrap())
        };
        let columns: Vec<i32> = (0..2).map(|start| least(&mut host.iter().skip(start).step_by(2))).collect();
        assert_eq!(by(&x, &[0]), columns, "{n}");
        assert_eq!(by(&x.t(), &[-1]), columns, "{n}");
        assert_eq!(by(&x.flip(None).unwrap(), &[0, 1]), [least(&mut host.iter().rev())], "{n}");
        let rows: Vec<i32> = host.chunks(2).map(|row| least(&mut row.iter())).collect();
        assert_eq!(by(&x, &[1]), rows, "{n}");
    }
    let empty = ctx.zeros::<f32>([3, 0]).unwrap();
    let product = ReductionKernel::new("x", "a * b", "a * 2.0", "1.0");
    assert_eq!(contents(&product.arg("x", &empty).reduce::<f32>(1).unwrap()), [2.0; 3]);
    let wrong = |kernel: &ReductionKernel| {
        kernel.arg("x", ctx.ones::<f32>([3, 4]).unwrap()).reduce::<f32>(0).unwrap_err().to_string()
    };
    let cases = [
        (ReductionKernel::new("x +", "a", "a", "0.0"), "with x: f32, result: f32: the text ends too early"),
        (ReductionKernel::new("x", "a + c", "a", "0.0"), "column 5 of the text, with a: f32, b: f32, result: f32"),
        (ReductionKernel::new("x", "a + b", "root(a)", "0.0"), "nothing is called `root`"),
        (ReductionKernel::new("x", "a + b", "a", "true"), "with result: f32: a value of type `bool`"),
        (ReductionKernel::new("x * y", "a + b", "a", "0.0"), "argument `y` has no value"),
    ];
    for (kernel, part) in cases {
        let message = wrong(&kernel);
        assert!(message.contains(part), "{message}");
    }
}
