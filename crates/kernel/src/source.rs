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
}

/// The languages there are. Private, so that adding one breaks nobody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    /// WebGPU shading language, translated by naga.
    Wgsl(Cow<'static, str>),
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
        Self { name: Cow::Borrowed("shader.wgsl"), language: Language::Wgsl(text.into()) }
    }

    /// Sets the name errors show, most often a file's path.
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The name errors show; `shader.wgsl` unless set.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
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
