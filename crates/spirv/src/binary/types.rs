//! From a module's types to [`ElementType`]s, with the layout that the module declares.
//!
//! Offsets and strides come from decorations, whatever rules the compiler had (std140, std430, scalar); nothing is laid
//! out here, but in workgroup memory, which has no declared layout. A layout that overlaps itself, or is not there, is
//! refused. Types are declared before their use, so recursion ends; its depth and size are bounded all the same.
//! Read next: `signature/mod.rs`.

use spirv::{Decoration, Dim, Op};

use super::constants::{Values, scalar_dtype};
use super::contents::{Contents, Type, is_address};
use crate::error::Malformed;
use crate::error::Resource;
use crate::signature::{DType, ElementType, Field, ImageDim, ImageRole, ImageType, Param, ParamKind, TexelFormat};

/// Types within types, at most: SPIR-V allows 255 of structs.
const MAX_DEPTH: u32 = 64;

/// Parts of one buffer's type, at most.
const MAX_PARTS: u32 = 4096;

/// How the matrices in a struct's member lie.
#[derive(Clone, Copy, Debug)]
struct MatrixLayout {
    stride: u32,
    is_row_major: bool,
}

/// What memory holds none of.
const HANDLE: &str = "an image or a sampler";

/// Bytes that no device has, and that do not overflow when a few thousand are added.
const MAX_SHARED: u64 = 1 << 40;

/// A reader of types.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypeReader<'a> {
    pub(super) contents: &'a Contents,
    pub(super) values: &'a Values,
    /// The variable whose type is read, for messages.
    pub(super) variable: &'a str,
}

/// The result without a place, which the caller adds.
type Read<T> = Result<T, Malformed>;

