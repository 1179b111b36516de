//! Counts the rounds of loops that may never end ([`bound`]), so that a driver's compiler may assume that they end.
//!
//! A loop is left after 2⁶⁴ - 1 rounds, more than any device gets to. The counter is a pair of 32-bit numbers, since not
//! every device has longer ones. It costs a few per cent in a short loop and may keep a compiler from unrolling, so a loop
//! that ends by what is written gets none: `for (var i = 0u; i < n; i++)`, where nothing else writes `i`.
//! `docs/decisions/035` says why. Called by `translate/text.rs`.

use naga::valid::ModuleInfo;
use naga::{
    BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable, Module, Scalar, Span, Statement, Type,
    TypeInner, UnaryOperator, VectorSize,
};

use super::block::{BlockBuilder, inner_blocks, type_of};
use crate::error::Result;
use crate::translate::validate::revalidated;

/// Adds counters to the module of an entry point where they are needed.
pub(crate) fn bound(module: &mut Module, info: &mut ModuleInfo, entry: &str) -> Result<()> {
    if let Some(counted) = counted(module) {
        *info = revalidated(&counted, entry, "with bounded loops")?;
        *module = counted;
    }
    Ok(())
}

/// The module with counters, if it needs any.
fn counted(module: &Module) -> Option<Module> {
    let mut module = module.clone();
    let pair = type_of(&mut module, Scalar::U32.to_inner_vector(VectorSize::Bi));
    let mut n_counters = 0;
    let types = module.types.clone();
    let functions = module.functions.iter_mut().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter_mut().map(|point| &mut point.function)) {
        let body = std::mem::take(&mut function.body);
        let mut counting = Counting { function, types: &types, pair, n_counters: 0 };
        let body = counting.block(body);
        n_counters += counting.n_counters;
        function.body = body;
    }
    (n_counters > 0).then_some(module)
}

struct Counting<'a> {
    function: &'a mut Function,
    types: &'a naga::UniqueArena<Type>,
    /// Two 32-bit numbers.
    pair: Handle<Type>,
    n_counters: usize,
}

impl Counting<'_> {
    fn block(&mut self, block: Block) -> Block {
        let mut out = Block::with_capacity(block.len());
        for (mut statement, span) in block.span_into_iter() {
            let is_counted = match &statement {
                Statement::Loop { body, continuing, .. } => {
                    !Loop { function: self.function, types: self.types, body, continuing }.ends()
                }
                _ => false,
            };
            let counter = is_counted.then(|| self.count());
            for inner in inner_blocks(&mut statement) {
                *inner = self.block(std::mem::take(inner));
            }
            if let (Some(mut counter), Statement::Loop { body, .. }) = (counter, &mut statement) {
                counter.extend_block(std::mem::take(body));
                *body = counter;
            }
            out.push(statement, span);
        }
        out
    }

    /// What a round begins with: it leaves the loop if both numbers are zero, else takes one from the pair.
    fn count(&mut self) -> Block {
        use BinaryOperator as Op;
        self.n_counters += 1;
        let mut code = BlockBuilder::new(self.function);
        let [zero, one, most] = [0, 1, u32::MAX].map(|value| code.literal(value));
        let init = Some(
            code.function
                .expressions
                .append(Expression::Compose { ty: self.pair, components: vec![most, most] }, Span::UNDEFINED),
        );
        let variable = LocalVariable { name: Some("rounds_left".to_owned()), ty: self.pair, init };
        let variable = code.function.local_variables.append(variable, Span::UNDEFINED);
        let pointer = code.append(Expression::LocalVariable(variable));
        let left = code.append(Expression::Load { pointer });
        let [high, low] = [0, 1].map(|index| code.append(Expression::AccessIndex { base: left, index }));
        let either = code.binary(Op::InclusiveOr, high, low);
        let condition = code.binary(Op::Equal, either, zero);
        let accept = Block::from_vec(vec![Statement::Break]);
        code.push(Statement::If { condition, accept, reject: Block::new() });
        let condition = code.binary(Op::Equal, low, zero);
        let carried = code.append(Expression::Select { condition, accept: one, reject: zero });
        let components = vec![code.binary(Op::Subtract, high, carried), code.binary(Op::Subtract, low, one)];
        let value = code.append(Expression::Compose { ty: self.pair, components });
        code.push(Statement::Store { pointer, value });
        code.finish()
    }
}

