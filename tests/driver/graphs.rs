//! Graphs: results of replays, changes between replays, refused recordings and changes, replays in flight, and drops.

use vkarray::device::{Device, Error as DriverError};
use vkarray::kernel::{ConstArray, Error as KernelError};
use vkarray::memory::MemoryKind;
use vkarray::stream::{DispatchNode, GraphRecorder};
use vkarray::{Context, DeviceNDArray, Graph, Groups, Kernel, Source, Stream};
use vkarray_driver::hazard::Mode;

use crate::fixture::kernels::{keep_busy, kept_busy, mix, mixed, spin, spun, step, stepped};
use crate::fixture::{Fixture, contents, poll};

/// Adds constant memory to an array.
const ADD_TABLE: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @group(0) @binding(1) var<uniform> table: array<vec4<u32>, 2>;
    @compute @workgroup_size(8) fn add_table(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < 8u { x[id.x] = x[id.x] * 5u + table[id.x / 4u][id.x % 4u]; }
    }";

type Outcome<T = ()> = Result<T, KernelError>;

fn one() -> Groups<'static> {
    Groups::exact([1, 1, 1])
}

/// A graph of one call of `step`.
fn step_graph(stream: &Stream, step: &Kernel, array: &DeviceNDArray<u32>, add: u32) -> (Graph, DispatchNode) {
    Graph::record(stream, |graph| step.record(graph, Groups::covering(array.shape()), (array, add))).unwrap()
}

#[test]
fn a_graph_of_a_thousand_nodes_gives_the_results_of_a_stream() {
    let fixture = Fixture::open();
    let (mix, step, stream) = (mix(&fixture), step(&fixture), fixture.stream().unwrap());
    let arrays = || -> Vec<_> { (0..8_u32).map(|i| fixture.slice_to_device(&[i; 70]).unwrap()).collect() };
    let (by_stream, by_graph) = (arrays(), arrays());
    let groups = Groups::covering([70]);
    let places = |i: u32| ((i * 5 % 8) as usize, ((i * 5 + 1 + i % 7) % 8) as usize);
    let (graph, ()) = Graph::record(&stream, |graph: &mut GraphRecorder| -> Outcome {
        for i in 0..1000_u32 {
            let (from, to) = places(i);
            match i % 10 {
                0 => step.record(graph, groups, (&by_graph[to], i)).map(drop)?,
                1 => by_graph[to].block().record_copy(graph, 20, by_graph[from].block(), 4..84).map(drop)?,
                _ => mix.record(graph, groups, (&by_graph[from], &by_graph[to], i)).map(drop)?,
            }
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(graph.n_nodes(), 1000);
    for _ in 0..3 {
        for i in 0..1000_u32 {
            let (from, to) = places(i);
            match i % 10 {
                0 => step.dispatch(&stream, groups, (&by_stream[to], i)).unwrap(),
                1 => by_stream[to].block().copy_from_block(&stream, 20, by_stream[from].block(), 4..84).unwrap(),
                _ => mix.dispatch(&stream, groups, (&by_stream[from], &by_stream[to], i)).unwrap(),
            }
        }
        graph.replay(&stream).unwrap();
    }
    for (i, (a, b)) in by_stream.iter().zip(&by_graph).enumerate() {
        assert_eq!(contents(a), contents(b), "array {i}");
    }
}

#[test]
fn a_hundred_replays_run_in_order_with_one_submission_each() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 5]).unwrap();
    let (graph, _) = step_graph(&stream, &step, &array, 3);
    let before = stream.point().unwrap().value();
    for _ in 0..100 {
        graph.replay(&stream).unwrap();
    }
    assert_eq!(stream.point().unwrap().value(), before + 100, "a replay is one submission");
    assert_eq!(contents(&array), [(0..100).fold(1, |x, _| stepped(x, 3)); 5]);
}

