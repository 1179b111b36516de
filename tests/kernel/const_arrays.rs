//! Constants that are updated, shared, longer than constant memory, or laid out differently than on the host.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use vkarray::array::{Bool, Complex32};
use vkarray::kernel::ConstArray;
use vkarray::kernel::signature::ParamKind;
use vkarray::memory::managers::{FailureCallback, Limiting, PassthroughManager, Verdict};
use vkarray::memory::{Allocator, Block, MemoryKind};
use vkarray::{Context, DType, Element, Graph, Groups, Kernel, Stream};

use super::{kernel, spirv};
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, contents, skipped};

const ONE: Groups = Groups::exact([1, 1, 1]);

/// A kernel that copies the numbers of `var<uniform> table` to an array; `words` names the `i`-th of them.
fn copier(ctx: &Context, declarations: &str, words: &str, n: usize) -> Kernel {
    kernel(
        ctx,
        format!(
            "{declarations}
            @group(0) @binding(1) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size(1) fn copy() {{ for (var i = 0u; i < {n}u; i++) {{ out[i] = {words}; }} }}"
        ),
    )
}

fn words(ctx: &Context, copy: &Kernel, table: &ConstArray, n: usize) -> Vec<u32> {
    let out = ctx.full([n], 99_u32).unwrap();
    copy.dispatch(ctx.default_stream(), ONE, (table, &out)).unwrap();
    contents(&out)
}

fn fours(ctx: &Context, len: usize) -> Kernel {
    let declaration = format!("@group(0) @binding(0) var<uniform> table: array<vec4<u32>, {len}>;");
    copier(ctx, &declaration, "table[i / 4u][i % 4u]", 8)
}

#[test]
fn an_update_changes_every_clone_of_the_constant() {
    let fixture = Fixture::open();
    let (two, three) = (fours(&fixture, 2), fours(&fixture, 3));
    let table = fixture.const_array(&[1_u32, 2, 3, 4, 5], [5]).unwrap().padded();
    let shared = table.clone();
    let outs = [(); 4].map(|()| fixture.zeros::<u32>([8]).unwrap());
    let stream = fixture.stream().unwrap();
    two.dispatch(&stream, ONE, (&table, &outs[0])).unwrap();
    three.dispatch(fixture.default_stream(), ONE, (&shared, &outs[1])).unwrap();
    // The update runs on another thread, while both kernels may still run.
    std::thread::scope(|scope| scope.spawn(|| shared.update(&stream, &[9_u32, 8, 7, 6, 5]).unwrap()).join().unwrap());
    two.dispatch(fixture.default_stream(), ONE, (&shared, &outs[2])).unwrap();
    three.dispatch(&stream, ONE, (&table, &outs[3])).unwrap();
    let [before, same, after, last] = outs.each_ref().map(contents);
    assert_eq!((before, same), (vec![1, 2, 3, 4, 5, 0, 0, 0], vec![1, 2, 3, 4, 5, 0, 0, 0]));
    assert_eq!((after, last), (vec![9, 8, 7, 6, 5, 0, 0, 0], vec![9, 8, 7, 6, 5, 0, 0, 0]));
    // A layout that no kernel has used before.
    assert_eq!(words(&fixture, &fours(&fixture, 4), &table, 8), [9, 8, 7, 6, 5, 0, 0, 0]);
}

#[test]
fn threads_share_a_constant_while_it_is_updated() {
    let fixture = Fixture::open();
    let copy = fours(&fixture, 2);
    let table = fixture.const_array(&[0_u32; 8], [8]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (table, fixture, copy) = (table.clone(), &*fixture, &copy);
            scope.spawn(move || {
                for _ in 0..20 {
                    let found = words(fixture, copy, &table, 8);
                    assert_eq!(found, [found[0]; 8], "never half of one value");
                }
            });
        }
        for value in 0..20_u32 {
            table.update(fixture.default_stream(), &[value; 8]).unwrap();
        }
    });
    assert_eq!(words(&fixture, &copy, &table, 8), [19; 8]);
}

#[test]
fn replays_of_a_graph_read_the_current_constant() {
    let fixture = Fixture::open();
    let (copy, table) = (fours(&fixture, 2), fixture.const_array(&[1_u32; 8], [8]).unwrap());
    let (stream, out) = (fixture.stream().unwrap(), fixture.zeros::<u32>([8]).unwrap());
    let (graph, _) = Graph::record(&stream, |graph| copy.record(graph, ONE, (&table, &out))).unwrap();
    for value in [1, 5, 6] {
        table.update(&stream, &[value; 8]).unwrap();
        graph.replay(&stream).unwrap();
        assert_eq!(contents(&out), [value; 8]);
    }
}

