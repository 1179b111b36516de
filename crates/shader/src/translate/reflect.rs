//! Reads a [`Signature`] from a naga module.
//!
//! The module has its constants applied and is valid, so sizes are known and names exist. Only what the chosen entry point
//! reaches is listed: naga's analysis says which globals it reads and writes. Capabilities come from the finished SPIR-V
//! (`binary/capabilities.rs` of `vkarray-spirv`), which is the only list a driver looks at.
//! Read next: `module.rs`, the only caller.

use naga::valid::{GlobalUse, ModuleInfo};
use naga::{AddressSpace, ArraySize, GlobalVariable, Handle, ScalarKind, StorageAccess, Type, TypeInner};
use vkarray_spirv::internal::{MAX_COUNTED, column_stride};
use vkarray_spirv::{
    Access, Bindings, Constant, ConstantDefault, DType, ElementType, Error, Field, ImageDim, ImageRole, ImageType,
    Param, ParamKind, PushConstants, PushMember, Resource, Result, ScalarValue, SharedVar, Signature, TexelFormat,
};

/// Reads everything but the constants and capabilities. `counts` are the lengths of arrays of bindings without one.
pub(crate) fn signature(
    module: &naga::Module,
    info: &ModuleInfo,
    index: usize,
    counts: [u32; MAX_COUNTED],
) -> Result<Signature> {
    let entry_point = &module.entry_points[index];
    let uses = info.get_entry_point(index);
    let mut signature = Signature {
        entry: entry_point.name.clone(),
        workgroup_size: entry_point.workgroup_size,
        ..Signature::default()
    };
    for (handle, variable) in module.global_variables.iter() {
        let used = uses[handle];
        if used.is_empty() {
            continue;
        }
        let name = variable.name.clone().unwrap_or_default();
        let unsupported =
            |resource| Err(Error::Unsupported { kernel: entry_point.name.clone(), variable: name.clone(), resource });
        match variable.space {
            AddressSpace::Storage { .. } | AddressSpace::Uniform => {
                signature.params.push(param(module, variable, used));
            }
            AddressSpace::Immediate => signature.push_constants = Some(push_constants(module, variable)),
            AddressSpace::WorkGroup => place_shared(module, variable, &mut signature),
            AddressSpace::Handle => match handle_param(&module.types[variable.ty].inner) {
                Ok(param) => signature.params.push(placed(variable, used, param)),
                Err(resource) => return unsupported(resource),
            },
            AddressSpace::Function | AddressSpace::Private => {}
            AddressSpace::TaskPayload | AddressSpace::RayPayload | AddressSpace::IncomingRayPayload => {
                return unsupported(Resource::Foreign);
            }
        }
    }
    signature.params.sort_by_key(|param| (param.group, param.binding));
    let open = |param: &&mut Param| matches!(param.bindings, Bindings::Counted(_));
    let mut counted: Vec<_> = signature.params.iter_mut().filter(open).collect();
    if let Some(param) = counted.get(MAX_COUNTED) {
        let (variable, resource) = (param.name.clone(), Resource::BindingArray);
        return Err(Error::Unsupported { kernel: entry_point.name.clone(), variable, resource });
    }
    for (param, count) in counted.iter_mut().zip(counts) {
        param.bindings = Bindings::Counted(count.max(1));
    }
    Ok(signature)
}

/// An image or a sampler, still without its place.
fn handle_param(inner: &TypeInner) -> std::result::Result<Param, Resource> {
    match *inner {
        TypeInner::Image { dim, arrayed, class } => {
            let (ty, access) = image(dim, arrayed, class).ok_or(Resource::Image)?;
            Ok(Param { access, ..Param::of_image(ty) })
        }
        TypeInner::Sampler { comparison: false } => Ok(Param::of_type(ParamKind::Sampler, ElementType::Sampler)),
        TypeInner::Sampler { comparison: true } => Err(Resource::Sampler),
        TypeInner::AccelerationStructure { .. } => Err(Resource::AccelerationStructure),
        TypeInner::BindingArray { .. } => Err(Resource::BindingArray),
        _ => Err(Resource::Opaque),
    }
}

fn image(dim: naga::ImageDimension, is_array: bool, class: naga::ImageClass) -> Option<(ImageType, Access)> {
    let dim = match dim {
        naga::ImageDimension::D1 => ImageDim::D1,
        naga::ImageDimension::D2 => ImageDim::D2,
        naga::ImageDimension::D3 => ImageDim::D3,
        naga::ImageDimension::Cube => return None,
    };
    let ty = |role, scalar, format| ImageType { role, dim, is_array, scalar, format };
    match class {
        naga::ImageClass::Sampled { kind, multi: false } => {
            let scalar = dtype(naga::Scalar { kind, width: 4 });
            Some((ty(ImageRole::Sampled, scalar, None), Access::Read))
        }
        naga::ImageClass::Storage { format, access } => {
            let format = TexelFormat::named(&format!("{format:?}").to_lowercase())?;
            Some((ty(ImageRole::Storage, format.scalar(), Some(format)), declared(access)))
        }
        _ => None,
    }
}

