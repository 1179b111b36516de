//! Walks the functions of a module and puts a call before each thing that can go wrong: [`rewrite`].
//!
//! A function's expressions keep their places; new ones are appended. A run of expressions that is evaluated together is
//! cut before each one that is to be checked. What is called, and with what, is `checks.rs`'s; what an entry point does
//! first is `entry.rs`'s.

use naga::valid::FunctionInfo;
use naga::{Barrier, Block, Expression, Function, Handle, Module, Range, Span, Statement};

use super::InstrumentRequest;
use super::buffers::Buffers;
use super::graft::Calls;
use super::shared::SharedMemory;
use super::site::{Site, Subject};
use super::{checks, entry};

/// Puts the calls into every function, and returns the places they stand for.
pub(super) fn rewrite(
    module: &mut Module,
    request: &InstrumentRequest<'_>,
    memory: &Memory,
    calls: &Calls,
) -> Vec<Site> {
    let mut sites = Vec::new();
    let shader = Shader { original: request.module, text: request.text, memory, calls };
    let own: Vec<_> = request.module.functions.iter().map(|(handle, _)| handle).collect();
    let moved: Vec<_> =
        module.functions.iter().map(|(handle, _)| handle).skip(module.functions.len() - own.len()).collect();
    for (original, moved) in own.into_iter().zip(moved) {
        let function = std::mem::take(module.functions.get_mut(moved));
        let body = Body::new(&shader, &request.info[original], function, &mut sites);
        *module.functions.get_mut(moved) = body.finish(|_| {});
    }
    let point = &mut module.entry_points[request.index];
    let function = std::mem::take(&mut point.function);
    let info = request.info.get_entry_point(request.index);
    let body = Body::new(&shader, info, function, &mut sites);
    point.function = body.finish(|body| entry::begin(body, &request.module.types));
    sites
}

/// The memory whose uses are noted.
pub(super) struct Memory {
    pub(super) shared: SharedMemory,
    pub(super) buffers: Buffers,
}

/// What all functions share.
pub(super) struct Shader<'a> {
    /// The module before the rewrite. Its types and variables keep their places.
    pub(super) original: &'a Module,
    text: &'a str,
    pub(super) memory: &'a Memory,
    pub(super) calls: &'a Calls,
}

/// A function being rewritten.
pub(super) struct Body<'a> {
    pub(super) shader: &'a Shader<'a>,
    /// Of the function as it was: says nothing of new expressions.
    pub(super) info: &'a FunctionInfo,
    pub(super) function: Function,
    sites: &'a mut Vec<Site>,
    /// The block that is being written.
    out: Block,
}

impl<'a> Body<'a> {
    fn new(shader: &'a Shader<'a>, info: &'a FunctionInfo, function: Function, sites: &'a mut Vec<Site>) -> Self {
        Self { shader, info, function, sites, out: Block::new() }
    }

    /// Rewrites the body behind what `begin` puts first.
    fn finish(mut self, begin: impl FnOnce(&mut Self)) -> Function {
        begin(&mut self);
        let body = std::mem::take(&mut self.function.body);
        for (statement, span) in body.span_into_iter() {
            self.statement(statement, span);
        }
        self.function.body = self.out;
        self.function
    }

    fn block(&mut self, block: Block) -> Block {
        let outer = std::mem::take(&mut self.out);
        for (statement, span) in block.span_into_iter() {
            self.statement(statement, span);
        }
        std::mem::replace(&mut self.out, outer)
    }

