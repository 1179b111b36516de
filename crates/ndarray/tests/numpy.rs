//! Replays 24,000 random programs of view operations and compares each step with NumPy's result.
//!
//! `numpy_programs.py` recorded the results and describes the format. Where python3 has NumPy, a second set of programs is
//! generated with another seed, which `VKARRAY_NUMPY_SEED` can set. With `VKARRAY_NUMPY=1` the test fails without NumPy.
//! Shapes, strides, offsets, flags, errors and the bytes that are read must agree, and each kind of step must occur often
//! enough.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Read;
use std::process::{Command, Output};
use std::str::FromStr;

use flate2::Crc;
use flate2::read::GzDecoder;
use vkarray_ndarray::{Index, Layout, LayoutError, Order};
use vkarray_tests::skips;

const N_PROGRAMS: usize = 24_000;

/// The seed of the second set of programs, which is not the seed of the recorded set.
const SEED: &str = "20261122";

/// A step, NumPy's result, and how often it must occur at least.
const FLOORS: &[(&str, &str, usize)] = &[
    ("slice", "view", 15_000),
    ("reshapeC", "view", 5_300),
    ("transpose", "view", 4_000),
    ("broadcast_to", "view", 3_500),
    ("reshapeF", "view", 3_400),
    ("flip", "view", 2_600),
    ("expand_dims", "view", 2_500),
    ("squeeze", "view", 2_500),
    ("view_as", "view", 2_100),
    ("swap_axes", "view", 1_800),
    ("reshapeA", "view", 1_700),
    ("diagonal", "view", 1_500),
    ("move_axis", "view", 1_400),
    ("array_split", "view", 1_000),
    ("split_at", "view", 950),
    ("split_equally", "view", 720),
    ("ravelK", "view", 380),
    ("ravelA", "view", 370),
    ("ravelC", "view", 310),
    ("ravelF", "view", 300),
    ("reshapeC", "copy", 1_000),
    ("reshapeF", "copy", 710),
    ("ravelF", "copy", 280),
    ("ravelC", "copy", 260),
    ("reshapeA", "copy", 220),
    ("ravelA", "copy", 210),
    ("ravelK", "copy", 180),
    ("view_as", "ViewItemSize", 1_300),
    ("view_as", "ViewStrided", 1_200),
    ("reshape", "ReshapeMismatch", 760),
    ("diagonal", "DiagonalRank", 490),
    ("slice", "IndexOutOfRange", 490),
    ("split_equally", "UnequalSplit", 300),
    ("slice", "TooManyIndices", 280),
    ("view_as", "ViewZeroDim", 260),
    ("swap_axes", "AxisOutOfRange", 250),
    ("reshape", "RepeatedUnknown", 170),
    ("broadcast_to", "BroadcastMismatch", 140),
    ("squeeze", "SqueezeLength", 140),
    ("array_split", "AxisOutOfRange", 110),
    ("reshape", "OrderNotAllowed", 100),
    ("split_equally", "AxisOutOfRange", 97),
    ("split_at", "AxisOutOfRange", 85),
    ("slice", "ZeroStep", 74),
    ("move_axis", "AxisOutOfRange", 55),
    ("slice", "RepeatedEllipsis", 53),
    ("transpose", "AxisCount", 50),
    ("reshape", "RankTooLarge", 29),
    ("move_axis", "RepeatedAxis", 25),
    ("flip", "AxisOutOfRange", 24),
    ("view_as", "ViewMisaligned", 21),
    ("expand_dims", "RankTooLarge", 18),
    ("expand_dims", "RepeatedAxis", 14),
    ("broadcast_to", "RankTooLarge", 14),
    ("diagonal", "AxisOutOfRange", 11),
    ("slice", "RankTooLarge", 11),
    ("transpose", "RepeatedAxis", 9),
    ("flip", "RepeatedAxis", 9),
    ("transpose", "AxisOutOfRange", 8),
    ("move_axis", "AxisCount", 7),
    ("expand_dims", "AxisOutOfRange", 6),
    ("diagonal", "RepeatedAxis", 6),
    ("array_split", "ZeroSplit", 4),
    ("split_equally", "ZeroSplit", 4),
    ("squeeze", "AxisOutOfRange", 1),
    ("squeeze", "RepeatedAxis", 1),
];

