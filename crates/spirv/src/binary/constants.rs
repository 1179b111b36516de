//! The values of a module's constants, specialisation applied: [`Values`].
//!
//! Constants are computed in the order of declaration, each from those before it, so nothing recurses. Computed here is
//! what array lengths and workgroup sizes are made of: integers, truth values, choices. All else has no value, which is an
//! error only where a number is needed.
//! Read next: `types.rs`.

use std::collections::{BTreeMap, HashMap};

use spirv::{Decoration, Op};

use super::contents::{Contents, DeclaredConstant, Type};
use crate::signature::{DType, ScalarValue};

/// A constant's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Scalar(ScalarValue),
    /// Ids of the parts.
    Composite(Vec<u32>),
}

/// The values of constants, by id. One that is not computed here has none.
#[derive(Debug, Default)]
pub(crate) struct Values(HashMap<u32, Value>);

/// A constant that the kernel's builder may set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adjustable<'a> {
    pub(crate) declared: &'a DeclaredConstant,
    /// Its number.
    pub(crate) number: u32,
    pub(crate) default: ScalarValue,
}

/// The constants to set, ordered by number: compilers declare them in the order of use. Of two with one number, which
/// glslang makes of a constant that is also a workgroup's size, the one with a name.
pub(crate) fn adjustable(contents: &Contents) -> Vec<Adjustable<'_>> {
    let mut found: Vec<_> = numbered(contents).collect();
    found.sort_by_key(|constant| (constant.number, contents.name(constant.declared.id).is_none()));
    found.dedup_by_key(|constant| constant.number);
    found
}

/// All constants with a number, in the order of declaration. A number of a type without host's name cannot be set.
pub(crate) fn numbered(contents: &Contents) -> impl Iterator<Item = Adjustable<'_>> {
    contents.constants.iter().filter_map(|declared| {
        let number = contents.decoration(declared.id, None, Decoration::SpecId)?;
        let is_scalar = matches!(declared.op, Op::SpecConstantTrue | Op::SpecConstantFalse | Op::SpecConstant);
        let default = literal(contents, declared).filter(|_| is_scalar)?;
        Some(Adjustable { declared, number, default })
    })
}

impl Values {
    /// Computes all values; `set` holds those that differ from the default, by number.
    pub(crate) fn compute(contents: &Contents, set: &BTreeMap<u32, ScalarValue>) -> Self {
        let mut values = Self::default();
        for constant in numbered(contents) {
            let value = set.get(&constant.number).copied().unwrap_or(constant.default);
            values.0.insert(constant.declared.id, Value::Scalar(value));
        }
        for declared in &contents.constants {
            if !values.0.contains_key(&declared.id) {
                let value = values.value_of(contents, declared);
                values.0.extend(value.map(|value| (declared.id, value)));
            }
        }
        values
    }

    pub(crate) fn scalar(&self, id: u32) -> Option<ScalarValue> {
        if let Value::Scalar(value) = self.0.get(&id)? { Some(*value) } else { None }
    }

    /// A number that counts something.
    pub(crate) fn count(&self, id: u32) -> Option<u32> {
        u32::try_from(self.scalar(id)?.integer()?).ok()
    }

    pub(crate) fn parts(&self, id: u32) -> Option<&[u32]> {
        if let Value::Composite(parts) = self.0.get(&id)? { Some(parts) } else { None }
    }

    fn value_of(&self, contents: &Contents, declared: &DeclaredConstant) -> Option<Value> {
        match declared.op {
            Op::ConstantComposite | Op::SpecConstantComposite => Some(Value::Composite(declared.operands.clone())),
            Op::SpecConstantOp => self.computed(contents, declared),
            _ => literal(contents, declared).map(Value::Scalar),
        }
    }

    fn computed(&self, contents: &Contents, declared: &DeclaredConstant) -> Option<Value> {
        let (&opcode, operands) = declared.operands.split_first()?;
        let op = Op::from_u32(opcode)?;
        let scalar = |index: usize| self.scalar(*operands.get(index)?);
        if op == Op::CompositeExtract {
            let &[composite, index] = operands else { return None };
            let part = *self.parts(composite)?.get(index as usize)?;
            return self.0.get(&part).cloned();
        }
        let value = match (op, operands.len()) {
            (Op::Select, 3) => match scalar(0)? {
                ScalarValue::Bool(chosen) => return Some(Value::Scalar(scalar(if chosen { 1 } else { 2 })?)),
                _ => return None,
            },
            (_, 1) => unary(op, scalar(0)?)?,
            (_, 2) => binary(op, scalar(0)?, scalar(1)?)?,
            _ => return None,
        };
        let dtype = scalar_dtype(contents.types.get(&declared.ty)?)?;
        Some(Value::Scalar(truncated(value, dtype)?))
    }
}

fn unary(op: Op, value: ScalarValue) -> Option<i128> {
    let number = value.integer()?;
    match op {
        Op::UConvert => Some(number & mask(value.dtype())),
        Op::SConvert | Op::Bitcast => Some(number),
        Op::SNegate => number.checked_neg(),
        Op::Not => Some(!number),
        Op::LogicalNot => Some(i128::from(number == 0)),
        _ => None,
    }
}

