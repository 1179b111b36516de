//! Random programs with graphs: replays on any stream, changes of graphs, refused changes, and other work on the same
//! memory in between.

use fastrand::Rng;
use vkarray::stream::{CopyNode, DispatchNode, FillNode, GraphRecorder};
use vkarray::{Graph, Groups};

use super::machine::{Machine, State, view};
use super::program::{Op, Program, STEP, View, WORDS, disjoint};
use super::reference::Reference;
use super::{assert_same, n_programs};
use crate::fixture::Fixture;

/// The number of programs unless `VKARRAY_TEST_PROGRAMS` is set, and the number of graphs in each.
const N_PROGRAMS: u64 = 200;
const N_GRAPHS: usize = 3;

/// Invocations of a workgroup of the kernels.
const WORKGROUP: usize = 64;

/// A step of a script.
#[derive(Debug, Clone)]
enum ScriptStep {
    /// An operation on a stream.
    Plain(Op),
    /// A replay.
    Replay { graph: usize, stream: usize },
    /// A node's operation is replaced by another one of the same kind.
    Change { graph: usize, node: usize, op: Op },
    /// A dispatch gets another size.
    Resize { graph: usize, node: usize, items: usize },
    /// Changes that must be refused.
    Refused { graph: usize, node: usize },
    /// Drops a graph, whose replays may still run, and records it again.
    Renew { graph: usize },
}

#[derive(Debug)]
struct Script {
    program: Program,
    graphs: Vec<Vec<Op>>,
    steps: Vec<ScriptStep>,
}

/// The reference for a node: the operation of the node, and the number of items that the dispatch covers.
struct Planned {
    op: Op,
    items: usize,
}

enum Node {
    Dispatch(DispatchNode),
    Copy(CopyNode),
    Fill(FillNode),
}

struct Recorded {
    graph: Graph,
    nodes: Vec<Node>,
}

#[test]
fn random_programs_with_graphs_give_the_results_of_running_in_order() {
    let fixture = Fixture::for_round_trips();
    let machine = Machine::new(&fixture);
    for seed in 0..n_programs(N_PROGRAMS) {
        let script = Script::random(seed);
        let seen = run(&machine, &script);
        let expected = reference(&script);
        assert_eq!(seen.read.len(), expected.read.len());
        for (nth, (seen, expected)) in seen.read.iter().zip(&expected.read).enumerate() {
            assert_same(&format!("seed {seed}, {script:#?}: host read {nth}"), seen, expected, &script.program);
        }
        for (nth, (seen, expected)) in seen.blocks.iter().zip(&expected.blocks).enumerate() {
            assert_same(&format!("seed {seed}, {script:#?}: block {nth}"), seen, expected, &script.program);
        }
        fixture.assert_no_messages(&format!("program {seed}"));
    }
}

#[test]
fn random_scripts_contain_every_kind_of_step() {
    let scripts: Vec<_> = (0..N_PROGRAMS).map(Script::random).collect();
    let count = |is: fn(&ScriptStep) -> bool| scripts.iter().flat_map(|s| &s.steps).filter(|each| is(each)).count();
    let counts = [
        count(|each| matches!(each, ScriptStep::Plain(_))),
        count(|each| matches!(each, ScriptStep::Replay { .. })),
        count(|each| matches!(each, ScriptStep::Change { op: Op::Mix { .. }, .. })),
        count(|each| matches!(each, ScriptStep::Change { op: Op::Step { .. }, .. })),
        count(|each| matches!(each, ScriptStep::Change { op: Op::Copy { .. }, .. })),
        count(|each| matches!(each, ScriptStep::Change { op: Op::Fill { .. }, .. })),
        count(|each| matches!(each, ScriptStep::Resize { .. })),
        count(|each| matches!(each, ScriptStep::Refused { .. })),
        count(|each| matches!(each, ScriptStep::Renew { .. })),
    ];
    assert!(counts.iter().all(|&n| n >= 50), "{counts:?}");
    let n_nodes: usize = scripts.iter().flat_map(|script| &script.graphs).map(Vec::len).sum();
    assert!(n_nodes >= 1000, "{n_nodes}");
}

impl Script {
    fn random(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x6772_6170_6873);
        let mut program = Program::random(seed);
        let (mut graphs, mut steps) = (vec![Vec::new(); N_GRAPHS], Vec::new());
        // A graph would still use a block that the program has replaced, so blocks are not replaced.
        for op in program.ops.drain(..).filter(|op| !matches!(op, Op::NewBlock { .. })) {
            let fits = matches!(op, Op::Mix { .. } | Op::Step { .. } | Op::Copy { .. } | Op::Fill { .. });
            if fits && rng.bool() {
                graphs[rng.usize(..N_GRAPHS)].push(op);
            } else {
                steps.push(ScriptStep::Plain(op));
            }
        }
        for _ in 0..rng.usize(10..40) {
            let at = rng.usize(..=steps.len());
            let graph = rng.usize(..N_GRAPHS);
            steps.insert(at, ScriptStep::Replay { graph, stream: rng.usize(..program.n_streams) });
        }
        for _ in 0..rng.usize(5..20) {
            // Changes may come in any order, since each keeps the kind of the operation and the length of its views.
            let (graph, at) = (rng.usize(..N_GRAPHS), rng.usize(..=steps.len()));
            let Some(next) = change(&mut rng, graph, &graphs[graph], program.n_blocks) else { continue };
            steps.insert(at, ScriptStep::Replay { graph, stream: rng.usize(..program.n_streams) });
            steps.insert(at, next);
        }
        Self { program, graphs, steps }
    }
}

