//! A buffer, image or sampler that a kernel takes: [`Param`], and the other variables of the shader at its binding ([`Alias`]).
//!
//! A shader may declare several variables at one binding, which see the same memory as different types. They are one
//! parameter. [`Param::join`] says what it is. Only SPIR-V has them: WGSL does not allow it in one entry point.
//! Read next: `element_type.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::signature::{Bindings, DType, ElementType, ImageDim, ImageType};

/// A buffer the kernel uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// The variable's name.
    pub name: String,
    /// Descriptor set.
    pub group: u32,
    /// Binding in the set; of an address, its place in the push constants, in bytes.
    pub binding: u32,
    /// The memory it is bound as.
    pub kind: ParamKind,
    /// How many arrays it takes.
    pub bindings: Bindings,
    /// Whether the shader declares it as constant memory, so that what an argument does not fill reads as zero. It is bound
    /// as storage where it is longer than `Options::max_uniform_bytes` of `vkarray-shader`.
    pub is_constant: bool,
    /// The access that the shader declares.
    pub access: Access,
    /// Whether the entry point reads it, on any path.
    pub reads: bool,
    /// Whether the entry point writes it, on any path.
    pub writes: bool,
    /// The whole variable's type; in an array of bindings, that of each buffer.
    pub ty: ElementType,
    /// The other variables of the shader at this binding. The parameter goes by their names too.
    pub aliases: Vec<Alias>,
    /// Bytes before the runtime array; all bytes where there is none. With aliases, what each of the variables needs.
    pub fixed_bytes: u64,
    /// Bytes from element to element of the array the variable is or ends in.
    pub stride: Option<u32>,
    /// Elements, when the variable is an array of fixed length.
    pub array_len: Option<u32>,
    /// Of an address, what it is a multiple of, in bytes; else 1.
    pub alignment: u32,
}

/// Another variable at the binding of a [`Param`]: the same memory, seen as another type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// The variable's name.
    pub name: String,
    /// Its whole type.
    pub ty: ElementType,
}

impl Param {
    /// A buffer of this type, without a name and at the first binding, that is neither read nor written.
    #[doc(hidden)]
    pub fn of_type(kind: ParamKind, ty: ElementType) -> Self {
        let mut param = Self {
            name: String::new(),
            group: 0,
            binding: 0,
            kind,
            bindings: Bindings::One,
            is_constant: kind == ParamKind::Uniform,
            access: Access::Read,
            reads: false,
            writes: false,
            ty: ElementType::Scalar(DType::U32),
            aliases: Vec::new(),
            fixed_bytes: 0,
            stride: None,
            array_len: None,
            alignment: 1,
        };
        param.set_type(ty);
        param
    }

    /// An image or a buffer of texels that a kernel reads.
    #[doc(hidden)]
    pub fn of_image(ty: ImageType) -> Self {
        let kind = if ty.dim == ImageDim::Buffer { ParamKind::Texels } else { ParamKind::Image };
        Self::of_type(kind, ElementType::Image(ty))
    }

    /// The image that it is, if it is one, or a buffer of texels.
    pub fn image(&self) -> Option<&ImageType> {
        if let ElementType::Image(ty) = &self.ty { Some(ty) } else { None }
    }

    /// Sets the variable's type, and what follows from it.
    pub(crate) fn set_type(&mut self, ty: ElementType) {
        (self.stride, self.array_len) = match (&ty, ty.runtime_array()) {
            (_, Some((_, stride))) => (Some(stride), None),
            (ElementType::Array { len, stride, .. }, None) => (Some(*stride), *len),
            _ => (None, None),
        };
        self.fixed_bytes = ty.bytes();
        self.ty = ty;
    }

    /// Its type as WGSL spells it, `binding_array<array<f32>, 4>` for a list of arrays.
    pub fn type_text(&self) -> String {
        match self.bindings {
            Bindings::One => self.ty.to_string(),
            Bindings::Fixed(count) => format!("binding_array<{}, {count}>", self.ty),
            Bindings::Counted(_) => format!("binding_array<{}>", self.ty),
        }
    }

