//! Reads [`Contents`] from words, and checks the module's structure on the way.
//!
//! Checked: the header, every instruction against the grammar, that ids are in range, defined, and defined once; that types
//! and constants come before what is made of them, that entry points name functions and variables, and that no
//! function contains another. Not checked: blocks and the types of values inside functions, which is `spirv-val`'s work.
//! Read next: `sections.rs` for the order of instructions, then `contents.rs` for the tables and `types.rs`.

use std::collections::{HashMap, HashSet};

use spirv::{AddressingModel, ExecutionMode, ExecutionModel, FPEncoding, Op, StorageClass};

use super::contents::{
    Contents, CooperativeMatrix, DeclaredConstant, EntryPoint, Function, Global, Type, WorkgroupSize, is_address,
};
use super::instruction::{Checked, HEADER_WORDS, Instruction, MalformedAt, instructions_in};
use super::sections::{is_debug, is_declaration, is_local, is_of_extension, is_preamble};
use crate::binary::extensions::is_optional_set;
use crate::error::Malformed;

/// The specification's limit of ids.
const MAX_BOUND: u32 = 0x003f_ffff;

/// Reads and checks a module.
pub(crate) fn read(words: &[u32]) -> Checked<Contents> {
    let bound = check_header(words)?;
    let definitions = Definitions::find(words, bound)?;
    let mut reader =
        ModuleReader { contents: Contents::default(), models: 0, function: None, calls: Vec::new(), ahead: Vec::new() };
    for instruction in instructions_in(words, HEADER_WORDS..words.len()) {
        let instruction = instruction?;
        let ids = instruction.ids(|id| definitions.is_wide(id))?;
        if let Some(&id) = ids.iter().find(|id| !definitions.at.contains_key(id)) {
            let op = instruction.name();
            return instruction.fault(match id {
                1.. if id < bound => Malformed::Undefined { op, id },
                _ => Malformed::IdRange { op, id, bound },
            });
        }
        reader.take(&instruction)?;
    }
    Ok(Contents { value_types: definitions.types, ..reader.finish(words.len())? })
}

fn check_header(words: &[u32]) -> Checked<u32> {
    let fault = |word, problem| Err(MalformedAt { word, problem });
    let [magic, version, _, bound, ..] = *words else {
        return fault(0, Malformed::Header { words: words.len() });
    };
    if magic != spirv::MAGIC_NUMBER {
        return fault(0, Malformed::Magic { found: magic });
    }
    if words.len() < HEADER_WORDS {
        return fault(0, Malformed::Header { words: words.len() });
    }
    let (major, minor) = (version >> 16 & 0xff, version >> 8 & 0xff);
    if major != 1 || minor > 6 {
        return fault(1, Malformed::Version { major, minor });
    }
    if bound == 0 || bound > MAX_BOUND {
        return fault(3, Malformed::Bound { bound, limit: MAX_BOUND });
    }
    Ok(bound)
}

/// Where each id is defined, and of which type values are.
struct Definitions {
    at: HashMap<u32, usize>,
    types: HashMap<u32, u32>,
    /// Number types of 64 bits.
    wide: HashSet<u32>,
}

impl Definitions {
    fn find(words: &[u32], bound: u32) -> Checked<Self> {
        let mut found = Self { at: HashMap::new(), types: HashMap::new(), wide: HashSet::new() };
        for instruction in instructions_in(words, HEADER_WORDS..words.len()) {
            let instruction = instruction?;
            if let Some(id) = instruction.id {
                let op = instruction.name();
                if id == 0 || id >= bound {
                    return instruction.fault(Malformed::IdRange { op, id, bound });
                }
                if let Some(first) = found.at.insert(id, instruction.at) {
                    return instruction.fault(Malformed::Redefined { id, first });
                }
                if let Some(ty) = instruction.ty {
                    found.types.insert(id, ty);
                }
                if matches!(instruction.op(), Op::TypeInt | Op::TypeFloat) && instruction.operand(0)? == 64 {
                    found.wide.insert(id);
                }
            }
        }
        Ok(found)
    }

