//! Which argument is for which parameter: [`bind_arguments`], by position first and then by name.
//!
//! Arguments without a name go to the parameters of their kind, in order: arrays to buffers and images, samplers to samplers,
//! numbers to push constants. So numbers may stand before, between or behind the arrays, wherever the shader declares its `var<immediate>`.
//!
//! Push constants come one by one or as one struct. In the second case the block is one parameter ([`Target::Block`]) that
//! follows the buffers, and its members are none. Nor are push constants that ask for the strides of an array which is given
//! with them: the array fills these. `check.rs` checks what an argument must be.

use smallvec::SmallVec;
use vkarray_shader::internal::nearest;
use vkarray_shader::{Names, Param, ParamKind, Parameter, PushConstants, Signature};

use super::refusal;
use crate::call::shape::{ArgKind, ArgShape, Argument, ArrayShape};
use crate::call::strided::is_given;
use crate::error::Mismatch;
use crate::error::{Error, Result};

/// What one argument is for.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    /// A buffer or a push constant, and its index among [`Signature::arguments`].
    One(usize, Parameter<'a>),
    /// All push constants.
    Block(&'a PushConstants),
}

impl<'a> Target<'a> {
    pub(super) fn name(&self) -> &'a str {
        match self {
            Self::One(_, parameter) => parameter.name(),
            Self::Block(push) => &push.name,
        }
    }

    fn kind(&self) -> ArgKind {
        match self {
            Self::One(_, Parameter::Array(param)) if param.kind == ParamKind::Sampler => ArgKind::Sampler,
            Self::One(_, Parameter::Array(_)) => ArgKind::Array,
            Self::One(_, Parameter::Scalar(_)) | Self::Block(_) => ArgKind::Number,
        }
    }

    fn is_called(&self, name: &str) -> bool {
        match self {
            Self::One(_, parameter) => parameter.is_called(name),
            Self::Block(push) => push.name == name,
        }
    }

    pub(super) fn ty(&self) -> String {
        match self {
            Self::One(_, parameter) => parameter.ty().to_string(),
            Self::Block(push) => push.ty.clone(),
        }
    }
}

/// What the arguments of a call are for.
pub(super) struct Targets<'a> {
    signature: &'a Signature,
    is_block: bool, // The push constants are given as one struct.
    /// The parameters whose arrays are given with strides.
    strided: SmallVec<[&'a Param; 4]>,
}

impl<'a> Targets<'a> {
    fn new(signature: &'a Signature, arguments: &[Argument<'_>]) -> Result<Self> {
        let (strided, is_block) = (strided(signature, arguments), is_block(signature, arguments)?);
        if let (true, Some(param), Some(push)) = (is_block, strided.first(), &signature.push_constants) {
            return Err(mixed(signature, push, format!("the strides of `{}`", param.name)));
        }
        Ok(Self { signature, is_block, strided })
    }

    /// Buffers first, then push constants.
    pub(super) fn iter(&self) -> impl Iterator<Item = Target<'a>> {
        let &Self { signature, is_block, ref strided } = self;
        let is_given = move |(_, parameter): &(usize, Parameter<'_>)| match parameter {
            Parameter::Array(_) => true,
            Parameter::Scalar(member) => !is_block && is_given(signature, member, strided),
        };
        let one_by_one =
            signature.arguments().enumerate().filter(is_given).map(|(at, parameter)| Target::One(at, parameter));
        one_by_one.chain(signature.push_constants.as_ref().filter(move |_| is_block).map(Target::Block))
    }

    fn names(&self) -> Names {
        self.iter().map(|target| target.name()).collect()
    }
}

/// The index of the argument for each target.
pub(super) type ArgumentOrder = SmallVec<[usize; 16]>;