/// A loop of a function.
struct Loop<'a> {
    function: &'a Function,
    types: &'a naga::UniqueArena<Type>,
    body: &'a Block,
    continuing: &'a Block,
}

/// A number that a loop compares with another, and goes on while it is.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    /// Less than any number.
    Below,
    /// Greater than any number.
    Above,
    /// Greater than zero.
    AboveZero,
}

impl Loop<'_> {
    /// Whether the loop surely ends: it goes on while a number is below another, its end adds one to the number, and nothing
    /// else writes that; or the same downwards, or towards zero by halves.
    fn ends(&self) -> bool {
        let Some((variable, bound)) = self.condition() else { return false };
        let ty = &self.types[self.function.local_variables[variable].ty].inner;
        matches!(ty, TypeInner::Scalar(Scalar::U32 | Scalar::I32))
            && self.steps(variable, bound)
            && self.n_writes(self.body, variable) == 0
            && self.n_writes(self.continuing, variable) == 1
    }

    /// What the first statement compares before it leaves the loop.
    fn condition(&self) -> Option<(Handle<LocalVariable>, Bound)> {
        let first = self.body.iter().position(|statement| !matches!(statement, Statement::Emit(_)))?;
        let Statement::If { condition, accept, reject } = &self.body[first] else { return None };
        let compared = match (&accept[..], &reject[..], &self.function.expressions[*condition]) {
            ([], [Statement::Break], _) => *condition,
            ([Statement::Break], [], Expression::Unary { op: UnaryOperator::LogicalNot, expr }) => *expr,
            _ => return None,
        };
        let Expression::Binary { op, left, right } = self.function.expressions[compared] else { return None };
        // On the right may stand anything: what is counted reaches the end of its type at the latest.
        let bound = match op {
            BinaryOperator::Less => Bound::Below,
            BinaryOperator::Greater if self.number(right) == Some(0) => Bound::AboveZero,
            BinaryOperator::Greater => Bound::Above,
            _ => return None,
        };
        let is_now = [left, compared].iter().all(|&wanted| is_emitted(&self.body[..first], wanted));
        Some((self.loaded(left).filter(|_| is_now)?, bound))
    }

    /// Whether the loop's end brings the number nearer to its bound, without a jump over it.
    fn steps(&self, variable: Handle<LocalVariable>, bound: Bound) -> bool {
        let is_it =
            |pointer: Handle<Expression>| self.function.expressions[pointer] == Expression::LocalVariable(variable);
        let stored = |(at, statement): (usize, &Statement)| match *statement {
            Statement::Store { pointer, value } if is_it(pointer) => Some((at, value)),
            _ => None,
        };
        let Some((at, value)) = self.continuing.iter().enumerate().find_map(stored) else { return false };
        let Expression::Binary { op, left, right } = self.function.expressions[value] else { return false };
        let is_now = [left, value].iter().all(|&wanted| is_emitted(&self.continuing[..at], wanted));
        let nearer = match (op, self.number(right)) {
            (BinaryOperator::Add, Some(1)) => bound == Bound::Below,
            (BinaryOperator::Subtract, Some(1)) => bound != Bound::Below,
            (BinaryOperator::Divide, Some(2..)) | (BinaryOperator::ShiftRight, Some(1..=31)) => {
                bound == Bound::AboveZero
            }
            _ => false,
        };
        nearer && is_now && self.loaded(left) == Some(variable)
    }

    fn loaded(&self, expression: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        let Expression::Load { pointer } = self.function.expressions[expression] else { return None };
        if let Expression::LocalVariable(variable) = self.function.expressions[pointer] { Some(variable) } else { None }
    }

    fn number(&self, expression: Handle<Expression>) -> Option<i64> {
        match self.function.expressions[expression] {
            Expression::Literal(Literal::U32(value)) => Some(value.into()),
            Expression::Literal(Literal::I32(value)) => Some(value.into()),
            _ => None,
        }
    }

    /// How many statements may write the variable.
    fn n_writes(&self, block: &Block, variable: Handle<LocalVariable>) -> usize {
        let points_there = |mut at: Handle<Expression>| loop {
            match self.function.expressions[at] {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => at = base,
                ref root => return *root == Expression::LocalVariable(variable),
            }
        };
        let n = |inner: &Block| self.n_writes(inner, variable);
        let writes = |statement: &Statement| match statement {
            Statement::Block(inner) => n(inner),
            Statement::If { accept, reject, .. } => n(accept) + n(reject),
            Statement::Switch { cases, .. } => cases.iter().map(|case| n(&case.body)).sum(),
            Statement::Loop { body, continuing, .. } => n(body) + n(continuing),
            Statement::Store { pointer, .. } | Statement::Atomic { pointer, .. } => points_there(*pointer).into(),
            Statement::Call { arguments, .. } => arguments.iter().filter(|&&argument| points_there(argument)).count(),
            Statement::CooperativeStore { data, .. } => points_there(data.pointer).into(),
            _ => 0,
        };
        block.iter().map(writes).sum()
    }
}

