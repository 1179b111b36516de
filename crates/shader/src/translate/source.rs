//! Shader source: [`Source`], text or words together with the name errors show.
//!
//! Nothing is parsed here; a bad source fails in [`Module::parse`](crate::Module::parse).
//! Read next: `module.rs`.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::glsl::Glsl;

/// A shader as its author wrote it.
///
/// It holds the text or borrows it for `'static`, which makes a clone cheap. Nothing is read before [`Module::parse`].
///
/// ```
/// use vkarray_shader::Source;
///
/// let from_a_literal = Source::wgsl("@compute @workgroup_size(64) fn main() {}");
/// let from_a_string = Source::wgsl(String::from("@compute @workgroup_size(64) fn main() {}"));
/// assert_eq!(from_a_literal, from_a_string);
/// ```
///
/// [`Module::parse`]: crate::Module::parse
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    name: Cow<'static, str>,
    pub(super) language: Language,
    pub(super) libraries: Vec<Library>,
    /// What was added to a shader that is not GLSL, and only GLSL has.
    pub(super) misplaced: Option<&'static str>,
}

/// WGSL that several shaders share: functions, types and constants, and the name that errors show.
///
/// [`Source::with`] adds it to a shader. The crate `vkarray_shaders` has some in its module `library`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Library {
    pub(crate) name: Cow<'static, str>,
    pub(crate) text: Cow<'static, str>,
}

impl Library {
    /// A library with the name that errors show, such as that of its file.
    ///
    /// ```
    /// use vkarray_shader::{Library, Module, Source};
    ///
    /// let broken = Library::new("twice.wgsl", "fn twice(x: u32) -> u32 { return 2.0 * x; }");
    /// let source = Source::wgsl("@compute @workgroup_size(1) fn main() { _ = twice(1u); }").with(broken);
    /// let error = Module::parse(&source).unwrap_err().to_string();
    /// assert!(error.starts_with("twice.wgsl:1:"), "{error}");
    /// ```
    pub fn new(name: impl Into<String>, text: impl Into<Cow<'static, str>>) -> Self {
        Self { name: Cow::Owned(name.into()), text: text.into() }
    }
}

/// The languages there are. Private, so that another can be added without breaking programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    /// WebGPU shading language, translated by naga.
    Wgsl(Cow<'static, str>),
    /// OpenGL's shading language, compiled to SPIR-V by Khronos's front end.
    Glsl(Box<Glsl>),
    /// What other compilers make, as bytes of either order.
    Spirv { bytes: Cow<'static, [u8]>, trust: Trust },
}

/// What ensures that SPIR-V keeps the rules that `vkarray-spirv` does not check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Trust {
    /// `spirv-val`, and the bounds that are added to the module.
    Validated,
    /// `spirv-val` and bounds as well. The module was made of GLSL here, so that what is done for text is done for it.
    Compiled,
    /// The caller of [`Source::spirv_unchecked`].
    Caller,
}

impl Source {
    /// A shader in WGSL.
    ///
    /// ```
    /// use vkarray_shader::Source;
    ///
    /// let source = Source::wgsl("@compute @workgroup_size(64) fn main() {}").named("empty.wgsl");
    /// assert_eq!(source.name(), "empty.wgsl");
    /// ```
    pub fn wgsl(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new("shader.wgsl", Language::Wgsl(text.into()))
    }

    /// A compute shader in GLSL, for Vulkan, OpenGL or OpenGL ES 3.1.
    ///
    /// Khronos's front end compiles it: as a part of the program with the feature `glslang`, else as the program
    /// `glslangValidator`, which is `VKARRAY_GLSLANG` or found in `PATH`. What it makes is treated as SPIR-V of
    /// [`Source::spirv`], so a kernel takes `spirv-val` too. Without a compiler, the shader is refused with
    /// [`Error::GlslCompiler`](crate::Error::GlslCompiler).
    ///
    /// Uniform variables outside of blocks become push constants. `#include` reads files of the folders that
    /// [`Source::include_dir`] names.
    ///
    /// ```
    /// use vkarray_shader::{Module, Source};
    ///
    /// let source = Source::glsl(
    ///     "#version 450
    ///     layout(local_size_x = 64) in;
    ///     layout(std430, binding = 0) buffer X { float x[]; };
    ///     void main() { x[gl_GlobalInvocationID.x] *= 2.0; }",
    /// );
    /// assert!(Module::parse(&source)?.entry_points().eq(["main"]));
    /// # Ok::<(), vkarray_shader::Error>(())
    /// ```
    pub fn glsl(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new("shader.comp", Language::Glsl(Box::new(Glsl::new(text.into()))))
    }

