//! From a shader to SPIR-V: [`Module`] parses and validates once, then translates one entry point at a time.
//!
//! What is done depends on the language: WGSL goes through naga (`text.rs`); SPIR-V of other compilers, and what is made of GLSL
//! (`glsl/mod.rs`), is checked and gets bounds (`binary/mod.rs` of `vkarray-spirv`). Both yield a [`Translated`], and from
//! there on a kernel is a kernel.
//! Read next: `text.rs`, then `call/check.rs`.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::thread;

use vkarray_spirv::Names;
use vkarray_spirv::internal::{
    Binary, Check, Chosen, ChosenPart, DeviceBounds, EntryOptions, InstrumentRequest, counts_workgroups, instrument,
    nearest, with_folded_launch, with_zeroed_shared, without_sources,
};

use crate::error::{Error, Result};
use crate::glsl;
use crate::translate::emit::write_checks;
use crate::translate::fold::Fold;
use crate::translate::options::{Bounds, BufferBounds, Options, Translated};
use crate::translate::sizes::Sizes;
use crate::translate::source::{Language, Source, Trust};
use crate::translate::text::Text;
use crate::translate::words::exact_floats::with_exact_floats;

/// naga recurses with the nesting of brackets, which it limits itself, and with the links of chains of operators, which
/// `chains.rs` limits. Memory is used only for the depth that is reached.
const STACK_BYTES: usize = 128 << 20;

/// A shader that parses and is valid. [`Module::translate`] makes a kernel of one of its entry points, without parsing again.
///
/// Programs that run kernels need no module: `KernelBuilder::build` does both. A module shows what a shader takes without a
/// device.
///
/// ```
/// use std::collections::{BTreeMap, HashMap};
/// use vkarray_shader::{Module, Options, Source};
///
/// let module = Module::parse(&Source::wgsl(
///     "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
///     @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] *= 2.0; }",
/// ))?;
/// let signature = module.translate(None, &BTreeMap::new(), &Options::default())?.signature;
/// assert_eq!(signature.to_string(), "double: workgroup 64×1×1\n  x  storage 0:0  read_write  array<f32>");
/// # Ok::<(), vkarray_shader::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    source_name: String,
    form: Parsed,
}

/// What a shader was parsed to.
#[derive(Clone, Debug)]
enum Parsed {
    /// WGSL, through naga.
    Text(Box<Text>),
    /// SPIR-V, which is not translated.
    Binary(Box<Binary>, Trust),
}

impl Module {
    /// Parses and validates a shader. It takes about a millisecond for a shader of usual size.
    ///
    /// ```
    /// use vkarray_shader::{Module, Source};
    ///
    /// let text = "@compute @workgroup_size(1) fn main() {
    ///     let limit: u32 = 1.5;
    /// }";
    /// let error = Module::parse(&Source::wgsl(text)).unwrap_err().to_string();
    /// assert!(error.starts_with("shader.wgsl:2:9: `limit` is declared as `u32`, but its value is a number with a fraction"));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] or [`Error::Invalid`] with the place and the source lines; [`SpirvError::Malformed`] for SPIR-V;
    /// [`Error::Library`] for one with anything but WGSL; [`Error::OnlyGlsl`] for a macro or an include folder with anything but
    /// GLSL; [`Error::GlslCompiler`] where nothing compiles GLSL.
    /// [`Error::CompilerPanicked`] when naga breaks on the text.
    ///
    /// [`SpirvError::Malformed`]: crate::SpirvError::Malformed
    pub fn parse(source: &Source) -> Result<Self> {
        let name = source.name();
        if let (Language::Glsl(_) | Language::Spirv { .. }, [first, ..]) =
            (&source.language, source.libraries.as_slice())
        {
            return Err(Error::Library { source_name: name.to_owned(), library: first.name.to_string() });
        }
        if let Some(what) = source.misplaced {
            return Err(Error::OnlyGlsl { source_name: name.to_owned(), what });
        }
        contain(name, || {
            let form = match &source.language {
                Language::Wgsl(text) => Parsed::Text(Box::new(Text::wgsl(name, text, &source.libraries)?)),
                Language::Glsl(glsl) => {
                    let words = glsl::compile(name, glsl)?;
                    Parsed::Binary(Box::new(Binary::of_words(name, words)?), Trust::Compiled)
                }
                Language::Spirv { bytes, trust } => Parsed::Binary(Box::new(Binary::parse(name, bytes)?), *trust),
            };
            Ok(Self { source_name: name.to_owned(), form })
        })
    }

    /// The names of the compute entry points, in the order of the text.
    ///
    /// ```
    /// use vkarray_shader::{Module, Source};
    ///
    /// let text = "@compute @workgroup_size(1) fn first() {} @compute @workgroup_size(1) fn second() {}";
    /// assert!(Module::parse(&Source::wgsl(text))?.entry_points().eq(["first", "second"]));
    /// # Ok::<(), vkarray_shader::Error>(())
    /// ```
    pub fn entry_points(&self) -> impl Iterator<Item = &str> {
        let names: Vec<&str> = match &self.form {
            Parsed::Text(text) => text.entry_points().collect(),
            Parsed::Binary(binary, _) => binary.entry_points().collect(),
        };
        names.into_iter()
    }

    /// The names of the constants that can be set, in the order of the text; those of SPIR-V by number. WGSL's constants
    /// without a name are not among them.
    ///
    /// ```
    /// use vkarray_shader::{Module, Source};
    ///
    /// let text = "override TILE: u32 = 16; @id(3) override GAIN: f32; @compute @workgroup_size(TILE) fn main() {}";
    /// assert_eq!(Module::parse(&Source::wgsl(text))?.constant_names().to_string(), "`TILE`, `GAIN`");
    /// # Ok::<(), vkarray_shader::Error>(())
    /// ```
    pub fn constant_names(&self) -> Names {
        match &self.form {
            Parsed::Text(text) => text.constant_names(),
            Parsed::Binary(binary, _) => binary.constant_names(),
        }
    }

