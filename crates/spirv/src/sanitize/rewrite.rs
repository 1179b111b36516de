//! Walks the functions of a module and puts calls before what can go wrong: [`rewrite`].
//!
//! Instructions stay as they are, but for the divisors of divisions without a result, the memory that barriers order, and
//! the headers of loops. What is called, and with what, is in `checks.rs` and `notes.rs`; how a loop is ended, in `loops.rs`.

use std::collections::{HashMap, HashSet};

use spirv::{BuiltIn, Capability, Decoration, MemorySemantics, Op, Scope, StorageClass};

use super::InstrumentRequest;
use super::graft::Prelude;
use super::layout::{LayoutRules, Layouts};
use super::loops::{CountedLoop, loops_of};
use super::memory::{Memory, Root};
use super::pointers::Pointer;
use super::site::{Site, SitePlace, Subject};
use crate::binary::code::Code;
use crate::binary::contents::Type;
use crate::binary::instruction::{Checked, HEADER_WORDS, Instruction, instruction_at, instructions_in};
use crate::binary::lines::text;
use crate::binary::uses::callers_first;
use crate::binary::words::{instruction, instructions, op, text_words};

/// The first version that has storage buffers without an extension.
const STORAGE_BUFFERS: u32 = 0x0001_0300;
/// The first version whose entry points list all variables.
const ALL_VARIABLES: u32 = 0x0001_0400;

/// The module with its calls, and the places they stand for.
pub(super) fn rewrite(
    request: &InstrumentRequest<'_>,
    memory: &Memory,
    code: Code,
    prelude: Prelude,
) -> Checked<(Vec<u32>, Vec<Site>)> {
    let mut rewriter = Instrumenter::new(request, memory, code, prelude);
    let words = request.part.words;
    let mut front = words[..HEADER_WORDS].to_vec();
    let instrumented: HashSet<usize> =
        callers_first(request.part.contents, request.part.entry.function)?.iter().map(|function| function.at).collect();
    let mut at = HEADER_WORDS;
    while let Some(instruction) = instruction_at(words, at)? {
        let end = at + instruction.words.len();
        match instruction.op() {
            Op::Function => {
                let id = instruction.id.unwrap_or_default();
                let range = request.part.contents.functions.get(&id).map_or(at..words.len(), |f| f.words.clone());
                at = range.end.max(end);
                if instrumented.contains(&range.start) {
                    rewriter.function(id, range)?;
                } else {
                    rewriter.code.functions.extend(&words[range]);
                }
                continue;
            }
            // Between functions: lines.
            _ if !rewriter.code.functions.is_empty() => rewriter.code.functions.extend(instruction.words),
            _ => front.extend(instruction.words),
        }
        if let (Op::String, Some(id)) = (instruction.op(), instruction.id) {
            rewriter.strings.insert(id, text(instruction.operands));
        }
        at = end;
    }
    Ok(rewriter.finish(&front))
}

/// Rewrites a module.
pub(super) struct Instrumenter<'a> {
    pub(super) request: &'a InstrumentRequest<'a>,
    pub(super) layouts: Layouts<'a>,
    pub(super) memory: &'a Memory,
    pub(super) code: Code,
    pub(super) prelude: Prelude,
    /// The type of each value, also of those that were added.
    pub(super) types: HashMap<u32, u32>,
    pub(super) pointers: HashMap<u32, Pointer>,
    sites: Vec<Site>,
    /// Texts by their ids.
    strings: HashMap<u32, String>,
    /// What holds in the function that is written, up to here.
    pub(super) state: FunctionState,
    /// Variables that the entry point's interface lacks.
    interface: Vec<u32>,
}

/// What holds at a place of a function.
#[derive(Default)]
pub(super) struct FunctionState {
    /// Pointers whose indices were checked in the block.
    pub(super) checked: HashSet<u32>,
    /// The line that is open: file, line, column.
    pub(super) line: Option<[u32; 3]>,
    /// How far the function lies behind where it lies in the module as it was given.
    moved: usize,
    /// Barriers of memory since the last barrier at which invocations wait.
    pub(super) ordered: u32,
    loops: HashMap<u32, CountedLoop>,
    /// Of each block that was cut in two, the second part, which the blocks behind it come from.
    pub(super) tails: HashMap<u32, u32>,
    /// The loop whose header is open, and that is still to be counted.
    pub(super) header: Option<CountedLoop>,
    /// Whether the block is a header that was cut.
    is_cut: bool,
    /// The type of the function's result.
    pub(super) result: u32,
}

