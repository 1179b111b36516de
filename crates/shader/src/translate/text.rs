//! Shaders in WGSL: [`Text`], a module that naga parsed, and its translation to SPIR-V.
//!
//! naga parses, validates and translates; this file sets its options and turns its refusals into our errors. Values of
//! constants are checked here first, since naga silently rounds `1.5` to `1` for an integer.
//! Read next: `reflect.rs` for what the kernel takes, `emit.rs` for what is written.

mod bitcasts;
mod directives;
mod explain;

use std::collections::{BTreeMap, HashMap};

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::valid::{Capabilities, ModuleInfo, ValidationError, ValidationFlags, Validator};
use naga::{AddressSpace, ShaderStage, WithSpan};
use vkarray_spirv::internal::{
    ChosenPart, DeviceBounds, InstrumentRequest, capabilities, counts_workgroups, declared, instrument, matrices_of,
    nearest, range_of, with_checks, without_sources,
};
use vkarray_spirv::{Error as SpirvError, Names, Param, Sanitized, ScalarValue, Signature};

use crate::chains;
use crate::error::{Error, Result};
use crate::translate::linked::LinkedSource;
use crate::translate::options::{Bounds, BufferBounds, Loops, Options, Translated};
use crate::translate::passes::pointers::{self, PointerError};
use crate::translate::passes::{binding_arrays, bounds, large_constants, lines, loops, zero_shared};
use crate::translate::source::Library;
use crate::translate::validate::validator;
use crate::translate::words::word_matrices::WordMatrices;
use crate::translate::{emit, reflect};

/// What a report begins with that has no sentence of its own.
const DOES_NOT_PARSE: &str = "the shader does not parse";

/// Bytes of push constants that naga's validator can count; devices have 128 or 256.
const NAGA_PUSH_BYTES: u32 = 256;

/// WGSL that parses and is valid.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    source_name: String,
    linked: LinkedSource,
    /// The module as it was parsed, with constants that have no value yet.
    pub(super) module: naga::Module,
    info: ModuleInfo,
}

impl Text {
    /// Parses and validates WGSL.
    pub(crate) fn wgsl(source_name: &str, text: &str, libraries: &[Library]) -> Result<Self> {
        let linked = LinkedSource::new(source_name, text, libraries);
        refuse_long_chains(&linked)?;
        if let Some((at, sentence)) = bitcasts::misread(&linked.text) {
            let location = location(&linked.text, at);
            let line = linked.text.lines().nth(location.line_number as usize - 1).unwrap_or_default();
            let (place, report) = (linked.place(Some(location)), format!("{sentence}\n{line}"));
            return Err(Error::Invalid { place, report });
        }
        let module = naga::front::wgsl::parse_str(&directives::without_supported(&linked.text)).map_err(|error| {
            let shown = linked.report(&error.emit_to_string_with_path(&linked.text, source_name));
            let place = linked.place_of(&shown, error.location(&linked.text));
            Error::Parse { place, report: explain::report(explain::of_parser(&error), DOES_NOT_PARSE, &shown) }
        })?;
        Self::validated(source_name, linked, module)
    }

