//! Has naga write SPIR-V, with the settings of a compute kernel.
//!
//! SPIR-V 1.4, bindings as in the shader; bounds checks and zeroed shared memory as [`Options`] say.
//! Called by `module.rs` only. Read next: `words/plain_types.rs`, which takes from naga's types what Vulkan forbids.

use naga::back::spv::{
    Capability, DebugInfo, Error as WriteError, Options as WriterOptions, PipelineOptions, SourceLanguage, WriterFlags,
    ZeroInitializeWorkgroupMemoryMode, write_vec,
};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use vkarray_spirv::internal::{declared, non_uniform_capabilities, with_index_capabilities};
use vkarray_spirv::{Capability as KernelCapability, ParamKind, Signature};

use crate::error::{Error, Result};
use crate::translate::options::{Bounds, BufferBounds, Options};
use crate::translate::words::exact_floats::with_exact_floats;
use crate::translate::words::not_equal::with_nan_unequal;
use crate::translate::words::plain_types::with_plain_types;
use crate::translate::words::shared_accesses::with_shared_accesses;
use crate::translate::words::word_matrices::{WordMatrices, with_word_matrices};

/// What to write.
pub(crate) struct EmitRequest<'a> {
    pub(crate) module: &'a naga::Module,
    pub(crate) info: &'a ModuleInfo,
    pub(crate) entry: &'a str,
    /// Name and text, for debug information.
    pub(crate) source: (&'a str, &'a str),
    pub(crate) options: &'a Options,
    /// Whether checked buffers are left to the device.
    pub(crate) is_robust: bool,
    /// What the kernel takes.
    pub(crate) signature: &'a Signature,
}

/// Writes the entry point, with the strictest bounds check that naga can express for it; says which that is.
pub(crate) fn write(request: &EmitRequest<'_>) -> Result<(Vec<u32>, BufferBounds)> {
    let spirv_error =
        |error: WriteError| Error::Unwritable { kernel: request.entry.to_owned(), reason: error.to_string() };
    let written = |buffer_bounds| write_with(request, buffer_bounds).map(|words| (words, buffer_bounds));
    match request.options.bounds {
        Bounds::Unchecked => written(BufferBounds::Unchecked),
        Bounds::Clamped => written(BufferBounds::ClampOnly),
        Bounds::Checked if request.is_robust => written(BufferBounds::Robust),
        // naga cannot skip an atomic at a computed index and says so; whatever else it lacks, it lacks both ways.
        Bounds::Checked => written(BufferBounds::ReadZeroSkipWrite).or_else(|error| match error {
            WriteError::FeatureNotImplemented(_) => written(BufferBounds::Clamp),
            error => Err(error),
        }),
    }
    .map_err(spirv_error)
}

/// Refuses two things about cooperative matrices. If no `var` holds one, naga 30 writes a module without the extension and
/// memory model that it needs; drivers may take it and compute anything. And of a matrix that is loaded or stored naga checks
/// the first element only, so a kernel that is to be checked has none but those that `passes/bounds.rs` knows to be inside.
pub(crate) fn check_cooperative(entry: &str, capabilities: &[KernelCapability], is_bounded: bool) -> Result<()> {
    let has = |capability| capabilities.contains(&capability);
    let reason = match has(KernelCapability::CooperativeMatrix) {
        true if !has(KernelCapability::VulkanMemoryModel) => {
            "hold at least one cooperative matrix in a `var`, not a `let`"
        }
        true if !is_bounded => {
            "nothing checks where the rows of a cooperative matrix lie; load it from one array of shared memory, at \
             constant indices, or build the kernel `unchecked`"
        }
        _ => return Ok(()),
    };
    Err(Error::Unwritable { kernel: entry.to_owned(), reason: reason.to_owned() })
}

