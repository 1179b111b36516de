//! Arrays whose element type is known at run time, for callers that have no Rust type to name: other languages and the
//! command.
//!
//! **Is:** [`AnyArray`], each of whose methods does what the method of that name of `DeviceNDArray` does, and the types of
//! results of several operands. **Is not:** functions that `DeviceNDArray` does not have; and not a line of `unsafe`.
//! **Start** at [`AnyArray`].
//!
//! | file | what it has |
//! |---|---|
//! | `scalar.rs` | [`AnyScalar`], a number whose type is that of the array beside it |
//! | `promote.rs` | the common type of several operands; plain data |
//! | `compute.rs` | the elementwise functions, by their names |
//! | `functions.rs` | views, reductions, sorting, indexing, products and transforms |
//! | `text.rs` | kernels that are written in WGSL |
//! | `host.rs` | creation from bytes and numbers, and the way back |
#![forbid(unsafe_code)]

mod compute;
mod functions;
mod host;
mod promote;
mod scalar;
mod text;

use std::sync::Arc;

use vkarray_allocator::Block;
use vkarray_driver::Stream;
use vkarray_kernel::{Arg, ArrayArg, AsArg, AsArray, DType, Element};
use vkarray_layout::Layout;
use vkarray_ndarray::{Context, DeviceNDArray, ExprError, Result};

pub use compute::AnyOperand;
pub use functions::AnyReduction;
pub use promote::{Category, promote};
pub use scalar::AnyScalar;

/// An element type that [`AnyArray`] has a variant for: every type of [`DType::ALL`].
pub trait AnyElement: Element {
    /// Wraps an array of this type.
    fn wrap(array: DeviceNDArray<Self>) -> AnyArray;

    /// The array, if its elements are of this type.
    fn typed(array: &AnyArray) -> Option<&DeviceNDArray<Self>>;
}

macro_rules! any_arrays {
    (@ $($variant:ident($element:ty))*) => {
        /// An array of any element type of [`DType::ALL`]. A clone and a view share the memory, as those of
        /// [`DeviceNDArray`] do, and each method does what the method of that name does there.
        ///
        /// ```
        /// use vkarray::array::{AnyArray, AnyOperand, AnyScalar};
        /// use vkarray::prelude::*;
        ///
        /// let ctx = Context::open_default()?;
        /// let x = AnyArray::from(ctx.arange(0_i32, 4, 1)?);
        /// let half = AnyOperand::Number(AnyScalar::Float(0.5));
        /// let y = AnyArray::compute("multiply", &[AnyOperand::Array(&x), half])?;
        /// assert_eq!((y.dtype(), y.shape()), (DType::F32, &[4][..]));
        /// assert_eq!(y.to_bytes()?, [0.0_f32, 0.5, 1.0, 1.5].map(f32::to_ne_bytes).concat());
        /// # anyhow::Ok(())
        /// ```
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each variant is named as its element type")]
        pub enum AnyArray { $($variant(DeviceNDArray<$element>)),* }

        $(impl AnyElement for $element {
            fn wrap(array: DeviceNDArray<Self>) -> AnyArray { AnyArray::$variant(array) }

            fn typed(array: &AnyArray) -> Option<&DeviceNDArray<Self>> {
                if let AnyArray::$variant(array) = array { Some(array) } else { None }
            }
        })*
    };
}
/// Passes the variants of [`AnyArray`] with their element types to a macro, behind its other arguments.
macro_rules! of_all_types {
    ($to:ident! $($arguments:tt)*) => {
        $to! { @ $($arguments)* Bool(vkarray_kernel::Bool) I8(i8) U8(u8) I16(i16) U16(u16) F16(half::f16)
            BF16(half::bf16) I32(i32) U32(u32) F32(f32) I64(i64) U64(u64) F64(f64)
            Complex32(vkarray_kernel::Complex32) Complex64(vkarray_kernel::Complex64) }
    };
}
of_all_types!(any_arrays!);

impl<T: AnyElement> From<DeviceNDArray<T>> for AnyArray {
    fn from(array: DeviceNDArray<T>) -> Self {
        T::wrap(array)
    }
}

/// Runs `$body` with `$array` bound to the typed array; with a list of variants, only for these, and `$other` otherwise.
macro_rules! with_any {
    ($any:expr, $array:ident => $body:expr) => {
        $crate::of_all_types!(with_any! $any, $array => $body;;)
    };
    ($any:expr, numbers $array:ident => $body:expr, else $other:expr) => {
        with_any!(@ $any, $array => $body; $other; I8 U8 I16 U16 F16 BF16 I32 U32 F32 I64 U64 F64)
    };
    ($any:expr, floats $array:ident => $body:expr, else $other:expr) => {
        with_any!(@ $any, $array => $body; $other; F16 BF16 F32 F64)
    };
    ($any:expr, words $array:ident => $body:expr, else $other:expr) => {
        with_any!(@ $any, $array => $body; $other; I32 U32 F32 I64 U64 F64)
    };
    ($any:expr, indices $array:ident => $body:expr, else $other:expr) => {
        with_any!(@ $any, $array => $body; $other; I32 U32 I64 U64)
    };
    (@ $any:expr, $array:ident => $body:expr; $($other:expr)?; $($variant:ident $(($element:ty))?)*) => {
        match $any {
            $($crate::AnyArray::$variant($array) => $body,)*
            $(_ => $other,)?
        }
    };
}

