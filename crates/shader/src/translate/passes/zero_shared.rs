//! Zeroes shared memory in the kernel's own code, where the driver does not do so: [`zero`].
//!
//! WGSL says that `var<workgroup>` starts as zeros. The invocations of a workgroup write the zeros together, in a loop from
//! the local index in steps of the workgroup's size, and wait for each other at a barrier. A loop, because some drivers
//! compile one store of a whole array to an instruction an element. `docs/decisions/036` says when the driver does it.
//! Called by `translate/text.rs`.

use std::collections::BTreeMap;

use naga::valid::ModuleInfo;
use naga::{
    AddressSpace, Barrier, BinaryOperator as Op, Block, BuiltIn, Expression, GlobalVariable, Handle, LocalVariable,
    Module, Scalar, Span, Statement, Type, TypeInner,
};

use super::block::{BlockBuilder, type_of};
use crate::error::Result;
use crate::translate::reflect::array_len;
use crate::translate::validate::revalidated;

/// A step from a variable, or a part of it, to a smaller part.
#[derive(Clone, Copy)]
enum PathStep {
    Member(u32),
    /// Each element of an array of this length.
    Elements(u32),
}

/// Parts of a variable that have one type; one store zeroes each of them.
struct ZeroedParts {
    variable: Handle<GlobalVariable>,
    path: Vec<PathStep>,
    /// The type of the value that is stored.
    ty: Handle<Type>,
}

impl ZeroedParts {
    /// The lengths of the arrays on the path, from the outermost in.
    fn lengths(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.path.iter().filter_map(|step| if let PathStep::Elements(len) = step { Some(*len) } else { None })
    }
}

