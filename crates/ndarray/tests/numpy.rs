//! Replays NumPy's own answers to 24,000 random programs of view operations.
//!
//! `numpy_programs.py` wrote the answers, and describes the format. With `VKARRAY_NUMPY=1` a fresh set is made with the
//! NumPy at hand and another seed. Shapes, strides, offsets, flags, errors and the bytes reached must all agree, and
//! the programs must hold enough of each kind of step for that to mean something.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Read;
use std::process::Command;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use flate2::Crc;
use flate2::read::GzDecoder;
use vkarray_ndarray::{Index, Layout, LayoutError, Order};

const N_PROGRAMS: usize = 24_000;

/// A step, what NumPy answered, and how often it must occur at least.
const FLOORS: &[(&str, &str, usize)] = &[
    ("slice", "view", 15_000),
    ("reshapeC", "view", 5_000),
    ("reshapeF", "view", 3_000),
    ("reshapeA", "view", 1_500),
    ("reshapeC", "copy", 600),
    ("reshapeF", "copy", 600),
    ("reshapeA", "copy", 200),
    ("ravelC", "view", 300),
    ("ravelF", "view", 300),
    ("ravelA", "view", 300),
    ("ravelK", "view", 400),
    ("ravelC", "copy", 200),
    ("ravelF", "copy", 200),
    ("ravelA", "copy", 200),
    ("ravelK", "copy", 150),
    ("transpose", "view", 4_000),
    ("swap_axes", "view", 2_000),
    ("move_axis", "view", 1_500),
    ("squeeze", "view", 2_500),
    ("expand_dims", "view", 2_500),
    ("broadcast_to", "view", 3_500),
    ("split_at", "view", 1_000),
    ("split_equally", "view", 800),
    ("array_split", "view", 1_000),
    ("view_as", "view", 2_200),
    ("diagonal", "view", 1_500),
    ("flip", "view", 2_500),
    ("reshape", "ReshapeMismatch", 700),
    ("reshape", "RepeatedUnknown", 150),
    ("reshape", "OrderNotAllowed", 100),
    ("slice", "IndexOutOfRange", 400),
    ("slice", "TooManyIndices", 300),
    ("slice", "RepeatedEllipsis", 60),
    ("slice", "ZeroStep", 70),
    ("transpose", "AxisCount", 100),
    ("move_axis", "AxisCount", 10),
    ("swap_axes", "AxisOutOfRange", 250),
    ("squeeze", "AxisOutOfRange", 10),
    ("flip", "AxisOutOfRange", 15),
    ("split_equally", "AxisOutOfRange", 100),
    ("expand_dims", "RepeatedAxis", 40),
    ("move_axis", "RepeatedAxis", 20),
    ("flip", "RepeatedAxis", 20),
    ("squeeze", "SqueezeLength", 40),
    ("broadcast_to", "BroadcastMismatch", 150),
    ("diagonal", "DiagonalRank", 400),
    ("diagonal", "RepeatedAxis", 3),
    ("diagonal", "AxisOutOfRange", 3),
    ("view_as", "ViewZeroDim", 200),
    ("view_as", "ViewStrided", 1_000),
    ("view_as", "ViewItemSize", 1_000),
    ("view_as", "ViewMisaligned", 10),
    ("array_split", "ZeroSplit", 5),
    ("split_equally", "ZeroSplit", 5),
    ("split_equally", "UnequalSplit", 300),
];

#[test]
fn recorded_programs_end_as_in_numpy() {
    let mut programs = String::new();
    GzDecoder::new(include_bytes!("numpy_programs.txt.gz").as_slice()).read_to_string(&mut programs).unwrap();
    replay(&programs);
}

