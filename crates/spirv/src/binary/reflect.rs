//! From a module's declarations to the [`Signature`] of one entry point.
//!
//! A buffer block of one member is reflected as that member. Names come from the variable, else from that member,
//! else from the block's type; a module without names has `binding_0_1`.
//! Read next: `uses.rs` for what is read and written.

mod push;

use std::collections::HashMap;

use spirv::{BuiltIn, Decoration, StorageClass};

use super::Binary;
use super::binding_arrays::buffer_of;
use super::constants::{Values, adjustable};
use super::contents::{Contents, DeclaredConstant, EntryPoint, Global, Type, WorkgroupSize};
use super::instruction::{Checked, MalformedAt};
use super::kept::is_of_subgroups;
use super::types::{TypeReader, resource};
use super::unique_names::make_names_unique;
use super::uses::{ANYWHERE, Use, uses};
use crate::error::{Error, Malformed, Resource, Result};
use crate::signature::{Access, Constant, ConstantDefault, ImageRole, Param, ParamKind, SharedVar, Signature};

/// Variables of one module, at most; no kernel has a hundred.
const MAX_VARIABLES: usize = 1 << 12;

/// Numbers of bindings, at most.
const MAX_BINDING: u32 = 0xffff;

pub(crate) fn malformed(source_name: &str, fault: MalformedAt) -> Error {
    let MalformedAt { word, problem } = fault;
    Error::Malformed { source_name: source_name.to_owned(), word, problem: Box::new(problem) }
}

/// Reads the signature of an entry point, with its constants set.
pub(super) fn signature(source_name: &str, binary: &Binary, entry: &EntryPoint, values: &Values) -> Result<Signature> {
    let Binary { words, contents } = binary;
    let faulty = |fault| malformed(source_name, fault);
    if contents.globals.len() > MAX_VARIABLES {
        let (count, limit) = (contents.globals.len() as u64, MAX_VARIABLES as u64);
        let problem = Malformed::TooMany { what: "variables", count, limit };
        return Err(faulty(MalformedAt { word: entry.at, problem }));
    }
    let uses = uses(words, contents, entry.function).map_err(faulty)?;
    let workgroup_size = workgroup_size(contents, entry, values).map_err(faulty)?;
    let (addresses, signature) = (Vec::new(), Signature { entry: entry.name.clone(), ..Signature::default() });
    let mut reader = SignatureReader { source_name, contents, values, uses: &uses, addresses, signature };
    let of_stage = |global: &&Global| matches!(global.class, Some(StorageClass::Input | StorageClass::Output));
    let is_taken =
        |global: &&Global| uses.contains_key(&global.id) || (of_stage(global) && entry.interface.contains(&global.id));
    let mut taken: Vec<&Global> = contents.globals.iter().filter(is_taken).collect();
    taken.sort_by_key(|global| place(contents, global));
    for global in taken {
        reader.variable(global, uses.get(&global.id).copied().unwrap_or_default())?;
    }
    let SignatureReader { mut signature, mut addresses, .. } = reader;
    signature.params.append(&mut addresses);
    signature.reached = uses.get(&ANYWHERE).map(|used| Access::of(used.reads, used.writes));
    signature.workgroup_size = workgroup_size;
    signature.extensions.clone_from(&contents.extensions);
    signature.constants = constants(contents, entry, values);
    make_names_unique(&mut signature);
    Ok(signature)
}

/// Whether a variable is a built-in value of compute kernels.
fn is_compute_input(contents: &Contents, id: u32) -> bool {
    let of_compute = [
        BuiltIn::NumWorkgroups,
        BuiltIn::WorkgroupSize,
        BuiltIn::WorkgroupId,
        BuiltIn::LocalInvocationId,
        BuiltIn::GlobalInvocationId,
        BuiltIn::LocalInvocationIndex,
        BuiltIn::DeviceIndex,
    ];
    let is_known = |number| is_of_subgroups(number) || of_compute.iter().any(|builtin| *builtin as u32 == number);
    contents.decoration(id, None, Decoration::BuiltIn).is_some_and(is_known)
}

/// Set and binding of a variable.
pub(crate) fn place(contents: &Contents, global: &Global) -> (Option<u32>, Option<u32>) {
    let decoration = |decoration| contents.decoration(global.id, None, decoration);
    (decoration(Decoration::DescriptorSet), decoration(Decoration::Binding))
}

/// The size of the workgroup, where constants hold it, by axis. What `WorkgroupSize` names goes before the execution mode.
fn size_ids(contents: &Contents, entry: &EntryPoint, values: &Values) -> Option<Option<[u32; 3]>> {
    let builtin = Some(BuiltIn::WorkgroupSize as u32);
    let is_named =
        |declared: &&DeclaredConstant| contents.decoration(declared.id, None, Decoration::BuiltIn) == builtin;
    match (contents.constants.iter().find(is_named), contents.sizes.get(&entry.function)) {
        (Some(named), _) => Some(values.parts(named.id).and_then(|parts| <[u32; 3]>::try_from(parts).ok())),
        (None, Some(WorkgroupSize::Ids(ids))) => Some(Some(*ids)),
        (None, Some(WorkgroupSize::Literal(_)) | None) => None,
    }
}

