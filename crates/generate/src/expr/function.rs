//! [`Function`]: statements of a program in WGSL as an operation of expressions.

use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_shader::DType;

/// Statements in WGSL that compute results from one value of each argument. Plain data: nothing is parsed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The statements, which assign a value to each result; or an expression, which has one result, its value.
    pub text: Arc<str>,
    /// Whether the text is an expression.
    pub is_expression: bool,
    /// The names of the arguments, in the order in which values are given.
    pub inputs: Arc<[String]>,
    /// The names of the results.
    pub outputs: Arc<[String]>,
    /// The types of the results, in order.
    pub types: SmallVec<[DType; 2]>,
}
