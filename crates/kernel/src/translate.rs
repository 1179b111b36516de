//! From a shader's text to SPIR-V: [`Module`] parses and validates once, then translates one entry point at a time.
//!
//! naga does the work; this file chooses what it is asked for and turns its refusals into our errors. Values of constants
//! are checked here first, since naga rounds `1.5` to `1` for an integer without a word. What the kernel takes is read by
//! `reflect.rs`.
//! Read next: `reflect.rs`, then `check.rs`.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::thread;

use naga::ShaderStage;
use naga::back::PipelineConstants;
use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::names::{Names, nearest};
use crate::sanitize::{self, Sanitize, Sanitized};
use crate::scalar::{ScalarValue, range_of};
use crate::signature::Signature;
use crate::source::{Language, Source};
use crate::{reflect, spirv};

/// naga recurses with the shader's nesting, up to a depth that may exceed a small thread's stack.
const STACK_BYTES: usize = 32 << 20;

/// How a kernel is translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Options {
    /// What happens to an index out of range.
    pub bounds: Bounds,
    /// Whether workgroup memory starts as zero. Costs a pass over it and a barrier.
    pub zero_shared: bool,
    /// Whether integer division by zero and overflow of the least integer are left undefined, for speed.
    ///
    /// By default they are defined as in WGSL: `x / 0` is `x`, `x % 0` is `0`.
    pub unchecked_division: bool,
    /// Whether `dot4I8Packed` and `dot4U8Packed` may use the device's instruction (`shaderIntegerDotProduct`).
    pub integer_dot_product: bool,
    /// Whether names and the source text go into the SPIR-V, for debuggers and profilers.
    pub debug_info: bool,
    /// Whether the kernel gets checks that find its faults while it runs. Nothing else changes without.
    pub sanitize: Option<Sanitize>,
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
    /// [`Translated::buffer_bounds`] says which it was. Cooperative matrices are checked at their first element only.
    #[default]
    Checked,
    /// It is undefined behaviour. The kernel's author answers for every index.
    Unchecked,
}

/// What a translated kernel does with an index out of range of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BufferBounds {
    /// Reads give zero, writes do nothing.
    ReadZeroSkipWrite,
    /// The index is clamped to the last element.
    Clamp,
    /// Undefined behaviour.
    Unchecked,
}

/// One entry point as SPIR-V, with what it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Translated {
    /// SPIR-V 1.4, which every Vulkan 1.2 driver reads.
    pub spirv: Vec<u32>,
    /// What it takes and needs.
    pub signature: Signature,
    /// The entry point's name in the SPIR-V.
    pub entry: String,
    /// What became of [`Options::bounds`].
    pub buffer_bounds: BufferBounds,
    /// What the checks need and say, if [`Options::sanitize`] asked for them.
    pub sanitized: Option<Sanitized>,
    /// The source's name.
    pub source_name: String,
}

/// A shader that parses and is valid. Translating it needs no further look at its text.
#[derive(Clone, Debug)]
pub struct Module {
    source_name: String,
    text: String,
    naga: naga::Module,
    info: ModuleInfo,
}

impl Module {
    /// Parses and validates a shader. A millisecond for one of usual size; remember the result.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] or [`Error::Invalid`] with the place and the source lines. [`Error::CompilerPanicked`] when naga
    /// breaks on the text.
    pub fn parse(source: &Source) -> Result<Self> {
        let Language::Wgsl(text) = source.language();
        let name = source.name();
        contain(name, || {
            let module = naga::front::wgsl::parse_str(text).map_err(|error| Error::Parse {
                place: place(name, error.location(text)),
                report: error.emit_to_string_with_path(text, name).trim_end().to_owned(),
            })?;
            let info = Validator::new(ValidationFlags::all(), supported()).validate(&module).map_err(|error| {
                Error::Invalid {
                    place: place(name, error.location(text)),
                    report: error.emit_to_string_with_path(text, name).trim_end().to_owned(),
                }
            })?;
            Ok(Self { source_name: name.to_owned(), text: text.to_string(), naga: module, info })
        })
    }