    fn statement(&mut self, statement: Statement, span: Span) {
        let rewritten = match statement {
            Statement::Emit(range) => return self.evaluate(&range, span),
            Statement::Block(block) => Statement::Block(self.block(block)),
            Statement::If { condition, accept, reject } => {
                Statement::If { condition, accept: self.block(accept), reject: self.block(reject) }
            }
            Statement::Switch { selector, mut cases } => {
                for case in &mut cases {
                    case.body = self.block(std::mem::take(&mut case.body));
                }
                Statement::Switch { selector, cases }
            }
            Statement::Loop { body, continuing, break_if } => {
                Statement::Loop { body: self.block(body), continuing: self.block(continuing), break_if }
            }
            Statement::Store { pointer, value } => {
                checks::store(self, pointer, span);
                Statement::Store { pointer, value }
            }
            Statement::Atomic { pointer, fun, value, result } => {
                checks::load(self, pointer, span);
                Statement::Atomic { pointer, fun, value, result }
            }
            Statement::ControlBarrier(barrier) => return self.barrier(barrier, span),
            Statement::WorkGroupUniformLoad { pointer, result } => {
                // A barrier before the read and one after it, as in the load itself.
                self.barrier(Barrier::WORK_GROUP, span);
                checks::load(self, pointer, span);
                self.out.push(Statement::WorkGroupUniformLoad { pointer, result }, span);
                return self.barrier(Barrier::WORK_GROUP, span);
            }
            other => other,
        };
        self.out.push(rewritten, span);
    }

    /// Evaluates expressions, with checks between them.
    fn evaluate(&mut self, range: &Range<Expression>, span: Span) {
        let indices = range.index_range();
        let mut start = indices.start;
        for (index, handle) in indices.clone().zip(range.clone()) {
            if checks::is_checked(self, handle) {
                self.evaluate_plain(start..index, span);
                start = index;
                checks::expression(self, handle);
            }
        }
        self.evaluate_plain(start..indices.end, span);
    }

    fn evaluate_plain(&mut self, indices: std::ops::Range<u32>, span: Span) {
        if !indices.is_empty() {
            let range = Range::from_index_range(indices, &self.function.expressions);
            self.out.push(Statement::Emit(range), span);
        }
    }

    /// A barrier at which arrivals are counted. Barriers of a subgroup stay as they are.
    fn barrier(&mut self, barrier: Barrier, span: Span) {
        if barrier == Barrier::SUB_GROUP {
            return self.out.push(Statement::ControlBarrier(barrier), span);
        }
        let site = self.site(span, Subject::Barrier);
        self.call("arrive", vec![site]);
        // The counters are in shared memory, so that has to be ordered even where the shader's own is not.
        self.out.push(Statement::ControlBarrier(barrier | Barrier::WORK_GROUP), span);
        let [shared, buffers] = [Barrier::WORK_GROUP, Barrier::STORAGE].map(|b| u32::from(barrier.contains(b)));
        let orders = self.number(shared | buffers << 1);
        self.call("passed", vec![site, orders]);
    }

    /// A barrier that is the checks' own, where all invocations are sure to come.
    pub(super) fn own_barrier(&mut self) {
        self.out.push(Statement::ControlBarrier(Barrier::WORK_GROUP), Span::UNDEFINED);
    }

    /// Notes a place of the text, and returns its number.
    pub(super) fn site(&mut self, span: Span, subject: Subject) -> Handle<Expression> {
        let at = span.location(self.shader.text);
        let site = Site { line: at.line_number, column: at.line_position, subject };
        let known = self.sites.iter().position(|known| *known == site);
        let index = known.unwrap_or_else(|| {
            self.sites.push(site);
            self.sites.len() - 1
        });
        self.number(
            u32::try_from(index).expect("a shader has fewer places than bytes, and those are counted in 32 bits"),
        )
    }

    pub(super) fn number(&mut self, value: u32) -> Handle<Expression> {
        self.constant(Expression::Literal(naga::Literal::U32(value)))
    }

    /// An expression that needs no evaluation.
    pub(super) fn constant(&mut self, expression: Expression) -> Handle<Expression> {
        self.function.expressions.append(expression, Span::UNDEFINED)
    }

    /// A new expression, evaluated here.
    pub(super) fn value(&mut self, expression: Expression) -> Handle<Expression> {
        let handle = self.function.expressions.append(expression, Span::UNDEFINED);
        self.out.push(Statement::Emit(Range::new_from_bounds(handle, handle)), Span::UNDEFINED);
        handle
    }

    /// Calls a function of the prelude.
    pub(super) fn call(&mut self, name: &str, arguments: Vec<Handle<Expression>>) {
        let function = self.shader.calls.function(name);
        self.out.push(Statement::Call { function, arguments, result: None }, Span::UNDEFINED);
    }
}
