//! [`Error`]: why an operation of this crate is refused. Functions of this crate return the error of the array crate, to which this error converts, so that a program has one type of errors.

use std::fmt;

use vkarray_kernel::tuple_text;

/// Why an operation on arrays is refused. `operation` is the name of its method or function.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum Error {
    /// Shapes that the operation does not take.
    #[error("{operation} does not take shapes {} and {}", tuple_text(first), tuple_text(second))]
    Shapes { operation: &'static str, first: Vec<usize>, second: Vec<usize> },
    /// Shapes whose lengths along the axes that are added up differ.
    #[error(
        "{operation} does not take shapes {} and {}: axis {} of the first has length {}, and axis {} of the second {}",
        tuple_text(first), tuple_text(second), axes[0], first[axes[0]], axes[1], second[axes[1]]
    )]
    Lengths { operation: &'static str, first: Vec<usize>, second: Vec<usize>, axes: [usize; 2] },
    /// An index outside an axis.
    #[error("{operation}: index {index} at position {position} is out of range for an axis of length {length}")]
    IndexOutOfRange { operation: &'static str, index: i128, position: usize, length: usize },
    /// A quantile that is not between the least and the largest element.
    #[error("a quantile at {q} is asked for, which is not between 0 and {most}")]
    Quantile { q: f64, most: f64 },
    /// More or fewer values than a mask selects elements.
    #[error("put_mask: {values} values are given, and the mask selects {places} elements")]
    MaskValues { values: usize, places: usize },
    /// An operation that takes elements from an axis, or from a list of values, without elements.
    #[error("{operation}: {indices} elements are asked for, and there are none to take")]
    EmptyAxis { operation: &'static str, indices: usize },
    /// A range that has no numbers.
    #[error("{operation}: there are no numbers from {start} to before {end}")]
    EmptyRange { operation: &'static str, start: String, end: String },
    /// Edges of bins that do not ascend, or are too few.
    #[error("histogram: {count} edges; at least 2 are needed, in ascending order and without NaN")]
    Edges { count: usize },
    /// No arrays where at least one is needed.
    #[error("{operation} needs at least one array")]
    NoArrays { operation: &'static str },
    /// More elements than one operation counts.
    #[error("{count} elements are more than the 2^32 - 1 that one operation counts")]
    TooManyElements { count: usize },
    /// The least element, the largest element or a position, among no elements.
    #[error("{operation} of no elements, along axes of shape {}, has no value", tuple_text(shape))]
    EmptyReduction { operation: &'static str, shape: Vec<usize> },
    /// A text in WGSL that is not valid, or is not valid for arguments of these types.
    #[error(transparent)]
    Text(Box<TextFault>),
    /// An argument that a text does not have.
    #[error("the text has no argument `{name}`; its arguments are {}", quoted(names))]
    UnknownArgument { name: String, names: Vec<String> },
    /// An argument with two values.
    #[error("argument `{name}` is given twice")]
    RepeatedArgument { name: String },
    /// An argument without a value.
    #[error("argument `{name}` has no value; the arguments are {}", quoted(names))]
    MissingArgument { name: String, names: Vec<String> },
    /// More or fewer types of results than a text has results.
    #[error("{given} results are asked for, and the text has {}", quoted(names))]
    ResultCount { given: usize, names: Vec<String> },
    /// An array that the operation binds as a whole and that is longer than what the device binds.
    #[error(
        "{operation} uses {nbytes} bytes of one array at once, more than the {limit} that the device binds; use parts of it"
    )]
    LongOperand { operation: &'static str, nbytes: u64, limit: u64 },
    /// An `argmin` or `argmax` over more elements than one launch takes. These reductions cannot be done in parts.
    #[error("a reduction that is one launch has {given} elements, more than {limit}; reduce its parts")]
    ManyElements { given: u64, limit: u64 },
}

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
    pub(crate) fn place(&self) -> (usize, usize) {
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

/// Names in a message: `x`, `y`.
fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl From<Error> for vkarray_ndarray::Error {
    fn from(error: Error) -> Self {
        Self::Operation(Box::new(error))
    }
}
