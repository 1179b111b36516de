//! From a shader to SPIR-V: [`Module`] parses and validates once, then translates one entry point at a time.
//!
//! What is done depends on the language: text goes through naga (`text.rs`), SPIR-V of other compilers is checked and gets
//! bounds (`binary.rs`). Both yield a [`Translated`], and from there on a kernel is a kernel.
//! Read next: `text.rs`, then `check.rs`.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::binary::{Binary, Chosen, DeviceBounds};
use crate::error::{Error, Result};
use crate::fold::Fold;
use crate::names::{Names, nearest};
use crate::sanitize::{Sanitize, Sanitized};
use crate::scalar::ScalarValue;
use crate::signature::Signature;
use crate::sized::Sizes;
use crate::source::{Language, Source, Trust};
use crate::subgroups::Subgroups;
use crate::text::Text;

/// naga recurses with the shader's nesting, up to a depth that may exceed a small thread's stack.
const STACK_BYTES: usize = 32 << 20;

/// How a kernel is translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Options {
    /// What happens to an index out of range.
    pub bounds: Bounds,
    /// Whether the shader's author promises that each element of shared memory is written before it is read. Otherwise
    /// shared memory starts as zeros, as WGSL says.
    pub assume_written: bool,
    /// Whether the device is opened with `shaderZeroInitializeWorkgroupMemory`, and the driver zeroes shared memory.
    /// Otherwise the first invocation of a workgroup does, and the others wait for it.
    pub driver_zeroes: bool,
    /// What is done about loops that may never end.
    pub loops: Loops,
    /// Whether integer division by zero and overflow of the least integer are left undefined, for speed.
    ///
    /// By default they are defined as in WGSL: `x / 0` is `x`, `x % 0` is `0`.
    pub unchecked_division: bool,
    /// Whether `dot4I8Packed` and `dot4U8Packed` may use the device's instruction (`shaderIntegerDotProduct`).
    pub integer_dot_product: bool,
    /// The most bytes of a `var<uniform>`; one that declares more becomes read-only storage. `None` leaves all as they are.
    pub max_uniform_bytes: Option<u32>,
    /// Whether the device is opened with `robustBufferAccess2`, exact to the byte, and [`Bounds::Checked`] may leave buffers
    /// to it.
    pub robust_buffers: bool,
    /// Whether the device is opened with `cooperativeMatrixRobustBufferAccess`: only then are cooperative matrices in buffers
    /// bounded for SPIR-V of other compilers.
    pub robust_matrices: bool,
    /// Whether names and the source text go into the SPIR-V, for debuggers and profilers.
    pub debug_info: bool,
    /// Whether the kernel gets checks that find its faults while it runs. Nothing else changes without.
    pub sanitize: Option<Sanitize>,
    /// Which subgroups it runs with.
    pub subgroups: Subgroups,
    /// Whether it is to run over several axes what it sees along one.
    pub fold: Option<Fold>,
}

/// What happens to an index out of range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Bounds {
    /// It is harmless.
    ///
    /// In buffers, a read gives zero and a write does nothing. So a kernel without an index check that is launched with more
    /// invocations than items leaves the last item alone, where clamping the index would let all the surplus invocations
    /// race for it. In private and workgroup arrays and in vectors the index is clamped instead: these have a fixed length
    /// that the author knows, and a clamp costs no branch.
    ///
    /// One exception: an atomic operation (other than `atomicLoad` and `atomicStore`) on an element of a runtime array, or at
    /// a computed index, has no form that does nothing, so an entry point with one in a buffer clamps in all its buffers.
    /// With [`Options::robust_buffers`] a kernel whose indices pick whole elements leaves all this to the device.
    /// [`Translated::buffer_bounds`] says which it was. A kernel with cooperative matrices is refused, since nothing checks where
    /// their rows lie; it has to be [`Bounds::Unchecked`].
    #[default]
    Checked,
    /// It is undefined behaviour. The kernel's author answers for every index.
    Unchecked,
}

/// What is done about loops that may never end.
///
/// A driver's compiler may assume that every loop ends, and leave out a check of an index that can only fail behind a loop
/// that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Loops {
    /// Each ends: by what is written, or else after 2⁶⁴ - 1 rounds, which are counted.
    Bounded,
    /// The kernel's author promises that every loop ends. A loop that does not is undefined behaviour.
    AssumeFinite,
}

impl Loops {
    /// What kernels are built with unless their builder says otherwise. `docs/decisions/035` has the figures.
    pub const DEFAULT: Self = Self::Bounded;
}

