//! Modules of SPIR-V: [`Binary`], checked and reflected here, and given bounds where the device has none.
//!
//! A module comes from a file that may be damaged or hostile. `instruction.rs` cuts it by the grammar of `rspirv`, `read.rs`
//! checks its structure and collects its declarations, `constants.rs` and `types.rs` interpret them, `uses.rs` finds out what
//! an entry point reads and writes, and `reflect.rs` makes the signature. `kept.rs` leaves out what only other entry points
//! need, and `bounded.rs` adds bounds to indices. Wrong input is an [`Error::Malformed`] with the number of the wrong word.
//!
//! Not checked here is what happens inside functions: types of operands, blocks and loops. No driver checks these, so
//! `validator.rs` has `spirv-val` check them. Why not `spirq` or a parse by `rspirv` itself: `docs/decisions/015`; who
//! answers for a module: `docs/decisions/032`.
//! Called by `translate/` of `vkarray-shader`. Read next: `instruction.rs`.

mod atomics;
pub(crate) mod binding_arrays;
mod bounded;
pub(crate) mod capabilities;
pub(crate) mod code;
pub(crate) mod constants;
pub(crate) mod contents;
pub(crate) mod extensions;
pub(crate) mod folded;
pub(crate) mod instruction;
mod kept;
pub(crate) mod lines;
mod matrices;
pub(crate) mod read;
pub(crate) mod reflect;
pub(crate) mod sections;
pub(crate) mod sources;
mod types;
mod unique_names;
pub(crate) mod uses;
pub(crate) mod validator;
pub(crate) mod words;
pub(crate) mod zero_shared;

use std::collections::{BTreeMap, HashSet};

use spirv::ExecutionModel;

use crate::error::{Error, Malformed, Result};
use crate::names::{Names, nearest};
use crate::signature::{Bindings, Capability, MAX_COUNTED, MatrixUse, ScalarValue, Signature, range_of};
use binding_arrays::counted;
use bounded::bounded;
use capabilities::{capabilities, declared};
use constants::{Values, adjustable, numbered};
use contents::{Contents, EntryPoint};
use instruction::{Checked, MalformedAt};
use kept::kept;
use matrices::matrices;
use reflect::{malformed, name_of};
use uses::uses;

/// A module of SPIR-V whose structure is sound.
#[derive(Clone, Debug)]
pub struct Binary {
    words: Vec<u32>,
    contents: Contents,
}

/// What a device bounds itself. All else gets bounds in the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceBounds {
    /// Accesses to buffers, to the byte.
    pub buffers: bool,
    /// Cooperative matrices that are loaded from buffers, and stored.
    pub matrices: bool,
    /// Indices into arrays of storage buffers, and of uniform buffers, that differ between invocations.
    pub non_uniform: [bool; 2],
}

/// How an entry point is made a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryOptions {
    /// Bounds for indices, except what the device bounds. Without them, the caller of an unsafe function promised that all
    /// indices are in range.
    pub bounds: Option<DeviceBounds>,
    /// Lengths of the arrays of bindings without one, in the order of set and binding.
    pub counts: [u32; MAX_COUNTED],
    /// Whether memory that is reached by its address is inside the arrays of the call.
    pub assume_addresses: bool,
}

/// An entry point, reflected, before its indices have bounds.
#[derive(Clone, Copy, Debug)]
pub struct ChosenPart<'a> {
    pub(crate) words: &'a [u32],
    pub(crate) contents: &'a Contents,
    pub(crate) values: &'a Values,
    pub(crate) entry: &'a EntryPoint,
    pub(crate) signature: &'a Signature,
    /// The module of which this is a part.
    pub(crate) whole: &'a Contents,
}

/// What puts checks into a part, and says something about them.
pub type Check<'a, T> = dyn Fn(ChosenPart<'_>) -> Result<(Vec<u32>, T)> + 'a;

/// What a kernel is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Its words.
    pub spirv: Vec<u32>,
    /// What it takes and needs.
    pub signature: Signature,
    /// Constants that differ from their default, by number.
    pub specialization: Vec<(u32, ScalarValue)>,
}

