//! Indices out of range: a read gives zero, a write does nothing.

use std::collections::BTreeMap;

use vkarray::kernel::BufferBounds;
use vkarray::kernel::KernelBuilder;
use vkarray::kernel::signature::{Module, Options};
use vkarray::{Groups, Source};

use super::kernel;
use crate::fixture::{Fixture, contents, skipped};

#[test]
fn reads_out_of_range_give_zero_and_writes_do_nothing() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        var<immediate> shift: u32;
        @compute @workgroup_size(64) fn shifted(@builtin(global_invocation_id) id: vec3<u32>) {
            y[id.x] = x[id.x + shift] + 1000u;
        }";
    let shifted = kernel(&fixture, wgsl);
    // All arrays are parts of one block, so that each array is followed by the next one.
    let align = 64;
    let all = fixture.full([4 * align], 7_u32).unwrap();
    let part = |from: usize, len: usize| all.slice([(from..from + len).into()]).unwrap();
    for (len, shift) in [(10, 0), (10, 3), (10, 10), (10, 60), (1, u32::MAX), (64, u32::MAX / 8)] {
        all.block().fill(fixture.default_stream(), 7).unwrap();
        let (x, y) = (part(0, len), part(2 * align, len));
        // Far more invocations than elements; unchecked, their writes would reach the rest of the block.
        shifted.dispatch(fixture.default_stream(), Groups::covering([200]), (&x, &y, shift)).unwrap();
        let mut expected = vec![7; 4 * align];
        for (i, y) in (0_u32..).zip(&mut expected[2 * align..2 * align + len]) {
            let at = i.wrapping_add(shift) as usize;
            *y = if at < len { 1007 } else { 1000 };
        }
        assert_eq!(contents(&all), expected, "{len} elements, shifted by {shift}");
    }
}

#[test]
fn surplus_invocations_do_not_change_the_last_element() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(64) fn number(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = id.x; }";
    let number = kernel(&fixture, wgsl);
    for n in [1_u32, 63, 64, 65, 1000] {
        let x = fixture.zeros::<u32>([n as usize]).unwrap();
        number.dispatch(fixture.default_stream(), Groups::covering(n as usize + 500), (&x,)).unwrap();
        assert_eq!(contents(&x), (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn clamped_indices_reach_the_last_element() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read> at: array<vec2<u32>>;
        @group(0) @binding(1) var<storage, read_write> rows: array<array<u32, 4>>;
        @compute @workgroup_size(1) fn poke(@builtin(workgroup_id) id: vec3<u32>) {
            rows[at[id.x].x][at[id.x].y] += 1u;
        }";
    let poke = fixture.kernel(Source::wgsl(wgsl)).clamped().build().unwrap();
    let all = fixture.zeros::<u32>([64]).unwrap();
    for (n_rows, at, expected) in [
        (1_usize, [0_u32, 0], 0_usize),
        (1, [1, 3], 3),
        (3, [3, 1], 9),
        (3, [u32::MAX, u32::MAX], 11),
        (3, [1 << 28, 4], 11),
    ] {
        all.on(fixture.default_stream()).fill(0).unwrap();
        let rows = all.slice([(16..16 + 4 * n_rows).into()]).unwrap();
        let at = fixture.slice_to_device(&at).unwrap();
        poke.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&at, &rows)).unwrap();
        let found = contents(&all).iter().position(|&number| number == 1);
        assert_eq!((found, contents(&all).iter().sum::<u32>()), (Some(16 + expected), 1), "{n_rows} rows");
    }
}

/// Where there is no last element, a clamped index would reach other arrays.
#[test]
fn a_clamped_array_behind_a_header_needs_an_element() {
    let fixture = Fixture::open();
    let wgsl = "
        struct List { count: u32, items: array<atomic<u32>> }
        @group(0) @binding(0) var<storage, read_write> list: List;
        var<immediate> at: u32;
        @compute @workgroup_size(1) fn poke() { atomicAdd(&list.items[at], 1u); }";
    let all = fixture.zeros::<u32>([64]).unwrap();
    let is_refused = |builder: KernelBuilder, is_clamped: bool| {
        let poke = builder.build().unwrap();
        // Past 4 GiB an index may wrap to the header (decision 016).
        for at in [0_u32, 3, 1 << 20] {
            let header = all.slice([(16..17).into()]).unwrap();
            let sent = poke.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&header, at));
            match sent {
                Err(error) => assert!(error.to_string().contains("of 8 bytes or more"), "{error}"),
                Ok(()) => assert!(!is_clamped, "{at}"),
            }
            assert_eq!(contents(&all), [0; 64], "{at}");
        }
        let list = all.slice([(16..18).into()]).unwrap();
        poke.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&list, 5_u32)).unwrap();
        assert_eq!(contents(&list)[0], 0);
        all.on(fixture.default_stream()).fill(0).unwrap();
    };
    is_refused(fixture.kernel(Source::wgsl(wgsl)), false); // The device may bound it.
    is_refused(fixture.kernel(Source::wgsl(wgsl)).clamped(), true);
}

