//! What is called for an index, a division, and a use of shared memory or of a buffer that the kernel writes.
//!
//! A check reads values that the shader computes anyway; it never changes one. Addresses are computed anew from the indices
//! behind a pointer.

use naga::{BinaryOperator, Expression, GlobalVariable, Handle, Literal, Scalar, ScalarKind, Span, TypeInner};

use super::buffers;
use super::prelude::code;
use super::rewrite::Body;
use super::shared::{column_stride, length, runs};
use super::site::Subject;

/// How many elements something has that is indexed.
enum ElementCount {
    Fixed(u32),
    /// The buffer's size says.
    Runtime,
}

/// Whether anything is to be called before the expression.
pub(super) fn is_checked(body: &Body<'_>, handle: Handle<Expression>) -> bool {
    match body.function.expressions[handle] {
        Expression::Access { base, .. } => length_of(body, base).is_some(),
        Expression::AccessIndex { base, .. } => matches!(length_of(body, base), Some(ElementCount::Runtime)),
        Expression::Binary { op: BinaryOperator::Divide | BinaryOperator::Modulo, .. } => {
            integer(body, handle).is_some()
        }
        Expression::Load { pointer } => noted(body, pointer).is_some(),
        _ => false,
    }
}

/// Calls what is to be called before the expression.
pub(super) fn expression(body: &mut Body<'_>, handle: Handle<Expression>) {
    match body.function.expressions[handle] {
        Expression::Access { base, index } => {
            let is_signed = matches!(inner(body, index), TypeInner::Scalar(Scalar { kind: ScalarKind::Sint, .. }));
            let index = number(body, index);
            bounds(body, handle, base, (index, is_signed));
        }
        Expression::AccessIndex { base, index } => {
            let index = body.number(index);
            bounds(body, handle, base, (index, false));
        }
        Expression::Binary { left, right, .. } => division(body, handle, left, right),
        Expression::Load { pointer } => load(body, pointer, body.function.expressions.get_span(handle)),
        _ => {}
    }
}

fn inner<'a>(body: &Body<'a>, handle: Handle<Expression>) -> &'a TypeInner {
    body.info[handle].ty.inner_with(&body.shader.original.types)
}

/// What a pointer points to; a value's own type.
fn pointee(body: &Body<'_>, handle: Handle<Expression>) -> TypeInner {
    match inner(body, handle) {
        TypeInner::Pointer { base, .. } => body.shader.original.types[*base].inner.clone(),
        TypeInner::ValuePointer { size: Some(size), scalar, .. } => TypeInner::Vector { size: *size, scalar: *scalar },
        TypeInner::ValuePointer { size: None, scalar, .. } => TypeInner::Scalar(*scalar),
        value => value.clone(),
    }
}

fn length_of(body: &Body<'_>, base: Handle<Expression>) -> Option<ElementCount> {
    match pointee(body, base) {
        TypeInner::Vector { size, .. } | TypeInner::Matrix { columns: size, .. } => {
            Some(ElementCount::Fixed(size as u32))
        }
        TypeInner::Array { size, .. } => {
            Some(length(body.shader.original, size).map_or(ElementCount::Runtime, ElementCount::Fixed))
        }
        _ => None,
    }
}

/// The expression as a `u32`, its bits cut or filled.
fn number(body: &mut Body<'_>, handle: Handle<Expression>) -> Handle<Expression> {
    match *inner(body, handle) {
        TypeInner::Scalar(Scalar::U32) => handle,
        TypeInner::Scalar(scalar) => as_u32(body, handle, scalar),
        _ => unreachable!("indices are scalars"),
    }
}

fn as_u32(body: &mut Body<'_>, expr: Handle<Expression>, scalar: Scalar) -> Handle<Expression> {
    let convert = Some(4);
    match (scalar.kind, scalar.width) {
        (ScalarKind::Uint, 4) => expr,
        (ScalarKind::Sint, 2) => {
            let wide = body.value(Expression::As { expr, kind: ScalarKind::Sint, convert });
            body.value(Expression::As { expr: wide, kind: ScalarKind::Uint, convert })
        }
        _ => body.value(Expression::As { expr, kind: ScalarKind::Uint, convert }),
    }
}

fn binary(
    body: &mut Body<'_>,
    op: BinaryOperator,
    left: Handle<Expression>,
    right: Handle<Expression>,
) -> Handle<Expression> {
    body.value(Expression::Binary { op, left, right })
}