impl Binary {
    /// Reads and checks a module.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self> {
        Self::of_words(source_name, words_of(bytes).map_err(|fault| malformed(source_name, fault))?)
    }

    /// Checks a module.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn of_words(source_name: &str, words: Vec<u32>) -> Result<Self> {
        let checked = Self::read(words).and_then(|binary| binary.check_stages().map(|()| binary));
        checked.map_err(|fault| malformed(source_name, fault))
    }

    /// A module whose stages are not checked.
    fn read(words: Vec<u32>) -> Checked<Self> {
        read::read(&words).map(|contents| Self { words, contents })
    }

    /// The compute entry points, in the module's order.
    pub fn entry_points(&self) -> impl Iterator<Item = &str> {
        self.compute().map(|entry| entry.name.as_str())
    }

    /// The names of the constants that can be set, by number.
    pub fn constant_names(&self) -> Names {
        let name = |constant: constants::Adjustable<'_>| name_of(&self.contents, constant.declared.id, constant.number);
        adjustable(&self.contents).into_iter().map(name).collect()
    }

    fn compute(&self) -> impl Iterator<Item = &EntryPoint> {
        self.contents.entry_points.iter().filter(|entry| entry.model == Some(ExecutionModel::GLCompute))
    }

    /// Refuses a module for another interface, and entry points that a name does not tell apart.
    fn check_stages(&self) -> Result<(), MalformedAt> {
        let mut names = HashSet::new();
        let fault = |entry: &EntryPoint, problem| Err(MalformedAt { word: entry.at, problem });
        for entry in self.compute() {
            if !names.insert(&entry.name) {
                return fault(entry, Malformed::EntryTwice { name: entry.name.clone() });
            }
            if entry.name.is_empty() || entry.name.chars().any(char::is_control) {
                let what = format!("an entry point called {:?}", entry.name);
                return fault(entry, Malformed::Foreign { what, advice: "give it a name that can be printed" });
            }
        }
        let kernel = self.contents.entry_points.iter().find(|entry| entry.model == Some(ExecutionModel::Kernel));
        match kernel {
            Some(entry) if names.is_empty() => {
                let what = format!("`{}`, an OpenCL kernel,", entry.name.escape_debug());
                let advice = "compile it with clspv, which makes a GLCompute entry point of it";
                fault(entry, Malformed::Foreign { what, advice })
            }
            _ => Ok(()),
        }
    }

    fn entry(&self, name: &str) -> &EntryPoint {
        self.compute().find(|point| point.name == name).expect("the caller took it from `entry_points`")
    }

    /// Reflects one entry point, which exists, with values for its constants.
    ///
    /// # Errors
    ///
    /// The errors about constants, [`Error::Malformed`], [`Error::Unsupported`], [`Error::BindingClash`], [`Error::Unbounded`]
    /// and [`Error::Addresses`], and those of the checks.
    pub fn choose<T>(
        &self,
        (source_name, entry): (&str, &str),
        given: &BTreeMap<String, f64>,
        options: EntryOptions,
        checks: Option<&Check<'_, T>>,
    ) -> Result<(Chosen, Option<T>)> {
        let set = self.constant_values(entry, given)?;
        let faulty = |fault| malformed(source_name, fault);
        self.check_numbers().map_err(faulty)?;
        let whole = self.entry(entry);
        let part = kept(&self.words, &self.contents, whole).and_then(|words| words.map(Self::read).transpose());
        let part = part.map_err(faulty)?;
        let part = part.as_ref().unwrap_or(self);
        let used = uses(&part.words, &part.contents, part.entry(entry).function).map_err(faulty)?;
        let (with_counts, counts) = counted(&part.words, &part.contents, &used, options.counts).unzip();
        let with_counts = with_counts.map(Self::read).transpose().map_err(faulty)?;
        let binary @ Self { words, contents } = with_counts.as_ref().unwrap_or(part);
        let point = binary.entry(entry);
        let values = Values::compute(contents, &set);
        let mut signature = reflect::signature(source_name, binary, point, &values)?;
        for param in &mut signature.params {
            let count = counts.as_ref().and_then(|counts| counts.get(&(Some(param.group), Some(param.binding))));
            param.bindings = count.map_or(param.bindings, |&count| Bindings::Counted(count));
        }
        if let Some(address) = signature.address().filter(|_| !options.assume_addresses) {
            return Err(Error::Addresses { kernel: entry.to_owned(), address });
        }
        signature.matrices = matrices(binary, point, &values).map_err(faulty)?;
        let part =
            ChosenPart { words, contents, values: &values, entry: point, signature: &signature, whole: &self.contents };
        let (spirv, checked) = finished((source_name, part), options.bounds, checks, &set)?;
        signature.capabilities = capabilities(&declared(&spirv), &spirv); // With what the bounds declare.
        signature.add_capabilities_of_lists();
        Ok((Chosen { spirv, signature, specialization: set.into_iter().collect() }, checked))
    }

    /// Finds the constants that names or numbers mean, and checks the values against their types.
    fn constant_values(&self, entry: &str, given: &BTreeMap<String, f64>) -> Result<BTreeMap<u32, ScalarValue>> {
        let mut set = BTreeMap::new();
        for (key, &value) in given {
            let kernel = || entry.to_owned();
            let is_called = |name: &str, number: u32| name == key || number.to_string() == *key;
            let found = adjustable(&self.contents).into_iter().find(|constant| {
                is_called(&name_of(&self.contents, constant.declared.id, constant.number), constant.number)
            });
            let Some(constant) = found else {
                let found = self.constant_names();
                let hint = nearest(key, &found.0);
                return Err(Error::UnknownConstant { kernel: kernel(), constant: key.clone(), found, hint });
            };
            let name = || name_of(&self.contents, constant.declared.id, constant.number);
            let dtype = constant.default.dtype();
            let Some(scalar) = ScalarValue::from_f64(value, dtype) else {
                let reason = range_of(dtype);
                return Err(Error::BadConstant { kernel: kernel(), constant: name(), dtype, value, reason });
            };
            if set.insert(constant.number, scalar).is_some() {
                return Err(Error::DuplicateConstant { kernel: kernel(), constant: name(), id: constant.number });
            }
        }
        Ok(set)
    }

    /// Refuses two constants of one number and different types. Of one type, or as integers of one size, they are set
    /// together: glslang makes two of a constant that is also a workgroup's size, which is a `uint`.
    fn check_numbers(&self) -> Result<(), MalformedAt> {
        let mut seen = BTreeMap::new();
        for constant in numbered(&self.contents) {
            let (first, default) = *seen.entry(constant.number).or_insert((constant.declared.id, constant.default));
            let (one, other) = (default.dtype(), constant.default.dtype());
            let are_alike = one.is_integer() && other.is_integer() && one.itemsize() == other.itemsize();
            if one != other && !are_alike {
                let ids = [first, constant.declared.id];
                let names = ids.map(|id| name_of(&self.contents, id, constant.number)).into_iter().collect();
                let problem = Malformed::SameConstant { id: constant.number, names };
                return Err(MalformedAt { word: constant.declared.at, problem });
            }
        }
        Ok(())
    }
}

