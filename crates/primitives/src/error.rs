//! [`Error`]: why an operation of this crate is refused. It converts to the error of the array crate, which every function
//! returns, so that a program has one type of errors.

/// Why an operation on arrays is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Shapes that the operation does not take.
    #[error("{operation} does not take shapes {first:?} and {second:?}")]
    Shapes {
        /// The operation, by its method name.
        operation: &'static str,
        /// The shape of the first operand.
        first: Vec<usize>,
        /// The shape of the second operand.
        second: Vec<usize>,
    },
}

impl From<Error> for vkarray_ndarray::Error {
    fn from(error: Error) -> Self {
        Self::Operation(Box::new(error))
    }
}
