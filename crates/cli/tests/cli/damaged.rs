//! Damaged files given to the command itself: it ends by itself, with a code that is documented.

use crate::{Folder, damage, text};

/// Copies elements as far as there are any; `vkarray run` refuses most files before it opens a device.
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