fn workgroup_size(contents: &Contents, entry: &EntryPoint, values: &Values) -> Checked<[u32; 3]> {
    let fault =
        |what| MalformedAt { word: entry.at, problem: Malformed::WorkgroupSize { entry: entry.name.clone(), what } };
    let counts = match (size_ids(contents, entry, values), contents.sizes.get(&entry.function)) {
        (Some(ids), _) => ids.map(|ids| ids.map(|id| values.count(id))),
        (None, Some(WorkgroupSize::Literal(size))) => Some(size.map(Some)),
        (None, _) => return Err(fault("it has no workgroup size")),
    };
    match counts {
        Some([Some(0), ..] | [_, Some(0), _] | [.., Some(0)]) => {
            Err(fault("its workgroup has no invocations on an axis"))
        }
        Some([Some(x), Some(y), Some(z)]) => Ok([x, y, z]),
        _ => Err(fault("its workgroup size is not made of numbers that can be computed here")),
    }
}

struct SignatureReader<'a> {
    /// The name of the source, for messages.
    source_name: &'a str,
    contents: &'a Contents,
    values: &'a Values,
    uses: &'a HashMap<u32, Use>,
    /// The arrays whose addresses are push constants.
    addresses: Vec<Param>,
    signature: Signature,
}

impl SignatureReader<'_> {
    fn variable(&mut self, global: &Global, used: Use) -> Result<()> {
        let (contents, (block, _)) = (self.contents, buffer_of(self.contents, self.values, global));
        let (name, source_name) = (self.name(global), self.source_name);
        let fault = |problem| malformed(source_name, MalformedAt { word: global.at, problem });
        match global.class {
            Some(StorageClass::StorageBuffer) => self.buffer(global, &name, ParamKind::Storage, used),
            Some(StorageClass::Uniform) if contents.has(block, None, Decoration::BufferBlock) => {
                self.buffer(global, &name, ParamKind::Storage, used)
            }
            Some(StorageClass::Uniform) => self.buffer(global, &name, ParamKind::Uniform, used),
            Some(StorageClass::PushConstant) => self.push_constants(global, &name).map_err(fault),
            Some(StorageClass::Workgroup) => self.shared(global, name).map_err(fault),
            Some(StorageClass::Private) => Ok(()),
            // Validators pass one of another stage, or of none, and drivers crash on it.
            Some(StorageClass::Input) if is_compute_input(contents, global.id) => Ok(()),
            Some(StorageClass::Input) => self.unsupported(&name, Resource::Input),
            Some(StorageClass::UniformConstant) => self.handle(global, &name, used),
            Some(StorageClass::Output) => self.unsupported(&name, Resource::Output),
            _ => self.unsupported(&name, Resource::Foreign),
        }
    }

    fn unsupported<T>(&self, variable: &str, resource: Resource) -> Result<T> {
        Err(Error::Unsupported { kernel: self.signature.entry.clone(), variable: variable.to_owned(), resource })
    }

    /// An image or a sampler.
    fn handle(&mut self, global: &Global, name: &str, used: Use) -> Result<()> {
        let types = TypeReader { contents: self.contents, values: self.values, variable: name };
        let param = match &self.contents.types[&global.pointee] {
            Type::Image { .. } | Type::SampledImage { .. } | Type::Sampler => types.handle(global.pointee),
            Type::Array { .. } | Type::RuntimeArray { .. } => return self.unsupported(name, Resource::BindingArray),
            Type::Other(op) => return self.unsupported(name, resource(*op)),
            _ => return self.unsupported(name, Resource::Opaque),
        };
        let Some(param) = param else { return self.unsupported(name, Resource::Image) };
        let has = |decoration| self.contents.has(global.id, None, decoration);
        let is_storage = param.image().is_some_and(|image| image.role == ImageRole::Storage);
        let access = Access::of(!has(Decoration::NonReadable), is_storage && !has(Decoration::NonWritable));
        let (group, binding) = self.place(global, name)?;
        let (reads, writes) = (used.reads, used.writes && access != Access::Read);
        self.bind(Param { name: name.to_owned(), group, binding, access, reads, writes, ..param })
    }

    /// The set and the binding of a variable.
    fn place(&self, global: &Global, name: &str) -> Result<(u32, u32)> {
        let (Some(group), Some(binding)) = place(self.contents, global) else {
            let (variable, what) = (name.to_owned(), "descriptor set and binding");
            let problem = Malformed::Unplaced { variable, what };
            return Err(malformed(self.source_name, MalformedAt { word: global.at, problem }));
        };
        if binding > MAX_BINDING {
            return self.unsupported(name, Resource::FarBinding); // Drivers make room for all below it.
        }
        Ok((group, binding))
    }

    /// The variable's own name, the name of its only member, or the name of its type.
    fn name(&self, global: &Global) -> String {
        let contents = self.contents;
        let only_member = match &contents.types[&global.pointee] {
            Type::Struct { members } if members.len() == 1 => contents.member_name(global.pointee, 0),
            _ => None,
        };
        let name = contents.name(global.id).or(only_member).or_else(|| contents.name(global.pointee));
        name.map_or_else(|| self.number(global), str::to_owned)
    }

    fn number(&self, global: &Global) -> String {
        match (global.class, place(self.contents, global)) {
            (_, (Some(group), Some(binding))) => format!("binding_{group}_{binding}"),
            (Some(StorageClass::PushConstant), _) => "push".to_owned(),
            _ => format!("variable_{}", global.id),
        }
    }

    fn buffer(&mut self, global: &Global, name: &str, kind: ParamKind, used: Use) -> Result<()> {
        let contents = self.contents;
        let fault = |problem| malformed(self.source_name, MalformedAt { word: global.at, problem });
        let (block, bindings) = buffer_of(contents, self.values, global);
        let (members, bindings) = match (&contents.types[&block], bindings) {
            (Type::Struct { members }, Some(bindings)) => (members.len(), bindings),
            (Type::Array { .. } | Type::RuntimeArray { .. }, _) | (_, None) => {
                return self.unsupported(name, Resource::BindingArray);
            }
            _ => return Err(fault(Malformed::Unplaced { variable: name.to_owned(), what: "block type" })),
        };
        let (group, binding) = self.place(global, name)?;
        let types = TypeReader { contents, values: self.values, variable: name };
        let ty = types.element(block).map_err(fault)?;
        // On the variable, or on each of its members.
        let has = |decoration| {
            let of_members = (0..).take(members).all(|member| contents.has(block, Some(member), decoration));
            contents.has(global.id, None, decoration) || (members > 0 && of_members)
        };
        let is_storage = kind == ParamKind::Storage;
        let access = Access::of(!has(Decoration::NonReadable), is_storage && !has(Decoration::NonWritable));
        let (reads, writes) = (used.reads, used.writes && is_storage);
        let name = name.to_owned();
        let mut param = Param { name, group, binding, bindings, access, reads, writes, ..Param::of_type(kind, ty) };
        param.unwrap_block();
        self.bind(param)
    }

    /// Adds a buffer, or joins it to the one that is bound there already.
    fn bind(&mut self, param: Param) -> Result<()> {
        match self.signature.params.last_mut() {
            Some(same) if (same.group, same.binding) == (param.group, param.binding) => {
                let is_handle = matches!(param.kind, ParamKind::Texels | ParamKind::Image | ParamKind::Sampler);
                if same.kind != param.kind || (is_handle && same.ty != param.ty) {
                    let (kernel, names) = (self.signature.entry.clone(), [same.name.clone(), param.name]);
                    let (group, binding, kinds) = (param.group, param.binding, [same.kind, param.kind]);
                    return Err(Error::BindingClash { kernel, group, binding, names, kinds });
                }
                if same.bindings != param.bindings {
                    return self.unsupported(&param.name, Resource::MixedBindings);
                }
                same.join(param);
            }
            _ => self.signature.params.push(param),
        }
        Ok(())
    }

    fn shared(&mut self, global: &Global, name: String) -> Result<(), Malformed> {
        let types = TypeReader { contents: self.contents, values: self.values, variable: &name };
        let (bytes, alignment) = types.shared(global.pointee, &mut 0)?;
        // Blocks of an explicit layout lie on each other, all at the start.
        let is_block = self.contents.has(global.pointee, None, Decoration::Block);
        self.signature.shared_bytes = match is_block {
            true => self.signature.shared_bytes.max(bytes),
            false => self.signature.shared_bytes.next_multiple_of(alignment) + bytes,
        };
        self.signature.shared.push(SharedVar { name, bytes });
        Ok(())
    }
}

fn constants(contents: &Contents, entry: &EntryPoint, values: &Values) -> Vec<Constant> {
    let ids = size_ids(contents, entry, values).flatten().map_or([None; 3], |ids| ids.map(Some));
    let size = |id: u32, number| {
        let is_set_with = contents.decoration(id, None, Decoration::SpecId) == Some(number);
        values.count(id).filter(|_| is_set_with)
    };
    let constant = |adjustable: super::constants::Adjustable<'_>| Constant {
        sizes: ids.map(|id| size(id?, adjustable.number)),
        name: name_of(contents, adjustable.declared.id, adjustable.number),
        id: Some(adjustable.number),
        dtype: adjustable.default.dtype(),
        default: ConstantDefault::Value(adjustable.default),
        value: values.scalar(adjustable.declared.id).unwrap_or(adjustable.default),
    };
    adjustable(contents).into_iter().map(constant).collect()
}

/// What a constant is called.
pub(super) fn name_of(contents: &Contents, id: u32, number: u32) -> String {
    contents.name(id).map_or_else(|| format!("constant_{number}"), str::to_owned)
}