#[test]
fn recording_runs_nothing_and_an_empty_graph_does_nothing() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 5]).unwrap();
    let (graph, _) = step_graph(&stream, &step, &array, 3);
    assert_eq!(stream.point().unwrap().value(), 0);
    assert_eq!(contents(&array), [1; 5]);
    let (empty, ()) = Graph::record(&stream, |_| Ok::<_, DriverError>(())).unwrap();
    let (idle, _) = Graph::record(&stream, |graph| step.record(graph, Groups::covering([0]), (&array, 3_u32))).unwrap();
    assert_eq!((empty.n_nodes(), idle.n_nodes(), graph.n_nodes()), (0, 1, 1));
    for graph in [&empty, &idle] {
        graph.replay(&stream).unwrap();
    }
    assert_eq!(stream.point().unwrap().value(), 0, "nothing was sent");
    assert_eq!(contents(&array), [1; 5]);
}

#[test]
fn scalars_arrays_and_sizes_change_between_replays() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let arrays = [fixture.slice_to_device(&[1_u32; 130]).unwrap(), fixture.slice_to_device(&[2_u32; 130]).unwrap()];
    let (mut graph, node) = step_graph(&stream, &step, &arrays[0], 3);
    let mut expected = [vec![1_u32; 130], vec![2; 130]];
    let apply = |values: &mut [u32], add: u32| values.iter_mut().for_each(|x| *x = stepped(*x, add));
    for round in 0..10_u32 {
        node.set(&mut graph, "add", round).unwrap();
        graph.replay(&stream).unwrap();
        apply(&mut expected[0], round);
    }
    node.set(&mut graph, "x", &arrays[1]).unwrap();
    graph.replay(&stream).unwrap();
    apply(&mut expected[1], 9);
    node.set_groups(&mut graph, Groups::exact([1, 1, 1])).unwrap();
    graph.replay(&stream).unwrap();
    apply(&mut expected[1][..64], 9);
    node.update(&mut graph, Groups::covering([0]), [("add", 5_u32)]).unwrap();
    graph.replay(&stream).unwrap();
    node.update(&mut graph, Groups::covering([65]), (&arrays[0],)).unwrap();
    graph.replay(&stream).unwrap();
    apply(&mut expected[0][..128], 5);
    for (array, expected) in arrays.iter().zip(&expected) {
        assert_eq!(&contents(array), expected);
    }
}

#[test]
fn copies_and_fills_change_between_replays() {
    let fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    let [a, b, c] = [1_u32, 2, 3].map(|i| fixture.slice_to_device(&[i, 10 + i, 20 + i, 30 + i]).unwrap());
    let (mut graph, (fill, copy)) = Graph::record(&stream, |graph| -> Result<_, vkarray::memory::Error> {
        Ok((a.block().record_fill(graph, 7)?, b.block().record_copy(graph, 4, a.block(), 0..8)?))
    })
    .unwrap();
    graph.replay(&stream).unwrap();
    assert_eq!((contents(&a), contents(&b)), (vec![7; 4], vec![2, 7, 7, 32]));
    fill.set_pattern(&mut graph, 8).unwrap();
    copy.set(&mut graph, (c.block(), 0), b.block(), 12..16).unwrap();
    graph.replay(&stream).unwrap();
    assert_eq!((contents(&a), contents(&c)), (vec![8; 4], vec![32, 13, 23, 33]));
    // A copy past the end and a copy that overlaps are refused; an empty copy is accepted below.
    let block = b.block();
    assert!(copy.set(&mut graph, (block, 4), c.block(), 0..16).is_err());
    assert!(copy.set(&mut graph, (block, 4), block, 0..8).is_err());
    fill.set(&mut graph, c.block(), 9).unwrap();
    graph.replay(&stream).unwrap();
    assert_eq!((contents(&a), contents(&b), contents(&c)), (vec![8; 4], vec![2, 7, 7, 32], vec![32, 9, 9, 9]));
    copy.set(&mut graph, (block, 4), c.block(), 8..8).unwrap();
    graph.replay(&stream).unwrap();
    assert_eq!((contents(&b), contents(&c)), (vec![2, 7, 7, 32], vec![9; 4]));
}