#[test]
fn recorded_programs_end_as_in_numpy() {
    let mut programs = String::new();
    GzDecoder::new(include_bytes!("numpy_programs.txt.gz").as_slice()).read_to_string(&mut programs).unwrap();
    replay(&programs);
}

#[test]
fn fresh_programs_end_as_in_numpy() {
    if let Err(missing) = numpy_at_hand() {
        let is_required = vkarray_driver::environment::switch("VKARRAY_NUMPY").unwrap().unwrap_or(false);
        assert!(!is_required, "VKARRAY_NUMPY is on, but {missing}");
        eprintln!("{missing}");
        return skips::skip("any", "fresh_programs_end_as_in_numpy", "NumPy 2 for python3").unwrap();
    }
    let seed = std::env::var("VKARRAY_NUMPY_SEED").unwrap_or_else(|_| SEED.to_owned());
    eprintln!("seed {seed}");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/numpy_programs.py");
    let output = python(&["-W", "ignore", script, &seed, &N_PROGRAMS.to_string()]).expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    replay(&String::from_utf8(output.stdout).unwrap());
}

/// Whether python3 has NumPy 2 or later, whose error messages are known here.
fn numpy_at_hand() -> Result<(), String> {
    let output =
        python(&["-c", "import numpy; print(numpy.__version__)"]).map_err(|error| format!("python3: {error}"))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major: usize = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    if major >= 2 { Ok(()) } else { Err(format!("python3 has no NumPy of version 2: it has {version:?}")) }
}

fn python(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("python3").args(arguments).output()
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

/// A program that is being replayed.
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
        let fields = std::mem::take(&mut self.fields);
        let (end, steps) = fields[1..].split_last().expect("a program has an end");
        for step in steps {
            let (operation, expected) = step.split_once('>').expect("a step has an answer");
            let [name, arguments] = operation.split_once(' ').map_or([operation, ""], |(name, rest)| [name, rest]);
            let place = format!("at {step}\nof {}", self.place);
            let result = perform(&self.layout, self.itemsize, name, arguments);
            let answer = match expected.split_once(';') {
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
        // In NumPy the pointer of an array without elements may point outside the block; here the offset stays inside.
        assert!(layout.size() == 0 && layout.offset() <= base_len, "{place}");
    } else {
        assert_eq!(layout.offset(), number::<usize>(offset), "{place}");
    }
    let ours = [(layout.is_c_contiguous(), 'C'), (layout.is_f_contiguous(), 'F')];
    let ours: String = ours.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect();
    assert_eq!(ours, flags, "{place}");
}

/// Runs one step. `name` and `arguments` are as the generator wrote them.
fn perform(layout: &Layout, itemsize: usize, name: &str, arguments: &str) -> Result<Layout, LayoutError> {
    if name == "slice" {
        let items = arguments.split(',').filter(|item| !item.is_empty());
        return layout.slice(&items.map(index).collect::<Vec<_>>());
    }
    let axes = numbers::<isize>(if arguments == "*" { "" } else { arguments.split('/').next().unwrap_or("") });
    let chosen = (arguments != "*").then_some(axes.as_slice());
    match name {
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

/// The name of the error's variant, or the layout if there is no error.
fn variant(result: &Result<Layout, LayoutError>) -> String {
    /// The name of the error's variant, if it is one of the listed variants.
    macro_rules! name {
        ($error:expr, $($variant:ident)*) => {
            match $error { $(LayoutError::$variant { .. } => stringify!($variant),)* _ => "another error" }
        };
    }
    match result {
        Ok(view) => format!("{view:?}"),
        Err(error) => name!(
            error,
            RankTooLarge Overflow StrideCount OutOfBounds ShapeMismatch ReshapeMismatch RepeatedUnknown
            NegativeLength NeedsCopy OrderNotAllowed AxisOutOfRange RepeatedAxis AxisCount SqueezeLength
            BroadcastMismatch NoCommonShape IndexOutOfRange TooManyIndices TooFewIndices RepeatedEllipsis
            ZeroStep NotOneDimensional ZeroSplit UnequalSplit DiagonalRank ZeroItemSize ViewZeroDim ViewStrided
            ViewItemSize ViewMisaligned FieldOutOfBounds FieldMisaligned OutsideMemory
        )
        .to_owned(),
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
