//! What is wrong with a shader, in a sentence that says what to do: [`of_parser`] and [`of_validator`].
//!
//! naga's own messages name its data structures. For the mistakes that are common among those who come from CUDA, HLSL or
//! GLSL, a sentence of ours replaces naga's; the lines of the shader and their marks stay ([`report`]). All other messages
//! are shown unchanged. Called by `translate/text.rs`; the tests show every sentence.

use naga::common::wgsl::TypeContext;
use naga::front::wgsl::ParseError;
use naga::valid::{
    CallError, Disalignment, EntryPointError, ExpressionError, FunctionError, GlobalVariableError, TypeFlags,
    ValidationError, VaryingError,
};
use naga::{AddressSpace, GlobalVariable, Handle, Module, TypeInner};

use crate::translate::reflect::array_len;

/// What a report says: the sentence and the lines of the shader, or all that naga says under a heading.
pub(super) fn report(sentence: Option<String>, heading: &str, by_naga: &str) -> String {
    let Some(sentence) = sentence else { return format!("{heading}\n{by_naga}") };
    let is_note = |line: &&str| line.trim_start().starts_with("= ");
    // A mark's text may name one of naga's structures, which says nothing about the shader.
    let shown = |line: &str| line.split(" naga::ir::").next().unwrap_or_default().trim_end().to_owned();
    let mut lines: Vec<_> = by_naga.lines().skip(1).take_while(|line| !is_note(line)).map(shown).collect();
    while lines.last().is_some_and(|line| matches!(line.trim(), "" | "│")) {
        lines.pop();
    }
    lines.insert(0, sentence);
    lines.join("\n")
}

/// Texts between backquotes or double quotes of a message.
fn quoted(message: &str) -> Vec<&str> {
    message.split(['`', '"']).skip(1).step_by(2).collect()
}

/// Messages of naga's parser of WGSL, with `…` for what may stand between beginning and end, and the sentence that replaces
/// them.
const OF_PARSER: [(&str, &str); 16] = [
    (
        "Parser recursion limit exceeded…",
        "too many brackets or blocks are inside each other: use several statements or functions",
    ),
    ("expected…found \"\"", "the text ends too early: a `}` or `)` is missing"),
    ("expected `;`, found \"?\"…", "WGSL has no `a ? b : c`: write `select(c, b, a)`, the value for false first"),
    ("expected `,`, found \";\"…", "what stands here is separated by `,`, not by `;`"),
    (
        "expected assignment…",
        "this is no statement of WGSL: variables are declared with `var name = value;` or, if they do not change, \
         `let name = value;`",
    ),
    (
        "expected global item…found \"#\"",
        "WGSL has no `#define` and no `#include`: declare a `const`, or add the other text with `Source::with`",
    ),
    (
        "invalid left-hand side of assignment…",
        "this cannot be changed: declare it with `var` in place of `let`, or copy the argument to a `var`",
    ),
    (
        "increment/decrement operation requires…",
        "`++` and `--` change a `var` of type `i32` or `u32`; for other types write `+= 1`",
    ),
    ("workgroup size is missing…", "an entry point needs the size of its workgroups: `@compute @workgroup_size(64)`"),
    (
        "expected global declaration, but found a global directive…",
        "`enable`, `requires` and `diagnostic` stand before all else in the shader's own text, not in a library",
    ),
    ("variable…attribute", "a buffer needs both of its numbers: `@group(0) @binding(0)`"),
    ("unknown address space: `push_constant`…", "push constants are declared with `var<immediate>`"),
    ("the `f16` enable extension is not enabled…", "`f16` needs `enable f16;` as the shader's first line"),
    (
        "this operation is not supported in a const context…",
        "a `const` is computed before the shader runs: use `let` for a value that the kernel computes",
    ),
    (
        "atomic variables cannot be accessed directly…",
        "an atomic variable is read and changed by functions: `atomicLoad(&a)`, `atomicStore(&a, value)`, \
         `atomicAdd(&a, value)`",
    ),
    (
        "atomic operation is done on a pointer to a non-atomic…",
        "atomic functions take a pointer to an atomic type: declare it `atomic<u32>`, `atomic<i32>` or `atomic<f32>`, \
         an array as `array<atomic<u32>>`",
    ),
];

/// A sentence for what naga's parser of WGSL refuses.
pub(super) fn of_parser(error: &ParseError) -> Option<String> {
    let message = error.message();
    let fits = |(pattern, _): &&(&str, &str)| {
        pattern.split_once('…').is_some_and(|(start, end)| message.starts_with(start) && message.ends_with(end))
    };
    OF_PARSER.iter().find(fits).map(|&(_, sentence)| sentence.to_owned()).or_else(|| with_names(message))
}