#[test]
fn fresh_programs_end_as_in_numpy() {
    if std::env::var_os("VKARRAY_NUMPY").is_none_or(|wanted| wanted != "1") {
        eprintln!("SKIPPED: set VKARRAY_NUMPY=1 to ask the NumPy of this machine");
        return;
    }
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    eprintln!("seed {seed}");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/numpy_programs.py");
    let run =
        Command::new("python3").args(["-W", "ignore", script, &seed.to_string(), &N_PROGRAMS.to_string()]).output();
    let output = run.expect("VKARRAY_NUMPY=1 needs python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    replay(&String::from_utf8(output.stdout).unwrap());
}

/// Steps by name and answer.
type Tally = BTreeMap<(String, String), usize>;

fn replay(programs: &str) {
    let block: Vec<u8> = (0..1_u32 << 15).map(|k| k.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let mut tally = Tally::new();
    let mut n_programs = 0;
    for (line, program) in programs.lines().enumerate() {
        Replay::start(program, line).run(&block, &mut tally);
        n_programs += 1;
    }
    assert_eq!(n_programs, N_PROGRAMS);
    for &(step, answer, floor) in FLOORS {
        let is_meant = |key: &(String, String)| key.0.starts_with(step) && key.1 == answer;
        let count: usize = tally.iter().filter(|(key, _)| is_meant(key)).map(|(_, count)| count).sum();
        assert!(count >= floor, "{step} answered {answer}: {count} steps, {floor} wanted");
    }
}

/// One program on its way.
struct Replay<'a> {
    fields: Vec<&'a str>,
    place: String,
    layout: Layout,
    itemsize: usize,
    base_len: usize,
}

impl<'a> Replay<'a> {
    fn start(program: &'a str, line: usize) -> Self {
        let fields: Vec<_> = program.split('\t').collect();
        let place = format!("program {line}: {program}");
        let [kind, itemsize, shape, strides, offset] = parts(fields[0]);
        let (shape, strides): (Vec<usize>, Vec<isize>) = (numbers(shape), numbers(strides));
        let layout = match kind {
            "C" => Layout::contiguous(&shape, Order::C),
            "F" => Layout::contiguous(&shape, Order::F),
            _ => Layout::with_strides(&shape, &strides, number(offset)),
        };
        let layout = layout.expect(&place);
        assert_eq!(layout.strides(), strides, "{place}");
        Self { fields, place, itemsize: number(itemsize), base_len: layout.extent().end, layout }
    }

    fn run(mut self, block: &[u8], tally: &mut Tally) {
        let (end, steps) = self.fields[1..].split_last().expect("a program has an end");
        for step in steps.to_vec() {
            let (operation, told) = step.split_once('>').expect("a step has an answer");
            let [name, arguments] = operation.split_once(' ').map_or([operation, ""], |(name, rest)| [name, rest]);
            let place = format!("at {step}\nof {}", self.place);
            let result = perform(&self.layout, self.itemsize, name, arguments);
            let answer = match told.split_once(';') {
                None => {
                    assert_eq!(variant(&result), "NeedsCopy", "{place}");
                    "copy"
                }
                Some(("e", name)) => {
                    assert_eq!(variant(&result), name, "{place}");
                    name
                }
                Some((_, view)) => {
                    self.layout = result.unwrap_or_else(|error| panic!("{error}\n{place}"));
                    if name == "view_as" {
                        (self.base_len, self.itemsize) = (self.base_len * self.itemsize, number(arguments));
                        self.base_len /= self.itemsize;
                    }
                    check_view(&self.layout, view, self.base_len, &place);
                    "view"
                }
            };
            *tally.entry((name.to_owned(), answer.to_owned())).or_default() += 1;
        }
        let mut crc = Crc::new();
        for offset in self.layout.offsets() {
            crc.update(&block[offset * self.itemsize..][..self.itemsize]);
        }
        let like = self.layout.like();
        let [checksum, like_strides] = parts(end);
        assert_eq!(format!("{:08x}", crc.sum()), checksum, "{}", self.place);
        assert_eq!(like.strides(), numbers::<isize>(like_strides), "{}", self.place);
    }
}

fn check_view(layout: &Layout, view: &str, base_len: usize, place: &str) {
    let [shape, strides, offset, flags] = parts(view);
    assert_eq!(layout.shape(), numbers::<usize>(shape), "{place}");
    assert_eq!(layout.strides(), numbers::<isize>(strides), "{place}");
    if offset.is_empty() {
        // NumPy lets the pointer of an array without elements wander; ours stays in the block.
        assert!(layout.size() == 0 && layout.offset() <= base_len, "{place}");
    } else {
        assert_eq!(layout.offset(), number::<usize>(offset), "{place}");
    }
    let ours = [(layout.is_c_contiguous(), 'C'), (layout.is_f_contiguous(), 'F')];
    let ours: String = ours.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect();
    assert_eq!(ours, flags, "{place}");
}

/// Runs one step; `name` and `arguments` as the generator wrote them.
fn perform(layout: &Layout, itemsize: usize, name: &str, arguments: &str) -> Result<Layout, LayoutError> {
    let axes = numbers::<isize>(if arguments == "*" { "" } else { arguments.split('/').next().unwrap_or("") });
    let chosen = (arguments != "*").then_some(axes.as_slice());
    match name {
        "slice" => layout.slice(&arguments.split(',').filter(|item| !item.is_empty()).map(index).collect::<Vec<_>>()),
        "transpose" => layout.transpose(chosen),
        "squeeze" => layout.squeeze(chosen),
        "flip" => layout.flip(chosen),
        "expand_dims" => layout.expand_dims(&axes),
        "swap_axes" => layout.swap_axes(axes[0], axes[1]),
        "diagonal" => layout.diagonal(axes[0], axes[1], axes[2]),
        "broadcast_to" => layout.broadcast_to(&numbers(arguments)),
        "view_as" => layout.view_as(itemsize, number(arguments)),
        "move_axis" => layout.move_axis(&axes, &numbers(arguments.split_once('/').expect("two lists").1)),
        "split_at" | "array_split" | "split_equally" => piece(layout, name, arguments),
        _ => match name.split_at(name.len() - 1) {
            ("reshape", letter) => layout.reshape(&axes, order(letter)),
            ("ravel", letter) => layout.ravel(order(letter)),
            _ => panic!("unknown step {name}"),
        },
    }
}

fn piece(layout: &Layout, name: &str, arguments: &str) -> Result<Layout, LayoutError> {
    let mut arguments = arguments.split('/');
    let [cut, axis, piece] = [(); 3].map(|()| arguments.next().expect("a cut, an axis and a piece"));
    let pieces = match name {
        "split_at" => layout.split_at(&numbers(cut), number(axis)),
        "array_split" => layout.array_split(number(cut), number(axis)),
        _ => layout.split_equally(number(cut), number(axis)),
    };
    pieces.map(|mut pieces| pieces.swap_remove(number(piece)))
}

fn index(text: &str) -> Index {
    let mut ends = text.split(':').map(|end| (!end.is_empty()).then(|| number(end)));
    match text {
        "..." => Index::Ellipsis,
        "new" => Index::NewAxis,
        _ if text.contains(':') => {
            let [start, stop, step] = [(); 3].map(|()| ends.next().expect("two colons"));
            Index::Range { start, stop, step: step.unwrap_or(1) }
        }
        _ => Index::At(number(text)),
    }
}

fn order(letter: &str) -> Order {
    [Order::C, Order::F, Order::A, Order::K]
        .into_iter()
        .find(|order| order.to_string() == letter)
        .expect("C, F, A or K")
}

/// The name of the variant, or what was given instead of an error.
fn variant(result: &Result<Layout, LayoutError>) -> String {
    match result {
        Ok(view) => format!("{view:?}"),
        Err(error) => format!("{error:?}").split(' ').next().unwrap_or_default().to_owned(),
    }
}

fn parts<const N: usize>(field: &str) -> [&str; N] {
    field.split(';').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{N} parts wanted: {field}"))
}

fn numbers<T: FromStr<Err: Debug>>(list: &str) -> Vec<T> {
    list.split(',').filter(|item| !item.is_empty()).map(number).collect()
}

fn number<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"))
}
