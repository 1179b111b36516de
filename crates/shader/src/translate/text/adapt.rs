//! Removes from GLSL what naga does not read and a kernel does not need: [`adapt`].
//!
//! Spaces replace what is removed, so that lines and columns stay. Removed are:
//!
//! - precisions (`highp`, `precision highp float;`): every number has 32 bits;
//! - `writeonly`, and `readonly` and `restrict` of members: promises of the author, on which nothing here relies;
//! - `coherent`: every buffer of the shader is then made coherent instead;
//! - the version: for kernels, versions differ in names only;
//! - `in` after `const`;
//! - memory barriers beside a `barrier()`, which naga makes order all memory;
//! - `layout(offset = n)` of a member, which is compared with naga's own offset afterwards.
//!
//! Uniform variables outside of blocks, OpenGL's, become one block of push constants. Text inside `#define` is
//! treated like any other. naga refuses the rest with its line. Two mistakes of naga are corrected after parsing:
//! `gl_WorkGroupSize` becomes a constant, and a `barrier()` waits for the workgroup. Called by `translate/text.rs`.

use naga::{
    AddressSpace, Barrier, Binding, Block, BuiltIn, Constant, Expression, FunctionArgument, GlobalVariable, Literal,
    MemoryDecorations, Module, Span, Statement, StructMember, TypeInner,
};

/// GLSL that naga may read, and what is to be done with the result.
pub(super) struct Adapted {
    pub(super) text: String,
    /// Whether places in it are not those of the shader's own text.
    pub(super) is_longer: bool,
    is_coherent: bool,
    offsets: Vec<Offset>,
}

/// Where a member of a block is to lie.
struct Offset {
    block: String,
    member: String,
    bytes: u32,
    /// Where that is said, in bytes of the text.
    at: usize,
}

/// A word or sign, by its place.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    start: usize,
    /// Whether it is part of a line that begins with `#`.
    is_directive: bool,
    /// How many `#if` stand open.
    n_conditions: usize,
}

/// Removes from a shader what naga does not read.
pub(super) fn adapt(text: &str) -> Adapted {
    let all = tokens(text);
    let mut adapter = Adapter::new(text, &all);
    let is_coherent = adapter.words();
    adapter.version();
    adapter.barriers();
    adapter.members();
    let (text, offsets) = (adapter.text(), adapter.offsets);
    // Their types are to be seen without precisions.
    let all = tokens(&text);
    let mut adapter = Adapter::new(&text, &all);
    let uniforms = adapter.uniforms();
    let mut text = adapter.text();
    if let Some((at, block)) = &uniforms {
        text.insert_str(*at, block);
    }
    Adapted { text, is_longer: uniforms.is_some(), is_coherent, offsets }
}

impl Adapted {
    /// Changes the module as the removed words say. If that fails, returns the place and the reason.
    pub(super) fn finish(&self, module: &mut Module) -> Result<(), (usize, String)> {
        if self.is_coherent {
            let is_buffer = |variable: &GlobalVariable| matches!(variable.space, AddressSpace::Storage { .. });
            for (_, variable) in module.global_variables.iter_mut().filter(|(_, variable)| is_buffer(variable)) {
                variable.memory_decorations |= MemoryDecorations::COHERENT;
            }
        }
        replace_workgroup_size(module);
        let functions = module.functions.iter_mut().map(|(_, function)| function);
        functions.chain(module.entry_points.iter_mut().map(|point| &mut point.function)).for_each(|function| {
            widen_barriers(&mut function.body);
        });
        for Offset { block, member, bytes, at } in &self.offsets {
            match offset_of(module, block, member) {
                Some(found) if found == *bytes => {}
                found => {
                    let found = found.map_or_else(|| "nowhere".to_owned(), |found| format!("at byte {found}"));
                    return Err((*at, format!("`{block}.{member}` is to lie at byte {bytes}, naga puts it {found}")));
                }
            }
        }
        Ok(())
    }
}

/// Makes each `barrier()` one of the workgroup: naga's waits for the subgroup only.
fn widen_barriers(block: &mut Block) {
    for statement in block.iter_mut() {
        match statement {
            Statement::ControlBarrier(barrier) => *barrier = Barrier::STORAGE | Barrier::WORK_GROUP,
            Statement::Block(inner) => widen_barriers(inner),
            Statement::If { accept: a, reject: b, .. } | Statement::Loop { body: a, continuing: b, .. } => {
                [a, b].into_iter().for_each(widen_barriers);
            }
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| widen_barriers(&mut case.body)),
            _ => {}
        }
    }
}

