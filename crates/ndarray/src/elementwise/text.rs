//! [`ElementwiseKernel`]: expressions whose computation is written as statements in WGSL.
//!
//! A call is an operation of an expression like any other. Broadcasting, strides, targets, reductions and kernels on
//! disk work for it as for every expression.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element};

use crate::context::Context;
use crate::error::{Error, Result, TextFault};
use crate::expr::{Expr, Function, IntoExpr, Node};
use crate::generate::{Names, check_names, fault};

/// The most combinations of types that [`Call::result_types`] tries.
const MAX_CHOICES: usize = 2048;

impl Context {
    /// A kernel that computes each element of its results by statements in WGSL: CuPy's `ElementwiseKernel`.
    ///
    /// A name with which a statement begins is a result; a text without `=` is an expression, with one result. Other
    /// names that the text does not declare are arguments: arrays, expressions and numbers of any type, which broadcast
    /// to one shape. Elements of `f16` and `bf16` are `f32` in the text, shorter integers `i32` or `u32`, complex
    /// numbers `vec2<f32>` or `vec2<f64>`. The text may call the functions of `f32` that
    /// [`Operand`](crate::Operand) has, under the same names; all other functions are WGSL's.
    ///
    /// The kernel is built at its first use with these types and is kept on disk.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let saxpy = ctx.elementwise("z = a * x + y");
    /// let (x, y) = (ctx.arange(0.0_f32, 4.0, 1.0)?, ctx.ones::<f32>([2, 1])?);
    /// let z = saxpy.arg("a", 2.0_f32).arg("x", &x).arg("y", &y).result::<f32>()?.eval()?;
    /// assert_eq!((z.shape(), z.to_vec()?), ([2, 4].as_slice(), [1.0, 3.0, 5.0, 7.0].repeat(2)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Faults of the text show when types are known: the evaluation returns [`Error::Text`], with the line and the column.
    #[must_use]
    pub fn elementwise(&self, text: &str) -> ElementwiseKernel {
        ElementwiseKernel::new(text)
    }
}

/// A kernel of [`Context::elementwise`], for arguments of any types. Kernels of one text are equal.
#[derive(Debug, Clone)]
pub struct ElementwiseKernel {
    text: Arc<str>,
    names: Names,
    /// The first answers of [`Call::result_types`], each for the types of arguments: finding one takes some hundred times as
    /// long as the call.
    answers: [OnceLock<Answer>; 4],
}

/// Types of arguments, and the types of the results for them.
type Answer = (Vec<DType>, Vec<DType>);

impl PartialEq for ElementwiseKernel {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ElementwiseKernel {}

impl ElementwiseKernel {
    /// The kernel of a text; [`Context::elementwise`] calls this function.
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), names: Names::of(text), answers: Default::default() }
    }

    /// The names of the arguments, in the order in which they are first used.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let kernel = Context::open_default()?.elementwise("let d = x - y; near = d * d; far = d > limit");
    /// assert_eq!((kernel.arguments(), kernel.results()), (&["x", "y", "limit"].map(String::from)[..], &["near", "far"].map(String::from)[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn arguments(&self) -> &[String] {
        &self.names.inputs
    }

    /// The names of the results, in the order of their first assignment.
    pub fn results(&self) -> &[String] {
        &self.names.outputs
    }

    /// A call that has no arguments yet.
    #[must_use]
    pub fn call(&self) -> Call<'_> {
        Call { kernel: self, args: Vec::new(), stream: None }
    }

    /// A call with a first argument; [`Call::arg`] adds the others.
    #[must_use]
    pub fn arg<T: Element>(&self, name: &str, value: impl IntoExpr<T>) -> Call<'_> {
        self.call().arg(name, value)
    }
}

/// An [`ElementwiseKernel`] with arguments. [`Call::result`] turns it into an expression.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    kernel: &'a ElementwiseKernel,
    args: Vec<(String, Arc<Node>)>,
    stream: Option<Stream>,
}