#[test]
fn a_refused_change_changes_nothing() {
    let fixture = Fixture::open();
    let (mix, stream) = (mix(&fixture), fixture.stream().unwrap());
    let [a, b] = [1_u32, 2].map(|i| fixture.slice_to_device(&[i; 100]).unwrap());
    let short = fixture.slice_to_device(&[1_u32; 99]).unwrap();
    let floats = fixture.slice_to_device(&[1_f32; 100]).unwrap();
    let record = |graph: &mut GraphRecorder| mix.record(graph, Groups::covering([100]), (&a, &b, 5_u32));
    let (mut graph, node) = Graph::record(&stream, record).unwrap();
    let (mut other, _) = Graph::record(&stream, record).unwrap();
    let mut sum = 2;
    for round in 0..2 {
        // The refused change, and a part of the message.
        let cases = [
            (node.set(&mut graph, "add", 5_i32), "`add` is u32"),
            (node.set(&mut graph, "sub", 5_u32), "no argument `sub`"),
            (node.set(&mut graph, "sum", 5_u32), "`sum` is an array"),
            (node.set(&mut graph, "sum", &a), "shares memory"),
            (node.set(&mut graph, "sum", &short), "shape (100,), got an array of u32 with shape (99,)"),
            (node.set(&mut graph, "source", &floats), "got an array of f32"),
            (node.set(&mut graph, "source", a.reshape([10, 10]).unwrap()), "shape (10, 10)"),
            (node.set_groups(&mut graph, Groups::exact([1, u32::MAX, 1])), "workgroups on axis y"),
            (node.update(&mut graph, one(), [("add", 6_u32), ("sub", 7)]), "no argument `sub`"),
            (node.set(&mut other, "add", 6_u32), "belongs to graph"),
        ];
        for (refused, words) in cases {
            let message = refused.expect_err(words).to_string();
            assert!(message.contains(words), "{message}: {words}");
        }
        graph.replay(&stream).unwrap();
        sum = mixed(1, sum, 5);
        assert_eq!((contents(&a), contents(&b)), (vec![1; 100], vec![sum; 100]), "round {round}");
    }
}

#[test]
fn a_refused_recording_adds_no_node() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 5]).unwrap();
    let (graph, ()) = Graph::record(&stream, |graph| -> Outcome {
        step.record(graph, one(), (&array,)).unwrap_err();
        step.record(graph, one(), (&array, 2_u32, 3_u32)).unwrap_err();
        step.record(graph, one(), (&array, 2.0_f32)).unwrap_err();
        step.record(graph, one(), (&array, 2_u32)).map(drop)
    })
    .unwrap();
    assert_eq!(graph.n_nodes(), 1);
    graph.replay(&stream).unwrap();
    assert_eq!(contents(&array), [stepped(1, 2); 5]);
    let failed = Graph::record(&stream, |graph| step.record(graph, one(), (&array, 2.0_f32)));
    assert!(matches!(failed, Err(KernelError::Argument { .. })));
}

#[test]
fn graphs_and_memory_of_another_device_are_refused() {
    let fixture = Fixture::open();
    let foreign = Context::on(&Device::open(fixture.device().physical()).unwrap()).unwrap();
    let (step, array) = (step(&fixture), fixture.slice_to_device(&[1_u32; 5]).unwrap());
    let (graph, _) = step_graph(fixture.default_stream(), &step, &array, 1);
    let error = graph.replay(foreign.default_stream()).unwrap_err();
    assert!(matches!(error, DriverError::ForeignGraph { .. }), "{error}");
    let refused = Graph::record(foreign.default_stream(), |graph| step.record(graph, one(), (&array, 1_u32)));
    assert!(matches!(refused, Err(KernelError::ForeignDevice { what: "the graph", .. })));
    let fill = Graph::record(foreign.default_stream(), |graph| array.block().record_fill(graph, 1));
    assert!(fill.is_err());
    // A step of one device, added to a graph of another.
    let step = || array.block().fill_step(fixture.device(), 1).unwrap();
    let refused = Graph::record(foreign.default_stream(), |graph| graph.add((), step()));
    assert!(matches!(refused, Err(DriverError::ForeignStep { .. })));
    let (mut empty, node) = Graph::record(foreign.default_stream(), |graph| graph.add((), None)).unwrap();
    assert!(matches!(empty.replace(node, (), step()), Err(DriverError::ForeignStep { .. })));
    empty.replay(foreign.default_stream()).unwrap();
    assert_eq!(contents(&array), [1; 5]);
}

