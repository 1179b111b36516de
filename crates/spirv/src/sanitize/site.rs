//! A place in the shader that is checked, and where variables lie: what turns the numbers of a report into names.
//!
//! Made by `rewrite.rs` and `pointers.rs`, read by `finding.rs`.

use serde::{Deserialize, Serialize};

/// A checked place. The report names it by its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Where it is.
    pub place: SitePlace,
    /// What is checked there.
    pub subject: Subject,
}

/// A place in a shader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SitePlace {
    /// In a text.
    Line {
        /// The text's name, if it is another than the shader's own.
        file: Option<String>,
        /// Line of the text, from 1.
        line: u32,
        /// Column in bytes, from 1; 0 if the compiler names none.
        column: u32,
    },
    /// In SPIR-V without lines: the word at which the instruction begins.
    Word(usize),
}

/// What is checked at a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Subject {
    /// An index into `array`.
    Index {
        /// As the shader calls it.
        array: String,
        /// Whether the index may be negative.
        is_signed: bool,
    },
    /// A quotient or remainder of integers.
    Division {
        /// Whether they may be negative.
        is_signed: bool,
        /// Bytes of each.
        width: u8,
    },
    /// A number of bits to shift by.
    Shift {
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// A read or write of this part of shared memory.
    Shared(MemorySpan),
    /// A read or write of this part of a buffer.
    Buffer(MemorySpan),
    /// A barrier.
    Barrier,
    /// A loop.
    Loop,
}

/// Memory with a name: the outermost array behind which an access lies, or else what is accessed. Bytes are numbered for
/// each buffer, and for shared memory as the checks have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySpan {
    /// Its name.
    pub name: String,
    /// Its first byte.
    pub start: u32,
    /// Its bytes.
    pub bytes: u32,
    /// Bytes from element to element, if it is an array.
    pub stride: Option<u32>,
}
