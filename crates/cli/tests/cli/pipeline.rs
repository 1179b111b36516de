//! Pipeline files: several dispatches over named arrays, against a loop on the host and against single runs.

use ndarray::{Array2, ArrayD};
use ndarray_npy::{read_npy, write_npy};
use serde_json::Value;

use crate::device::has_device;
use crate::{Folder, text};

/// Steps of the heat equation in single precision; the border keeps its temperature.
fn heated(plate: &Array2<f32>, rate: f32, n_steps: usize) -> Array2<f32> {
    let (height, width) = plate.dim();
    let (mut now, mut next) = (plate.clone(), plate.clone());
    for _ in 0..n_steps {
        for y in 1..height - 1 {
            for x in 1..width - 1 {
                let around = now[[y - 1, x]] + now[[y + 1, x]] + now[[y, x - 1]] + now[[y, x + 1]];
                next[[y, x]] = now[[y, x]] + rate * (around - 4.0 * now[[y, x]]);
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    now
}

#[test]
fn a_thousand_steps_of_heat_are_those_of_a_loop() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let plate = Array2::from_shape_fn((99, 151), |(y, x)| ((y * 7 + x * x * 3) % 31) as f32);
    write_npy(folder.path("plate.npy"), &plate).unwrap();
    let line = "run heat.toml --arg plate=@plate.npy --out plate=warm.npy --out image=warm.png --json --trace t.json";
    let report: Value = serde_json::from_slice(&folder.done(line).stdout).unwrap();
    let warm: Array2<f32> = read_npy(folder.path("warm.npy")).unwrap();
    let expected = heated(&plate, 0.2, 1000);
    for (at, value) in warm.indexed_iter() {
        assert!((value - expected[at]).abs() < 2e-3, "{value} at {at:?}, expected {}", expected[at]);
    }
    let [steps, drawn] = report["steps"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((steps["repeat"].as_u64(), drawn["repeat"].as_u64()), (Some(500), Some(1)));
    assert_eq!(steps["kernels"].as_array().unwrap().len(), 2);
    assert_eq!(steps["kernels"][1]["workgroups"], serde_json::json!([10, 7, 1]));
    assert_eq!(drawn["kernels"][0]["kernel"]["entry"], "colour_map");
    assert_eq!(steps["dispatch"]["bytes"], 500 * 2 * 2 * 4 * 99 * 151);
    assert_eq!(report["outputs"][1]["shape"], serde_json::json!([99, 151, 4]));
    let trace = std::fs::read_to_string(folder.path("t.json")).unwrap();
    assert!(trace.contains("colour_map"), "the trace has the step behind the graph");
    // The result of a pipeline is compared like the result of a shader.
    let compared = "run heat.toml --arg plate=@plate.npy --quiet --compare plate=warm.npy";
    folder.done(compared);
    // A repetition makes another thousand steps.
    let failed = folder.command(&format!("{compared} --repeat 2")).output().unwrap();
    assert_eq!(failed.status.code(), Some(4), "{}", text(&failed.stderr));
}

#[test]
fn steps_pass_their_arrays_on_as_files_between_runs_do() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    std::fs::create_dir(folder.path("elsewhere")).unwrap();
    // Shaders are looked for beside the pipeline file, outputs in the current folder.
    let mut command = folder.command("run ../denoise.toml --out noisy=noisy.npy --out smooth=smooth.npy");
    let output = command.current_dir(folder.path("elsewhere")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    assert_eq!(report.lines().filter(|line| line.starts_with("dispatch  ")).count(), 3, "{report}");
    for line in [
        "run ray_march.wgsl --arg width=150 --arg height=100 --covering 150,100 --out image=drawn.npy",
        "run saxpy.wgsl --arg x=random:f32[100,150,4],seed=3 --arg y=@drawn.npy --arg a=0.2 --covering 60000 --out y=noisy.npy",
        "run bilateral.wgsl --arg source=@noisy.npy --arg width=150 --arg height=100 --arg radius=6 --arg sigma_space=4 \
         --arg sigma_colour=0.25 --covering 150,100 --out smooth_image=smooth.npy",
    ] {
        folder.done(line);
    }
    for name in ["noisy.npy", "smooth.npy"] {
        let [one, many] = [folder.path(name), folder.path("elsewhere").join(name)];
        assert_eq!(read_npy::<_, ArrayD<f32>>(one).unwrap(), read_npy::<_, ArrayD<f32>>(many).unwrap(), "{name}");
    }
}

const ADD: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
override BY: u32 = 1;
@compute @workgroup_size(4) fn add(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += BY; }
@compute @workgroup_size(4) fn wide(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x + 1u] = 0u; }
";

fn adding(folder: &Folder, steps: &str) {
    folder.put("add.wgsl", ADD);
    folder.put("p.toml", format!("[arrays]\nx = \"zeros:u32[4]\"\n{steps}"));
}

#[test]
fn groups_repeat_with_and_without_checks() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let step = |table: &str, rest: &str| {
        format!("[[{table}]]\nshader = \"add.wgsl\"\nentry = \"add\"\ncovering = 4\narg = {{ x = \"x\" }}\n{rest}\n")
    };
    // The group adds 3 * 1, then 5 * (10 + 100), and runs twice.
    let group = step("step.step", "const = { BY = 10 }") + &step("step.step", "const = { BY = 100 }");
    adding(&folder, &format!("{}[[step]]\nrepeat = 5\n{group}", step("step", "repeat = 3")));
    for flags in ["", "--sanitize"] {
        folder.done(&format!("run p.toml --repeat 2 --out x=x.npy {flags}"));
        let x: ArrayD<u32> = read_npy(folder.path("x.npy")).unwrap();
        assert_eq!(x.as_slice().unwrap(), [1106; 4], "{flags}");
    }
    adding(&folder, &step("step", "repeat = 2").replace("\"add\"", "\"wide\""));
    let message = folder.refused(2, &mut folder.command("run p.toml --sanitize --out x=x.npy"));
    assert!(message.starts_with("error: p.toml: step 1: ") && message.contains("add.wgsl:5:"), "{message}");
}

#[test]
fn a_refused_pipeline_names_its_step() {
    let folder = Folder::new();
    let step = "[[step]]\nshader = \"add.wgsl\"\nentry = \"add\"\n";
    let good = format!("{step}covering = 4\narg = {{ x = \"x\" }}\n");
    let cases = [
        (format!("{good}{step}covering = 4\narg = {{ x = \"y\" }}"), "step 2: there is no array `y`; there is `x`"),
        (format!("{good}{step}covering = 0"), "step 2: `--covering 0`: a count of zero runs nothing"),
        (format!("{good}{step}arg = {{ x = \"x\" }}"), "step 2: give either `--covering`"),
        (format!("{good}{step}groups = 1\ncovering = 4"), "step 2: give either `--covering`"),
        (format!("{good}{step}covering = 4\narg = {{ x = 1 }}"), "step 2: kernel `add`: `x` is an array, array<u32>"),
        (format!("{good}{step}covering = 4\narg = {{ x = \"x\", z = 1 }}"), "step 2: kernel `add` has no argument `z`"),
        (format!("{good}{step}covering = 5\narg = {{ x = \"x\" }}"), "step 2: argument `x` holds 4 elements of u32"),
        (format!("{step}covering = 4\nconst = {{ TO = 1 }}"), "step 1: kernel `add`: no constant `TO`; there is `BY`"),
        ("[[step]]\nshader = \"none.wgsl\"\ngroups = 1".to_owned(), "step 1: cannot read none.wgsl"),
        ("[[step]]\nrepeat = 2\n[[step.step]]\nshader = \"none.wgsl\"".to_owned(), "step 1.1: cannot read none.wgsl"),
    ];
    for (steps, part) in cases {
        adding(&folder, &steps);
        let message = folder.refused(2, &mut folder.command("run p.toml --out x=x.npy"));
        assert!(message.starts_with(&format!("error: p.toml: {part}")), "{steps}\n{message}");
    }
    adding(&folder, &good);
    for (line, expected) in [
        ("run p.toml --out y=y.npy", "y.npy: there is no array `y` to read back; there is `x`"),
        ("run p.toml --arg y=zeros:u32[4]", "p.toml: arrays: no step takes the array `y`"),
        ("run none.toml", "cannot read none.toml: No such file or directory (os error 2)"),
        ("run p.toml --covering 4", "`--covering` is for one shader; the steps of p.toml have it as a key"),
    ] {
        assert_eq!(folder.refused(2, &mut folder.command(line)), format!("error: {expected}\n"), "{line}");
    }
}
