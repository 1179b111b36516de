//! Runs on the device of the machine, against plain loops on the host.

use std::process::Stdio;

use ndarray::{Array1, Array2, Array3, ArrayD};
use ndarray_npy::{read_npy, write_npy};
use serde_json::Value;

use vkarray_tests::skips;

use crate::{Folder, text};

/// Whether device tests are to run. On a machine without a device, `GPU_TESTS=skip` has to be set.
pub(crate) fn has_device() -> bool {
    let is_skipped = std::env::var_os("GPU_TESTS").is_some_and(|value| value == "skip");
    if is_skipped {
        skips::skip("any", "device tests of the command", "a device, says GPU_TESTS=skip").expect("the table has it");
    }
    !is_skipped
}

/// Numbers between 0 and 1 without a pattern, from a linear congruence.
fn noise(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).expect("sixteen bits")) / 65536.0
    };
    (0..n).map(|_| next()).collect()
}

/// The definition of a convolution: zero outside the image, in double precision.
fn convolved(source: &Array3<f32>, weights: &Array2<f32>) -> Array3<f64> {
    let (height, width, channels) = source.dim();
    let (radius_y, radius_x) = (weights.nrows() / 2, weights.ncols() / 2);
    Array3::from_shape_fn((height, width, channels), |(y, x, channel)| {
        let mut sum = 0.0;
        for ((j, i), &weight) in weights.indexed_iter() {
            let (row, column) = ((y + radius_y).checked_sub(j), (x + radius_x).checked_sub(i));
            if let (Some(row), Some(column)) = (row, column) {
                let pixel = source.get((row, column, channel)).copied().unwrap_or(0.0);
                sum += f64::from(weight) * f64::from(pixel);
            }
        }
        sum
    })
}

/// An image, a filter and the constants to run them with.
struct Convolution {
    size: (usize, usize),
    radius: (usize, usize),
    constants: &'static str,
    reason: &'static str,
}

#[rustfmt::skip]
const CONVOLUTIONS: &[Convolution] = &[
    Convolution { size: (23, 37), radius: (1, 1), constants: "", reason: "odd sizes, default tile" },
    Convolution { size: (23, 37), radius: (4, 4), constants: "", reason: "the largest default radius" },
    Convolution { size: (23, 37), radius: (1, 3), constants: "--const TILE=8", reason: "other radii on each axis" },
    Convolution { size: (23, 37), radius: (3, 0), constants: "--const TILE=7", reason: "a tile of no power of two, a column" },
    Convolution { size: (23, 37), radius: (2, 2), constants: "--const TILE=1", reason: "one invocation loads all of its halo" },
    Convolution { size: (23, 37), radius: (2, 3), constants: "--const TILE=10 --const HALO=3", reason: "an exact halo" },
    Convolution { size: (23, 37), radius: (9, 9), constants: "--const TILE=8 --const HALO=9", reason: "a halo wider than the tile" },
    Convolution { size: (3, 2), radius: (4, 4), constants: "", reason: "an image smaller than tile and filter" },
    Convolution { size: (1, 1), radius: (0, 0), constants: "--const HALO=0", reason: "the smallest of all" },
    Convolution { size: (16, 32), radius: (1, 1), constants: "", reason: "whole tiles" },
];

#[test]
fn a_fault_ends_a_sanitized_run_with_its_line_and_leaves_every_file_alone() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    folder.put("y.npy", "old");
    folder.put(
        "shift.wgsl",
        "@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn shift(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] =
        x[id.x + 1u];
}",
    );
    let line = "run shift.wgsl --arg x=zeros:f32[64] --arg y=zeros:f32[64] --covering 64 --out y=y.npy --sanitize";
    let message = folder.refused(2, &mut folder.command(line));
    let finding =
        "shift.wgsl:5:9: kernel `shift`: index 64 is out of range of `x`, which has 64 elements (invocation 63, 0, 0)";
    assert!(message.contains(finding), "{message}");
    assert_eq!(std::fs::read_to_string(folder.0.path().join("y.npy")).unwrap(), "old");
}

