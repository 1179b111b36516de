//! [`Parameter`]: what a caller of a kernel gives one argument for.

use crate::signature::{ElementType, Param, PushMember};

/// One parameter of a kernel, as its callers count them.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_shader::{Module, Options, Parameter, Source};
///
/// let source = Source::wgsl("var<immediate> a: f32; @group(0) @binding(0) var<storage, read_write> x: array<f32>; @compute @workgroup_size(1) fn scale() { x[0] *= a; }");
/// let signature = Module::parse(&source)?.translate(None, &Default::default(), &Options::default())?.signature;
/// let names: Vec<_> = signature.arguments().map(|parameter| parameter.name()).collect();
/// assert_eq!((names, signature.n_arguments()), (vec!["x", "a"], 2)); // Buffers first.
/// assert!(matches!(signature.arguments().next(), Some(Parameter::Array(param)) if param.writes));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameter<'a> {
    /// A buffer, an image or an address: give an array. Or a sampler: give a `Sampler`.
    Array(&'a Param),
    /// A push constant: give a number.
    Scalar(&'a PushMember),
}

impl<'a> Parameter<'a> {
    /// Its name in the shader.
    pub fn name(&self) -> &'a str {
        match self {
            Self::Array(param) => &param.name,
            Self::Scalar(member) => &member.name,
        }
    }

    /// Whether it goes by this name, its own or that of another variable at the binding of a buffer.
    pub fn is_called(&self, name: &str) -> bool {
        match self {
            Self::Array(param) => param.is_called(name),
            Self::Scalar(member) => member.name == name,
        }
    }

    /// Its type in the shader; of a list of arrays, that of one of them.
    pub const fn ty(&self) -> &'a ElementType {
        match self {
            Self::Array(param) => &param.ty,
            Self::Scalar(member) => &member.ty,
        }
    }
}
