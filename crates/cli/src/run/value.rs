//! Parsing of `--arg NAME=VALUE` and similar flags, without reading files or the shader.
//!
//! `vkarray run --help` shows the grammar. `plan.rs` matches values with the shader's parameters; `generate.rs` makes a
//! [`Generated`] array.

use std::path::{Path, PathBuf};

use super::generate::{Fill, Generated};
use crate::array::picture::PICTURE_TYPES;
use crate::array::with_type;
use crate::error::{Error, Result};
use crate::files::Files;
use vkarray::DType;
use vkarray::kernel::ScalarValue;

/// The names of generators, for messages.
const GENERATORS: &str = "`zeros:`, `full:`, `arange:`, `linspace:`, `random:`, `normal:`";

/// The value of an `--arg`, after the `=`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `@x.npy`.
    Npy(PathBuf),
    /// `@x.npz:a`.
    Npz(PathBuf, String),
    /// `@x.png`, `@x.jpg`, with options as in `@x.png,channels=3,dtype=u8`.
    Picture(PathBuf, PictureOptions),
    /// `@-`: a `.npy` file or an image from standard input.
    Stdin(PictureOptions),
    /// `zeros:f32[2,3]`, or another of [`GENERATORS`].
    Generated(Generated),
    /// A number, or the numbers of a vector. They are parsed when the type of their push constant is known.
    Numbers(Vec<String>),
}

/// How an image becomes an array. An option that is not given follows from the shader, or from the image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PictureOptions {
    pub(crate) channels: Option<usize>,
    /// One of [`PICTURE_TYPES`].
    pub(crate) dtype: Option<DType>,
}

impl PictureOptions {
    /// These options, completed by the options of `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { channels: self.channels.or(other.channels), dtype: self.dtype.or(other.dtype) }
    }
}

/// The values of a list of arrays: a comma before `@` or the name of a generator begins the next.
pub(crate) fn split_list(text: &str) -> Vec<&str> {
    let begins = |rest: &str| {
        let name = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        rest.starts_with('@') || (!name.is_empty() && rest[name.len()..].starts_with(':'))
    };
    let (mut values, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(',').filter(|(at, _)| begins(&text[at + 1..])) {
        values.push(&text[start..at]);
        start = at + 1;
    }
    values.push(&text[start..]);
    values
}

impl Value {
    /// Reads a value.
    ///
    /// # Errors
    ///
    /// [`Error::Value`], [`Error::InputExtension`], and the errors of [`Generated::check`], which contain `name`.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self> {
        if let Some(file) = text.strip_prefix('@') {
            return parse_file(name, file);
        }
        if let Some((fill, rest)) = text.split_once(':') {
            let generated = parse_generated(fill, rest).map_err(|reason| value_error(name, text, reason))?;
            generated.check(name)?;
            return Ok(Self::Generated(generated));
        }
        // The shader decides the type, so the text is kept. The test here only finds whether some type could read it.
        let readable = [DType::F64, DType::I64, DType::U64, DType::Bool];
        let is_number = |text: &str| readable.iter().any(|&dtype| ScalarValue::parse(text, dtype).is_ok());
        let numbers: Vec<String> = text.split(',').map(|number| number.trim().to_owned()).collect();
        if !numbers.iter().all(|number| is_number(number)) {
            let reason = format!("it is neither `@FILE`, nor a number, nor one of {GENERATORS}");
            return Err(value_error(name, text, reason));
        }
        Ok(Self::Numbers(numbers))
    }

    /// The file that the value is read from.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Npy(path) | Self::Picture(path, _) | Self::Npz(path, _) => Some(path),
            Self::Stdin(_) | Self::Generated(_) | Self::Numbers(_) => None,
        }
    }

    /// Notes the file of the array `name` among the files of the call.
    pub(crate) fn note_file(&self, name: &str, files: &mut Files) {
        // An archive may have arrays that an output would not write again.
        let name = (!matches!(self, Self::Npz(..))).then_some(name);
        self.path().into_iter().for_each(|path| files.read(path, name));
    }

    /// The value, with its file looked for in `folder`.
    pub(crate) fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Npy(path) => Self::Npy(folder.join(path)),
            Self::Npz(path, array) => Self::Npz(folder.join(path), array),
            Self::Picture(path, options) => Self::Picture(folder.join(path), options),
            Self::Stdin(_) | Self::Generated(_) | Self::Numbers(_) => self,
        }
    }
}

