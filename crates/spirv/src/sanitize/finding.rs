//! What the sanitizer found: [`Finding`], read from the words of a report.
//!
//! The codes and the order of the words are those of `prelude.rs`.

use std::fmt;

use super::prelude::code;
use super::site::{MemorySpan, Site, SitePlace, Subject};
use super::{REPORT_WORDS, Sanitized};

/// A fault of a kernel, seen while it ran: the first of its dispatch.
///
/// ```
/// use vkarray_spirv::{Fault, Finding};
///
/// let finding = Finding {
///     kernel: "blur".to_owned(),
///     source_name: "blur.wgsl".to_owned(),
///     line: 12,
///     column: 9,
///     word: None,
///     invocation: [512, 0, 0],
///     fault: Fault::OutOfRange { array: "pixels".to_owned(), index: 512, length: 512 },
/// };
/// assert_eq!(
///     finding.to_string(),
///     "blur.wgsl:12:9: kernel `blur`: index 512 is out of range of `pixels`, which has 512 elements (invocation 512, 0, 0)"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The entry point.
    pub kernel: String,
    /// The name of the source, or of the file that it includes.
    pub source_name: String,
    /// Line of the shader's text, from 1; 0 if SPIR-V names none.
    pub line: u32,
    /// Column in bytes, from 1; 0 if the compiler names none, as that of GLSL.
    pub column: u32,
    /// The word of the module at which the instruction begins, if SPIR-V names no line.
    pub word: Option<usize>,
    /// The global id of the invocation that ran into it.
    pub invocation: [u32; 3],
    /// What is wrong.
    pub fault: Fault,
}

/// What a kernel did wrong.
///
/// ```
/// use vkarray_spirv::{Fault, OtherAccess};
///
/// let other = OtherAccess::WrittenBy(7);
/// let fault = Fault::Race { variable: "tile[3]".to_owned(), is_write: false, other };
/// assert!(fault.to_string().starts_with("`tile[3]` in shared memory is read here and"));
/// assert_eq!(Fault::DivisionByZero { dividend: 5 }.to_string(), "5 is divided by zero");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An index is not less than the number of elements.
    OutOfRange {
        /// What is indexed, as the shader calls it.
        array: String,
        /// The index.
        index: i64,
        /// How many elements there are.
        length: u32,
    },
    /// An integer is divided by zero.
    DivisionByZero {
        /// What is divided.
        dividend: i128,
    },
    /// The least integer of its type is divided by -1, and the quotient is no integer of that type.
    DivisionOverflow {
        /// What is divided.
        dividend: i128,
    },
    /// Shared memory is read that no invocation has written.
    Uninitialised {
        /// The variable, with the element's index or the byte.
        variable: String,
    },
    /// An integer is shifted by as many bits as it has, or more.
    ShiftTooFar {
        /// By how many.
        amount: i64,
        /// How many it has.
        bits: u32,
    },
    /// The loops of an invocation have had too many rounds, the last of them here.
    EndlessLoop {
        /// How many.
        rounds: u32,
    },
    /// Two invocations use the same shared memory, one writes it, and no barrier of shared memory stands between.
    Race {
        /// The variable, with the element's index or the byte.
        variable: String,
        /// Whether the invocation of the finding writes it; else it reads.
        is_write: bool,
        /// The other use.
        other: OtherAccess,
    },
    /// Two invocations of a workgroup use the same element of a buffer, one writes it, and no barrier of buffers stands
    /// between.
    BufferRace {
        /// The buffer, with the element's index or the byte.
        variable: String,
        /// Whether the invocation of the finding writes it; else it reads.
        is_write: bool,
        /// The other use.
        other: OtherAccess,
    },
    /// Two workgroups of one dispatch use the same element of a buffer, and one writes it.
    GroupRace {
        /// The buffer, with the element's index or the byte.
        variable: String,
        /// Whether the invocation of the finding writes it; else it reads.
        is_write: bool,
        /// Whether the other workgroup wrote it; else it read.
        other_wrote: bool,
        /// The other workgroup, by its number in the dispatch. `None` for several that read.
        other: Option<u32>,
    },
    /// Not all invocations of a workgroup come to a barrier.
    DivergentBarrier {
        /// How many came to a barrier at that time. All of them, if they came to different ones.
        arrived: u32,
        /// How many there are.
        expected: u32,
    },
}

