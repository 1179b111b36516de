//! [`Program`]: an expression as a list of steps, each of which uses the results of steps before it.
//!
//! A node that occurs several times in the graph is one step, and an array that occurs several times is one leaf.

use std::fmt::Write as _;
use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_shader::DType;

use super::class::value_type;
use super::function::{self, Combine};
use super::ops::{self, dtype_code};
use crate::error::{ExprError, TextFault};
use crate::expr::{Function, Leaf, Node, NodeKind, Op, Scalar};

type Result<T> = std::result::Result<T, ExprError>;

/// Expressions as steps. The arrays and numbers that the expressions use are listed beside the steps, in the order of
/// their first use.
///
/// It is large, so it is filled in place.
#[derive(Debug)]
pub struct Program<'a, L> {
    pub(crate) steps: SmallVec<[Step; 16]>,
    /// The arrays, each with the type of its elements.
    pub leaves: SmallVec<[(&'a L, DType); 8]>,
    /// The numbers, each with its type.
    pub scalars: SmallVec<[(Scalar, DType); 8]>,
    /// The steps whose results are the results of the expressions.
    pub outs: SmallVec<[u16; 2]>,
    /// Calls of functions that the program wrote.
    calls: SmallVec<[FunctionCall<'a>; 0]>,
    /// The functions that combine values, in a reduction that the program wrote.
    pub combine: Option<&'a Combine>,
    /// The steps of nodes that may occur again in the expressions.
    seen: SmallVec<[(*const Node<L>, u16); 16]>,
}

/// A function, and the steps that are its arguments.
type FunctionCall<'a> = (&'a Function, SmallVec<[u16; 8]>);

/// The most steps of a program. Drivers take seconds to compile the text of a longer one.
const MAX_STEPS: usize = 2048;

/// One computed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    pub(crate) dtype: DType,
}

/// What a step computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    Leaf(u16),
    Scalar(u16),
    Apply(Op, [u16; 3]),
    /// A call, by its index among the calls, and the index of one of its results.
    Call(u16, u16),
}

impl<L> Default for Program<'_, L> {
    fn default() -> Self {
        Self {
            steps: SmallVec::new(),
            leaves: SmallVec::new(),
            scalars: SmallVec::new(),
            outs: SmallVec::new(),
            calls: SmallVec::new(),
            combine: None,
            seen: SmallVec::new(),
        }
    }
}

impl<'a, L: Leaf> Program<'a, L> {
    /// Adds expressions. Their results follow the results of expressions that were added before.
    ///
    /// # Errors
    ///
    /// Why an expression is refused, an operation that its type does not have, or more steps than a program has.
    pub fn add_results(&mut self, roots: &[&'a Arc<Node<L>>]) -> Result<()> {
        for root in roots {
            let out = self.add(root)?;
            self.outs.push(out);
        }
        Ok(())
    }

    fn add(&mut self, node: &'a Arc<Node<L>>) -> Result<u16> {
        if let Some(&(_, step)) = self.seen.iter().find(|(seen, _)| std::ptr::eq(*seen, Arc::as_ptr(node))) {
            return Ok(step);
        }
        if self.steps.len() >= MAX_STEPS {
            return Err(ExprError::TooLong { limit: MAX_STEPS });
        }
        let dtype = node.dtype();
        let kind = match node.kind() {
            NodeKind::Refused(error) => return Err(ExprError::clone(error)),
            NodeKind::Array(leaf) => return Ok(self.add_leaf(leaf, node)),
            NodeKind::Scalar(scalar) => {
                self.scalars.push((*scalar, dtype));
                StepKind::Scalar(position(self.scalars.len() - 1))
            }
            NodeKind::Apply { op, args } => {
                let mut steps = [0; 3];
                for (step, arg) in steps.iter_mut().zip(args) {
                    *step = self.add(arg)?;
                }
                let operand = args[0].dtype();
                if !ops::is_defined(*op, operand, dtype) {
                    return Err(ExprError::NotDefined { operation: op.name(), dtype: operand });
                }
                StepKind::Apply(*op, steps)
            }
            NodeKind::Call { function, output, args } => {
                let args = args.iter().map(|arg| self.add(arg)).collect::<Result<SmallVec<[u16; 8]>>>()?;
                let call = (&**function, args);
                let at = self.calls.iter().position(|other| *other == call).unwrap_or_else(|| {
                    self.calls.push(call);
                    self.calls.len() - 1
                });
                StepKind::Call(position(at), position(*output))
            }
        };
        Ok(self.push(Step { kind, dtype }, node))
    }

    fn add_leaf(&mut self, leaf: &'a L, node: &'a Arc<Node<L>>) -> u16 {
        let dtype = node.dtype();
        let same = |&(other, other_dtype): &(&L, DType)| {
            other_dtype == dtype && other.shares_block(leaf) && other.layout() == leaf.layout()
        };
        let kind = |at: usize| StepKind::Leaf(position(at));
        if let Some(at) = self.leaves.iter().position(same) {
            let step = self.steps.iter().position(|step| step.kind == kind(at)).map_or(0, position);
            return self.see(node, step);
        }
        self.leaves.push((leaf, dtype));
        self.push(Step { kind: kind(self.leaves.len() - 1), dtype }, node)
    }

    fn push(&mut self, step: Step, node: &'a Arc<Node<L>>) -> u16 {
        self.steps.push(step);
        self.see(node, position(self.steps.len() - 1))
    }

    /// Remembers the step of a node, and returns the step. A node with one reference is not remembered: it occurs again
    /// only where the node that holds it does, and that node is remembered.
    fn see(&mut self, node: &'a Arc<Node<L>>, step: u16) -> u16 {
        if Arc::strong_count(node) > 1 {
            self.seen.push((Arc::as_ptr(node), step));
        }
        step
    }
}

impl<L> Program<'_, L> {
    /// The element types of the arrays, in order.
    pub(crate) fn leaf_types(&self) -> impl Iterator<Item = DType> {
        self.steps.iter().filter(|step| matches!(step.kind, StepKind::Leaf(_))).map(|step| step.dtype)
    }