/// Finds the argument for each target.
pub(super) fn bind_arguments<'a>(
    signature: &'a Signature,
    arguments: &[Argument<'_>],
) -> Result<(Targets<'a>, ArgumentOrder)> {
    const UNBOUND: usize = usize::MAX;
    if arguments.iter().any(is_reached) {
        let others = arguments.iter().copied().enumerate().filter(|(_, given)| !is_reached(given));
        let (places, others): (Vec<usize>, Vec<Argument<'_>>) = others.unzip();
        let (targets, mut order) = bind_arguments(signature, &others)?;
        order.iter_mut().for_each(|place| *place = places[*place]);
        return Ok((targets, order));
    }
    let kernel = || signature.entry.clone();
    let targets = Targets::new(signature, arguments)?;
    let n_targets = targets.iter().count();
    let n_positional = arguments.iter().take_while(|given| given.name.is_none()).count();
    if n_positional > n_targets || (n_positional == arguments.len() && n_positional < n_targets) {
        let (given, names) = (arguments.len(), targets.names());
        return Err(Error::ArgumentCount { kernel: kernel(), expected: n_targets, given, names });
    }
    let mut order = ArgumentOrder::from_elem(UNBOUND, n_targets);
    for (index, position) in positions(&targets, &arguments[..n_positional]).into_iter().enumerate() {
        order[position] = index;
    }
    for (index, given) in arguments.iter().enumerate().skip(n_positional) {
        let unnamed = || Error::PositionalAfterNamed { kernel: kernel(), position: index + 1 };
        let name = given.name.ok_or_else(unnamed)?;
        let position = targets.iter().position(|target| target.is_called(name));
        let position = position.ok_or_else(|| unknown(&targets, name))?;
        if order[position] != UNBOUND {
            return Err(Error::DuplicateArgument { kernel: kernel(), param: name.to_owned() });
        }
        order[position] = index;
    }
    let Some((missing, _)) = targets.iter().zip(&order).find(|&(_, &index)| index == UNBOUND) else {
        return Ok((targets, order));
    };
    let (param, ty, found) = (missing.name().to_owned(), missing.ty(), targets.names());
    Err(Error::MissingArgument { kernel: kernel(), param, ty, found })
}

fn is_reached(given: &Argument<'_>) -> bool {
    given.shape.kind() == ArgKind::Reached
}

/// The target of each argument without a name: the next of its kind. If there are more arguments of a kind than parameters,
/// the arguments go to the targets as they stand, so that the first one of the wrong kind is named.
fn positions(targets: &Targets<'_>, arguments: &[Argument<'_>]) -> ArgumentOrder {
    let mut next = [ArgKind::Array, ArgKind::Sampler, ArgKind::Number].map(|kind| {
        let of_kind = move |(at, target): (usize, Target<'_>)| (target.kind() == kind).then_some(at);
        targets.iter().enumerate().filter_map(of_kind)
    });
    let positions: Option<ArgumentOrder> =
        arguments.iter().map(|given| next[given.shape.kind() as usize].next()).collect();
    positions.unwrap_or_else(|| (0..arguments.len()).collect())
}

/// The parameter of an argument behind others: the one that it names, or else the next of its kind. Empty for an argument
/// beyond the last. The whole call says which arrays have strides.
pub(crate) fn parameter_name(
    signature: &Signature,
    call: &[Argument<'_>],
    before: &[Argument<'_>],
    given: &Argument<'_>,
) -> String {
    let &Argument { name, shape } = given;
    if let Some(name) = name {
        return signature.own_name(name).to_owned();
    }
    let is_block = matches!(shape, ArgShape::Block(_));
    let targets = Targets { signature, is_block, strided: strided(signature, call) };
    let kind = shape.kind();
    let n_before = before.iter().filter(|other| other.shape.kind() == kind).count();
    let mut of_kind = targets.iter().filter(|target| target.kind() == kind);
    of_kind.nth(n_before).map_or("", |target| target.name()).to_owned()
}

/// The parameters whose arrays are given with strides.
fn strided<'a>(signature: &'a Signature, arguments: &[Argument<'_>]) -> SmallVec<[&'a Param; 4]> {
    let mut params = signature.params.iter().filter(|param| param.kind != ParamKind::Sampler);
    let param_of = |&Argument { name, shape }: &Argument<'_>| {
        let param = match name {
            Some(name) => signature.params.iter().find(|param| param.is_called(name)),
            None if shape.kind() == ArgKind::Array => params.next(),
            None => None,
        };
        param.filter(|_| matches!(shape, ArgShape::Array(ArrayShape { strides: Some(_), .. })))
    };
    arguments.iter().filter_map(param_of).collect()
}

/// Whether the push constants are given as one struct. Refuses some of them beside it, and a struct for one of them.
fn is_block(signature: &Signature, arguments: &[Argument<'_>]) -> Result<bool> {
    let is_struct = |given: &Argument<'_>| matches!(given.shape, ArgShape::Block(_));
    let (true, Some(push)) = (arguments.iter().any(is_struct), &signature.push_constants) else {
        return Ok(arguments.iter().any(is_struct));
    };
    for given in arguments {
        let is_number = matches!(given.shape, ArgShape::Scalar(_) | ArgShape::Scalars(_));
        let member = given.name.and_then(|name| {
            let is_buffer = signature.params.iter().any(|param| param.is_called(name));
            push.members.iter().find(|member| member.name == name && !is_buffer)
        });
        let other = match (given.shape, member, given.name) {
            (ArgShape::Block(_), Some(member), Some(name)) if name != push.name => {
                let (ty, given) = (member.ty.to_string(), given.shape.to_string());
                return Err(refusal(&signature.entry, name, Mismatch::WantsScalar { ty, given }));
            }
            (ArgShape::Block(_), ..) => continue,
            (_, Some(member), _) => format!("`{}`", member.name),
            (_, None, None) if is_number => given.shape.to_string(),
            _ => continue,
        };
        return Err(mixed(signature, push, other));
    }
    Ok(true)
}

fn mixed(signature: &Signature, push: &PushConstants, other: String) -> Error {
    Error::MixedPushConstants { kernel: signature.entry.clone(), block: push.name.clone(), other }
}

/// Why an argument cannot replace one that a graph recorded: none was recorded under that name.
pub(crate) fn not_recorded(signature: &Signature, name: String, given: &ArgShape<'_>) -> Error {
    let is_block = matches!(given, ArgShape::Block(_));
    let targets = Targets { signature, is_block, strided: SmallVec::new() };
    match &signature.push_constants {
        // The push constants were recorded as a struct and are given one by one, or the other way round.
        Some(push) if targets.iter().any(|target| target.is_called(&name)) => {
            mixed(signature, push, format!("`{name}`"))
        }
        _ => unknown(&targets, &name),
    }
}

fn unknown(targets: &Targets<'_>, name: &str) -> Error {
    let (kernel, param) = (targets.signature.entry.clone(), name.to_owned());
    if targets.signature.constants.iter().any(|constant| constant.name == name) {
        return Error::ConstantAsArgument { kernel, param };
    }
    let found = targets.names();
    let hint = nearest(name, &found.0);
    Error::UnknownArgument { kernel, param, found, hint }
}