/// The other side of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherAccess {
    /// An invocation, by its index in the workgroup, wrote.
    WrittenBy(u32),
    /// An invocation, by its index in the workgroup, read.
    ReadBy(u32),
    /// Several invocations read.
    ReadBySeveral,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, source_name, line, column, word, invocation: [x, y, z], fault } = self;
        match (word, column) {
            (Some(word), _) => write!(f, "{source_name}: word {word}: ")?,
            (None, 0) => write!(f, "{source_name}:{line}: ")?,
            (None, column) => write!(f, "{source_name}:{line}:{column}: ")?,
        }
        write!(f, "kernel `{kernel}`: {fault} (invocation {x}, {y}, {z})")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { array, index, length } => {
                write!(f, "index {index} is out of range of `{array}`, which has {length} elements")
            }
            Self::DivisionByZero { dividend } => write!(f, "{dividend} is divided by zero"),
            Self::DivisionOverflow { dividend } => write!(f, "{dividend} divided by -1 overflows"),
            Self::ShiftTooFar { amount, bits } => write!(f, "an integer of {bits} bits is shifted by {amount}"),
            Self::EndlessLoop { rounds } => {
                write!(f, "this loop does not end: the loops of the invocation have had {rounds} rounds")
            }
            Self::Uninitialised { variable } => {
                write!(f, "`{variable}` in shared memory is read, and nothing was written there")
            }
            Self::Race { variable, is_write, other } => {
                let this = if *is_write { "written" } else { "read" };
                write!(f, "`{variable}` in shared memory is {this} here and {other}, with no barrier in between")
            }
            Self::BufferRace { variable, is_write, other } => {
                let this = if *is_write { "written" } else { "read" };
                write!(f, "`{variable}` is {this} here and {other}, with no barrier of buffers in between")
            }
            Self::GroupRace { variable, is_write, other_wrote, other } => {
                let this = if *is_write { "written" } else { "read" };
                let that = if *other_wrote { "written" } else { "read" };
                let other = other.map_or_else(|| "other workgroups".to_owned(), |other| format!("workgroup {other}"));
                write!(f, "`{variable}` is {this} here and {that} by {other}, and nothing orders the two")
            }
            Self::DivergentBarrier { arrived, expected } if arrived == expected => {
                write!(f, "the {expected} invocations of the workgroup wait at different barriers")
            }
            Self::DivergentBarrier { arrived, expected } => {
                write!(f, "{arrived} of the {expected} invocations of the workgroup come to this barrier")
            }
        }
    }
}

impl fmt::Display for OtherAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrittenBy(index) => write!(f, "written by invocation {index} of the workgroup"),
            Self::ReadBy(index) => write!(f, "read by invocation {index} of the workgroup"),
            Self::ReadBySeveral => f.write_str("read by other invocations of the workgroup"),
        }
    }
}

impl Sanitized {
    /// Reads a report: `None` if nothing was found.
    ///
    /// A report that says what no report of this kernel says was overwritten, which the checks cannot see; it counts as a
    /// finding of what can be read of it, at line 0 if there is no such place.
    #[doc(hidden)]
    pub fn read(&self, kernel: &str, source_name: &str, report: &[u32; REPORT_WORDS]) -> Option<Finding> {
        let findings = report.as_chunks::<8>().0;
        let &[_, site, what, a, b, x, y, z] = findings.iter().find(|finding| finding[0] != 0)?;
        let place = SitePlace::Line { file: None, line: 0, column: 0 };
        let span = MemorySpan { name: String::new(), start: 0, bytes: 0, stride: None };
        let nowhere = Site { place, subject: Subject::Shared(span) };
        let site = self.sites.get(site as usize).unwrap_or(&nowhere);
        let (file, line, column, word) = match &site.place {
            SitePlace::Line { file, line, column } => (file.as_deref(), *line, *column, None),
            SitePlace::Word(word) => (None, 0, 0, Some(*word)),
        };
        Some(Finding {
            kernel: kernel.to_owned(),
            source_name: file.unwrap_or(source_name).to_owned(),
            line,
            column,
            word,
            invocation: [x, y, z],
            fault: fault(site, what, [a, b]),
        })
    }
}

