//! A copy of a function in which pointer arguments are replaced by places in variables: [`with_places`].
//!
//! naga's expressions may only name earlier ones, so what stands for an argument comes first and all others move behind
//! it. Images, rays and other things that no kernel has are left alone; the validator refuses them later.

use std::collections::HashMap;

use naga::{AtomicFunction, Block, Expression, Function, FunctionArgument, GatherMode, Handle, Range, Span, Statement};

use super::{Place, Step};
use crate::translate::passes::block::{inner_blocks, number};

/// The new places of a function's expressions.
type Map = HashMap<Handle<Expression>, Handle<Expression>>;

/// The function with what its pointer arguments point to; `places` has an entry for each argument.
pub(super) fn with_places(function: &Function, places: &[Option<Place>]) -> Function {
    let mut made = Function {
        arguments: Vec::new(),
        expressions: naga::Arena::new(),
        named_expressions: Default::default(),
        body: Block::new(),
        ..function.clone()
    };
    let arguments: Vec<_> = (0..places.len()).map(|i| argument(function, i, places[i].as_ref(), &mut made)).collect();
    let mut map = Map::new();
    for (handle, expression) in function.expressions.iter() {
        let moved = match *expression {
            Expression::FunctionArgument(i) => arguments[i as usize],
            _ => {
                let mut expression = expression.clone();
                operands(&mut expression, |operand| *operand = map[operand]);
                made.expressions.append(expression, function.expressions.get_span(handle))
            }
        };
        map.insert(handle, moved);
    }
    for (_, variable) in made.local_variables.iter_mut() {
        variable.init.iter_mut().for_each(|init| *init = map[init]);
    }
    let named = function.named_expressions.iter().map(|(handle, name)| (map[handle], name.clone()));
    made.named_expressions = named.collect();
    let mut body = function.body.clone();
    move_block(&mut body, &map);
    for (statement, span) in body.span_into_iter() {
        made.body.push(statement, span);
    }
    made
}

/// Adds what stands for an argument, and returns it.
fn argument(function: &Function, i: usize, place: Option<&Place>, made: &mut Function) -> Handle<Expression> {
    let span = Span::UNDEFINED;
    let next = |made: &Function| Expression::FunctionArgument(number(made.arguments.len()));
    let Some(Place { variable, steps }) = place else {
        let expression = next(made);
        made.arguments.push(function.arguments[i].clone());
        return made.expressions.append(expression, span);
    };
    let mut at = made.expressions.append(Expression::GlobalVariable(*variable), span);
    for step in steps {
        let step = match *step {
            Step::Member(index) => Expression::AccessIndex { base: at, index },
            Step::Index(ty) => {
                let expression = next(made);
                made.arguments.push(FunctionArgument { name: None, ty, binding: None });
                Expression::Access { base: at, index: made.expressions.append(expression, span) }
            }
        };
        at = made.expressions.append(step, span);
        made.body.push(Statement::Emit(Range::new_from_bounds(at, at)), span);
    }
    at
}

/// Shows each operand of an expression.
fn operands(expression: &mut Expression, mut see: impl FnMut(&mut Handle<Expression>)) {
    use Expression as E;
    match expression {
        E::Compose { components, .. } => components.iter_mut().for_each(see),
        E::Access { base: a, index: b } | E::Binary { left: a, right: b, .. } => [a, b].into_iter().for_each(see),
        E::AccessIndex { base: a, .. }
        | E::Splat { value: a, .. }
        | E::Swizzle { vector: a, .. }
        | E::Load { pointer: a }
        | E::Unary { expr: a, .. }
        | E::Derivative { expr: a, .. }
        | E::Relational { argument: a, .. }
        | E::As { expr: a, .. }
        | E::ArrayLength(a)
        | E::RayQueryVertexPositions { query: a, .. }
        | E::RayQueryGetIntersection { query: a, .. } => see(a),
        E::Select { condition: a, accept: b, reject: c } | E::CooperativeMultiplyAdd { a, b, c } => {
            [a, b, c].into_iter().for_each(see);
        }
        E::Math { arg, arg1, arg2, arg3, .. } => {
            see(arg);
            [arg1, arg2, arg3].into_iter().flatten().for_each(see);
        }
        E::CooperativeLoad { data, .. } => [&mut data.pointer, &mut data.stride].into_iter().for_each(see),
        E::ImageSample { image, sampler, coordinate, array_index, offset, depth_ref, level, .. } => {
            [image, sampler, coordinate].into_iter().for_each(&mut see);
            [array_index, offset, depth_ref].into_iter().flatten().for_each(&mut see);
            match level {
                naga::SampleLevel::Exact(a) | naga::SampleLevel::Bias(a) => see(a),
                naga::SampleLevel::Gradient { x, y } => [x, y].into_iter().for_each(see),
                naga::SampleLevel::Auto | naga::SampleLevel::Zero => {}
            }
        }
        E::ImageLoad { image, coordinate, array_index, sample, level } => {
            [image, coordinate].into_iter().for_each(&mut see);
            [array_index, sample, level].into_iter().flatten().for_each(see);
        }
        E::ImageQuery { image, query } => {
            see(image);
            if let naga::ImageQuery::Size { level: Some(level) } = query {
                see(level);
            }
        }
        E::Literal(_)
        | E::Constant(_)
        | E::Override(_)
        | E::ZeroValue(_)
        | E::FunctionArgument(_)
        | E::GlobalVariable(_)
        | E::LocalVariable(_)
        | E::CallResult(_)
        | E::AtomicResult { .. }
        | E::WorkGroupUniformLoadResult { .. }
        | E::RayQueryProceedResult
        | E::SubgroupBallotResult
        | E::SubgroupOperationResult { .. } => {}
    }
}