fn binary(op: Op, left: ScalarValue, right: ScalarValue) -> Option<i128> {
    let (a, b) = (left.integer()?, right.integer()?);
    let (ua, ub) = (a & mask(left.dtype()), b & mask(right.dtype()));
    let truth = |value: bool| Some(i128::from(value));
    let shift = u32::try_from(ub).ok().filter(|&shift| shift < 8 * left.dtype().itemsize());
    match op {
        Op::IAdd => a.checked_add(b),
        Op::ISub => a.checked_sub(b),
        Op::IMul => a.checked_mul(b),
        Op::UDiv => ua.checked_div(ub),
        Op::UMod => ua.checked_rem(ub),
        Op::SDiv => a.checked_div(b),
        Op::SRem => a.checked_rem(b),
        Op::SMod if b != 0 => Some(((a % b) + b) % b),
        Op::BitwiseAnd | Op::LogicalAnd => Some(a & b),
        Op::BitwiseOr | Op::LogicalOr => Some(a | b),
        Op::BitwiseXor => Some(a ^ b),
        Op::ShiftLeftLogical => Some(ua << shift?),
        Op::ShiftRightLogical => Some(ua >> shift?),
        Op::ShiftRightArithmetic => Some(a >> shift?),
        Op::IEqual | Op::LogicalEqual => truth(a == b),
        Op::INotEqual | Op::LogicalNotEqual => truth(a != b),
        Op::ULessThan => truth(ua < ub),
        Op::ULessThanEqual => truth(ua <= ub),
        Op::UGreaterThan => truth(ua > ub),
        Op::UGreaterThanEqual => truth(ua >= ub),
        Op::SLessThan => truth(a < b),
        Op::SLessThanEqual => truth(a <= b),
        Op::SGreaterThan => truth(a > b),
        Op::SGreaterThanEqual => truth(a >= b),
        _ => None,
    }
}

/// The bits of a type.
fn mask(dtype: DType) -> i128 {
    (1 << (8 * dtype.itemsize())) - 1
}

/// The low bits of a number, as a value of the type.
fn truncated(number: i128, dtype: DType) -> Option<ScalarValue> {
    let bits = u64::try_from(number & i128::from(u64::MAX)).ok()?;
    ScalarValue::from_bits(bits, dtype)
}

/// The value that a constant declares.
fn literal(contents: &Contents, declared: &DeclaredConstant) -> Option<ScalarValue> {
    let dtype = scalar_dtype(contents.types.get(&declared.ty)?)?;
    match declared.op {
        Op::ConstantTrue | Op::SpecConstantTrue => Some(true.into()),
        Op::ConstantFalse | Op::SpecConstantFalse => Some(false.into()),
        Op::ConstantNull => ScalarValue::from_bits(0, dtype),
        Op::Constant | Op::SpecConstant => {
            let low = u64::from(*declared.operands.first()?);
            let high = declared.operands.get(1).map_or(0, |&high| u64::from(high) << 32);
            ScalarValue::from_bits(high | low, dtype)
        }
        _ => None,
    }
}

/// The host's name for a number type of the module.
pub(crate) fn scalar_dtype(ty: &Type) -> Option<DType> {
    match *ty {
        Type::Bool => Some(DType::Bool),
        Type::Int { width, is_signed } => DType::of_kind(if is_signed { 'i' } else { 'u' }, width),
        Type::Float { width: 16, is_brain: true } => Some(DType::BF16),
        Type::Float { width, .. } => DType::of_kind('f', width),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_computed_as_a_device_does() {
        let (u, i) = (|value: u32| ScalarValue::U32(value), |value: i32| ScalarValue::I32(value));
        // Operation, operands, type of the result, value.
        let cases = [
            (Op::IAdd, u(u32::MAX), u(2), DType::U32, u(1)), // Wraps.
            (Op::ISub, u(1), u(2), DType::U32, u(u32::MAX)),
            (Op::IMul, i(-3), i(5), DType::I32, i(-15)),
            (Op::UDiv, i(-2), i(2), DType::U32, u(0x7fff_ffff)), // Its operands are bits.
            (Op::SDiv, i(-7), i(2), DType::I32, i(-3)),
            (Op::SRem, i(-7), i(3), DType::I32, i(-1)), // The sign of the left.
            (Op::SMod, i(-7), i(3), DType::I32, i(2)),  // The sign of the right.
            (Op::SMod, i(7), i(-3), DType::I32, i(-2)),
            (Op::ShiftLeftLogical, u(3), u(31), DType::U32, u(1 << 31)),
            (Op::ShiftRightLogical, i(-1), u(28), DType::U32, u(15)),
            (Op::ShiftRightArithmetic, i(-16), u(2), DType::I32, i(-4)),
            (Op::ULessThan, i(-1), i(1), DType::Bool, false.into()),
            (Op::SLessThan, i(-1), i(1), DType::Bool, true.into()),
        ];
        for (op, a, b, dtype, expected) in cases {
            let found = binary(op, a, b).and_then(|value| truncated(value, dtype));
            assert_eq!(found, Some(expected), "{op:?} of {a} and {b}");
        }
        for (op, a, b) in [(Op::UDiv, u(1), u(0)), (Op::SMod, i(1), i(0)), (Op::ShiftLeftLogical, u(1), u(32))] {
            assert_eq!(binary(op, a, b), None, "{op:?} of {a} and {b}"); // Undefined on a device.
        }
    }
}