#[test]
fn replays_in_flight_keep_their_arguments_when_a_node_changes() {
    let fixture = Fixture::open();
    let (spin, step, stream) = (spin(&fixture), step(&fixture), fixture.stream().unwrap());
    let (slow, array) = (fixture.slice_to_device(&[1_u32]).unwrap(), fixture.slice_to_device(&[1_u32; 5]).unwrap());
    let (mut graph, node) = Graph::record(&stream, |graph| -> Outcome<DispatchNode> {
        spin.record(graph, one(), (&slow, 20_000_u32))?;
        step.record(graph, one(), (&array, 0_u32))
    })
    .unwrap();
    keep_busy(&stream, &spin, &slow);
    for round in 0..20_u32 {
        node.set(&mut graph, "add", round).unwrap();
        graph.replay(&stream).unwrap();
    }
    assert_eq!(contents(&array), [(0..20).fold(1, stepped); 5]);
    assert_eq!(contents(&slow), [spun(kept_busy(1), 20 * 20_000)]);
}

#[test]
fn replays_and_other_work_on_several_streams_are_ordered() {
    let fixture = Fixture::open();
    let (mix, step) = (mix(&fixture), step(&fixture));
    let streams: Vec<_> = (0..3).map(|_| fixture.stream().unwrap()).collect();
    let [a, b] = [1_u32, 2].map(|i| fixture.slice_to_device(&[i; 70]).unwrap());
    let groups = Groups::covering([70]);
    let (graph, ()) = Graph::record(&streams[0], |graph| -> Outcome {
        step.record(graph, groups, (&a, 7_u32))?;
        mix.record(graph, groups, (&a, &b, 8_u32)).map(drop)
    })
    .unwrap();
    let mut expected = [1_u32, 2];
    for round in 0..300_u32 {
        let stream = &streams[(round * 7 % 3) as usize];
        if round % 4 == 3 {
            step.dispatch(stream, groups, (&b, round)).unwrap();
            mix.dispatch(&streams[(round % 3) as usize], groups, (&b, &a, round)).unwrap();
            expected[1] = stepped(expected[1], round);
            expected[0] = mixed(expected[1], expected[0], round);
        } else {
            graph.replay(stream).unwrap();
            expected[0] = stepped(expected[0], 7);
            expected[1] = mixed(expected[0], expected[1], 8);
        }
    }
    assert_eq!((contents(&a), contents(&b)), (vec![expected[0]; 70], vec![expected[1]; 70]));
}

#[test]
fn a_graph_keeps_its_arrays_and_kernels_until_its_replays_end() {
    let fixture = Fixture::open();
    let out = fixture.slice_to_device(&[3_u32; 5]).unwrap();
    let (mut expected, recording) = (3, fixture.stream().unwrap());
    for round in 0..20_u32 {
        let (spin, mix) = (spin(&fixture), mix(&fixture));
        let (slow, source) =
            (fixture.slice_to_device(&[1_u32]).unwrap(), fixture.slice_to_device(&[round; 5]).unwrap());
        let stream = fixture.stream().unwrap();
        let (graph, ()) = Graph::record(&recording, |graph| -> Outcome {
            spin.record(graph, one(), (&slow, 5_000_u32))?;
            mix.record(graph, one(), (&source, &out, 1_u32)).map(drop)
        })
        .unwrap();
        drop((spin, mix, slow, source)); // From here on only the graph keeps them alive.
        for _ in 0..3 {
            graph.replay(&stream).unwrap();
            expected = mixed(round, expected, 1);
        }
        if round % 2 == 0 {
            drop(graph);
            drop(stream);
        } else {
            drop(stream);
            drop(graph);
        }
    }
    assert_eq!(contents(&out), [expected; 5]);
}

