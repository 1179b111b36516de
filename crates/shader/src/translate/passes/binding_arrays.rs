//! Gives arrays of bindings the length that a call gives them: [`give_lengths`].
//!
//! naga can be told the length of an array of bindings by its writer's options. It then takes that length for the length of
//! every array without one inside the buffers too, and reads zeros beyond it. So the type itself gets the length.

use std::num::NonZeroU32;

use naga::valid::ModuleInfo;
use naga::{ArraySize, Module, TypeInner};
use vkarray_spirv::Signature;

use super::block::type_of;
use crate::translate::validate::validator;

/// Gives the arrays of bindings without a length those of the signature.
pub(crate) fn give_lengths(module: &mut Module, info: &mut ModuleInfo, signature: &Signature) {
    if signature.counts().next().is_none() {
        return;
    }
    for (handle, variable) in module.global_variables.clone().iter() {
        let is_of = |group, binding| variable.binding.is_some_and(|at| (at.group, at.binding) == (group, binding));
        let found = signature.counts().find(|(param, _)| is_of(param.group, param.binding));
        let TypeInner::BindingArray { base, size: ArraySize::Dynamic } = module.types[variable.ty].inner else {
            continue;
        };
        if let Some(count) = found.and_then(|(_, count)| NonZeroU32::new(count)) {
            let inner = TypeInner::BindingArray { base, size: ArraySize::Constant(count) };
            let ty = type_of(module, inner);
            module.global_variables.get_mut(handle).ty = ty;
        }
    }
    *info = validator().validate(module).expect("a length is all that was added to a valid module");
}
