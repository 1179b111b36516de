//! Splits a launch along x that is longer than a device allows over several axes: [`Fold`].
//!
//! A device may count no further than 65,535 workgroups on an axis. A longer launch is laid out like the digits of a
//! number: whole planes, then whole rows, then the rest, each a dispatch with a base of its own, so that exactly
//! the requested workgroups run. An entry point of ours computes one number from the three and calls the shader with it.
//! `docs/decisions/028` has the reasons. Called by `translate/text.rs`; when a launch is folded is `pipeline/variants.rs`'s.

use naga::valid::ModuleInfo;
use naga::{
    BinaryOperator, Binding, BuiltIn, Expression, Function, FunctionArgument, Handle, Module, Scalar, Span, Statement,
    Type, TypeInner, VectorSize,
};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use vkarray_spirv::Signature;
use vkarray_spirv::internal::FoldedLaunch;

use super::block::{BlockBuilder, number, type_of};
use crate::error::Result;
use crate::translate::validate::revalidated;

/// How a launch along x is spread over the axes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fold {
    /// Workgroups that fit each axis.
    pub axes: [u32; 3],
    /// Workgroups in all, for a kernel that reads their number; `None` for others.
    pub n_workgroups: Option<u32>,
}

/// One dispatch of a folded launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of its first workgroup.
    pub base: [u32; 3],
    /// Workgroups on x, y and z.
    pub counts: [u32; 3],
}

impl Fold {
    /// The most workgroups that can be folded: as many as the axes have and 32 bits number.
    #[doc(hidden)]
    pub fn capacity([x, y, z]: [u32; 3]) -> u32 {
        x.saturating_mul(y).saturating_mul(z)
    }

    /// What a module of SPIR-V needs to know of it.
    pub(crate) fn launch(self, signature: &Signature) -> FoldedLaunch {
        let [row, n_rows, _] = self.axes;
        let (n_workgroups, size) = (self.n_workgroups, signature.workgroup_size[0]);
        FoldedLaunch { axes: [row, n_rows], n_workgroups, size }
    }

    /// The dispatches of a launch of `n` workgroups, which together are those and no more.
    #[doc(hidden)]
    pub fn parts(&self, n: u32) -> SmallVec<[Part; 3]> {
        let [row, n_rows, _] = self.axes;
        let (rows, rest) = (n / row, n % row);
        let (planes, rows) = (rows / n_rows, rows % n_rows);
        let parts = [
            Part { base: [0, 0, 0], counts: [row, n_rows, planes] },
            Part { base: [0, 0, planes], counts: [row, rows, 1] },
            Part { base: [0, rows, planes], counts: [rest, 1, 1] },
        ];
        parts.into_iter().filter(|part| !part.counts.contains(&0)).collect()
    }
}

/// Whether the entry point reads the number of workgroups.
pub(crate) fn counts_workgroups(module: &Module, index: usize) -> bool {
    let is_it = |binding: &Option<Binding>| *binding == Some(Binding::BuiltIn(BuiltIn::NumWorkGroups));
    module.entry_points[index].function.arguments.iter().any(|argument| match &module.types[argument.ty].inner {
        TypeInner::Struct { members, .. } => members.iter().any(|member| is_it(&member.binding)),
        _ => is_it(&argument.binding),
    })
}

/// Adds an entry point that computes the unfolded numbers and calls the shader's. The module is valid and its constants
/// have values.
pub(crate) fn fold(module: &Module, index: usize, fold: Fold) -> Result<(Module, ModuleInfo)> {
    let mut module = module.clone();
    let vec3 = type_of(&mut module, Scalar::U32.to_inner_vector(VectorSize::Tri));
    let mut inside = std::mem::take(&mut module.entry_points[index].function);
    let (name, arguments) = (inside.name.clone(), inside.arguments.clone());
    let mut entry = Function { name, arguments, ..Function::default() };
    let size = module.entry_points[index].workgroup_size[0];
    let mut outside = FoldedEntry { code: BlockBuilder::new(&mut entry), fold, vec3, size, workgroup: None };
    let arguments = (0..inside.arguments.len()).map(|i| outside.argument(&module, &inside.arguments[i], i)).collect();
    inside.arguments.iter_mut().for_each(|argument| argument.binding = None);
    let function = module.functions.append(inside, Span::UNDEFINED);
    outside.code.push(Statement::Call { function, arguments, result: None });
    outside.code.push(Statement::Return { value: None });
    entry.body = outside.code.finish();
    module.entry_points[index].function = entry;
    let info = revalidated(&module, &module.entry_points[index].name, "folded over several axes")?;
    Ok((module, info))
}

