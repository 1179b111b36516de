//! [`Node`]: one value of an expression, with its type and shape.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element};

use super::function::Function;
use super::op::Op;
use super::problem::{ExprError, OperandShape};
use crate::array::DeviceNDArray;
use crate::context::{BlockElements, Context};
use crate::error::Result;
use crate::layout::{Layout, Order, broadcast_shapes};

/// One value of an expression: an array, a number, or an operation on other nodes.
pub struct Node {
    kind: NodeKind,
    dtype: DType,
    shape: SmallVec<[usize; 4]>,
    /// Operations inside each other, down to the arrays.
    depth: u32,
}

/// The most operations inside each other. A graph is walked and dropped by recursion.
const MAX_DEPTH: u32 = 500;

/// What a [`Node`] is.
#[derive(Debug)]
#[non_exhaustive]
pub enum NodeKind {
    /// An array.
    Array(ArrayLeaf),
    /// A number.
    Scalar(Scalar),
    /// An operation on other nodes.
    Apply {
        /// The operation.
        op: Op,
        /// Its operands, in order.
        args: SmallVec<[Arc<Node>; 3]>,
    },
    /// A result of statements in WGSL.
    Call {
        /// The statements.
        function: Arc<Function>,
        /// Which of their results.
        output: usize,
        /// The values of their arguments, in order.
        args: SmallVec<[Arc<Node>; 3]>,
    },
    /// Operands that do not fit each other. The expression is refused when it is evaluated.
    Refused(Arc<ExprError>),
}

/// An array as an expression reads it. Keeps the memory alive.
pub struct ArrayLeaf {
    context: Context,
    block: Arc<Block>,
    layout: Layout,
    label: Option<Arc<str>>,
}

/// The bytes of a number of any element type, in words; those after it are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scalar(pub [u32; 4]);

impl ArrayLeaf {
    /// The context in which the array was created.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The memory.
    #[must_use]
    pub fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// Which elements of the memory.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Its label, its shape and this element type, for messages.
    #[must_use]
    pub fn description(&self, dtype: DType) -> OperandShape {
        let label = self.label.as_deref().map(str::to_owned);
        OperandShape { label, dtype, shape: self.layout.shape().to_vec() }
    }

    /// A contiguous copy of elements of this type, repeated to `shape`, on a stream. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the array does not broadcast to the shape; those of
    /// [`DeviceNDArray::to_contiguous`].
    pub fn repeated(&self, shape: &[usize], dtype: DType, stream: &Stream) -> Result<Self> {
        let (source, itemsize) = (self.layout.broadcast_to(shape)?, dtype.itemsize() as usize);
        let layout = Layout::contiguous(shape, Order::C)?;
        let block = self.context.allocator().allocate(layout.nbytes(itemsize)?, MemoryKind::Device)?;
        let elements = |block, layout| BlockElements { block, layout };
        self.context.copy_elements(stream, elements(&self.block, &source), elements(&block, &layout), itemsize)?;
        Ok(Self { context: self.context.for_array(), block, layout, label: None })
    }
}

impl<T: Element> From<&DeviceNDArray<T>> for ArrayLeaf {
    fn from(array: &DeviceNDArray<T>) -> Self {
        Self {
            context: array.context().for_array(),
            block: Arc::clone(array.block()),
            layout: array.layout().clone(),
            label: array.label().map(Arc::from),
        }
    }
}

impl fmt::Debug for ArrayLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrayLeaf").field("layout", &self.layout).field("label", &self.label).finish_non_exhaustive()
    }
}

impl Node {
    pub(super) fn array<T: Element>(array: &DeviceNDArray<T>) -> Self {
        Self {
            kind: NodeKind::Array(array.into()),
            dtype: DType::of::<T>(),
            shape: SmallVec::from_slice(array.shape()),
            depth: 0,
        }
    }