#[test]
fn convolution_matches_the_definition() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    for Convolution { size: (height, width), radius: (radius_y, radius_x), constants, reason } in CONVOLUTIONS {
        let source = Array3::from_shape_vec((*height, *width, 4), noise(height * width * 4, 1)).unwrap();
        let (rows, columns) = (2 * radius_y + 1, 2 * radius_x + 1);
        // The weights are asymmetric and have a sum near one, so that the test sees a flip and a transposition.
        let weights = noise(rows * columns, 2).iter().map(|w| w * 2.0 / (rows * columns) as f32).collect();
        let weights = Array2::from_shape_vec((rows, columns), weights).unwrap();
        write_npy(folder.path("source.npy"), &source).unwrap();
        write_npy(folder.path("weights.npy"), &weights).unwrap();
        folder.done(&format!(
            "run convolve.wgsl --arg source=@source.npy --arg target_image=zeros:f32[{height},{width},4] \
             --arg weights=padded:@weights.npy --arg width={width} --arg height={height} --arg radius_x={radius_x} \
             --arg radius_y={radius_y} {constants} --covering {width},{height} --out target_image=target.npy"
        ));
        let target: Array3<f32> = read_npy(folder.path("target.npy")).unwrap();
        let expected = convolved(&source, &weights);
        assert_eq!(target.dim(), expected.dim(), "{reason}");
        for (index, value) in target.indexed_iter() {
            let error = (f64::from(*value) - expected[index]).abs();
            assert!(error <= 1e-5, "{reason}: {value} at {index:?}, expected {}", expected[index]);
        }
    }
}

#[test]
fn a_radius_above_the_halo_is_taken_as_the_halo() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let run = |radius: &str, constants: &str, target: &str| {
        folder.done(&format!(
            "run convolve.wgsl --arg source=random:f32[19,21,4] --arg target_image=zeros:f32[19,21,4] \
             --arg weights=padded:random:f32[961],seed=1 --arg width=21 --arg height=19 --arg radius_x={radius} \
             --arg radius_y={radius} --const TILE=8 {constants} --covering 21,19 --out target_image={target}"
        ));
        std::fs::read(folder.path(target)).unwrap()
    };
    let expected = run("2", "--const HALO=2", "halo.npy");
    assert_eq!(run("3", "--const HALO=2", "above.npy"), expected);
    assert_eq!(run("4294967295", "--const HALO=2", "largest.npy"), expected);
    // Constant memory ends at a radius of 15, for every halo.
    assert_eq!(run("16", "--const HALO=16", "sixteen.npy"), run("15", "--const HALO=15", "fifteen.npy"));
    assert_ne!(run("1", "--const HALO=2", "one.npy"), expected);
}

#[test]
fn saxpy_runs_on_files_and_repeats() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let (x, y) = (Array1::from(noise(1013, 3)), Array1::from(noise(1013, 4)));
    write_npy(folder.path("x.npy"), &x).unwrap();
    write_npy(folder.path("y.npy"), &y).unwrap();
    for constants in ["", "--const WORKGROUP=1", "--const WORKGROUP=100"] {
        let line = format!("run saxpy.wgsl --arg x=@x.npy --arg y=@y.npy --arg a=0.5 {constants} --covering 1013");
        folder.done(&format!("{line} --out y=once.npy"));
        let once: Array1<f32> = read_npy(folder.path("once.npy")).unwrap();
        assert!(once.iter().zip(&x).zip(&y).all(|((once, x), y)| (once - (0.5 * x + y)).abs() <= 1e-6), "{constants}");
        // Each run adds to the result of the run before it.
        folder.done(&format!("{line} --repeat 3 --out y=thrice.npy"));
        let thrice: Array1<f32> = read_npy(folder.path("thrice.npy")).unwrap();
        assert!(thrice.iter().zip(&x).zip(&y).all(|((v, x), y)| (v - (1.5 * x + y)).abs() <= 1e-6), "{constants}");
    }
}

#[test]
fn a_trace_shows_every_dispatch() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let line =
        "run saxpy.wgsl --arg x=zeros:f32[99] --arg y=zeros:f32[99] --arg a=0.5 --covering 99 --repeat 5 --quiet";
    let dispatches = |name: &str| {
        let file: Value = serde_json::from_slice(&std::fs::read(folder.path(name)).unwrap()).unwrap();
        let events = file["traceEvents"].as_array().unwrap().clone();
        events.iter().filter(|event| event["ph"] == "X" && event["name"] == "saxpy").count()
    };
    folder.done(&format!("{line} --trace flag.json"));
    assert_eq!(dispatches("flag.json"), 5);
    let mut command = folder.command(line);
    assert!(command.env("VKARRAY_TRACE", "environment.json").status().unwrap().success());
    assert_eq!(dispatches("environment.json"), 5);
    assert!(folder.command(line).env("VKARRAY_TRACE", "").status().unwrap().success());
    assert_eq!(folder.contents().iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "json")).count(), 2);
}

