//! What a kernel takes and needs: [`Signature`], plain data read from the shader.
//!
//! It is the contract between the shader and its callers: `call/check.rs` of `vkarray-kernel` checks arguments against it,
//! `pipeline/kernel.rs` there makes descriptor sets and push-constant ranges from it, the command line prints it. Nothing
//! here reads a shader (`binary/reflect.rs`, and `translate/reflect.rs` of `vkarray-shader`, do) or asks a device
//! (`vkarray-kernel` does, in `fits`).
//!
//! Read this file first, then `element_type.rs` (what a shader declares) and `dtype.rs` (what the host stores).

mod arguments;
mod bindings;
mod capability;
mod dtype;
mod element_type;
mod host_struct;
mod image;
mod needs;
mod param;
mod scalar;
mod typestr;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use arguments::Parameter;
pub use bindings::{Bindings, MAX_COUNTED};
pub use capability::{Capability, FloatAtomic, FloatAtomicOp};
pub use dtype::{Bool, Complex32, Complex64, DType, Element, UnknownDType};
pub use element_type::{ElementType, Field, Leaf, column_stride};
pub use host_struct::{assert_field, assert_size};
pub use image::{ImageDim, ImageRole, ImageType, TexelFormat};
pub use needs::{MatrixProduct, MatrixRole, MatrixUse, Subgroups};
pub use param::{Access, Alias, Param, ParamKind};
pub use scalar::{BadScalar, ScalarValue, range_of};
pub use typestr::ByteOrder;

/// What one entry point takes and needs, with the values of its constants applied.
///
/// ```
/// use vkarray_spirv::{DType, ElementType, Param, ParamKind, Signature};
///
/// let image = Param::of_type(ParamKind::Storage, ElementType::Scalar(DType::F32));
/// let params = vec![Param { name: "image".to_owned(), binding: 2, reads: true, ..image }];
/// let blur = Signature { entry: "blur".to_owned(), workgroup_size: [8, 1, 1], params, ..Signature::default() };
/// assert_eq!(blur.to_string(), "blur: workgroup 8×1×1\n  image  storage 0:2  read  f32");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The entry point's name.
    pub entry: String,
    /// Invocations of a workgroup on x, y and z.
    pub workgroup_size: [u32; 3],
    /// The buffers, images and samplers it uses, ordered by group, then binding; behind them the arrays whose addresses are
    /// push constants.
    pub params: Vec<Param>,
    /// How it uses memory by addresses that it reads from memory or computes, if it does.
    #[serde(default)]
    pub reached: Option<Access>,
    /// Its push constants, if it uses any.
    pub push_constants: Option<PushConstants>,
    /// The constants it depends on, in the order of declaration; those of SPIR-V by number.
    pub constants: Vec<Constant>,
    /// The workgroup variables it uses.
    pub shared: Vec<SharedVar>,
    /// Bytes of shared memory of one workgroup, with the padding between variables.
    pub shared_bytes: u64,
    /// The capabilities that the device must have.
    pub capabilities: Vec<Capability>,
    /// The extensions and sets of extended instructions that it declares. Only SPIR-V of other compilers has any.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// The cooperative matrices that it uses.
    #[serde(default)]
    pub matrices: Vec<MatrixUse>,
    /// Which subgroups it was built for.
    #[serde(default)]
    pub subgroups: Subgroups,
}

/// The block of push constants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushConstants {
    /// The variable's name.
    pub name: String,
    /// Its type as the shader spells it: a struct's name, or that of a number.
    pub ty: String,
    /// Bytes of the block, a multiple of four.
    pub bytes: u32,
    /// Its members but addresses, in order of offset.
    pub members: Vec<PushMember>,
}

/// One push constant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushMember {
    /// Its name: a field's, or the variable's when that is no struct.
    pub name: String,
    /// Bytes from the start of the block.
    pub offset: u32,
    /// Its type: a scalar or vector, seldom a matrix or array.
    pub ty: ElementType,
}

impl PushMember {
    /// Its numbers with their places in the block, in order.
    #[doc(hidden)]
    pub fn leaves(&self) -> impl Iterator<Item = Leaf> {
        self.ty.leaves().into_iter().map(|(at, dtype)| (self.offset + at, dtype))
    }
}

