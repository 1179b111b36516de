//! What only some devices can do: right where the device has it, a typed error where it has not.

use half::f16;
use vkarray::{Element, Groups, KernelError, Source};

use crate::fixture::{Fixture, contents};

#[test]
fn numbers_wider_and_narrower_than_32_bits() {
    let fixture = Fixture::open();
    let features = fixture.info().features;
    let has_f16 = features.shader_float16 && features.storage_buffer_16bit;
    twice(&fixture, "f64", features.shader_float64, &[1.5_f64, -2e300, 1e-300], |x| x + x);
    twice(&fixture, "i64", features.shader_int64, &[1_i64, -(1 << 60), 3], |x| x + x);
    twice(&fixture, "u64", features.shader_int64, &[1_u64, 1 << 62, u64::MAX], |x| x.wrapping_add(x));
    twice(&fixture, "f16", has_f16, &[1.5, -300.0, 0.25].map(f16::from_f32), |x| x + x);
}

fn twice<T: Element + PartialEq>(fixture: &Fixture, ty: &str, has: bool, values: &[T], double: fn(T) -> T) {
    let enable = if ty == "f16" { "enable f16;" } else { "" };
    let wgsl = format!(
        "{enable}
        @group(0) @binding(0) var<storage, read_write> x: array<{ty}>;
        @compute @workgroup_size(4) fn twice(@builtin(global_invocation_id) id: vec3<u32>) {{ x[id.x] += x[id.x]; }}"
    );
    let built = fixture.kernel(Source::wgsl(wgsl)).build();
    if has {
        let array = fixture.slice_to_device(values).unwrap();
        built.unwrap().dispatch(fixture.default_stream(), Groups::covering([4]), (&array,)).unwrap();
        let expected: Vec<T> = values.iter().map(|&value| double(value)).collect();
        assert!(contents(&array) == expected, "{ty}");
        return;
    }
    let error = built.unwrap_err();
    let name = &fixture.info().name;
    assert!(matches!(error, KernelError::Capability { .. }), "{ty}: {error}");
    let (text, end) = (error.to_string(), format!(", which {name} does not have"));
    assert!(text.starts_with("kernel `twice` needs ") && text.ends_with(&end), "{ty}: {text}");
}

#[test]
fn a_workgroup_the_device_cannot_run_is_refused() {
    let fixture = Fixture::open();
    let limits = &fixture.info().limits;
    let [x, y, _] = limits.max_compute_work_group_size;
    let all = limits.max_compute_work_group_invocations;
    let refused = |size: String, declared: &str, used: &str| {
        let wgsl = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
            {declared}
            @compute @workgroup_size({size}) fn big(@builtin(local_invocation_index) i: u32) {{ {used} }}"
        );
        fixture.kernel(Source::wgsl(wgsl)).build().map_err(|error| error.to_string())
    };
    let message = format!("kernel `big`: workgroup size {} on axis y, the device allows {y}", y + 1);
    assert_eq!(refused(format!("1, {}", y + 1), "", "out[i] = 1u;").unwrap_err(), message);
    let (wide, tall) = (x.min(all), all / x.min(all) + 1);
    let message =
        format!("kernel `big`: workgroup of {wide}×{tall}×1 is {} invocations, the device allows {all}", wide * tall);
    assert_eq!(refused(format!("{wide}, {tall}"), "", "out[i] = 1u;").unwrap_err(), message);
    let shared = limits.max_compute_shared_memory_size;
    let tile = |words: u32| format!("var<workgroup> tile: array<u32, {words}>;");
    let used = "tile[i] = i; workgroupBarrier(); out[i] = tile[i + 1u];";
    refused("8".to_owned(), &tile(shared / 4), used).unwrap();
    let bytes = shared / 4 * 4 + 4;
    let message = format!("kernel `big`: {bytes} bytes of shared memory (`tile`), the device has {shared}");
    assert_eq!(refused("8".to_owned(), &tile(bytes / 4), used).unwrap_err(), message);
}

#[test]
fn more_push_constants_than_fit_are_refused() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_push_constants_size;
    let build = |words: u32| {
        let wgsl = format!(
            "var<immediate> p: array<u32, {words}>;
            @group(0) @binding(0) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size(1) fn first() {{ out[0] = p[0]; }}"
        );
        fixture.kernel(Source::wgsl(wgsl)).build()
    };
    build(limit / 4).unwrap();
    let error = build(limit / 4 + 1).unwrap_err();
    let bytes = limit / 4 * 4 + 4;
    assert_eq!(
        error.to_string(),
        format!("kernel `first`: {bytes} bytes of push constants, the device allows {limit}")
    );
}