impl<'a> Instrumenter<'a> {
    fn new(request: &'a InstrumentRequest<'a>, memory: &'a Memory, code: Code, prelude: Prelude) -> Self {
        let layouts = Layouts { contents: request.part.contents, values: request.part.values };
        let mut pointers = HashMap::new();
        for global in &request.part.contents.globals {
            let Some(&(root, part)) = memory.roots.get(&global.id) else { continue };
            let is_block = request.part.contents.has(global.pointee, None, Decoration::Block)
                || request.part.contents.has(global.pointee, None, Decoration::BufferBlock);
            let name = request.part.contents.name(global.id).map(str::to_owned);
            let name = name.unwrap_or_else(|| if is_block { String::new() } else { format!("%{}", global.id) });
            pointers.insert(global.id, Pointer::whole(name, root, part));
        }
        Self {
            request,
            layouts,
            memory,
            code,
            prelude,
            types: request.part.contents.value_types.clone(),
            pointers,
            sites: Vec::new(),
            strings: HashMap::new(),
            state: FunctionState::default(),
            interface: Vec::new(),
        }
    }

    fn function(&mut self, id: u32, range: std::ops::Range<usize>) -> Checked<()> {
        let words = self.request.part.words;
        let instructions: Vec<_> = instructions_in(words, range.clone()).collect::<Checked<_>>()?;
        let origin = self.request.part.whole.functions.get(&id).map_or(range.start, |function| function.at);
        let (moved, loops) = (range.start.wrapping_sub(origin), loops_of(&instructions)?);
        self.state = FunctionState { moved, loops, ..FunctionState::default() };
        for header in self.state.loops.values_mut() {
            header.tail = self.code.new_id();
            self.state.tails.insert(header.label, header.tail);
        }
        let mut begins = id == self.request.part.entry.function;
        for (index, instruction) in instructions.iter().enumerate() {
            let is_start = matches!(
                instruction.op(),
                Op::Function | Op::FunctionParameter | Op::Label | Op::Variable | Op::Line | Op::NoLine
            );
            if begins && !is_start {
                self.begin();
                begins = false;
            }
            self.instruction(instruction, &instructions[index + 1..])?;
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction<'_>, behind: &[Instruction<'_>]) -> Checked<()> {
        match instruction.op() {
            Op::Function => self.state.result = instruction.ty.unwrap_or_default(),
            Op::Line => self.state.line = instruction.operands.first_chunk().copied(),
            Op::NoLine => self.state.line = None,
            Op::Label => {
                let label = instruction.id.unwrap_or_default();
                self.state.checked.clear();
                self.state.header = self.state.loops.get(&label).cloned();
                self.state.is_cut = self.state.header.is_some();
            }
            Op::Phi => {
                self.phi(instruction);
                return Ok(());
            }
            Op::Variable | Op::FunctionParameter => self.variable(instruction),
            Op::LoopMerge => {
                self.count_round(instruction);
                if self.state.is_cut {
                    return Ok(()); // It stands in the first part of the header.
                }
            }
            _ => {
                self.count_round(instruction);
                return self.checked_instruction(instruction, behind);
            }
        }
        self.code.functions.extend(instruction.words);
        Ok(())
    }

    /// A local variable, or a parameter that points to one that is not known.
    fn variable(&mut self, instruction: &Instruction<'_>) {
        let (Some(id), Some(ty)) = (instruction.id, instruction.ty) else { return };
        if let Some(&Type::Pointer { pointee, .. }) = self.request.part.contents.types.get(&ty) {
            let name = self.request.part.contents.name(id).map_or_else(|| format!("%{id}"), str::to_owned);
            let part = self.layouts.whole(pointee, LayoutRules::Packed);
            self.pointers.insert(id, Pointer::whole(name, Root::Other, part));
        }
    }

    /// What an entry point does first: it passes the invocation's numbers to the checks, which clear the shadow memory.
    fn begin(&mut self) {
        let word = self.code.u32_type();
        let vector = self.code.once(Op::TypeVector, None, &[word, 3]);
        let mut arguments: Vec<u32> = [
            (BuiltIn::GlobalInvocationId, vector),
            (BuiltIn::LocalInvocationIndex, word),
            (BuiltIn::WorkgroupId, vector),
            (BuiltIn::NumWorkgroups, vector),
        ]
        .map(|(wanted, ty)| self.built_in(wanted, ty))
        .into();
        // Where subgroups have barriers of their own, what they order is not known: their invocations count as one.
        let lanes =
            if self.waits_in_subgroups() { self.built_in(BuiltIn::SubgroupSize, word) } else { self.code.number(1) };
        arguments.push(lanes);
        self.call("begin", &arguments);
        let scope = self.code.number(Scope::Workgroup as u32);
        let semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
        let semantics = self.code.number(semantics.bits());
        self.code.push(Op::ControlBarrier, &[scope, scope, semantics]);
    }

