//! Host arrays whose element type is known at run time, and two macros that name the Rust type of an element type.
//!
//! The library reads and writes `.npy` files, `picture.rs` images; `run/generate.rs` makes arrays from a description. A
//! [`HostArray`] is always in C order without gaps, as shaders see arrays.

use half::f16;
use ndarray::ArrayD;

use vkarray::array::{AnyArray, AnyElement, Bool};
use vkarray::{DType, Element};
use vkarray_test::Number;

pub(crate) mod picture;

/// An element type of host arrays.
pub(crate) trait HostElement: Number {
    /// Wraps an array of this type.
    fn wrap(array: ArrayD<Self>) -> HostArray;

    /// The array, if it is of this type.
    fn typed(array: &HostArray) -> Option<&ArrayD<Self>>;
}

macro_rules! host_arrays {
    ($($variant:ident($element:ty)),*) => {
        /// An array in C order, of any element type that a `.npy` file brings.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum HostArray { $($variant(ArrayD<$element>)),* }

        $(impl HostElement for $element {
            fn wrap(array: ArrayD<Self>) -> HostArray { HostArray::$variant(array) }

            fn typed(array: &HostArray) -> Option<&ArrayD<Self>> {
                if let HostArray::$variant(array) = array { Some(array) } else { None }
            }
        })*
    };
}
host_arrays!(
    Bool(Bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    F16(f16),
    I32(i32),
    U32(u32),
    F32(f32),
    I64(i64),
    U64(u64),
    F64(f64)
);

/// Runs `$body` with `$array` bound to the typed array.
macro_rules! with_array {
    ($host:expr, $array:ident => $body:expr) => {
        with_array!(@ $host, $array => $body; Bool I8 U8 I16 U16 F16 I32 U32 F32 I64 U64 F64)
    };
    (@ $host:expr, $array:ident => $body:expr; $($variant:ident)*) => {
        match $host { $($crate::array::HostArray::$variant($array) => $body,)* }
    };
}

/// Runs `$body` with `$T` naming the Rust type of `$dtype`; `None` for a type that host arrays do not have.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $body:expr) => {
        with_type!(@ $dtype, $T => $body; Bool(vkarray::array::Bool) I8(i8) U8(u8) I16(i16) U16(u16) F16(half::f16)
            I32(i32) U32(u32) F32(f32) I64(i64) U64(u64) F64(f64))
    };
    (@ $dtype:expr, $T:ident => $body:expr; $($variant:ident($element:ty))*) => {
        match $dtype {
            $(vkarray::DType::$variant => {
                type $T = $element;
                Some($body)
            })*
            _ => None,
        }
    };
}
pub(crate) use {with_array, with_type};

impl HostArray {
    /// Wraps `array`, copied into C order if it is in another order.
    pub(crate) fn new<T: HostElement>(array: ArrayD<T>) -> Self {
        T::wrap(if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() })
    }

    /// The elements of an array on the device, which was made of a host array. Waits for them.
    pub(crate) fn of_device(array: &AnyArray) -> vkarray::Result<Self> {
        let read = with_type!(array.dtype(), T => {
            let typed = <T as AnyElement>::typed(array).expect("the type is that of the array");
            typed.copy_to_host().map(Self::new)
        });
        read.expect("host arrays have no other types")
    }

    pub(crate) fn dtype(&self) -> DType {
        fn of<T: Element>(_: &ArrayD<T>) -> DType {
            T::DTYPE
        }
        with_array!(self, array => of(array))
    }

    pub(crate) fn shape(&self) -> &[usize] {
        with_array!(self, array => array.shape())
    }
}

/// Bytes of an array of `shape`, or `None` where the bytes, or the strides of an empty array, overflow.
pub(crate) fn nbytes(shape: &[usize], dtype: DType) -> Option<usize> {
    // Empty axes count as one in the first product: the strides have to exist even where no element exists.
    let itemsize = dtype.itemsize() as usize;
    let limit = shape.iter().try_fold(itemsize, |bytes, &len| bytes.checked_mul(len.max(1)))?;
    isize::try_from(limit).ok()?;
    Some(shape.iter().fold(itemsize, |bytes, &len| bytes * len))
}
