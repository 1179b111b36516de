//! [`ExprError`]: why an expression has no value.

mod text;

use std::fmt;

use vkarray_layout::tuple_text;
use vkarray_shader::DType;

pub use text::TextFault;

/// Why an expression is refused. `operation` is the name of the operation in the array API standard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum ExprError {
    /// Operands whose shapes do not broadcast to one.
    #[error("{operation} has operands without a common shape: {}", listed(operands))]
    NoCommonShape { operation: &'static str, operands: Vec<OperandShape> },
    /// An expression of numbers alone, which belongs to no device.
    #[error("an expression without an array has no device to be computed on")]
    NoArray,
    /// An operation that is not defined for the element type.
    #[error("{operation} is not defined for elements of {dtype}")]
    NotDefined { operation: &'static str, dtype: DType },
    /// A function that does not exist, or not with this number of operands.
    #[error("there is no elementwise function `{operation}` of {operands} operands")]
    NoFunction { operation: String, operands: usize },
    /// Operands whose types have no common type.
    #[error("{operation}: {} and {} have no common type; convert one of them", dtypes[0], dtypes[1])]
    NoCommonType { operation: &'static str, dtypes: [DType; 2] },
    /// More arrays than one kernel may read and write.
    #[error(
        "an expression reads and writes {given} arrays, more than the {limit} that a kernel may have on this device; evaluate a part of it first"
    )]
    TooManyArrays { given: usize, limit: usize },
    /// More numbers of the expression, and lengths and strides of its arrays, than a kernel's parameters hold.
    #[error(
        "the parameters of {arrays} arrays and {numbers} numbers take {bytes} bytes, more than the {limit} that a kernel has for them on this device; evaluate a part of the expression first"
    )]
    TooManyParameters { arrays: usize, numbers: usize, bytes: usize, limit: usize },
    /// More operations inside each other than an expression may have.
    #[error("an expression has more than {limit} operations inside each other; evaluate a part of it first")]
    TooDeep { limit: u32 },
    /// More operations than a kernel may have.
    #[error("an expression has more than {limit} operations; evaluate a part of it first")]
    TooLong { limit: usize },
    /// More iterations of the loops of its operations than every driver allows an invocation.
    #[error(
        "an expression may go {rounds} times round the loops of its operations, more than the {limit} that drivers allow; evaluate a part of it first"
    )]
    TooManyRounds { rounds: u64, limit: u64 },
    /// A target that shares memory with an array that the same step reads elsewhere, or with another target.
    #[error("{target} shares memory with {other}, so they cannot be written and read in one step")]
    SharedMemory { target: OperandShape, other: OperandShape },
    /// A target of another shape than the expression.
    #[error("an expression of shape {} does not fill {target}", tuple_text(shape))]
    TargetShape { shape: Vec<usize>, target: OperandShape },
}

/// An operand in a message: its label, if it is an array that has one, its element type and its shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperandShape {
    /// The label of the array.
    pub label: Option<String>,
    /// The type of its elements.
    pub dtype: DType,
    /// The shape of the operand.
    pub shape: Vec<usize>,
}

impl fmt::Display for OperandShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = &self.label {
            write!(f, "`{label}` of ")?;
        }
        write!(f, "{} {}", self.dtype, tuple_text(&self.shape))
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(operands: &[OperandShape]) -> String {
    let words: Vec<_> = operands.iter().map(ToString::to_string).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
