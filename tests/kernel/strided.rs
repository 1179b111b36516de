//! Arrays with strides as arguments: views with gaps, in Fortran order, reversed and repeated, read and written in place.

use bytemuck::{Pod, Zeroable};
use ndarray::{Array2, s as at};
use vkarray::kernel::{ArrayArg, ArrayShape, Error as KernelError};
use vkarray::prelude::*;

use super::kernel;
use crate::fixture::{Fixture, contents};

/// Packs `x` by a struct that describes it.
const PACK: &str = "
    struct Layout { first: u32, shape: vec2<u32>, strides: vec2<i32> }
    struct Params { x_layout: Layout, scale: u32 }
    var<immediate> p: Params;
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(4, 4) fn pack(@builtin(global_invocation_id) id: vec3<u32>) {
        let l = p.x_layout;
        if id.x >= l.shape.x || id.y >= l.shape.y { return; }
        out[id.x * l.shape.y + id.y] = p.scale * x[i32(l.first) + i32(id.x) * l.strides.x + i32(id.y) * l.strides.y];
    }";

/// Adds to the elements of `x`, which push constants of its name describe.
const ADD: &str = "
    struct Params { x_strides: vec2<i32>, x_first: u32, add: u32, x_shape: array<u32, 2> }
    var<immediate> p: Params;
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(4, 4) fn add_to(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= p.x_shape[0] || id.y >= p.x_shape[1] { return; }
        x[i32(p.x_first) + i32(id.x) * p.x_strides.x + i32(id.y) * p.x_strides.y] += p.add;
    }";

/// Adds the elements of `x` to those of `y`: arrays of one axis.
const ADD_TO: &str = "
    struct Params { x_first: u32, x_strides: i32, y_first: i32, y_strides: i32, y_shape: u32 }
    var<immediate> p: Params;
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @compute @workgroup_size(64) fn add_to(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= p.y_shape { return; }
        y[p.y_first + i32(id.x) * p.y_strides] += x[i32(p.x_first) + i32(id.x) * p.x_strides];
    }";

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Three([u32; 3]);

impl Element for Three {
    const DTYPE: DType = DType::Record(12);
}

/// Different numbers in an array of that shape.
fn numbered([rows, columns]: [usize; 2]) -> Array2<u32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| u32::try_from(1000 * i + j).unwrap())
}

fn counted(ctx: &Context) -> DeviceNDArray<u32> {
    ctx.to_device(&numbered([9, 7])).unwrap()
}

/// Views of an array, each with the elements that it has on the host, in C order.
fn views(x: &DeviceNDArray<u32>, host: &Array2<u32>) -> Vec<(DeviceNDArray<u32>, Vec<u32>)> {
    let (rows, columns) = host.dim();
    let (i, j) = (rows.min(1), columns.min(1)); // The second part starts after an aligned byte.
    let parts = [
        (x.clone(), host.view()),
        (x.t(), host.t()),
        (x.slice(s![i.., j..]).unwrap(), host.slice(at![i.., j..])),
        (x.slice(s![..;-1, ..;-2]).unwrap(), host.slice(at![..;-1, ..;-2])),
        (x.slice(s![i..;3, ..;-1]).unwrap().t(), host.slice(at![i..;3, ..;-1]).reversed_axes()),
        (x.slice(s![..i, j..;5]).unwrap(), host.slice(at![..i, j..;5])),
    ];
    parts.into_iter().map(|(view, same)| (view, same.iter().copied().collect())).collect()
}

#[test]
fn kernels_read_views_of_any_strides() {
    let fixture = Fixture::open();
    let pack = kernel(&fixture, PACK);
    for shape in [[9, 7], [0, 3], [3, 0], [1, 1], [1, 13], [13, 1], [2, 2], [31, 37]] {
        let host = numbered(shape);
        let x = fixture.to_device(&host).unwrap();
        for (view, expected) in views(&x, &host) {
            let out = fixture.zeros::<u32>([view.size()]).unwrap();
            pack.launch(Groups::covering(view.shape()), (Strided(&view), &out, 3_u32)).unwrap();
            assert_eq!(contents(&out), expected.iter().map(|value| value * 3).collect::<Vec<_>>(), "{view:?}");
        }
    }
    let row = fixture.slice_to_device(&[5_u32, 6, 7]).unwrap().slice(s![..;-1]).unwrap();
    let out = fixture.zeros::<u32>([6]).unwrap();
    pack.launch(Groups::covering([2, 3]), (Strided(&row.broadcast_to([2, 3]).unwrap()), &out, 1_u32)).unwrap();
    assert_eq!(contents(&out), [7, 6, 5, 7, 6, 5]);
}

