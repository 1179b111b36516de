//! A place in the shader that is checked, and where variables lie: what turns the numbers of a report into names.
//!
//! Made by `rewrite.rs`, `shared.rs` and `buffers.rs`, read by `finding.rs`.

use serde::{Deserialize, Serialize};

/// A checked place. The report names it by its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Line of the shader's text, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// What is checked there.
    pub subject: Subject,
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
    /// A read or write of shared memory.
    Shared,
    /// A read or write of this buffer.
    Buffer(MemorySpan),
    /// A barrier.
    Barrier,
}

/// Where a shared variable lies in the checks' numbering of bytes; a buffer, which is numbered by itself, starts at 0.
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