    fn validated(source_name: &str, linked: LinkedSource, mut module: naga::Module) -> Result<Self> {
        pointers::resolve(&mut module).map_err(|PointerError { span, reason }| {
            let place = linked.place(span.is_defined().then(|| span.location(&linked.text)));
            Error::Invalid { place, report: reason }
        })?;
        check_push_constants(&module)?;
        let has_others = module.entry_points.len() > 1;
        let validated = match validator().validate(&module) {
            // What one entry point may not use need not be in the way of the others.
            Err(_) if has_others => Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module),
            validated => validated,
        };
        let info = validated.map_err(|error| refusal(&error, &module, source_name, &linked))?;
        Ok(Self { source_name: source_name.to_owned(), linked, module, info })
    }

    /// The names of the compute entry points, in the order of the text.
    pub(crate) fn entry_points(&self) -> impl Iterator<Item = &str> {
        let compute = |entry: &&naga::EntryPoint| entry.stage == ShaderStage::Compute;
        self.module.entry_points.iter().filter(compute).map(|entry| entry.name.as_str())
    }

    /// Translates an entry point, which exists.
    pub(crate) fn translate(
        &self,
        entry: &str,
        constants: &BTreeMap<String, f64>,
        options: &Options,
    ) -> Result<Translated> {
        let values = self.constant_values(entry, constants)?;
        let (module, info) = process_overrides(&self.module, &self.info, Some((ShaderStage::Compute, entry)), &values)
            .map_err(|error| self.constants_error(entry, constants, error))?;
        self.check_supported(&module)?;
        let limit = options.max_uniform_bytes.unwrap_or(u32::MAX);
        let (mut module, mut info) = (module.into_owned(), info.into_owned());
        let moved = large_constants::as_storage(&mut module, &mut info, limit);
        let index = position(&module, entry);
        let mut signature = reflect::signature(&module, &info, index, options.binding_counts)?;
        binding_arrays::give_lengths(&mut module, &mut info, &signature);
        let moved = |param: &&mut Param| moved.contains(&(param.group, param.binding));
        signature.params.iter_mut().filter(moved).for_each(|param| param.is_constant = true);
        signature.constants = reflect::constants(&self.module, &module);
        let is_robust = options.robust_buffers && options.sanitize.is_none() && bounds::are_of_ranges(&module, index);
        let names = options.sanitize.map(|_| lines::by_expression(&mut module, &self.linked.text));
        if options.loops == Loops::Bounded && names.is_none() {
            loops::bound(&mut module, &mut info, entry)?;
        }
        if !options.assume_written && !options.driver_zeroes {
            zero_shared::zero(&mut module, &mut info, index)?;
        }
        let (words, buffer_bounds) = emit::write(&emit::EmitRequest {
            module: &module,
            info: &info,
            entry,
            source: (&self.source_name, &self.linked.text),
            options: &emitted(options),
            is_robust,
            signature: &signature,
        })?;
        let is_bounded = options.bounds == Bounds::Unchecked
            || bounds::have_matrices_inside(&module, index, options.word_matrices != WordMatrices::Words);
        let (spirv, sanitized) = self.with_checks(words, &signature, options, &names.unwrap_or_default())?;
        signature.capabilities = capabilities(&declared(&spirv), &spirv);
        signature.add_capabilities_of_lists();
        emit::check_cooperative(entry, &signature.capabilities, is_bounded)?;
        signature.matrices = matrices_of(&self.source_name, &spirv, entry, &signature.capabilities)?;
        signature.subgroups = options.subgroups;
        let is_clamped = sanitized.is_some() && options.bounds != Bounds::Unchecked;
        Ok(Translated {
            counts_workgroups: counts_workgroups(&spirv),
            spirv,
            signature,
            entry: entry.to_owned(),
            buffer_bounds: if is_clamped { BufferBounds::Clamp } else { buffer_bounds },
            specialization: Vec::new(),
            sanitized,
            source_name: self.source_name.clone(),
            fold: options.fold,
        })
    }

    /// Refuses what no kernel may use, in a module that holds one entry point of several.
    fn check_supported(&self, module: &naga::Module) -> Result<()> {
        if self.module.entry_points.len() <= 1 {
            return Ok(()); // Asked when it was parsed.
        }
        let validated = validator().validate(module);
        validated.map(drop).map_err(|error| refusal(&error, module, &self.source_name, &self.linked))
    }

    /// The words with the sanitizer's checks, if the options have them. The indices of a kernel with checks get bounds here, and
    /// those into arrays of bindings: naga compares such an index with the number of buffers, and asks for the length of the
    /// buffer that it picks in any case.
    fn with_checks(
        &self,
        words: Vec<u32>,
        signature: &Signature,
        options: &Options,
        names: &HashMap<(u32, u32), String>,
    ) -> Result<(Vec<u32>, Option<Sanitized>)> {
        let has_lists = signature.params.iter().any(|param| param.bindings.is_list());
        let of_naga = DeviceBounds { buffers: true, matrices: true, non_uniform: options.non_uniform_bindings };
        let bounds = match options.sanitize {
            _ if options.bounds == Bounds::Unchecked => None,
            Some(_) => Some(DeviceBounds::default()),
            None => has_lists.then_some(of_naga),
        };
        let source_name = self.source_name.as_str();
        let Some(sanitize) = options.sanitize else {
            return Ok(with_checks(source_name, words, signature, bounds, None)?);
        };
        let checks = |part: ChosenPart<'_>| {
            let compile = emit::write_checks;
            instrument(&InstrumentRequest { source_name, part, names, wraps_shifts: true, sanitize, compile })
        };
        Ok(with_checks(source_name, without_sources(&words), signature, bounds, Some(&checks))?)
    }

    /// Checks the values against the constants' types and renames them to the keys naga expects.
    fn constant_values(&self, entry: &str, given: &BTreeMap<String, f64>) -> vkarray_spirv::Result<PipelineConstants> {
        let mut values = PipelineConstants::default();
        for (key, &value) in given {
            let is_called =
                |o: &naga::Override| o.name.as_ref() == Some(key) || o.id.is_some_and(|id| id.to_string() == *key);
            let kernel = || entry.to_owned();
            let Some((_, declared)) = self.module.overrides.iter().find(|(_, o)| is_called(o)) else {
                let found = self.constant_names();
                let hint = nearest(key, &found.0);
                return Err(SpirvError::UnknownConstant { kernel: kernel(), constant: key.clone(), found, hint });
            };
            let constant = || declared.name.clone().unwrap_or_else(|| key.clone());
            let naga::TypeInner::Scalar(scalar) = self.module.types[declared.ty].inner else {
                unreachable!("the validator admits only scalars as constants");
            };
            let dtype = reflect::dtype(scalar);
            if ScalarValue::from_f64(value, dtype).is_none() {
                let reason = range_of(dtype);
                return Err(SpirvError::BadConstant { kernel: kernel(), constant: constant(), dtype, value, reason });
            }
            let naga_key = declared.id.map_or_else(constant, |id| id.to_string());
            if let (Some(_), Some(id)) = (values.insert(naga_key, value), declared.id) {
                return Err(SpirvError::DuplicateConstant { kernel: kernel(), constant: constant(), id: id.into() });
            }
        }
        Ok(values)
    }

    pub(crate) fn constant_names(&self) -> Names {
        self.module.overrides.iter().filter_map(|(_, declared)| declared.name.clone()).collect()
    }

    fn constants_error(&self, entry: &str, given: &BTreeMap<String, f64>, error: PipelineConstantError) -> Error {
        let kernel = entry.to_owned();
        let report = match error {
            PipelineConstantError::MissingValue(key) => {
                let has_key = |o: &naga::Override| o.id.is_some_and(|id| id.to_string() == key);
                let named = self.module.overrides.iter().find(|(_, o)| has_key(o)).and_then(|(_, o)| o.name.clone());
                return Error::MissingConstant { kernel, constant: named.unwrap_or(key), found: self.constant_names() };
            }
            PipelineConstantError::ValidationError(error) => {
                self.linked.report(&error.emit_to_string_with_path(&self.linked.text, &self.source_name))
            }
            PipelineConstantError::NegativeWorkgroupSize => "the workgroup size is not positive".to_owned(),
            error => error.to_string(),
        };
        let values: Vec<_> = given.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let values = if values.is_empty() { "at their defaults".to_owned() } else { values.join(", ") };
        Error::Constants { kernel, values, report }
    }
}