fn change(rng: &mut Rng, graph: usize, ops: &[Op], n_blocks: usize) -> Option<ScriptStep> {
    if ops.is_empty() || rng.u32(..10) == 0 {
        return Some(ScriptStep::Renew { graph });
    }
    let node = rng.usize(..ops.len());
    let is_dispatch = matches!(ops[node], Op::Mix { .. } | Op::Step { .. });
    match rng.u32(..10) {
        0..2 => Some(ScriptStep::Refused { graph, node }),
        2..4 if is_dispatch => Some(ScriptStep::Resize { graph, node, items: rng.usize(..=WORDS) }),
        _ => Some(ScriptStep::Change { graph, node, op: other(rng, &ops[node], n_blocks)? }),
    }
}

/// An operation of the same kind and length on other memory; `None` if the random choice overlaps.
fn other(rng: &mut Rng, op: &Op, n_blocks: usize) -> Option<Op> {
    let mut moved = |view: &View| {
        let start = rng.usize(..=(WORDS - view.words.len()) / STEP) * STEP;
        View { block: rng.usize(..n_blocks), words: start..start + view.words.len() }
    };
    let op = match op {
        Op::Mix { stream, source, sum, .. } => {
            let (source, sum) = (moved(source), moved(sum));
            if source.block == sum.block && !disjoint(&source.words, &sum.words) {
                return None;
            }
            Op::Mix { stream: *stream, source, sum, add: rng.u32(..) }
        }
        Op::Step { stream, view, .. } => Op::Step { stream: *stream, view: moved(view), add: rng.u32(..) },
        Op::Copy { stream, bytes, .. } => {
            let (source, to, len) = (rng.usize(..n_blocks), rng.usize(..n_blocks), rng.usize(1..=bytes.len()));
            let (start, offset) = (rng.usize(..=WORDS * 4 - len), rng.usize(..=WORDS * 4 - len));
            if source == to && !disjoint(&(start..start + len), &(offset..offset + len)) {
                return None;
            }
            Op::Copy { stream: *stream, source, bytes: start..start + len, to, offset }
        }
        Op::Fill { stream, .. } => Op::Fill { stream: *stream, block: rng.usize(..n_blocks), word: rng.u32(..) },
        other => unreachable!("no graph holds {other:?}"),
    };
    Some(op)
}

fn run(machine: &Machine<'_>, script: &Script) -> Reference {
    let mut state = machine.begin(&script.program);
    let mut planned: Vec<Vec<Planned>> = script.graphs.iter().map(|ops| ops.iter().map(planned).collect()).collect();
    let mut graphs: Vec<_> = planned.iter().map(|ops| record(machine, &state, ops)).collect();
    for next in &script.steps {
        follow(&mut planned, next);
        match next {
            ScriptStep::Plain(op) => machine.apply(&mut state, op),
            ScriptStep::Replay { graph, stream } => graphs[*graph].graph.replay(&state.streams[*stream]).unwrap(),
            ScriptStep::Change { graph, node, op } => {
                graphs[*graph].change(*node, op, planned[*graph][*node].items, &state)
            }
            ScriptStep::Resize { graph, node, items } => graphs[*graph].resize(*node, *items),
            ScriptStep::Refused { graph, node } => graphs[*graph].refuse(*node, &state),
            ScriptStep::Renew { graph } => graphs[*graph] = record(machine, &state, &planned[*graph]),
        }
    }
    drop(graphs);
    state.finish()
}

fn reference(script: &Script) -> Reference {
    let mut planned: Vec<Vec<Planned>> = script.graphs.iter().map(|ops| ops.iter().map(planned).collect()).collect();
    let mut reference = Reference::begin(&script.program);
    for next in &script.steps {
        follow(&mut planned, next);
        match next {
            ScriptStep::Plain(op) => reference.apply(op),
            ScriptStep::Replay { graph, .. } => {
                planned[*graph].iter().for_each(|each| reference.apply(&each.covered()))
            }
            _ => {}
        }
    }
    reference
}

fn planned(op: &Op) -> Planned {
    Planned { op: op.clone(), items: WORDS }
}