    /// The names of the compute entry points, in the order of the text.
    pub fn entry_points(&self) -> impl Iterator<Item = &str> {
        let compute = |entry: &&naga::EntryPoint| entry.stage == ShaderStage::Compute;
        self.naga.entry_points.iter().filter(compute).map(|entry| entry.name.as_str())
    }

    /// Translates one entry point, the only one if `entry` is `None`, with values for its constants.
    ///
    /// A constant is called by its name, or by its `@id` in digits. Constants of other entry points may be set; they have
    /// no effect here.
    ///
    /// # Errors
    ///
    /// [`Error::NoEntryPoint`], [`Error::AmbiguousEntryPoint`] or [`Error::UnknownEntryPoint`] about the entry point;
    /// [`Error::UnknownConstant`], [`Error::DuplicateConstant`], [`Error::MissingConstant`], [`Error::BadConstant`] or
    /// [`Error::Constants`] about the constants; [`Error::Unsupported`] for textures and other things that are no buffers;
    /// [`Error::Spirv`] where naga's writer ends.
    pub fn translate(
        &self,
        entry: Option<&str>,
        constants: &BTreeMap<String, f64>,
        options: &Options,
    ) -> Result<Translated> {
        let entry = self.choose_entry(entry)?;
        let values = self.constant_values(entry, constants)?;
        contain(&self.source_name, || {
            let (module, info) =
                process_overrides(&self.naga, &self.info, Some((ShaderStage::Compute, entry)), &values)
                    .map_err(|error| self.constants_error(entry, constants, error))?;
            let is_chosen = |point: &naga::EntryPoint| point.stage == ShaderStage::Compute && point.name == entry;
            let index =
                module.entry_points.iter().position(is_chosen).expect("naga keeps the entry point it was given");
            let mut signature = reflect::signature(&module, &info, index)?;
            signature.constants = reflect::constants(&self.naga, &module);
            let checked = self.instrumented((&module, &info, index), &signature, options)?;
            let (module, info) = checked.as_ref().map_or((&*module, &*info), |with| (&with.module, &with.info));
            let written = spirv::write(&spirv::Request {
                module,
                info,
                entry,
                source: (&self.source_name, &self.text),
                options,
            })?;
            signature.capabilities = reflect::capabilities(&written.words);
            spirv::check_cooperative(entry, &signature.capabilities)?;
            let (spirv, buffer_bounds) = (written.words, written.buffer_bounds);
            let sanitized = checked.map(|with| with.sanitized);
            let (entry, source_name) = (entry.to_owned(), self.source_name.clone());
            Ok(Translated { spirv, signature, entry, buffer_bounds, sanitized, source_name })
        })
    }

    /// The module with checks, if they are asked for.
    fn instrumented(
        &self,
        (module, info, index): (&naga::Module, &ModuleInfo, usize),
        signature: &Signature,
        options: &Options,
    ) -> Result<Option<sanitize::Instrumented>> {
        let Some(sanitize) = options.sanitize else { return Ok(None) };
        let (text, zero_shared) = (self.text.as_str(), options.zero_shared);
        let request = sanitize::Request { module, info, index, signature, text, zero_shared, sanitize };
        sanitize::instrument(&request).map(Some)
    }

