//! Arrays through serde, with the feature `serde`. The form is the form of the `ndarray` crate, so that each library
//! reads what the other wrote.
//!
//! Deserializing needs a context in which the array is created, so a seed deserializes it: [`Context::array_seed`].

use std::marker::PhantomData;

use ndarray::ArrayD;
use serde::de::{DeserializeSeed, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vkarray_kernel::Element;

use crate::array::DeviceNDArray;
use crate::context::Context;

/// Copies the array to the host, which blocks, and serializes it as the `ndarray` crate does.
impl<T: Element + Serialize> Serialize for DeviceNDArray<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.copy_to_host().map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Deserializes an array and copies it to a device. Made by [`Context::array_seed`].
#[derive(Debug)]
pub struct ArraySeed<'a, T> {
    context: &'a Context,
    element: PhantomData<fn() -> T>,
}

impl Context {
    /// A seed that deserializes an array of `T` into this context, on its default stream.
    ///
    /// ```
    /// use serde::de::DeserializeSeed;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let text = serde_json::to_string(&ctx.arange(0, 4, 1)?)?;
    /// let x = ctx.array_seed::<i32>().deserialize(&mut serde_json::Deserializer::from_str(&text))?;
    /// assert_eq!(x.to_vec()?, [0, 1, 2, 3]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn array_seed<T: Element>(&self) -> ArraySeed<'_, T> {
        ArraySeed { context: self, element: PhantomData }
    }
}

impl<'de, T: Element + Deserialize<'de>> DeserializeSeed<'de> for ArraySeed<'_, T> {
    type Value = DeviceNDArray<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let host = ArrayD::<T>::deserialize(deserializer)?;
        self.context.to_device(&host).map_err(D::Error::custom)
    }
}