#[test]
fn an_update_of_another_type_or_length_is_refused() {
    let (fixture, other) = (Fixture::open(), Fixture::open());
    let table = fixture.const_array(&[1_u32, 2, 3], [3]).unwrap().padded();
    let stream = fixture.default_stream();
    let message = "a constant of 3 of u32 cannot be updated with";
    assert_eq!(table.update(stream, &[1_u32; 4]).unwrap_err().to_string(), format!("{message} 4 of u32"));
    assert_eq!(table.update(stream, &[1_i32; 3]).unwrap_err().to_string(), format!("{message} 3 of i32"));
    let name = &fixture.info().name;
    let message =
        format!("memory of {name} cannot be used together with memory of {name}: they were opened separately");
    assert_eq!(table.update(other.default_stream(), &[7_u32; 3]).unwrap_err().to_string(), message);
    assert_eq!(words(&fixture, &fours(&fixture, 2), &table, 8), [1, 2, 3, 0, 0, 0, 0, 0]);
}

#[test]
fn constants_beyond_constant_memory_are_read_from_storage() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_uniform_buffer_range;
    for (len, kind) in
        [(limit / 16, ParamKind::Uniform), (limit / 16 + 1, ParamKind::Storage), (1 << 16, ParamKind::Storage)]
    {
        let last = len * 4 - 1;
        let declaration = format!("@group(0) @binding(0) var<uniform> table: array<vec4<u32>, {len}>;");
        let copy = copier(&fixture, &declaration, &format!("table[select(0u, {}u, i == 1u)][i * 3u]", len - 1), 2);
        let param = &copy.signature().params[0];
        assert_eq!((param.kind, param.is_constant), (kind, true), "{len}");
        let mut values = vec![7_u32; last as usize + 1];
        (values[0], values[last as usize]) = (1, 2);
        let table = fixture.const_array(&values, [values.len()]).unwrap();
        assert_eq!(words(&fixture, &copy, &table, 2), [1, 2], "{len}");
        // Shorter constants and arrays are padded.
        let short = fixture.const_array(&values[..5], [5]).unwrap().padded();
        assert_eq!(words(&fixture, &copy, &short, 2), [1, 0], "{len}");
        let (array, out) =
            (fixture.slice_to_device(&values[..5]).unwrap().padded(), fixture.zeros::<u32>([2]).unwrap());
        copy.dispatch(fixture.default_stream(), ONE, (&array, &out)).unwrap();
        assert_eq!(contents(&out), [1, 0], "{len}");
        values.push(3);
        let error = copy.dispatch(
            fixture.default_stream(),
            ONE,
            (&fixture.const_array(&values, [values.len()]).unwrap(), &out),
        );
        let (most, given) = (len * 16, len * 16 + 4);
        let message = format!(
            "kernel `copy`: `table` is array<vec4<u32>, {len}> in constant memory, at most {most} bytes, got {given} bytes"
        );
        assert_eq!(error.unwrap_err().to_string(), message);
    }
}

#[test]
fn spirv_with_more_than_constant_memory_is_refused() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_uniform_buffer_range;
    let built = fixture.kernel(spirv::source("const_long.spv")).build();
    if limit >= 1 << 17 {
        built.unwrap_or_else(|error| panic!("there is as much as it takes: {error}"));
        return;
    }
    let error = built.unwrap_err();
    let message = format!(
        "kernel `main`: `table` takes 131072 bytes of constant memory, the device has {limit}; declare it as read-only storage"
    );
    assert_eq!(error.to_string(), message);
}

#[test]
fn an_empty_padded_constant_is_zero() {
    let fixture = Fixture::open();
    let table = fixture.const_array::<u32>(&[], [0]).unwrap().padded();
    assert_eq!(words(&fixture, &fours(&fixture, 2), &table, 8), [0; 8]);
    let record = fixture.const_array::<Light>(&[], [0]).unwrap().padded();
    assert_eq!(words(&fixture, &lights(&fixture), &record, 14), [0; 14]);
}

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Light {
    position: [u32; 3],
    color: [u32; 3],
    kind: u32,
}

impl Element for Light {
    const DTYPE: DType = DType::record::<Self>();
}