/// Checks an index against the length of what it goes into.
fn bounds(
    body: &mut Body<'_>,
    access: Handle<Expression>,
    base: Handle<Expression>,
    (index, is_signed): (Handle<Expression>, bool),
) {
    let length = match length_of(body, base) {
        None => return,
        Some(ElementCount::Fixed(length)) => body.number(length),
        Some(ElementCount::Runtime) => body.value(Expression::ArrayLength(base)),
    };
    let is_bad = binary(body, BinaryOperator::GreaterEqual, index, length);
    let subject = Subject::Index { array: name(body, base), is_signed };
    report(body, access, subject, (is_bad, code::OUT_OF_RANGE), [index, length]);
}

/// Calls `check` for the place of an expression.
fn report(
    body: &mut Body<'_>,
    at: Handle<Expression>,
    subject: Subject,
    (is_bad, what): (Handle<Expression>, u32),
    [a, b]: [Handle<Expression>; 2],
) {
    let span = body.function.expressions.get_span(at);
    let (site, what) = (body.site(span, subject), body.number(what));
    body.call("check", vec![is_bad, site, what, a, b]);
}

/// What the shader calls it.
fn name(body: &Body<'_>, handle: Handle<Expression>) -> String {
    let called = |name: &Option<String>| name.clone().unwrap_or_else(|| "a value".to_owned());
    if let Some(name) = body.function.named_expressions.get(&handle) {
        return name.clone();
    }
    match body.function.expressions[handle] {
        Expression::GlobalVariable(global) => called(&body.shader.original.global_variables[global].name),
        Expression::LocalVariable(local) => called(&body.function.local_variables[local].name),
        Expression::FunctionArgument(index) => called(&body.function.arguments[index as usize].name),
        Expression::Load { pointer } => name(body, pointer),
        Expression::Access { base, .. } => format!("{}[…]", name(body, base)),
        Expression::AccessIndex { base, index } => match pointee(body, base) {
            TypeInner::Struct { members, .. } => {
                format!("{}.{}", name(body, base), called(&members[index as usize].name))
            }
            _ => format!("{}[{index}]", name(body, base)),
        },
        _ => "a value".to_owned(),
    }
}

/// The scalar type of an integer or vector of integers, and its components.
fn integer(body: &Body<'_>, handle: Handle<Expression>) -> Option<(Scalar, u32)> {
    let (scalar, size) = match *inner(body, handle) {
        TypeInner::Scalar(scalar) => (scalar, 1),
        TypeInner::Vector { size, scalar } => (scalar, size as u32),
        _ => return None,
    };
    matches!(scalar.kind, ScalarKind::Sint | ScalarKind::Uint).then_some((scalar, size))
}

/// Checks each component of a quotient or remainder.
fn division(body: &mut Body<'_>, at: Handle<Expression>, left: Handle<Expression>, right: Handle<Expression>) {
    let Some((scalar, size)) = integer(body, at) else { return };
    for index in 0..size {
        let component = |body: &mut Body<'_>, base| match size {
            1 => base,
            _ => body.value(Expression::AccessIndex { base, index }),
        };
        let (left, right) = (component(body, left), component(body, right));
        let subject = Subject::Division { is_signed: scalar.kind == ScalarKind::Sint, width: scalar.width };
        let words = words(body, left, scalar);
        let zero = body.constant(Expression::Literal(Literal::zero(scalar).expect("integers have a zero")));
        let is_zero = binary(body, BinaryOperator::Equal, right, zero);
        report(body, at, subject.clone(), (is_zero, code::DIVISION_BY_ZERO), words);
        if let Some([least, minus_one]) = extremes(scalar) {
            let (least, minus_one) = (body.constant(least), body.constant(minus_one));
            let is_least = binary(body, BinaryOperator::Equal, left, least);
            let is_minus_one = binary(body, BinaryOperator::Equal, right, minus_one);
            let overflows = binary(body, BinaryOperator::LogicalAnd, is_least, is_minus_one);
            report(body, at, subject, (overflows, code::DIVISION_OVERFLOW), words);
        }
    }
}

/// The low and the high word of an integer.
fn words(body: &mut Body<'_>, value: Handle<Expression>, scalar: Scalar) -> [Handle<Expression>; 2] {
    let low = as_u32(body, value, scalar);
    if scalar.width < 8 {
        return [low, body.number(0)];
    }
    let bits = body.number(32);
    let high = binary(body, BinaryOperator::ShiftRight, value, bits);
    [low, as_u32(body, high, scalar)]
}

