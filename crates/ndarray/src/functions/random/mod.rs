//! Random numbers by counter: [`Rng`], with Philox 4x32-10 and NumPy's Philox 4x64-10.
//!
//! A generator is a key and a position. Word `w` of its stream is a function of the key and of `w` alone. A word
//! therefore does not depend on the shape, the slice, the device or the split of the draw that it belongs to. Nothing
//! here has state on a device.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | [`Rng`] and its draws |
//! | `distributions.rs` | draws that are made of other draws: normal and exponential numbers, choices, permutations |
//! | `engine.rs` | both generators on the host, and what differs between them on the device |
//! | `seed.rs` | NumPy's `SeedSequence`, for the key of its Philox |

mod distributions;
mod engine;
mod seed;

use std::fmt;
use std::ops::Range;

use engine::Engine;
use vkarray_kernel::Element;
use vkarray_layout::IntoShape;
use vkarray_shaders::functions;

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::functions::operand::{UniformFloat, Word, flat, is_packed, part, parts};
pub use engine::{philox_4x32, philox_4x64};

/// A type of random integers: `i32`, `u32`, `i64` or `u64`.
pub trait RandomInteger: Element + Word + PartialOrd + fmt::Display {}

impl RandomInteger for i32 {}
impl RandomInteger for u32 {}
impl RandomInteger for i64 {}
impl RandomInteger for u64 {}

/// A generator of random numbers, which are made on the device.
///
/// Each draw begins where the last one ended. [`Rng::at`] makes a generator at another position, which is counted in
/// words of 32 bits: an element of 32 bits takes one word, and an element of 64 bits takes two words from an even
/// position on.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::Rng;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let x = Rng::philox(42).uniform::<f32>(&ctx, [100, 10])?;
/// // A part of a draw is the same wherever it is made.
/// let part = Rng::philox(42).at(990).uniform::<f32>(&ctx, 10)?;
/// assert_eq!(x.slice(s![99])?.to_vec()?, part.to_vec()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    engine: Engine,
    position: u64,
}

impl Rng {
    /// Philox 4x32-10 with this key, at the beginning of its stream.
    ///
    /// ```
    /// use vkarray::primitives::Rng;
    ///
    /// assert_eq!(Rng::philox(1).position(), 0);
    /// ```
    pub const fn philox(seed: u64) -> Self {
        Self { engine: Engine::Narrow(seed), position: 0 }
    }

