//! Local memory: arrays of one invocation, whose length the shader or the program sets.

use vkarray::kernel::{Error as KernelError, Library, ShaderError};
use vkarray::{Groups, Source};

use crate::fixture::{Fixture, contents};

/// Reverses each row of `N` numbers through a local array of its invocation.
const REVERSE: &str = "
    struct Item { key: u32, z: vec2<f32> }
    @group(0) @binding(0) var<storage, read_write> rows: array<u32>;
    var<private> before: array<Item, N>;
    @compute @workgroup_size(4) fn reverse(@builtin(global_invocation_id) id: vec3<u32>) {
        var row: array<u32, N>;
        for (var i = 0u; i < N; i++) {
            row[i] = rows[id.x * N + i];
            before[i] = Item(row[i], vec2(f32(i), 0.5));
        }
        for (var i = 0u; i < N; i++) {
            let item = before[N - 1u - i];
            rows[id.x * N + i] = item.key + u32(item.z.x * item.z.y * 2.0) * 1000u;
        }
    }";

#[test]
fn the_length_of_local_memory_is_a_constant_of_a_library() {
    let fixture = Fixture::open();
    // The arrays have more bytes than registers hold. NVIDIA's driver takes 12,000 bytes an invocation and refuses
    // 16,000; these are 10,000.
    for n in [1_u32, 7, 500] {
        let lengths = Library::new("lengths.wgsl", format!("const N: u32 = {n};"));
        let reverse = fixture.kernel(Source::wgsl(REVERSE).with(lengths)).build().unwrap();
        let rows: Vec<u32> = (0..8 * n).map(|i| i % 997).collect();
        let array = fixture.slice_to_device(&rows).unwrap();
        reverse.dispatch(fixture.default_stream(), Groups::exact([2, 1, 1]), (&array,)).unwrap();
        let reversed = |row: &[u32]| (0..n).zip(row).map(|(i, key)| key + i * 1000).rev().collect::<Vec<_>>();
        let expected: Vec<u32> = rows.chunks(n as usize).flat_map(reversed).collect();
        assert_eq!(contents(&array), expected, "{n}");
    }
}

#[test]
fn an_index_out_of_local_memory_is_bounded() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> at: array<u32>;
        @compute @workgroup_size(1) fn poke(@builtin(global_invocation_id) id: vec3<u32>) {
            var row = array<u32, 4>(10u, 11u, 12u, 13u);
            at[id.x] = row[at[id.x]];
        }";
    let at = fixture.slice_to_device(&[0_u32, 3, 4, 1 << 20, u32::MAX]).unwrap();
    let poke = fixture.kernel(Source::wgsl(wgsl)).build().unwrap();
    poke.dispatch(fixture.default_stream(), Groups::exact([5, 1, 1]), (&at,)).unwrap();
    assert_eq!(contents(&at), [10, 13, 13, 13, 13]); // The index is clamped to the last element.
}

#[test]
fn a_missing_or_late_length_of_local_memory_is_refused() {
    let fixture = Fixture::open();
    let build = |constant: &str| {
        let lengths = Library::new("lengths.wgsl", constant.to_owned());
        fixture.kernel(Source::wgsl(REVERSE).with(lengths)).build().expect_err("no length")
    };
    let at_build = build("override N: u32 = 4;");
    assert!(
        matches!(&at_build, KernelError::Shader(ShaderError::Parse { .. } | ShaderError::Invalid { .. })),
        "{at_build}"
    );
    let empty = build("const N: u32 = 0;");
    assert!(
        matches!(&empty, KernelError::Shader(ShaderError::Parse { place, .. }) if place.starts_with("shader.wgsl:4")),
        "{empty}"
    );
}