/// A sentence that repeats names or types of the message.
fn with_names(message: &str) -> Option<String> {
    let starts = |start: &str| message.starts_with(start);
    let names = quoted(message);
    let name = |index: usize| names.get(index).copied().unwrap_or_default();
    Some(match message {
        _ if starts("automatic conversions cannot convert") && is_pair_of_halves(name(0)) => format!(
            "`bitcast<{0}>` of a vector of `f16` is not translated: write `pack2x16float(vec2<f32>(a))` for each two numbers",
            name(1)
        ),
        _ if starts("automatic conversions cannot convert") => {
            format!("a value of type `{0}` stands where `{1}` is needed: convert it with `{1}(…)`", name(0), name(1))
        }
        _ if starts("the type of") => format!(
            "`{0}` is declared as `{1}`, but its value is {2}: convert the value with `{1}(…)`, or leave the type out",
            name(0),
            name(1),
            type_in_words(name(2))
        ),
        _ if starts("the concrete type") => format!("`{}` does not fit the type `{}`", name(1), name(0)),
        _ if starts("wrong type passed as argument") => {
            let number = message.split(['#', ' ']).find(|word| word.parse::<u32>().is_ok()).unwrap_or_default();
            format!("`{}` does not take a value of this type as argument {number}: convert it, as in `f32(…)`", name(0))
        }
        _ if message.ends_with("is a reserved keyword") => {
            format!("`{}` is a reserved word of WGSL: choose another name", name(0))
        }
        _ if starts("expected `;`") => format!("a `;` is missing before `{}`", name(1)),
        _ if starts("no definition in scope") => unknown_name(name(0)),
        _ if starts("redefinition of") => {
            format!("`{}` is declared twice: choose another name for one of them", name(0))
        }
        _ => return None,
    })
}

/// Whether a type is what naga 30 makes of the bits of a vector of `f16`, which is to become an integer.
fn is_pair_of_halves(ty: &str) -> bool {
    ["vec2<u16>", "vec4<u16>", "vec2<i16>", "vec4<i16>", "u16", "i16"].contains(&ty)
}

/// A type as naga writes it in messages, for a sentence.
fn type_in_words(ty: &str) -> String {
    match ty {
        "{AbstractFloat}" => "a number with a fraction".to_owned(),
        "{AbstractInt}" => "a whole number".to_owned(),
        ty => format!("`{ty}`"),
    }
}

/// What to write in place of names of other languages.
fn unknown_name(name: &str) -> String {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
    let scalar = match stem {
        "float" | "vec" | "mat" => "f32",
        "double" => "f64",
        "half" => "f16",
        "int" | "ivec" => "i32",
        "uint" | "unsigned" | "uvec" => "u32",
        _ => "",
    };
    let is_index = ["threadIdx", "blockIdx", "blockDim", "gridDim"].contains(&name) || name.starts_with("gl_");
    match (scalar, name.len() - stem.len()) {
        (scalar @ ("f64" | "f32" | "f16" | "i32" | "u32"), 0) if !["vec", "ivec", "uvec", "mat"].contains(&stem) => {
            format!("`{name}` is no type of WGSL: it is called `{scalar}`")
        }
        (scalar @ ("f32" | "f16" | "i32" | "u32"), 1) => {
            let lanes = &name[stem.len()..];
            format!("`{name}` is no type of WGSL: it is called `vec{lanes}<{scalar}>`")
        }
        _ if is_index => format!(
            "`{name}` is not of WGSL: built-in values are arguments of the entry point, such as \
             `@builtin(global_invocation_id) id: vec3<u32>`"
        ),
        _ if ["mod", "fmod"].contains(&name) => format!("WGSL has no `{name}`: write `a % b`"),
        _ => format!("nothing is called `{name}` here: declare it, or correct its name"),
    }
}

/// A sentence for what naga's validator refuses in a module.
pub(super) fn of_validator(error: &ValidationError, module: &Module) -> Option<String> {
    match error {
        ValidationError::GlobalVariable { handle, source, .. } => of_variable(&module.global_variables[*handle], source, module),
        ValidationError::Function { source, .. }
        | ValidationError::EntryPoint { source: EntryPointError::Function(source), .. } => of_function(source, module),
        ValidationError::EntryPoint { source, .. } => match source {
            EntryPointError::BindingCollision(variable) => of_clash(*variable, module),
            EntryPointError::OutOfRangeWorkgroupSize => {
                Some("a workgroup has 1 to 16384 invocations along each axis".to_owned())
            }
            EntryPointError::MoreThanOneImmediateUsed => Some(
                "an entry point can use one `var<immediate>`: put them into one struct".to_owned(),
            ),
            EntryPointError::Argument(_, VaryingError::MissingBinding) => Some(
                "each argument of an entry point is a built-in value, such as `@builtin(global_invocation_id) id: vec3<u32>`; \
                 numbers are passed as `var<immediate>`, arrays as `var<storage>`"
                    .to_owned(),
            ),
            EntryPointError::Result(VaryingError::MissingBinding) => {
                Some("a compute entry point returns nothing: write the result into a `var<storage, read_write>`".to_owned())
            }
            _ => None,
        },
        _ => None,
    }
}