fn declared(access: StorageAccess) -> Access {
    let [loads, stores] = [StorageAccess::LOAD, StorageAccess::STORE].map(|of| of | StorageAccess::ATOMIC);
    Access::of(access.intersects(loads), access.intersects(stores))
}

fn param(module: &naga::Module, variable: &GlobalVariable, used: GlobalUse) -> Param {
    let (kind, access) = match variable.space {
        AddressSpace::Storage { access } => (ParamKind::Storage, declared(access)),
        _ => (ParamKind::Uniform, Access::Read),
    };
    let (ty, bindings) = match module.types[variable.ty].inner {
        TypeInner::BindingArray { base, size } => {
            (base, array_len(module, size).map_or(Bindings::Counted(1), Bindings::Fixed))
        }
        _ => (variable.ty, Bindings::One),
    };
    placed(variable, used, Param { access, bindings, ..Param::of_type(kind, element_type(module, ty)) })
}

/// The parameter with the variable's name, place and uses.
fn placed(variable: &GlobalVariable, used: GlobalUse, param: Param) -> Param {
    let binding = variable.binding.expect("the validator asks variables of these address spaces for a binding");
    Param {
        name: variable.name.clone().unwrap_or_default(),
        group: binding.group,
        binding: binding.binding,
        reads: used.intersects(GlobalUse::READ | GlobalUse::ATOMIC),
        writes: used.intersects(GlobalUse::WRITE | GlobalUse::ATOMIC),
        ..param
    }
}

fn push_constants(module: &naga::Module, variable: &GlobalVariable) -> PushConstants {
    let bytes = module.types[variable.ty].inner.size(module.to_ctx()).next_multiple_of(4);
    let block = element_type(module, variable.ty);
    let ty = block.to_string();
    let name = variable.name.clone().unwrap_or_default();
    let members = match block {
        ElementType::Struct { fields, .. } => fields
            .into_iter()
            .map(|field| PushMember { name: field.name, offset: field.offset, ty: field.ty })
            .collect(),
        ty => vec![PushMember { name: name.clone(), offset: 0, ty }],
    };
    PushConstants { name, ty, bytes, members }
}

/// Adds the variable after those already placed, at the next offset that its alignment allows.
///
/// Vulkan leaves the true amount to the driver but bounds it by this layout, with a truth value as four bytes.
fn place_shared(module: &naga::Module, variable: &GlobalVariable, signature: &mut Signature) {
    let (bytes, alignment) = shared_layout(module, variable.ty);
    signature.shared.push(SharedVar { name: variable.name.clone().unwrap_or_default(), bytes });
    signature.shared_bytes = signature.shared_bytes.next_multiple_of(alignment) + bytes;
}

/// Size and alignment of a type in workgroup memory.
fn shared_layout(module: &naga::Module, ty: Handle<Type>) -> (u64, u64) {
    let scalar_bytes = |scalar: naga::Scalar| match scalar.kind {
        ScalarKind::Bool => 4,
        _ => u64::from(scalar.width),
    };
    let vector = |len: naga::VectorSize, scalar: naga::Scalar| {
        let len = u64::from(len as u8);
        (len * scalar_bytes(scalar), len.next_power_of_two() * scalar_bytes(scalar))
    };
    match &module.types[ty].inner {
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => (scalar_bytes(*scalar), scalar_bytes(*scalar)),
        TypeInner::Vector { size, scalar } => vector(*size, *scalar),
        TypeInner::Matrix { columns, rows, scalar } => {
            let (_, alignment) = vector(*rows, *scalar);
            (u64::from(*columns as u8) * alignment, alignment)
        }
        TypeInner::Array { base, size, .. } => {
            let (bytes, alignment) = shared_layout(module, *base);
            let len = u64::from(array_len(module, *size).unwrap_or(0));
            (len * bytes.next_multiple_of(alignment), alignment)
        }
        TypeInner::Struct { members, .. } => {
            let mut total = (0u64, 1);
            for member in members {
                let (bytes, alignment) = shared_layout(module, member.ty);
                total = (total.0.next_multiple_of(alignment) + bytes, total.1.max(alignment));
            }
            (total.0.next_multiple_of(total.1), total.1)
        }
        other => (u64::from(other.size(module.to_ctx())), 16),
    }
}