#[test]
fn columns_first_files_reach_the_shader_row_by_row() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let rows = Array3::from_shape_vec((3, 5, 4), noise(60, 5)).unwrap();
    let mut columns = ndarray::Array::zeros(ndarray::ShapeBuilder::f((3, 5, 4)));
    columns.assign(&rows);
    write_npy(folder.path("columns.npy"), &columns).unwrap();
    folder.done("run invert.wgsl --arg image=@columns.npy --covering 15 --out image=out.npy");
    let out: Array3<f32> = read_npy(folder.path("out.npy")).unwrap();
    let expected = Array3::from_shape_fn((3, 5, 4), |at| if at.2 == 3 { rows[at] } else { 1.0 - rows[at] });
    assert_eq!(out, expected);
}

#[test]
fn an_image_is_inverted_twice_into_itself() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let picture = image::RgbaImage::from_fn(7, 5, |x, y| {
        let (x, y) = (u8::try_from(x).unwrap(), u8::try_from(y).unwrap());
        image::Rgba([x * 30, y * 50, 9, 200 - x])
    });
    picture.save(folder.path("picture.png")).unwrap();
    folder.done("run invert.wgsl --arg image=@picture.png --covering 35 --out image=negative.png");
    let negative = image::open(folder.path("negative.png")).unwrap().into_rgba8();
    for (before, after) in picture.pixels().zip(negative.pixels()) {
        let [red, green, blue, alpha] = before.0;
        assert_eq!(after.0, [255 - red, 255 - green, 255 - blue, alpha]);
    }
    // The output replaces the input.
    folder.done("run invert.wgsl --arg image=@negative.png --covering 35 --out image=picture.png");
    assert_eq!(image::open(folder.path("picture.png")).unwrap().into_rgba8(), picture);
}

#[test]
fn julia_is_black_where_points_stay() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    folder.done(
        "run julia.wgsl --arg image=full:f32[48,64,4],value=7 --arg width=64 --arg height=48 --arg c_re=-0.8 \
         --arg c_im=0.156 --arg scale=1.2 --const MAX_ITER=100 --covering 64,48 --out image=j.npy --out image=j.png",
    );
    let image: Array3<f32> = read_npy(folder.path("j.npy")).unwrap();
    assert!(image.iter().all(|value| (0.0..=1.0).contains(value)));
    let stays = |row: usize, column: usize| {
        let (mut x, mut y) =
            (1.2 * (2.0 * column as f64 + 1.0 - 64.0) / 48.0, 1.2 * (48.0 - 1.0 - 2.0 * row as f64) / 48.0);
        (0..100).all(|_| {
            (x, y) = (x * x - y * y - 0.8, 2.0 * x * y + 0.156);
            x * x + y * y <= 65536.0
        })
    };
    let is_black = |row: usize, column: usize| (0..3).all(|channel| image[[row, column, channel]] == 0.0);
    let pixels = (0..48).flat_map(|row| (0..64).map(move |column| (row, column)));
    let n_differing = pixels.clone().filter(|&(row, column)| is_black(row, column) != stays(row, column)).count();
    // Double and single precision differ near the border of the set.
    assert!(n_differing <= 30, "{n_differing} of 3072 pixels differ");
    let n_black = pixels.filter(|&(row, column)| is_black(row, column)).count();
    assert!((10..1500).contains(&n_black), "{n_black} of 3072 pixels are black");
}