    /// Defines a macro of a shader in GLSL, as `#define NAME VALUE` behind its first line would. Shaders in other languages are
    /// refused with it when they are parsed.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use vkarray_shader::{Module, Options, Source};
    ///
    /// let source = Source::glsl("#version 450\nlayout(local_size_x = SIZE) in; void main() {}").define("SIZE", "128");
    /// let translated = Module::parse(&source)?.translate(None, &BTreeMap::new(), &Options::default())?;
    /// assert_eq!(translated.signature.workgroup_size, [128, 1, 1]);
    /// # Ok::<(), vkarray_shader::Error>(())
    /// ```
    #[must_use]
    pub fn define(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with_glsl("a macro", |glsl| glsl.define(name.into(), value.into()))
    }

    /// Adds a folder to those in which `#include` of a shader in GLSL finds files. They are searched in the order in which
    /// they are added, after the folder of the including file for names between quotes. No file outside of these folders is
    /// read: a name that is absolute or leads upwards has to end in one of them, after links are followed.
    ///
    /// Shaders in other languages are refused with it when they are parsed.
    ///
    /// ```
    /// use vkarray_shader::{Module, Source};
    ///
    /// let text = "#version 450\n#include \"twice.glsl\"\nvoid main() {}";
    /// let error = Module::parse(&Source::glsl(text)).unwrap_err().to_string();
    /// assert!(error.starts_with("shader.comp:2: the `#include` cannot be followed: `twice.glsl` is not read"), "{error}");
    /// let error = Module::parse(&Source::glsl(text).include_dir("/no/such/folder")).unwrap_err().to_string();
    /// assert!(error.contains("there is no file `twice.glsl` in `/no/such/folder`"), "{error}");
    /// ```
    #[must_use]
    pub fn include_dir(self, path: impl Into<PathBuf>) -> Self {
        self.with_glsl("an include folder", |glsl| glsl.include_dir(path.into()))
    }

    /// Gives a shader in GLSL what no other language has.
    fn with_glsl(mut self, what: &'static str, give: impl FnOnce(&mut Glsl)) -> Self {
        match &mut self.language {
            Language::Glsl(glsl) => give(glsl),
            _ => self.misplaced = Some(what),
        }
        self
    }

    /// The source with what the disk and the environment add to it: the files that a shader in GLSL includes, and its
    /// compiler. Equal sources then make equal kernels.
    #[doc(hidden)]
    #[must_use]
    pub fn resolved(mut self) -> Self {
        if let Language::Glsl(glsl) = &mut self.language {
            glsl.resolve(&self.name);
        }
        self
    }

    /// SPIR-V of any compiler for Vulkan (glslang, slang, DXC, clspv, rust-gpu), as the bytes of a file.
    ///
    /// The file may be damaged or hostile. Before the driver sees the module:
    ///
    /// - [`Module::parse`](crate::Module::parse) checks its structure;
    /// - `KernelBuilder::build` checks that the device has every capability, SPIR-V extension
    ///   and set of extended instructions that it declares, and that none of them reaches memory by its address;
    /// - an index that the module computes into private, workgroup or push-constant memory is clamped to the array's last
    ///   element. Buffers are left to the device's `robustBufferAccess2` where that is exact to the byte. Elsewhere their
    ///   indices are clamped too, and `robustBufferAccess` must be enabled. What cannot be bounded this way, such as pointers
    ///   chosen at run time that are moved by an index, is [`SpirvError::Unbounded`](crate::SpirvError::Unbounded);
    /// - Khronos's validator, `spirv-val`, checks the finished module for Vulkan 1.3, as a process with a time limit of 60 s.
    ///   It is `VKARRAY_SPIRV_VAL`, or found in `PATH`. It runs in about 2 ms, once for each module in a
    ///   `KernelCache`; a cache on disk keeps that a module passed.
    ///
    /// So no index of such a kernel reaches memory that is not bound to it. Values that it reads before it writes them are
    /// arbitrary, and a loop that never ends makes the driver give up the device. `docs/unsafe.md` says which undefined
    /// behaviour of the specification is left: it relies on drivers that compile it to some value.
    ///
    /// Without a validator, or with one that is older than the module, the kernel is refused with
    /// [`SpirvError::Validator`](crate::SpirvError::Validator). [`Source::spirv_unchecked`] needs none.
    ///
    /// ```
    /// use vkarray_shader::{Error, Module, Source, SpirvError};
    ///
    /// let error = Module::parse(&Source::spirv(&b"no module"[..]).named("notes.spv")).unwrap_err();
    /// assert!(matches!(error, Error::Spirv(SpirvError::Malformed { .. })));
    /// ```
    pub fn spirv(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::of_spirv(bytes.into(), Trust::Validated)
    }

