//! Khronos's front end as a part of the program: [`compile`], the feature `glslang`.
//!
//! The crate `glslang-sys` compiles it; the safe crate above that has no option for debug lines. Nothing here reads a file:
//! the text has no `#include` left. A text on which the front end itself fails (C++, of Khronos) ends the program, where
//! the program `glslangValidator` would only end itself: `docs/unsafe.md`.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::LazyLock;

use glslang_sys as sys;

use super::block_names;
use super::compiler::{Outcome, Rules, UNIFORMS};
use crate::chains;
use crate::error::Uncompiled;

/// The name for messages.
const NAME: &str = "glslang";

/// Whether the front end has made its tables. They are kept until the program ends.
static IS_READY: LazyLock<bool> = LazyLock::new(|| {
    // SAFETY: any thread may call it, at any time.
    let result = unsafe { sys::glslang_initialize_process() };
    result != 0
});

/// Brackets that may be open at one place: the preprocessor recurses with the arguments of macros.
const MOST_OPEN: usize = 1000;

/// The most brackets that are open at one place of a text.
fn open_brackets(text: &str) -> usize {
    let depths = text.bytes().scan(0_usize, |depth, byte| {
        match byte {
            b'(' | b'[' | b'{' => *depth += 1,
            b')' | b']' | b'}' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    depths.max().unwrap_or(0)
}

/// A shader of the front end, which borrows its input.
struct ParsedShader<'a> {
    handle: NonNull<sys::glslang_shader_t>,
    input: &'a sys::glslang_input_t,
}

impl Drop for ParsedShader<'_> {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle, and a program that uses it is dropped before.
        unsafe { sys::glslang_shader_delete(self.handle.as_ptr()) }
    }
}

/// A program of the front end, of one shader.
struct LinkedProgram<'a> {
    handle: NonNull<sys::glslang_program_t>,
    _shader: &'a ParsedShader<'a>,
}

impl Drop for LinkedProgram<'_> {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle.
        unsafe { sys::glslang_program_delete(self.handle.as_ptr()) }
    }
}

/// Compiles a compute shader, with the options that `compiler.rs` gives the program.
pub(super) fn compile(text: &str, rules: Rules) -> Result<Outcome, Uncompiled> {
    let failed = |reason: &str| Uncompiled::Failed { program: NAME.to_owned(), reason: reason.to_owned() };
    if open_brackets(text) > MOST_OPEN {
        return Ok(Outcome::Refused(format!("ERROR: more than {MOST_OPEN} brackets are inside each other")));
    }
    let text = CString::new(text).map_err(|_| failed("the text has a character 0"))?;
    if !*IS_READY {
        return Err(failed("it cannot be initialised"));
    }
    let (resource, uniforms) = (resource(), CString::new(UNIFORMS).unwrap_or_default());
    let input = input(&text, &resource);
    let shader = ParsedShader::new(&input).ok_or_else(|| failed("it has no memory"))?;
    if rules == Rules::OpenGl {
        shader.allow_loose_uniforms(&uniforms);
    }
    if let Err(log) = shader.parse() {
        return Ok(Outcome::Refused(log));
    }
    let program = LinkedProgram::new(&shader).ok_or_else(|| failed("it has no memory"))?;
    Ok(program.spirv().map_or_else(Outcome::Refused, Outcome::Compiled))
}

const MESSAGES: sys::glslang_messages_t = sys::glslang_messages_t(
    sys::glslang_messages_t::SPV_RULES.0
        | sys::glslang_messages_t::VULKAN_RULES.0
        | sys::glslang_messages_t::DEBUG_INFO.0,
);

/// Every device that is opened has Vulkan 1.3.
fn input(text: &CStr, resource: &sys::glslang_resource_t) -> sys::glslang_input_t {
    sys::glslang_input_t {
        language: sys::glslang_source_t::GLSL,
        stage: sys::glslang_stage_t::Compute,
        client: sys::glslang_client_t::Vulkan,
        client_version: sys::glslang_target_client_version_t::Vulkan1_3,
        target_language: sys::glslang_target_language_t::SPIRV,
        target_language_version: sys::glslang_target_language_version_t::SPIRV1_6,
        code: text.as_ptr(),
        default_version: 450,
        default_profile: sys::glslang_profile_t::None,
        force_default_version_and_profile: 0,
        forward_compatible: 0,
        messages: MESSAGES,
        resource,
        callbacks: sys::glsl_include_callbacks_t {
            include_system: None,
            include_local: None,
            free_include_result: None,
        },
        callbacks_ctx: ptr::null_mut(),
    }
}