/// Runs `$body` with `$T` naming the Rust type of `$dtype`; `$other` for a struct of the program.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::of_all_types!(with_type! $dtype, $T => $body, $other;)
    };
    (@ $dtype:expr, $T:ident => $body:expr, $other:expr; $($variant:ident($element:ty))*) => {
        match $dtype {
            $(vkarray_kernel::DType::$variant => { type $T = $element; $body })*
            _ => $other,
        }
    };
}
use {of_all_types, with_any, with_type};

/// Whether the device computes numbers of a type: 64-bit floats and integers are missing on some. Arrays of the others are
/// stored, copied and converted there. Blocks for nothing.
///
/// ```
/// use vkarray::array::{computes, default_on};
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// assert!(computes(&ctx, DType::F32) && computes(&ctx, DType::I32));
/// let integer = if computes(&ctx, DType::I64) { DType::I64 } else { DType::I32 };
/// assert_eq!(default_on(&ctx, DType::I64), integer);
/// # anyhow::Ok(())
/// ```
pub fn computes(ctx: &Context, dtype: DType) -> bool {
    let features = ctx.info().features;
    match dtype {
        DType::F64 | DType::Complex64 => features.shader_float64,
        DType::I64 | DType::U64 => features.shader_int64,
        _ => true,
    }
}

/// The type that a result has by default: where the device does not compute 64-bit integers, those of 32 bits; see
/// [`computes`]. The array API standard leaves default types to the device (`__array_namespace_info__`).
pub fn default_on(ctx: &Context, dtype: DType) -> DType {
    match dtype {
        DType::I64 if !computes(ctx, dtype) => DType::I32,
        DType::U64 if !computes(ctx, dtype) => DType::U32,
        _ => dtype,
    }
}

impl AnyArray {
    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        with_any!(self, array => array.dtype())
    }

    /// Shape, strides and offset, in elements.
    pub fn layout(&self) -> &Layout {
        with_any!(self, array => array.layout())
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// The number of axes.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.layout().size()
    }

    /// Bytes of all elements.
    pub fn nbytes(&self) -> u64 {
        with_any!(self, array => array.nbytes())
    }

    /// The context in which the array was created.
    pub fn context(&self) -> &Context {
        with_any!(self, array => array.context())
    }

    /// The memory of the array, as [`DeviceNDArray::block`].
    pub fn block(&self) -> &Arc<Block> {
        with_any!(self, array => array.block())
    }

    /// The stream of the array's work, as [`DeviceNDArray::stream`].
    pub fn stream(&self) -> &Stream {
        with_any!(self, array => array.stream())
    }

    /// Whether kernels and copies may write the array, as [`DeviceNDArray::is_writable`].
    pub fn is_writable(&self) -> bool {
        with_any!(self, array => array.is_writable())
    }

    /// The array with another stream for its work, as [`DeviceNDArray::on`].
    #[must_use]
    pub fn on(&self, stream: &Stream) -> Self {
        with_any!(self, array => array.on(stream).into())
    }

    /// Whether one array begins in memory before the other ends, so that a kernel does not take both if it writes one.
    pub fn overlaps(&self, other: &Self) -> bool {
        let bytes = |any: &Self| any.layout().byte_extent(any.dtype().itemsize() as usize);
        let block = |any: &'_ Self| with_any!(any, array => Arc::as_ptr(array.block()));
        let (own, others) = (bytes(self), bytes(other));
        block(self) == block(other) && own.start < others.end && others.start < own.end
    }

    /// The array in the type that [`default_on`] gives.
    fn into_default(self) -> Result<Self> {
        let dtype = default_on(self.context(), self.dtype());
        if dtype == self.dtype() { Ok(self) } else { self.astype(dtype) }
    }

    /// The error of an operation that is not defined for the array's elements.
    fn not_defined<T>(&self, operation: &'static str) -> Result<T> {
        not_defined(operation, self.dtype())
    }
}

/// The error of an operation that is not defined for elements of a type.
fn not_defined<T>(operation: &'static str, dtype: DType) -> Result<T> {
    Err(ExprError::NotDefined { operation, dtype }.into())
}

/// The array as an argument of a kernel: with its strides, as [`Strided`](vkarray_ndarray::Strided), if it has gaps.
impl AsArg for AnyArray {
    fn as_arg(&self) -> Arg<'_> {
        if self.layout().is_c_contiguous() {
            return Arg::Array(self.as_array());
        }
        with_any!(self, array => array.strided_arg())
    }
}

impl AsArray for AnyArray {
    fn as_array(&self) -> ArrayArg<'_> {
        with_any!(self, array => array.as_array())
    }
}
