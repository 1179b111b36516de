//! How an entry point uses the module's variables: [`uses`].
//!
//! The runtime orders work by what kernels write, so a use that is missed is a race. Pointers are followed through access
//! chains, copies and calls; whatever else touches a pointer counts as reading and writing it. Where pointers are chosen
//! at run time (`OpSelect`, `OpPhi`, a function's result), every buffer of the kernel counts as read and written.
//! `addresses.rs` follows pointers to memory that is reached by its address.
//! Read next: `signature/mod.rs`.

mod addresses;

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;
use spirv::{Op, StorageClass};

use super::contents::{Contents, Function, Type};
use super::instruction::{Checked, Instruction, MalformedAt, instructions_in};
use super::words::is_sample;
use crate::error::Malformed;
pub(super) use addresses::{ANYWHERE, address_root};
use addresses::{Addresses, aligned};

/// Variables that one parameter is followed to; beyond that all buffers count as read and written.
const MAX_ROOTS: usize = 16;

/// How one variable is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// What an address is a multiple of where it is used, at least. Bytes.
    pub(super) alignment: u32,
}

impl Use {
    pub(super) fn join(self, other: Self) -> Self {
        let (reads, writes) = (self.reads || other.reads, self.writes || other.writes);
        Self { reads, writes, alignment: self.alignment.max(other.alignment) }
    }
}

/// Variables that a pointer may lead to.
type Roots = SmallVec<[u32; 1]>;

/// The variables that functions reached from the entry point mention, and how they use them. Memory that is reached by its
/// address is among them, under [`address_root`] and [`ANYWHERE`].
pub(super) fn uses(words: &[u32], contents: &Contents, entry: u32) -> Checked<HashMap<u32, Use>> {
    let addresses = Addresses::new(contents);
    let mut walk = UseWalk { contents, roots: HashMap::new(), uses: HashMap::new(), is_wild: false, addresses };
    for global in &contents.globals {
        walk.roots.insert(global.id, smallvec::smallvec![global.id]);
    }
    let functions = callers_first(contents, entry)?;
    while walk.starts_round() {
        functions.iter().try_for_each(|function| walk.function(words, function))?;
    }
    let UseWalk { mut uses, is_wild, .. } = walk;
    if is_wild {
        uses.values_mut().for_each(|used| *used = used.join(BOTH));
    }
    Ok(uses)
}

/// The functions that are reached, each before those it calls.
pub(crate) fn callers_first(contents: &Contents, entry: u32) -> Checked<Vec<&Function>> {
    let mut done = Vec::new();
    let (mut seen, mut open) = (HashSet::from([entry]), HashSet::from([entry]));
    let mut stack = vec![(entry, 0)]; // A function, and how many of its calls were followed.
    while let Some((id, followed)) = stack.last_mut() {
        let function = &contents.functions[&*id];
        if let Some(&callee) = function.calls.get(*followed) {
            *followed += 1;
            if open.contains(&callee) {
                return Err(MalformedAt { word: function.at, problem: Malformed::Recursion { id: callee } });
            }
            if seen.insert(callee) {
                open.insert(callee);
                stack.push((callee, 0));
            }
        } else {
            open.remove(id);
            done.push(function);
            stack.pop();
        }
    }
    done.reverse();
    Ok(done)
}

/// Whether the instruction reads texels of its first operand, an image or an image with a sampler.
fn reads_image(op: Op) -> bool {
    matches!(op, Op::ImageFetch | Op::ImageRead) || is_sample(op)
}

const READS: Use = Use { reads: true, writes: false, alignment: 0 };
const WRITES: Use = Use { reads: false, writes: true, alignment: 0 };
const BOTH: Use = Use { reads: true, writes: true, alignment: 0 };

struct UseWalk<'a> {
    contents: &'a Contents,
    roots: HashMap<u32, Roots>,
    uses: HashMap<u32, Use>,
    is_wild: bool,
    addresses: Addresses,
}

