//! Shader source: [`Source`], text or words together with the name errors show.
//!
//! Nothing is parsed here; a bad source fails in [`Module::parse`](crate::Module::parse).
//! Read next: `translate.rs`.

use std::borrow::Cow;

/// A shader as its author wrote it.
///
/// Built from text that lives as long as the source, or owns it; cheap to clone when the text is `'static`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    name: Cow<'static, str>,
    language: Language,
    libraries: Vec<Library>,
}

/// WGSL that several shaders share: functions, types and constants, and the name that errors show.
///
/// The texts that come with vkarray are `vkarray_shaders::library`'s.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Library {
    pub(crate) name: Cow<'static, str>,
    pub(crate) text: Cow<'static, str>,
}

impl Library {
    /// A library by the name of its file, most often.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, text: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// The languages there are. Private, so that adding one breaks nobody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    /// WebGPU shading language, translated by naga.
    Wgsl(Cow<'static, str>),
    /// OpenGL's shading language, translated by naga.
    Glsl(Cow<'static, str>),
    /// What other compilers make, as bytes of either order.
    Spirv(Cow<'static, [u8]>),
}

impl Source {
    /// A shader in WGSL.
    ///
    /// ```
    /// use vkarray_kernel::Source;
    ///
    /// let source = Source::wgsl("@compute @workgroup_size(64) fn main() {}").named("empty.wgsl");
    /// assert_eq!(source.name(), "empty.wgsl");
    /// ```
    #[must_use]
    pub fn wgsl(text: impl Into<Cow<'static, str>>) -> Self {
        Self { name: Cow::Borrowed("shader.wgsl"), language: Language::Wgsl(text.into()), libraries: Vec::new() }
    }

    /// A compute shader in GLSL, of the subset that naga translates.
    ///
    /// Where the subset ends, the error says so; `glslangValidator -V` makes SPIR-V of the whole language.
    #[must_use]
    pub fn glsl(text: impl Into<Cow<'static, str>>) -> Self {
        Self { name: Cow::Borrowed("shader.comp"), language: Language::Glsl(text.into()), libraries: Vec::new() }
    }

    /// SPIR-V of any compiler for Vulkan (glslang, slang, DXC, clspv, rust-gpu), as the bytes of a file.
    ///
    /// It does not pass through naga: its structure is checked and its parameters are read, then the driver gets it as it is.
    /// **No index is checked.** What an access out of range does is the driver's: with `robustBufferAccess`, which is
    /// enabled wherever it is there, it stays within memory of the device's own, and nothing else is promised.
    /// Rules about types and control flow are not checked either, and drivers trust them to be kept: show SPIR-V that you
    /// do not trust to `spirv-val` first.
    #[must_use]
    pub fn spirv(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        Self { name: Cow::Borrowed("shader.spv"), language: Language::Spirv(bytes.into()), libraries: Vec::new() }
    }

    /// As [`Source::spirv`], of words in the machine's order.
    #[must_use]
    pub fn spirv_words(words: &[u32]) -> Self {
        Self::spirv(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// Puts a library behind the shader. In WGSL the order of declarations is free, so the shader's own lines keep their
    /// numbers, and its `enable` lines stay first. Only WGSL has libraries; others are refused when they are parsed.
    ///
    /// ```
    /// use vkarray_kernel::{Library, Module, Source};
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

    /// Sets the name errors show, most often a file's path.
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The name errors show; `shader.wgsl`, `shader.comp` or `shader.spv` unless set.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether making SPIR-V of it takes a compiler.
    pub(crate) const fn is_text(&self) -> bool {
        !matches!(self.language, Language::Spirv(_))
    }

    pub(crate) fn libraries(&self) -> &[Library] {
        &self.libraries
    }

    pub(crate) const fn language(&self) -> &Language {
        &self.language
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