/// The entry point that the device sees.
struct FoldedEntry<'a> {
    code: BlockBuilder<'a>,
    fold: Fold,
    vec3: Handle<Type>,
    /// Invocations of a workgroup along x.
    size: u32,
    /// The number of this workgroup, unfolded.
    workgroup: Option<Handle<Expression>>,
}

impl FoldedEntry<'_> {
    /// What the shader gets as its `i`-th argument.
    fn argument(&mut self, module: &Module, argument: &FunctionArgument, i: usize) -> Handle<Expression> {
        let own = self.code.append(Expression::FunctionArgument(number(i)));
        match (&argument.binding, &module.types[argument.ty].inner) {
            (None, TypeInner::Struct { members, .. }) => {
                let mut part = |at: usize| {
                    let value = self.code.append(Expression::AccessIndex { base: own, index: number(at) });
                    self.unfolded(module, &members[at].binding, value)
                };
                let components = (0..members.len()).map(&mut part).collect();
                self.code.append(Expression::Compose { ty: argument.ty, components })
            }
            (binding, _) => self.unfolded(module, binding, own),
        }
    }

    /// A built-in value as the shader is to see it.
    fn unfolded(
        &mut self,
        module: &Module,
        binding: &Option<Binding>,
        value: Handle<Expression>,
    ) -> Handle<Expression> {
        let (zero, one) = (self.code.literal(0), self.code.literal(1));
        let components = match binding {
            Some(Binding::BuiltIn(BuiltIn::NumWorkGroups)) => {
                let n = self.fold.n_workgroups.expect("a kernel that asks for the number is folded for one number");
                vec![self.code.literal(n), one, one]
            }
            Some(Binding::BuiltIn(BuiltIn::WorkGroupId)) => vec![self.workgroup(module), zero, zero],
            Some(Binding::BuiltIn(BuiltIn::GlobalInvocationId)) => {
                let local = self.code.built_in(&module.types, BuiltIn::LocalInvocationId, self.vec3);
                let (workgroup, size) = (self.workgroup(module), self.code.literal(self.size));
                let first = self.code.binary(BinaryOperator::Multiply, workgroup, size);
                let [x, y, z] = [0, 1, 2].map(|index| self.code.append(Expression::AccessIndex { base: local, index }));
                vec![self.code.binary(BinaryOperator::Add, first, x), y, z]
            }
            _ => return value,
        };
        self.code.append(Expression::Compose { ty: self.vec3, components })
    }

    /// `(z * rows + y) * row + x`.
    fn workgroup(&mut self, module: &Module) -> Handle<Expression> {
        if let Some(workgroup) = self.workgroup {
            return workgroup;
        }
        let id = self.code.built_in(&module.types, BuiltIn::WorkGroupId, self.vec3);
        let [x, y, z] = [0, 1, 2].map(|index| self.code.append(Expression::AccessIndex { base: id, index }));
        let [row, n_rows, _] = self.fold.axes.map(|axis| self.code.literal(axis));
        let rows = self.code.binary(BinaryOperator::Multiply, z, n_rows);
        let rows = self.code.binary(BinaryOperator::Add, rows, y);
        let before = self.code.binary(BinaryOperator::Multiply, rows, row);
        let workgroup = self.code.binary(BinaryOperator::Add, before, x);
        self.workgroup = Some(workgroup);
        workgroup
    }
}

#[cfg(test)]
mod tests;
