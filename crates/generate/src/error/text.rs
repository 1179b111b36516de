//! [`TextFault`]: where a text in WGSL is not valid.

use std::fmt;

/// Where a text in WGSL is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFault {
    /// The line of the text, from 1 on.
    pub line: usize,
    /// The character of the line, from 1 on.
    pub column: usize,
    /// What is wrong at this line and column.
    pub reason: String,
    /// The arguments and results, each with its type: `x: f32`.
    pub types: Vec<String>,
    /// The text of the line.
    pub source_line: String,
}

impl TextFault {
    /// The line and the column.
    pub fn place(&self) -> (usize, usize) {
        (self.line, self.column)
    }
}

/// Prints the message and the line, with a mark below the character. Of a line of more than 120 characters, the part
/// around the character is printed.
impl fmt::Display for TextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, reason, types, source_line } = self;
        write!(f, "line {line}, column {column} of the text, with {}: {reason}", types.join(", "))?;
        let first = column.saturating_sub(80);
        let shown: String = source_line.chars().skip(first).take(120).collect();
        write!(f, "\n    {shown}\n    {:>1$}", '^', column - first)
    }
}

impl std::error::Error for TextFault {}
