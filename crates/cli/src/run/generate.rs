//! Arrays made from a description: zeros, one value, 0, 1, 2, …, even steps, or random numbers that a seed determines.
//!
//! A description is checked before anything is allocated. `value.rs` parses it.

use half::f16;
use ndarray::ArrayD;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use vkarray::DType;
use vkarray::kernel::ScalarValue;

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
        match &self.fill {
            Fill::Full(text) => is_of(text),
            Fill::Linspace { start, stop } => is_of(start).and_then(|()| is_of(stop)),
            Fill::Arange if ScalarValue::from_integer(self.last().into(), dtype).is_none() => {
                Err(Error::ArangeRange { name: name.clone(), last: self.last(), dtype })
            }
            Fill::Zeros | Fill::Arange | Fill::Random { .. } | Fill::Normal { .. } => Ok(()),
        }
    }

    /// Makes the array.
    ///
    /// # Errors
    ///
    /// [`Error::HostMemory`].
    pub(crate) fn make(&self) -> Result<HostArray> {
        with_type!(self.dtype, T => self.typed::<T>()).expect("the parser accepts no other types")
    }

    fn typed<T: HostElement>(&self) -> Result<HostArray> {
        const CHECKED: &str = "`check` tried this";
        let (dtype, n_elements) = (self.dtype, self.shape.iter().product::<usize>());
        let mut elements: Vec<T> = Vec::new();
        let bytes = n_elements * size_of::<T>();
        elements.try_reserve_exact(n_elements).map_err(|_| Error::HostMemory { bytes })?;
        let places = 0..n_elements as u64;
        match &self.fill {
            Fill::Zeros => elements.resize(n_elements, T::zeroed()),
            Fill::Full(text) => {
                elements.resize(n_elements, element(ScalarValue::parse(text, dtype).expect(CHECKED)));
            }
            Fill::Arange => {
                let nth = |i: u64| ScalarValue::from_integer(i.into(), dtype).expect(CHECKED);
                elements.extend(places.map(|i| element::<T>(nth(i))));
            }
            Fill::Linspace { start, stop } => {
                let [start, stop] = [start, stop].map(|text| text.parse::<f64>().expect(CHECKED));
                let last = self.last();
                let nth = |i| if i == last && i > 0 { stop } else { start + i as f64 * ((stop - start) / last as f64) };
                elements.extend(places.map(|i| element::<T>(float(if i == 0 { start } else { nth(i) }, dtype))));
            }
            Fill::Normal { seed } => {
                let mut rng = Pcg64::seed_from_u64(*seed);
                elements.extend(places.map(|_| element::<T>(float(normal(&mut rng), dtype))));
            }
            Fill::Random { seed } => {
                let mut rng = Pcg64::seed_from_u64(*seed);
                elements.extend(places.map(|_| element::<T>(random(&mut rng, dtype))));
            }
        }
        Ok(HostArray::new(ArrayD::from_shape_vec(&self.shape[..], elements).expect("as many as the shape has")))
    }

    /// The last value of `arange`.
    fn last(&self) -> u64 {
        (self.shape.iter().product::<usize>() as u64).saturating_sub(1)
    }
}

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

/// A number as an element of its type.
fn element<T: HostElement>(number: ScalarValue) -> T {
    let mut element = T::zeroed();
    number.write_to(bytemuck::bytes_of_mut(&mut element));
    element
}

/// The nearest number of a type of floats.
fn float(value: f64, dtype: DType) -> ScalarValue {
    // Ends of `linspace:` may be infinite or NaN, which the parser reads in every type of floats.
    let number = ScalarValue::from_f64(value, dtype);
    number.or_else(|| ScalarValue::parse(&value.to_string(), dtype).ok()).expect("values lie between ends of this type")
}

/// A random number of a type: for integers any, and for floats from 0 to below 1.
fn random(rng: &mut Pcg64, dtype: DType) -> ScalarValue {
    match dtype {
        DType::Bool => rng.random::<bool>().into(),
        DType::I8 => rng.random::<i8>().into(),
        DType::U8 => rng.random::<u8>().into(),
        DType::I16 => rng.random::<i16>().into(),
        DType::U16 => rng.random::<u16>().into(),
        // Eleven random bits: every multiple of 2⁻¹¹ below one, all of which an `f16` holds exactly.
        DType::F16 => f16::from_f32((rng.random::<u32>() >> 21) as f32 / 2048.0).into(),
        DType::I32 => rng.random::<i32>().into(),
        DType::U32 => rng.random::<u32>().into(),
        DType::F32 => rng.random::<f32>().into(),
        DType::I64 => rng.random::<i64>().into(),
        DType::U64 => rng.random::<u64>().into(),
        DType::F64 => rng.random::<f64>().into(),
        _ => unreachable!("the parser accepts no other types"),
    }
}

/// A number of the normal distribution, by the method of Box and Muller.
fn normal(rng: &mut Pcg64) -> f64 {
    // The first number is not 0, of which the logarithm is infinite.
    let [radius, angle]: [f64; 2] = [1.0 - rng.random::<f64>(), rng.random()];
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests;