/// Limits of compute shaders, as `glslangValidator` has them; those of other stages are 0. Limits of the device are checked
/// when a kernel is built.
fn resource() -> sys::glslang_resource_t {
    // SAFETY: the struct holds numbers and truth values, for which bytes of zero are valid.
    let zero: sys::glslang_resource_t = unsafe { mem::zeroed() };
    sys::glslang_resource_t {
        max_compute_work_group_count_x: 65_535,
        max_compute_work_group_count_y: 65_535,
        max_compute_work_group_count_z: 65_535,
        max_compute_work_group_size_x: 1024,
        max_compute_work_group_size_y: 1024,
        max_compute_work_group_size_z: 64,
        max_compute_uniform_components: 1024,
        max_compute_texture_image_units: 16,
        max_compute_image_uniforms: 8,
        max_compute_atomic_counters: 8,
        max_compute_atomic_counter_buffers: 1,
        max_combined_texture_image_units: 80,
        max_image_units: 8,
        max_samples: 4,
        limits: sys::glslang_limits_t::default(),
        ..zero
    }
}

impl<'a> ParsedShader<'a> {
    fn new(input: &'a sys::glslang_input_t) -> Option<Self> {
        // SAFETY: the input and what it points to live as long as the shader, which borrows it.
        let handle = unsafe { sys::glslang_shader_create(input) };
        NonNull::new(handle).map(|handle| Self { handle, input })
    }

    /// Has uniform variables outside of blocks gathered in a block of that name, at the place 0:0.
    fn allow_loose_uniforms(&self, name: &CStr) {
        let handle = self.handle.as_ptr();
        // SAFETY: the handle is alive.
        unsafe { sys::glslang_shader_set_options(handle, sys::glslang_shader_options_t::VULKAN_RULES_RELAXED.0) };
        // SAFETY: the handle is alive, and the name is copied.
        unsafe { sys::glslang_shader_set_default_uniform_block_name(handle, name.as_ptr()) };
        // SAFETY: the handle is alive.
        unsafe { sys::glslang_shader_set_default_uniform_block_set_and_binding(handle, 0, 0) };
    }

    /// Parses the text, or returns what is wrong with it.
    fn parse(&self) -> Result<(), String> {
        let (handle, input): (_, *const _) = (self.handle.as_ptr(), self.input);
        // SAFETY: handle and input are alive, and no include callbacks are needed: the text has no `#include`.
        let is_read = unsafe { sys::glslang_shader_preprocess(handle, input) } != 0;
        if is_read {
            // SAFETY: the text was preprocessed.
            let code = unsafe { sys::glslang_shader_get_preprocessed_code(handle) };
            // SAFETY: the shader does not change meanwhile.
            let code = unsafe { copied(code) };
            // A `,` may join expressions, so it counts as an operator, also in tables.
            if chains::too_long(&code.replace(',', "+")).is_some() {
                return Err(format!("ERROR: {}", chains::TOO_LONG));
            }
            if let Some(name) = block_names::redeclared(&code) {
                return Err(format!("ERROR: '{name}' : redefinition: it is the name of a block, too"));
            }
        }
        // SAFETY: as above; the text was preprocessed.
        let is_parsed = is_read && unsafe { sys::glslang_shader_parse(handle, input) } != 0;
        if is_parsed {
            return Ok(());
        }
        // SAFETY: the handle is alive.
        let log = unsafe { sys::glslang_shader_get_info_log(handle) };
        // SAFETY: the shader does not change meanwhile.
        Err(unsafe { copied(log) })
    }
}

impl<'a> LinkedProgram<'a> {
    fn new(shader: &'a ParsedShader<'a>) -> Option<Self> {
        // SAFETY: any thread may call it.
        let handle = unsafe { sys::glslang_program_create() };
        let program = NonNull::new(handle).map(|handle| Self { handle, _shader: shader })?;
        // SAFETY: both are alive, and the program borrows the shader.
        unsafe { sys::glslang_program_add_shader(program.handle.as_ptr(), shader.handle.as_ptr()) };
        Some(program)
    }

    /// The module, or what is wrong with the shader.
    fn spirv(&self) -> Result<Vec<u32>, String> {
        let (handle, messages): (_, c_int) = (self.handle.as_ptr(), MESSAGES.0);
        // SAFETY: the program is alive and has a shader that was parsed.
        if unsafe { sys::glslang_program_link(handle, messages) } == 0 {
            // SAFETY: the program is alive.
            let log = unsafe { sys::glslang_program_get_info_log(handle) };
            // SAFETY: the program does not change meanwhile.
            return Err(unsafe { copied(log) });
        }
        // SAFETY: the struct holds truth values and pointers, for which bytes of zero are valid.
        let off: sys::glslang_spv_options_t = unsafe { mem::zeroed() };
        let mut options = sys::glslang_spv_options_t { generate_debug_info: true, disable_optimizer: true, ..off };
        // SAFETY: the program was linked with a compute shader, and the options outlive the call.
        unsafe {
            sys::glslang_program_SPIRV_generate_with_options(handle, sys::glslang_stage_t::Compute, &raw mut options);
        }
        // SAFETY: the program is alive.
        let mut words = vec![0; unsafe { sys::glslang_program_SPIRV_get_size(handle) }];
        // SAFETY: there is room for as many words as the program has.
        unsafe { sys::glslang_program_SPIRV_get(handle, words.as_mut_ptr()) };
        Ok(words)
    }
}

/// A text of the front end.
///
/// # Safety
///
/// It is null, or ends with a zero and does not change during the call.
unsafe fn copied(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
