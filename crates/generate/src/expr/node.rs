//! [`Node`]: one value of an expression, with its type and shape; [`Leaf`]: what it knows of an array.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_layout::{Layout, broadcast_shapes};
use vkarray_shader::{DType, Element};

use super::function::Function;
use super::op::Op;
use crate::error::{ExprError, OperandShape};

/// An array without its element type, as an expression reads it.
pub trait Leaf: fmt::Debug {
    /// Which elements of its memory belong to the array.
    fn layout(&self) -> &Layout;

    /// The label that the program gave the array.
    fn label(&self) -> Option<&str>;

    /// Whether both arrays are in one block of memory.
    fn shares_block(&self, other: &Self) -> bool;

    /// The label and the shape of the array with this element type, for messages.
    fn description(&self, dtype: DType) -> OperandShape {
        let label = self.label().map(str::to_owned);
        OperandShape { label, dtype, shape: self.layout().shape().to_vec() }
    }
}

/// One value of an expression: an array, a number, or an operation on other nodes.
#[derive(Debug)]
pub struct Node<L> {
    kind: NodeKind<L>,
    dtype: DType,
    shape: SmallVec<[usize; 4]>,
    /// The depth of operations inside each other, down to the arrays.
    depth: u32,
}

/// The operands of an operation, in order.
type Args<L> = SmallVec<[Arc<Node<L>>; 3]>;

/// The most operations inside each other. The limit exists because a graph is walked and dropped by recursion.
const MAX_DEPTH: u32 = 500;

/// What a [`Node`] is.
#[derive(Debug)]
pub enum NodeKind<L> {
    /// An array.
    Array(L),
    /// A number.
    Scalar(Scalar),
    /// An operation on other nodes.
    Apply {
        /// The operation.
        op: Op,
        /// The operands of the operation, in order.
        args: Args<L>,
    },
    /// A result of statements in WGSL.
    Call {
        /// The statements.
        function: Arc<Function>,
        /// The position of the result among the statements' results.
        output: usize,
        /// The values of the statements' arguments, in order.
        args: Args<L>,
    },
    /// Operands that do not fit each other. The expression is refused when it is evaluated.
    Refused(Arc<ExprError>),
}

/// The bytes of a number of any element type, in words; words after the number's last byte are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scalar(pub(crate) [u32; 4]);

impl<L: Leaf> Node<L> {
    /// An array of elements of this type.
    pub fn array(leaf: L, dtype: DType) -> Self {
        let shape = SmallVec::from_slice(leaf.layout().shape());
        Self { kind: NodeKind::Array(leaf), dtype, shape, depth: 0 }
    }

    /// A number.
    pub fn scalar<T: Element>(value: &T) -> Self {
        let mut words = [0; 4];
        let bytes: &mut [u8] = bytemuck::bytes_of_mut(&mut words);
        let given = bytemuck::bytes_of(value);
        // A record may be longer than a `Scalar`; no operation takes records.
        let n_bytes = given.len().min(bytes.len());
        bytes[..n_bytes].copy_from_slice(&given[..n_bytes]);
        Self { kind: NodeKind::Scalar(Scalar(words)), dtype: DType::of::<T>(), shape: SmallVec::new(), depth: 0 }
    }

    /// An operation, with the common shape of its operands. Without a common shape the node is [`NodeKind::Refused`].
    pub fn apply(op: Op, dtype: DType, args: Args<L>) -> Self {
        Self::of_args(op.name(), dtype, args, |args| NodeKind::Apply { op, args })
    }

    /// A result of statements, whose arguments are broadcast to one shape.
    pub fn call(function: &Arc<Function>, output: usize, args: Args<L>) -> Self {
        let kind = |args| NodeKind::Call { function: Arc::clone(function), output, args };
        Self::of_args("an elementwise kernel", function.types[output], args, kind)
    }