    /// Whether it goes by this name: its own, or that of another variable at its binding.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias.name == name)
    }

    /// Whether variables of different numbers share the binding, so that an array of any type is taken as its bytes.
    #[doc(hidden)]
    pub fn is_bytes(&self) -> bool {
        let scalar = self.ty.scalar();
        self.aliases.iter().any(|alias| alias.ty != self.ty && (scalar.is_none() || alias.ty.scalar() != scalar))
    }

    /// Joins another variable at the same binding, as the same kind of memory.
    ///
    /// The parameter has name and type of the variable that decides the length: the one with the smallest elements of those
    /// that end in an array without a length, else the largest, the first of equals. It is read and written as any of them is.
    pub(crate) fn join(&mut self, mut other: Self) {
        let rank = |param: &Self| match param.ty.runtime_array() {
            Some((_, stride)) => (0, u64::from(stride)),
            None => (1, u64::MAX - param.fixed_bytes),
        };
        if rank(&other) < rank(self) {
            std::mem::swap(self, &mut other);
        }
        (self.reads, self.writes) = (self.reads || other.reads, self.writes || other.writes);
        if self.access != other.access {
            self.access = Access::ReadWrite;
        }
        let short = other.fixed_bytes.saturating_sub(self.fixed_bytes);
        if let Some((_, stride)) = self.ty.runtime_array() {
            self.fixed_bytes += short.next_multiple_of(stride.into()); // The rest stays a number of whole elements.
        }
        self.aliases.push(Alias { name: other.name, ty: other.ty });
        self.aliases.append(&mut other.aliases);
    }

    /// Bytes of its elements that hold data, the rest being padding. The elements are `stride` bytes apart.
    #[doc(hidden)]
    pub fn used_bytes(&self, stride: u32) -> u64 {
        match &self.ty {
            ElementType::Array { element, .. } => element.used_bytes(),
            ty => ty.runtime_array().map_or(u64::from(stride), |(element, _)| element.used_bytes()),
        }
    }

    /// Simplifies a block of GLSL: a buffer of one member is that member, and a block without a name gets that of its member
    /// or of its type.
    pub(crate) fn unwrap_block(&mut self) {
        let ElementType::Struct { name, fields, .. } = &mut self.ty else { return };
        let name: &String = name;
        let only = (fields.len() == 1 && fields[0].offset == 0).then(|| fields.swap_remove(0));
        if self.name.is_empty() {
            self.name.clone_from(only.as_ref().map_or(name, |field| &field.name));
        }
        if let Some(only) = only {
            self.set_type(only.ty);
        }
    }
}

/// What a parameter is bound as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ParamKind {
    /// `var<storage>`: large, may be written.
    Storage,
    /// `var<uniform>`: constant memory.
    Uniform,
    /// A buffer of texels, which has a format as an image has. Its type is an [`ElementType::Image`].
    Texels,
    /// An image. Its type is an [`ElementType::Image`].
    Image,
    /// A sampler. Its type is [`ElementType::Sampler`].
    Sampler,
    /// Memory whose address is a push constant. It is bound nowhere. Its type is that of the memory.
    Address,
}

impl ParamKind {
    /// Its name in listings, and with its article in messages.
    pub(crate) const fn names(self) -> [&'static str; 2] {
        match self {
            Self::Storage => ["storage", "a storage buffer"],
            Self::Uniform => ["uniform", "a uniform buffer"],
            Self::Texels => ["texels", "a buffer of texels"],
            Self::Image => ["image", "an image"],
            Self::Sampler => ["sampler", "a sampler"],
            Self::Address => ["address", "an address"],
        }
    }
}

/// The access to a buffer that a shader declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// Read only.
    Read,
    /// Write only.
    Write,
    /// Both.
    ReadWrite,
}

impl Access {
    /// The access to what is read, written, or both.
    #[doc(hidden)]
    pub const fn of(reads: bool, writes: bool) -> Self {
        match (reads, writes) {
            (true, true) => Self::ReadWrite,
            (false, true) => Self::Write,
            (_, false) => Self::Read,
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read_write",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::Field;

    fn array(dtype: DType, len: Option<u32>) -> ElementType {
        ElementType::Array { element: Box::new(ElementType::Scalar(dtype)), len, stride: dtype.itemsize() }
    }

    /// A header of so many bytes, then an array.
    fn behind(bytes: u32, array: ElementType) -> ElementType {
        let header = Field { name: "n".to_owned(), offset: 0, ty: ElementType::Scalar(DType::U32) };
        let fields = vec![header, Field { name: "v".to_owned(), offset: bytes, ty: array }];
        ElementType::Struct { name: "B".to_owned(), fields, bytes: bytes + 4 }
    }

    #[test]
    fn the_variable_that_decides_the_length_is_the_parameter() {
        use DType::{F32, F64, U8, U32};
        let (number, list) = (|| ElementType::Scalar(U32), |dtype| array(dtype, None));
        // Types of `a` and `b`; the name, the bytes that come first, and whether any array is taken as bytes.
        let cases = [
            (number(), array(U32, Some(8)), ("b", 32, false)),
            (array(U32, Some(8)), number(), ("a", 32, false)),
            (array(U32, Some(4)), array(F32, Some(4)), ("a", 16, true)),
            (number(), behind(4, list(U32)), ("b", 4, false)),
            (number(), behind(4, list(F32)), ("b", 4, true)),
            (list(F64), list(U8), ("b", 0, true)),
            (list(F32), list(F32), ("a", 0, false)),
            (array(U32, Some(5)), list(F64), ("b", 24, true)), // Five words in whole elements of eight bytes.
            (array(U32, Some(5)), behind(4, list(F64)), ("b", 20, true)),
            (behind(8, list(F64)), list(U32), ("b", 8, true)),
        ];
        for (a, b, expected) in cases {
            let what = format!("{a:?} and {b:?}");
            let named = |name: &str, ty| Param { name: name.to_owned(), ..Param::of_type(ParamKind::Storage, ty) };
            let mut joined = named("a", a);
            joined.join(Param { writes: true, access: Access::Write, ..named("b", b) });
            assert_eq!((joined.name.as_str(), joined.fixed_bytes, joined.is_bytes()), expected, "{what}");
            assert_eq!((joined.reads, joined.writes, joined.access), (false, true, Access::ReadWrite));
            assert!(joined.is_called("a") && joined.is_called("b") && !joined.is_called("c"));
        }
    }
}