fn fault(site: &Site, what: u32, [a, b]: [u32; 2]) -> Fault {
    let signed = |is_signed: bool| if is_signed { i64::from(a.cast_signed()) } else { i64::from(a) };
    match (what, &site.subject) {
        (code::OUT_OF_RANGE, Subject::Index { array, is_signed }) => {
            Fault::OutOfRange { array: array.clone(), index: signed(*is_signed), length: b }
        }
        (code::DIVISION_BY_ZERO, Subject::Division { is_signed, width }) => {
            Fault::DivisionByZero { dividend: dividend([a, b], *is_signed, *width) }
        }
        (code::DIVISION_OVERFLOW, Subject::Division { is_signed, width }) => {
            Fault::DivisionOverflow { dividend: dividend([a, b], *is_signed, *width) }
        }
        (code::SHIFT_TOO_FAR, Subject::Shift { is_signed }) => {
            Fault::ShiftTooFar { amount: signed(*is_signed), bits: b }
        }
        (code::ENDLESS_LOOP, _) => Fault::EndlessLoop { rounds: a },
        (code::DIVERGENT_BARRIER, _) => Fault::DivergentBarrier { arrived: a, expected: b },
        (code::RACE_ON_READ | code::RACE_ON_WRITE, Subject::Buffer(buffer)) => {
            let is_write = what == code::RACE_ON_WRITE;
            Fault::BufferRace { variable: element(buffer, a), is_write, other: other_access(b) }
        }
        (code::GROUP_READS | code::GROUP_WRITES | code::GROUP_WRITES_READ, Subject::Buffer(buffer)) => {
            Fault::GroupRace {
                variable: element(buffer, a),
                is_write: what != code::GROUP_READS,
                other_wrote: what != code::GROUP_WRITES_READ,
                other: (b != code::SEVERAL).then(|| b.wrapping_sub(1)),
            }
        }
        (code::RACE_ON_READ | code::RACE_ON_WRITE, Subject::Shared(span)) => {
            let is_write = what == code::RACE_ON_WRITE;
            Fault::Race { variable: element(span, a), is_write, other: other_access(b) }
        }
        (_, Subject::Shared(span)) => Fault::Uninitialised { variable: element(span, a) },
        _ => Fault::Uninitialised { variable: format!("byte {a}") },
    }
}

/// The number whose bits are in the two words, the low one first.
fn dividend([low, high]: [u32; 2], is_signed: bool, width: u8) -> i128 {
    let wide = u64::from(high) << 32 | u64::from(low);
    match (is_signed, width) {
        (true, 8) => i128::from(wide.cast_signed()),
        (true, _) => i128::from(low.cast_signed()),
        (false, 8) => i128::from(wide),
        (false, _) => i128::from(low),
    }
}

/// The use that a word of the shadow memory notes.
fn other_access(note: u32) -> OtherAccess {
    let index = note & code::INVOCATION;
    match note >> code::KIND_SHIFT & 3 {
        code::WRITTEN => OtherAccess::WrittenBy(index),
        code::READ => OtherAccess::ReadBy(index),
        _ => OtherAccess::ReadBySeveral,
    }
}

/// Names the memory at that byte.
fn element(span: &MemorySpan, at: u32) -> String {
    let Some(offset) = at.checked_sub(span.start).filter(|&offset| offset < span.bytes) else {
        return format!("byte {at}");
    };
    match span.stride {
        Some(stride) => format!("{}[{}]", span.name, offset / stride.max(1)),
        None if offset == 0 => span.name.clone(),
        None => format!("{} at byte {offset}", span.name),
    }
}
