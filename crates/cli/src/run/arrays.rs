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

/// The value of an argument of a step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepArgument {
    /// The name of an array, or of several for an array of bindings.
    Arrays(Vec<String>),
    /// The number of a push constant, or the numbers of a vector. They are parsed when the type of the push constant is
    /// known.
    Numbers(Vec<String>),
    /// A sampler, or that of an image that has its own.
    Sampler(Sampler),
}

/// What the text of an argument describes: the value of the argument, and the arrays that the value names. Several arrays
/// of an argument `b` are called `b[0]`, `b[1]` and so on.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) arrays: Vec<Described>,
    pub(crate) argument: StepArgument,
}

impl Description {
    /// Reads a value of `--arg`. Files are looked for in `folder`.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] for a number that is padded or in a list of arrays, or an unknown option of a sampler; and the errors of [`Value::parse`].
    pub(crate) fn parse(name: &str, text: &str, folder: &Path) -> Result<Self> {
        if let Some(sampler) = parse_sampler(text) {
            let argument = StepArgument::Sampler(sampler.map_err(|reason| value_error(name, text, reason))?);
            return Ok(Self { arrays: Vec::new(), argument });
        }
        let list = split_list(text);
        if list.len() > 1 {
            let names: Vec<_> = (0..list.len()).map(|at| format!("{name}[{at}]")).collect();
            let one = |(name, text): (&String, &str)| Self::parse(name, text, folder)?.array(name);
            let arrays = names.iter().zip(list).map(one).collect::<Result<_>>()?;
            return Ok(Self { arrays, argument: StepArgument::Arrays(names) });
        }
        let padded = text.strip_prefix("padded:");
        match Value::parse(name, padded.unwrap_or(text))? {
            Value::Numbers(_) if padded.is_some() => Err(value_error(name, text, "only an array can be padded")),
            Value::Numbers(numbers) => Ok(Self { arrays: Vec::new(), argument: StepArgument::Numbers(numbers) }),
            value => {
                let (name, value) = (name.to_owned(), value.in_folder(folder));
                let argument = StepArgument::Arrays(vec![name.clone()]);
                Ok(Self { arrays: vec![Described { name, value, is_padded: padded.is_some() }], argument })
            }
        }
    }

    /// The described array.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] if the description is a number or a list.
    pub(crate) fn array(mut self, name: &str) -> Result<Described> {
        let (text, reason) = match self.argument {
            StepArgument::Arrays(_) if self.arrays.len() == 1 => return Ok(self.arrays.remove(0)),
            StepArgument::Arrays(names) => {
                (names.join(","), "a pipeline names arrays one by one; a step lists their names")
            }
            StepArgument::Sampler(_) => ("a sampler".to_owned(), "a pipeline names arrays; steps have its samplers"),
            StepArgument::Numbers(numbers) => (numbers.join(","), "a pipeline names arrays; steps have its numbers"),
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