    fn is_wide(&self, id: u32) -> bool {
        self.types.get(&id).is_some_and(|ty| self.wide.contains(ty))
    }
}

/// One pass over the instructions, in order.
struct ModuleReader {
    contents: Contents,
    /// How many memory models there are.
    models: usize,
    /// The function that is open.
    function: Option<(u32, Function)>,
    /// Calls: where, and of what.
    calls: Vec<(usize, u32)>,
    /// Types of pointers to memory that is reached by its address, declared ahead: where, and the id.
    ahead: Vec<(usize, u32)>,
}

impl ModuleReader {
    fn take(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        if self.function.is_some() {
            return self.take_in_function(instruction);
        }
        match instruction.op() {
            Op::Function => self.open_function(instruction),
            op if is_declaration(op) => self.declare(instruction),
            op if is_preamble(op) => self.preamble(instruction),
            op if is_debug(op) => Ok(()),
            op if is_of_extension(op) => instruction.fault(Malformed::Unsupported { op: instruction.name() }),
            _ => instruction.fault(Malformed::Place { op: instruction.name(), place: "outside a function" }),
        }
    }

    fn open_function(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        self.type_of(instruction)?;
        let id = instruction.id.unwrap_or_default();
        let words = instruction.at..instruction.at;
        let function = Function { at: instruction.at, words, params: Vec::new(), calls: Vec::new() };
        self.function = Some((id, function));
        Ok(())
    }

