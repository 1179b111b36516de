//! Brings the functions of `prelude.rs` into a shader's module: [`graft`].
//!
//! Functions must stand before those that call them, so the shader's own move behind, and every mention of them moves
//! along. Types, variables and constants of the prelude come after the shader's.
//! Read next: `rewrite.rs`, which calls what is brought.

use std::collections::HashMap;

use naga::{
    Arena, Block, Expression, Function, GlobalVariable, Handle, Module, Statement, StructMember, Type, TypeInner,
};

/// Prelude functions by their name, and the type they take numbers as.
pub(super) struct Calls {
    functions: HashMap<String, Handle<Function>>,
    pub(super) u32: Handle<Type>,
    pub(super) vec3: Handle<Type>,
}

impl Calls {
    /// The function of that name, which the prelude has.
    pub(super) fn function(&self, name: &str) -> Handle<Function> {
        self.functions[name]
    }
}

/// Adds the prelude.
pub(super) fn graft(module: &mut Module, prelude: &str) -> Calls {
    let prelude = naga::front::wgsl::parse_str(prelude).unwrap_or_else(|error| {
        unreachable!("the prelude is a valid shader: {}", error.emit_to_string(prelude));
    });
    let types = graft_types(module, &prelude);
    let globals: Vec<_> = prelude
        .global_variables
        .iter()
        .map(|(handle, variable)| {
            let variable = GlobalVariable { ty: types[&variable.ty], ..variable.clone() };
            module.global_variables.append(variable, prelude.global_variables.get_span(handle))
        })
        .collect();
    let n_own = module.functions.len();
    let mut functions = Arena::new();
    let mut calls = HashMap::new();
    let mut moved = Vec::new();
    for (_, function) in prelude.functions.iter() {
        let mut function = function.clone();
        let graft = Graft { prelude: &prelude, types: &types, globals: &globals };
        graft.function(&mut function);
        let name = function.name.clone().expect("functions have names");
        let handle = functions.append(function, naga::Span::UNDEFINED);
        calls.insert(name, handle);
    }
    for (_, mut function, span) in module.functions.drain() {
        rename_calls(&mut function, &moved);
        moved.push(functions.append(function, span));
    }
    debug_assert_eq!(moved.len(), n_own);
    module.functions = functions;
    for entry in &mut module.entry_points {
        rename_calls(&mut entry.function, &moved);
    }
    let mut insert = |inner| module.types.insert(Type { name: None, inner }, naga::Span::UNDEFINED);
    let u32 = insert(TypeInner::Scalar(naga::Scalar::U32));
    let vec3 = insert(TypeInner::Vector { size: naga::VectorSize::Tri, scalar: naga::Scalar::U32 });
    Calls { functions: calls, u32, vec3 }
}

fn graft_types(module: &mut Module, prelude: &Module) -> HashMap<Handle<Type>, Handle<Type>> {
    let mut types: HashMap<Handle<Type>, Handle<Type>> = HashMap::new();
    for (handle, ty) in prelude.types.iter() {
        let inner = match &ty.inner {
            TypeInner::Array { base, size, stride } => {
                TypeInner::Array { base: types[base], size: *size, stride: *stride }
            }
            TypeInner::Pointer { base, space } => TypeInner::Pointer { base: types[base], space: *space },
            TypeInner::Struct { members, span } => {
                let member = |member: &StructMember| StructMember { ty: types[&member.ty], ..member.clone() };
                TypeInner::Struct { members: members.iter().map(member).collect(), span: *span }
            }
            plain => plain.clone(),
        };
        let ty = Type { name: ty.name.clone(), inner };
        types.insert(handle, module.types.insert(ty, prelude.types.get_span(handle)));
    }
    types
}

/// Translates the prelude's handles.
struct Graft<'a> {
    prelude: &'a Module,
    types: &'a HashMap<Handle<Type>, Handle<Type>>,
    globals: &'a [Handle<GlobalVariable>],
}

impl Graft<'_> {
    /// Its calls are of other functions of the prelude, which keep their places.
    fn function(&self, function: &mut Function) {
        for argument in &mut function.arguments {
            argument.ty = self.types[&argument.ty];
        }
        if let Some(result) = &mut function.result {
            result.ty = self.types[&result.ty];
        }
        for (_, variable) in function.local_variables.iter_mut() {
            variable.ty = self.types[&variable.ty];
        }
        for (_, expression) in function.expressions.iter_mut() {
            self.expression(expression);
        }
    }

    fn expression(&self, expression: &mut Expression) {
        match expression {
            Expression::Constant(constant) => {
                let init = self.prelude.constants[*constant].init;
                *expression = self.prelude.global_expressions[init].clone();
            }
            Expression::ZeroValue(ty) | Expression::Compose { ty, .. } | Expression::AtomicResult { ty, .. } => {
                *ty = self.types[ty];
            }
            Expression::GlobalVariable(global) => *global = self.globals[global.index()],
            _ => {}
        }
    }
}

/// Makes calls of the shader's functions mean their new places.
fn rename_calls(function: &mut Function, moved: &[Handle<Function>]) {
    for (_, expression) in function.expressions.iter_mut() {
        if let Expression::CallResult(called) = expression {
            *called = moved[called.index()];
        }
    }
    rename_in_block(&mut function.body, moved);
}

fn rename_in_block(block: &mut Block, moved: &[Handle<Function>]) {
    for statement in block.iter_mut() {
        match statement {
            Statement::Call { function, .. } => *function = moved[function.index()],
            Statement::Block(inner) => rename_in_block(inner, moved),
            Statement::If { accept, reject, .. } => {
                rename_in_block(accept, moved);
                rename_in_block(reject, moved);
            }
            Statement::Switch { cases, .. } => {
                cases.iter_mut().for_each(|case| rename_in_block(&mut case.body, moved));
            }
            Statement::Loop { body, continuing, .. } => {
                rename_in_block(body, moved);
                rename_in_block(continuing, moved);
            }
            _ => {}
        }
    }
}