/// Reads the fields of two lights that follow each other.
fn lights(ctx: &Context) -> Kernel {
    let declarations = "
        struct Light { position: vec3<u32>, color: vec3<u32>, kind: u32 }
        @group(0) @binding(0) var<uniform> table: array<Light, 2>;
        fn word(light: Light, i: u32) -> u32 {
            if i < 3u { return light.position[i]; }
            if i < 6u { return light.color[i - 3u]; }
            return light.kind;
        }";
    copier(ctx, declarations, "word(table[i / 7u], i % 7u)", 14)
}

#[test]
fn structs_of_the_host_are_laid_out_as_in_the_shader() {
    let fixture = Fixture::open();
    let light = |i: u32| Light { position: [i, i + 1, i + 2], color: [i + 3, i + 4, i + 5], kind: i + 6 };
    let table = fixture.const_array(&[light(10), light(17)], [2]).unwrap();
    assert_eq!(words(&fixture, &lights(&fixture), &table, 14), (10..24).collect::<Vec<_>>());
    table.update(fixture.default_stream(), &[light(30), light(37)]).unwrap();
    assert_eq!(words(&fixture, &lights(&fixture), &table, 14), (30..44).collect::<Vec<_>>());
}

#[test]
fn unpadded_rows_and_complex_numbers_are_accepted() {
    let fixture = Fixture::open();
    let points = "@group(0) @binding(0) var<uniform> table: array<vec3<u32>, 3>;";
    let points = copier(&fixture, points, "table[i / 3u][i % 3u]", 9);
    let table = fixture.const_array(&[1_u32, 2, 3, 4, 5, 6], [2, 3]).unwrap().padded();
    assert_eq!(words(&fixture, &points, &table, 9), [1, 2, 3, 4, 5, 6, 0, 0, 0]);
    let table = fixture.const_array(&[1_u32, 2, 3, 99, 4, 5, 6, 99], [2, 4]).unwrap().padded(); // Rows of four.
    assert_eq!(words(&fixture, &points, &table, 9), [1, 2, 3, 4, 5, 6, 0, 0, 0]);

    let pairs = "struct Pair { @size(16) z: vec2<f32> } @group(0) @binding(0) var<uniform> table: array<Pair, 4>;";
    let pairs = copier(&fixture, pairs, "u32(table[i / 2u].z[i % 2u])", 8);
    let complex = |i: u8| Complex32 { re: f32::from(2 * i), im: f32::from(2 * i + 1) };
    let cube: Vec<Complex32> = (0..4).map(complex).collect();
    let table = fixture.const_array(&cube, [2, 1, 2]).unwrap(); // Three axes, as in numba's test.
    assert_eq!(words(&fixture, &pairs, &table, 8), (0..8).collect::<Vec<_>>());
}

#[test]
fn a_host_array_is_stored_contiguously_in_its_order() {
    let fixture = Fixture::open();
    let copy = fours(&fixture, 2);
    let host = ndarray::arr2(&[[1_u32, 2, 3], [4, 5, 6]]);
    let c = fixture.const_array_like(&host).unwrap().padded();
    assert_eq!(words(&fixture, &copy, &c, 8), [1, 2, 3, 4, 5, 6, 0, 0]);
    let f = fixture.const_array_like(&host.t()).unwrap().padded(); // Three rows in F order.
    assert_eq!((f.dims().as_slice(), f.is_column_major()), (&[3, 2][..], true));
    assert_eq!(words(&fixture, &copy, &f, 8), [1, 2, 3, 4, 5, 6, 0, 0]);
    let reversed = fixture.const_array_like(&host.slice(ndarray::s![..;-1, ..;2])).unwrap().padded();
    assert_eq!((reversed.dims().as_slice(), reversed.is_column_major()), (&[2, 2][..], false));
    assert_eq!(words(&fixture, &copy, &reversed, 8), [4, 6, 1, 3, 0, 0, 0, 0]);
}

#[test]
fn booleans_and_numbers_get_the_strides_of_std140() {
    let fixture = Fixture::open();
    let flags = fixture.const_array(&[true, false, true, false].map(Bool::from), [4]).unwrap().padded();
    assert_eq!(words(&fixture, &fours(&fixture, 2), &flags, 8), [1, 0, 1, 0, 0, 0, 0, 0]);
    let layouts = fixture.kernel(spirv::source("const_layouts.spv")).build().unwrap();
    let weights = fixture.const_array(&[1.0_f32, 2.0, 3.0, 4.0, 5.0], [5]).unwrap();
    let out = fixture.zeros::<f32>([4]).unwrap();
    layouts.dispatch(fixture.default_stream(), ONE, (&weights, &flags, &out)).unwrap();
    assert_eq!(contents(&out), [1.0, -3.0, 3.0, -5.0]);
}