    pub(super) fn scalar<T: Element>(value: &T) -> Self {
        let mut words = [0; 4];
        let bytes: &mut [u8] = bytemuck::bytes_of_mut(&mut words);
        let given = bytemuck::bytes_of(value);
        let n_bytes = given.len().min(bytes.len()); // A record is longer; no operation takes one.
        bytes[..n_bytes].copy_from_slice(&given[..n_bytes]);
        Self { kind: NodeKind::Scalar(Scalar(words)), dtype: DType::of::<T>(), shape: SmallVec::new(), depth: 0 }
    }

    /// An operation, with the common shape of its operands. Without one the node is [`NodeKind::Refused`].
    pub(super) fn apply(op: Op, dtype: DType, args: &[&Arc<Self>]) -> Self {
        Self::of_args(op.name(), dtype, args, |args| NodeKind::Apply { op, args })
    }

    /// A result of statements, whose arguments are broadcast to one shape.
    pub(super) fn call(function: &Arc<Function>, output: usize, args: &[&Arc<Self>]) -> Self {
        let kind = |args| NodeKind::Call { function: Arc::clone(function), output, args };
        Self::of_args("an elementwise kernel", function.types[output], args, kind)
    }

    fn of_args(
        operation: &'static str,
        dtype: DType,
        args: &[&Arc<Self>],
        kind: impl FnOnce(SmallVec<[Arc<Self>; 3]>) -> NodeKind,
    ) -> Self {
        let refused = |error: &Arc<ExprError>| Self {
            kind: NodeKind::Refused(Arc::clone(error)),
            dtype,
            shape: args.first().map(|arg| arg.shape.clone()).unwrap_or_default(),
            depth: 0,
        };
        let broken = args.iter().find_map(|arg| match &arg.kind {
            NodeKind::Refused(error) => Some(error),
            _ => None,
        });
        if let Some(error) = broken {
            return refused(error);
        }
        let depth = 1 + args.iter().map(|arg| arg.depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return refused(&Arc::new(ExprError::TooDeep { limit: MAX_DEPTH }));
        }
        let shapes: SmallVec<[&[usize]; 3]> =
            args.iter().map(|arg| arg.shape()).filter(|shape| !shape.is_empty()).collect();
        // Operands of one shape, and numbers, are what most operations have.
        let shape = match shapes.split_first() {
            None => SmallVec::new(),
            Some((first, rest)) if rest.iter().all(|shape| shape == first) => SmallVec::from_slice(first),
            Some(_) => match broadcast_shapes(&shapes) {
                Ok(shape) => SmallVec::from_vec(shape),
                Err(_) => {
                    let operands = args.iter().map(|arg| arg.description()).collect();
                    return refused(&Arc::new(ExprError::NoCommonShape { operation, operands }));
                }
            },
        };
        let args = args.iter().map(|&arg| Arc::clone(arg)).collect();
        Self { kind: kind(args), dtype, shape, depth }
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> &NodeKind {
        &self.kind
    }

    /// The type of its elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its name, where it is a labelled array, and its shape, for messages.
    #[must_use]
    pub fn description(&self) -> OperandShape {
        match &self.kind {
            NodeKind::Array(leaf) => leaf.description(self.dtype),
            _ => OperandShape { label: None, dtype: self.dtype, shape: self.shape.to_vec() },
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("kind", &self.kind)
            .field("dtype", &self.dtype)
            .field("shape", &self.shape)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(shape: &[usize]) -> Arc<Node> {
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
            let node = Node::apply(Op::Add, DType::F32, &[&leaf(left), &leaf(right)]);
            assert_eq!(matches!(node.kind, NodeKind::Apply { .. }), expected.is_some(), "{left:?} {right:?}");
            assert_eq!(node.shape(), expected.unwrap_or(left));
        }
    }

    #[test]
    fn a_refused_operand_keeps_its_message_through_further_operations() {
        let refused = Arc::new(Node::apply(Op::Multiply, DType::F32, &[&leaf(&[2]), &leaf(&[3])]));
        let outer = Node::apply(Op::Sin, DType::F32, &[&refused]);
        let NodeKind::Refused(error) = outer.kind() else { panic!("{outer:?}") };
        assert_eq!(error.to_string(), "multiply has operands without a common shape: f32 (2,) and f32 (3,)");
    }
}