#[test]
fn an_index_into_an_array_of_fixed_length_is_bounded() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32, 5>;
        @group(0) @binding(1) var<storage, read_write> at: array<u32>;
        @compute @workgroup_size(1) fn poke(@builtin(global_invocation_id) id: vec3<u32>) { x[at[id.x]] = 1u + id.x; }";
    let poke = kernel(&fixture, wgsl);
    let (x, at) =
        (fixture.zeros::<u32>([5]).unwrap(), fixture.slice_to_device(&[5_u32, u32::MAX, 2, 1 << 29]).unwrap());
    poke.dispatch(fixture.default_stream(), Groups::exact([4, 1, 1]), (&x, &at)).unwrap();
    assert_eq!(contents(&x), [0, 0, 3, 0, 0]);
    // Past 4 GiB an index may wrap to the start of the range (decision 016), but never leaves it.
    let all = fixture.full([256], 7_u32).unwrap();
    let x = all.slice([(64..69).into()]).unwrap();
    at.copy_from_slice(&[1 << 30, (1 << 30) + 3, (1 << 31) + 7, 3 << 30]).unwrap();
    poke.dispatch(fixture.default_stream(), Groups::exact([4, 1, 1]), (&x, &at)).unwrap();
    let mut around = contents(&all);
    around.drain(64..69);
    assert_eq!(around, [7; 251]);
}

#[test]
fn the_device_bounds_accesses_to_the_exact_byte() {
    let fixture = Fixture::open();
    let is_exact = fixture.info().limits.robust_storage_buffer_access_size_alignment == 1;
    if !fixture.device().plan().features.robust_buffer_access_2 || !is_exact {
        return skipped("the_device_bounds_accesses_to_the_exact_byte", "robustBufferAccess2 to the byte");
    }
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> x: array<atomic<u32>>;
        @group(0) @binding(1) var<storage, read> at: array<u32>;
        @group(0) @binding(2) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn poke(@builtin(workgroup_id) id: vec3<u32>) {
            let i = id.x;
            out[i] = atomicLoad(&x[at[i]]);
            atomicAdd(&x[at[i]], 1u);
            atomicStore(&x[at[i] + 64u], 9u);
        }";
    // The module is translated for a device on which robust buffers are faster; the test's device takes it unchanged.
    let options = Options { robust_buffers: true, ..Options::default() };
    let translated = Module::parse(&Source::wgsl(wgsl)).unwrap().translate(None, &BTreeMap::new(), &options).unwrap();
    assert_eq!(translated.buffer_bounds, BufferBounds::Robust);
    let poke = fixture.kernel(Source::spirv_words(&translated.spirv)).build().unwrap();
    let all = fixture.full([512], 7_u32).unwrap();
    for len in [1_usize, 3, 5, 63] {
        all.block().fill(fixture.default_stream(), 0).unwrap();
        let x = all.slice([(64..64 + len).into()]).unwrap();
        let at = [0, 1, 2, 3, 4, 5, 62, 63, 64, 100, 1 << 20, u32::MAX / 8, u32::MAX - 64];
        let (places, out) = (fixture.slice_to_device(&at).unwrap(), fixture.full([at.len()], 5_u32).unwrap());
        let groups = Groups::exact([13, 1, 1]);
        poke.dispatch(fixture.default_stream(), groups, (&x, &places, &out)).unwrap();
        let mut expected = vec![0; 512];
        at.iter().filter(|&&at| (at as usize) < len).for_each(|&at| expected[64 + at as usize] = 1);
        assert_eq!(contents(&out), [0; 13], "{len}");
        assert_eq!(contents(&all), expected, "{len}");
    }
}
