//! What an instrumented entry point does first: it passes the invocation's ids to the checks, and clears the shadow memory.
//!
//! A built-in value that the shader already takes is used again: naga refuses two arguments for one built-in.

use naga::{Binding, BuiltIn, Expression, FunctionArgument, Handle, Type, TypeInner, UniqueArena};

use super::rewrite::Body;

/// Begins an entry point.
pub(super) fn begin(body: &mut Body<'_>, types: &UniqueArena<Type>) {
    let (vec3, u32) = (body.shader.calls.vec3, body.shader.calls.u32);
    let global = built_in(body, types, BuiltIn::GlobalInvocationId, vec3);
    let local = built_in(body, types, BuiltIn::LocalInvocationIndex, u32);
    let workgroup = built_in(body, types, BuiltIn::WorkGroupId, vec3);
    let workgroups = built_in(body, types, BuiltIn::NumWorkGroups, vec3);
    body.call("begin", vec![global, local, workgroup, workgroups]);
    body.call("clear", vec![local]);
    body.own_barrier();
}

/// A built-in value; an argument is added if the shader has none.
fn built_in(body: &mut Body<'_>, types: &UniqueArena<Type>, wanted: BuiltIn, ty: Handle<Type>) -> Handle<Expression> {
    let is_wanted = |binding: &Option<Binding>| *binding == Some(Binding::BuiltIn(wanted));
    let index = |index: usize| u32::try_from(index).expect("arguments are counted in 32 bits");
    for (i, argument) in body.function.arguments.iter().enumerate() {
        if is_wanted(&argument.binding) {
            return body.constant(Expression::FunctionArgument(index(i)));
        }
        if argument.binding.is_some() {
            continue; // Another built-in, perhaps one that was added, whose type is new.
        }
        let TypeInner::Struct { members, .. } = &types[argument.ty].inner else { continue };
        if let Some(member) = members.iter().position(|member| is_wanted(&member.binding)) {
            let base = body.constant(Expression::FunctionArgument(index(i)));
            return body.value(Expression::AccessIndex { base, index: index(member) });
        }
    }
    let added = index(body.function.arguments.len());
    let binding = Some(Binding::BuiltIn(wanted));
    body.function.arguments.push(FunctionArgument { name: None, ty, binding });
    body.constant(Expression::FunctionArgument(added))
}
