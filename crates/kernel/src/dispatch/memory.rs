//! The arrays that a call binds, and whether their memory may be bound: alive, of the kernel's device, as long as it says, and
//! not shared by two parameters of which one is written.

use vkarray_shader::{Access, ImageRole, Param, ParamKind, Signature};

use crate::call::args::{Arg, ArrayArg, NamedArg};
use crate::call::check::{Packed, element_name, refusal};
use crate::dispatch::launch::{access, conflict};
use crate::error::{Error, Mismatch, Result};
use crate::pipeline::kernel::Kernel;

impl Kernel {
    /// Checks that the memory of the arguments is of this device, alive, and as long as they say.
    pub(super) fn check_memory(&self, packed: &Packed, args: &[NamedArg<'_>]) -> Result<()> {
        for NamedArg { arg, .. } in args {
            for array in arrays_of(arg) {
                self.check_device(array.block.device(), "an array")?;
                array.block.check_alive()?;
            }
            if let Arg::Constant(constant) = arg {
                self.check_device(constant.allocator().device(), "constant memory")?;
            }
        }
        for (param, &idx) in self.signature().params.iter().zip(&packed.arrays) {
            if let Arg::Sampled(_, sampler) = args[idx].arg {
                let is_combined = param.image().is_some_and(|image| image.role == ImageRole::Combined);
                let other = (!is_combined).then_some("its image has none; give the array alone");
                if let Some(problem) = other.or_else(|| sampler.problem()) {
                    return Err(refusal(&self.signature().entry, &param.name, Mismatch::Sampler { problem }));
                }
            }
        }
        for (param, name, array) in bound_arrays(self.signature(), packed, args) {
            if let Err(vkarray_allocator::Error::OutOfBounds { size, .. }) = array.block.binding(&array.bytes()) {
                let (offset, given) = (array.shape.offset, array.shape.nbytes);
                return Err(refusal(&self.signature().entry, &name(), Mismatch::OutsideMemory { offset, given, size }));
            }
            if let (ParamKind::Address, Err(reason)) = (param.kind, array.block.device_address()) {
                let (given, reason) = (array.shape.to_string(), reason.to_string());
                return Err(refusal(&self.signature().entry, &name(), Mismatch::NoAddress { given, reason }));
            }
        }
        self.check_reached(args)
    }

    /// Checks the arrays that are reached by addresses in memory, of which the kernel may write each.
    fn check_reached(&self, args: &[NamedArg<'_>]) -> Result<()> {
        for (at, array) in reached(args).enumerate() {
            array.block.check_range(array.shape.offset, array.shape.nbytes).map(drop)?;
            if self.writes_reached() && !array.shape.is_writable {
                let problem = Mismatch::ReadOnly { given: array.shape.to_string() };
                return Err(refusal(&self.signature().entry, &element_name("reached", at), problem));
            }
        }
        Ok(())
    }

    /// Whether it writes memory that it reaches by addresses in memory.
    pub(super) fn writes_reached(&self) -> bool {
        self.signature().reached.is_some_and(|access| access != Access::Read)
    }
}

/// The arrays that are reached by addresses in memory.
pub(super) fn reached<'a>(args: &[NamedArg<'a>]) -> impl Iterator<Item = ArrayArg<'a>> {
    args.iter().filter(|given| matches!(given.arg, Arg::Reached(_))).flat_map(|given| arrays_of(&given.arg))
}

/// Refuses two parameters that share bytes if the kernel writes one of them: the result would depend on the order of its
/// invocations.
pub(super) fn check_aliasing(signature: &Signature, packed: &Packed, args: &[NamedArg<'_>]) -> Result<()> {
    let (params, accesses): (Vec<_>, Vec<_>) = bound_arrays(signature, packed, args)
        .map(|(param, name, array)| {
            ((param.writes, name), access(array.block, array.bytes(), param.kind, param.writes))
        })
        .unzip();
    let Some(places) = conflict(&accesses) else { return Ok(()) };
    let [first, second] = places.map(|place| &params[place]);
    let ((_, written), (_, other)) = if first.0 { (first, second) } else { (second, first) };
    Err(Error::Aliased { kernel: signature.entry.clone(), written: written(), other: other() })
}

/// The arrays of an argument: one, those of a list, or none.
pub(super) fn arrays_of<'a>(arg: &Arg<'a>) -> impl Iterator<Item = ArrayArg<'a>> {
    let list = if let Arg::Arrays(list) | Arg::Reached(list) = arg { Some(list.iter()) } else { None };
    arg.array().copied().into_iter().chain(list.into_iter().flatten())
}

/// The arrays of a call, each with its parameter and what messages call it.
fn bound_arrays<'a>(
    signature: &'a Signature,
    packed: &'a Packed,
    args: &'a [NamedArg<'a>],
) -> impl Iterator<Item = (&'a Param, impl Fn() -> String, ArrayArg<'a>)> {
    let of_param = |(param, &idx): (&'a Param, &usize)| {
        let arg = &args[idx].arg;
        arrays_of(arg).enumerate().map(move |(at, array)| {
            let name = move || match arg {
                Arg::Arrays(_) => element_name(&param.name, at),
                _ => param.name.clone(),
            };
            (param, name, array)
        })
    };
    signature.params.iter().zip(&packed.arrays).flat_map(of_param)
}