/// Makes `gl_WorkGroupSize` the constant that it is: naga reads it as an input, which SPIR-V does not have.
fn replace_workgroup_size(module: &mut Module) {
    let is_size = |argument: &FunctionArgument| argument.binding == Some(Binding::BuiltIn(BuiltIn::WorkGroupSize));
    for point in &mut module.entry_points {
        let Some(size) = point.function.arguments.iter().position(is_size) else { continue };
        let ty = point.function.arguments.remove(size).ty;
        let mut append = |expression| module.global_expressions.append(expression, Span::UNDEFINED);
        let components = point.workgroup_size.map(|length| append(Expression::Literal(Literal::U32(length)))).to_vec();
        let init = append(Expression::Compose { ty, components });
        let constant = module.constants.append(Constant { name: None, ty, init }, Span::UNDEFINED);
        for (_, expression) in point.function.expressions.iter_mut() {
            match expression {
                Expression::FunctionArgument(i) if *i as usize == size => *expression = Expression::Constant(constant),
                Expression::FunctionArgument(i) if *i as usize > size => *i -= 1,
                _ => {}
            }
        }
    }
}

fn offset_of(module: &Module, block: &str, member: &str) -> Option<u32> {
    let members_of = |ty: &naga::Type| match &ty.inner {
        TypeInner::Struct { members, .. } if ty.name.as_deref() == Some(block) => Some(members.clone()),
        _ => None,
    };
    let members: Vec<StructMember> = module.types.iter().find_map(|(_, ty)| members_of(ty))?;
    Some(members.iter().find(|found| found.name.as_deref() == Some(member))?.offset)
}

/// Splits a text into words, numbers and signs, without comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut found, mut at, mut is_directive, mut n_conditions, mut is_line_start) =
        (Vec::new(), 0, false, 0_usize, true);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let len = match first {
            '\n' => {
                is_directive &= text[..at].trim_end_matches('\r').ends_with('\\');
                is_line_start = true;
                at += 1;
                continue;
            }
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '/' if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '/' if rest.starts_with("/*") => {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
                continue;
            }
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        is_directive |= is_line_start && first == '#';
        is_line_start = false;
        let token = Token { text: &rest[..len], start: at, is_directive, n_conditions };
        let is_first_word = found.last().is_some_and(|before: &Token<'_>| before.is_directive && before.text == "#");
        match token.text {
            "if" | "ifdef" | "ifndef" if is_directive && is_first_word => n_conditions += 1,
            "endif" if is_directive && is_first_word => n_conditions = n_conditions.saturating_sub(1),
            _ => {}
        }
        found.push(token);
        at += len;
    }
    found
}

struct Adapter<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    out: Vec<u8>,
    offsets: Vec<Offset>,
}