#[test]
fn a_replaced_array_is_released() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let [a, b] = [1_u32, 2].map(|i| fixture.slice_to_device(&[i; 5]).unwrap());
    let (mut graph, node) = step_graph(&stream, &step, &a, 1);
    graph.replay(&stream).unwrap();
    let held = std::sync::Arc::downgrade(a.block());
    node.set(&mut graph, "x", &b).unwrap();
    drop(a);
    assert!(held.upgrade().is_none(), "the graph keeps an array that it no longer uses");
    graph.replay(&stream).unwrap();
    assert_eq!(contents(&b), [stepped(2, 1); 5]);
}

#[test]
fn the_host_reads_pinned_memory_after_the_replay_that_wrote_it() {
    let fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    let array = fixture.slice_to_device(&[1_u32, 2, 3]).unwrap();
    let pinned = fixture.allocator().allocate(12, MemoryKind::Pinned).unwrap();
    let step = step(&fixture);
    let (graph, ()) = Graph::record(&stream, |graph| -> Outcome {
        step.record(graph, one(), (&array, 4_u32))?;
        pinned.record_copy(graph, 0, array.block(), 0..12)?;
        Ok(())
    })
    .unwrap();
    let mut expected = [1_u32, 2, 3];
    for _ in 0..5 {
        graph.replay(&stream).unwrap();
        expected = expected.map(|x| stepped(x, 4));
        let mut seen = [0_u32; 3];
        pinned.copy_to_host(&stream, 0, bytemuck::cast_slice_mut(&mut seen)).unwrap();
        assert_eq!(seen, expected);
    }
    poll("the replays", || {
        fixture.device().block_uses(pinned.id(), 0..12, Mode::Write).iter().all(|p| p.is_complete().unwrap())
    });
}

#[test]
fn constant_memory_is_uploaded_once_and_short_arrays_are_copied_by_each_replay() {
    let fixture = Fixture::open();
    let (stream, kernel) = (fixture.stream().unwrap(), fixture.kernel(Source::wgsl(ADD_TABLE)).build().unwrap());
    let x = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    let tables: [ConstArray; 2] =
        [[1_u32, 2, 3, 4], [9, 8, 7, 6]].map(|values| fixture.const_array(&values, [4]).unwrap().padded());
    let short = fixture.slice_to_device(&[5_u32, 6, 7, 8]).unwrap().padded();
    let (mut graph, node) = Graph::record(&stream, |graph| kernel.record(graph, one(), (&x, &tables[0]))).unwrap();
    let mut expected = [1_u32; 8];
    let mut add = |table: [u32; 4]| {
        for (i, x) in expected.iter_mut().enumerate() {
            *x = stepped(*x, table.get(i).copied().unwrap_or(0));
        }
        expected.to_vec()
    };
    graph.replay(&stream).unwrap();
    assert_eq!(contents(&x), add([1, 2, 3, 4]));
    node.set(&mut graph, "table", &tables[1]).unwrap();
    graph.replay(&stream).unwrap();
    assert_eq!(contents(&x), add([9, 8, 7, 6]));
    node.set(&mut graph, "table", &short).unwrap();
    graph.replay(&stream).unwrap();
    assert_eq!(contents(&x), add([5, 6, 7, 8]));
    short.block().fill(&stream, 3).unwrap();
    graph.replay(&stream).unwrap();
    assert_eq!(contents(&x), add([3; 4]));
}

#[test]
fn threads_replay_one_graph() {
    let fixture = Fixture::open();
    let (step, array) = (step(&fixture), fixture.slice_to_device(&[1_u32; 5]).unwrap());
    let (graph, _) = step_graph(fixture.default_stream(), &step, &array, 3);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = fixture.stream().unwrap();
                (0..25).for_each(|_| graph.replay(&stream).unwrap());
            });
        }
    });
    assert_eq!(contents(&array), [(0..100).fold(1, |x, _| stepped(x, 3)); 5]);
}
