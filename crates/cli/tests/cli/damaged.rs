//! Damaged files given to the command itself: it ends by itself, with a documented exit code.

use image::{GrayImage, Luma};

use crate::{Folder, damage, text};

/// Copies as many elements as both arrays have; `vkarray run` refuses most files before it opens a device.
const COPY: &str = "
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&y) { y[id.x] = x[id.x]; }
    }";

#[test]
fn damaged_files_end_with_a_documented_code() {
    let n_inputs = std::env::var("VKARRAY_FUZZ_RUNS").map_or(60, |text| text.parse().expect("a number"));
    let seed = std::env::var("VKARRAY_FUZZ_SEED").map_or(1, |text| text.parse().expect("a number"));
    let folder = Folder::new();
    folder.put("copy.wgsl", COPY);
    let (seeds, mut rng) = (damage::seeds(), fastrand::Rng::with_seed(seed));
    let mut codes = [0; 4];
    for nth in 0..n_inputs {
        let seed = &seeds[rng.usize(..seeds.len())];
        let bytes = damage::damaged(seed, &seeds, &mut rng);
        let name = format!("x.{}", seed.0);
        folder.put(&name, &bytes);
        let line = format!("run copy.wgsl --arg x=@{name} --arg y=zeros:f32[64] --covering 64 --out y=y.npy --quiet");
        let output = folder.command(&line).output().expect("the command starts");
        let stderr = text(&output.stderr);
        let code = output.status.code().and_then(|code| usize::try_from(code).ok());
        assert!(code.is_some_and(|code| code < codes.len()), "input {nth}, {bytes:?}: {}\n{stderr}", output.status);
        assert!(stderr.is_empty() || stderr.starts_with("error: "), "{stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("backtrace"), "{stderr}");
        codes[code.unwrap_or_default()] += 1;
    }
    assert_eq!(codes[1], 0, "code 1 is for the machine: {codes:?}");
    assert!(codes[2] > 0, "{codes:?}");
    eprintln!("{codes:?}");
}

/// Damaged test files are planned, and nothing runs.
#[test]
fn damaged_test_files_end_with_zero_or_two() {
    let n_inputs = std::env::var("VKARRAY_FUZZ_RUNS").map_or(40, |text| text.parse().expect("a number"));
    let seed = std::env::var("VKARRAY_FUZZ_SEED").map_or(1, |text| text.parse().expect("a number"));
    let folder = Folder::empty();
    crate::test::copy_repository(&folder.path("."));
    let read = |name: &str| ("toml", std::fs::read(folder.path(name)).expect("a file of the repository"));
    let seeds = [read("tests/elementwise.toml"), read("tests/blocks.toml")];
    let (mut rng, mut codes) = (fastrand::Rng::with_seed(seed), [0; 3]);
    for nth in 0..n_inputs {
        let bytes = damage::damaged(&seeds[rng.usize(..seeds.len())], &seeds, &mut rng);
        folder.put("tests/t.toml", &bytes);
        let output = folder.command("test tests/t.toml --list").output().expect("the command starts");
        let (code, stderr) = (output.status.code(), text(&output.stderr));
        let input = String::from_utf8_lossy(&bytes);
        assert!(matches!(code, Some(0 | 2)), "input {nth}, {input}: {}\n{stderr}", output.status);
        assert!(stderr.lines().all(|line| !line.contains("panicked") && !line.contains("defect")), "{stderr}");
        codes[usize::try_from(code.unwrap_or_default()).expect("0 or 2")] += 1;
    }
    assert!(codes[2] > 0, "{codes:?}");
    eprintln!("{codes:?}");
}

/// Types of images, each with a statement that uses the image `t` and the array `y`, and an array that fits.
const IMAGES: [(&str, &str, &str); 10] = [
    ("texture_1d<f32>", "y[0] = textureLoad(t, 1, 0).x;", "random:f32[70]"),
    ("texture_2d<f32>", "y[0] = textureSampleLevel(t, how, vec2(0.5), 0.0).x;", "random:u8[5,7,4]"),
    ("texture_2d<u32>", "y[0] = f32(textureLoad(t, vec2(1), 0).x);", "random:u16[5,7,2]"),
    ("texture_2d<i32>", "y[0] = f32(textureLoad(t, vec2(1), 0).x);", "random:i8[5,7]"),
    ("texture_3d<f32>", "y[0] = textureSampleLevel(t, how, vec3(0.5), 0.0).x;", "random:f16[3,5,7]"),
    ("texture_2d_array<f32>", "y[0] = textureLoad(t, vec2(1), 1, 0).x;", "random:f32[3,5,7,2]"),
    ("texture_storage_1d<r32float, write>", "y[0] = 1.0; textureStore(t, 1, vec4(1.0));", "random:f32[7]"),
    ("texture_storage_2d<rgba8unorm, write>", "y[0] = 1.0; textureStore(t, vec2(1), vec4(1.0));", "zeros:u8[5,7,4]"),
    (
        "texture_storage_2d<r32uint, read_write>",
        "y[0] = f32(textureLoad(t, vec2(1)).x); textureStore(t, vec2(1), vec4(7u));",
        "zeros:u32[5,7]",
    ),
    (
        "texture_storage_3d<rgba16float, write>",
        "y[0] = 1.0; textureStore(t, vec3(1), vec4(1.0));",
        "zeros:f16[3,5,7,4]",
    ),
];

/// The value of an argument: a file, a generated array of at most 2^20 elements, a sampler, or a number.
fn image_value(file: &str, rng: &mut fastrand::Rng) -> String {
    let mut one = |words: &[&str]| words[rng.usize(..words.len())].to_owned();
    match one(&["file", "array", "array", "array", "sampler", "number"]).as_str() {
        "file" => {
            format!("@{file}{}", one(&["", ",channels=1", ",channels=4", ",dtype=u8", ",dtype=f32", ",dtype=f64"]))
        }
        "array" => {
            let fill = one(&["zeros", "arange", "random", "normal"]);
            let dtype = one(&["f32", "u8", "u32", "i32", "f16", "u16", "i8", "f64", "bool"]);
            let mut axes = vec![one(&["0", "1", "5", "70000", "1048576"])];
            for _ in 0..one(&["0", "1", "2", "3", "4"]).parse::<usize>().expect("a number") {
                axes.push(one(&["1", "1", "2", "3", "4"]));
            }
            axes.reverse();
            format!("{fill}:{dtype}[{}]", axes.join(","))
        }
        "sampler" => {
            let words = ["linear", "nearest", "repeat", "mirror", "border", "clamp", "unnormalized", "cubic", ""];
            format!("sampler:{},{}", one(&words), one(&words))
        }
        _ => one(&["1", "-1", "0.5,2", "nan"]),
    }
}

/// Images and samplers with arguments of all kinds, most of which do not fit.
#[test]
fn any_image_argument_ends_with_a_documented_code() {
    if !crate::device::has_device() {
        return;
    }
    let n_inputs = std::env::var("VKARRAY_FUZZ_RUNS").map_or(40, |text| text.parse().expect("a number"));
    let seed = std::env::var("VKARRAY_FUZZ_SEED").map_or(1, |text| text.parse().expect("a number"));
    let folder = Folder::empty();
    let (seeds, mut rng, mut codes) = (damage::seeds(), fastrand::Rng::with_seed(seed), [0; 3]);
    for nth in 0..n_inputs {
        let (ty, body, fits) = IMAGES[rng.usize(..IMAGES.len())];
        let how = if body.contains("how") { "@group(0) @binding(1) var how: sampler;" } else { "" };
        folder.put(
            "k.wgsl",
            format!(
                "@group(0) @binding(0) var t: {ty}; {how}
                @group(0) @binding(2) var<storage, read_write> y: array<f32>;
                @compute @workgroup_size(1) fn k() {{ {body} }}"
            ),
        );
        let (kind, whole) = &seeds[rng.usize(..seeds.len())];
        let file = format!("x.{kind}");
        let is_whole = rng.bool();
        folder.put(
            &file,
            if is_whole { whole.clone() } else { damage::damaged(&(*kind, whole.clone()), &seeds, &mut rng) },
        );
        let value = if rng.u8(..) < 100 { fits.to_owned() } else { image_value(&file, &mut rng) };
        let mut line = format!("run k.wgsl --arg t={value} --arg y=zeros:f32[1] --groups 1 --quiet");
        if !how.is_empty() {
            let value = if rng.bool() { "sampler:linear".to_owned() } else { image_value(&file, &mut rng) };
            line += &format!(" --arg how={value}");
        }
        let output = folder.command(&line).env("VKARRAY_VALIDATION", "1").output().expect("the command starts");
        let (code, stderr) = (output.status.code(), text(&output.stderr));
        assert!(matches!(code, Some(0..=2)), "input {nth}, {ty}, {line}: {}\n{stderr}", output.status);
        let is_plain = !stderr.contains("panicked") && !stderr.contains("VUID") && !stderr.contains("backtrace");
        assert!(is_plain, "input {nth}, {ty}, {line}: {stderr}");
        codes[usize::try_from(code.unwrap_or_default()).expect("0 to 2")] += 1;
    }
    assert!(codes[0] > 0 && codes[2] > 0, "{codes:?}");
    eprintln!("{codes:?}");
}

#[test]
fn a_decoder_that_panics_ends_with_two_and_a_reason() {
    let folder = Folder::new();
    folder.put("copy.wgsl", COPY);
    folder.put("x.png", damage::broken_palette());
    let line = "run copy.wgsl --arg x=@x.png --arg y=zeros:f32[4] --covering 4 --out y=y.npy";
    if crate::device::has_device() {
        let message = folder.refused(2, folder.command(line).env("RUST_BACKTRACE", "1"));
        assert!(message.starts_with("error: cannot decode x.png: its decoder failed: range end index "), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_grey_image_is_copied_into_every_shape_of_a_png() {
    if !crate::device::has_device() {
        return;
    }
    let folder = Folder::new();
    folder.put("copy.wgsl", COPY);
    let grey = GrayImage::from_fn(7, 5, |x, y| Luma([u8::try_from(x * 31 + y * 7).expect("a byte")]));
    grey.save(folder.path("grey.png")).expect("the folder is ours");
    // The value that is read, and the shape of the array into which it is copied.
    for (value, shape) in [
        ("grey.png", "5,7"),
        ("grey.png", "5,7,1"),
        ("grey.png,channels=1", "5,7"),
        ("grey.png,channels=3", "5,7,3"),
        ("grey.png,channels=4", "5,7,4"),
    ] {
        folder.done(&format!(
            "run copy.wgsl --arg x=@{value} --arg y=zeros:f32[{shape}] --covering 140 --allow-small --out y=y.png --quiet"
        ));
        let found = image::open(folder.path("y.png")).expect("a whole file").into_luma8();
        assert_eq!(found, grey, "{value} into {shape}");
    }
}
