//! [`Parameter`]: what a caller of a kernel gives one argument for.

use crate::signature::{ElementType, Param, PushMember};

/// One parameter of a kernel, as its callers count them.
///
/// ```
/// use vkarray_spirv::{DType, ElementType, Param, ParamKind, Parameter, PushConstants, PushMember, Signature};
///
/// let ty = ElementType::Scalar(DType::F32);
/// let members = vec![PushMember { name: "a".to_owned(), offset: 0, ty: ty.clone() }];
/// let push = PushConstants { name: "a".to_owned(), ty: "f32".to_owned(), bytes: 4, members };
/// let x = Param { name: "x".to_owned(), writes: true, ..Param::of_type(ParamKind::Storage, ty) };
/// let signature = Signature { params: vec![x], push_constants: Some(push), ..Signature::default() };
/// let names: Vec<_> = signature.arguments().map(|parameter| parameter.name()).collect();
/// assert_eq!((names, signature.n_arguments()), (vec!["x", "a"], 2)); // Buffers first.
/// assert!(matches!(signature.arguments().next(), Some(Parameter::Array(param)) if param.writes));
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