    /// The most rounds of loops for one element, without the loops in functions that the program wrote.
    pub fn rounds(&self) -> u64 {
        let rounds = |step: &Step| match step.kind {
            StepKind::Apply(op, [a, ..]) => ops::rounds(op, self.steps[usize::from(a)].dtype),
            _ => 0,
        };
        self.steps.iter().map(rounds).sum()
    }

    /// The words that the text depends on, for the key of a kernel.
    pub fn add_to_key(&self, key: &mut SmallVec<[u32; 64]>) {
        for step in &self.steps {
            let dtype = dtype_code(step.dtype);
            match step.kind {
                StepKind::Leaf(at) => key.push(dtype << 24 | u32::from(at)),
                StepKind::Scalar(at) => key.push(1 << 23 | dtype << 24 | u32::from(at)),
                StepKind::Apply(op, [a, b, c]) => {
                    key.push(1 << 22 | dtype << 24 | (op as u32));
                    key.push(u32::from(a) << 16 | u32::from(b));
                    key.push(u32::from(c));
                }
                StepKind::Call(call, out) => key.extend([3 << 22 | dtype << 24 | u32::from(call), out.into()]),
            }
        }
        for (function, args) in &self.calls {
            function::add_to_key(function, key);
            key.extend(args.iter().map(|&arg| u32::from(arg)));
        }
        self.outs.iter().for_each(|&out| key.push(1 << 31 | u32::from(out)));
    }

    /// The function `compute` of the elements of the leaves, `x0` and so on, which returns a `Result` with members `r0` and
    /// so on. Numbers are read from `p.c0` and so on.
    pub(crate) fn compute(&self) -> String {
        let mut text = self.functions();
        text += "struct Result {\n";
        let out_type = |out: u16| value_type(self.steps[usize::from(out)].dtype);
        for (i, &out) in self.outs.iter().enumerate() {
            let _ = writeln!(text, "    r{i}: {},", out_type(out));
        }
        let leaves = self.leaf_types().enumerate();
        let params: Vec<_> = leaves.map(|(at, dtype)| format!("x{at}: {}", value_type(dtype))).collect();
        let _ = writeln!(text, "}}\nfn compute({}) -> Result {{", params.join(", "));
        let mut n_calls = 0;
        for (i, step) in self.steps.iter().enumerate() {
            if let StepKind::Call(call, _) = step.kind
                && call == n_calls
            {
                n_calls += 1;
                let args: Vec<_> = self.calls[usize::from(call)].1.iter().map(|arg| format!("v{arg}")).collect();
                let _ = writeln!(text, "    let k{call} = function{call}({});", args.join(", "));
            }
            let value = match step.kind {
                StepKind::Leaf(at) => format!("x{at}"),
                StepKind::Scalar(at) => super::buffer::decode_scalar(step.dtype, &format!("p.c{at}")),
                StepKind::Apply(op, args) => {
                    let operand = self.steps[usize::from(args[0])].dtype;
                    let args = args.map(|arg| format!("v{arg}"));
                    ops::text(op, operand, step.dtype, &args).unwrap_or_default()
                }
                StepKind::Call(call, out) => ops::cut(step.dtype, &format!("k{call}.r{out}")),
            };
            let _ = writeln!(text, "    let v{i} = {value};");
        }
        let results: Vec<_> = self.outs.iter().map(|out| format!("v{out}")).collect();
        let _ = writeln!(text, "    return Result({});\n}}", results.join(", "));
        text
    }
}

/// Functions that the program wrote.
impl<L> Program<'_, L> {
    /// The functions, each with the types of its arguments.
    fn calls(&self) -> impl Iterator<Item = (&Function, Vec<DType>)> {
        let types = |args: &[u16]| args.iter().map(|&arg| self.steps[usize::from(arg)].dtype).collect();
        self.calls.iter().map(move |(function, args)| (*function, types(args)))
    }

    /// The text of the functions, which are named `function0` and so on.
    fn functions(&self) -> String {
        let mut text = function::elementary(self.calls.iter().map(|(function, _)| &*function.text));
        for (i, (own, types)) in self.calls().enumerate() {
            text += &function::declaration(own, i, &types).concat();
        }
        text
    }

    /// The fault in a text of the program, if there is one.
    pub fn fault(&self) -> Option<TextFault> {
        let of_calls = self.calls().find_map(|(own, types)| function::fault(own, &types));
        of_calls.or_else(|| self.combine?.fault())
    }
}

/// A small number, such as an index of an array or a number of axes, as a part of a key.
pub fn key_part(number: usize) -> u32 {
    u32::try_from(number).expect("a kernel has few arrays, and arrays have few axes")
}

/// A position in one of the lists of a program. No list is longer than [`MAX_STEPS`].
pub(crate) fn position(at: usize) -> u16 {
    u16::try_from(at).expect("a program has at most MAX_STEPS steps")
}

#[cfg(test)]
impl Program<'static, vkarray_layout::Layout> {
    /// A program of steps that need no arrays, for tests of the text.
    pub(crate) fn of_steps(steps: &[Step], outs: &[u16]) -> Self {
        Self { steps: SmallVec::from_slice(steps), outs: SmallVec::from_slice(outs), ..Self::default() }
    }
}