impl TypeReader<'_> {
    /// The type of what lies in a buffer.
    pub(super) fn element(&self, id: u32) -> Read<ElementType> {
        self.read(id, None, 0, &mut 0)
    }

    fn layout<T>(&self, what: impl Into<String>) -> Read<T> {
        Err(Malformed::Layout { variable: self.variable.to_owned(), what: what.into() })
    }

    fn holds<T>(&self, what: &'static str) -> Read<T> {
        Err(Malformed::Holds { variable: self.variable.to_owned(), what })
    }

    fn read(&self, id: u32, matrix: Option<MatrixLayout>, depth: u32, parts: &mut u32) -> Read<ElementType> {
        *parts += 1;
        Malformed::check_count("types within types", depth, MAX_DEPTH)?;
        Malformed::check_count("parts of a type", *parts, MAX_PARTS)?;
        match &self.contents.types[&id] {
            Type::Bool => self.holds("a truth value"),
            Type::Int { .. } | Type::Float { .. } => self.scalar(id).map(ElementType::Scalar),
            Type::Vector { component, len } => {
                Ok(ElementType::Vector { len: lanes(*len)?, scalar: self.scalar(*component)? })
            }
            Type::Matrix { column, columns } => self.matrix(*column, *columns, matrix),
            Type::Array { element, len } => {
                self.array(id, *element, Some(self.array_len(*len)?), (matrix, depth, parts))
            }
            Type::RuntimeArray { element } => self.array(id, *element, None, (matrix, depth, parts)),
            Type::Struct { members } => self.structure(id, members, depth, parts),
            ty @ Type::Pointer { pointee, .. } if is_address(ty) => Ok(ElementType::Address(self.leads_to(*pointee))),
            Type::Pointer { .. } => self.holds("a pointer"),
            Type::CooperativeMatrix(_) => self.holds(Resource::CooperativeMatrix.what()),
            Type::Image { .. } | Type::SampledImage { .. } | Type::Sampler => self.holds(HANDLE),
            Type::Other(op) => self.holds(resource(*op).what()),
        }
    }

    /// What is called the type that an address leads to. It is not read: it may hold the same address.
    fn leads_to(&self, id: u32) -> String {
        match &self.contents.types[&id] {
            Type::Struct { .. } => self.contents.name(id).unwrap_or("struct").to_owned(),
            _ => self.scalar(id).map_or_else(|_| "memory".to_owned(), |scalar| scalar.to_string()),
        }
    }

    /// The array that an address leads to, of a block without an array at its end one after the other.
    pub(super) fn addressed(&self, pointer: u32) -> Read<ElementType> {
        let Type::Pointer { pointee, .. } = self.contents.types[&pointer] else { return self.holds("a pointer") };
        let element = self.element(pointee)?;
        if element.runtime_array().is_some() {
            return Ok(element);
        }
        let bytes = u32::try_from(element.bytes()).or_else(|_| self.layout("an address of more than 4 GiB"))?;
        let stride = self.contents.decoration(pointer, None, Decoration::ArrayStride).unwrap_or(bytes);
        if u64::from(stride) < element.tight_bytes() || stride == 0 {
            return self.layout(format!("an address leads to elements of {bytes} bytes, {stride} apart"));
        }
        Ok(ElementType::Array { element: Box::new(element), len: None, stride })
    }

    fn scalar(&self, id: u32) -> Read<DType> {
        match &self.contents.types[&id] {
            Type::Bool => self.holds("a truth value"),
            ty @ (Type::Int { width: bits, .. } | Type::Float { width: bits, .. }) => {
                scalar_dtype(ty).ok_or(Malformed::Width {
                    bits: *bits,
                    what: "which is not 8, 16, 32 or 64 of an integer, 16, 32 or 64 of a float",
                })
            }
            _ => self.holds("a vector of something that is no number"),
        }
    }

    fn matrix(&self, column: u32, columns: u32, layout: Option<MatrixLayout>) -> Read<ElementType> {
        let Type::Vector { component, len } = self.contents.types[&column] else {
            return self.holds("a matrix whose columns are no vectors");
        };
        let (columns, rows, scalar) = (lanes(columns)?, lanes(len)?, self.scalar(component)?);
        let Some(MatrixLayout { stride, is_row_major }) = layout else {
            return self.layout("a matrix has no MatrixStride");
        };
        let line = u32::from(if is_row_major { columns } else { rows }) * scalar.itemsize();
        if stride < line {
            return self.layout(format!("a matrix has lines of {line} bytes, {stride} apart"));
        }
        Ok(ElementType::Matrix { columns, rows, scalar, stride, is_row_major })
    }

    /// The length of an array, which a constant holds.
    fn array_len(&self, len: u32) -> Read<u32> {
        let len = self.values.count(len).filter(|&len| len > 0);
        len.map_or_else(|| self.layout("the length of an array is no number above 0"), Ok)
    }

    fn array(
        &self,
        id: u32,
        element: u32,
        len: Option<u32>,
        (matrix, depth, parts): (Option<MatrixLayout>, u32, &mut u32),
    ) -> Read<ElementType> {
        let element = self.read(element, matrix, depth + 1, parts)?;
        let Some(stride) = self.contents.decoration(id, None, Decoration::ArrayStride) else {
            return self.layout("an array has no ArrayStride");
        };
        if element.runtime_array().is_some() {
            return self.layout("an array has elements of no fixed length");
        }
        let bytes = element.tight_bytes();
        if u64::from(stride) < bytes || stride == 0 {
            return self.layout(format!("an array has elements of {bytes} bytes, {stride} apart"));
        }
        Ok(ElementType::Array { element: Box::new(element), len, stride })
    }

    fn structure(&self, id: u32, members: &[u32], depth: u32, parts: &mut u32) -> Read<ElementType> {
        let contents = self.contents;
        let mut fields = Vec::new();
        for (index, &ty) in (0..).zip(members) {
            let Some(offset) = contents.decoration(id, Some(index), Decoration::Offset) else {
                return self.layout(format!("member {index} has no Offset"));
            };
            let matrix = contents.decoration(id, Some(index), Decoration::MatrixStride).map(|stride| MatrixLayout {
                stride,
                is_row_major: contents.has(id, Some(index), Decoration::RowMajor),
            });
            let ty = self.read(ty, matrix, depth + 1, parts)?;
            let name = contents.member_name(id, index).map_or_else(|| format!("member{index}"), str::to_owned);
            fields.push(Field { name, offset, ty });
        }
        fields.sort_by_key(|field| field.offset);
        let bytes = self.extent(&fields)?;
        let name = contents.name(id).unwrap_or("struct").to_owned();
        Ok(ElementType::Struct { name, fields, bytes })
    }

    /// Bytes of a struct with padding behind it, to a multiple of its largest number, as `repr(C)` has it.
    fn extent(&self, fields: &[Field]) -> Read<u32> {
        let mut end = 0;
        for (index, field) in fields.iter().enumerate() {
            if u64::from(field.offset) < end {
                return self.layout(format!("`{}` begins at byte {}, before byte {end}", field.name, field.offset));
            }
            if field.ty.runtime_array().is_some() && index + 1 < fields.len() {
                return self.layout(format!("`{}` has no fixed length, but is not the last", field.name));
            }
            end = u64::from(field.offset) + field.ty.tight_bytes();
        }
        if let Some((last, (_, stride))) = fields.last().and_then(|last| Some((last, last.ty.runtime_array()?))) {
            end = u64::from(last.offset) + last.ty.bytes() + u64::from(stride);
        }
        let alignment = fields.iter().map(|field| field.ty.largest_scalar_bytes()).max().unwrap_or(1);
        let padded = end.next_multiple_of(alignment.max(1));
        u32::try_from(padded).or_else(|_| self.layout(format!("a struct of {padded} bytes")))
    }

    /// The image or sampler that a variable is, still without its place; `None` for an image that no array becomes.
    pub(super) fn handle(&self, id: u32) -> Option<Param> {
        match self.contents.types[&id] {
            Type::Sampler => Some(Param::of_type(ParamKind::Sampler, ElementType::Sampler)),
            Type::SampledImage { image } => self.image(image, true).map(Param::of_image),
            _ => self.image(id, false).map(Param::of_image),
        }
    }

    fn image(&self, id: u32, is_combined: bool) -> Option<ImageType> {
        let Type::Image { sampled, dim, depth, is_array, is_multisampled: false, use_, format } =
            self.contents.types[&id]
        else {
            return None;
        };
        let dim = match Dim::from_u32(dim)? {
            Dim::Dim1D => ImageDim::D1,
            Dim::Dim2D => ImageDim::D2,
            Dim::Dim3D => ImageDim::D3,
            Dim::DimBuffer => ImageDim::Buffer,
            _ => return None,
        };
        let role = match use_ {
            1 if is_combined => ImageRole::Combined,
            1 => ImageRole::Sampled,
            2 => ImageRole::Storage,
            _ => return None,
        };
        let scalar =
            self.scalar(sampled).ok().filter(|scalar| [DType::F32, DType::I32, DType::U32].contains(scalar))?;
        let format = match format {
            0 => None,
            // Only a storage image is bound with the format that it declares.
            _ if role != ImageRole::Storage => None,
            number => Some(TexelFormat::of_spirv(number).filter(|format| format.scalar() == scalar)?),
        };
        (depth != 1).then_some(ImageType { role, dim, is_array, scalar, format })
    }

    /// Size and alignment of a type in workgroup memory, which the device lays out. Vulkan bounds it by these.
    pub(super) fn shared(&self, id: u32, parts: &mut u32) -> Read<(u64, u64)> {
        *parts += 1;
        Malformed::check_count("parts of a type", *parts, MAX_PARTS)?;
        let (bytes, alignment) = match &self.contents.types[&id] {
            Type::Bool => (4, 4),
            Type::Int { .. } | Type::Float { .. } => {
                let bytes = u64::from(self.scalar(id)?.itemsize());
                (bytes, bytes)
            }
            Type::Vector { component, len } => {
                let (len, (bytes, _)) = (u64::from(lanes(*len)?), self.shared(*component, parts)?);
                (len * bytes, len.next_power_of_two() * bytes)
            }
            Type::Matrix { column, columns } => {
                let (_, alignment) = self.shared(*column, parts)?;
                (u64::from(lanes(*columns)?) * alignment, alignment)
            }
            Type::Array { element, len } => {
                let len = self.array_len(*len)?;
                let (bytes, alignment) = self.shared(*element, parts)?;
                (bytes.next_multiple_of(alignment).saturating_mul(len.into()), alignment)
            }
            Type::Struct { members } => self.shared_struct(members, parts)?,
            Type::RuntimeArray { .. } => return self.layout("an array in workgroup memory has no length"),
            Type::Pointer { .. } => (8, 8),
            Type::CooperativeMatrix(_) => return self.holds(Resource::CooperativeMatrix.what()),
            Type::Image { .. } | Type::SampledImage { .. } | Type::Sampler => return self.holds(HANDLE),
            Type::Other(op) => return self.holds(resource(*op).what()),
        };
        if bytes < MAX_SHARED { Ok((bytes, alignment)) } else { self.layout("more than a TiB of workgroup memory") }
    }

    fn shared_struct(&self, members: &[u32], parts: &mut u32) -> Read<(u64, u64)> {
        let mut total = (0_u64, 1);
        for &member in members {
            let (bytes, alignment) = self.shared(member, parts)?;
            total = (total.0.next_multiple_of(alignment) + bytes, total.1.max(alignment));
        }
        Ok((total.0.next_multiple_of(total.1), total.1))
    }
}

/// The length of a vector, or the number of columns of a matrix.
fn lanes(len: u32) -> Read<u8> {
    match len {
        #[expect(clippy::cast_possible_truncation, reason = "at most four")]
        2..=4 => Ok(len as u8),
        _ => Err(Malformed::TooMany { what: "components of a vector, or fewer than 2", count: len.into(), limit: 4 }),
    }
}

/// What a type is that holds no numbers of ours.
pub(super) fn resource(op: Op) -> Resource {
    match op {
        Op::TypeAccelerationStructureKHR => Resource::AccelerationStructure,
        Op::TypeRayQueryKHR => Resource::RayQuery,
        Op::TypeCooperativeMatrixKHR | Op::TypeCooperativeMatrixNV => Resource::CooperativeMatrix,
        _ => Resource::Opaque,
    }
}
