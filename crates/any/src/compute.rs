//! Elementwise functions by their names in the array API standard, on operands whose types are known at run time.

use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_driver::Stream;
use vkarray_generate::Op;
use vkarray_kernel::DType;
use vkarray_ndarray::internal::Node;
use vkarray_ndarray::{Error, Evaluate, Expr, ExprError, IntoExpr, Result};

use super::promote::{Category, promote};
use super::{AnyArray, AnyScalar, default_on, not_defined, with_any, with_type};

/// An operand of [`AnyArray::compute`].
#[derive(Debug, Clone, Copy)]
pub enum AnyOperand<'a> {
    /// An array.
    Array(&'a AnyArray),
    /// A number, which takes the type of the arrays beside it.
    Number(AnyScalar),
}

/// The type that the operands are converted to, and the type of the result, for operands of the common type `dtype`.
fn types(op: Op, dtype: DType) -> (DType, DType) {
    use Op::{
        Abs, Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Copysign, Cos, Cosh, Divide, Equal, Exp, Expm1, Greater,
        GreaterEqual, Hypot, Imag, Isfinite, Isinf, Isnan, Less, LessEqual, Log, Log1p, Log2, Log10, Logaddexp,
        LogicalAnd, LogicalNot, LogicalOr, LogicalXor, Nextafter, NotEqual, Real, Reciprocal, Signbit, Sin, Sinh, Sqrt,
        Tan, Tanh,
    };
    let as_float = match Category::of(dtype) {
        Some(Category::Bool | Category::Integer) => DType::F32,
        _ => dtype,
    };
    match op {
        LogicalAnd | LogicalOr | LogicalXor | LogicalNot => (DType::Bool, DType::Bool),
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => (dtype, DType::Bool),
        // Whether a number is finite is a question to integers too.
        Isfinite | Isinf | Isnan | Signbit => (as_float, DType::Bool),
        Divide | Atan2 | Hypot | Copysign | Nextafter | Logaddexp | Reciprocal | Sqrt | Exp | Expm1 | Log | Log1p
        | Log2 | Log10 | Sin | Cos | Tan | Asin | Acos | Atan | Sinh | Cosh | Tanh | Asinh | Acosh | Atanh => {
            (as_float, as_float)
        }
        Abs | Real | Imag => (dtype, dtype.scalar().unwrap_or(dtype)),
        _ => (dtype, dtype),
    }
}

/// The common type of the operands.
pub(super) fn common(operation: &'static str, operands: &[AnyOperand<'_>]) -> Result<DType> {
    let mut dtype = None;
    for array in operands.iter().filter_map(AnyOperand::array) {
        let (own, before) = (array.dtype(), dtype);
        dtype = Some(match before {
            None => own,
            Some(before) => promote(before, own).ok_or(ExprError::NoCommonType { operation, dtypes: [before, own] })?,
        });
    }
    let ctx = operands.iter().find_map(AnyOperand::array).map(AnyArray::context);
    let (Some(dtype), Some(ctx)) = (dtype, ctx) else { return Err(ExprError::NoArray.into()) };
    Ok(operands.iter().fold(dtype, |dtype, operand| match operand {
        AnyOperand::Number(number) if number.dtype_beside(dtype) != dtype => {
            default_on(ctx, number.dtype_beside(dtype))
        }
        _ => dtype,
    }))
}

impl<'a> AnyOperand<'a> {
    pub(super) fn array(&self) -> Option<&'a AnyArray> {
        match self {
            Self::Array(array) => Some(array),
            Self::Number(_) => None,
        }
    }

    /// The operand in a type.
    fn node(&self, dtype: DType) -> Result<Arc<Node>> {
        match self {
            Self::Array(array) => Ok(array.cast_node(dtype)),
            Self::Number(number) => with_type!(
                dtype,
                T => Ok(Arc::clone(Expr::scalar(number.value::<T>()?).node())),
                else Err(Error::ScalarRange { value: number.to_string(), dtype })
            ),
        }
    }
}

