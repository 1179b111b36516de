//! [`Arrays`]: the arrays of a run, by name. A [`Described`] array is opened when the first step takes it, since the
//! shader decides what an image becomes.
//!
//! `value.rs` parses descriptions, `input.rs` opens them; `step.rs` finds the arrays of its arguments here.

use std::path::Path;

use vkarray::kernel::Sampler;
use vkarray::kernel::signature::Names;

use super::generate::Generated;
use super::input::Input;
use super::value::{PictureOptions, Value, split_list, value_error};
use crate::error::{Error, Result};

/// A named array before it is opened.
#[derive(Debug, PartialEq)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// Whether constant memory that is longer than the array is filled up with zeros.
    pub(crate) is_padded: bool,
}

/// What the text of an argument describes.
#[derive(Debug, PartialEq)]
pub(crate) enum Description {
    Array(Described),
    /// Several arrays, for an array of bindings: that of `b` are called `b[0]`, `b[1]` and so on.
    Arrays(Vec<Described>),
    /// Numbers, which are parsed when the type of their push constant is known.
    Numbers(Vec<String>),
    Sampler(Sampler),
}

impl Description {
    /// Reads a value of `--arg`. Files are looked for in `folder`.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] for a number that is padded or in a list of arrays, or an unknown option of a sampler; and the errors of [`Value::parse`].
    pub(crate) fn parse(name: &str, text: &str, folder: &Path) -> Result<Self> {
        if let Some(sampler) = parse_sampler(text) {
            return sampler.map(Self::Sampler).map_err(|reason| value_error(name, text, reason));
        }
        let list = split_list(text);
        if list.len() > 1 {
            let one = |(at, text): (usize, &&str)| {
                let name = format!("{name}[{at}]");
                Self::parse(&name, text, folder)?.array(&name)
            };
            return Ok(Self::Arrays(list.iter().enumerate().map(one).collect::<Result<_>>()?));
        }
        let padded = text.strip_prefix("padded:");
        match Value::parse(name, padded.unwrap_or(text))? {
            Value::Numbers(_) if padded.is_some() => Err(value_error(name, text, "only an array can be padded")),
            Value::Numbers(numbers) => Ok(Self::Numbers(numbers)),
            value => {
                let (name, value) = (name.to_owned(), value.in_folder(folder));
                Ok(Self::Array(Described { name, value, is_padded: padded.is_some() }))
            }
        }
    }

    /// The described array.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] if the description is a number or a list.
    pub(crate) fn array(self, name: &str) -> Result<Described> {
        let (text, reason) = match self {
            Self::Array(described) => return Ok(described),
            Self::Arrays(list) => {
                let names: Vec<_> = list.into_iter().map(|array| array.name).collect();
                (names.join(","), "a pipeline names arrays one by one; a step lists their names")
            }
            Self::Sampler(_) => ("a sampler".to_owned(), "a pipeline names arrays; steps have its samplers"),
            Self::Numbers(numbers) => (numbers.join(","), "a pipeline names arrays; steps have its numbers"),
        };
        Err(value_error(name, &text, reason))
    }
}

/// Reads `sampler:linear,repeat`; `None` for a text that does not begin so.
pub(super) fn parse_sampler(text: &str) -> Option<std::result::Result<Sampler, String>> {
    let options = text.strip_prefix("sampler:")?;
    Some(options.parse::<Sampler>().map_err(|unknown| unknown.to_string()))
}

/// An array of the run.
#[derive(Debug)]
pub(crate) struct ArrayArgument {
    pub(crate) name: String,
    pub(crate) input: Input,
    /// Whether constant memory that is longer than the array is filled up with zeros.
    pub(crate) is_padded: bool,
}

/// The arrays of a run while it is planned.
#[derive(Debug)]
pub(crate) struct Arrays {
    described: Vec<Described>,
    opened: Vec<ArrayArgument>,
}

impl Arrays {
    pub(crate) fn new(described: Vec<Described>) -> Self {
        Self { described, opened: Vec::new() }
    }

    pub(crate) fn opened(&self) -> &[ArrayArgument] {
        &self.opened
    }

    /// The position of the array `name` among the opened arrays. If a step takes the array for the first time, it is
    /// opened, with `options` for an image; if nothing describes the array, `covered` makes it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownArray`]; and the errors of [`Input::open`] and of [`Generated::check`].
    pub(crate) fn take(&mut self, name: &str, options: PictureOptions, covered: Option<Generated>) -> Result<usize> {
        if let Some(place) = self.opened.iter().position(|array| array.name == name) {
            return Ok(place);
        }
        let described = self.described.iter().position(|array| array.name == name);
        let (input, is_padded) = match (described.map(|place| self.described.remove(place)), covered) {
            (Some(array), _) => (Input::open(array.value, options)?, array.is_padded),
            (None, Some(generated)) => {
                generated.check(name)?;
                (Input::Generated(generated), false)
            }
            (None, None) => return Err(Error::UnknownArray { name: name.to_owned(), names: self.names() }),
        };
        self.opened.push(ArrayArgument { name: name.to_owned(), input, is_padded });
        Ok(self.opened.len() - 1)
    }

    fn names(&self) -> Names {
        let opened = self.opened.iter().map(|array| array.name.as_str());
        opened.chain(self.described.iter().map(|array| array.name.as_str())).collect()
    }

    /// The opened arrays, when all steps are planned.
    ///
    /// # Errors
    ///
    /// [`Error::UnusedArray`] if no step took an array that is described.
    pub(crate) fn finish(self) -> Result<Vec<ArrayArgument>> {
        match self.described.into_iter().next() {
            Some(array) => Err(Error::UnusedArray { name: array.name }),
            None => Ok(self.opened),
        }
    }
}
