//! How an entry point uses memory that it reaches by addresses: [`Addresses`], a part of the walk over its uses.
//!
//! An address that is loaded from a push constant is a root of its own, [`address_root`]. One that is loaded from other
//! memory, computed or chosen leads [`ANYWHERE`], and what is done there counts for every address. Variables of functions that
//! hold addresses are followed, since compilers keep every pointer of a shader in one: what such a variable holds at any
//! time counts at all times. So the functions are walked until nothing is added.

use std::collections::{HashMap, HashSet};

use spirv::{Decoration, MemoryAccess, Op, StorageClass};

use super::{MAX_ROOTS, Roots, Use, UseWalk};
use crate::binary::contents::{Contents, Type, is_address};
use crate::binary::instruction::{Checked, Instruction};

/// Marks roots that are no variables: no id is as large.
const ADDRESS: u32 = 1 << 31;

/// The root of addresses of which nothing is known.
pub(in crate::binary) const ANYWHERE: u32 = u32::MAX;

/// Rounds over the functions, at most. Compilers store each address once, so that three or four are enough.
const MAX_ROUNDS: u32 = 16;

/// The root of the address that lies so many bytes into the push constants.
pub(in crate::binary) const fn address_root(offset: u32) -> u32 {
    ADDRESS | offset
}

/// What is known of addresses.
pub(super) struct Addresses {
    /// Of pointers into the push constants: the bytes before what they lead to, and its type.
    push: HashMap<u32, (u32, u32)>,
    /// Of variables that hold an address: where it leads.
    held: HashMap<u32, Roots>,
    /// Constants of one word.
    numbers: HashMap<u32, u32>,
    /// Whether the module has pointers to memory that is reached by its address.
    is_used: bool,
    pub(super) has_grown: bool,
    n_rounds: u32,
}

impl Addresses {
    pub(super) fn new(contents: &Contents) -> Self {
        let is_used = contents.types.values().any(is_address);
        let push = contents.globals.iter().filter(|global| global.class == Some(StorageClass::PushConstant));
        let one_word = contents.constants.iter().filter(|constant| constant.op == Op::Constant);
        let private = contents.globals.iter().filter(|global| is_used && global.class == Some(StorageClass::Private));
        Self {
            push: push.map(|global| (global.id, (0, global.pointee))).collect(),
            held: private.filter_map(|global| Some((global.id, held_by(contents, global.pointee)?))).collect(),
            numbers: one_word.filter_map(|constant| Some((constant.id, *constant.operands.first()?))).collect(),
            is_used,
            has_grown: true,
            n_rounds: 0,
        }
    }

    /// Adds that a pointer may lead anywhere, in a module that has addresses.
    pub(super) fn add_anywhere(&mut self, roots: &mut Roots) {
        if self.is_used && !roots.contains(&ANYWHERE) {
            self.has_grown = true;
            roots.push(ANYWHERE);
        }
    }
}

/// What a variable of this type holds at first: nothing, or addresses that are not followed if they are parts of it. `None`
/// if it holds no addresses.
fn held_by(contents: &Contents, ty: u32) -> Option<Roots> {
    let (mut open, mut seen) = (vec![ty], HashSet::new());
    while let Some(part) = open.pop() {
        if !seen.insert(part) {
            continue;
        }
        match &contents.types[&part] {
            of if is_address(of) => return Some(if part == ty { Roots::new() } else { smallvec::smallvec![ANYWHERE] }),
            Type::Struct { members } => open.extend(members),
            Type::Array { element, .. } | Type::RuntimeArray { element } => open.push(*element),
            _ => {}
        }
    }
    None
}

/// The use, with the alignment that the memory operands from that place on promise.
pub(super) fn aligned(used: Use, instruction: &Instruction<'_>, place: usize) -> Use {
    let mask = instruction.operands.get(place).copied().unwrap_or_default();
    let alignment = instruction.operands.get(place + 1).filter(|_| mask & MemoryAccess::ALIGNED.bits() != 0);
    Use { alignment: alignment.copied().unwrap_or_default(), ..used }
}

