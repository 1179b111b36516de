//! Runs a program: [`run`].

use std::slice;

use smallvec::SmallVec;
use vkarray_driver::Stream;
use vkarray_generate::Leaf;
use vkarray_kernel::{Arg, ArrayArg, DType, Groups, NamedArg, Source};

use crate::array::ArrayLeaf;
use crate::copy::ranges_overlap;
use crate::error::{Error, ExprError, Result};
use crate::generate::{DeviceLimits, Form, MAX_ROUNDS, Nest, Param, ParamOf, Params, Program, key_part, word};

/// Keeps the keys of elementwise kernels apart from the keys of other kernels.
const KEY: u32 = 0x656c_656d;

/// An array that is read or written.
type Array<'a> = (&'a ArrayLeaf, DType);

/// Whether a program's array is an output, so that each element is read where it is written.
pub(super) fn is_in_place(leaf: Array<'_>, target: Array<'_>) -> bool {
    leaf.1 == target.1 && leaf.0.shares_block(target.0) && leaf.0.layout() == target.0.layout()
}

/// Whether no other array's element lies in a word that this array's elements lie in. Kernels write whole words.
pub(super) fn owns_words((leaf, dtype): Array<'_>) -> bool {
    let (layout, itemsize) = (leaf.layout(), dtype.itemsize() as usize);
    let end = (layout.offset() + layout.size()) * itemsize;
    itemsize >= 4
        || ((layout.is_c_contiguous() || layout.is_f_contiguous())
            && (layout.offset() * itemsize).is_multiple_of(4)
            && (end.is_multiple_of(4) || end as u64 == leaf.block.size()))
}