/// A constant fixed when the kernel is built (WGSL's `override`, SPIR-V's specialisation constant).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Its `@id` or `constant_id`, if it has one.
    pub id: Option<u32>,
    /// Its type.
    pub dtype: DType,
    /// Its value if it is not set.
    pub default: ConstantDefault,
    /// Its value in this kernel.
    pub value: ScalarValue,
    /// The workgroup's size on each axis that is set together with it: SPIR-V gives a size a default of its own, which may
    /// be another than the constant's.
    pub sizes: [Option<u32>; 3],
}

impl Constant {
    /// What follows its value in a line: the axes of the workgroup that are set with it.
    fn sized(&self) -> String {
        let axis = |(axis, size): (char, Option<u32>)| match size? {
            size if self.is(size) => Some(format!(", and the workgroup's {axis}")),
            size => Some(format!("; the workgroup's {axis} is {size} unless it is set")),
        };
        ['x', 'y', 'z'].into_iter().zip(self.sizes).filter_map(axis).collect()
    }

    fn is(&self, size: u32) -> bool {
        self.value == ScalarValue::U32(size)
            || i32::try_from(size).is_ok_and(|size| self.value == ScalarValue::I32(size))
    }
}

/// The value of a constant that is not set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ConstantDefault {
    /// It must be set.
    Required,
    /// This value.
    Value(ScalarValue),
    /// Computed from other constants.
    Derived,
}

/// A variable in shared (workgroup) memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedVar {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Signature {
    /// The parameters: buffers by group and binding, then push constants by offset. [`Parameter`] has an example.
    ///
    /// A push constant may have a buffer's name; the name then means the buffer. In place of all push constants a caller may
    /// give the whole block, as an `Immediate`.
    pub fn arguments(&self) -> impl Iterator<Item = Parameter<'_>> {
        self.params.iter().map(Parameter::Array).chain(self.push_members().iter().map(Parameter::Scalar))
    }

    /// The number of parameters.
    pub fn n_arguments(&self) -> usize {
        self.params.len() + self.push_members().len()
    }

    /// The parameter's own name, for that of any variable at its binding; other names are returned unchanged.
    pub fn own_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.arguments().find(|parameter| parameter.is_called(name)).map_or(name, |parameter| parameter.name())
    }

    /// What is valid and hardly meant: a constant that also sets the size of the workgroup, and was not set, so that the
    /// size is another than the constant, or the whole workgroup is one invocation. Each is a sentence for the user.
    ///
    /// ```
    /// # use vkarray_spirv::Signature;
    /// assert!(Signature::default().warnings().is_empty());
    /// ```
    pub fn warnings(&self) -> Vec<String> {
        let Self { entry, workgroup_size, .. } = self;
        let is_suspect = |constant: &&Constant| {
            let mut sizes = constant.sizes.into_iter().flatten().peekable();
            let is_alone = sizes.peek().is_some() && *workgroup_size == [1; 3];
            is_alone || sizes.any(|size| !constant.is(size))
        };
        let warning = |Constant { name, value, .. }: &Constant| {
            let size = times(*workgroup_size);
            format!(
                "kernel `{entry}`: constant `{name}` also sets the size of the workgroup; while it is not set, the \
                 workgroup is {size} and `{name}` is {value}"
            )
        };
        self.constants.iter().filter(is_suspect).map(warning).collect()
    }

    /// For each array of bindings without a length, in the order of the parameters: the number of arrays that the kernel
    /// was built for.
    #[doc(hidden)]
    pub fn counts(&self) -> impl Iterator<Item = (&Param, u32)> {
        self.params.iter().filter_map(|param| match param.bindings {
            Bindings::Counted(count) => Some((param, count)),
            Bindings::One | Bindings::Fixed(_) => None,
        })
    }

    /// The parameters that descriptors bind: all but addresses.
    #[doc(hidden)]
    pub fn bound(&self) -> &[Param] {
        let n_bound = self.params.iter().take_while(|param| param.kind != ParamKind::Address).count();
        &self.params[..n_bound]
    }

    /// By which address it reaches memory, if it does, in words.
    pub(crate) fn address(&self) -> Option<String> {
        if let Some(param) = self.params.iter().find(|param| param.kind == ParamKind::Address) {
            return Some(format!("the address `{}`", param.name));
        }
        let holder = self.arguments().find(|parameter| parameter.ty().has_address()).map(|parameter| parameter.name());
        let text =
            holder.map_or_else(|| "an address that it computes".to_owned(), |name| format!("an address in `{name}`"));
        self.reached.map(|_| text)
    }

    /// Adds what arrays of bindings need, whose indices are taken to be computed.
    #[doc(hidden)]
    pub fn add_capabilities_of_lists(&mut self) {
        let lists = self.params.iter().filter(|param| param.bindings.is_list());
        let of_kind = |param: &Param| match param.kind {
            ParamKind::Storage => Capability::StorageArrays,
            _ => Capability::UniformArrays, // Only buffers are in lists.
        };
        self.capabilities.extend(lists.map(of_kind));
        self.capabilities.sort_unstable();
        self.capabilities.dedup();
    }

    #[doc(hidden)]
    pub fn push_members(&self) -> &[PushMember] {
        self.push_constants.as_ref().map_or(&[], |push| &push.members)
    }

    /// The lines of `Display` after the first: name, where, access, type.
    fn rows(&self) -> Vec<[String; 4]> {
        let buffers = self.params.iter().flat_map(|param| {
            let [kind, _] = param.kind.names();
            let place = match param.kind {
                ParamKind::Address => format!("{kind} +{}", param.binding),
                _ => format!("{kind} {}:{}", param.group, param.binding),
            };
            let first = [param.name.clone(), place, param.access.to_string(), param.type_text()];
            let same =
                |alias: &Alias| [alias.name.clone(), "  the same".to_owned(), String::new(), alias.ty.to_string()];
            std::iter::once(first).chain(param.aliases.iter().map(same)).collect::<Vec<_>>()
        });
        let scalars = self.push_members().iter().map(|member| {
            [member.name.clone(), format!("push +{}", member.offset), String::new(), member.ty.to_string()]
        });
        let constants = self.constants.iter().map(|constant| {
            let place = constant.id.map_or("constant".to_owned(), |id| format!("constant @{id}"));
            let default = match constant.default {
                ConstantDefault::Value(default) if default != constant.value => format!(" (default {default})"),
                _ => String::new(),
            };
            let ty = format!("{} = {}{default}{}", constant.dtype, constant.value, constant.sized());
            [constant.name.clone(), place, String::new(), ty]
        });
        let shared = self.shared.iter().map(|variable| {
            let size = bytes_text(variable.bytes);
            [variable.name.clone(), "shared".to_owned(), String::new(), size]
        });
        let reached = self.reached.map(|access| {
            ["(reached)".to_owned(), "by address".to_owned(), access.to_string(), "any array".to_owned()]
        });
        buffers.chain(reached).chain(scalars).chain(constants).chain(shared).collect()
    }
}

