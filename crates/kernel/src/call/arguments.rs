//! The arguments of one call: [`Arguments`], implemented by tuples, slices and [`ArgList`].
//!
//! A call borrows its arguments and copies nothing: [`Arguments::with`] lends them to the dispatch.

use smallvec::SmallVec;

use crate::call::args::{Arg, AsArg, NamedArg};

/// The arguments of one call: a tuple or a slice of [`Arg`]s by position, a slice of names and arguments in any order, or an
/// [`ArgList`]. [`Kernel::dispatch`](crate::Kernel::dispatch) says which position is for which parameter.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{AsArg, Groups, Source};
///
/// let ctx = Context::open_default()?;
/// let add = ctx
///     .kernel(Source::wgsl(
///         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
///          var<immediate> n: u32;
///          @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
///              if id.x < arrayLength(&x) { x[id.x] += n; }
///          }",
///     ))
///     .build()?;
/// let x = ctx.zeros::<u32>(4)?;
/// add.launch(Groups::covering(4), (&x, 1_u32))?;
/// add.launch(Groups::covering(4), [x.as_arg(), 2_u32.as_arg()].as_slice())?;
/// add.launch(Groups::covering(4), [("n", 4_u32.as_arg()), ("x", x.as_arg())])?;
/// assert_eq!(x.to_vec()?, [7; 4]);
/// # Ok(())
/// # }
/// ```
pub trait Arguments {
    /// Lends the arguments to `call`.
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R;
}

impl<T: Arguments + ?Sized> Arguments for &T {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        (**self).with(call)
    }
}

impl Arguments for () {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        call(&[])
    }
}

impl<A: AsArg> Arguments for [(&str, A)] {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        let arguments: SmallVec<[NamedArg<'_>; 8]> =
            self.iter().map(|(name, arg)| NamedArg { name: Some(name), arg: arg.as_arg() }).collect();
        call(&arguments)
    }
}

impl<T, const N: usize> Arguments for [T; N]
where
    [T]: Arguments,
{
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        self.as_slice().with(call)
    }
}

impl<T> Arguments for Vec<T>
where
    [T]: Arguments,
{
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        self.as_slice().with(call)
    }
}

impl Arguments for [Arg<'_>] {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        let arguments: SmallVec<[NamedArg<'_>; 8]> =
            self.iter().map(|arg| NamedArg { name: None, arg: arg.clone() }).collect();
        call(&arguments)
    }
}

impl Arguments for [NamedArg<'_>] {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        call(self)
    }
}

/// A list of arguments of different types, added one by one: by position first, then by name in any order.
///
/// ```
/// use vkarray_kernel::{ArgList, Arguments};
///
/// let (width, scale) = (640_u32, 0.5_f32);
/// let args = ArgList::new().name("scale", &scale).name("width", &width);
/// assert_eq!(args.with(|args| args.len()), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ArgList<'a> {
    args: SmallVec<[NamedArg<'a>; 8]>,
}

impl<'a> ArgList<'a> {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the argument of the next parameter.
    #[must_use]
    pub fn next(mut self, arg: &'a (impl AsArg + ?Sized)) -> Self {
        self.args.push(NamedArg { name: None, arg: arg.as_arg() });
        self
    }

    /// Adds the argument of the parameter `name`.
    #[must_use]
    pub fn name(mut self, name: &'a str, arg: &'a (impl AsArg + ?Sized)) -> Self {
        self.args.push(NamedArg { name: Some(name), arg: arg.as_arg() });
        self
    }
}

impl Arguments for ArgList<'_> {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        call(&self.args)
    }
}

/// Implements [`Arguments`] for the tuples of the first parameters, from one to all.
macro_rules! tuples {
    ([$($before:ident)*]) => {};
    ([$($before:ident)*] $last:ident $($after:ident)*) => {
        #[expect(non_snake_case, reason = "a value has the name of its type")]
        impl<$($before: AsArg,)* $last: AsArg> Arguments for ($($before,)* $last,) {
            fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
                let ($($before,)* $last,) = self;
                call(&[$(NamedArg { name: None, arg: $before.as_arg() },)* NamedArg { name: None, arg: $last.as_arg() }])
            }
        }

        tuples!([$($before)* $last] $($after)*);
    };
}

tuples!([] A B C D E F G H I J K L);

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::call::shape::ArgShape;
    use vkarray_shader::ScalarValue;

    #[test]
    fn a_tuple_keeps_its_order_and_types() {
        (1_u32, 2.0_f32, [3_i32, 4]).with(|args| {
            let names: Vec<_> = args.iter().map(|arg| arg.name).collect();
            assert_eq!(names, [None, None, None]);
            assert!(matches!(args[0].arg, Arg::Scalar(ScalarValue::U32(1))));
            assert!(matches!(args[1].arg, Arg::Scalar(ScalarValue::F32(2.0))));
            let expected: SmallVec<[ScalarValue; 4]> = smallvec![ScalarValue::I32(3), ScalarValue::I32(4)];
            assert!(matches!(&args[2].arg, Arg::Scalars(values) if *values == expected));
        });
    }

    #[test]
    fn names_go_with_their_arguments() {
        [("width", 5_u32), ("height", 7)].with(|args| {
            let seen: Vec<_> = args.iter().map(|arg| (arg.name, arg.arg.shape())).collect();
            let expected = [
                (Some("width"), ArgShape::Scalar(ScalarValue::U32(5))),
                (Some("height"), ArgShape::Scalar(ScalarValue::U32(7))),
            ];
            assert_eq!(seen, expected);
        });
    }
}
