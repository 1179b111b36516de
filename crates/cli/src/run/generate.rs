//! Arrays made from a description: zeros, one value, 0, 1, 2, …, even steps, or random numbers that a seed determines.
//!
//! A description is checked before anything is allocated. `value.rs` parses it.

use half::f16;
use ndarray::ArrayD;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use vkarray::array::Bool;
use vkarray::kernel::ScalarValue;
use vkarray::{DType, Element};

use crate::array::{HostArray, HostElement, nbytes, with_type};
use crate::error::{Error, Result};

/// The values of the elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Zero, or false.
    Zeros,
    /// One value, as text until its type is known.
    Full(String),
    /// 0, 1, 2, … in C order.
    Arange,
    /// From one number to another in even steps, in C order, both ends included. The ends are text until the type, a
    /// type of floats, is known.
    Linspace { start: String, stop: String },
    /// Floats of the normal distribution with mean 0 and standard deviation 1.
    Normal {
        /// The seed of the random numbers; see [`Fill::Random`].
        seed: u64,
    },
    /// Uniform random numbers: 0 ≤ x < 1 for floats, the full range for integers.
    Random {
        /// The seed. One seed gives the same array on every machine.
        seed: u64,
    },
}

/// The description of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generated {
    pub(crate) fill: Fill,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
}

impl Generated {
    /// Checks that the array can be made. The error contains `name`.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeOverflow`]; [`Error::Number`] and [`Error::ArangeRange`] if the type cannot hold the values.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        let (name, dtype) = (name.to_owned(), self.dtype);
        if nbytes(&self.shape, dtype).is_none() {
            return Err(Error::ShapeOverflow { name, shape: self.shape.clone(), dtype });
        }
        let is_of = |text: &str| match ScalarValue::parse(text, dtype) {
            Ok(_) => Ok(()),
            Err(reason) => Err(Error::Number { name: name.clone(), reason }),
        };
        with_type!(dtype, T => match &self.fill {
            Fill::Full(text) => is_of(text),
            Fill::Linspace { start, stop } => is_of(start).and_then(|()| is_of(stop)),
            Fill::Arange if T::nth(self.last()).is_none() => {
                Err(Error::ArangeRange { name: name.clone(), last: self.last(), dtype })
            }
            Fill::Zeros | Fill::Arange | Fill::Random { .. } | Fill::Normal { .. } => Ok(()),
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
        elements.try_reserve_exact(n_elements).map_err(|_| Error::HostMemory { bytes })?;
        match &self.fill {
            Fill::Zeros => elements.resize(n_elements, T::nth(0).expect(CHECKED)),
            Fill::Full(text) => elements.resize(n_elements, T::parse(text).expect(CHECKED)),
            Fill::Arange => elements.extend((0..n_elements as u64).map(|i| T::nth(i).expect(CHECKED))),
            Fill::Linspace { start, stop } => {
                let [start, stop] = [start, stop].map(|text| <f64 as Generate>::parse(text).expect(CHECKED));
                let last = self.last();
                let nth = |i| if i == last && i > 0 { stop } else { start + i as f64 * ((stop - start) / last as f64) };
                elements.extend((0..n_elements as u64).map(|i| T::of_f64(if i == 0 { start } else { nth(i) })));
            }
            Fill::Normal { seed } => {
                let mut rng = Pcg64::seed_from_u64(*seed);
                elements.extend((0..n_elements).map(|_| T::of_f64(normal(&mut rng))));
            }
            Fill::Random { seed } => {
                let mut rng = Pcg64::seed_from_u64(*seed);
                elements.extend((0..n_elements).map(|_| T::random(&mut rng)));
            }
        }
        Ok(HostArray::new(ArrayD::from_shape_vec(&self.shape[..], elements).expect("as many as the shape has")))
    }

    /// The last value of `arange`.
    fn last(&self) -> u64 {
        (self.shape.iter().product::<usize>() as u64).saturating_sub(1)
    }
}

/// An element type whose values are made from text, from an index and from random bits.
/// An array of no axes with a number that is given as text.
///
/// # Errors
///
/// The errors of [`Generated::check`] and [`Generated::make`].
pub(crate) fn number(name: &str, text: String, dtype: DType) -> Result<HostArray> {
    let number = Generated { fill: Fill::Full(text), dtype, shape: Vec::new() };
    number.check(name)?;
    number.make()
}

trait Generate: HostElement {
    fn parse(text: &str) -> Option<Self>;
    fn nth(index: u64) -> Option<Self>;
    fn random(rng: &mut Pcg64) -> Self;
    /// The value rounded to a float. Types other than floats have no fills that call this.
    fn of_f64(value: f64) -> Self;
}

macro_rules! generate {
    ($($variant:ident($element:ty): $nth:expr, $random:expr, $of_f64:expr;)*) => {$(
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

            fn of_f64(value: f64) -> Self {
                $of_f64(value)
            }
        }
    )*};
}

/// An index as an integer of type `T`; `None` if the type does not hold it.
fn whole<T: TryFrom<u64>>(index: u64) -> Option<T> {
    index.try_into().ok()
}

/// The nearest `f32`; infinite above the largest one.
#[expect(clippy::cast_possible_truncation, reason = "the number is rounded on purpose")]
fn rounded(value: f64) -> f32 {
    value as f32
}

generate! {
    Bool(Bool): |index| (index < 2).then_some(Bool::from(index == 1)), |rng: &mut Pcg64| rng.random::<bool>().into(), no_float;
    I8(i8): whole, RngExt::random, no_float;
    U8(u8): whole, RngExt::random, no_float;
    I16(i16): whole, RngExt::random, no_float;
    U16(u16): whole, RngExt::random, no_float;
    I32(i32): whole, RngExt::random, no_float;
    U32(u32): whole, RngExt::random, no_float;
    I64(i64): whole, RngExt::random, no_float;
    U64(u64): Some, RngExt::random, no_float;
    // f32 rounds above 2^24 and f64 above 2^53, as in NumPy; an f16 above 65504 would be infinite.
    F16(f16): |index| Some(f16::from_f64(index as f64)).filter(|value| value.is_finite()), random_f16, f16::from_f64;
    F32(f32): |index| Some(index as f32), RngExt::random, rounded;
    F64(f64): |index| Some(index as f64), RngExt::random, std::convert::identity;
}

/// The parser refuses these fills for types other than floats.
fn no_float<T>(_: f64) -> T {
    unreachable!("only floats are rounded")
}

/// A number of the normal distribution, by the method of Box and Muller.
fn normal(rng: &mut Pcg64) -> f64 {
    // The first number is not 0, of which the logarithm is infinite.
    let [radius, angle]: [f64; 2] = [1.0 - rng.random::<f64>(), rng.random()];
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// Eleven random bits: every multiple of 2⁻¹¹ below one, all of which an `f16` holds exactly.
fn random_f16(rng: &mut Pcg64) -> f16 {
    f16::from_f32((rng.random::<u32>() >> 21) as f32 / 2048.0)
}

#[cfg(test)]
mod tests;
