//! Shaders of other programs that come with this one (`tests/shaders/others`): each computes what the host computes, or
//! is refused for a reason that is stated. More, that do not come along, are in `collection.rs`.

use vkarray::{Arg, AsArg, Context, DeviceNDArray, Groups, Kernel, KernelError, ScalarValue, Source};

use crate::fixture::{Fixture, contents, skipped};

fn path(file: &str) -> String {
    format!("{}/shaders/others/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn text(file: &str) -> Source {
    let text = std::fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    Source::wgsl(text).named(file.to_owned())
}

/// A kernel of ggml's. None, said aloud, on a device with smaller workgroups than it has.
fn ggml(ctx: &Context, name: &str, constants: &[(&str, f64)]) -> Option<Kernel> {
    let bytes = std::fs::read(path(&format!("ggml/{name}.spv"))).unwrap_or_else(|error| panic!("{name}: {error}"));
    let builder = ctx.kernel(Source::spirv(bytes).named(name.to_owned()));
    let builder = constants.iter().fold(builder, |builder, &(name, value)| builder.constant(name, value));
    match builder.build() {
        Ok(kernel) => Some(kernel),
        Err(error @ (KernelError::WorkgroupSize { .. } | KernelError::WorkgroupInvocations { .. })) => {
            let limit = ctx.info().limits.max_compute_work_group_invocations;
            assert!(limit < 512, "{name}: {error}");
            skipped(name, &error.to_string());
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Calls a kernel with arrays, then numbers.
fn call(ctx: &Context, kernel: &Kernel, groups: [u32; 3], arrays: &[&dyn AsArg], numbers: &[ScalarValue]) {
    let arrays = arrays.iter().map(|array| array.as_arg());
    let args: Vec<Arg<'_>> = arrays.chain(numbers.iter().map(|&number| Arg::Scalar(number))).collect();
    kernel.dispatch(ctx.default_stream(), Groups::exact(groups), args).unwrap_or_else(|error| panic!("{error}"));
}

/// ggml's usual push constants.
fn generic(kx: usize, ky: usize, first: f32, second: f32) -> [ScalarValue; 6] {
    let count = |n: usize| u32::try_from(n).unwrap().into();
    [count(kx), count(ky), first.into(), second.into(), 0.0_f32.into(), 0.0_f32.into()]
}

fn small(i: usize) -> f32 {
    f32::from(u16::try_from(i).unwrap())
}

/// Numbers between -3 and 3, none twice in a row.
fn wave(n: usize) -> Vec<f32> {
    (0..n).map(|i| small((i * 37 + 11) % 101) * 0.06 - 3.0).collect()
}

fn assert_close(found: &DeviceNDArray<f32>, expected: &[f32], what: &str) {
    assert_within(1e-5, found, expected, what);
}

fn assert_within(tolerance: f32, found: &DeviceNDArray<f32>, expected: &[f32], what: &str) {
    let found = contents(found);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let is_close = found == expected || (found - expected).abs() <= tolerance + expected.abs() * 1e-4;
        assert!(is_close, "{what}, {i}: {found} instead of {expected}");
    }
}

#[test]
fn functions_of_one_number() {
    type Function = fn(f32) -> f32;
    let fixture = Fixture::open();
    let cases: [(&str, Function); 9] = [
        ("relu", |x| x.max(0.0)),
        ("leaky_relu", |x| if x > 0.0 { x } else { x * 0.25 }), // The slope is the first parameter.
        ("silu", |x| x / (1.0 + (-x).exp())),
        ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
        ("hardsigmoid", |x| ((x + 3.0) / 6.0).clamp(0.0, 1.0)),
        ("hardswish", |x| x * ((x + 3.0) / 6.0).clamp(0.0, 1.0)),
        ("step", |x| if x >= 0.0 { 1.0 } else { 0.0 }),
        ("tanh", f32::tanh),
        ("gelu_quick", |x| x / (1.0 + (-1.702 * x).exp())),
    ];
    for (name, function) in cases {
        let Some(kernel) = ggml(&fixture, name, &[]) else { continue };
        let x = wave(1000);
        let (array, out) = (fixture.slice_to_device(&x).unwrap(), fixture.full([1000], 7.0_f32).unwrap());
        call(&fixture, &kernel, [2, 1, 1], &[&array, &out], &generic(990, 1, 0.25, 0.0));
        let expected: Vec<f32> = x.iter().enumerate().map(|(i, &x)| if i < 990 { function(x) } else { 7.0 }).collect();
        assert_close(&out, &expected, name);
    }
}

#[test]
fn numbers_from_nothing() {
    type Number = fn(usize) -> f32;
    let fixture = Fixture::open();
    let cases: [(&str, Number); 2] = [("arange", |i| 5.0 - 0.5 * small(i)), ("fill", |_| 5.0)];
    for (name, expected) in cases {
        let Some(kernel) = ggml(&fixture, name, &[]) else { continue };
        let out = fixture.zeros::<f32>([700]).unwrap();
        call(&fixture, &kernel, [2, 1, 1], &[&out], &generic(700, 1, 5.0, -0.5));
        assert_close(&out, &(0..700).map(expected).collect::<Vec<_>>(), name);
    }
}

#[test]
fn a_step_of_training() {
    let fixture = Fixture::open();
    let (x, gradient) = (wave(600), wave(700)[100..].to_vec());
    let array = |values: &[f32]| fixture.slice_to_device(values).unwrap();
    if let Some(sgd) = ggml(&fixture, "opt_step_sgd", &[]) {
        let (weights, params) = (array(&x), array(&[0.5, 0.25]));
        call(&fixture, &sgd, [2, 1, 1], &[&weights, &array(&gradient), &params], &generic(600, 1, 0.0, 0.0));
        let expected: Vec<f32> = x.iter().zip(&gradient).map(|(x, g)| x * (1.0 - 0.5 * 0.25) - 0.5 * g).collect();
        assert_close(&weights, &expected, "opt_step_sgd");
    }
    if let Some(back) = ggml(&fixture, "silu_back", &[]) {
        let out = fixture.zeros::<f32>([600]).unwrap();
        call(&fixture, &back, [2, 1, 1], &[&array(&gradient), &array(&x), &out], &generic(600, 1, 0.0, 0.0));
        let derivative = |x: f32| {
            let s = 1.0 / (1.0 + (-x).exp());
            s + x * s * (1.0 - s)
        };
        let expected: Vec<f32> = x.iter().zip(&gradient).map(|(&x, g)| g * derivative(x)).collect();
        assert_close(&out, &expected, "silu_back");
    }
    let back = ggml(&fixture, "soft_max_back", &[("BLOCK_SIZE", 64.0)]).expect("64 invocations");
    let out = fixture.zeros::<f32>([600]).unwrap();
    call(&fixture, &back, [6, 1, 1], &[&array(&gradient), &array(&x), &out], &generic(100, 6, 0.5, 0.0));
    let row = |(g, y): (&[f32], &[f32])| {
        let dot: f32 = g.iter().zip(y).map(|(g, y)| g * y).sum();
        g.iter().zip(y).map(|(g, y)| 0.5 * (g - dot) * y).collect::<Vec<_>>()
    };
    let expected: Vec<f32> = gradient.chunks(100).zip(x.chunks(100)).flat_map(row).collect();
    assert_close(&out, &expected, "soft_max_back");
}

#[test]
fn rows_are_normalised() {
    let fixture = Fixture::open();
    let x = wave(5 * 130);
    let array = fixture.slice_to_device(&x).unwrap();
    let length = |row: &[f32]| row.iter().map(|x| x * x).sum::<f32>();
    let l2 = |row: &[f32]| row.iter().map(|x| x / length(row).max(1e-3).sqrt()).collect::<Vec<_>>();
    let centred = |row: &[f32]| {
        let mean = row.iter().sum::<f32>() / 130.0;
        let row: Vec<f32> = row.iter().map(|x| x - mean).collect();
        let scale = (length(&row) / 130.0 + 1e-3).sqrt();
        row.iter().map(|x| x / scale).collect::<Vec<_>>()
    };
    let l2 = x.chunks(130).flat_map(l2).collect::<Vec<_>>();
    let centred = x.chunks(130).flat_map(centred).collect::<Vec<_>>();
    for (name, expected) in [("l2_norm", l2), ("group_norm", centred)] {
        let Some(kernel) = ggml(&fixture, name, &[]) else { continue };
        let out = fixture.zeros::<f32>([5 * 130]).unwrap();
        call(&fixture, &kernel, [5, 1, 1], &[&array, &out], &generic(130, 5, 1e-3, 0.0));
        assert_close(&out, &expected, name);
    }
}

#[test]
fn the_largest_of_each_row_and_the_order_of_its_numbers() {
    let fixture = Fixture::open();
    let x = wave(7 * 50);
    let array = fixture.slice_to_device(&x).unwrap();
    let order = |row: &[f32]| {
        let mut order: Vec<i32> = (0..50).collect();
        order.sort_by(|&a, &b| row[a.unsigned_abs() as usize].total_cmp(&row[b.unsigned_abs() as usize]));
        order
    };
    let argmax = ggml(&fixture, "argmax", &[("BLOCK_SIZE", 32.0)]).expect("32 invocations");
    let out = fixture.zeros::<i32>([7]).unwrap();
    call(&fixture, &argmax, [7, 1, 1], &[&array, &out], &generic(50, 7, 0.0, 0.0));
    assert_eq!(contents(&out), x.chunks(50).map(|row| order(row)[49]).collect::<Vec<_>>());

    let argsort =
        ggml(&fixture, "argsort", &[("BLOCK_SIZE", 64.0), ("NCOLS_PADDED_LOG2", 6.0)]).expect("64 invocations");
    for is_descending in [0_u32, 1] {
        let out = fixture.zeros::<i32>([7 * 50]).unwrap();
        let numbers = [50, 64, 6, 7, is_descending, 0, 0, 0, 0].map(ScalarValue::from);
        call(&fixture, &argsort, [1, 3, 1], &[&array, &out], &numbers);
        let row = |row: &[f32]| {
            let mut order = order(row);
            if is_descending == 1 {
                order.reverse();
            }
            order
        };
        assert_eq!(contents(&out), x.chunks(50).flat_map(row).collect::<Vec<_>>());
    }
}

#[test]
fn things_are_counted() {
    let fixture = Fixture::open();
    let a: Vec<i32> = (0..2000).map(|i| i % 7).collect();
    let b: Vec<i32> = (0..2000).map(|i| i % 5).collect();
    let equal = ggml(&fixture, "count_equal", &[("0", 64.0)]).expect("64 invocations");
    let (a, b) = (fixture.slice_to_device(&a).unwrap(), fixture.slice_to_device(&b).unwrap());
    let out = fixture.zeros::<i32>([1]).unwrap();
    call(&fixture, &equal, [4, 1, 1], &[&a, &b, &out], &generic(2000, 1, 0.0, 0.0));
    let expected = (0..2000).filter(|i| i % 7 == i % 5).count();
    assert_eq!(contents(&out), [i32::try_from(expected).unwrap()]);

    let experts = ggml(&fixture, "count_experts", &[]).expect("256 invocations");
    // Rows of 20 numbers, of which the first 13 count.
    let chosen: Vec<u32> = (0..40 * 20).map(|i| i * i % 9).collect();
    let (array, out) = (fixture.slice_to_device(&chosen).unwrap(), fixture.zeros::<u32>([9]).unwrap());
    call(&fixture, &experts, [9, 1, 1], &[&array, &out], &[13_u32, 40, 1, 20, 0].map(ScalarValue::from));
    let count = |expert| chosen.chunks(20).flat_map(|row| &row[..13]).filter(|&&found| found == expert).count();
    assert_eq!(contents(&out), (0..9).map(|expert| u32::try_from(count(expert)).unwrap()).collect::<Vec<_>>());
}

#[test]
fn images_and_sequences() {
    let fixture = Fixture::open();
    if let Some(mask) = ggml(&fixture, "diag_mask_inf", &[]) {
        let x = wave(6 * 40);
        let (array, out) = (fixture.slice_to_device(&x).unwrap(), fixture.zeros::<f32>([6 * 40]).unwrap());
        call(&fixture, &mask, [6, 1, 1], &[&array, &out], &[40_u32, 3, 10].map(ScalarValue::from));
        let masked = |(i, &x): (usize, &f32)| if i % 40 > 10 + i / 40 % 3 { f32::NEG_INFINITY } else { x };
        assert_eq!(contents(&out), x.iter().enumerate().map(masked).collect::<Vec<_>>());
    }
    if let Some(pool) = ggml(&fixture, "pool2d", &[]) {
        // Two images of 9 × 7, windows of 3 × 3 every 2: 4 × 3 of them.
        let x = wave(2 * 9 * 7);
        let (array, out) = (fixture.slice_to_device(&x).unwrap(), fixture.zeros::<f32>([2 * 4 * 3]).unwrap());
        let sizes = [9_u32, 7, 4, 3, 2, 24, 0].map(ScalarValue::from);
        let windows = [3_i32, 3, 2, 2, 0, 0].map(ScalarValue::from);
        call(&fixture, &pool, [1, 1, 1], &[&array, &out], &[&sizes[..], &windows].concat());
        let largest = |i: usize| {
            let (image, top, left) = (i / 12, i % 12 / 4 * 2, i % 4 * 2);
            let rows = (top..top + 3).flat_map(|y| (left..left + 3).map(move |x| image * 63 + y * 9 + x));
            rows.map(|at| x[at]).fold(f32::NEG_INFINITY, f32::max)
        };
        assert_eq!(contents(&out), (0..24).map(largest).collect::<Vec<_>>());
    }
    let embedding = ggml(&fixture, "timestep_embedding", &[]).expect("256 invocations");
    let times = [0.0_f32, 1.0, 2.5];
    let (array, out) = (fixture.slice_to_device(&times).unwrap(), fixture.full([3 * 9], 7.0_f32).unwrap());
    call(&fixture, &embedding, [1, 3, 1], &[&array, &out], &[9_u32, 9, 10_000].map(ScalarValue::from));
    let value = |i: usize| {
        let angle = |j: usize| times[i / 9] * (-(10_000.0_f32.ln()) * small(j) / 4.0).exp();
        match i % 9 {
            8 => 0.0,
            j if j < 4 => angle(j).cos(),
            j => angle(j - 4).sin(),
        }
    };
    // Vulkan asks sines and cosines for an error of at most 2^-11.
    assert_within(0.5_f32.powi(11), &out, &(0..27).map(value).collect::<Vec<_>>(), "timestep_embedding");
}

#[test]
fn numbers_come_down_to_one() {
    let fixture = Fixture::open();
    let collatz = fixture.kernel(text("wgpu/hello_compute.wgsl")).build().unwrap();
    let numbers: Vec<u32> = (0..300).chain([1_431_655_765, u32::MAX]).collect();
    let array = fixture.slice_to_device(&numbers).unwrap();
    collatz.dispatch(fixture.default_stream(), Groups::covering([302]), (&array,)).unwrap();
    let steps = |&n: &u32| {
        let (mut n, mut steps) = (u64::from(n), 0);
        while n > 1 {
            if n % 2 == 1 && n >= 1_431_655_765 {
                return u32::MAX; // Three times that is no `u32`.
            }
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    };
    assert_eq!(contents(&array), numbers.iter().map(steps).collect::<Vec<_>>());
}

type Bird = [f32; 4]; // Position and velocity.

/// One step of a flock, as its description says: together, apart, alike.
fn flock(birds: &[Bird]) -> Vec<f32> {
    let step = |(i, &[x, y, vx, vy]): (usize, &Bird)| {
        let near = |least: f32| {
            let others = birds.iter().enumerate().filter(move |&(j, _)| j != i).map(|(_, bird)| *bird);
            others.filter(move |[ox, oy, ..]| (ox - x).hypot(oy - y) < least).collect::<Vec<_>>()
        };
        let mean =
            |birds: &[Bird], at: usize| birds.iter().map(|bird| bird[at]).sum::<f32>() / small(birds.len().max(1));
        let (together, apart, alike) = (near(0.5), near(0.25), near(0.3));
        let turn = |at: usize, own: f32| {
            let to_centre = if together.is_empty() { 0.0 } else { mean(&together, at) - own };
            let away: f32 = apart.iter().map(|bird| own - bird[at]).sum();
            to_centre * 0.02 + away * 0.05 + mean(&alike, at + 2) * 0.005
        };
        let (vx, vy) = (vx + turn(0, x), vy + turn(1, y));
        let speed = vx.hypot(vy);
        let (vx, vy) = (vx / speed * speed.clamp(0.0, 0.1), vy / speed * speed.clamp(0.0, 0.1));
        let wrap = |at: f32| {
            if at < -1.0 {
                1.0
            } else if at > 1.0 {
                -1.0
            } else {
                at
            }
        };
        [wrap(x + vx * 0.04), wrap(y + vy * 0.04), vx, vy]
    };
    birds.iter().enumerate().flat_map(step).collect()
}

#[test]
fn a_flock_flies() {
    let fixture = Fixture::open();
    let boids = fixture.kernel(text("wgpu/boids.wgsl")).build().unwrap();
    let birds: Vec<Bird> = wave(4 * 90)
        .chunks(4)
        .enumerate()
        .map(|(i, v)| [v[0] / 3.0, (v[1] / 3.0 + small(i) * 0.013) % 1.0, v[2] * 0.02, v[3] * 0.02 + 0.01])
        .collect();
    let params = fixture.const_array(&[0.04_f32, 0.5, 0.25, 0.3, 0.02, 0.05, 0.005], &[7]).unwrap();
    let (before, after) =
        (fixture.slice_to_device(birds.as_flattened()).unwrap(), fixture.zeros::<f32>([360]).unwrap());
    boids.dispatch(fixture.default_stream(), Groups::covering([90]), (&params, &before, &after)).unwrap();
    assert_close(&after, &flock(&birds), "boids");
}

#[test]
fn shaders_in_an_older_language_or_with_blanks_are_refused() {
    let fixture = Fixture::open();
    let cases = [
        ("forma/rasterizer.wgsl", "forma/rasterizer.wgsl:15:1: the shader does not parse"), // `let` in a module.
        ("forma/paint.wgsl", "forma/paint.wgsl:15:1: the shader does not parse"),
        ("forma/sort.wgsl", "forma/sort.wgsl:15:1: the shader does not parse"),
    ];
    for (file, message) in cases {
        let error = fixture.kernel(text(file)).build().expect_err(file);
        assert_eq!(error.to_string().lines().next(), Some(message), "{error}");
    }
}