#[test]
fn the_report_is_text_or_json_or_nothing() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let line =
        "run saxpy.wgsl --arg x=zeros:f32[4] --arg y=zeros:f32[4] --arg a=1 --covering 4 --repeat 5 --out y=y.npy";
    let report = text(&folder.done(line).stdout);
    for part in [
        "device    ",
        "kernel    saxpy: workgroup 256",
        "grid      1×1×1",
        "median of 5",
        "wrote     y.npy: y as f32[4]",
    ] {
        assert!(report.contains(part), "{report}");
    }
    let json: Value = serde_json::from_slice(&folder.done(&format!("{line} --json")).stdout).unwrap();
    assert_eq!(json["upload"]["bytes"], 32);
    assert_eq!(json["download"]["bytes"], 16);
    assert_eq!(json["steps"][0]["dispatch"]["bytes"], 48); // `x` is read, `y` is read and written.
    assert_eq!(json["steps"][0]["dispatch"]["count"], 5);
    assert_eq!(json["steps"][0]["kernels"][0]["kernel"]["params"][1]["name"], "y");
    let seconds = |name: &str| json["steps"][0]["dispatch"][name].as_f64().unwrap();
    assert!(seconds("min_seconds") <= seconds("median_seconds") && seconds("median_seconds") <= seconds("max_seconds"));
    assert!(folder.done(&format!("{line} --quiet")).stdout.is_empty());
}

#[test]
fn devices_are_listed_and_can_be_named() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let table = text(&folder.done("devices").stdout);
    let json: Value = serde_json::from_slice(&folder.done("devices --json").stdout).unwrap();
    let devices = json.as_array().unwrap();
    let (lines, faults) = table.split_at(table.find("known fault").unwrap_or(table.len()));
    assert_eq!(lines.lines().count(), devices.len());
    assert!(faults.lines().all(|line| line.starts_with("known fault of ")), "{table}");
    for (index, device) in devices.iter().enumerate() {
        let line = table.lines().nth(index).unwrap();
        assert!(
            line[1..].starts_with(&index.to_string()) && line.contains(device["name"].as_str().unwrap()),
            "{table}"
        );
    }
    let uuid = devices[0]["uuid"].as_str().unwrap();
    let line = "run invert.wgsl --arg image=zeros:f32[4] --covering 1 --json";
    for selector in ["0", &format!("uuid:{uuid}")] {
        let report: Value =
            serde_json::from_slice(&folder.done(&format!("{line} --device {selector}")).stdout).unwrap();
        assert_eq!(report["device"], devices[0]["name"]);
    }
    let message = folder.refused(2, &mut folder.command(&format!("{line} --device nosuch")));
    assert!(message.contains("nosuch") && message.contains(devices[0]["name"].as_str().unwrap()), "{message}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = folder.command("devices --json").stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn what_the_device_cannot_do_is_bad_input() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    folder.put(
        "shared.wgsl",
        "override N: u32 = 64;
         var<workgroup> tile: array<f32, N>;
         @group(0) @binding(0) var<storage, read_write> x: array<f32>;
         @compute @workgroup_size(64) fn reverse(@builtin(local_invocation_index) i: u32) {
             tile[i] = x[i]; workgroupBarrier(); x[i] = tile[N - 1u - i];
         }",
    );
    let shared = "run shared.wgsl --arg x=arange:f32[64] --out x=x.npy";
    folder.done(&format!("{shared} --groups 1"));
    let reversed: ArrayD<f32> = read_npy(folder.path("x.npy")).unwrap();
    assert_eq!(reversed, Array1::from_iter((0..64).rev().map(|i| i as f32)).into_dyn());
    // The line, and a part of the message.
    let cases = [
        (format!("{shared} --groups 1 --const N=1048576"), "4194304 bytes of shared memory (`tile`), the device has"),
        (format!("{shared} --groups 1,4294967295"), "4294967295 workgroups on axis y, the device allows"),
        (
            "run saxpy.wgsl --arg x=zeros:f32[4] --arg y=zeros:f32[4] --arg a=1 --covering 4 --const WORKGROUP=16384 --out y=x.npy"
                .to_owned(),
            "workgroup size 16384 on axis x, the device allows",
        ),
        (
            // The array has more than a terabyte: its size alone is refused, before memory is allocated.
            "run saxpy.wgsl --arg x=zeros:f32[4] --arg y=zeros:f32[500000000000] --arg a=1 --covering 4 --out y=x.npy".to_owned(),
            "`y` has 2000000000000 bytes, the device binds at most",
        ),
    ];
    for (line, part) in cases {
        let message = folder.refused(2, &mut folder.command(&line));
        assert!(message.contains(part), "{line}\n{message}");
    }
}