impl UseWalk<'_> {
    fn function(&mut self, words: &[u32], function: &Function) -> Checked<()> {
        for instruction in instructions_in(words, function.words.clone()) {
            let instruction = instruction?;
            // Labels behind 64-bit numbers may be taken for others here; no label is a pointer.
            if instruction.op() != Op::Switch {
                self.instruction(&instruction, &instruction.ids(|_| false)?)?;
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction<'_>, ids: &[u32]) -> Checked<()> {
        for id in ids {
            for &root in self.roots.get(id).into_iter().flatten() {
                self.uses.entry(root).or_default();
            }
        }
        let op = instruction.op();
        match op {
            Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::CopyObject => {
                self.derive_push(instruction)?;
                return self.derive(instruction);
            }
            Op::FunctionParameter | Op::Variable => {
                self.declare(instruction);
                return Ok(());
            }
            Op::ArrayLength => return Ok(()),
            Op::Load if self.is_address(instruction.ty) => self.load_address(instruction)?,
            // An image or a sampler that is loaded is used by what follows.
            Op::Load if self.is_handle(instruction.ty) => return self.derive(instruction),
            Op::Image => return self.derive(instruction),
            Op::SampledImage => {
                self.mark(instruction.operand(1)?, READS);
                return self.derive(instruction);
            }
            Op::ImageQuerySize | Op::ImageQuerySizeLod | Op::ImageQueryLevels => {}
            Op::ImageWrite => {
                let image = instruction.operand(0)?;
                self.is_wild |= !self.roots.contains_key(&image);
                self.mark(image, WRITES);
            }
            op if reads_image(op) => self.mark(instruction.operand(0)?, READS),
            Op::Load => self.mark(instruction.operand(0)?, aligned(READS, instruction, 1)),
            Op::AtomicLoad | Op::CooperativeMatrixLoadKHR => self.mark(instruction.operand(0)?, READS),
            Op::Store => {
                self.mark(instruction.operand(0)?, aligned(WRITES, instruction, 2));
                self.mark_variables(instruction.operand(1)?); // A pointer that is stored may be used anywhere.
                self.hold(instruction.operand(0)?, instruction.operand(1)?);
            }
            Op::AtomicStore | Op::CooperativeMatrixStoreKHR => self.mark(instruction.operand(0)?, WRITES),
            Op::CopyMemory | Op::CopyMemorySized => {
                self.mark(instruction.operand(0)?, WRITES);
                self.mark(instruction.operand(1)?, READS);
                self.lose(instruction.operand(0)?);
            }
            // An address that is a number, one of several, or part of a value, leads anywhere.
            Op::ConvertPtrToU | Op::Bitcast => {}
            Op::Select | Op::Phi | Op::ReturnValue | Op::CompositeConstruct => {
                ids.iter().for_each(|&id| self.mark_variables(id))
            }
            Op::FunctionCall => self.pass(instruction)?,
            _ => ids.iter().for_each(|&id| {
                self.mark(id, BOTH);
                self.lose(id);
            }),
        }
        self.find_address(instruction);
        // A pointer made in any other way may lead anywhere.
        self.is_wild |= instruction.ty.is_some_and(|ty| self.is_buffer_pointer(ty));
        Ok(())
    }

    fn mark(&mut self, id: u32, used: Use) {
        for &root in self.roots.get(&id).into_iter().flatten() {
            let all = self.uses.entry(root).or_default();
            *all = all.join(used);
        }
    }

    /// The result leads where the first operand does.
    fn derive(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let from = self.roots.get(&instruction.operand(0)?).cloned();
        match (instruction.id, from) {
            (Some(id), Some(roots)) => drop(self.roots.insert(id, roots)),
            // From a value or a local variable, or from what is not known yet.
            _ => self.is_wild |= instruction.ty.is_some_and(|ty| self.is_buffer_pointer(ty)),
        }
        Ok(())
    }

    /// The callee's parameters lead where the arguments do.
    fn pass(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let params = &self.contents.functions[&instruction.operand(0)?].params;
        for (param, argument) in params.iter().zip(&instruction.operands[1..]) {
            let Some(roots) = self.roots.get(argument).cloned() else { continue };
            let known = self.roots.entry(*param).or_default();
            for root in roots {
                if known.contains(&root) {
                    continue;
                }
                if known.len() >= MAX_ROOTS {
                    self.is_wild = true;
                    self.addresses.add_anywhere(known);
                    break;
                }
                self.addresses.has_grown = true;
                known.push(root);
            }
        }
        Ok(())
    }

    fn is_handle(&self, ty: Option<u32>) -> bool {
        let ty = ty.and_then(|ty| self.contents.types.get(&ty));
        matches!(ty, Some(Type::Image { .. } | Type::SampledImage { .. } | Type::Sampler))
    }

    fn is_buffer_pointer(&self, ty: u32) -> bool {
        let classes = [StorageClass::StorageBuffer, StorageClass::Uniform];
        match self.contents.types.get(&ty) {
            Some(Type::Pointer { class, .. }) => classes.iter().any(|of| *of as u32 == *class),
            _ => false,
        }
    }
}