/// The words of an entry point with checks, if there are to be any, and with bounds for its indices.
fn finished<T>(
    (source_name, part): (&str, ChosenPart<'_>),
    bounds: Option<DeviceBounds>,
    checks: Option<&Check<'_, T>>,
    set: &BTreeMap<u32, ScalarValue>,
) -> Result<(Vec<u32>, Option<T>)> {
    let bound = |words: &[u32], contents: &Contents, values: &Values| match bounds {
        None => Ok(words.to_vec()),
        Some(of_device) => bounded(source_name, words, contents, values, of_device),
    };
    let Some(checks) = checks else { return Ok((bound(part.words, part.contents, part.values)?, None)) };
    let (words, checked) = checks(part)?;
    let contents = read::read(&words).map_err(|fault| malformed(source_name, fault))?;
    Ok((bound(&words, &contents, &Values::compute(&contents, set))?, Some(checked)))
}

/// An entry point that naga wrote, with checks, if there are to be any, and with bounds for its indices, if it is to have any.
///
/// # Errors
///
/// [`Error::Malformed`], [`Error::Unbounded`], and those of the checks.
pub fn with_checks<T>(
    source_name: &str,
    words: Vec<u32>,
    signature: &Signature,
    bounds: Option<DeviceBounds>,
    checks: Option<&Check<'_, T>>,
) -> Result<(Vec<u32>, Option<T>)> {
    if bounds.is_none() && checks.is_none() {
        return Ok((words, None));
    }
    let binary = Binary::of_words(source_name, words)?;
    let Binary { words, contents } = &binary;
    let values = Values::compute(contents, &BTreeMap::new());
    let entry = binary.entry(&signature.entry);
    let part = ChosenPart { words, contents, values: &values, entry, signature, whole: contents };
    finished((source_name, part), bounds, checks, &BTreeMap::new())
}

/// The cooperative matrices of an entry point that naga wrote.
///
/// # Errors
///
/// [`Error::Malformed`].
pub fn matrices_of(
    source_name: &str,
    words: &[u32],
    entry: &str,
    capabilities: &[Capability],
) -> Result<Vec<MatrixUse>> {
    if !capabilities.contains(&Capability::CooperativeMatrix) {
        return Ok(Vec::new());
    }
    let binary = Binary::of_words(source_name, words.to_vec())?;
    let values = Values::compute(&binary.contents, &BTreeMap::new());
    matrices(&binary, binary.entry(entry), &values).map_err(|fault| malformed(source_name, fault))
}

/// The words of a file, in whichever byte order it was written.
fn words_of(bytes: &[u8]) -> Result<Vec<u32>, MalformedAt> {
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(MalformedAt { word: words.len(), problem: Malformed::Bytes { bytes: bytes.len() } });
    }
    let is_swapped = words.first().is_some_and(|first| u32::from_be_bytes(*first) == spirv::MAGIC_NUMBER);
    let word = |bytes: &[u8; 4]| if is_swapped { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
    Ok(words.iter().map(word).collect())
}

#[cfg(test)]
pub(crate) mod tests;