    fn choose_entry<'a>(&'a self, entry: Option<&str>) -> Result<&'a str> {
        let found: Vec<_> = self.entry_points().collect();
        let source_name = self.source_name.clone();
        match (entry, found.as_slice()) {
            (_, []) => Err(Error::NoEntryPoint { source_name }),
            (None, [only]) => Ok(only),
            (None, _) => Err(Error::AmbiguousEntryPoint { source_name, found: found.into_iter().collect() }),
            (Some(entry), _) => found.iter().copied().find(|&name| name == entry).ok_or_else(|| {
                let (hint, found) = (nearest(entry, &found), found.into_iter().collect());
                Error::UnknownEntryPoint { source_name, entry: entry.to_owned(), found, hint }
            }),
        }
    }

    /// Checks the values against the constants' types and renames them to the keys naga expects.
    fn constant_values(&self, entry: &str, given: &BTreeMap<String, f64>) -> Result<PipelineConstants> {
        let mut values = PipelineConstants::default();
        for (key, &value) in given {
            let is_called =
                |o: &naga::Override| o.name.as_ref() == Some(key) || o.id.is_some_and(|id| id.to_string() == *key);
            let kernel = || entry.to_owned();
            let Some((_, declared)) = self.naga.overrides.iter().find(|(_, o)| is_called(o)) else {
                let found = self.constant_names();
                let hint = nearest(key, &found.0);
                return Err(Error::UnknownConstant { kernel: kernel(), constant: key.clone(), found, hint });
            };
            let constant = || declared.name.clone().unwrap_or_else(|| key.clone());
            let naga::TypeInner::Scalar(scalar) = self.naga.types[declared.ty].inner else {
                unreachable!("the validator admits only scalars as constants");
            };
            let dtype = reflect::dtype(scalar);
            if ScalarValue::from_f64(value, dtype).is_none() {
                let reason = range_of(dtype);
                return Err(Error::BadConstant { kernel: kernel(), constant: constant(), dtype, value, reason });
            }
            let naga_key = declared.id.map_or_else(constant, |id| id.to_string());
            if let (Some(_), Some(id)) = (values.insert(naga_key, value), declared.id) {
                return Err(Error::DuplicateConstant { kernel: kernel(), constant: constant(), id });
            }
        }
        Ok(values)
    }

    fn constant_names(&self) -> Names {
        self.naga.overrides.iter().filter_map(|(_, declared)| declared.name.clone()).collect()
    }

    fn constants_error(&self, entry: &str, given: &BTreeMap<String, f64>, error: PipelineConstantError) -> Error {
        let kernel = entry.to_owned();
        let report = match error {
            PipelineConstantError::MissingValue(key) => {
                let has_key = |o: &naga::Override| o.id.is_some_and(|id| id.to_string() == key);
                let named = self.naga.overrides.iter().find(|(_, o)| has_key(o)).and_then(|(_, o)| o.name.clone());
                return Error::MissingConstant { kernel, constant: named.unwrap_or(key), found: self.constant_names() };
            }
            PipelineConstantError::ValidationError(error) => {
                error.emit_to_string_with_path(&self.text, &self.source_name).trim_end().to_owned()
            }
            PipelineConstantError::NegativeWorkgroupSize => "the workgroup size is not positive".to_owned(),
            error => error.to_string(),
        };
        let values: Vec<_> = given.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let values = if values.is_empty() { "at their defaults".to_owned() } else { values.join(", ") };
        Error::Constants { kernel, values, report }
    }
}

/// What a shader may use: all of what naga's SPIR-V writer knows that has a place in a compute kernel. Whether the device
/// has it is asked later, by [`Signature::capabilities`].
pub(crate) fn supported() -> Capabilities {
    Capabilities::IMMEDIATES
        | Capabilities::FLOAT64
        | Capabilities::SHADER_INT64
        | Capabilities::SHADER_INT16
        | Capabilities::SHADER_FLOAT16
        | Capabilities::SHADER_FLOAT16_IN_FLOAT32
        | Capabilities::SUBGROUP
        | Capabilities::SUBGROUP_BARRIER
        | Capabilities::SHADER_INT64_ATOMIC_MIN_MAX
        | Capabilities::SHADER_INT64_ATOMIC_ALL_OPS
        | Capabilities::SHADER_FLOAT32_ATOMIC
        | Capabilities::COOPERATIVE_MATRIX
        | Capabilities::MEMORY_DECORATION_COHERENT
        | Capabilities::MEMORY_DECORATION_VOLATILE
}

fn place(name: &str, location: Option<naga::SourceLocation>) -> String {
    location.map_or_else(|| name.to_owned(), |at| format!("{name}:{}:{}", at.line_number, at.line_position))
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
mod tests;