impl Call<'_> {
    /// Gives an argument its value: an array, an expression or a number. The stream of the call is that of the first
    /// value that has a stream.
    #[must_use]
    pub fn arg<T: Element>(mut self, name: &str, value: impl IntoExpr<T>) -> Self {
        let value = value.into_expr();
        self.stream = self.stream.or_else(|| value.stream().cloned());
        self.args.push((name.to_owned(), Arc::clone(value.node())));
        self
    }

    /// The result of a kernel that has one, as elements of type `T`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownArgument`], [`Error::RepeatedArgument`], [`Error::MissingArgument`], [`Error::Text`] for a text that
    /// reads a result before it has a value or takes a name of the kernel around it, and [`Error::ResultCount`] for a kernel of several results.
    pub fn result<T: Element>(&self) -> Result<Expr<T>> {
        self.result_of(&[DType::of::<T>()], 0)
    }

    /// The results, with their types. One [`assign_all`](crate::assign_all) computes all of them in one pass.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::{Assignment, assign_all};
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let kernel = ctx.elementwise("let h = x / 2; half = h; odd = u32(x - 2 * h)");
    /// let x = ctx.arange(3, 6, 1)?;
    /// let (half, odd) = kernel.arg("x", &x).results::<(i32, u32)>()?;
    /// let rest = ctx.zeros::<u32>(3)?;
    /// assign_all(&[Assignment::new(&x, half)?, Assignment::new(&rest, odd)?])?;
    /// assert_eq!((x.to_vec()?, rest.to_vec()?), (vec![1, 2, 2], vec![1, 0, 1]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::MissingArgument`] for an argument without a value; [`Error::ResultCount`] for another number of results
    /// than the text has; and the errors of [`Call::result`].
    pub fn results<R: Results>(&self) -> Result<R::Exprs> {
        R::of(self)
    }

    /// One of several results. `types` has the type of each result.
    ///
    /// # Errors
    ///
    /// [`Error::ResultCount`] if `types` has another number of types than the text has results, or `T` is not the type of
    /// the result; [`Error::MissingArgument`] for an argument without a value; and the errors of [`Call::result`].
    pub fn result_of<T: Element>(&self, types: &[DType], result: usize) -> Result<Expr<T>> {
        let nodes = self.nodes()?;
        let names = self.kernel.results();
        let function = Arc::new(self.function(types));
        self.check_names(&function, &nodes)?;
        let expr = Expr::call(&function, result, &nodes, self.stream.as_ref()).filter(|_| types.len() == names.len());
        expr.ok_or_else(|| Error::ResultCount { given: types.len(), names: names.to_vec() })
    }

    /// The types with which the text is valid. For each result, the types of the arguments are tried first, in the
    /// order of [`ElementwiseKernel::arguments`], then `f32`, `i32`, `u32` and `bool`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let kernel = ctx.elementwise("y = x * x; is_small = y < 3");
    /// assert_eq!(kernel.arg("x", &ctx.arange(0, 3, 1)?).result_types()?, [DType::I32, DType::Bool]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Text`] if the text is valid with none of these types; [`Error::MissingArgument`] for an argument
    /// without a value; and the errors of [`Call::result`].
    pub fn result_types(&self) -> Result<Vec<DType>> {
        let nodes = self.nodes()?;
        let inputs: Vec<_> = nodes.iter().map(|node| node.dtype()).collect();
        let answers = &self.kernel.answers;
        if let Some((_, types)) = answers.iter().filter_map(OnceLock::get).find(|(own, _)| *own == inputs) {
            return Ok(types.clone());
        }
        self.check_names(&self.function(&[]), &nodes)?;
        let mut candidates = Vec::new();
        for dtype in inputs.iter().copied().chain([DType::F32, DType::I32, DType::U32, DType::Bool]) {
            if !candidates.contains(&dtype) {
                candidates.push(dtype);
            }
        }
        let (n, mut farthest) = (candidates.len(), None::<TextFault>);
        let n_results = u32::try_from(self.kernel.results().len()).unwrap_or(u32::MAX);
        for choice in 0..n.saturating_pow(n_results).min(MAX_CHOICES) {
            let types: Vec<_> =
                (0..n_results).map(|result| candidates[choice / n.saturating_pow(result) % n]).collect();
            match fault(&self.function(&types), &inputs) {
                None => {
                    // Another thread may take the place; the answer is then found again.
                    if let Some(place) = answers.iter().find(|place| place.get().is_none()) {
                        place.get_or_init(|| (inputs, types.clone()));
                    }
                    return Ok(types);
                }
                // The fault that lies farthest in the text is reported: a fault that every choice of types has lies
                // behind the faults of some choices.
                Some(fault) if farthest.as_ref().is_none_or(|other| fault.place() > other.place()) => {
                    farthest = Some(fault);
                }
                Some(_) => {}
            }
        }
        let names = self.kernel.results().to_vec();
        Err(farthest.map_or(Error::ResultCount { given: 0, names }, Error::from))
    }

    fn check_names(&self, function: &Function, nodes: &[&Arc<Node>]) -> Result<()> {
        let inputs: SmallVec<[_; 8]> = nodes.iter().map(|node| node.dtype()).collect();
        Ok(check_names(&self.kernel.names, function, &inputs)?)
    }

    fn function(&self, types: &[DType]) -> Function {
        self.kernel.names.function(Arc::clone(&self.kernel.text), types)
    }

    /// The values of the arguments, in order.
    fn nodes(&self) -> Result<Vec<&Arc<Node>>> {
        let names = self.kernel.arguments();
        for (i, (name, _)) in self.args.iter().enumerate() {
            let is_again = self.args[..i].iter().any(|(other, _)| other == name);
            if !names.contains(name) {
                return Err(Error::UnknownArgument { name: name.clone(), names: names.to_vec() });
            }
            if is_again {
                return Err(Error::RepeatedArgument { name: name.clone() });
            }
        }
        let value = |name: &String| self.args.iter().find(|(own, _)| own == name).map(|(_, node)| node);
        let missing = |name: &String| Error::MissingArgument { name: name.clone(), names: names.to_vec() };
        names.iter().map(|name| value(name).ok_or_else(|| missing(name))).collect()
    }
}

/// The element types of two to four results of a kernel, as a tuple.
pub trait Results {
    /// An expression for each.
    type Exprs;

    #[doc(hidden)]
    fn of(call: &Call<'_>) -> Result<Self::Exprs>;
}

macro_rules! results {
    ($($ty:ident $at:tt),*) => {
        impl<$($ty: Element),*> Results for ($($ty,)*) {
            type Exprs = ($(Expr<$ty>,)*);

            fn of(call: &Call<'_>) -> Result<Self::Exprs> {
                let types = [$(DType::of::<$ty>()),*];
                Ok(($(call.result_of::<$ty>(&types, $at)?,)*))
            }
        }
    };
}

results!(A 0, B 1);
results!(A 0, B 1, C 2);
results!(A 0, B 1, C 2, D 3);
