//! [`RangeProblem`]: why a range of numbers has no length.

/// Why a range is refused.
///
/// ```
/// use vkarray::array::RangeProblem;
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let refused = ctx.arange(0, 5, 0).unwrap_err();
/// assert!(matches!(refused, Error::Range { problem: RangeProblem::ZeroStep, .. }));
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RangeProblem {
    /// The step is zero.
    ZeroStep,
    /// The start, the stop, the step or the length is not a number.
    NotANumber,
    /// The length is infinite, or does not fit `isize`.
    TooLong,
}

vkarray_driver::display_texts!(RangeProblem {
    ZeroStep: "the step is zero",
    NotANumber: "its length is not a number",
    TooLong: "its length is too large",
});
