//! [`Expr`]: a computation on arrays that has not run, as plain data.
//!
//! Operators and the methods of [`Operand`] build an expression; nothing is recorded. The graph of an expression is a
//! [`Node`] of `vkarray-generate`, which writes kernels for it; the folder `elementwise/` runs them.
//!
//! | file | what it has |
//! |---|---|
//! | `kinds.rs` | which element types an operation takes |
//! | `operators.rs` | `+`, `*`, `!` … |
//! | `functions.rs` | [`Operand`]: the elementwise functions of the array API standard |

mod functions;
mod kinds;
mod operators;

use std::marker::PhantomData;
use std::sync::Arc;

use smallvec::smallvec;
use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element};

use crate::array::{ArrayLeaf, DeviceNDArray};

pub use functions::Operand;
pub use kinds::{Bitwise, Complex, Floating, Integral, Numeric};
pub(crate) use vkarray_generate::{Function, NodeKind, Op};

/// One value of an expression.
pub type Node = vkarray_generate::Node<ArrayLeaf>;

/// A computation on arrays and numbers that has not run: `&x * 2.0 + &y`.
///
/// Building an expression records nothing and reads no element; the arrays' memory stays alive as long as the
/// expression. Shapes broadcast as NumPy's do. Operands without a common shape make an expression that is refused, with
/// the names and shapes of both, when it is evaluated. Element types never change by themselves: `x.cast::<f64>()`
/// changes them, and a Rust literal takes the type of the other operand.
///
/// A clone shares the graph. An expression that is used twice in another expression is computed once there.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let (a, b) = (ctx.arange(0.0_f32, 3.0, 1.0)?, ctx.full(3, 0.5_f32)?);
/// let twice = &a * 2.0 + &b;
/// assert_eq!(twice.shape(), [3]);
/// # anyhow::Ok(())
/// ```
#[derive(Clone)]
pub struct Expr<T: Element> {
    node: Arc<Node>,
    stream: Option<Stream>,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Expr<T> {
    /// The expression of a graph whose results are of type `T`.
    #[doc(hidden)]
    pub fn new(node: Node, stream: Option<Stream>) -> Self {
        Self { node: Arc::new(node), stream, element: PhantomData }
    }

    /// A number, which broadcasts to any shape.
    ///
    /// ```
    /// use vkarray::array::Expr;
    ///
    /// assert!(Expr::scalar(2.0_f32).shape().is_empty());
    /// ```
    #[must_use]
    pub fn scalar(value: T) -> Self {
        Self::new(Node::scalar(&value), None)
    }

    /// A result of statements in WGSL, by its position. `None` if there is no result of type `T` at that position, or
    /// if the statements have another number of arguments.
    #[must_use]
    pub(crate) fn call(
        function: &Arc<Function>,
        output: usize,
        args: &[&Arc<Node>],
        stream: Option<&Stream>,
    ) -> Option<Self> {
        let is_right = function.types.get(output) == Some(&DType::of::<T>()) && args.len() == function.inputs.len();
        is_right.then(|| {
            Self::new(Node::call(function, output, args.iter().map(|&arg| Arc::clone(arg)).collect()), stream.cloned())
        })
    }

    /// The graph.
    #[doc(hidden)]
    #[must_use]
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// The shape of the result. An expression that will be refused has the shape of its first operand.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (row, column) = (ctx.zeros::<f32>([1, 4])?, ctx.zeros::<f32>([3, 1])?);
    /// assert_eq!((&row + &column).shape(), [3, 4]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.node.shape()
    }

    /// The element type of the result.
    #[must_use]
    pub fn dtype(&self) -> DType {
        DType::of::<T>()
    }

    /// The expression with the stream on which it is evaluated, in place of the default stream of its arrays' context.
    /// An expression that is built from this one has its stream; if two operands have a stream, the left operand's
    /// stream is used.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, stream) = (ctx.ones::<f32>(3)?, ctx.stream()?);
    /// assert_eq!((&x + 1.0).on(&stream).eval()?.to_vec()?, [2.0; 3]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn on(mut self, stream: &Stream) -> Self {
        self.stream = Some(stream.clone());
        self
    }

    /// The stream that [`Expr::on`] set.
    #[must_use]
    pub fn stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// An operation on this expression alone, with results of type `U`.
    /// The expression on the stream of another expression, if that one has a stream.
    pub(crate) fn on_stream_of(self, like: &Expr<impl Element>) -> Self {
        match &like.stream {
            Some(stream) => self.on(stream),
            None => self,
        }
    }

    fn apply<U: Element>(self, op: Op) -> Expr<U> {
        Expr::new(Node::apply(op, DType::of::<U>(), smallvec![self.node]), self.stream)
    }

    /// An operation on two expressions, with results of type `U`.
    fn apply_with<U: Element, V: Element>(self, op: Op, other: Expr<V>) -> Expr<U> {
        Expr::new(Node::apply(op, DType::of::<U>(), smallvec![self.node, other.node]), self.stream.or(other.stream))
    }
}

vkarray_driver::debug_fields!([T: Element] Expr<T>, this => dtype: format_args!("{}", this.dtype()), shape: this.shape());

/// What can be an operand of an expression with elements of type `T`: arrays, expressions, and numbers of that type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand of an expression with elements of type `{T}`",
    label = "not an array, an expression or a number with elements of type `{T}`",
    note = "element types never change by themselves: cast an array or an expression with `.cast::<{T}>()`",
    note = "a number is written in the type of the elements: `2.0` beside floats, `n as {T}` for a variable"
)]
pub trait IntoExpr<T: Element> {
    /// The expression.
    fn into_expr(self) -> Expr<T>;
}

impl<T: Element> IntoExpr<T> for T {
    fn into_expr(self) -> Expr<T> {
        Expr::scalar(self)
    }
}

impl<T: Element> IntoExpr<T> for Expr<T> {
    fn into_expr(self) -> Expr<T> {
        self
    }
}

impl<T: Element> IntoExpr<T> for &Expr<T> {
    fn into_expr(self) -> Expr<T> {
        self.clone()
    }
}

impl<T: Element> IntoExpr<T> for &DeviceNDArray<T> {
    fn into_expr(self) -> Expr<T> {
        Expr::new(Node::array(self.leaf().clone(), DType::of::<T>()), self.own_stream().cloned())
    }
}

impl<T: Element> IntoExpr<T> for DeviceNDArray<T> {
    fn into_expr(self) -> Expr<T> {
        (&self).into_expr()
    }
}
