//! The cooperative matrices of an entry point: [`matrices`], for the check against what a device multiplies.
//!
//! Sizes may be specialisation constants. Whether integers are signed is declared by the multiplication, not by their type.
//! `vkarray-kernel` compares them with a device, in `fits/matrices.rs`.

use spirv::{CooperativeMatrixOperands, Op};

use super::Binary;
use super::constants::{Values, scalar_dtype};
use super::contents::{Contents, CooperativeMatrix, EntryPoint, Type};
use super::instruction::{Checked, Instruction, instructions_in};
use super::uses::callers_first;
use crate::signature::{MatrixProduct, MatrixRole, MatrixUse};

/// What the functions that are reached from an entry point do with cooperative matrices, each once.
pub(super) fn matrices(binary: &Binary, entry: &EntryPoint, values: &Values) -> Checked<Vec<MatrixUse>> {
    let Binary { words, contents } = binary;
    let is_matrix = |ty: &Type| matches!(ty, Type::CooperativeMatrix(_));
    if !contents.types.values().any(is_matrix) {
        return Ok(Vec::new());
    }
    let mut reader = MatrixReader { contents, values, found: Vec::new() };
    for function in callers_first(contents, entry.function)? {
        for instruction in instructions_in(words, function.words.clone()) {
            reader.take(&instruction?)?;
        }
    }
    Ok(reader.found)
}

struct MatrixReader<'a> {
    contents: &'a Contents,
    values: &'a Values,
    found: Vec<MatrixUse>,
}

impl MatrixReader<'_> {
    fn take(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let Some(ty) = instruction.ty else { return Ok(()) };
        if !matches!(self.contents.types.get(&ty), Some(Type::CooperativeMatrix(_))) {
            return Ok(());
        }
        let found = if instruction.op() == Op::CooperativeMatrixMulAddKHR {
            MatrixUse::Product(self.product(instruction, ty)?)
        } else {
            let CooperativeMatrix { component, scope, rows, columns, role } = self.matrix(instruction, ty)?;
            let role = match role {
                0 => MatrixRole::A,
                1 => MatrixRole::B,
                _ => MatrixRole::Accumulator,
            };
            let component = self.component(component, false);
            MatrixUse::Operand { role, rows, columns, component, scope: scope_name(scope) }
        };
        if !self.found.contains(&found) {
            self.found.push(found);
        }
        Ok(())
    }

    fn product(&self, instruction: &Instruction<'_>, result: u32) -> Checked<MatrixProduct> {
        let of = |index: usize| {
            let id = instruction.operand(index)?;
            self.matrix(instruction, self.contents.value_types.get(&id).copied().unwrap_or_default())
        };
        let (a, b, c, result) = (of(0)?, of(1)?, of(2)?, self.matrix(instruction, result)?);
        let flags =
            CooperativeMatrixOperands::from_bits_retain(instruction.operands.get(3).copied().unwrap_or_default());
        let has = |flag| flags.contains(flag);
        use CooperativeMatrixOperands as O;
        Ok(MatrixProduct {
            m: a.rows,
            n: b.columns,
            k: a.columns,
            types: [
                self.component(a.component, has(O::MATRIX_A_SIGNED_COMPONENTS_KHR)),
                self.component(b.component, has(O::MATRIX_B_SIGNED_COMPONENTS_KHR)),
                self.component(c.component, has(O::MATRIX_C_SIGNED_COMPONENTS_KHR)),
                self.component(result.component, has(O::MATRIX_RESULT_SIGNED_COMPONENTS_KHR)),
            ],
            saturating: has(O::SATURATING_ACCUMULATION_KHR),
            scope: scope_name(a.scope),
        })
    }

    /// The matrix of a type, with its numbers.
    fn matrix(&self, instruction: &Instruction<'_>, ty: u32) -> Checked<CooperativeMatrix> {
        let Some(&Type::CooperativeMatrix(matrix)) = self.contents.types.get(&ty) else {
            return instruction.needs(ty, "a cooperative matrix");
        };
        let CooperativeMatrix { component, scope, rows, columns, role } = matrix;
        let number = |id| self.values.count(id).map_or_else(|| instruction.needs(id, "a number"), Ok);
        let [scope, rows, columns, role] = [number(scope)?, number(rows)?, number(columns)?, number(role)?];
        Ok(CooperativeMatrix { component, scope, rows, columns, role })
    }

    /// The name of an element's type.
    fn component(&self, id: u32, is_signed: bool) -> String {
        match self.contents.types.get(&id) {
            Some(Type::Int { width, .. }) => format!("{}{width}", if is_signed { 'i' } else { 'u' }),
            Some(Type::Float { width: 16, is_brain: true }) => "bf16".to_owned(),
            Some(ty) => scalar_dtype(ty).map_or_else(|| "something".to_owned(), |dtype| dtype.to_string()),
            None => "something".to_owned(),
        }
    }
}

/// The name of a scope by SPIR-V's number.
fn scope_name(number: u32) -> String {
    match number {
        2 => "workgroup".to_owned(),
        3 => "subgroup".to_owned(),
        other => format!("scope {other}"),
    }
}
