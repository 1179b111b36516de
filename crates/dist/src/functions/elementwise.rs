//! Expressions on arrays of one decomposition. Each rank evaluates them on its part.

use vkarray::Element;
use vkarray::array::{Expr, Operand};
use vkarray::prelude::*;

use crate::array::DistArray;
use crate::decomposition::Decomposition;
use crate::error::DistError;

/// Arrays for [`map`] and [`DistArray::assign`]: one, or a tuple of up to four, of any element types.
pub trait Operands<'t> {
    /// The arrays' parts as expressions: one, or a tuple.
    type Exprs;

    /// An array without elements' values, in the first array's decomposition.
    #[doc(hidden)]
    fn like_first<U: Element>(&self) -> Result<DistArray<'t, U>, DistError>;

    /// The parts of this rank, which broadcast to its part of an array of this decomposition.
    #[doc(hidden)]
    fn exprs(&self, divided: &Decomposition) -> Result<Self::Exprs, DistError>;
}

impl<'t, T: Element> Operands<'t> for &DistArray<'t, T> {
    type Exprs = Expr<T>;

    fn like_first<U: Element>(&self) -> Result<DistArray<'t, U>, DistError> {
        DistArray::zeros(self.local().context(), self.transport(), self.decomposition())
    }

    fn exprs(&self, divided: &Decomposition) -> Result<Expr<T>, DistError> {
        let (own, grids) = (self.decomposition(), [self.decomposition().grid(), divided.grid()]);
        let shapes = [own.shape(), divided.shape()];
        let broadcasts = shapes[0].iter().zip(shapes[1]).all(|(own, len)| own == len || *own == 1);
        if grids[0] != grids[1] || !broadcasts {
            let [operand, result] = [own, divided].map(|divided| Box::new(divided.clone()));
            return Err(DistError::Operands { operand, result });
        }
        Ok(if shapes[0] == shapes[1] { self.interior().expr() } else { self.beside(divided)?.expr() })
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => {$(
        impl<'t, $($name: Operands<'t>),+> Operands<'t> for ($($name,)+) {
            type Exprs = ($($name::Exprs,)+);

            fn like_first<U: Element>(&self) -> Result<DistArray<'t, U>, DistError> {
                self.0.like_first()
            }

            #[expect(non_snake_case, reason = "each variable has the name of its type")]
            fn exprs(&self, divided: &Decomposition) -> Result<Self::Exprs, DistError> {
                let ($($name,)+) = self;
                Ok(($($name.exprs(divided)?,)+))
            }
        }
    )*};
}

tuples! { A B; A B C; A B C D; }

/// An array whose elements are an expression of the elements of other arrays, computed in one pass. It has the
/// decomposition of the first one; its ghost zones are zeros.
///
/// The other arrays have the same shape and grid of ranks. Ghost zones and borders may differ. An array with an axis of
/// length one broadcasts along this axis, which takes a message to each rank that lacks its elements; otherwise no
/// message is sent, and the call returns at once.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray_dist::{Decomposition, DistArray, DistError, ThreadRank, map};
///
/// let ctx = Context::open_default()?;
/// let parts = Decomposition::over([7], 3)?;
/// let sums = ThreadRank::run(3, |rank| {
///     let x = DistArray::from_fn(&ctx, rank, &parts, |at| at[0] as f32)?;
///     let y = map(&x, |x| x.square())?;
///     map((&x, &y), |(x, y)| &y - x * 2.0)?.sum()
/// });
/// assert!(sums.into_iter().all(|sum| sum.is_ok_and(|sum| sum == 91.0 - 42.0)));
/// # anyhow::Ok(())
/// ```
///
/// # Errors
/// Two arrays are divided in different ways; the errors of [`DistArray::full`] and of [`Evaluate::assign_to`].
pub fn map<'t, O: Operands<'t>, R: Operand>(
    operands: O,
    expression: impl FnOnce(O::Exprs) -> R,
) -> Result<DistArray<'t, R::Item>, DistError> {
    let result = operands.like_first()?;
    result.assign(operands, expression)?;
    Ok(result)
}

impl<'t, T: Element> DistArray<'t, T> {
    /// Writes an expression of the elements of arrays to this array, which may be one of them. Ghost zones keep their
    /// elements. The rules are those of [`map`], with this array's decomposition in place of the first one's.
    ///
    /// # Errors
    /// The errors of [`map`].
    pub fn assign<O: Operands<'t>, R: Operand<Item = T>>(
        &self,
        operands: O,
        expression: impl FnOnce(O::Exprs) -> R,
    ) -> Result<(), DistError> {
        let expression = expression(operands.exprs(self.decomposition())?);
        Ok(expression.assign_to(&self.interior())?)
    }
}
