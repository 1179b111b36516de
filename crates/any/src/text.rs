//! Kernels that are written in WGSL, on operands whose types are known at run time.

use vkarray_ndarray::{
    Assignment, Call, ElementwiseKernel, ExprError, ReductionKernel, Result, ScanKernel, assign_all,
};

use super::compute::common;
use super::functions::axes_of;
use super::{AnyArray, AnyOperand, not_defined, with_any, with_type};

/// A call with arguments by their names. A number has the type that it has beside the arrays.
fn call<'a>(kernel: &'a ElementwiseKernel, args: &[(&str, AnyOperand<'_>)]) -> Result<Call<'a>> {
    args.iter().try_fold(kernel.call(), |call, (name, operand)| match operand {
        AnyOperand::Array(array) => Ok(with_any!(array, array => call.arg(name, array))),
        AnyOperand::Number(number) => {
            let dtype = common("elementwise", &args.iter().map(|(_, other)| *other).collect::<Vec<_>>())?;
            with_type!(dtype, T => Ok(call.arg(name, number.value::<T>()?)), else not_defined("elementwise", dtype))
        }
    })
}

impl AnyArray {
    /// The results of an [`ElementwiseKernel`], whose types are those with which its text is valid
    /// ([`Call::result_types`]). Arrays are not converted; a number has the type that it has beside all arrays.
    ///
    /// ```
    /// use vkarray::array::{AnyArray, AnyOperand, AnyScalar};
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = AnyArray::from(ctx.arange(0.0_f32, 3.0, 1.0)?);
    /// let args = [("a", AnyOperand::Number(AnyScalar::Int(2))), ("x", AnyOperand::Array(&x))];
    /// let results = AnyArray::elementwise(&ctx.elementwise("y = a * x; is_large = y > 3"), &args)?;
    /// assert_eq!(results.iter().map(AnyArray::dtype).collect::<Vec<_>>(), [DType::F32, DType::Bool]);
    /// assert_eq!(results[1].to_bytes()?, [0, 0, 1]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](vkarray_ndarray::Error::Expression) if no argument is an array; and the errors of
    /// [`Call::result_types`] and [`assign_all`].
    pub fn elementwise(kernel: &ElementwiseKernel, args: &[(&str, AnyOperand<'_>)]) -> Result<Vec<Self>> {
        let array = args.iter().find_map(|(_, operand)| operand.array());
        let (ctx, call) = (array.ok_or(ExprError::NoArray)?.context(), call(kernel, args)?);
        let types = call.result_types()?;
        let (mut results, mut assignments) = (Vec::with_capacity(types.len()), Vec::with_capacity(types.len()));
        for (i, &dtype) in types.iter().enumerate() {
            with_type!(dtype, T => {
                let value = call.result_of::<T>(&types, i)?;
                let result = ctx.device_array::<T>(value.shape())?;
                assignments.push(Assignment::new(&result, value)?);
                results.push(Self::from(result));
            }, else return not_defined("elementwise", dtype));
        }
        assign_all(&assignments)?;
        Ok(results)
    }

    /// A [`ReductionKernel`] over axes, or over all axes; `keeps` leaves them with length one. Every step has the type with
    /// which the text of the map is valid. Arguments are those of [`AnyArray::elementwise`].
    ///
    /// ```
    /// use vkarray::array::{AnyArray, AnyOperand};
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::ReductionKernel;
    ///
    /// let x = AnyArray::from(Context::open_default()?.arange(1_u32, 5, 1)?.reshape([2, 2])?);
    /// let squares = ReductionKernel::new("x * x", "a + b", "a", "0u");
    /// let sums = AnyArray::reduce_by(&squares, &[("x", AnyOperand::Array(&x))], Some(&[1]), false)?;
    /// assert_eq!(sums.to_bytes()?, [5_u32, 25].map(u32::to_ne_bytes).concat());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](vkarray_ndarray::Error::Expression) for a map of elements that are not of 32 or 64 bits; and the
    /// errors of [`Call::result_types`] and [`ReductionCall::reduce`](vkarray_ndarray::ReductionCall::reduce).
    pub fn reduce_by(
        kernel: &ReductionKernel,
        args: &[(&str, AnyOperand<'_>)],
        axes: Option<&[isize]>,
        keeps: bool,
    ) -> Result<Self> {
        let map = call(kernel.map(), args)?;
        let types = map.result_types()?;
        let (call, over) = (kernel.of(map), axes_of(axes, keeps));
        with_type!(
            @ types[0], T => Ok(call.reduce::<T>(over)?.into()), not_defined("reduction", types[0]);
            I32(i32) U32(u32) F32(f32) I64(i64) U64(u64) F64(f64)
        )
    }

    /// A [`ScanKernel`] along an axis: each element combined with those before it, or those before it alone.
    ///
    /// ```
    /// use vkarray::array::AnyArray;
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::ScanKernel;
    ///
    /// let x = AnyArray::from(Context::open_default()?.slice_to_device(&[2_u32, 1, 3])?);
    /// let running = x.scan_by(&ScanKernel::new("max(a, b)", "0u"), 0, false)?;
    /// assert_eq!(running.to_bytes()?, [2_u32, 2, 3].map(u32::to_ne_bytes).concat());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](vkarray_ndarray::Error::Expression) for elements that are not of 32 or 64 bits; and the errors of
    /// [`ScanKernel::exclusive`].
    pub fn scan_by(&self, kernel: &ScanKernel, axis: isize, is_exclusive: bool) -> Result<Self> {
        with_any!(self, words array => Ok(match is_exclusive {
            false => kernel.inclusive(array, axis)?.into(),
            true => kernel.exclusive(array, axis)?.into(),
        }), else self.not_defined("scan"))
    }
}
