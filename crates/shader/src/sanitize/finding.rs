//! What the sanitizer found: [`Finding`], read from the words of a report.
//!
//! The codes and the order of the words are those of `prelude.rs`.

use std::fmt;

use super::prelude::code;
use super::site::{MemorySpan, Site, Subject};
use super::{REPORT_WORDS, Sanitized};

/// A fault of a kernel, seen while it ran: the first of its dispatch.
///
/// ```
/// use vkarray_shader::{Fault, Finding};
///
/// let finding = Finding {
///     kernel: "blur".to_owned(),
///     source_name: "blur.wgsl".to_owned(),
///     line: 12,
///     column: 9,
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
    /// The source's name.
    pub source_name: String,
    /// Line of the shader's text, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The global id of the invocation that ran into it.
    pub invocation: [u32; 3],
    /// What is wrong.
    pub fault: Fault,
}

/// What a kernel did wrong.
///
/// ```
/// use vkarray_shader::{Fault, OtherAccess};
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
    /// Two invocations use the same shared memory, one writes it, and no `workgroupBarrier` stands between.
    Race {
        /// The variable, with the element's index or the byte.
        variable: String,
        /// Whether the invocation of the finding writes it; else it reads.
        is_write: bool,
        /// The other use.
        other: OtherAccess,
    },
    /// Two invocations of a workgroup use the same element of a buffer, one writes it, and no `storageBarrier` stands
    /// between.
    BufferRace {
        /// The buffer, with the element's index or the byte.
        variable: String,
        /// Whether the invocation of the finding writes it; else it reads.
        is_write: bool,
        /// The other use.
        other: OtherAccess,
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
        let Self { kernel, source_name, line, column, invocation: [x, y, z], fault } = self;
        write!(f, "{source_name}:{line}:{column}: kernel `{kernel}`: {fault} (invocation {x}, {y}, {z})")
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
            Self::Uninitialised { variable } => {
                write!(f, "`{variable}` in shared memory is read, and nothing was written there")
            }
            Self::Race { variable, is_write, other } => {
                let this = if *is_write { "written" } else { "read" };
                write!(f, "`{variable}` in shared memory is {this} here and {other}, with no barrier in between")
            }
            Self::BufferRace { variable, is_write, other } => {
                let this = if *is_write { "written" } else { "read" };
                write!(f, "`{variable}` is {this} here and {other}, with no storageBarrier in between")
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
        let nowhere = Site { line: 0, column: 0, subject: Subject::Shared };
        let site = self.sites.get(site as usize).unwrap_or(&nowhere);
        Some(Finding {
            kernel: kernel.to_owned(),
            source_name: source_name.to_owned(),
            line: site.line,
            column: site.column,
            invocation: [x, y, z],
            fault: self.fault(site, what, [a, b]),
        })
    }

    fn fault(&self, site: &Site, what: u32, [a, b]: [u32; 2]) -> Fault {
        match (what, &site.subject) {
            (code::OUT_OF_RANGE, Subject::Index { array, is_signed }) => {
                let index = if *is_signed { i64::from(a.cast_signed()) } else { i64::from(a) };
                Fault::OutOfRange { array: array.clone(), index, length: b }
            }
            (code::DIVISION_BY_ZERO, Subject::Division { is_signed, width }) => {
                Fault::DivisionByZero { dividend: dividend([a, b], *is_signed, *width) }
            }
            (code::DIVISION_OVERFLOW, Subject::Division { is_signed, width }) => {
                Fault::DivisionOverflow { dividend: dividend([a, b], *is_signed, *width) }
            }
            (code::DIVERGENT_BARRIER, _) => Fault::DivergentBarrier { arrived: a, expected: b },
            (code::RACE_ON_READ | code::RACE_ON_WRITE, Subject::Buffer(buffer)) => {
                let (variable, is_write) = (element(std::slice::from_ref(buffer), a), what == code::RACE_ON_WRITE);
                Fault::BufferRace { variable, is_write, other: other_access(b) }
            }
            (code::RACE_ON_READ | code::RACE_ON_WRITE, _) => {
                let is_write = what == code::RACE_ON_WRITE;
                Fault::Race { variable: element(&self.shared, a), is_write, other: other_access(b) }
            }
            _ => Fault::Uninitialised { variable: element(&self.shared, a) },
        }
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

/// Names the shared memory at that byte.
fn element(shared: &[MemorySpan], at: u32) -> String {
    let Some(span) = shared.iter().find(|span| (span.start..span.start + span.bytes).contains(&at)) else {
        return format!("byte {at}");
    };
    let offset = at - span.start;
    match span.stride {
        Some(stride) => format!("{}[{}]", span.name, offset / stride),
        None if offset == 0 => span.name.clone(),
        None => format!("{} at byte {offset}", span.name),
    }
}