pub(super) fn value_error(name: &str, text: &str, reason: impl Into<String>) -> Error {
    Error::Value { name: name.to_owned(), text: text.to_owned(), reason: reason.into() }
}

/// Splits `NAME=VALUE` at the first `=`. The error names `flag`.
///
/// # Errors
///
/// [`Error::NotAPair`].
pub(crate) fn split_pair<'a>(flag: &'static str, text: &'a str) -> Result<(&'a str, &'a str)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name, value)),
        _ => Err(Error::NotAPair { flag, text: text.to_owned() }),
    }
}

/// Reads one to three counts of `--covering` or `--groups`. Unless `allows_empty` is set, none of them is zero.
///
/// # Errors
///
/// [`Error::Grid`].
pub(crate) fn parse_counts(flag: &'static str, text: &str, allows_empty: bool) -> Result<Vec<usize>> {
    let error = |reason| Error::Grid { flag, text: text.to_owned(), reason };
    let counts: Option<Vec<usize>> = text.split(',').map(|count| count.trim().parse().ok()).collect();
    let counts = counts.ok_or_else(|| error("expected whole numbers, separated by commas"))?;
    if counts.len() > 3 {
        return Err(error("there are three axes at most"));
    }
    if counts.contains(&0) && !allows_empty {
        return Err(error("a count of zero runs nothing"));
    }
    Ok(counts)
}

/// Parses the text after `@` in a value: the name of a file, and options that are separated by commas.
///
/// # Errors
///
/// [`Error::Value`], [`Error::InputExtension`].
pub(crate) fn parse_file(name: &str, text: &str) -> Result<Value> {
    let error = |reason: &str| value_error(name, text, reason);
    let (mut path, mut options) = (text, PictureOptions::default());
    while let Some((rest, option)) = path.rsplit_once(',') {
        match option.split_once('=') {
            Some(("channels", channels)) => options.channels = Some(parse_channels(name, text, channels)?),
            Some(("dtype", dtype)) => {
                let dtype = dtype.parse().ok().filter(|dtype| PICTURE_TYPES.contains(dtype));
                options.dtype =
                    Some(dtype.ok_or_else(|| error("the elements of an image are u8, u16, i32, u32 or f32"))?);
            }
            _ => break,
        }
        path = rest;
    }
    if path == "-" {
        return Ok(Value::Stdin(options));
    }
    let value = match (split_archive(path), extension(Path::new(path)).as_deref()) {
        (Some((archive, array)), _) => Value::Npz(archive, array),
        (None, Some("npz")) => return Err(error("name an array of the archive, as in `@x.npz:a`")),
        (None, Some("npy")) => Value::Npy(path.into()),
        (None, Some("png" | "jpg" | "jpeg")) => return Ok(Value::Picture(path.into(), options)),
        _ => return Err(Error::InputExtension { name: name.to_owned(), path: path.into() }),
    };
    if options != PictureOptions::default() {
        return Err(error("only an image is read with a number of channels or a type"));
    }
    Ok(value)
}

/// Splits `x.npz:a` into the archive and the name of an array.
pub(crate) fn split_archive(text: &str) -> Option<(PathBuf, String)> {
    let (path, array) = text.rsplit_once(':')?;
    let is_archive = extension(Path::new(path)).as_deref() == Some("npz") && !array.is_empty();
    is_archive.then(|| (path.into(), array.to_owned()))
}

