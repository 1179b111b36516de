//! Arrays made from a description: zeros, one value, a count, or random numbers that are the same everywhere.
//!
//! A description is checked before anything is allocated; `value.rs` reads it from text.

use half::f16;
use ndarray::ArrayD;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use vkarray::kernel::ScalarValue;
use vkarray::{DType, Element};
use vkarray_kernel::Bool;

use crate::array::{HostArray, HostElement, nbytes, with_type};
use crate::error::{Error, Result};

/// What the elements are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Zero, or false.
    Zeros,
    /// One value, still as text.
    Full(String),
    /// 0, 1, 2, … in C order.
    Arange,
    /// Uniform: 0 ≤ x < 1 for floats, the full range for integers.
    Random {
        /// The same seed gives the same array on every machine.
        seed: u64,
    },
}

/// An array by description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generated {
    pub(crate) fill: Fill,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
}

impl Generated {
    /// Checks that the array can be made; `name` is for the error.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeOverflow`]; [`Error::FullValue`] and [`Error::ArangeRange`] if the type cannot hold the values.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        let (name, dtype) = (name.to_owned(), self.dtype);
        if nbytes(&self.shape, dtype).is_none() {
            return Err(Error::ShapeOverflow { name, shape: self.shape.clone(), dtype });
        }
        with_type!(dtype, T => match &self.fill {
            Fill::Full(text) => match ScalarValue::parse(text, dtype) {
                Ok(_) => Ok(()),
                Err(source) => Err(Error::FullValue { name, source: Box::new(source) }),
            },
            Fill::Arange if T::nth(self.last()).is_none() => {
                Err(Error::ArangeRange { name, last: self.last(), dtype })
            }
            Fill::Zeros | Fill::Arange | Fill::Random { .. } => Ok(()),
        })
        .expect("the parser accepts no other types")
    }

    /// Makes the array.
    ///
    /// # Errors
    ///
    /// [`Error::HostMemory`].
    pub(crate) fn make(&self) -> Result<HostArray> {
        with_type!(self.dtype, T => self.typed::<T>()).expect("the parser accepts no other types")
    }

    fn typed<T: Generate>(&self) -> Result<HostArray> {
        const CHECKED: &str = "`check` tried this";
        let n_elements: usize = self.shape.iter().product();
        let mut elements: Vec<T> = Vec::new();
        let bytes = n_elements * size_of::<T>();
        elements.try_reserve_exact(n_elements).map_err(|source| Error::HostMemory { bytes, source })?;
        match &self.fill {
            Fill::Zeros => elements.resize(n_elements, T::nth(0).expect(CHECKED)),
            Fill::Full(text) => elements.resize(n_elements, T::parse(text).expect(CHECKED)),
            Fill::Arange => elements.extend((0..n_elements as u64).map(|i| T::nth(i).expect(CHECKED))),
            Fill::Random { seed } => {
                let mut rng = Pcg64::seed_from_u64(*seed);
                elements.extend((0..n_elements).map(|_| T::random(&mut rng)));
            }
        }
        Ok(HostArray::new(ArrayD::from_shape_vec(&self.shape[..], elements).expect("as many as the shape has")))
    }

    /// The last number of a count.
    fn last(&self) -> u64 {
        (self.shape.iter().product::<usize>() as u64).saturating_sub(1)
    }
}

/// How an element type is made from text, from an index and from random bits.
trait Generate: HostElement {
    fn parse(text: &str) -> Option<Self>;
    fn nth(index: u64) -> Option<Self>;
    fn random(rng: &mut Pcg64) -> Self;
}

macro_rules! generate {
    ($($variant:ident($element:ty): $nth:expr, $random:expr;)*) => {$(
        impl Generate for $element {
            fn parse(text: &str) -> Option<Self> {
                match ScalarValue::parse(text, Self::DTYPE) {
                    Ok(ScalarValue::$variant(value)) => Some(value.into()),
                    _ => None,
                }
            }

            fn nth(index: u64) -> Option<Self> {
                $nth(index)
            }

            fn random(rng: &mut Pcg64) -> Self {
                $random(rng)
            }
        }
    )*};
}

/// An index as a whole number of a type that may be too small for it.
fn whole<T: TryFrom<u64>>(index: u64) -> Option<T> {
    index.try_into().ok()
}

generate! {
    Bool(Bool): |index| (index < 2).then_some(Bool::from(index == 1)), |rng: &mut Pcg64| rng.random::<bool>().into();
    I8(i8): whole, RngExt::random;
    U8(u8): whole, RngExt::random;
    I16(i16): whole, RngExt::random;
    U16(u16): whole, RngExt::random;
    I32(i32): whole, RngExt::random;
    U32(u32): whole, RngExt::random;
    I64(i64): whole, RngExt::random;
    U64(u64): Some, RngExt::random;
    // Above 2^24 and 2^53 floats round, as NumPy's do; above 65504 an f16 would be infinite.
    F16(f16): |index| Some(f16::from_f64(index as f64)).filter(|value| value.is_finite()), random_f16;
    F32(f32): |index| Some(index as f32), RngExt::random;
    F64(f64): |index| Some(index as f64), RngExt::random;
}

/// Eleven random bits: every multiple of 2⁻¹¹ below one, all of which an `f16` holds exactly.
fn random_f16(rng: &mut Pcg64) -> f16 {
    f16::from_f32((rng.random::<u32>() >> 21) as f32 / 2048.0)
}

#[cfg(test)]
mod tests;