/// The least number of a signed type, and -1.
fn extremes(scalar: Scalar) -> Option<[Expression; 2]> {
    let [least, minus_one] = match (scalar.kind, scalar.width) {
        (ScalarKind::Sint, 2) => [Literal::I16(i16::MIN), Literal::I16(-1)],
        (ScalarKind::Sint, 4) => [Literal::I32(i32::MIN), Literal::I32(-1)],
        (ScalarKind::Sint, 8) => [Literal::I64(i64::MIN), Literal::I64(-1)],
        _ => return None,
    };
    Some([Expression::Literal(least), Expression::Literal(minus_one)])
}

/// The memory that a use is noted of.
enum Noted {
    /// Shared memory that starts at this byte.
    Shared(u32),
    /// The buffer of this number.
    Buffer(u32, Handle<GlobalVariable>),
}

/// What a pointer points into, if uses of it are noted.
fn noted(body: &Body<'_>, pointer: Handle<Expression>) -> Option<Noted> {
    let mut at = pointer;
    loop {
        match body.function.expressions[at] {
            Expression::AccessIndex { base, .. } | Expression::Access { base, .. } => at = base,
            Expression::GlobalVariable(global) => {
                let memory = body.shader.memory;
                let buffer = || Some(Noted::Buffer(memory.buffers.number(global)?, global));
                return memory.shared.start(global).map(Noted::Shared).or_else(buffer);
            }
            // Private and local memory; or a function's parameter, of which the variable is not known.
            _ => return None,
        }
    }
}

/// Notes that shared memory or a buffer is read; other memory is nothing to note.
pub(super) fn load(body: &mut Body<'_>, pointer: Handle<Expression>, span: Span) {
    touch(body, (pointer, span), ["shared_read", "atomic_read", "buffer_read"]);
}

/// Notes that shared memory or a buffer is written.
pub(super) fn store(body: &mut Body<'_>, pointer: Handle<Expression>, span: Span) {
    touch(body, (pointer, span), ["shared_write", "atomic_write", "buffer_write"]);
}

fn touch(body: &mut Body<'_>, (pointer, span): (Handle<Expression>, Span), [shared, atomic, buffer]: [&str; 3]) {
    let Some(noted) = noted(body, pointer) else { return };
    let ty = pointee(body, pointer);
    let is_atomic = matches!(ty, TypeInner::Atomic(_));
    let (start, subject, number) = match noted {
        Noted::Shared(start) => (start, Subject::Shared, None),
        Noted::Buffer(..) if is_atomic => return,
        Noted::Buffer(number, global) => {
            (0, Subject::Buffer(buffers::span(body.shader.original, global)), Some(body.number(number)))
        }
    };
    let start = address(body, pointer, start);
    let site = body.site(span, subject);
    for run in runs(body.shader.original, &ty) {
        let offset = body.number(run.offset);
        let start = if run.offset == 0 { start } else { binary(body, BinaryOperator::Add, start, offset) };
        let [bytes, stride, count] = [run.bytes, run.stride, run.count].map(|value| body.number(value));
        match number {
            _ if is_atomic => body.call(atomic, vec![start, bytes, site]),
            None => body.call(shared, vec![start, bytes, stride, count, site]),
            Some(number) => body.call(buffer, vec![number, start, bytes, stride, count, site]),
        }
    }
}

/// The number of the first byte that a pointer points to, of a variable that starts at `start`.
fn address(body: &mut Body<'_>, pointer: Handle<Expression>, start: u32) -> Handle<Expression> {
    let mut offset = start;
    let mut strides = Vec::new();
    let mut at = pointer;
    loop {
        match body.function.expressions[at] {
            Expression::AccessIndex { base, index } => {
                offset += match pointee(body, base) {
                    TypeInner::Struct { members, .. } => members[index as usize].offset,
                    container => index * stride(&container),
                };
                at = base;
            }
            Expression::Access { base, index } => {
                strides.push((index, stride(&pointee(body, base))));
                at = base;
            }
            _ => break, // The variable.
        }
    }
    let mut sum = body.number(offset);
    for (index, stride) in strides {
        let (index, stride) = (number(body, index), body.number(stride));
        let bytes = binary(body, BinaryOperator::Multiply, index, stride);
        sum = binary(body, BinaryOperator::Add, sum, bytes);
    }
    sum
}

/// Bytes from element to element.
fn stride(container: &TypeInner) -> u32 {
    match container {
        TypeInner::Array { stride, .. } => *stride,
        TypeInner::Vector { scalar, .. } => u32::from(scalar.width),
        TypeInner::Matrix { rows, scalar, .. } => column_stride(*rows, *scalar),
        other => unreachable!("the validator refuses an index into {other:?}"),
    }
}