/// Makes an entry point zero the shared memory that it uses, if it uses any. Constants have their values.
pub(crate) fn zero(module: &mut Module, info: &mut ModuleInfo, index: usize) -> Result<()> {
    let uses = info.get_entry_point(index);
    let mut zeroing = module.clone();
    let uint = type_of(&mut zeroing, Scalar::U32.to_inner_scalar());
    // By the number of parts: those of one number share a loop.
    let mut all: BTreeMap<u32, Vec<ZeroedParts>> = BTreeMap::new();
    for (variable, declared) in module.global_variables.iter() {
        if declared.space == AddressSpace::WorkGroup && !uses[variable].is_empty() {
            for parts in parts_of(&mut zeroing, variable, declared.ty) {
                all.entry(parts.lengths().fold(1, u32::saturating_mul)).or_default().push(parts);
            }
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    let entry = &mut zeroing.entry_points[index];
    let n_invocations = entry.workgroup_size.into_iter().fold(1, u32::saturating_mul);
    let mut builder = BlockBuilder::new(&mut entry.function);
    let local = builder.built_in(&zeroing.types, BuiltIn::LocalInvocationIndex, uint);
    for (count, parts) in &all {
        if *count <= n_invocations {
            let count = builder.literal(*count);
            let condition = builder.binary(Op::Less, local, count);
            let accept = builder.nested(|builder| store_zeros(builder, parts, local));
            builder.push(Statement::If { condition, accept, reject: Block::new() });
        } else {
            let variable = LocalVariable { name: None, ty: uint, init: None };
            let variable = builder.function.local_variables.append(variable, Span::UNDEFINED);
            let pointer = builder.append(Expression::LocalVariable(variable));
            builder.push(Statement::Store { pointer, value: local });
            store_zeros_in_loop(&mut builder, parts, pointer, [*count, n_invocations]);
        }
    }
    builder.push(Statement::ControlBarrier(Barrier::WORK_GROUP));
    let mut body = builder.finish();
    body.extend_block(std::mem::take(&mut entry.function.body));
    entry.function.body = body;
    *info = revalidated(&zeroing, &zeroing.entry_points[index].name, "with zeroed shared memory")?;
    *module = zeroing;
    Ok(())
}

/// `for (i = local; i < count; i += n_invocations)`, where `i` is the variable at `pointer`.
fn store_zeros_in_loop(
    builder: &mut BlockBuilder<'_>,
    parts: &[ZeroedParts],
    pointer: Handle<Expression>,
    [count, n_invocations]: [u32; 2],
) {
    let body = builder.nested(|builder| {
        let i = builder.append(Expression::Load { pointer });
        let count = builder.literal(count);
        let condition = builder.binary(Op::Less, i, count);
        let reject = Block::from_vec(vec![Statement::Break]);
        builder.push(Statement::If { condition, accept: Block::new(), reject });
        store_zeros(builder, parts, i);
    });
    let continuing = builder.nested(|builder| {
        let i = builder.append(Expression::Load { pointer });
        let step = builder.literal(n_invocations);
        let value = builder.binary(Op::Add, i, step);
        builder.push(Statement::Store { pointer, value });
    });
    builder.push(Statement::Loop { body, continuing, break_if: None });
}

/// Stores zero to the `i`-th of the parts of each path.
fn store_zeros(builder: &mut BlockBuilder<'_>, all: &[ZeroedParts], i: Handle<Expression>) {
    for parts in all {
        // The index of each array: the digits of `i` in a number system of the arrays' lengths.
        let (mut indices, mut rest, n) = (Vec::new(), i, parts.lengths().count());
        for len in parts.lengths().rev().take(n.saturating_sub(1)) {
            let len = builder.literal(len);
            indices.push(builder.binary(Op::Modulo, rest, len));
            rest = builder.binary(Op::Divide, rest, len);
        }
        indices.push(rest);
        let mut pointer = builder.append(Expression::GlobalVariable(parts.variable));
        for step in &parts.path {
            pointer = builder.append(match *step {
                PathStep::Member(index) => Expression::AccessIndex { base: pointer, index },
                PathStep::Elements(_) => Expression::Access { base: pointer, index: indices.pop().unwrap_or(i) },
            });
        }
        let value = builder.append(Expression::ZeroValue(parts.ty));
        builder.push(Statement::Store { pointer, value });
    }
}

/// The parts of a variable, with a path to each.
fn parts_of(module: &mut Module, variable: Handle<GlobalVariable>, ty: Handle<Type>) -> Vec<ZeroedParts> {
    let (mut found, mut open) = (Vec::new(), vec![(Vec::new(), ty)]);
    while let Some((path, ty)) = open.pop() {
        let inside = |step: PathStep| path.iter().copied().chain([step]).collect::<Vec<_>>();
        match module.types[ty].inner {
            TypeInner::Array { base, size, .. } => {
                let len = array_len(module, size).expect("shared memory has a length once constants have values");
                open.push((inside(PathStep::Elements(len)), base));
            }
            TypeInner::Struct { ref members, .. } if !is_stored_whole(module, ty) => {
                open.extend((0..).zip(members).map(|(i, member)| (inside(PathStep::Member(i)), member.ty)));
            }
            // A scalar is what can be stored to an atomic variable.
            TypeInner::Atomic(scalar) => {
                let ty = type_of(module, scalar.to_inner_scalar());
                found.push(ZeroedParts { variable, path, ty });
            }
            _ => found.push(ZeroedParts { variable, path, ty }),
        }
    }
    found
}

/// Whether one store of the type is small and possible: it holds neither arrays nor atomic variables.
fn is_stored_whole(module: &Module, ty: Handle<Type>) -> bool {
    match &module.types[ty].inner {
        TypeInner::Array { .. } | TypeInner::Atomic(_) => false,
        TypeInner::Struct { members, .. } => members.iter().all(|member| is_stored_whole(module, member.ty)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::translate::module::tests::spirv::spirv_val;
    use crate::{Module, Options, Source};

    /// Opcode of the instruction of SPIR-V, how often it is there.
    fn count_of(spirv: &[u32], op: spirv::Op) -> usize {
        vkarray_spirv::internal::instructions(spirv).filter(|words| words[0] & 0xffff == op as u32).count()
    }

    #[test]
    fn each_part_is_stored_by_its_own_type() {
        // Declarations, statement that uses them, stores to plain and to atomic memory, loops that the prologue has.
        let cases = [
            ("var<workgroup> a: u32;", "x[0] = a;", [1, 0, 0]),
            ("var<workgroup> a: array<u32, 64>;", "x[0] = a[l];", [1, 0, 0]),
            ("var<workgroup> a: array<u32, 65>;", "x[0] = a[l];", [1, 0, 1]),
            ("var<workgroup> a: array<array<vec3<f32>, 9>, 10>;", "x[0] = u32(a[l][1].x);", [1, 0, 1]),
            ("var<workgroup> a: array<atomic<i32>, 300>;", "x[0] = u32(atomicLoad(&a[l]));", [0, 1, 1]),
            // Two arrays of one length share a loop.
            (
                "var<workgroup> a: array<u32, 99>; var<workgroup> b: array<mat2x2<f32>, 99>;",
                "x[0] = a[l] + u32(b[l][0].x);",
                [2, 0, 1],
            ),
            (
                "struct S { n: atomic<u32>, many: array<vec2<bool>, 100>, m: mat3x3<f32> }
                var<workgroup> a: array<S, 3>;",
                "if a[l].many[1].x { x[0] = atomicLoad(&a[l].n) + u32(a[1].m[0].x); }",
                [2, 1, 1],
            ),
            ("override N = 70; var<workgroup> a: array<u32, N * 2>;", "x[0] = a[l];", [1, 0, 1]),
            ("struct S { a: u32, b: vec4<f32> } var<workgroup> s: S;", "x[0] = s.a;", [1, 0, 0]),
            ("var<workgroup> unused: array<u32, 4000>;", "x[0] = 1;", [0, 0, 0]),
        ];
        for (declared, statement, [plain, atomic, loops]) in cases {
            let text = format!(
                "{declared} @group(0) @binding(0) var<storage, read_write> x: array<u32>;
                @compute @workgroup_size(8, 4, 2) fn main(@builtin(local_invocation_index) l: u32) {{ {statement} }}"
            );
            let translate = |assume_written| {
                let options = Options { assume_written, ..Options::default() };
                let module = Module::parse(&Source::wgsl(text.clone())).unwrap();
                module.translate(None, &BTreeMap::new(), &options).unwrap().spirv
            };
            let (with, without) = (translate(false), translate(true));
            let added = |op| count_of(&with, op) - count_of(&without, op);
            // A loop stores its counter twice.
            assert_eq!(added(spirv::Op::Store), plain + 2 * loops, "{declared}");
            assert_eq!(added(spirv::Op::AtomicStore), atomic, "{declared}");
            assert_eq!(added(spirv::Op::LoopMerge), loops, "{declared}");
            assert_eq!(added(spirv::Op::ControlBarrier), usize::from(plain + atomic > 0), "{declared}");
            assert_eq!(spirv_val(&with), None, "{declared}");
        }
    }

    /// An entry point that asks for the local index in a struct, or not at all, and one that is folded.
    #[test]
    fn the_local_index_is_asked_for_once() {
        for argument in ["", "in: In", "@builtin(local_invocation_index) i: u32", "@builtin(workgroup_id) w: vec3<u32>"]
        {
            let text = format!(
                "struct In {{ @builtin(local_invocation_index) i: u32 }}
                var<workgroup> a: array<u32, 100>;
                @group(0) @binding(0) var<storage, read_write> x: array<u32>;
                @compute @workgroup_size(8) fn main({argument}) {{ x[0] = a[1]; }}"
            );
            for fold in [None, Some(crate::Fold { axes: [7, 5, 3], n_workgroups: None })] {
                let options = Options { fold, ..Options::default() };
                let module = Module::parse(&Source::wgsl(text.clone())).unwrap();
                let translated = module.translate(None, &BTreeMap::new(), &options).unwrap();
                assert_eq!(spirv_val(&translated.spirv), None, "{argument} {fold:?}");
            }
        }
    }
}
