//! Several variables at one binding: one parameter, as large as the largest variable, with each of the names.

use vkarray::kernel::AsArg;
use vkarray::stream::{Graph, GraphRecorder};
use vkarray::{DeviceNDArray, Groups};

use super::spirv::source;
use crate::fixture::{Fixture, contents};

/// The arrays of `aliases.comp`.
struct Arrays {
    table: DeviceNDArray<u32>,
    words: DeviceNDArray<f32>,
    scales: DeviceNDArray<f32>,
    floats: DeviceNDArray<f32>,
}

impl Arrays {
    fn new(fixture: &Fixture) -> Self {
        let numbered = |n: u16| (0..n).map(f32::from).collect::<Vec<_>>();
        Self {
            table: fixture.slice_to_device(&[5, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap(),
            words: fixture.slice_to_device(&numbered(16)).unwrap(),
            scales: fixture.slice_to_device(&[2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]).unwrap(),
            floats: fixture.slice_to_device(&numbered(16)).unwrap(),
        }
    }

    fn check(&self, what: &str) {
        assert_eq!(contents(&self.table), [5, 5, 8, 11, 14, 17, 20, 23, 26], "{what}");
        let words = [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 14.5]].concat();
        assert_eq!(contents(&self.words), words, "{what}");
        let floats = contents(&self.floats);
        assert_eq!(floats[..8], [-8.0, -9.0, -10.0, -11.0, -12.0, -13.0, -14.0, -15.0], "{what}");
    }
}

#[test]
fn variables_at_one_binding_are_one_parameter() {
    let fixture = Fixture::open();
    let kernel = fixture.kernel(source("aliases.spv")).build().unwrap();
    let expected = "
main: workgroup 8×1×1
  table   storage 0:0  read_write  Table
  count     the same               u32
  words   storage 0:1  read_write  array<f32>
  quads     the same               array<vec4<f32>>
  many    uniform 0:2  read        Scales
  few       the same               vec4<f32>
  bits    storage 1:0  read_write  array<u32>
  floats    the same               array<f32>";
    assert_eq!(kernel.signature().to_string(), expected.trim_start());
    let uses: Vec<_> = kernel.signature().params.iter().map(|param| (param.reads, param.writes)).collect();
    assert_eq!(uses, [(true, true), (true, true), (true, false), (true, true)]);
    let arrays = Arrays::new(&fixture);
    let Arrays { table, words, scales, floats } = &arrays;
    kernel.launch(Groups::exact([1, 1, 1]), (table, words, scales, floats)).unwrap();
    arrays.check("by position");
    for names in [["table", "words", "many", "bits"], ["count", "quads", "few", "floats"]] {
        let arrays = Arrays::new(&fixture);
        let Arrays { table, words, scales, floats } = &arrays;
        let [a, b, c, d] = names;
        let args = [(a, table.as_arg()), (b, words.as_arg()), (c, scales.as_arg()), (d, floats.as_arg())];
        kernel.launch(Groups::exact([1, 1, 1]), args).unwrap();
        arrays.check(a);
    }
}

#[test]
fn a_recorded_argument_is_replaced_under_either_name() {
    let fixture = Fixture::open();
    let kernel = fixture.kernel(source("aliases.spv")).build().unwrap();
    let (first, second) = (Arrays::new(&fixture), Arrays::new(&fixture));
    let record = |graph: &mut GraphRecorder| {
        let Arrays { table, words, scales, floats } = &first;
        let named = [("count", table.as_arg()), ("words", words.as_arg())];
        let rest = [("few", scales.as_arg()), ("bits", floats.as_arg())];
        kernel.record(graph, Groups::exact([1, 1, 1]), [named, rest].concat())
    };
    let (mut graph, node) = Graph::record(fixture.default_stream(), record).unwrap();
    for (name, array) in [("table", second.table.as_arg()), ("count", second.table.as_arg())] {
        node.set(&mut graph, name, array).unwrap();
    }
    node.set(&mut graph, "quads", &second.words).unwrap();
    node.set(&mut graph, "many", &second.scales).unwrap();
    node.set(&mut graph, "floats", &second.floats).unwrap();
    graph.replay(fixture.default_stream()).unwrap();
    second.check("replayed");
    assert_eq!(contents(&first.table)[1], 0);
}

#[test]
fn a_shared_binding_takes_what_each_of_its_variables_needs() {
    let fixture = Fixture::open();
    let kernel = fixture.kernel(source("aliases.spv")).build().unwrap();
    let arrays = Arrays::new(&fixture);
    let words = |n: usize| fixture.zeros::<u32>([n]).unwrap();
    let halves = |n: usize| fixture.zeros::<half::f16>([n]).unwrap();
    let (one, nine, three, whole) = (words(1), words(9), halves(31), halves(32));
    let launch = |table: &DeviceNDArray<u32>, bits: &DeviceNDArray<half::f16>| {
        let Arrays { words, scales, .. } = &arrays;
        kernel.launch(Groups::exact([1, 1, 1]), (table, words, scales, bits))
    };
    let error = launch(&one, &whole).unwrap_err().to_string();
    assert_eq!(error, "kernel `main`: `table` is Table, exactly 36 bytes, got 4 bytes");
    let error = launch(&nine, &three).unwrap_err().to_string();
    assert_eq!(error, "kernel `main`: `bits` is array<u32>, 4 bytes an element, got 62 bytes, 2 too many");
    // Integers and floats at one binding are bytes: any array of whole elements is accepted.
    launch(&nine, &whole).unwrap();
    let ints = fixture.zeros::<u32>([16]).unwrap();
    let args = (&nine, &ints, &arrays.scales, &whole);
    let error = kernel.launch(Groups::exact([1, 1, 1]), args).unwrap_err().to_string();
    assert_eq!(error, "kernel `main`: `words` is array<f32>, got an array of u32 with shape (16,); convert it to f32");
    // One argument for each binding.
    let twice = [("table", nine.as_arg()), ("count", nine.as_arg())];
    let error = kernel.launch(Groups::exact([1, 1, 1]), twice).unwrap_err().to_string();
    assert_eq!(error, "kernel `main`: `count` is given twice");
}
