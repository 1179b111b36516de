//! Moves uniform variables that are longer than the device allows to read-only storage: [`as_storage`].
//!
//! A shader says `var<uniform>` with a length, a device has 64 KiB of it, or 16. Storage has room, and for reading what
//! lies in a uniform buffer its rules of layout ask for less, so only the variable's address space changes. Done to naga's
//! form of a shader, before its signature is read; SPIR-V of other compilers stays what it is, and is refused with both
//! numbers (`limits.rs` of `vkarray-spirv`).

use std::borrow::Cow;

use naga::valid::ModuleInfo;
use naga::{AddressSpace, GlobalVariable, Handle, StorageAccess};

use crate::translate::validate::validator;

/// The module with uniform variables of more than `limit` bytes in read-only storage, and the groups and bindings of these.
///
/// A module that is then not valid stays as it was: some function takes a pointer to constant memory.
pub(crate) fn as_storage<'a>(
    module: Cow<'a, naga::Module>,
    info: Cow<'a, ModuleInfo>,
    limit: u32,
) -> (Cow<'a, naga::Module>, Cow<'a, ModuleInfo>, Vec<(u32, u32)>) {
    let is_long = |variable: &GlobalVariable| {
        variable.space == AddressSpace::Uniform && module.types[variable.ty].inner.size(module.to_ctx()) > limit
    };
    let long: Vec<_> =
        module.global_variables.iter().filter(|(_, variable)| is_long(variable)).map(|(handle, _)| handle).collect();
    if long.is_empty() {
        return (module, info, Vec::new());
    }
    let mut moved = module.clone().into_owned();
    for &handle in &long {
        moved.global_variables.get_mut(handle).space = AddressSpace::Storage { access: StorageAccess::LOAD };
    }
    match validator().validate(&moved) {
        Ok(info) => {
            let place = |handle: Handle<GlobalVariable>| moved.global_variables[handle].binding;
            let places = long.into_iter().filter_map(place).map(|place| (place.group, place.binding)).collect();
            (Cow::Owned(moved), Cow::Owned(info), places)
        }
        Err(_) => (module, info, Vec::new()),
    }
}