impl fmt::Display for Signature {
    /// Prints a headline, then an aligned line for each argument, constant and shared variable:
    ///
    /// ```text
    /// convolve: workgroup 16×16×1, shared 9.0 KiB
    ///   image  storage 0:0  read        array<f32>
    ///   out    storage 0:1  read_write  array<f32>
    ///   width  push +0                  u32
    ///   TILE   constant                 u32 = 16 (default 8)
    ///   tile   shared                   9.0 KiB
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: workgroup {}", self.entry, times(self.workgroup_size))?;
        if self.shared_bytes > 0 {
            write!(f, ", shared {}", bytes_text(self.shared_bytes))?;
        }
        write!(f, "{}", self.subgroups)?;
        for (i, capability) in self.capabilities.iter().enumerate() {
            write!(f, "{}{capability}", if i == 0 { ", needs " } else { ", " })?;
        }
        let rows = self.rows();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (name, place, access) = (width(0), width(1), width(2));
        let gap = if access > 0 { "  " } else { "" };
        for row in &rows {
            write!(f, "\n  {:name$}  {:place$}{gap}{:access$}  {}", row[0], row[1], row[2], row[3])?;
        }
        Ok(())
    }
}

/// `16×16×1`.
pub(crate) fn times([x, y, z]: [u32; 3]) -> String {
    format!("{x}×{y}×{z}")
}

/// A number of bytes, in the largest unit of which there is one.
fn bytes_text(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is printed")]
    let scaled = |shift: u32| bytes as f64 / (1_u64 << shift) as f64;
    match bytes {
        0..0x400 => format!("{bytes} bytes"),
        0x400..0x10_0000 => format!("{:.1} KiB", scaled(10)),
        _ => format!("{:.1} MiB", scaled(20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_arguments_is_one_line() {
        let signature = Signature { entry: "main".into(), workgroup_size: [64, 1, 1], ..Signature::default() };
        assert_eq!(signature.to_string(), "main: workgroup 64×1×1");
    }
}
