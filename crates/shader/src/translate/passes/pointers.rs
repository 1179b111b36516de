//! Gives functions only the pointers that naga's writer can pass: to whole variables of the function that calls.
//!
//! WGSL lets a function take `&tile[i]`, and pointers to shared memory and buffers. In SPIR-V both need
//! capabilities that not every device has, so naga's module is rewritten in two ways:
//!
//! - a pointer to a variable of the module, such as a buffer or shared memory, or to a part of it: the function is made once
//!   more for each variable it is called with, reaches that variable itself, and takes the computed indices in place of the
//!   pointer;
//! - a pointer to a part of a variable of the calling function: the part is copied to a temporary variable, whose pointer is
//!   passed, and copied back behind the call. WGSL forbids the function to reach the part by another way.
//!
//! Called by `translate/text.rs` before naga validates the shader, since its validator refuses the first of these.
//! Read next: `pointers/remap.rs`, which moves the expressions of a function.

mod remap;

use std::collections::HashMap;

use naga::front::Typifier;
use naga::proc::{ResolveContext, TypeResolution, compare_types};
use naga::{
    AddressSpace, Arena, Block, Expression, Function, GlobalVariable, Handle, LocalVariable, Module, Range, Span,
    Statement, Type,
};

use super::block::{inner_blocks, type_of};

/// The most copies of functions that are made: far more than shaders need.
const MAX_COPIES: usize = 4096;

/// What stands against a call.
#[derive(Debug)]
pub(crate) struct PointerError {
    pub(crate) span: Span,
    pub(crate) reason: String,
}

/// One step from a variable towards a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Member(u32),
    /// By an index of that type, which is computed.
    Index(Handle<Type>),
}

/// Where a pointer points.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    variable: Handle<GlobalVariable>,
    steps: Vec<Step>,
}

/// A function of the shader, and what its pointer arguments are known to point to.
type FunctionKey = (Handle<Function>, Vec<Option<Place>>);

/// Rewrites the module if any function of it takes a pointer.
pub(crate) fn resolve(module: &mut Module) -> Result<(), PointerError> {
    let takes_pointer = |(_, function): (_, &Function)| {
        function.arguments.iter().any(|argument| module.types[argument.ty].inner.pointer_space().is_some())
    };
    if !module.functions.iter().any(takes_pointer) {
        return Ok(());
    }
    let mut rewrite = Rewrite { functions: Arena::new(), made: HashMap::new(), module };
    // Functions stand behind those they call.
    let own: Vec<_> = rewrite.module.functions.iter().map(|(handle, _)| handle).collect();
    for handle in own {
        let n_arguments = rewrite.module.functions[handle].arguments.len();
        if (0..n_arguments).all(|i| !rewrite.is_global_pointer(handle, i)) {
            rewrite.function(handle, vec![None; n_arguments])?;
        }
    }
    for i in 0..rewrite.module.entry_points.len() {
        let mut function = std::mem::take(&mut rewrite.module.entry_points[i].function);
        rewrite.calls(&mut function)?;
        rewrite.module.entry_points[i].function = function;
    }
    let functions = rewrite.functions;
    module.functions = functions;
    Ok(())
}

/// The rewrite of a module. Its own functions stay there until all are made again.
struct Rewrite<'a> {
    functions: Arena<Function>,
    made: HashMap<FunctionKey, Handle<Function>>,
    module: &'a mut Module,
}