/// A sentence for two variables at one binding, of which naga names the second.
fn of_clash(second: Handle<GlobalVariable>, module: &Module) -> Option<String> {
    let binding = module.global_variables[second].binding?;
    let is_first = |(_, variable): &(_, &GlobalVariable)| variable.binding == Some(binding);
    let (_, first) = module.global_variables.iter().find(is_first)?;
    let both = [first, &module.global_variables[second]];
    let is_storage = both.iter().all(|variable| matches!(variable.space, AddressSpace::Storage { .. }));
    let [first, second] = both.map(|variable| variable.name.as_deref().unwrap_or_default());
    let naga::ResourceBinding { group, binding } = binding;
    let other = if is_storage { "; in SPIR-V an entry point may use both" } else { "" };
    Some(format!(
        "`{first}` and `{second}` have the same group {group} and binding {binding}: give one of them another number{other}"
    ))
}

/// A sentence for a variable outside of functions.
fn of_variable(variable: &GlobalVariable, error: &GlobalVariableError, module: &Module) -> Option<String> {
    let name = variable.name.as_deref().unwrap_or_default();
    match error {
        GlobalVariableError::Alignment(AddressSpace::Uniform, _, Disalignment::ArrayStride { stride, .. }) => {
            let advice = uniform_array(variable, *stride, module)
                .unwrap_or_else(|| "make the elements `vec4`, or use `var<storage, read>`".to_owned());
            Some(format!(
                "`{name}`: elements of an array in `var<uniform>` lie at multiples of 16 bytes, these at {stride}: {advice}"
            ))
        }
        GlobalVariableError::InvalidBinding => {
            Some(format!("`{name}` needs its place, which no other buffer has: `@group(0) @binding(0)`"))
        }
        GlobalVariableError::InvalidType(AddressSpace::Handle) => Some(format!(
            "`{name}` needs an address space: `var<storage, read_write>` for a buffer, `var<workgroup>` for shared memory, \
             `var<private>` for one invocation"
        )),
        GlobalVariableError::MissingTypeFlags { required, seen }
            if required.contains(TypeFlags::SIZED) && !seen.contains(TypeFlags::SIZED) =>
        {
            Some(format!(
                "`{name}` needs a length, as in `array<f32, 64>`: only `var<storage>` may leave it to the buffer"
            ))
        }
        _ => None,
    }
}

/// The array of vectors of four that holds the same bytes.
fn uniform_array(variable: &GlobalVariable, stride: u32, module: &Module) -> Option<String> {
    let TypeInner::Array { base, size, .. } = module.types[variable.ty].inner else { return None };
    let TypeInner::Scalar(scalar) = module.types[base].inner else { return None };
    let (len, name) = (array_len(module, size)?, type_name(&TypeInner::Scalar(scalar), module));
    let n_vectors = len.div_ceil(4);
    (stride == 4).then(|| {
        format!("use `array<vec4<{name}>, {n_vectors}>`, whose number `i` is `[i / 4][i % 4]`, or `var<storage, read>`")
    })
}

/// A sentence for a statement or an expression.
fn of_function(error: &FunctionError, module: &Module) -> Option<String> {
    Some(match error {
        FunctionError::Expression { source, .. } => return of_expression(source, module),
        FunctionError::InvalidIfType(_) => "the condition is no `bool`: compare the value, as in `i != 0u`".to_owned(),
        FunctionError::InvalidStorePointer(_) => {
            "this cannot be written: a buffer that is written is a `var<storage, read_write>`".to_owned()
        }
        FunctionError::InvalidStoreTypes { .. } => "the value has another type than what it is stored to".to_owned(),
        FunctionError::InvalidReturnType { .. } => "the value is not of the type that the function returns".to_owned(),
        FunctionError::InvalidCall { function, error } => {
            let callee = &module.functions[*function];
            let name = callee.name.as_deref().unwrap_or_default();
            match error {
                CallError::ArgumentCount { required, seen } => {
                    format!("`{name}` takes {required} arguments, and the call has {seen}")
                }
                CallError::ArgumentType { index, required, .. } => {
                    let ty = type_name(&module.types[*required].inner, module);
                    let argument = callee.arguments[*index].name.as_deref().unwrap_or_default();
                    format!("`{name}` takes a value of type `{ty}` as `{argument}`, and the call has another type")
                }
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn of_expression(error: &ExpressionError, module: &Module) -> Option<String> {
    Some(match error {
        ExpressionError::InvalidBinaryOperandTypes { lhs_type, rhs_type, .. } => {
            let (left, right) = (type_name(lhs_type, module), type_name(rhs_type, module));
            if left == right {
                format!("this operator does not take values of type `{left}`")
            } else {
                format!(
                    "the left side is `{left}` and the right side `{right}`: convert one of them, as in `{left}(…)`"
                )
            }
        }
        ExpressionError::InvalidIndexType(_) => "an index is an `i32` or a `u32`: convert it with `u32(…)`".to_owned(),
        ExpressionError::NegativeIndex(_) => "an index is not negative: arrays begin at 0".to_owned(),
        ExpressionError::IndexOutOfBounds(_, index) => format!("there is no element {index}: the first is number 0"),
        _ => return None,
    })
}

/// A type as WGSL writes it.
fn type_name(inner: &TypeInner, module: &Module) -> String {
    let mut name = String::new();
    let written = module.to_ctx().write_type_inner(inner, &mut name);
    written.map_or_else(|_| "another type".to_owned(), |()| name)
}

#[cfg(test)]
mod tests;