impl UseWalk<'_> {
    /// Whether the functions have to be walked, again or for the first time.
    pub(super) fn starts_round(&mut self) -> bool {
        let is_first = self.addresses.n_rounds == 0;
        self.addresses.n_rounds += 1;
        let has_grown = std::mem::take(&mut self.addresses.has_grown) && self.addresses.is_used;
        if has_grown && self.addresses.n_rounds > MAX_ROUNDS {
            self.is_wild = true;
            self.uses.entry(ANYWHERE).or_default();
            return false;
        }
        is_first || has_grown
    }

    pub(super) fn is_address(&self, ty: Option<u32>) -> bool {
        ty.and_then(|ty| self.contents.types.get(&ty)).is_some_and(is_address)
    }

    /// Marks the variables that a pointer leads to as read and written. Where an address leads is marked when it is used.
    pub(super) fn mark_variables(&mut self, id: u32) {
        let roots = self.roots.get(&id).into_iter().flatten().filter(|root| **root < ADDRESS);
        for &root in roots {
            let all = self.uses.entry(root).or_default();
            *all = all.join(super::BOTH);
        }
    }

    /// A variable or a parameter of a function.
    pub(super) fn declare(&mut self, instruction: &Instruction<'_>) {
        let ty = instruction.ty.and_then(|ty| self.contents.types.get(&ty));
        if let (Some(id), Some(Type::Pointer { pointee, .. }), Op::Variable) = (instruction.id, ty, instruction.op())
            && self.addresses.is_used
            && !self.addresses.held.contains_key(&id)
            && let Some(held) = held_by(self.contents, *pointee)
        {
            self.roots.insert(id, smallvec::smallvec![id]);
            self.addresses.held.insert(id, held);
        }
        self.find_address(instruction);
    }

    /// An address made in another way than those that are followed leads anywhere.
    pub(super) fn find_address(&mut self, instruction: &Instruction<'_>) {
        if let Some(id) = instruction.id.filter(|id| !self.roots.contains_key(id))
            && self.is_address(instruction.ty)
        {
            self.roots.insert(id, smallvec::smallvec![ANYWHERE]);
        }
    }

    /// Notes which push constant the result leads to, if it leads to one.
    pub(super) fn derive_push(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let counts_elements = matches!(instruction.op(), Op::PtrAccessChain | Op::InBoundsPtrAccessChain);
        let from = self.addresses.push.get(&instruction.operand(0)?).copied().filter(|_| !counts_elements);
        if let (Some(id), Some(from)) = (instruction.id, from)
            && let Some(to) = self.part(from, &instruction.operands[1..])
        {
            self.addresses.push.insert(id, to);
        }
        Ok(())
    }

    /// The bytes before a part of a push constant, and its type.
    fn part(&self, (mut offset, mut ty): (u32, u32), indices: &[u32]) -> Option<(u32, u32)> {
        let contents = self.contents;
        for index in indices {
            let number = *self.addresses.numbers.get(index)?;
            let (next, bytes) = match &contents.types[&ty] {
                Type::Struct { members } => {
                    let member = *members.get(number as usize)?;
                    (member, contents.decoration(ty, Some(number), Decoration::Offset)?)
                }
                Type::Array { element, .. } => {
                    let stride = contents.decoration(ty, None, Decoration::ArrayStride)?;
                    (*element, stride.checked_mul(number)?)
                }
                _ => return None,
            };
            (offset, ty) = (offset.checked_add(bytes)?, next);
        }
        (offset < ADDRESS).then_some((offset, ty))
    }

    /// Follows an address that is loaded.
    pub(super) fn load_address(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let from = instruction.operand(0)?;
        self.mark(from, aligned(super::READS, instruction, 1));
        let Some(id) = instruction.id else { return Ok(()) };
        let mut found = Roots::new();
        if let Some(&(offset, _)) = self.addresses.push.get(&from) {
            found.push(address_root(offset));
        } else {
            for root in self.roots.get(&from).unwrap_or(&smallvec::smallvec![ANYWHERE]) {
                match self.addresses.held.get(root) {
                    Some(held) => held.iter().for_each(|&root| add(&mut found, root)),
                    None => add(&mut found, ANYWHERE),
                }
            }
        }
        self.roots.insert(id, found);
        Ok(())
    }

    /// An address that is stored in variables which are followed.
    pub(super) fn hold(&mut self, variable: u32, value: u32) {
        for root in self.roots.get(&variable).cloned().unwrap_or_default() {
            if let Some(held) = self.addresses.held.get_mut(&root) {
                let before = held.len();
                self.roots.get(&value).into_iter().flatten().for_each(|&root| add(held, root));
                self.addresses.has_grown |= held.len() > before;
            }
        }
    }

    /// A variable whose address may be changed in a way that is not followed.
    pub(super) fn lose(&mut self, variable: u32) {
        for root in self.roots.get(&variable).into_iter().flatten() {
            if let Some(held) = self.addresses.held.get_mut(root) {
                self.addresses.has_grown |= !held.contains(&ANYWHERE);
                add(held, ANYWHERE);
            }
        }
    }
}

/// Adds a root. Beyond the most that are followed, only [`ANYWHERE`] is.
fn add(roots: &mut Roots, root: u32) {
    if !roots.contains(&root) && (roots.len() < MAX_ROOTS || root == ANYWHERE) {
        roots.push(root);
    } else if roots.len() == MAX_ROOTS && !roots.contains(&root) {
        roots.push(ANYWHERE);
    }
}