    fn of_args(
        operation: &'static str,
        dtype: DType,
        args: Args<L>,
        kind: impl FnOnce(Args<L>) -> NodeKind<L>,
    ) -> Self {
        let (mut broken, mut depth) = (None, 1);
        for arg in args.iter().rev() {
            depth = depth.max(1 + arg.depth);
            if let NodeKind::Refused(error) = &arg.kind {
                broken = Some(Arc::clone(error));
            }
        }
        let shape = match broken {
            Some(error) => Err(error),
            None if depth > MAX_DEPTH => Err(Arc::new(ExprError::TooDeep { limit: MAX_DEPTH })),
            None => common_shape(&args).ok_or_else(|| {
                let operands = args.iter().map(|arg| arg.description()).collect();
                Arc::new(ExprError::NoCommonShape { operation, operands })
            }),
        };
        match shape {
            Ok(shape) => Self { kind: kind(args), dtype, shape, depth },
            Err(error) => {
                let shape = args.first().map(|arg| arg.shape.clone()).unwrap_or_default();
                Self { kind: NodeKind::Refused(error), dtype, shape, depth: 0 }
            }
        }
    }

    /// What the node is.
    pub fn kind(&self) -> &NodeKind<L> {
        &self.kind
    }

    /// The type of the node's elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The node's shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The node's shape, and its name where it is a labelled array, for messages.
    pub fn description(&self) -> OperandShape {
        match &self.kind {
            NodeKind::Array(leaf) => leaf.description(self.dtype),
            _ => OperandShape { label: None, dtype: self.dtype, shape: self.shape.to_vec() },
        }
    }
}

/// An array without memory, for tests.
#[cfg(test)]
impl Leaf for Layout {
    fn layout(&self) -> &Layout {
        self
    }

    fn label(&self) -> Option<&str> {
        None
    }

    fn shares_block(&self, _: &Self) -> bool {
        false
    }
}

/// The shape that all operands broadcast to, if there is one.
fn common_shape<L: Leaf>(args: &[Arc<Node<L>>]) -> Option<SmallVec<[usize; 4]>> {
    let mut shapes = args.iter().map(|arg| arg.shape()).filter(|shape| !shape.is_empty());
    // Most operations have operands of one shape, and numbers.
    let Some(first) = shapes.next() else { return Some(SmallVec::new()) };
    if shapes.all(|shape| shape == first) {
        return Some(SmallVec::from_slice(first));
    }
    let shapes: Vec<&[usize]> = args.iter().map(|arg| arg.shape()).collect();
    broadcast_shapes(&shapes).ok().map(SmallVec::from_vec)
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;

    fn leaf(shape: &[usize]) -> Arc<Node<Layout>> {
        let kind = NodeKind::Scalar(Scalar([0; 4]));
        Arc::new(Node { kind, dtype: DType::F32, shape: SmallVec::from_slice(shape), depth: 0 })
    }

    #[test]
    fn operands_broadcast_when_the_expression_is_built() {
        type Case<'a> = (&'a [usize], &'a [usize], Option<&'a [usize]>);
        const CASES: &[Case<'_>] = &[
            (&[2, 3], &[], Some(&[2, 3])),
            (&[2, 1], &[3], Some(&[2, 3])),
            (&[0], &[1], Some(&[0])),
            (&[2], &[3], None),
        ];
        for &(left, right, expected) in CASES {
            let node = Node::apply(Op::Add, DType::F32, smallvec![leaf(left), leaf(right)]);
            assert_eq!(matches!(node.kind, NodeKind::Apply { .. }), expected.is_some(), "{left:?} {right:?}");
            assert_eq!(node.shape(), expected.unwrap_or(left));
        }
    }

    #[test]
    fn a_refused_operand_keeps_its_message_through_further_operations() {
        let refused = Arc::new(Node::apply(Op::Multiply, DType::F32, smallvec![leaf(&[2]), leaf(&[3])]));
        let outer = Node::apply(Op::Sin, DType::F32, smallvec![refused]);
        let NodeKind::Refused(error) = outer.kind() else { panic!("{outer:?}") };
        assert_eq!(error.to_string(), "multiply has operands without a common shape: f32 (2,) and f32 (3,)");
    }
}