/// The extension of a path in small letters.
pub(crate) fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase)
}

fn parse_channels(name: &str, text: &str, channels: &str) -> Result<usize> {
    match channels {
        "1" => Ok(1),
        "3" => Ok(3),
        "4" => Ok(4),
        _ => Err(value_error(name, text, format!("`{channels}` channels are not 1, 3 or 4"))),
    }
}

/// Parses the text after the name of a generator: a type, a shape, options.
fn parse_generated(name: &str, rest: &str) -> std::result::Result<Generated, String> {
    const FORM: &str = "expected a type and a shape, such as `f32[512,512]`";
    let (dtype, rest) = rest.split_once('[').ok_or(FORM)?;
    let (shape, options) = rest.split_once(']').ok_or(FORM)?;
    let unknown = || format!("`{dtype}` is not one of bool, i8, u8, i16, u16, f16, i32, u32, f32, i64, u64, f64");
    let dtype: DType = dtype.parse().map_err(|_| unknown())?;
    with_type!(dtype, T => std::mem::size_of::<T>()).ok_or_else(unknown)?;
    let shape = match shape.trim() {
        "" => Vec::new(),
        shape => shape
            .split(',')
            .map(|len| len.trim().parse())
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| format!("`[{shape}]` is not a shape: expected whole numbers, separated by commas"))?,
    };
    let fill = parse_fill(name, parse_options(options)?)?;
    if matches!(fill, Fill::Linspace { .. } | Fill::Normal { .. }) && !dtype.is_float() {
        return Err(format!("`{name}:` makes floats, and {dtype} is none"));
    }
    Ok(Generated { fill, dtype, shape })
}

/// What a generator fills an array with, by its name and its options.
fn parse_fill(name: &str, mut options: Vec<(&str, &str)>) -> std::result::Result<Fill, String> {
    let allowed: &[&str] = match name {
        "zeros" | "arange" => &[],
        "full" => &["value"],
        "linspace" => &["start", "stop"],
        "random" | "normal" => &["seed"],
        _ => return Err(format!("`{name}:` is not one of {GENERATORS}")),
    };
    let mut take = |name| options.iter().position(|(own, _)| *own == name).map(|at| options.swap_remove(at).1);
    let values: Vec<Option<&str>> = allowed.iter().map(|&option| take(option)).collect();
    if let Some((option, _)) = options.first() {
        return Err(match allowed {
            [] => format!("`{name}:` has no option `{option}`"),
            allowed => format!("`{name}:` has no option `{option}`, only `{}`, each once", allowed.join("` and `")),
        });
    }
    let seed = |text: Option<&str>| {
        let seed = text.unwrap_or("0");
        seed.parse().map_err(|_| format!("`{seed}` is not a seed: expected a whole number"))
    };
    Ok(match (name, values.as_slice()) {
        ("zeros", _) => Fill::Zeros,
        ("arange", _) => Fill::Arange,
        ("full", [Some(value)]) => Fill::Full((*value).to_owned()),
        ("full", _) => return Err("`full:` takes a value, such as `,value=2.5`".to_owned()),
        ("linspace", [Some(start), Some(stop)]) => {
            Fill::Linspace { start: (*start).to_owned(), stop: (*stop).to_owned() }
        }
        ("linspace", _) => return Err("`linspace:` takes its ends, such as `,start=0,stop=1`".to_owned()),
        ("normal", seeds) => Fill::Normal { seed: seed(seeds[0])? },
        (_, seeds) => Fill::Random { seed: seed(seeds[0])? },
    })
}

/// Reads `,option=value,...`, or nothing.
fn parse_options(text: &str) -> std::result::Result<Vec<(&str, &str)>, String> {
    let wrong = || format!("expected `,option=value` after the shape, found `{text}`");
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let options = text.strip_prefix(',').ok_or_else(wrong)?;
    options.split(',').map(|option| option.split_once('=').ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests;
