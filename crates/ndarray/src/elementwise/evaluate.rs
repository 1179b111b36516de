//! [`Evaluate`]: the methods that compute an expression, and [`assign_all`] for several at once.

use std::fmt;
use std::sync::Arc;

use vkarray_driver::Stream;
use vkarray_generate::Leaf;
use vkarray_kernel::{DType, Element, tuple_text};
use vkarray_layout::Order;

use super::launch::{is_in_place, owns_words, run};
use crate::array::{ArrayLeaf, DeviceNDArray};
use crate::copy::ranges_overlap;
use crate::error::{ExprError, Result};
use crate::expr::{Expr, IntoExpr, Node, NodeKind, Operand};
use crate::generate::Program;

/// Computes expressions, each by one kernel, on the stream of [`Expr::on`] or the default stream. Returns at once.
///
/// The first use of an expression builds its kernel. Kernels depend on the operations, the element types and on which
/// operands are contiguous, repeated or strided; not on sizes, strides or numbers, and they are kept on disk.
pub trait Evaluate: Operand {
    /// The result in a new array. It is in F order if all arrays of the expression's shape are, otherwise in C order.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (a, b) = (ctx.arange(0.0_f32, 4.0, 1.0)?, ctx.ones::<f32>(4)?);
    /// let y = (&a * 2.0 + &b).eval()?;
    /// assert_eq!(y.to_vec()?, [1.0, 3.0, 5.0, 7.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression): operands without a common shape, an operation that their
    /// type does not have, too many arrays, or no array at all. [`Error::Kernel`](crate::Error::Kernel) for a type
    /// that the device cannot compute, and an array or a stream of another device;
    /// [`Error::Memory`](crate::Error::Memory) if there is no memory for the result.
    fn eval(&self) -> Result<DeviceNDArray<Self::Item>> {
        let expr = self.expr();
        let mut program = Program::default();
        program.add_results(&[expr.node()])?;
        let Some(&(first, _)) = program.leaves.first() else { return Err(ExprError::NoArray.into()) };
        let mut alike = program.leaves.iter().filter(|(leaf, _)| leaf.layout().shape() == expr.shape()).peekable();
        let is_f = alike.peek().is_some()
            && alike.all(|(leaf, _)| leaf.layout().is_f_contiguous() && !leaf.layout().is_c_contiguous());
        let order = if is_f { Order::F } else { Order::C };
        let result = first.context.device_array_with_order::<Self::Item>(expr.shape(), order)?;
        run(&program, &[(result.leaf(), expr.dtype())], stream_of(&expr, first))?;
        Ok(result)
    }

    /// Writes the result to an array or a view, to whose shape it broadcasts.
    ///
    /// The target may be an array of the expression: each element is read before it is written. Where the target overlaps
    /// one in another way, or lies beside or between its elements, the result goes through a temporary array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([2, 3])?;
    /// let first = x.slice(s![.., 0])?;
    /// (&first * 10.0 + 1.0).assign_to(&first)?;
    /// assert_eq!(x.to_vec()?, [1.0, 1.0, 2.0, 31.0, 4.0, 5.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression) for a target of another shape, or an expression that
    /// cannot be evaluated; [`Error::ReadOnly`](crate::Error::ReadOnly) and
    /// [`Error::SharedElements`](crate::Error::SharedElements) for a target that cannot be written; and the
    /// errors of [`Evaluate::eval`].
    fn assign_to(&self, target: &DeviceNDArray<Self::Item>) -> Result<()> {
        target.check_writable()?;
        let expr = self.expr();
        let leaf = (target.leaf(), expr.dtype());
        check_shape(expr.node(), leaf)?;
        let mut program = Program::default();
        program.add_results(&[expr.node()])?;
        run(&program, &[leaf], stream_of(&expr, leaf.0))
    }

    /// Computes the expression and copies the elements to the host, in C order. Blocks until the copy is complete.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 3, 1)?;
    /// assert_eq!((&x * 2).to_vec()?, [0, 2, 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression) for an expression that cannot be evaluated;
    /// [`Error::Memory`](crate::Error::Memory) for a copy that fails; and the errors of [`Evaluate::eval`].
    fn to_vec(&self) -> Result<Vec<Self::Item>> {
        self.eval()?.to_vec()
    }

    /// Computes the expression and copies the result to the host, as [`DeviceNDArray::copy_to_host`] does. Blocks until
    /// the copy is complete.
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression) for an expression that cannot be evaluated;
    /// [`Error::HostMemory`](crate::Error::HostMemory) if the host has no memory for the result; and the
    /// errors of [`Evaluate::eval`].
    fn copy_to_host(&self) -> Result<ndarray::ArrayD<Self::Item>> {
        self.eval()?.copy_to_host()
    }

    /// Computes an expression of one element and copies it to the host, as [`DeviceNDArray::item`] does. Blocks until
    /// the copy is complete.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 4.0, 1.0)?;
    /// assert_eq!(x.mean(..)?.sqrt().item()?, 1.5_f32.sqrt());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression) for an expression that cannot be evaluated;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless it has one element; and the errors of
    /// [`Evaluate::eval`].
    fn item(&self) -> Result<Self::Item> {
        self.eval()?.item()
    }

    /// Computes the expression and views the result with its axes reversed, as [`DeviceNDArray::t`] views an array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    /// assert_eq!((&x + 1).t()?.to_vec()?, [1, 4, 2, 5, 3, 6]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression) for an expression that cannot be evaluated; and the
    /// errors of [`Evaluate::eval`].
    fn t(&self) -> Result<DeviceNDArray<Self::Item>> {
        Ok(self.eval()?.t())
    }
}