/// Applies a step of the script to the reference's nodes.
fn follow(planned: &mut [Vec<Planned>], next: &ScriptStep) {
    match next {
        ScriptStep::Change { graph, node, op } => planned[*graph][*node].op = op.clone(),
        ScriptStep::Resize { graph, node, items } => planned[*graph][*node].items = *items,
        _ => {}
    }
}

impl Planned {
    /// The operation on the words that its workgroups reach.
    fn covered(&self) -> Op {
        let mut op = self.op.clone();
        let cut = |view: &mut View| {
            let n_words = view.words.len().min(self.items.next_multiple_of(WORKGROUP));
            view.words.end = view.words.start + n_words;
        };
        match &mut op {
            Op::Mix { source, sum, .. } => [source, sum].into_iter().for_each(cut),
            Op::Step { view, .. } => cut(view),
            _ => {}
        }
        op
    }
}

fn record(machine: &Machine<'_>, state: &State, ops: &[Planned]) -> Recorded {
    let record = |graph: &mut GraphRecorder| -> anyhow::Result<Vec<Node>> {
        ops.iter().map(|each| node(machine, state, graph, each)).collect()
    };
    let (graph, nodes) = Graph::record(&state.streams[0], record).unwrap();
    Recorded { graph, nodes }
}

fn node(machine: &Machine<'_>, state: &State, graph: &mut GraphRecorder, each: &Planned) -> anyhow::Result<Node> {
    let (blocks, groups) = (&state.blocks, Groups::covering(each.items));
    Ok(match &each.op {
        Op::Mix { source, sum, add, .. } => {
            let (source, sum) = (view(blocks, source), view(blocks, sum));
            Node::Dispatch(machine.mix.record(graph, groups, (&source, &sum, *add))?)
        }
        Op::Step { view: part, add, .. } => {
            Node::Dispatch(machine.step.record(graph, groups, (&view(blocks, part), *add))?)
        }
        Op::Copy { source, bytes, to, offset, .. } => {
            let range = bytes.start as u64..bytes.end as u64;
            let (source, to) = (blocks[*source].block(), blocks[*to].block());
            Node::Copy(to.record_copy(graph, *offset as u64, source, range)?)
        }
        Op::Fill { block, word, .. } => Node::Fill(blocks[*block].block().record_fill(graph, *word)?),
        other => unreachable!("no graph holds {other:?}"),
    })
}

impl Recorded {
    fn change(&mut self, node: usize, op: &Op, items: usize, state: &State) {
        let (graph, blocks) = (&mut self.graph, &state.blocks);
        match (&self.nodes[node], op) {
            (Node::Dispatch(node), Op::Mix { source, sum, add, .. }) => {
                let (source, sum) = (view(blocks, source), view(blocks, sum));
                node.update(graph, Groups::covering(items), (&source, &sum, *add)).unwrap();
            }
            (Node::Dispatch(node), Op::Step { view: part, add, .. }) => {
                node.set(graph, "x", view(blocks, part)).unwrap();
                node.set(graph, "add", *add).unwrap();
            }
            (Node::Copy(node), Op::Copy { source, bytes, to, offset, .. }) => {
                let range = bytes.start as u64..bytes.end as u64;
                let (source, to) = (blocks[*source].block(), blocks[*to].block());
                node.set(graph, (to, *offset as u64), source, range).unwrap();
            }
            (Node::Fill(node), Op::Fill { block, word, .. }) => {
                node.set(graph, blocks[*block].block(), *word).unwrap();
            }
            (_, op) => unreachable!("{op:?} is of another kind"),
        }
    }

    fn resize(&mut self, node: usize, items: usize) {
        let Node::Dispatch(node) = self.nodes[node] else { unreachable!("only a dispatch has a size") };
        node.set_groups(&mut self.graph, Groups::covering(items)).unwrap();
    }

    fn refuse(&mut self, node: usize, state: &State) {
        let (graph, block) = (&mut self.graph, state.blocks[0].block());
        let end = WORDS as u64 * 4;
        match self.nodes[node] {
            Node::Dispatch(node) => {
                node.set(graph, "add", 1.5_f32).unwrap_err();
                node.set(graph, "nothing", 1_u32).unwrap_err();
                node.set_groups(graph, Groups::exact([u32::MAX; 3])).unwrap_err();
                // The size alone would be accepted; the argument has the wrong type.
                node.update(graph, Groups::exact([1, 1, 1]), [("add", 7_i64)]).unwrap_err();
            }
            Node::Copy(node) => {
                node.set(graph, (block, 1), block, 0..end).unwrap_err();
            }
            // A fill takes any block and word of the device; a node of another graph is refused.
            Node::Fill(node) => {
                let (mut other, ()) =
                    Graph::record(&state.streams[0], |_| Ok::<_, vkarray::device::Error>(())).unwrap();
                node.set_pattern(&mut other, 3).unwrap_err();
            }
        }
    }
}