    /// [`Source::spirv`] of words in the machine's byte order, with the same checks.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use vkarray_shader::{Module, Options, Source};
    ///
    /// let wgsl = Module::parse(&Source::wgsl("@compute @workgroup_size(8) fn main() {}"))?;
    /// let translated = wgsl.translate(None, &BTreeMap::new(), &Options::default())?;
    /// let again = Module::parse(&Source::spirv_words(&translated.spirv))?;
    /// assert!(again.entry_points().eq(["main"]));
    /// # Ok::<(), vkarray_shader::Error>(())
    /// ```
    pub fn spirv_words(words: &[u32]) -> Self {
        Self::spirv(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// SPIR-V that the driver gets without a validator's judgement and without added bounds.
    ///
    /// Its structure is checked, and that the device has the capabilities and extensions that it declares. Nothing else is:
    /// no validator runs, and no index is clamped.
    ///
    /// # Safety
    ///
    /// The module is valid SPIR-V for Vulkan 1.3 in the sense of the specification, as `spirv-val --target-env vulkan1.3`
    /// checks most of it. In every dispatch of a kernel built from it, no invocation does what the specification leaves
    /// undefined, above all no access through a pointer or an index that is outside the variable it was made from.
    ///
    /// ```
    /// use vkarray_shader::Source;
    ///
    /// # let compiled = &b""[..];
    /// // SAFETY: our own build compiled it, and each of its indices is compared with the array's length.
    /// let source = unsafe { Source::spirv_unchecked(compiled) }.named("saxpy.spv");
    /// assert_eq!(source.name(), "saxpy.spv");
    /// ```
    #[must_use]
    pub unsafe fn spirv_unchecked(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::of_spirv(bytes.into(), Trust::Caller)
    }

    fn of_spirv(bytes: Cow<'static, [u8]>, trust: Trust) -> Self {
        Self::new("shader.spv", Language::Spirv { bytes, trust })
    }

    const fn new(name: &'static str, language: Language) -> Self {
        Self { name: Cow::Borrowed(name), language, libraries: Vec::new(), misplaced: None }
    }

    /// Adds a library after the shader's text. In WGSL the order of declarations is free, so the shader's own lines keep their
    /// numbers, and its `enable` lines stay first. Only WGSL has libraries; others are refused when they are parsed.
    ///
    /// ```
    /// use vkarray_shader::{Library, Module, Source};
    ///
    /// let source = Source::wgsl("@compute @workgroup_size(1) fn main() { half(3u); }")
    ///     .with(Library::new("half.wgsl", "fn half(x: u32) -> u32 { return x / 2u; }"));
    /// # let _ = Module::parse(&source)
    /// #     .map(|module| assert_eq!(module.entry_points().count(), 1));
    /// ```
    #[must_use]
    pub fn with(mut self, library: Library) -> Self {
        self.libraries.push(library);
        self
    }

    /// Sets the name that errors show, such as the path of a file: a `&str` or a `String`.
    ///
    /// ```
    /// use vkarray_shader::{Module, Source};
    ///
    /// let error = Module::parse(&Source::wgsl("fn main(").named("shaders/blur.wgsl")).unwrap_err();
    /// assert!(error.to_string().starts_with("shaders/blur.wgsl:1:"));
    /// ```
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Cow::Owned(name.into()), ..self }
    }

    /// The name that errors show: `shader.wgsl`, `shader.comp` or `shader.spv` unless [`Source::named`] set another.
    ///
    /// ```
    /// use vkarray_shader::Source;
    ///
    /// assert_eq!(Source::wgsl("").name(), "shader.wgsl");
    /// assert_eq!(Source::wgsl("").named("blur.wgsl").name(), "blur.wgsl");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether making SPIR-V of it takes a compiler.
    #[doc(hidden)]
    pub const fn is_text(&self) -> bool {
        !matches!(self.language, Language::Spirv { .. })
    }

    /// Whether naga translates it.
    #[doc(hidden)]
    pub const fn is_wgsl(&self) -> bool {
        matches!(self.language, Language::Wgsl(_))
    }

    /// Whether the driver is given its SPIR-V only after a validator passed it.
    #[doc(hidden)]
    pub const fn is_to_be_validated(&self) -> bool {
        matches!(self.language, Language::Glsl(_) | Language::Spirv { trust: Trust::Validated, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_named_or_says_its_language() {
        assert_eq!(Source::wgsl("x").name(), "shader.wgsl");
        assert_eq!(Source::wgsl(String::from("x")).named("a.wgsl").name(), "a.wgsl");
        assert_ne!(Source::wgsl("x"), Source::wgsl("y"));
    }
}