/// The elements of an array, unless the length of a buffer decides.
pub(crate) fn array_len(module: &naga::Module, size: ArraySize) -> Option<u32> {
    match size.resolve(module.to_ctx()) {
        Ok(naga::proc::IndexableLength::Known(len)) => Some(len),
        Ok(naga::proc::IndexableLength::Dynamic) | Err(_) => None,
    }
}

/// A naga type as plain data.
fn element_type(module: &naga::Module, handle: Handle<Type>) -> ElementType {
    match &module.types[handle].inner {
        TypeInner::Scalar(scalar) => ElementType::Scalar(dtype(*scalar)),
        TypeInner::Atomic(scalar) => ElementType::Atomic(dtype(*scalar)),
        TypeInner::Vector { size, scalar } => ElementType::Vector { len: *size as u8, scalar: dtype(*scalar) },
        TypeInner::Matrix { columns, rows, scalar } => {
            let (columns, rows, scalar) = (*columns as u8, *rows as u8, dtype(*scalar));
            ElementType::Matrix { columns, rows, scalar, stride: column_stride(rows, scalar), is_row_major: false }
        }
        TypeInner::Array { base, size, stride } => ElementType::Array {
            element: Box::new(element_type(module, *base)),
            len: array_len(module, *size),
            stride: *stride,
        },
        TypeInner::Struct { members, span } => ElementType::Struct {
            name: module.types[handle].name.clone().unwrap_or_default(),
            fields: members
                .iter()
                .map(|member| Field {
                    name: member.name.clone().unwrap_or_default(),
                    offset: member.offset,
                    ty: element_type(module, member.ty),
                })
                .collect(),
            bytes: *span,
        },
        other => unreachable!("the validator admits only plain data into buffers, not {other:?}"),
    }
}

/// The host's name for a shader's scalar.
pub(crate) fn dtype(scalar: naga::Scalar) -> DType {
    let letter = match scalar.kind {
        ScalarKind::Bool => return DType::Bool,
        ScalarKind::Sint => 'i',
        ScalarKind::Uint => 'u',
        ScalarKind::Float => 'f',
        kind => unreachable!("the validator admits no {kind:?}"),
    };
    let bits = 8 * u32::from(scalar.width);
    DType::of_kind(letter, bits).unwrap_or_else(|| unreachable!("the validator admits no number of {bits} bits"))
}

/// The named constants that survive in `resolved`, with their defaults from `declared`.
pub(crate) fn constants(declared: &naga::Module, resolved: &naga::Module) -> Vec<Constant> {
    let default_of = |name: &str| {
        let init = declared.overrides.iter().find(|(_, o)| o.name.as_deref() == Some(name)).map(|(_, o)| o.init);
        match init.flatten() {
            None => ConstantDefault::Required,
            Some(init) => literal(declared, init).map_or(ConstantDefault::Derived, ConstantDefault::Value),
        }
    };
    let constant = |(_, declared): (_, &naga::Override)| {
        let name = declared.name.clone()?;
        let value = literal(resolved, declared.init?)?;
        Some(Constant {
            id: declared.id.map(u32::from),
            dtype: value.dtype(),
            default: default_of(&name),
            value,
            name,
            sizes: [None; 3],
        })
    };
    resolved.overrides.iter().filter_map(constant).collect()
}

/// The value of a constant expression, if it is one scalar.
fn literal(module: &naga::Module, handle: Handle<naga::Expression>) -> Option<ScalarValue> {
    use naga::Literal;
    match module.global_expressions[handle] {
        naga::Expression::Constant(constant) => literal(module, module.constants[constant].init),
        naga::Expression::ZeroValue(ty) => match module.types[ty].inner {
            TypeInner::Scalar(scalar) => ScalarValue::from_f64(0.0, dtype(scalar)),
            _ => None,
        },
        naga::Expression::Literal(literal) => match literal {
            Literal::Bool(value) => Some(value.into()),
            Literal::I16(value) => Some(value.into()),
            Literal::U16(value) => Some(value.into()),
            Literal::I32(value) => Some(value.into()),
            Literal::U32(value) => Some(value.into()),
            Literal::I64(value) => Some(value.into()),
            Literal::U64(value) => Some(value.into()),
            Literal::F16(value) => Some(value.into()),
            Literal::F32(value) => Some(value.into()),
            Literal::F64(value) => Some(value.into()),
            Literal::AbstractInt(_) | Literal::AbstractFloat(_) => None,
        },
        _ => None,
    }
}