#[test]
fn kernels_write_views_in_place_and_nothing_between() {
    let fixture = Fixture::open();
    let host = numbered([9, 7]);
    for sanitize in [false, true] {
        let add = fixture.kernel(Source::wgsl(ADD)).sanitize(sanitize).build().unwrap();
        for nth in 0..views(&counted(&fixture), &host).len() {
            let x = counted(&fixture);
            let (view, inside) = views(&x, &host).swap_remove(nth);
            add.launch(Groups::covering(view.shape()), (5000_u32, Strided(&view))).unwrap();
            let expected = host.map(|value| value + if inside.contains(value) { 5000 } else { 0 });
            assert_eq!(contents(&x), expected.into_raw_vec_and_offset().0, "{view:?}");
        }
    }
}

#[test]
fn records_begin_at_any_of_their_elements() {
    let fixture = Fixture::open();
    let double = kernel(
        &fixture,
        "struct Three { a: u32, b: u32, c: u32 }
         struct Layout { first: u32, strides: i32 }
         var<immediate> x_layout: Layout;
         @group(0) @binding(0) var<storage, read_write> x: array<Three>;
         @compute @workgroup_size(1) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
             x[i32(x_layout.first) + i32(id.x) * x_layout.strides].b *= 2u;
         }",
    );
    let expected = |start: usize| {
        let word = |i: usize| {
            u32::try_from(i).unwrap()
                * if i % 3 == 1 && i / 3 >= start && (i / 3 - start).is_multiple_of(2) { 2 } else { 1 }
        };
        (0..60).map(word).collect::<Vec<_>>()
    };
    for start in 0..20_usize {
        let records: Vec<Three> = (0..20).map(|i| Three([3 * i, 3 * i + 1, 3 * i + 2])).collect();
        let x = fixture.slice_to_device(&records).unwrap();
        let part = x.slice(s![start..;2]).unwrap();
        double.launch(Groups::exact([u32::try_from(part.size()).unwrap(), 1, 1]), (Strided(&part),)).unwrap();
        assert_eq!(contents(&x).iter().flat_map(|three| three.0).collect::<Vec<_>>(), expected(start), "from {start}");
    }
}

#[test]
fn graphs_replace_strided_arrays_and_numbers_by_name_and_kind() {
    let fixture = Fixture::open();
    let (add, stream) = (kernel(&fixture, ADD), fixture.default_stream());
    let (x, y) = (fixture.zeros::<u32>([2, 3]).unwrap(), fixture.zeros::<u32>([3, 2]).unwrap());
    let all = || Groups::covering([4, 4]);
    let (mut graph, node) = Graph::record(stream, |graph| add.record(graph, all(), (1_u32, Strided(&x)))).unwrap();
    graph.replay(stream).unwrap();
    node.set(&mut graph, "add", 10_u32).unwrap();
    node.set(&mut graph, "x", Strided(&y.t())).unwrap();
    graph.replay(stream).unwrap();
    node.update(&mut graph, all(), (20_u32,)).unwrap();
    graph.replay(stream).unwrap();
    node.update(&mut graph, all(), (100_u32, Strided(&x.slice(s![..;-1, ..]).unwrap()))).unwrap();
    graph.replay(stream).unwrap();
    assert!(node.set(&mut graph, "x", Strided(&y)).is_err()); // Another shape.
    assert!(node.set(&mut graph, "x", &x).is_err()); // The kernel needs the strides.
    graph.replay(stream).unwrap();
    assert_eq!((contents(&x), contents(&y)), (vec![201; 6], vec![30; 6]));
}