impl<O: Operand + ?Sized> Evaluate for O {}

/// Computes the expression and prints the result as [`DeviceNDArray`] is printed. Blocks until the elements are on the
/// host. An expression that cannot be computed is printed as its element type, its shape and the error.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.arange(0.0_f32, 3.0, 1.0)?;
/// assert_eq!((&x * 2.0 + 1.0).to_string(), "[1. 3. 5.]");
/// # anyhow::Ok(())
/// ```
impl<T: Element> fmt::Display for Expr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.eval() {
            Ok(result) => result.fmt(f),
            Err(error) => write!(f, "<{} of shape {}: {error}>", self.dtype(), tuple_text(self.shape())),
        }
    }
}

/// The stream of an expression, or the default stream of an array's context.
pub(crate) fn stream_of<'a, T: Element>(expr: &'a Expr<T>, leaf: &'a ArrayLeaf) -> &'a Stream {
    expr.stream().unwrap_or_else(|| leaf.context.default_stream())
}

fn check_shape(node: &Node, (target, dtype): (&ArrayLeaf, DType)) -> Result<()> {
    let (own, wanted) = (node.shape(), target.layout().shape());
    let missing = wanted.len().checked_sub(own.len());
    let fits =
        missing.is_some_and(|missing| own.iter().zip(&wanted[missing..]).all(|(own, len)| *own == 1 || own == len));
    if fits || matches!(node.kind(), NodeKind::Refused(_)) {
        return Ok(());
    }
    Err(ExprError::TargetShape { shape: own.to_vec(), target: target.description(dtype) }.into())
}

/// Whether two arrays may have bytes in common.
fn shares_memory(a: (&ArrayLeaf, DType), b: (&ArrayLeaf, DType)) -> bool {
    if !a.0.shares_block(b.0) {
        return false;
    }
    if a.1.itemsize() == b.1.itemsize() {
        return a.0.layout().overlaps(b.0.layout());
    }
    let bytes = |(leaf, dtype): (&ArrayLeaf, DType)| leaf.layout().byte_extent(dtype.itemsize() as usize);
    ranges_overlap(&bytes(a), &bytes(b))
}

/// An expression and the array that it is written to, for [`assign_all`].
#[derive(Debug)]
pub struct Assignment {
    node: Arc<Node>,
    target: (ArrayLeaf, DType),
    stream: Option<Stream>,
}

impl Assignment {
    /// Writes `value` to `target`. Both have the same shape.
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression) for a target of another shape;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) and
    /// [`Error::SharedElements`](crate::Error::SharedElements) for a target that cannot be written.
    pub fn new<T: Element>(target: &DeviceNDArray<T>, value: impl IntoExpr<T>) -> Result<Self> {
        target.check_writable()?;
        let value = value.into_expr();
        check_shape(value.node(), (target.leaf(), target.dtype()))?;
        let (node, stream) = (Arc::clone(value.node()), value.stream().cloned());
        Ok(Self { node, target: (target.leaf().clone(), target.dtype()), stream })
    }
}

/// Computes several expressions in one pass that reads each array once. Returns at once.
///
/// All targets have the same shape. Each element is read before any target is written, so a target may be an array of
/// any of the expressions. The stream is that of the first expression that has one.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::{Assignment, assign_all};
///
/// let ctx = Context::open_default()?;
/// let (x, y) = (ctx.slice_to_device(&[3.0_f32, 1.0])?, ctx.slice_to_device(&[2.0_f32, 5.0])?);
/// assign_all(&[Assignment::new(&x, &x + &y)?, Assignment::new(&y, &x - &y)?])?;
/// assert_eq!((x.to_vec()?, y.to_vec()?), (vec![5.0, 6.0], vec![1.0, -4.0]));
/// # anyhow::Ok(())
/// ```
///
/// # Errors
///
/// [`Error::Expression`](crate::Error::Expression) for targets of different shapes, for a target that shares
/// memory with another target or with an array other than itself, and for a target with elements of less than 4 bytes
/// that is not contiguous or shares a word with its neighbours; and the errors of [`Evaluate::eval`].
pub fn assign_all(assignments: &[Assignment]) -> Result<()> {
    if assignments.is_empty() {
        return Ok(());
    }
    let nodes: Vec<_> = assignments.iter().map(|assignment| &assignment.node).collect();
    let mut program = Program::default();
    program.add_results(&nodes)?;
    let targets: Vec<_> = assignments.iter().map(|Assignment { target: (leaf, dtype), .. }| (leaf, *dtype)).collect();
    let shape = targets[0].0.layout().shape();
    for (i, &target) in targets.iter().enumerate() {
        let described = || target.0.description(target.1);
        if target.0.layout().shape() != shape {
            return Err(ExprError::TargetShape { shape: shape.to_vec(), target: described() }.into());
        }
        let others = targets[..i]
            .iter()
            .copied()
            .chain(program.leaves.iter().copied().filter(|&leaf| !is_in_place(leaf, target)));
        let shared =
            others.filter(|&other| shares_memory(target, other)).map(|(leaf, dtype)| leaf.description(dtype)).next();
        let split = (!owns_words(target)).then(described);
        if let Some(other) = shared.or(split) {
            return Err(ExprError::SharedMemory { target: described(), other }.into());
        }
    }
    let stream = assignments.iter().find_map(|assignment| assignment.stream.as_ref());
    run(&program, &targets, stream.unwrap_or_else(|| targets[0].0.context.default_stream()))
}