    /// NumPy's `Philox(seed)`, a Philox 4x64-10. [`Rng::bits`] of `u64` gives the numbers of its `random_raw`, and
    /// [`Rng::uniform`] of `f64` and `f32` gives the numbers of `numpy.random.Generator`, bit for bit. Normal numbers
    /// and integers differ from NumPy's, because NumPy's algorithms take a number of words that depends on the values.
    ///
    /// The generator computes with pairs of words, so it also runs on devices without 64-bit integers.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// // numpy.random.Generator(numpy.random.Philox(42)).random(2)
    /// let x = Rng::numpy_philox(42).uniform::<f64>(&ctx, 2)?;
    /// assert_eq!(x.to_vec()?, [0.08607763073528474, 0.14155732377913233]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn numpy_philox(seed: u64) -> Self {
        Self::numpy_philox_with_key(seed::philox_key(seed))
    }

    /// NumPy's `Philox(key=key)`, as [`Rng::numpy_philox`] makes NumPy's `Philox(seed)`.
    ///
    /// ```
    /// use vkarray::primitives::Rng;
    ///
    /// assert_ne!(Rng::numpy_philox_with_key([1, 0]), Rng::numpy_philox(1));
    /// ```
    pub const fn numpy_philox_with_key(key: [u64; 2]) -> Self {
        Self { engine: Engine::Wide(key), position: 0 }
    }

    /// The position of the next draw, in words of 32 bits.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let (ctx, mut rng) = (Context::open_default()?, Rng::philox(1));
    /// rng.uniform::<f32>(&ctx, 3)?;
    /// assert_eq!(rng.position(), 3);
    /// rng.uniform::<f64>(&ctx, 3)?;
    /// assert_eq!(rng.position(), 10); // From the next even position on.
    /// # Ok(())
    /// # }
    /// ```
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The generator at a position, in words of 32 bits.
    ///
    /// ```
    /// use vkarray::primitives::Rng;
    ///
    /// assert_eq!(Rng::philox(1).at(1 << 40).position(), 1 << 40);
    /// ```
    #[must_use]
    pub const fn at(self, position: u64) -> Self {
        Self { position, ..self }
    }

    /// Random bits: integers that take all their values equally often, on the default stream. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::{Rng, philox_4x32};
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = Rng::philox(7).bits::<u32>(&ctx, 4)?;
    /// assert_eq!(x.to_vec()?, philox_4x32([7, 0], [0; 4]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for a shape that is too large;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn bits<T: RandomInteger>(&mut self, ctx: &Context, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        let out = ctx.device_array(shape)?;
        self.fill_bits(&out)?;
        Ok(out)
    }

    fn fill_bits<T: RandomInteger>(&mut self, out: &DeviceNDArray<T>) -> Result<()> {
        self.draw(out, &Convert { text: "words", ..Convert::default() })
    }

    /// Uniform floats in `[0, 1)`, multiples of 2^-24 for `f32` and of 2^-53 for `f64`, on the default stream. Returns at
    /// once. Every device gives the same bits, also devices without `f64`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = Rng::philox(1).uniform::<f32>(&ctx, 1000)?.to_vec()?;
    /// assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for a shape that is too large;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated; and the errors of
    /// [`Rng::bits`].
    pub fn uniform<T: UniformFloat>(&mut self, ctx: &Context, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        let out = ctx.device_array(shape)?;
        self.fill_uniform(&out)?;
        Ok(out)
    }

    /// Writes uniform floats, as [`Rng::uniform`] gives them, to an array of any strides, in C order:
    /// `rng.fill_uniform(&x.on(&stream))?`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let (ctx, mut rng) = (Context::open_default()?, Rng::philox(1));
    /// let (x, stream) = (ctx.zeros::<f32>([4, 4])?, ctx.stream()?);
    /// rng.fill_uniform(&x.t().on(&stream))?;
    /// assert_eq!(x.t().to_vec()?, Rng::philox(1).uniform::<f32>(&ctx, 16)?.to_vec()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array;
    /// [`Error::SharedElements`](crate::Error::SharedElements) for an array whose elements share memory; and
    /// the errors of [`Rng::bits`].
    pub fn fill_uniform<T: UniformFloat>(&mut self, out: &DeviceNDArray<T>) -> Result<()> {
        let convert = if size_of::<T>() == 8 {
            let library = functions::uniform_double();
            Convert { library, text: "uniform_double(words)", ..Convert::default() }
        } else {
            let text = "bitcast<vec2<u32>>(vec2<f32>(words >> vec2(8u)) * 5.9604644775390625e-8)";
            Convert { text, ..Convert::default() }
        };
        self.draw(out, &convert)
    }

    /// Integers from `range.start` to before `range.end`, on the default stream. Returns at once.
    ///
    /// Each integer is `start + r * (end - start) / 2^bits`, rounded down, where `r` is one random number of the
    /// integer's size in bits. The probabilities of two values therefore differ by less than 2^-32, or 2^-64 for
    /// integers of 64 bits.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let dice = Rng::philox(1).integers(&ctx, 1..7, 100)?.to_vec()?;
    /// assert!(dice.iter().all(|x| (1..=6).contains(x)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::EmptyRange`](crate::Error::EmptyRange) for a range without numbers;
    /// [`Error::Layout`](crate::Error::Layout) for a shape that is too large; and the errors of
    /// [`Rng::bits`].
    pub fn integers<T: RandomInteger>(
        &mut self,
        ctx: &Context,
        range: Range<T>,
        shape: impl IntoShape,
    ) -> Result<DeviceNDArray<T>> {
        let out = ctx.device_array(shape)?;
        self.fill_integers(&out, range)?;
        Ok(out)
    }

    fn fill_integers<T: RandomInteger>(&mut self, out: &DeviceNDArray<T>, range: Range<T>) -> Result<()> {
        if range.start >= range.end {
            let [start, end] = [range.start, range.end].map(|bound| bound.to_string());
            return Err(Error::EmptyRange { operation: "integers", start, end });
        }
        let (low, length) = (bits_of(range.start), bits_of(range.end).wrapping_sub(bits_of(range.start)));
        let text = if size_of::<T>() == 8 {
            "pair_sum(draw.low, pair_high_product(words, draw.range))"
        } else {
            "draw.low.xx + vec2(wide_product(words.x, draw.range.x).y, wide_product(words.y, draw.range.x).y)"
        };
        self.draw(out, &Convert { text, low, length, ..Convert::default() })
    }

    /// Writes numbers to an array and advances the position.
    fn draw<T: Element>(&mut self, target: &DeviceNDArray<T>, convert: &Convert) -> Result<()> {
        let words_each = size_of::<T>() / 4;
        // The position wraps around, as the counter of the generator does.
        let start = self.position.checked_next_multiple_of(words_each as u64).unwrap_or(0);
        let is_direct = is_packed(target) && target.is_writable();
        let out =
            if is_direct { target.clone() } else { target.context().device_array(target.shape())?.on(target.stream()) };
        let all = flat(&out)?;
        for range in parts(out.context(), out.size(), size_of::<T>(), 1) {
            let first = start.wrapping_add((range.start * words_each) as u64);
            self.engine.write(&part(&all, &range)?, first, convert)?;
        }
        if !is_direct {
            target.copy_from_device(&out)?;
        }
        self.position = start.wrapping_add((target.size() * words_each) as u64);
        Ok(())
    }
}

/// What a kernel makes of two random words.
#[derive(Debug, Default)]
struct Convert {
    /// The functions that the expression calls.
    library: String,
    /// The expression, which uses `words` and `draw`.
    text: &'static str,
    /// The bits of the smallest integer of a range, and the number of integers in the range.
    low: u64,
    length: u64,
}

/// The bits of an integer, behind zeros if it has 32.
fn bits_of<T: RandomInteger>(value: T) -> u64 {
    if size_of::<T>() == 8 { bytemuck::cast(value) } else { bytemuck::cast::<T, u32>(value).into() }
}