#[test]
fn two_parts_of_an_array_are_two_arguments_unless_they_interleave() {
    let fixture = Fixture::open();
    let (add_to, x) = (kernel(&fixture, ADD_TO), counted(&fixture));
    let row = |i: usize| x.slice(s![i]).unwrap();
    add_to.launch(Groups::covering(7), (Strided(&row(1)), Strided(&row(2).slice(s![..;-1]).unwrap()))).unwrap();
    let expected: Vec<u32> = (0..7).map(|j| 2000 + j + 1006 - j).collect();
    assert_eq!(contents(&row(2)), expected);
    add_to.launch(Groups::covering(7), (Strided(&row(0)), Strided(&row(8)))).unwrap();
    let [first, second] = [0, 1].map(|j| x.slice(s![.., j]).unwrap());
    let refused = add_to.launch(Groups::covering(9), (Strided(&first), Strided(&second))).unwrap_err();
    assert!(
        matches!(&refused, KernelError::Aliased { written, other, .. } if written == "y" && other == "x"),
        "{refused}"
    );
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let fixture = Fixture::open();
    let (add, pack, x) = (kernel(&fixture, ADD), kernel(&fixture, PACK), counted(&fixture));
    let plain = kernel(&fixture, crate::fixture::kernels::STEP);
    let unsigned =
        kernel(&fixture, ADD.replace("vec2<i32>", "vec2<u32>").replace("p.x_strides", "vec2<i32>(p.x_strides)"));
    let (reversed, flat) = (x.slice(s![..;-1, ..]).unwrap(), x.reshape([63]).unwrap());
    let repeated = x.slice(s![0]).unwrap().broadcast_to([9, 7]).unwrap();
    let windows = x.as_strided([8, 7], &[3, 1]).unwrap();
    let all = || Groups::covering([9, 9]);
    let strided = |strides, offset, nbytes| {
        let shape = ArrayShape { strides: Some(strides), offset, ..ArrayShape::new(DType::U32, &[9, 7], nbytes) };
        Arg::Array(ArrayArg::new(x.block(), shape))
    };
    let cases = [
        (add.launch(all(), (1_u32, Strided(&flat))), "`x_strides` is vec2<i32>, 2 numbers, got 1"),
        (unsigned.launch(all(), (1_u32, Strided(&reversed))), "`x_strides` is vec2<u32>, got -7"),
        (
            plain.launch(all(), (Strided(&x), 1_u32)),
            "and the shader asks for no strides; declare the push constants `x_first`",
        ),
        (add.launch(all(), (1_u32, &x)), "takes 5 arguments"),
        (add.launch(all(), (1_u32, 2_u32, Strided(&x))), "takes 2 arguments (`x`, `add`), got 3"),
        (add.launch(all(), [("x", Strided(&x).as_arg()), ("x_first", 0_u32.as_arg())]), "no argument `x_first`"),
        (add.launch(all(), (1_u32, Strided(&x.clone().read_only()))), "which is read-only"),
        (add.launch(all(), (1_u32, Strided(&repeated))), "and strides (0, 1), elements of which may share memory"),
        (add.launch(all(), (1_u32, Strided(&windows))), "and strides (3, 1), elements of which may share memory"),
        (add.launch(all(), (1_u32, Strided(&x.view::<f32>().unwrap()))), "got an array of f32"),
        (pack.launch(all(), (Strided(&x.slice(s![.., ..;2]).unwrap()), &flat, 1_u32)), "`out`"),
        (add.launch(all(), (1_u32, strided(&[7, 2], 0, 252))), "which reaches beyond its 252 bytes"),
        (add.launch(all(), (1_u32, strided(&[7, isize::MIN], 0, 252))), "which reaches beyond its 252 bytes"),
        (add.launch(all(), (1_u32, strided(&[7], 0, 252))), "which reaches beyond its 252 bytes"),
        (add.launch(all(), (1_u32, strided(&[7, 1], 1 << 33, 252))), "lies at bytes 8589934592..8589934844"),
        (add.launch(all(), (1_u32, strided(&[7, 1], u64::MAX - 3, 252))), "lies at bytes 18446744073709551612"),
    ];
    for (nth, (outcome, message)) in cases.into_iter().enumerate() {
        let error = outcome.expect_err(message).to_string();
        assert!(error.contains(message), "{nth}: {error}");
    }
    assert_eq!(contents(&x), contents(&counted(&fixture)));
}