    fn waits_in_subgroups(&self) -> bool {
        let contents = self.request.part.contents;
        let subgroup = Scope::Subgroup as u32;
        let is_of_subgroup = |part: &Instruction<'_>| {
            let is_it = |place: usize| {
                part.operands.get(place).and_then(|id| self.request.part.values.count(*id)) == Some(subgroup)
            };
            matches!(part.op(), Op::ControlBarrier | Op::MemoryBarrier) && is_it(0)
        };
        contents.capabilities.contains(&(Capability::GroupNonUniform as u32))
            && instructions_in(self.request.part.words, HEADER_WORDS..self.request.part.words.len())
                .any(|part| part.is_ok_and(|part| is_of_subgroup(&part)))
    }

    /// A built-in value. The entry point's own variable is used, as two for one value are not allowed.
    fn built_in(&mut self, wanted: BuiltIn, ty: u32) -> u32 {
        let contents = self.request.part.contents;
        let is_it = |id: u32| contents.decoration(id, None, Decoration::BuiltIn) == Some(wanted as u32);
        let own = contents.globals.iter().find(|global| global.class == Some(StorageClass::Input) && is_it(global.id));
        let own = own.map(|global| (global.id, global.pointee));
        let (variable, own_type) = own.unwrap_or_else(|| (self.code.input(wanted, ty), ty));
        if !self.request.part.entry.interface.contains(&variable) {
            self.interface.push(variable);
        }
        let value = self.code.value(Op::Load, own_type, &[variable]);
        if own_type == ty { value } else { self.code.value(Op::Bitcast, ty, &[value]) }
    }

    /// Calls a function of the prelude that returns nothing.
    pub(super) fn call(&mut self, name: &str, arguments: &[u32]) {
        let void = self.code.once(Op::TypeVoid, None, &[]);
        self.call_for(name, void, arguments);
    }

    pub(super) fn call_for(&mut self, name: &str, ty: u32, arguments: &[u32]) -> u32 {
        let operands: Vec<u32> = [self.prelude.functions[name]].iter().chain(arguments).copied().collect();
        self.code.value(Op::FunctionCall, ty, &operands)
    }

    /// Notes a place that is checked, and returns its number. Each barrier is a place of its own.
    pub(super) fn site(&mut self, at: usize, subject: Subject) -> u32 {
        let place = match self.state.line {
            Some([file, line, column]) => {
                let file = self.strings.get(&file).filter(|file| !file.is_empty()).cloned();
                SitePlace::Line { file: file.filter(|file| file != self.request.source_name), line, column }
            }
            None => SitePlace::Word(at.wrapping_sub(self.state.moved)),
        };
        let site = Site { place, subject };
        let is_alone = site.subject == Subject::Barrier;
        let known = self.sites.iter().position(|known| !is_alone && *known == site);
        let index = known.unwrap_or_else(|| {
            self.sites.push(site);
            self.sites.len() - 1
        });
        self.code.number(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Puts the module together. `front` is what stands before its functions.
    fn finish(self, front: &[u32]) -> (Vec<u32>, Vec<Site>) {
        let Self { request, mut code, prelude, sites, interface, .. } = self;
        let mut out = front[..HEADER_WORDS].to_vec();
        let storage = "SPV_KHR_storage_buffer_storage_class";
        let mut is_missing =
            out[1] < STORAGE_BUFFERS && !request.part.contents.extensions.iter().any(|known| known == storage);
        let variables: &[u32] = if out[1] < ALL_VARIABLES { &[] } else { &prelude.variables };
        for words in instructions(front) {
            if is_missing && op(words) != Some(Op::Capability) {
                is_missing = false;
                out.extend(instruction(Op::Extension, None, None, &text_words(storage)));
            }
            out.extend(words);
            if op(words) == Some(Op::EntryPoint) {
                let of_entry: &[u32] = if words[2] == request.part.entry.function { &interface } else { &[] };
                let start = out.len() - words.len();
                out.extend(variables.iter().chain(of_entry));
                out[start] += u32::try_from(variables.len() + of_entry.len()).unwrap_or(0) << 16;
            }
        }
        code.functions.extend(prelude.words);
        (code.assembled(&out), sites)
    }
}
