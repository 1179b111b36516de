//! Which argument is for which parameter: [`bind_names`], by position first and then by name.
//!
//! Push constants come one by one or as one struct. In the second case the block is one parameter ([`Slot::Whole`]) that
//! stands behind the buffers, and its members are none. What an argument must be is judged in `call/check.rs`.

use smallvec::SmallVec;

use super::refusal;
use crate::call::mismatch::Mismatch;
use crate::call::shape::{ArgShape, Given};
use crate::error::{Error, Names, Result, nearest};
use crate::signature::{Parameter, PushConstants, Signature};

/// What one argument is for.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    /// A buffer or a push constant.
    One(Parameter<'a>),
    /// All push constants.
    Whole(&'a PushConstants),
}

impl<'a> Target<'a> {
    fn name(&self) -> &'a str {
        match self {
            Self::One(parameter) => parameter.name(),
            Self::Whole(push) => &push.name,
        }
    }

    fn ty(&self) -> String {
        match self {
            Self::One(parameter) => parameter.ty().to_string(),
            Self::Whole(push) => push.ty.clone(),
        }
    }
}

/// What the arguments of a call are for.
#[derive(Clone, Copy)]
pub(super) struct Slots<'a> {
    signature: &'a Signature,
    is_whole: bool, // The push constants are given so.
}

impl<'a> Slots<'a> {
    /// In order.
    pub(super) fn iter(self) -> impl Iterator<Item = Target<'a>> {
        let Self { signature, is_whole } = self;
        let one_by_one = signature.arguments().take(if is_whole { signature.params.len() } else { usize::MAX });
        one_by_one.map(Target::One).chain(signature.push_constants.as_ref().filter(|_| is_whole).map(Target::Whole))
    }

    fn len(self) -> usize {
        let Signature { params, push_constants, .. } = self.signature;
        if self.is_whole { params.len() + usize::from(push_constants.is_some()) } else { self.signature.n_arguments() }
    }

    fn names(self) -> Names {
        self.iter().map(|slot| slot.name()).collect()
    }
}

/// Which argument is for which slot.
pub(super) enum Order {
    /// All are given by position.
    Given,
    /// The index of the argument for each slot.
    Indices(SmallVec<[usize; 16]>),
}

impl Order {
    pub(super) fn index(&self, position: usize) -> usize {
        match self {
            Self::Given => position,
            Self::Indices(indices) => indices[position],
        }
    }
}

/// Finds the argument for each slot.
pub(super) fn bind_names<'a>(signature: &'a Signature, arguments: &[impl Given]) -> Result<(Slots<'a>, Order)> {
    const UNBOUND: usize = usize::MAX;
    let kernel = || signature.entry.clone();
    let slots = Slots { signature, is_whole: is_whole(signature, arguments)? };
    let n_params = slots.len();
    let n_positional = arguments.iter().take_while(|given| given.argument().name.is_none()).count();
    if n_positional > n_params || (n_positional == arguments.len() && n_positional < n_params) {
        let (given, names) = (arguments.len(), slots.names());
        return Err(Error::ArgumentCount { kernel: kernel(), expected: n_params, given, names });
    }
    if n_positional == n_params && n_positional == arguments.len() {
        return Ok((slots, Order::Given));
    }
    let mut order: SmallVec<[usize; 16]> = (0..n_positional).collect();
    order.resize(n_params, UNBOUND);
    for (index, given) in arguments.iter().enumerate().skip(n_positional) {
        let Some(name) = given.argument().name else {
            return Err(Error::PositionalAfterNamed { kernel: kernel(), position: index + 1 });
        };
        let Some(position) = slots.iter().position(|slot| slot.name() == name) else {
            return Err(unknown(slots, name));
        };
        if order[position] != UNBOUND {
            return Err(Error::DuplicateArgument { kernel: kernel(), param: name.to_owned() });
        }
        order[position] = index;
    }
    match slots.iter().zip(&order).find(|&(_, &index)| index == UNBOUND) {
        None => Ok((slots, Order::Indices(order))),
        Some((missing, _)) => Err(Error::MissingArgument {
            kernel: kernel(),
            param: missing.name().to_owned(),
            ty: missing.ty(),
            found: slots.names(),
        }),
    }
}

/// Whether the push constants are given as a whole. Refuses some of them beside it, and a struct for one of them.
fn is_whole(signature: &Signature, arguments: &[impl Given]) -> Result<bool> {
    let is_block = |given: &_| matches!(Given::argument(given).shape, ArgShape::Block(_));
    let (true, Some(push)) = (arguments.iter().any(is_block), &signature.push_constants) else {
        return Ok(arguments.iter().any(is_block));
    };
    let buffers = signature.params.len();
    for (index, given) in arguments.iter().enumerate() {
        let given = given.argument();
        let is_number = matches!(given.shape, ArgShape::Scalar(_) | ArgShape::Scalars(_));
        let member = given.name.and_then(|name| {
            let is_buffer = signature.params.iter().any(|param| param.name == name);
            push.members.iter().find(|member| member.name == name && !is_buffer)
        });
        let other = match (given.shape, member, given.name) {
            (ArgShape::Block(_), Some(member), Some(name)) if name != push.name => {
                let (ty, given) = (member.ty.to_string(), given.shape.to_string());
                return Err(refusal(&signature.entry, name, Mismatch::WantsScalar { ty, given }));
            }
            (ArgShape::Block(_), ..) => continue,
            (_, Some(member), _) => format!("`{}`", member.name),
            (_, None, None) if is_number && index >= buffers => given.shape.to_string(),
            _ => continue,
        };
        return Err(mixed(signature, push, other));
    }
    Ok(true)
}

fn mixed(signature: &Signature, push: &PushConstants, other: String) -> Error {
    Error::MixedPushConstants { kernel: signature.entry.clone(), block: push.name.clone(), other }
}

/// Why an argument cannot change what a graph recorded: nothing was recorded under that name.
pub(crate) fn not_recorded(signature: &Signature, name: String, given: &ArgShape<'_>) -> Error {
    let slots = Slots { signature, is_whole: matches!(given, ArgShape::Block(_)) };
    match &signature.push_constants {
        // It was recorded the other way.
        Some(push) if slots.iter().any(|slot| slot.name() == name) => mixed(signature, push, format!("`{name}`")),
        _ => unknown(slots, &name),
    }
}

fn unknown(slots: Slots<'_>, name: &str) -> Error {
    let (kernel, param) = (slots.signature.entry.clone(), name.to_owned());
    if slots.signature.constants.iter().any(|constant| constant.name == name) {
        return Error::ConstantAsArgument { kernel, param };
    }
    let found = slots.names();
    let hint = nearest(name, &found.0);
    Error::UnknownArgument { kernel, param, found, hint }
}