/// How naga is to write a kernel. With checks, lines and names say where they are, and bounds and divisors are theirs.
fn emitted(options: &Options) -> Options {
    match options.sanitize {
        None => *options,
        Some(_) => Options { bounds: Bounds::Unchecked, unchecked_division: true, debug_info: true, ..*options },
    }
}

/// Where a module breaks a rule, and what to do about it.
fn refusal(
    error: &WithSpan<ValidationError>,
    module: &naga::Module,
    source_name: &str,
    linked: &LinkedSource,
) -> Error {
    let shown = linked.report(&error.emit_to_string_with_path(&linked.text, source_name));
    let place = linked.place_of(&shown, error.location(&linked.text));
    let sentence = explain::of_validator(error.as_inner(), module);
    Error::Invalid { place, report: explain::report(sentence, "the shader is not valid", &shown) }
}

/// The line and the column of a byte of a text.
fn location(text: &str, at: usize) -> naga::SourceLocation {
    u32::try_from(at).map_or(naga::Span::UNDEFINED, |at| naga::Span::new(at, at)).location(text)
}

/// The place of a compute entry point that the module has.
fn position(module: &naga::Module, entry: &str) -> usize {
    let is_chosen = |point: &naga::EntryPoint| point.stage == ShaderStage::Compute && point.name == entry;
    module.entry_points.iter().position(is_chosen).expect("naga keeps the entry point it was given")
}

/// Refuses a text on which naga would overflow its stack.
fn refuse_long_chains(linked: &LinkedSource) -> Result<()> {
    let Some(at) = chains::too_long(&linked.text) else { return Ok(()) };
    let place = linked.place(Some(location(&linked.text, at)));
    Err(Error::Parse { place, report: chains::TOO_LONG.to_owned() })
}

/// Refuses more push constants than naga's validator counts: it panics on them.
fn check_push_constants(module: &naga::Module) -> vkarray_spirv::Result<()> {
    let kernel = || module.entry_points.first().map_or_else(String::new, |point| point.name.clone());
    let is_push = |variable: &&naga::GlobalVariable| variable.space == AddressSpace::Immediate;
    let sizes = module.global_variables.iter().map(|(_, variable)| variable).filter(is_push);
    match sizes.filter_map(|variable| module.types[variable.ty].inner.try_size(module.to_ctx())).max() {
        Some(bytes) if bytes > NAGA_PUSH_BYTES => {
            Err(SpirvError::PushConstants { kernel: kernel(), bytes, limit: NAGA_PUSH_BYTES })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