impl Default for Loops {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a translated kernel does with an index out of range of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BufferBounds {
    /// Reads give zero, writes do nothing.
    ReadZeroSkipWrite,
    /// The index is clamped to the last element.
    Clamp,
    /// Left to the device's `robustBufferAccess2`: reads outside what is bound give zero, writes and atomic operations there
    /// do nothing. An index whose byte offset passes 4 GiB may count from the start again, so reach the same array.
    Robust,
    /// Undefined behaviour.
    Unchecked,
    /// What the driver does: SPIR-V of [`Source::spirv_unchecked`] is taken as it is.
    Driver,
}

/// One entry point as SPIR-V, with what it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Translated {
    /// SPIR-V 1.4, which every Vulkan 1.2 driver reads, or what the source was.
    pub spirv: Vec<u32>,
    /// What it takes and needs.
    pub signature: Signature,
    /// The entry point's name in the SPIR-V.
    pub entry: String,
    /// What became of [`Options::bounds`].
    pub buffer_bounds: BufferBounds,
    /// Values of specialisation constants, by number. naga's kernels have none: their values are in the SPIR-V.
    pub specialization: Vec<(u32, ScalarValue)>,
    /// What the checks need and say, if [`Options::sanitize`] asked for them.
    pub sanitized: Option<Sanitized>,
    /// The source's name.
    pub source_name: String,
    /// What became of [`Options::fold`].
    pub fold: Option<Fold>,
    /// Whether it asks how many workgroups there are.
    pub counts_workgroups: bool,
}

/// A shader that parses and is valid. Translating it needs no further look at its text.
#[derive(Clone, Debug)]
pub struct Module {
    source_name: String,
    form: Form,
}

/// What a shader was parsed to.
#[derive(Clone, Debug)]
enum Form {
    /// Text, through naga.
    Text(Box<Text>),
    /// SPIR-V, which is not translated.
    Binary(Box<Binary>, Trust),
}

impl Module {
    /// Parses and validates a shader. A millisecond for one of usual size; remember the result.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] or [`Error::Invalid`] with the place and the source lines; [`Error::Malformed`] for SPIR-V;
    /// [`Error::Library`] for one with anything but WGSL.
    /// [`Error::CompilerPanicked`] when naga breaks on the text.
    pub fn parse(source: &Source) -> Result<Self> {
        let name = source.name();
        if let (Language::Glsl(_) | Language::Spirv { .. }, [first, ..]) = (source.language(), source.libraries()) {
            return Err(Error::Library { source_name: name.to_owned(), library: first.name.to_string() });
        }
        contain(name, || {
            let form = match source.language() {
                Language::Wgsl(text) => Form::Text(Box::new(Text::wgsl(name, text, source.libraries())?)),
                Language::Glsl(text) => Form::Text(Box::new(Text::glsl(name, text)?)),
                Language::Spirv { bytes, trust } => Form::Binary(Box::new(Binary::parse(name, bytes)?), *trust),
            };
            Ok(Self { source_name: name.to_owned(), form })
        })
    }

    /// The names of the compute entry points, in the order of the text.
    pub fn entry_points(&self) -> impl Iterator<Item = &str> {
        let names: Vec<&str> = match &self.form {
            Form::Text(text) => text.entry_points().collect(),
            Form::Binary(binary, _) => binary.entry_points().collect(),
        };
        names.into_iter()
    }

    /// The names of the constants that can be set, in the order of the text; those of SPIR-V by number. WGSL's constants
    /// without a name are not among them.
    #[must_use]
    pub fn constant_names(&self) -> Names {
        match &self.form {
            Form::Text(text) => text.constant_names(),
            Form::Binary(binary, _) => binary.constant_names(),
        }
    }

    /// Translates one entry point, the only one if `entry` is `None`, with values for its constants.
    ///
    /// A constant is called by its name, or by its `@id` or `constant_id` in digits. Constants of other entry points may be
    /// set; they have no effect here. Constants of SPIR-V become specialisation constants.
    ///
    /// With [`Bounds::Checked`], SPIR-V of [`Source::spirv`] gets bounds; [`Options::robust_buffers`] and
    /// [`Options::robust_matrices`] leave those of buffers to a device that has them. If the module declares capabilities that
    /// only other entry points need, these entry points are left out. The words are not validated here: building a kernel does
    /// that. Words that were made with [`Bounds::Unchecked`] get their bounds back when [`Source::spirv_words`] takes them.
    ///
    /// # Errors
    ///
    /// [`Error::NoEntryPoint`], [`Error::AmbiguousEntryPoint`] or [`Error::UnknownEntryPoint`] about the entry point;
    /// [`Error::UnknownConstant`], [`Error::DuplicateConstant`], [`Error::MissingConstant`], [`Error::BadConstant`] or
    /// [`Error::Constants`] about the constants; [`Error::Unsupported`] for textures and other things that are no buffers;
    /// [`Error::Spirv`] where naga's writer ends. Of SPIR-V, [`Error::Malformed`], [`Error::Unbounded`] for an access that
    /// nothing can bound, and [`Error::NotTranslated`] for
    /// [`Options::assume_written`], [`Options::sanitize`] and [`Options::fold`].
    pub fn translate(
        &self,
        entry: Option<&str>,
        constants: &BTreeMap<String, f64>,
        options: &Options,
    ) -> Result<Translated> {
        let entry = self.choose_entry(entry)?;
        contain(&self.source_name, || match &self.form {
            Form::Text(text) => text.translate(entry, constants, options),
            Form::Binary(binary, trust) => self.take_spirv((binary, *trust), entry, constants, options),
        })
    }