    fn take_in_function(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let op = instruction.op();
        if op == Op::Function || is_preamble(op) || (is_declaration(op) && !is_local(op)) {
            return instruction.fault(Malformed::Place { op: instruction.name(), place: "inside a function" });
        }
        if instruction.ty.is_some() {
            self.type_of(instruction)?;
        }
        let Some((_, function)) = self.function.as_mut() else { return Ok(()) };
        match op {
            Op::FunctionParameter => function.params.extend(instruction.id),
            Op::FunctionCall => {
                let callee = instruction.operand(0)?;
                function.calls.push(callee);
                self.calls.push((instruction.at, callee));
            }
            Op::FunctionEnd => {
                function.words.end = instruction.at + instruction.words.len();
                if let Some((id, function)) = self.function.take() {
                    self.contents.functions.insert(id, function);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What comes before the types: capabilities, entry points, names, decorations.
    fn preamble(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let contents = &mut self.contents;
        match instruction.op() {
            Op::Capability => contents.capabilities.push(instruction.operand(0)?),
            Op::Extension => contents.extensions.push(instruction.text(0)?),
            Op::ExtInstImport => {
                let set = instruction.text(0)?;
                if is_optional_set(&set) && !contents.extensions.contains(&set) {
                    contents.extensions.push(set);
                }
            }
            Op::MemoryModel => {
                self.models += 1;
                return check_addressing(instruction);
            }
            Op::EntryPoint => {
                let n_name = instruction.text_words(2)?;
                contents.entry_points.push(EntryPoint {
                    at: instruction.at,
                    model: ExecutionModel::from_u32(instruction.operand(0)?),
                    function: instruction.operand(1)?,
                    name: instruction.text(2)?,
                    interface: instruction.operands[2 + n_name..].to_vec(),
                });
            }
            Op::ExecutionMode | Op::ExecutionModeId => self.workgroup_size(instruction)?,
            Op::Name => {
                contents.names.insert(instruction.operand(0)?, instruction.text(1)?);
            }
            Op::MemberName => {
                let member = (instruction.operand(0)?, instruction.operand(1)?);
                contents.member_names.insert(member, instruction.text(2)?);
            }
            Op::Decorate => {
                let key = (instruction.operand(0)?, None, instruction.operand(1)?);
                contents.decorations.insert(key, instruction.operands.get(2).copied().unwrap_or_default());
            }
            Op::MemberDecorate => {
                let (target, member) = (instruction.operand(0)?, instruction.operand(1)?);
                let value = instruction.operands.get(3).copied().unwrap_or_default();
                contents.decorations.insert((target, Some(member), instruction.operand(2)?), value);
            }
            Op::DecorationGroup | Op::GroupDecorate | Op::GroupMemberDecorate => {
                return foreign(instruction, "a group of decorations", "it is deprecated; decorate each id");
            }
            _ => {}
        }
        Ok(())
    }

    fn workgroup_size(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let three = || Ok([instruction.operand(2)?, instruction.operand(3)?, instruction.operand(4)?]);
        let size = match ExecutionMode::from_u32(instruction.operand(1)?) {
            Some(ExecutionMode::LocalSize) => WorkgroupSize::Literal(three()?),
            Some(ExecutionMode::LocalSizeId) => WorkgroupSize::Ids(three()?),
            _ => return Ok(()),
        };
        self.contents.sizes.insert(instruction.operand(0)?, size);
        Ok(())
    }

    /// Types, constants and variables.
    fn declare(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let id = instruction.id.unwrap_or_default();
        match instruction.op() {
            Op::TypeForwardPointer => self.declare_ahead(instruction),
            Op::Variable => self.global(instruction, id),
            Op::Undef => self.type_of(instruction).map(drop),
            op if instruction.ty.is_some() => {
                let (at, ty) = (instruction.at, self.type_of(instruction)?);
                self.contents.constant_ids.insert(id);
                self.contents.constants.push(DeclaredConstant {
                    at,
                    id,
                    ty,
                    op,
                    operands: instruction.operands.to_vec(),
                });
                Ok(())
            }
            _ => {
                let ty = self.read_type(instruction)?;
                // A struct that holds itself, in place of a pointer to itself, would have no end.
                if self.ahead.iter().any(|(_, ahead)| *ahead == id) && !is_address(&ty) {
                    return instruction.needs(id, "a pointer");
                }
                self.contents.types.insert(id, ty);
                Ok(())
            }
        }
    }

    /// Until its own declaration, such a pointer leads to itself.
    fn declare_ahead(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let (id, class) = (instruction.operand(0)?, instruction.operand(1)?);
        let ty = Type::Pointer { class, pointee: id };
        if !is_address(&ty) || self.contents.types.insert(id, ty).is_some() {
            return foreign(instruction, "a pointer declared ahead", "only one to memory reached by its address is");
        }
        self.ahead.push((instruction.at, id));
        Ok(())
    }

    fn global(&mut self, instruction: &Instruction<'_>, id: u32) -> Checked<()> {
        let ty = self.type_of(instruction)?;
        let class = instruction.operand(0)?;
        match self.contents.types.get(&ty) {
            Some(&Type::Pointer { class: of, pointee }) if of == class => {
                let class = StorageClass::from_u32(class);
                let is_initialised = instruction.operands.len() > 1;
                self.contents.globals.push(Global { at: instruction.at, id, class, pointee, is_initialised });
                Ok(())
            }
            _ => instruction.needs(ty, "a pointer to its memory"),
        }
    }

    /// The type of the result, which must be one that is declared already.
    fn type_of(&self, instruction: &Instruction<'_>) -> Checked<u32> {
        self.type_id(instruction, instruction.ty.unwrap_or_default())
    }

    fn type_id(&self, instruction: &Instruction<'_>, id: u32) -> Checked<u32> {
        if self.contents.types.contains_key(&id) {
            return Ok(id);
        }
        instruction.needs(id, "a type")
    }

    fn read_type(&self, instruction: &Instruction<'_>) -> Checked<Type> {
        let operand = |index| instruction.operand(index);
        let part = |index| self.type_id(instruction, instruction.operand(index)?);
        Ok(match instruction.op() {
            Op::TypeBool => Type::Bool,
            Op::TypeInt => Type::Int { width: operand(0)?, is_signed: operand(1)? != 0 },
            Op::TypeFloat => {
                let is_brain = instruction.operands.get(1) == Some(&(FPEncoding::BFloat16KHR as u32));
                Type::Float { width: operand(0)?, is_brain }
            }
            Op::TypeVector => Type::Vector { component: part(0)?, len: operand(1)? },
            Op::TypeMatrix => Type::Matrix { column: part(0)?, columns: operand(1)? },
            Op::TypeArray => {
                let len = operand(1)?;
                if !self.contents.constant_ids.contains(&len) {
                    return instruction.needs(len, "a constant");
                }
                Type::Array { element: part(0)?, len }
            }
            Op::TypeRuntimeArray => Type::RuntimeArray { element: part(0)? },
            Op::TypeStruct => {
                Type::Struct { members: (0..instruction.operands.len()).map(part).collect::<Checked<_>>()? }
            }
            Op::TypePointer => Type::Pointer { class: operand(0)?, pointee: part(1)? },
            Op::TypeCooperativeMatrixKHR => Type::CooperativeMatrix(CooperativeMatrix {
                component: part(0)?,
                scope: operand(1)?,
                rows: operand(2)?,
                columns: operand(3)?,
                role: operand(4)?,
            }),
            Op::TypeImage => Type::Image {
                sampled: part(0)?,
                dim: operand(1)?,
                depth: operand(2)?,
                is_array: operand(3)? != 0,
                is_multisampled: operand(4)? != 0,
                use_: operand(5)?,
                format: operand(6)?,
            },
            Op::TypeSampledImage => Type::SampledImage { image: part(0)? },
            Op::TypeSampler => Type::Sampler,
            op => Type::Other(op),
        })
    }

    /// What can only be said at the end.
    fn finish(self, end: usize) -> Checked<Contents> {
        let fault = |word, problem| Err(MalformedAt { word, problem });
        if self.function.is_some() {
            return fault(end, Malformed::Ends { place: "inside a function" });
        }
        if self.models != 1 {
            return fault(end, Malformed::Count { op: "MemoryModel", count: self.models });
        }
        let contents = self.contents;
        let is_open =
            |id: u32| matches!(contents.types.get(&id), Some(Type::Pointer { pointee, .. }) if *pointee == id);
        if let Some(&(word, id)) = self.ahead.iter().find(|(_, id)| is_open(*id)) {
            return fault(word, Malformed::Undefined { op: "TypeForwardPointer", id });
        }
        let is_function = |id: &u32| contents.functions.contains_key(id);
        if let Some(&(word, id)) = self.calls.iter().find(|(_, id)| !is_function(id)) {
            return fault(word, Malformed::Kind { op: "FunctionCall", id, wanted: "a function" });
        }
        let variables: HashSet<u32> = contents.globals.iter().map(|global| global.id).collect();
        for entry in &contents.entry_points {
            let op = "EntryPoint";
            if !is_function(&entry.function) {
                return fault(entry.at, Malformed::Kind { op, id: entry.function, wanted: "a function" });
            }
            if let Some(&id) = entry.interface.iter().find(|id| !variables.contains(id)) {
                return fault(entry.at, Malformed::Kind { op, id, wanted: "a variable" });
            }
        }
        Ok(contents)
    }
}

fn foreign(instruction: &Instruction<'_>, what: &str, advice: &'static str) -> Checked<()> {
    instruction.fault(Malformed::Foreign { what: what.to_owned(), advice })
}

fn check_addressing(instruction: &Instruction<'_>) -> Checked<()> {
    match AddressingModel::from_u32(instruction.operand(0)?) {
        Some(AddressingModel::Logical | AddressingModel::PhysicalStorageBuffer64) => Ok(()),
        Some(AddressingModel::Physical32 | AddressingModel::Physical64) => {
            foreign(instruction, "a physical addressing model", "that is OpenCL's; compile for Vulkan, with clspv")
        }
        None => foreign(instruction, "an unknown addressing model", "compile for Vulkan"),
    }
}