fn move_block(block: &mut Block, map: &Map) {
    block.iter_mut().for_each(|statement| move_statement(statement, map));
}

fn move_statement(statement: &mut Statement, map: &Map) {
    use Statement as S;
    let see = |operand: &mut Handle<Expression>| *operand = map[operand];
    inner_blocks(statement).into_iter().for_each(|inner| move_block(inner, map));
    match statement {
        S::Emit(range) => {
            if let Some((first, last)) = range.first_and_last() {
                *range = Range::new_from_bounds(map[&first], map[&last]);
            }
        }
        S::If { condition: operand, .. } | S::Switch { selector: operand, .. } => see(operand),
        S::Loop { break_if, .. } => break_if.iter_mut().for_each(see),
        S::Return { value } => value.iter_mut().for_each(see),
        S::Store { pointer: a, value: b } | S::WorkGroupUniformLoad { pointer: a, result: b } => {
            [a, b].into_iter().for_each(see);
        }
        S::Atomic { pointer, fun, value, result } => {
            [pointer, value].into_iter().for_each(see);
            result.iter_mut().for_each(see);
            compared(fun).into_iter().for_each(see);
        }
        S::Call { arguments, result, .. } => arguments.iter_mut().chain(result).for_each(see),
        S::SubgroupBallot { result, predicate } => std::iter::once(result).chain(predicate).for_each(see),
        S::SubgroupGather { mode, argument, result } => {
            [argument, result].into_iter().for_each(see);
            gathered(mode).into_iter().for_each(see);
        }
        S::SubgroupCollectiveOperation { argument, result, .. } => [argument, result].into_iter().for_each(see),
        S::CooperativeStore { target, data } => {
            [target, &mut data.pointer, &mut data.stride].into_iter().for_each(see);
        }
        S::ImageStore { image, coordinate, array_index, value } => {
            [image, coordinate, value].into_iter().chain(array_index).for_each(see);
        }
        S::ImageAtomic { image, coordinate, array_index, fun, value } => {
            [image, coordinate, value].into_iter().chain(array_index).for_each(see);
            compared(fun).into_iter().for_each(see);
        }
        // No function of a kernel has the last two.
        S::Block(_)
        | S::Break
        | S::Continue
        | S::Kill
        | S::ControlBarrier(_)
        | S::MemoryBarrier(_)
        | S::RayQuery { .. }
        | S::RayPipelineFunction(_) => {}
    }
}

fn compared(function: &mut AtomicFunction) -> Option<&mut Handle<Expression>> {
    if let AtomicFunction::Exchange { compare } = function { compare.as_mut() } else { None }
}

fn gathered(mode: &mut GatherMode) -> Option<&mut Handle<Expression>> {
    match mode {
        GatherMode::BroadcastFirst => None,
        GatherMode::Broadcast(at)
        | GatherMode::Shuffle(at)
        | GatherMode::ShuffleDown(at)
        | GatherMode::ShuffleUp(at)
        | GatherMode::ShuffleXor(at)
        | GatherMode::QuadBroadcast(at) => Some(at),
        GatherMode::QuadSwap(_) => None,
    }
}
