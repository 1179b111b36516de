//! Gives each expression a line of its own in SPIR-V: [`by_expression`]. For the sanitizer, which names places by them.
//!
//! naga writes a line for each statement, and one statement evaluates all expressions of a line of the text. So that
//! statement is split. Names of values, which naga does not write, are listed for those that are indexed.

use std::collections::HashMap;

use naga::{Block, Expression, Function, Module, Range, Statement};

use super::block::inner_blocks;

/// Makes a statement of each expression. Returns the names of vectors at the line and column of their index.
pub(crate) fn by_expression(module: &mut Module, text: &str) -> HashMap<(u32, u32), String> {
    let mut names = HashMap::new();
    let functions = module.functions.iter_mut().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter_mut().map(|point| &mut point.function)) {
        let body = std::mem::take(&mut function.body);
        function.body = split(body, function);
        for (handle, expression) in function.expressions.iter() {
            if let Expression::Access { base, .. } = *expression
                && let Some(name) = function.named_expressions.get(&base)
            {
                let at = function.expressions.get_span(handle).location(text);
                names.insert((at.line_number, at.line_position), name.clone());
            }
        }
    }
    names
}

fn split(block: Block, function: &Function) -> Block {
    let mut out = Block::with_capacity(block.len());
    for (mut statement, span) in block.span_into_iter() {
        if let Statement::Emit(range) = &statement {
            for handle in range.clone() {
                let emit = Statement::Emit(Range::new_from_bounds(handle, handle));
                out.push(emit, function.expressions.get_span(handle));
            }
            continue;
        }
        for inner in inner_blocks(&mut statement) {
            *inner = split(std::mem::take(inner), function);
        }
        out.push(statement, span);
    }
    out
}
