//! Moves uniform variables that are longer than the device allows to read-only storage: [`as_storage`].
//!
//! A shader says `var<uniform>` with a length, a device has 64 KiB of it, or 16. Storage has room, and for reading what
//! lies in a uniform buffer its rules of layout ask for less, so only the variable's address space changes. Done to naga's
//! form of a shader, before its signature is read; SPIR-V of other compilers stays what it is, and is refused with both
//! numbers (`limits.rs` of `vkarray-spirv`).

use naga::valid::ModuleInfo;
use naga::{AddressSpace, GlobalVariable, Handle, Module, StorageAccess};

use crate::translate::validate::validator;

/// Puts uniform variables of more than `limit` bytes into read-only storage. Returns the groups and bindings of these.
///
/// A module that is then not valid stays as it was: some function takes a pointer to constant memory.
pub(crate) fn as_storage(module: &mut Module, info: &mut ModuleInfo, limit: u32) -> Vec<(u32, u32)> {
    let is_long = |variable: &GlobalVariable| {
        variable.space == AddressSpace::Uniform && module.types[variable.ty].inner.size(module.to_ctx()) > limit
    };
    let long: Vec<_> =
        module.global_variables.iter().filter(|(_, variable)| is_long(variable)).map(|(handle, _)| handle).collect();
    if long.is_empty() {
        return Vec::new();
    }
    let mut moved = module.clone();
    for &handle in &long {
        moved.global_variables.get_mut(handle).space = AddressSpace::Storage { access: StorageAccess::LOAD };
    }
    let Ok(valid) = validator().validate(&moved) else { return Vec::new() };
    (*module, *info) = (moved, valid);
    let place = |handle: Handle<GlobalVariable>| module.global_variables[handle].binding;
    long.into_iter().filter_map(place).map(|place| (place.group, place.binding)).collect()
}