impl<'a> Adapter<'a> {
    fn new(text: &'a str, tokens: &'a [Token<'a>]) -> Self {
        Self { text, tokens, out: text.as_bytes().to_vec(), offsets: Vec::new() }
    }

    fn text(&self) -> String {
        String::from_utf8(self.out.clone()).expect("whole words gave way to spaces")
    }

    /// Whether the tokens from the `i`-th on are these.
    fn is(&self, i: usize, texts: &[&str]) -> bool {
        self.tokens
            .get(i..i + texts.len())
            .is_some_and(|found| found.iter().map(|token| token.text).eq(texts.iter().copied()))
    }

    fn find(&self, from: usize, text: &str) -> Option<usize> {
        (from..self.tokens.len()).find(|&i| self.tokens[i].text == text)
    }

    /// Puts spaces where tokens stand; ends of lines between them stay.
    fn blank(&mut self, tokens: std::ops::RangeInclusive<usize>) {
        let last = &self.tokens[*tokens.end()];
        let range = self.tokens[*tokens.start()].start..last.start + last.text.len();
        self.out[range].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }

    /// Takes out single words. Whether one of them says that buffers are coherent.
    fn words(&mut self) -> bool {
        let mut is_coherent = false;
        for i in 0..self.tokens.len() {
            match self.tokens[i].text {
                "precision" if !self.tokens[i].is_directive => {
                    if let Some(end) = self.find(i, ";").filter(|end| *end <= i + 3) {
                        self.blank(i..=end);
                    }
                }
                "highp" | "mediump" | "lowp" | "writeonly" => self.blank(i..=i),
                "coherent" => {
                    is_coherent = true;
                    self.blank(i..=i);
                }
                "in" if i > 0 && self.tokens[i - 1].text == "const" => self.blank(i..=i),
                _ => {}
            }
        }
        is_coherent
    }

    /// Replaces a version that naga does not support by 450.
    fn version(&mut self) {
        let Some(i) = (0..self.tokens.len()).find(|&i| self.is(i, &["#", "version"])) else { return };
        let Some(number) = self.tokens.get(i + 2) else { return };
        if ["310", "320", "420", "430"].contains(&number.text) {
            self.out[number.start..number.start + 3].copy_from_slice(b"450");
        }
        if self.tokens.get(i + 3).is_some_and(|profile| profile.is_directive && profile.text == "es") {
            self.blank(i + 3..=i + 3);
        }
    }

    /// Takes out memory barriers that stand beside a `barrier()`, and their statement with them.
    fn barriers(&mut self) {
        let is_memory = |text: &str| text.starts_with("memoryBarrier") || text == "groupMemoryBarrier";
        let is_call = |adapter: &Self, i: usize| adapter.is(i + 1, &["(", ")", ";"]);
        let mut i = 0;
        while i < self.tokens.len() {
            // Calls in a row, each four tokens long.
            let is_one = |adapter: &Self, i: usize| {
                adapter.tokens.get(i).is_some_and(|token| is_memory(token.text) || token.text == "barrier")
                    && is_call(adapter, i)
            };
            let row: Vec<_> = (0..).map(|n| i + 4 * n).take_while(|&at| is_one(self, at)).collect();
            if row.iter().any(|&at| self.tokens[at].text == "barrier") {
                // Before the row stands the end of a statement, so that none of it is under a condition alone.
                let is_whole = i > 0 && [";", "{", "}"].contains(&self.tokens[i - 1].text);
                for &at in row.iter().filter(|&&at| is_whole && is_memory(self.tokens[at].text)) {
                    self.blank(at..=at + 3);
                }
            }
            i += if row.is_empty() { 1 } else { 4 * row.len() };
        }
    }

    /// Takes out what members of blocks are qualified by.
    fn members(&mut self) {
        let mut i = 0;
        while let Some(open) = self.find(i, "{") {
            i = open + 1;
            let is_block = open >= 2 && ["buffer", "uniform"].contains(&self.tokens[open - 2].text);
            let Some(close) = self.find(open, "}").filter(|_| is_block) else { continue };
            let block = self.tokens[open - 1].text.to_owned();
            for at in open..close {
                match self.tokens[at].text {
                    "readonly" | "restrict" => self.blank(at..=at),
                    "layout" if self.is(at + 1, &["(", "offset", "="]) && self.is(at + 5, &[")"]) => {
                        self.offset(at, &block, close);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Notes `layout(offset = n)` of a member.
    fn offset(&mut self, at: usize, block: &str, close: usize) {
        let name = (at + 6..close).find(|&i| [";", "[", ","].contains(&self.tokens[i].text)).map(|end| end - 1);
        if let (Some(name), Ok(bytes)) = (name, self.tokens[at + 4].text.parse()) {
            let (block, member) = (block.to_owned(), self.tokens[name].text.to_owned());
            self.offsets.push(Offset { block, member, bytes, at: self.tokens[at].start });
            self.blank(at..=at + 5);
        }
    }

    /// Gathers uniform variables outside of blocks: where the block of push constants is to stand, and its text.
    fn uniforms(&mut self) -> Option<(usize, String)> {
        if self.tokens.iter().any(|token| token.text == "push_constant") {
            return None;
        }
        let (mut depth, mut found, mut members) = (0_i32, Vec::new(), String::new());
        for i in 0..self.tokens.len() {
            let token = self.tokens[i];
            match token.text {
                "{" | "(" => depth += 1,
                "}" | ")" => depth -= 1,
                "uniform" if depth == 0 && !token.is_directive => {
                    let end = self.find(i, ";")?;
                    let is_block = self.tokens[i..end].iter().any(|token| token.text == "{");
                    if is_block {
                        continue;
                    }
                    // Under a condition, opaque, or with a value of its own: naga says what is wrong with it.
                    let is_plain = token.n_conditions == 0 && is_number(self.tokens[i + 1].text);
                    if !is_plain || self.tokens[i..end].iter().any(|token| token.text == "=") {
                        return None;
                    }
                    let declared = &self.text[self.tokens[i + 1].start..=self.tokens[end].start];
                    if declared.contains("//") {
                        return None; // A comment would end at another line.
                    }
                    members.push_str(&declared.replace(['\n', '\r'], " "));
                    found.push((self.layout_before(i), end));
                }
                _ => {}
            }
        }
        let &(first, _) = found.first()?;
        found.iter().for_each(|&(from, to)| self.blank(from..=to));
        Some((self.tokens[first].start, format!("layout(push_constant, std430) uniform Uniforms {{ {members} }};")))
    }

    /// The first token of a `layout(…)` that ends before the `i`-th, or the `i`-th.
    fn layout_before(&self, i: usize) -> usize {
        let is_end = i > 0 && self.tokens[i - 1].text == ")";
        let open = (0..i).rev().find(|&at| self.tokens[at].text == "(").filter(|&at| is_end && at > 0);
        open.filter(|&at| self.tokens[at - 1].text == "layout").map_or(i, |at| at - 1)
    }
}

/// Whether a word is a type of numbers, vectors or matrices.
fn is_number(text: &str) -> bool {
    let stem = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
    ["float", "int", "uint", "double"].contains(&text) || ["vec", "ivec", "uvec", "mat"].contains(&stem)
}

#[cfg(test)]
mod tests;