#[test]
fn expressions_are_evaluated_on_files() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let x = Array2::from_shape_fn((7, 13), |(row, column)| (row * 13 + column) as f32);
    write_npy(folder.path("x.npy"), &x).expect("the folder is ours");
    let line = "eval z=x*y+a;n=x>a --arg x=@x.npy --arg y=arange:f32[13] --arg a=45 --out z=z.npy --out n=n.npy --json";
    let output = folder.done(line);
    let z: ArrayD<f32> = read_npy(folder.path("z.npy")).expect("written");
    let expected = Array2::from_shape_fn((7, 13), |(row, column)| ((row * 13 + column) * column + 45) as f32);
    assert_eq!(z, expected.into_dyn());
    let n: ArrayD<bool> = read_npy(folder.path("n.npy")).expect("written");
    assert_eq!(n, x.mapv(|x| x > 45.0).into_dyn());
    let statistics: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let [first, second] = statistics.as_array().expect("two results").as_slice() else { panic!("{statistics}") };
    let mean = z.iter().map(|&z| f64::from(z)).sum::<f64>() / 91.0;
    assert_eq!(
        (first["name"].as_str(), first["min"].as_f64(), first["max"].as_f64()),
        (Some("z"), Some(45.0), Some(1125.0))
    );
    assert!((first["mean"].as_f64().expect("a number") - mean).abs() < 1e-9, "{first}");
    assert_eq!((second["dtype"].as_str(), second["mean"].as_f64()), (Some("Bool"), Some(45.0 / 91.0)));
    let shown = text(&folder.done("eval x*x --arg x=arange:i32[4]").stdout);
    assert_eq!(shown, "result  i32[4]  min 0.0000000  max 9.0000000  mean 3.5000000  std 3.5000000\n  [0 1 4 9]\n");
    let empty = text(&folder.done("eval x --arg x=zeros:f32[0]").stdout);
    assert_eq!(empty, "result  f32[0]  min -  max -  mean -  std -\n");
    for (line, part) in [
        ("eval x*q --arg x=arange:i32[4]", "argument `q` has no value"),
        (
            "eval x*norm(x) --arg x=arange:i32[4]",
            "line 1, column 3 of the text, with x: i32, result: i32: nothing is called `norm`",
        ),
        ("eval x --arg x=1,2", "one number or an array"),
        ("eval x --arg x=zeros:f32[3] --out y=y.npy", "there is no array `y` to read back; there is `result`"),
        ("eval x --arg x=zeros:f32[3] --out result=y.png", "a .png holds bool, u8"),
    ] {
        let message = folder.refused(2, &mut folder.command(line));
        assert!(message.contains(part), "{line}\n{message}");
    }
}

#[test]
fn copies_are_explained_with_their_routes_and_reasons() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let found = text(&folder.done("inspect --copy 4096").stdout);
    let lines: Vec<_> = found.lines().collect();
    assert_eq!(lines.len(), 8, "{found}");
    for (line, copy) in lines.iter().zip(["upload from a slice, idle: ", "upload from a slice, behind a kernel: "]) {
        assert!(line.starts_with(copy) && line[copy.len()..].contains(": "), "{line}");
    }
}

#[test]
fn a_shader_with_addresses_runs_where_the_user_answers_for_it() {
    if !has_device() {
        return;
    }
    let folder = Folder::empty();
    folder.put(
        "scale.comp",
        "#version 450
        #extension GL_EXT_buffer_reference : require
        layout(local_size_x = 64) in;
        layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
        layout(push_constant) uniform Push { Floats x; uint n; float factor; };
        void main() { uint i = gl_GlobalInvocationID.x; if (i < n) x.v[i] *= factor; }",
    );
    let inspected = text(&folder.done("inspect scale.comp").stdout);
    assert!(inspected.contains("\n  x       address +0  read_write  array<f32>\n"), "{inspected}");
    let line =
        "run scale.comp --arg x=arange:f32[101] --arg n=101 --arg factor=1.5 --covering 101 --out x=x.npy --quiet";
    let error = folder.refused(2, &mut folder.command(line));
    assert!(error.contains("the address `x`") && error.contains("--unsafe-addresses"), "{error}");
    let output = folder.command(&format!("{line} --unsafe-addresses")).output().unwrap();
    if !output.status.success() {
        assert!(text(&output.stderr).contains("needs buffer device addresses, which "), "{}", text(&output.stderr));
        return;
    }
    let found: Array1<f32> = read_npy(folder.path("x.npy")).unwrap();
    assert_eq!(found, Array1::from_iter((0_u8..101).map(|i| f32::from(i) * 1.5)));
}
