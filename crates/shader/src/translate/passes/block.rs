//! Writes statements and expressions of naga's form of a shader: [`BlockBuilder`]. Used by the passes that add code.

use naga::{
    BinaryOperator, Binding, Block, BuiltIn, Expression, Function, FunctionArgument, Handle, Literal, Module, Range,
    Span, Statement, Type, TypeInner, UniqueArena,
};

/// A block of statements for a function, and the function that its expressions are added to.
pub(super) struct BlockBuilder<'a> {
    pub(super) function: &'a mut Function,
    block: Block,
}

impl<'a> BlockBuilder<'a> {
    pub(super) fn new(function: &'a mut Function) -> Self {
        Self { function, block: Block::new() }
    }

    /// Adds an expression, which is evaluated here.
    pub(super) fn append(&mut self, expression: Expression) -> Handle<Expression> {
        let is_evaluated_at_start = expression.needs_pre_emit();
        let handle = self.function.expressions.append(expression, Span::UNDEFINED);
        if !is_evaluated_at_start {
            self.push(Statement::Emit(Range::new_from_bounds(handle, handle)));
        }
        handle
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Handle<Expression> {
        self.append(Expression::Binary { op, left, right })
    }

    pub(super) fn literal(&mut self, value: u32) -> Handle<Expression> {
        self.append(Expression::Literal(Literal::U32(value)))
    }

    /// The built-in value of an entry point. Adds an argument of type `ty` for it where the entry point has none: naga
    /// refuses two arguments for one built-in.
    pub(super) fn built_in(
        &mut self,
        types: &UniqueArena<Type>,
        wanted: BuiltIn,
        ty: Handle<Type>,
    ) -> Handle<Expression> {
        let is_wanted = |binding: &Option<Binding>| *binding == Some(Binding::BuiltIn(wanted));
        for i in 0..self.function.arguments.len() {
            let argument = &self.function.arguments[i];
            if is_wanted(&argument.binding) {
                return self.append(Expression::FunctionArgument(number(i)));
            }
            let TypeInner::Struct { members, .. } = &types[argument.ty].inner else { continue };
            if let Some(member) = members.iter().position(|member| is_wanted(&member.binding)) {
                let base = self.append(Expression::FunctionArgument(number(i)));
                return self.append(Expression::AccessIndex { base, index: number(member) });
            }
        }
        let binding = Some(Binding::BuiltIn(wanted));
        self.function.arguments.push(FunctionArgument { name: None, ty, binding });
        self.append(Expression::FunctionArgument(number(self.function.arguments.len() - 1)))
    }

    pub(super) fn push(&mut self, statement: Statement) {
        self.block.push(statement, Span::UNDEFINED);
    }

    /// A block inside the present one, for the caller to push as a part of a statement.
    pub(super) fn nested(&mut self, fill: impl FnOnce(&mut Self)) -> Block {
        let outer = std::mem::take(&mut self.block);
        fill(self);
        std::mem::replace(&mut self.block, outer)
    }

    pub(super) fn finish(self) -> Block {
        self.block
    }
}

/// The blocks that stand in a statement.
pub(super) fn inner_blocks(statement: &mut Statement) -> Vec<&mut Block> {
    match statement {
        Statement::Block(inner) => vec![inner],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Switch { cases, .. } => cases.iter_mut().map(|case| &mut case.body).collect(),
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        _ => Vec::new(),
    }
}

/// The type without a name, which is added unless it is there.
pub(super) fn type_of(module: &mut Module, inner: TypeInner) -> Handle<Type> {
    module.types.insert(Type { name: None, inner }, Span::UNDEFINED)
}

pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index).expect("arguments and members are counted in 32 bits")
}