    /// Adds to constants those that these sizes of an entry point are.
    pub(crate) fn constants_for(
        &self,
        entry: Option<&str>,
        sizes: &Sizes,
        mut constants: BTreeMap<String, f64>,
    ) -> Result<BTreeMap<String, f64>> {
        if sizes.is_empty() {
            return Ok(constants);
        }
        let entry = self.choose_entry(entry)?;
        match &self.form {
            Form::Text(text) => sizes.apply(text.module(), entry, &mut constants)?,
            Form::Binary(..) => {
                let (source_name, option) = (self.source_name.clone(), "setting sizes");
                return Err(Error::NotTranslated { source_name, option });
            }
        }
        Ok(constants)
    }

    fn take_spirv(
        &self,
        (binary, trust): (&Binary, Trust),
        entry: &str,
        constants: &BTreeMap<String, f64>,
        options: &Options,
    ) -> Result<Translated> {
        let asked = [
            (options.assume_written, "assuming that shared memory is written"),
            (options.sanitize.is_some(), "sanitizing"),
            (options.fold.is_some(), "folding"),
        ];
        if let Some(&(_, option)) = asked.iter().find(|(is_asked, _)| *is_asked) {
            return Err(Error::NotTranslated { source_name: self.source_name.clone(), option });
        }
        let of_device = DeviceBounds { buffers: options.robust_buffers, matrices: options.robust_matrices };
        let (bounds, buffer_bounds) = match (trust, options.bounds) {
            (Trust::Caller, _) | (_, Bounds::Unchecked) => (None, BufferBounds::Driver),
            (Trust::Validated, Bounds::Checked) if options.robust_buffers => (Some(of_device), BufferBounds::Robust),
            (Trust::Validated, Bounds::Checked) => (Some(of_device), BufferBounds::Clamp),
        };
        let chosen = binary.choose(&self.source_name, entry, constants, bounds)?;
        let Chosen { spirv, mut signature, specialization } = chosen;
        signature.subgroups = options.subgroups;
        Ok(Translated {
            spirv,
            signature,
            entry: entry.to_owned(),
            buffer_bounds,
            specialization,
            sanitized: None,
            source_name: self.source_name.clone(),
            fold: None,
            counts_workgroups: false, // Nobody asks, since it is not folded.
        })
    }

    fn choose_entry<'a>(&'a self, entry: Option<&str>) -> Result<&'a str> {
        let found: Vec<_> = self.entry_points().collect();
        let source_name = self.source_name.clone();
        let expected = match self.form {
            Form::Text(_) => "`@compute @workgroup_size(64) fn …`",
            Form::Binary(..) => "`OpEntryPoint GLCompute`",
        };
        match (entry, found.as_slice()) {
            (_, []) => Err(Error::NoEntryPoint { source_name, expected }),
            (None, [only]) => Ok(only),
            (None, _) => Err(Error::AmbiguousEntryPoint { source_name, found: found.into_iter().collect() }),
            (Some(entry), _) => found.iter().copied().find(|&name| name == entry).ok_or_else(|| {
                let (hint, found) = (nearest(entry, &found), found.into_iter().collect());
                Error::UnknownEntryPoint { source_name, entry: entry.to_owned(), found, hint }
            }),
        }
    }
}

/// Runs the compiler on a stack deep enough for hostile nesting, and turns its panic into an error.
fn contain<T: Send>(source_name: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let panicked = |payload: Box<dyn std::any::Any + Send>| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let reason = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Error::CompilerPanicked { source_name: source_name.to_owned(), reason: reason.to_owned() }
    };
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("vkarray-compile".to_owned()).stack_size(STACK_BYTES);
        let worker = builder
            .spawn_scoped(scope, || std::panic::catch_unwind(AssertUnwindSafe(work)))
            .map_err(|source| Error::CompilerThread { source_name: source_name.to_owned(), source })?;
        worker.join().and_then(|result| result).map_err(panicked)?
    })
}

#[cfg(test)]
pub(crate) mod tests;