    /// Translates one entry point, the only one if `entry` is `None`, with values for its constants.
    ///
    /// ```
    /// use vkarray_shader::{Module, Options, Source};
    ///
    /// let text = "override TILE: u32 = 16; @compute @workgroup_size(TILE, 2) fn main() {}";
    /// let constants = [("TILE".to_owned(), 8.0)].into();
    /// let translated = Module::parse(&Source::wgsl(text))?.translate(Some("main"), &constants, &Options::default())?;
    /// assert_eq!(translated.signature.workgroup_size, [8, 2, 1]);
    /// assert_eq!(translated.spirv[0], 0x0723_0203); // SPIR-V's first word.
    /// # Ok::<(), vkarray_shader::Error>(())
    /// ```
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
    /// [`Error::MissingConstant`] or [`Error::Constants`] about the constants; [`Error::Unwritable`] where naga's writer ends;
    /// [`Error::NotTranslated`] for [`Options::assume_written`], [`Options::fold`] and [`Bounds::Clamped`] of SPIR-V.
    ///
    /// In [`Error::Spirv`]: `UnknownConstant`, `DuplicateConstant` or `BadConstant` about the constants; `Unsupported` for
    /// textures and other things that are no buffers; of SPIR-V, `Malformed`, `Unbounded` for an access that nothing can bound,
    /// and `Addresses` for memory that is reached by its address without [`Options::assume_addresses`].
    pub fn translate(
        &self,
        entry: Option<&str>,
        constants: &BTreeMap<String, f64>,
        options: &Options,
    ) -> Result<Translated> {
        let entry = self.choose_entry(entry)?;
        contain(&self.source_name, || {
            let mut translated = match &self.form {
                Parsed::Text(text) => text.translate(entry, constants, options)?,
                Parsed::Binary(binary, trust) => self.take_spirv((binary, *trust), entry, constants, options)?,
            };
            if let Some(Fold { axes: [row, n_rows, _], n_workgroups }) = options.fold {
                let size = translated.signature.workgroup_size[0];
                translated.spirv = with_folded_launch(&translated.spirv, [row, n_rows], n_workgroups, size);
            }
            Ok(translated)
        })
    }

    /// Adds to constants those that these sizes of an entry point are.
    #[doc(hidden)]
    pub fn constants_for(
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
            Parsed::Text(text) => sizes.apply(&text.module, entry, &mut constants)?,
            Parsed::Binary(..) => {
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
        let is_ours = trust == Trust::Compiled;
        let asked = [
            (options.assume_written && !is_ours, "assuming that shared memory is written"),
            (options.fold.is_some() && !is_ours, "folding"),
            (options.bounds == Bounds::Clamped, "clamping indices"),
        ];
        if let Some(&(_, option)) = asked.iter().find(|(is_asked, _)| *is_asked) {
            return Err(Error::NotTranslated { source_name: self.source_name.clone(), option });
        }
        let of_device = DeviceBounds {
            buffers: options.robust_buffers,
            matrices: options.robust_matrices,
            non_uniform: options.non_uniform_bindings,
        };
        let (bounds, buffer_bounds) = match (trust, options.bounds) {
            (Trust::Caller, _) | (_, Bounds::Unchecked) => (None, BufferBounds::Driver),
            (_, Bounds::Checked) if options.robust_buffers => (Some(of_device), BufferBounds::Robust),
            (_, Bounds::Checked | Bounds::Clamped) => (Some(of_device), BufferBounds::Clamp),
        };
        let (source_name, names) = (self.source_name.as_str(), &HashMap::new());
        let checks = options.sanitize.map(|sanitize| {
            move |part: ChosenPart<'_>| {
                let (wraps_shifts, compile) = (false, write_checks);
                instrument(&InstrumentRequest { source_name, part, names, wraps_shifts, sanitize, compile })
            }
        });
        let checks = checks.as_ref().map(|checks| checks as &Check<'_, _>);
        let asked = EntryOptions { bounds, counts: options.binding_counts, assume_addresses: options.assume_addresses };
        let (chosen, sanitized) = binary.choose((source_name, entry), constants, asked, checks)?;
        let Chosen { mut spirv, mut signature, specialization } = chosen;
        signature.subgroups = options.subgroups;
        if trust != Trust::Caller {
            spirv = without_sources(&spirv);
        }
        if is_ours && options.exact_floats {
            spirv = with_exact_floats(&spirv);
        }
        if is_ours && options.driver_zeroes && !options.assume_written {
            spirv = with_zeroed_shared(&spirv);
        }
        Ok(Translated {
            counts_workgroups: counts_workgroups(&spirv),
            spirv,
            signature,
            entry: entry.to_owned(),
            buffer_bounds,
            specialization,
            sanitized,
            source_name: self.source_name.clone(),
            fold: options.fold,
        })
    }

    fn choose_entry<'a>(&'a self, entry: Option<&str>) -> Result<&'a str> {
        let found: Vec<_> = self.entry_points().collect();
        let source_name = self.source_name.clone();
        let expected = match self.form {
            Parsed::Text(_) => "`@compute @workgroup_size(64) fn …`",
            Parsed::Binary(..) => "`OpEntryPoint GLCompute`",
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
            .map_err(|reason| Error::CompilerThread { source_name: source_name.to_owned(), reason })?;
        worker.join().and_then(|result| result).map_err(panicked)?
    })
}

#[cfg(test)]
pub(crate) mod tests;