#[test]
fn doubles_after_bytes_are_aligned() {
    let fixture = Fixture::open();
    let features = fixture.info().features;
    if !features.uniform_buffer_8bit || !features.shader_int8 || !features.shader_float64 {
        return skipped("doubles_after_bytes_are_aligned", "bytes in constant memory, and doubles");
    }
    let align = fixture.kernel(spirv::source("const_align.spv")).build().unwrap();
    let small = fixture.const_array(&[1_u8, 200, 3], [3]).unwrap();
    let large = fixture.const_array(&[0.5_f64, 1e300, -2.25], [3]).unwrap();
    let out = fixture.zeros::<f64>([3]).unwrap();
    align.dispatch(fixture.default_stream(), ONE, (&small, &large, &out)).unwrap();
    assert_eq!(contents(&out), [1.5, 1e300, 0.75]);
}

/// The state of the callback for failed allocations: memory that it can free, and a constant that it updates.
#[derive(Default)]
struct Relief {
    hoard: Mutex<Vec<Arc<Block>>>,
    table: Mutex<Option<(ConstArray, Stream)>>, // Taken at the end: it holds the manager that holds this.
    is_on: AtomicBool,
    n_calls: AtomicU32,
}

impl Relief {
    /// Frees memory and updates the constant, once for each set of blocks.
    fn come(&self) -> Verdict {
        if !self.is_on.swap(false, Ordering::Relaxed) {
            return Verdict::GiveUp;
        }
        self.n_calls.fetch_add(1, Ordering::Relaxed);
        drop(std::mem::take(&mut *self.hoard.lock().unwrap()));
        let (table, stream) = self.table.lock().unwrap().clone().unwrap();
        table.update(&stream, &[9_u32, 8, 7, 6, 5]).unwrap();
        Verdict::Retry
    }

    /// Allocates all memory, so that the next allocation calls the callback.
    fn take_all(&self, allocator: &Arc<Allocator>, most: u64) {
        allocator.release_staging();
        allocator.flush().unwrap();
        let mut bytes = most;
        while bytes > 0 {
            match allocator.allocate(bytes, MemoryKind::Device) {
                Ok(block) => self.hoard.lock().unwrap().push(block),
                Err(_) => bytes /= 2,
            }
        }
        self.is_on.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_failure_callback_may_use_the_constant_whose_allocation_failed() {
    const LIMIT: u64 = 4 << 20;
    let fixture = Fixture::open();
    let relief: Arc<Relief> = Arc::default();
    let asked = Arc::clone(&relief);
    let manager = FailureCallback::new(Limiting::new(PassthroughManager::new(), LIMIT), move |_, _| asked.come());
    let allocator = Allocator::with_manager(fixture.device(), Box::new(manager)).unwrap();
    let ctx = Context::with_allocator(&allocator).unwrap();
    let outs = [(); 3].map(|()| ctx.full([8], 99_u32).unwrap());
    let (two, three) = (fours(&ctx, 2), fours(&ctx, 3));
    let table = ctx.const_array(&[1_u32, 2, 3, 4, 5], [5]).unwrap().padded();
    let stream = ctx.stream().unwrap();
    *relief.table.lock().unwrap() = Some((table.clone(), stream.clone()));
    let work = || {
        // A first layout, an update, and another layout: each needs memory, and finds none.
        relief.take_all(&allocator, LIMIT);
        two.dispatch(&stream, ONE, (&table, &outs[0])).unwrap();
        stream.synchronize().unwrap();
        relief.take_all(&allocator, LIMIT);
        table.update(&stream, &[4_u32, 3, 2, 1, 0]).unwrap();
        two.dispatch(&stream, ONE, (&table, &outs[1])).unwrap();
        stream.synchronize().unwrap();
        relief.take_all(&allocator, LIMIT);
        three.dispatch(&stream, ONE, (&table, &outs[2])).unwrap();
    };
    watched("a constant that a failure callback touches", work);
    assert_eq!(relief.n_calls.load(Ordering::Relaxed), 3, "each step needs memory");
    // An update that the callback interrupts ends after the callback's own update.
    let called = vec![9, 8, 7, 6, 5, 0, 0, 0];
    assert_eq!(outs.each_ref().map(contents), [called.clone(), vec![4, 3, 2, 1, 0, 0, 0, 0], called]);
    drop(relief.table.lock().unwrap().take());
}