fn write_with(request: &EmitRequest<'_>, buffer_bounds: BufferBounds) -> std::result::Result<Vec<u32>, WriteError> {
    let options = request.options;
    let (buffer, index) = match buffer_bounds {
        BufferBounds::ReadZeroSkipWrite => (BoundsCheckPolicy::ReadZeroSkipWrite, BoundsCheckPolicy::Restrict),
        BufferBounds::Clamp | BufferBounds::ClampOnly => (BoundsCheckPolicy::Restrict, BoundsCheckPolicy::Restrict),
        BufferBounds::Robust => (BoundsCheckPolicy::Unchecked, BoundsCheckPolicy::Restrict),
        // The driver's own ways are not asked of naga.
        BufferBounds::Unchecked | BufferBounds::Driver => (BoundsCheckPolicy::Unchecked, BoundsCheckPolicy::Unchecked),
    };
    let (file_name, source_code) = request.source;
    let writer_options = WriterOptions {
        // The first with `OpCopyLogical`, which `words/plain_types.rs` writes.
        lang_version: (1, 4),
        flags: if options.debug_info { WriterFlags::DEBUG } else { WriterFlags::empty() },
        // With an empty map this keeps the shader's own group and binding numbers.
        fake_missing_bindings: true,
        capabilities: Some(allowed_capabilities(options)),
        bounds_check_policies: BoundsCheckPolicies {
            index,
            buffer,
            // What is stored outside an image is dropped by `robustImageAccess`, which every device has.
            image_load: match options.bounds {
                Bounds::Checked | Bounds::Clamped => BoundsCheckPolicy::ReadZeroSkipWrite,
                Bounds::Unchecked => BoundsCheckPolicy::Unchecked,
            },
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: match (options.assume_written, options.driver_zeroes) {
            (false, true) => ZeroInitializeWorkgroupMemoryMode::Native,
            // `passes/zero_shared.rs` has added code that does, unless all is written first.
            (true, _) | (false, false) => ZeroInitializeWorkgroupMemoryMode::None,
        },
        // `passes/loops.rs` does, where it is needed.
        force_loop_bounding: false,
        // Would ask the device for 16-bit shader inputs, which a compute kernel does not have.
        use_storage_input_output_16: false,
        // Not `WGSL`: validators older than that number refuse the whole module.
        debug_info: options.debug_info.then_some(DebugInfo {
            source_code,
            file_name,
            language: SourceLanguage::Unknown,
        }),
        emit_int_div_checks: !options.unchecked_division,
        ..WriterOptions::default()
    };
    let pipeline = PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: request.entry.to_owned() };
    let words = with_plain_types(&write_vec(request.module, request.info, &writer_options, Some(&pipeline))?);
    let mut words = with_shared_accesses(with_nan_unequal(words));
    if options.word_matrices != WordMatrices::Words {
        words = with_word_matrices(&words, options.word_matrices);
    }
    let words = with_list_capabilities(words, request.signature);
    Ok(if options.exact_floats { with_exact_floats(&words) } else { words })
}

/// The functions of the sanitizer's checks, in WGSL without an entry point, as SPIR-V with their names.
pub(crate) fn write_checks(text: &str) -> Vec<u32> {
    let written = || {
        let module = naga::front::wgsl::parse_str(text).map_err(|error| error.emit_to_string(text))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
        let info = info.map_err(|error| format!("{:?}", error.into_inner()))?;
        // Indices are bounded with those of the kernel.
        let options = WriterOptions { flags: WriterFlags::DEBUG, ..WriterOptions::default() };
        write_vec(&module, &info, &options, None).map_err(|error| error.to_string())
    };
    written().unwrap_or_else(|error| unreachable!("the functions of the checks are a valid shader: {error}"))
}

/// Declares what indices that differ between invocations need in arrays of bindings, which naga leaves out.
fn with_list_capabilities(words: Vec<u32>, signature: &Signature) -> Vec<u32> {
    if !declared(&words).contains(&(Capability::ShaderNonUniform as u32)) {
        return words;
    }
    let lists = signature.params.iter().filter(|param| param.bindings.is_list());
    let needed = lists.flat_map(|param| non_uniform_capabilities(param.kind == ParamKind::Uniform));
    with_index_capabilities(&words, &needed.collect::<Vec<_>>())
}

/// What naga's writer may ask of the device. Left out are those it can do without: 8-bit integers and, unless wanted, the
/// integer dot product.
fn allowed_capabilities(options: &Options) -> naga::FastHashSet<Capability> {
    let mut allowed: naga::FastHashSet<_> = [
        Capability::Shader,
        Capability::Matrix,
        Capability::Float16,
        Capability::Float64,
        Capability::Int16,
        Capability::Int64,
        Capability::Int64Atomics,
        Capability::AtomicFloat32AddEXT,
        Capability::GroupNonUniform,
        Capability::GroupNonUniformVote,
        Capability::GroupNonUniformArithmetic,
        Capability::GroupNonUniformBallot,
        Capability::GroupNonUniformShuffle,
        Capability::GroupNonUniformShuffleRelative,
        Capability::GroupNonUniformQuad,
        Capability::CooperativeMatrixKHR,
        Capability::VulkanMemoryModel,
        Capability::ShaderNonUniform,
        Capability::Sampled1D,
        Capability::Image1D,
        Capability::ImageQuery,
        Capability::StorageImageExtendedFormats,
    ]
    .into_iter()
    .collect();
    if options.integer_dot_product {
        allowed.extend([Capability::DotProduct, Capability::DotProductInput4x8BitPacked]);
    }
    allowed
}