impl AnyArray {
    /// An elementwise function by its name in the [array API standard](https://data-apis.org/array-api/2025.12/), on one,
    /// two or (for `where`) three operands, as a new array. Returns at once. Shapes broadcast, and operands are converted
    /// to their common type ([`promote`]); a function that has fractions as results computes integers as `f32`.
    ///
    /// ```
    /// use vkarray::array::{AnyArray, AnyOperand};
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = AnyArray::from(ctx.slice_to_device(&[4_i32, 9])?);
    /// let root = AnyArray::compute("sqrt", &[AnyOperand::Array(&x)])?;
    /// assert_eq!(root.dtype(), DType::F32);
    /// let error = AnyArray::compute("root", &[AnyOperand::Array(&x)]).unwrap_err();
    /// assert_eq!(error.to_string(), "there is no elementwise function `root` of 1 operands");
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`] for a name or a number of operands that no function has, operands without a common type or
    /// shape, types that the function is not defined for, and numbers alone; [`Error::ScalarRange`]; and the errors of
    /// [`Evaluate::eval`].
    pub fn compute(operation: &str, operands: &[AnyOperand<'_>]) -> Result<Self> {
        let of_name = |op: &&Op| op.name() == operation && op.arity() == operands.len() && **op != Op::Cast;
        let Some(&op) = Op::ALL.iter().find(of_name) else {
            let (operation, operands) = (operation.to_owned(), operands.len());
            return Err(ExprError::NoFunction { operation, operands }.into());
        };
        let condition = usize::from(op == Op::Select);
        let (each, result) = types(op, common(op.name(), &operands[condition..])?);
        let mut args = SmallVec::new();
        for (i, operand) in operands.iter().enumerate() {
            args.push(operand.node(if i < condition { DType::Bool } else { each })?);
        }
        let mut arrays = operands.iter().filter_map(AnyOperand::array);
        let stream = arrays.find_map(|array| with_any!(array, array => array.into_expr().stream().cloned()));
        evaluated(Node::apply(op, result, args), stream)
    }

    /// The array as an operand in another type.
    fn cast_node(&self, dtype: DType) -> Arc<Node> {
        let own = with_any!(self, array => Arc::clone(array.into_expr().node()));
        if own.dtype() == dtype { own } else { Arc::new(Node::apply(Op::Cast, dtype, smallvec::smallvec![own])) }
    }

    /// The elements in another type, as a copy, converted as [`DeviceNDArray::astype`](vkarray_ndarray::DeviceNDArray::astype) does.
    /// Returns at once.
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::astype`](vkarray_ndarray::DeviceNDArray::astype).
    pub fn astype(&self, dtype: DType) -> Result<Self> {
        with_any!(self, array => {
            let source = array.to_contiguous(vkarray_layout::Order::K)?;
            let target = with_type!(
                dtype,
                T => Self::from(source.context().device_array_like_as::<T>(&source)?),
                else return Err(Error::NoConversion { from: self.dtype(), to: dtype })
            );
            with_any!(&target, target => source.convert_to(target.block(), dtype)?);
            Ok(target)
        })
    }
}

fn evaluated(node: Node, stream: Option<Stream>) -> Result<AnyArray> {
    let dtype = node.dtype();
    with_type!(
        dtype,
        T => Ok(Expr::<T>::new(node, stream).eval()?.into()),
        else not_defined("eval", dtype)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_results_are_the_standards() {
        let cases = [
            (Op::Add, DType::I8, (DType::I8, DType::I8)),
            (Op::Divide, DType::I64, (DType::F32, DType::F32)),
            (Op::Divide, DType::F64, (DType::F64, DType::F64)),
            (Op::Less, DType::U16, (DType::U16, DType::Bool)),
            (Op::LogicalAnd, DType::F32, (DType::Bool, DType::Bool)),
            (Op::Abs, DType::Complex64, (DType::Complex64, DType::F64)),
            (Op::Isnan, DType::I32, (DType::F32, DType::Bool)),
            (Op::Sin, DType::Complex32, (DType::Complex32, DType::Complex32)),
        ];
        for (op, dtype, expected) in cases {
            assert_eq!(types(op, dtype), expected, "{op:?} {dtype}");
        }
        assert_eq!((Op::Select.arity(), Op::Logaddexp.arity(), Op::Isnan.arity()), (3, 2, 1));
    }
}