/// Whether the statements evaluate an expression.
fn is_emitted(statements: &[Statement], wanted: Handle<Expression>) -> bool {
    let is_in = |statement: &Statement| match statement {
        Statement::Emit(range) => range.clone().any(|found| found == wanted),
        _ => false,
    };
    statements.iter().any(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a loop of WGSL gets a counter.
    fn is_counted(text: &str) -> bool {
        let wgsl = format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            fn f(p: ptr<function, u32>) {{ *p = 0u; }}
            @compute @workgroup_size(1) fn k(@builtin(global_invocation_id) id: vec3<u32>) {{ let n = id.x; {text} }}"
        );
        let module =
            naga::front::wgsl::parse_str(&wgsl).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&wgsl)));
        counted(&module).is_some()
    }

    #[test]
    fn a_loop_that_may_not_end_is_counted() {
        let cases = [
            ("for (var i = 0u; i < n; i++) { x[i] = i; }", false),
            ("for (var i = 0; i < i32(n); i += 1) { if i == 3 { continue; } }", false),
            ("for (var i = n; i > 7u; i--) { x[i] = i; }", false),
            ("for (var i = 64u; i > 0u; i /= 2u) { x[i] = i; }", false),
            ("for (var i = 64u; i > 0u; i >>= 1u) { x[i] = i; }", false),
            ("for (var i = 0u; i < x[i]; i++) { x[i + 1u] += 1u; }", false), // Whatever it is compared with.
            ("for (var i = 0u; i < n; i++) { for (var j = i; j < n; j++) { x[j] = i; } }", false),
            ("for (var i = 0u; i < n; i++) { if x[i] == 3u { break; } }", false),
            ("x[0] = n;", false),
            ("for (var i = 0u; i <= n; i++) {}", true), // For ever, if n is the largest number.
            ("for (var i = 0u; i != n; i++) {}", true),
            ("for (var i = 0u; i < n; i += 2u) {}", true), // May jump over the bound and wrap.
            ("for (var i = 0u; i < n; i--) {}", true),
            ("for (var i = n; i > 1u; i /= 1u) {}", true),
            ("for (var i = n; i > 0u; i /= 1u) {}", true),
            ("for (var i = n; i > 0u; i >>= 32u - n) {}", true),
            ("for (var i = 0u; i < n; i++) { i -= 1u; }", true),
            ("for (var i = 0u; i < n; i++) { if n == 3u { i = 0u; } }", true),
            ("for (var i = 0u; i < n; i++) { f(&i); }", true),
            ("for (var i = 0u; i < n; i++) { let p = &i; *p = 0u; }", true),
            ("for (var i = 0.0; i < 1e9; i += 1.0) {}", true),
            ("var i = 0u; let j = i; for (; j < n; i++) {}", true), // Compared before the loop.
            ("var j = 0u; for (var i = 0u; i < n; j++) {}", true),
            ("while n > 3u { x[0] = 1u; }", true),
            ("loop { if n == x[0] { break; } }", true),
            ("for (var i = 0u; i < n; i++) { while x[i] == 0u {} }", true),
        ];
        for (text, expected) in cases {
            assert_eq!(is_counted(text), expected, "{text}");
        }
    }
}