impl Rewrite<'_> {
    /// The address space of a function's `i`-th argument, if that is a pointer.
    fn space(&self, function: Handle<Function>, i: usize) -> Option<AddressSpace> {
        let argument = self.module.functions[function].arguments.get(i)?;
        self.module.types[argument.ty].inner.pointer_space()
    }

    fn is_global_pointer(&self, function: Handle<Function>, i: usize) -> bool {
        !matches!(self.space(function, i), None | Some(AddressSpace::Function))
    }

    /// The function whose pointer arguments are these places.
    fn function(
        &mut self,
        handle: Handle<Function>,
        places: Vec<Option<Place>>,
    ) -> Result<Handle<Function>, PointerError> {
        let key = (handle, places);
        if let Some(&made) = self.made.get(&key) {
            return Ok(made);
        }
        let span = self.module.functions.get_span(handle);
        if self.made.len() >= MAX_COPIES {
            let reason = format!("functions are called with more than {MAX_COPIES} different pointers");
            return Err(PointerError { span, reason });
        }
        let mut function = self.module.functions[handle].clone();
        if key.1.iter().any(Option::is_some) {
            function = remap::with_places(&function, &key.1);
        }
        self.calls(&mut function)?;
        let made = self.functions.append(function, span);
        self.made.insert(key, made);
        Ok(made)
    }

    /// Rewrites the calls of a function.
    fn calls(&mut self, function: &mut Function) -> Result<(), PointerError> {
        let mut types = Typifier::new();
        if let Some((last, _)) = function.expressions.iter().next_back() {
            let context = ResolveContext::with_locals(self.module, &function.local_variables, &function.arguments);
            let grown = types.grow(last, &function.expressions, &context);
            grown.map_err(|error| PointerError { span: Span::UNDEFINED, reason: error.to_string() })?;
        }
        let body = std::mem::take(&mut function.body);
        function.body = self.block(body, function, &types)?;
        Ok(())
    }

    fn block(&mut self, block: Block, function: &mut Function, types: &Typifier) -> Result<Block, PointerError> {
        let mut out = Block::with_capacity(block.len());
        for (mut statement, span) in block.span_into_iter() {
            if let Statement::Call { function: callee, arguments, result } = statement {
                self.call(Call { callee, arguments, result, span }, function, types, &mut out)?;
                continue;
            }
            for inner in inner_blocks(&mut statement) {
                *inner = self.block(std::mem::take(inner), function, types)?;
            }
            out.push(statement, span);
        }
        Ok(out)
    }

    fn call(
        &mut self,
        call: Call,
        caller: &mut Function,
        types: &Typifier,
        out: &mut Block,
    ) -> Result<(), PointerError> {
        let (mut places, mut arguments, mut copied) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &argument) in call.arguments.iter().enumerate() {
            if self.is_global_pointer(call.callee, i) {
                places.push(Some(self.place(&call, i, (caller, types), &mut arguments)?));
                continue;
            }
            places.push(None);
            let is_part =
                matches!(caller.expressions[argument], Expression::Access { .. } | Expression::AccessIndex { .. });
            let space = self.space(call.callee, i).filter(|_| is_part);
            match space.and_then(|_| self.pointee(self.module.functions[call.callee].arguments[i].ty)) {
                Some(pointee) => {
                    let temporary = copy_out(caller, (argument, pointee), call.span, out);
                    copied.push((argument, temporary));
                    arguments.push(temporary);
                }
                None => arguments.push(argument),
            }
        }
        let function = self.function(call.callee, places)?;
        if let Some(result) = call.result {
            caller.expressions[result] = Expression::CallResult(function);
        }
        out.push(Statement::Call { function, arguments, result: call.result }, call.span);
        for (part, temporary) in copied {
            let value = load(caller, temporary, call.span, out);
            out.push(Statement::Store { pointer: part, value }, call.span);
        }
        Ok(())
    }

    /// What a pointer of that type points to.
    fn pointee(&mut self, ty: Handle<Type>) -> Option<Handle<Type>> {
        Some(match self.module.types[ty].inner.pointer_base_type()? {
            TypeResolution::Handle(base) => base,
            TypeResolution::Value(inner) => type_of(self.module, inner),
        })
    }

    /// Where the call's `i`-th argument points; its computed indices become arguments.
    fn place(
        &mut self,
        call: &Call,
        i: usize,
        (caller, types): (&Function, &Typifier),
        arguments: &mut Vec<Handle<Expression>>,
    ) -> Result<Place, PointerError> {
        let (mut steps, mut indices, mut at) = (Vec::new(), Vec::new(), call.arguments[i]);
        let declared = TypeResolution::Handle(self.module.functions[call.callee].arguments[i].ty);
        if !compare_types(&declared, &types[at], &self.module.types) {
            return Err(self.refused(call, i));
        }
        let variable = loop {
            match caller.expressions[at] {
                Expression::Access { base, index } => {
                    steps.push(Step::Index(types.register_type(index, &mut self.module.types)));
                    indices.push(index);
                    at = base;
                }
                Expression::AccessIndex { base, index } => {
                    steps.push(Step::Member(index));
                    at = base;
                }
                Expression::GlobalVariable(variable) => break variable,
                _ => return Err(self.refused(call, i)),
            }
        };
        steps.reverse();
        arguments.extend(indices.into_iter().rev());
        Ok(Place { variable, steps })
    }

    fn refused(&self, call: &Call, i: usize) -> PointerError {
        let callee = &self.module.functions[call.callee];
        let function = callee.name.as_deref().unwrap_or_default();
        let parameter = callee.arguments[i].name.as_deref().unwrap_or_default();
        let reason = format!(
            "function `{function}`: the argument for `{parameter}` has to point to a variable of the parameter's type, or to a part of one"
        );
        PointerError { span: call.span, reason }
    }
}

/// A call that is rewritten.
struct Call {
    callee: Handle<Function>,
    arguments: Vec<Handle<Expression>>,
    result: Option<Handle<Expression>>,
    span: Span,
}

/// Copies what a pointer points to into a temporary variable, and returns a pointer to that.
fn copy_out(
    function: &mut Function,
    (part, ty): (Handle<Expression>, Handle<Type>),
    span: Span,
    out: &mut Block,
) -> Handle<Expression> {
    let variable = function.local_variables.append(LocalVariable { name: None, ty, init: None }, span);
    let temporary = function.expressions.append(Expression::LocalVariable(variable), span);
    let value = load(function, part, span, out);
    out.push(Statement::Store { pointer: temporary, value }, span);
    temporary
}

fn load(function: &mut Function, pointer: Handle<Expression>, span: Span, out: &mut Block) -> Handle<Expression> {
    let value = function.expressions.append(Expression::Load { pointer }, span);
    out.push(Statement::Emit(Range::new_from_bounds(value, value)), span);
    value
}

#[cfg(test)]
mod tests;