/// Computes every element of the targets on a stream. The targets have one shape. Returns at once.
///
/// A target may be an array of the program, or share memory with one: all elements are read before any is written. Targets
/// that a kernel cannot write beside the arrays that it reads are computed in other memory, and copied from there.
pub(super) fn run(program: &Program<'_>, targets: &[Array<'_>], stream: &Stream) -> Result<()> {
    let limits = DeviceLimits::new(stream.device().info());
    let is_free = |(i, &target): (usize, &Array<'_>)| {
        let read = program.leaves.iter().filter(|&&leaf| !is_in_place(leaf, target));
        owns_words(target) && !targets[..i].iter().chain(read).any(|&other| are_bound_together(&limits, target, other))
    };
    if targets.iter().enumerate().all(is_free) {
        return run_in_place(program, targets, &limits, stream);
    }
    let apart = targets.iter().map(|&(leaf, dtype)| leaf.beside(leaf.layout().shape(), dtype));
    let apart: SmallVec<[ArrayLeaf; 2]> = apart.collect::<Result<_>>()?;
    let of_apart: SmallVec<[Array<'_>; 2]> =
        apart.iter().zip(targets).map(|(leaf, &(_, dtype))| (leaf, dtype)).collect();
    run_in_place(program, &of_apart, &limits, stream)?;
    targets.iter().zip(&apart).try_for_each(|(&(leaf, dtype), apart)| leaf.copy_from(apart, dtype, stream))
}

/// Whether the ranges of memory that a kernel binds for two arrays have bytes in common. They begin before the arrays, at
/// aligned bytes, and have the gaps between elements too.
fn are_bound_together(limits: &DeviceLimits, a: Array<'_>, b: Array<'_>) -> bool {
    let bound = |(leaf, dtype): Array<'_>| limits.aligned(leaf.layout().byte_extent(dtype.itemsize() as usize));
    a.0.shares_block(b.0) && ranges_overlap(&bound(a), &bound(b))
}

/// [`run`], with the targets written by the kernel.
fn run_in_place(program: &Program<'_>, targets: &[Array<'_>], limits: &DeviceLimits, stream: &Stream) -> Result<()> {
    let (mut arrays, mut reads) = (SmallVec::<[Array<'_>; 6]>::from_slice(targets), SmallVec::<[usize; 6]>::new());
    for &leaf in &program.leaves {
        let in_place = targets.iter().position(|&target| is_in_place(leaf, target));
        reads.push(in_place.unwrap_or(arrays.len()));
        if in_place.is_none() {
            arrays.push(leaf);
        }
    }
    if arrays.len() > limits.max_buffers {
        return Err(ExprError::TooManyArrays { given: arrays.len(), limit: limits.max_buffers }.into());
    }
    let shape = targets[0].0.layout().shape();
    if shape.contains(&0) {
        return Ok(());
    }
    let launch = Launch { program, reads: &reads, n_outs: targets.len(), limits, stream };
    if launch.pieces(shape, &arrays)?.is_none() {
        return Ok(());
    }
    // The strides need more push constants than the device has. Contiguous copies of the arrays need none.
    let copies = arrays[targets.len()..].iter().map(|&(leaf, dtype)| leaf.repeated(shape, dtype, stream));
    let copies: SmallVec<[ArrayLeaf; 6]> = copies.collect::<Result<_>>()?;
    let of_copies = copies.iter().zip(&arrays[targets.len()..]).map(|(copy, &(_, dtype))| (copy, dtype));
    let arrays: Vec<Array<'_>> = targets.iter().copied().chain(of_copies).collect();
    match launch.pieces(shape, &arrays)? {
        None => Ok(()),
        Some(bytes) => {
            let (arrays, numbers, limit) = (arrays.len(), program.scalars.len(), limits.max_params);
            Err(ExprError::TooManyParameters { arrays, numbers, bytes, limit }.into())
        }
    }
}

struct Launch<'a, 'p> {
    program: &'a Program<'p>,
    /// For each array of the program, the operand from which it is read.
    reads: &'a [usize],
    n_outs: usize,
    limits: &'a DeviceLimits,
    stream: &'a Stream,
}

impl Launch<'_, '_> {
    /// Records the dispatches. If the parameters of one dispatch do not fit, records nothing and returns their size in
    /// bytes.
    fn pieces(&self, shape: &[usize], arrays: &[Array<'_>]) -> Result<Option<usize>> {
        let mut nest = Nest::new(shape, arrays.iter().map(|&(leaf, dtype)| (leaf.layout(), dtype.itemsize())));
        nest.sort();
        nest.merge();
        let (max_bytes, max_size) = (self.limits.max_range - self.limits.alignment, 1 << 31);
        let parts;
        let pieces = if nest.is_short(max_bytes, max_size) {
            slice::from_ref(&nest)
        } else {
            parts = nest.pieces(max_bytes, max_size);
            &parts[..]
        };
        let mut forms = SmallVec::<[(Form, Params); 1]>::new();
        for piece in pieces {
            let form = Form::new(piece, self.n_outs, self.limits.group, self.program.rounds());
            let rounds = u64::from(form.lanes) * self.program.rounds();
            if rounds > MAX_ROUNDS {
                return Err(ExprError::TooManyRounds { rounds, limit: MAX_ROUNDS }.into());
            }
            let params = form.params(self.program);
            forms.push((form, params));
        }
        let fits = |(piece, (form, params)): (&Nest, &(Form, Params))| {
            let shares_words = |out: usize| {
                let parts = 4 / piece.operands[out].itemsize.min(4);
                // Whether this piece has the last word of the target, so that no other piece writes to that word.
                let is_last = || pieces.iter().all(|other| other.span(out)[1] <= piece.span(out)[1]);
                piece.operands[out].offset % parts != 0 || (piece.size() % parts != 0 && !is_last())
            };
            Param::fit(params, self.limits.max_params) && (form.is_wide || !(0..self.n_outs).any(shares_words))
        };
        if !pieces.iter().zip(&forms).all(fits) {
            return Ok(forms.iter().map(|(_, params)| Param::nbytes(params)).max());
        }
        for (piece, (form, params)) in pieces.iter().zip(&forms) {
            self.dispatch(piece, form, params, arrays)?;
        }
        Ok(None)
    }

    fn dispatch(&self, nest: &Nest, form: &Form, params: &[Param], arrays: &[Array<'_>]) -> Result<()> {
        let mut key = SmallVec::<[u32; 64]>::new();
        key.push(KEY);
        form.add_to_key(&mut key);
        self.reads.iter().for_each(|&read| key.push(key_part(read)));
        self.program.add_to_key(&mut key);
        let context = &arrays[0].0.context;
        let builder = || {
            let dtypes: Vec<DType> = arrays.iter().map(|&(_, dtype)| dtype).collect();
            let text = form.text(self.program, &dtypes, self.reads);
            context.kernel(Source::wgsl(text).named("elementwise.wgsl")).exact_floats(true)
        };
        let kernel =
            context.generated_kernel(&key, builder).map_err(|error| self.program.fault().map_or(error, Error::from))?;
        let mut args = SmallVec::<[NamedArg<'_>; 24]>::new();
        let mut bases = SmallVec::<[u64; 6]>::new();
        for (operand, &(leaf, dtype)) in arrays.iter().enumerate() {
            let (shape, base) = self.limits.bound(nest, operand, dtype);
            bases.push(base);
            args.push(NamedArg { name: None, arg: Arg::Array(ArrayArg::new(&leaf.block, shape)) });
        }
        for param in params {
            let value = match param.of {
                ParamOf::Scalar(at, part) => param.scalar_value(self.program, at, part),
                ParamOf::Len(axis) => word(nest.axes[usize::from(axis)].len),
                ParamOf::Base(operand) => word(bases[usize::from(operand)]),
                ParamOf::Stride(operand, axis) => {
                    word(nest.axes[usize::from(axis)].strides[usize::from(operand)].cast_unsigned())
                }
                _ => word(nest.size()), // `Size`; the others are those of reductions.
            };
            args.push(NamedArg { name: None, arg: Arg::Scalar(value) });
        }
        let groups = self.limits.spread(form.groups(nest));
        Ok(kernel.dispatch(self.stream, Groups::exact(groups), args.as_slice())?)
    }
}
