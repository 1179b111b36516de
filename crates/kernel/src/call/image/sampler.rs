//! How a kernel samples images: [`Sampler`], plain options, and [`Sampled`], an array with the sampler of its image.

use std::str::FromStr;

use crate::call::args::{Arg, AsArg};

/// How a kernel reads between the texels of an image, and beyond its edges.
///
/// It is the argument of a `sampler`; for a `sampler2D` of GLSL, whose image and sampler are one parameter,
/// [`Sampler::of`] joins it to the array. Coordinates go from 0 to 1 unless it is [`unnormalized`](Sampler::unnormalized).
///
/// ```
/// use vkarray_kernel::{AddressMode, Filter, Sampler};
///
/// let sampler = Sampler::linear().repeat();
/// assert_eq!((sampler.filter, sampler.address), (Filter::Linear, AddressMode::Repeat));
/// assert_eq!("linear,repeat".parse(), Ok(sampler));
/// assert_eq!(Sampler::default(), Sampler::nearest());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Between texels.
    pub filter: Filter,
    /// Beyond the edges.
    pub address: AddressMode,
    /// Whether coordinates count texels.
    pub is_unnormalized: bool,
}

/// What a sampler reads between texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest texel.
    #[default]
    Nearest,
    /// The mean of the nearest texels, weighted by their distance. Only of texels that a shader sees as `f32`.
    Linear,
}

/// What a sampler reads beyond the edges of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The image again.
    Repeat,
    /// The image again, mirrored.
    Mirror,
    /// Zero.
    Border,
}

impl Sampler {
    /// The number of samplers that differ.
    pub(crate) const COUNT: usize = 16;

    /// The nearest texel; that of the edge beyond the edges.
    #[must_use]
    pub const fn nearest() -> Self {
        Self { filter: Filter::Nearest, address: AddressMode::Clamp, is_unnormalized: false }
    }

    /// The weighted mean of the nearest texels; that of the edge beyond the edges.
    #[must_use]
    pub const fn linear() -> Self {
        Self { filter: Filter::Linear, ..Self::nearest() }
    }

    /// Repeats the image beyond its edges.
    #[must_use]
    pub const fn repeat(self) -> Self {
        Self { address: AddressMode::Repeat, ..self }
    }

    /// Repeats the image mirrored beyond its edges.
    #[must_use]
    pub const fn mirror(self) -> Self {
        Self { address: AddressMode::Mirror, ..self }
    }

    /// Reads zero beyond the edges.
    #[must_use]
    pub const fn border(self) -> Self {
        Self { address: AddressMode::Border, ..self }
    }

    /// Counts coordinates in texels: the first texel lies between 0 and 1, its middle at 0.5. Vulkan has this for images of
    /// one and two dimensions without layers, beyond whose edges are the edge or zero.
    #[must_use]
    pub const fn unnormalized(self) -> Self {
        Self { is_unnormalized: true, ..self }
    }

    /// An array as an image that is read with this sampler, for a parameter that is both.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Arg, AsArg, Sampler};
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(8)?;
    /// assert!(matches!(Sampler::linear().of(&x).as_arg(), Arg::Sampled(_, sampler) if sampler == Sampler::linear()));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn of<T: AsArg>(self, image: &T) -> Sampled<'_, T> {
        Sampled { image, sampler: self }
    }

    /// Its place among all that differ.
    pub(crate) const fn index(self) -> usize {
        (self.filter as usize) << 3 | (self.address as usize) << 1 | self.is_unnormalized as usize
    }

    /// Why Vulkan has no such sampler.
    pub(crate) fn problem(self) -> Option<&'static str> {
        let is_far = matches!(self.address, AddressMode::Repeat | AddressMode::Mirror);
        (self.is_unnormalized && is_far).then_some("coordinates that count texels neither repeat nor mirror the image")
    }
}

/// A text that names no sampler: what was read, and what there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no option of a sampler: it has `nearest`, `linear`, `clamp`, `repeat`, `mirror`, `border` and `unnormalized`"
)]
pub struct UnknownSampler(pub String);

impl FromStr for Sampler {
    type Err = UnknownSampler;

    /// Reads options that are separated by commas, such as `linear,repeat`.
    fn from_str(text: &str) -> Result<Self, UnknownSampler> {
        text.split(',').map(str::trim).filter(|option| !option.is_empty()).try_fold(
            Self::default(),
            |sampler, option| {
                Ok(match option {
                    "nearest" => Self { filter: Filter::Nearest, ..sampler },
                    "linear" => Self { filter: Filter::Linear, ..sampler },
                    "clamp" => Self { address: AddressMode::Clamp, ..sampler },
                    "repeat" => sampler.repeat(),
                    "mirror" => sampler.mirror(),
                    "border" => sampler.border(),
                    "unnormalized" => sampler.unnormalized(),
                    _ => return Err(UnknownSampler(option.to_owned())),
                })
            },
        )
    }
}

impl AsArg for Sampler {
    fn as_arg(&self) -> Arg<'_> {
        Arg::Sampler(*self)
    }
}

/// An array as an image with its sampler. Made by [`Sampler::of`].
#[derive(Clone, Copy, Debug)]
pub struct Sampled<'a, T> {
    image: &'a T,
    sampler: Sampler,
}

impl<T: AsArg> AsArg for Sampled<'_, T> {
    fn as_arg(&self) -> Arg<'_> {
        match self.image.as_arg() {
            Arg::Array(array) => Arg::Sampled(array, self.sampler),
            other => other, // What is no array is refused as what it is.
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sampler_has_a_place_of_its_own() {
        let addresses = [AddressMode::Clamp, AddressMode::Repeat, AddressMode::Mirror, AddressMode::Border];
        let mut seen = [false; Sampler::COUNT];
        for filter in [Filter::Nearest, Filter::Linear] {
            for address in addresses {
                for is_unnormalized in [false, true] {
                    let sampler = Sampler { filter, address, is_unnormalized };
                    assert!(!std::mem::replace(&mut seen[sampler.index()], true), "{sampler:?}");
                    let is_far = address == AddressMode::Repeat || address == AddressMode::Mirror;
                    assert_eq!(sampler.problem().is_some(), is_unnormalized && is_far, "{sampler:?}");
                }
            }
        }
        assert_eq!(seen, [true; Sampler::COUNT]);
    }

    #[test]
    fn texts_name_options_in_any_order() {
        assert_eq!("mirror, linear".parse(), Ok(Sampler::linear().mirror()));
        assert_eq!("border,unnormalized".parse(), Ok(Sampler::nearest().border().unnormalized()));
        assert_eq!("".parse(), Ok(Sampler::default()));
        assert_eq!("linear,wrap".parse::<Sampler>(), Err(UnknownSampler("wrap".to_owned())));
    }
}
