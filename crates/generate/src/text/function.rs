//! Functions that a program wrote as statements in WGSL: their text in a kernel, and the place of a fault in it.

use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_shader::{DType, Error, Module, Source};

use super::class::value_type;
use super::library::{calls, with_functions};
use super::names::{Misuse, Names};
use super::ops::{ELEMENTARY, OF_TWO, dtype_code, operation};
use crate::error::TextFault;
use crate::expr::{Function, Op};

/// The words that the text of a function depends on, besides the types of its arguments.
pub(crate) fn add_to_key(function: &Function, key: &mut SmallVec<[u32; 64]>) {
    let names = function.inputs.iter().chain(&*function.outputs).flat_map(|name| name.bytes().chain([b' ']));
    let bytes: Vec<u8> = function.text.bytes().chain(names).collect();
    let lens = [function.text.len(), bytes.len(), function.types.len()];
    key.extend(lens.map(|len| u32::try_from(len).unwrap_or(u32::MAX)));
    key.extend(function.types.iter().map(|&dtype| dtype_code(dtype)));
    key.extend(bytes.chunks(4).map(|chunk| chunk.iter().fold(0, |word, &byte| word << 8 | u32::from(byte))));
}

/// The function `function{at}`, which returns a struct of `r0` and so on: what comes before its statements, the statements,
/// and what comes after them.
pub(crate) fn declaration(function: &Function, at: usize, inputs: &[DType]) -> [String; 3] {
    let with_type = |(name, &dtype): (&String, &DType)| format!("{name}: {}", value_type(dtype));
    let params: Vec<_> = function.inputs.iter().zip(inputs).map(with_type).collect();
    let outputs: Vec<_> = function.outputs.iter().zip(&function.types).map(with_type).collect();
    let members = function.types.iter().enumerate().map(|(i, &dtype)| format!("r{i}: {}", value_type(dtype)));
    let variables: String = outputs.iter().map(|output| format!("    var {output};\n")).collect();
    let assigned = if function.is_expression { format!("{} =\n", function.outputs.join("")) } else { String::new() };
    let before = format!(
        "struct Results{at} {{ {} }}\nfn function{at}({}) -> Results{at} {{\n{variables}{assigned}",
        members.collect::<Vec<_>>().join(", "),
        params.join(", ")
    );
    let after = format!("\n    ;\n    return Results{at}({});\n}}\n", function.outputs.join(", "));
    [before, function.text.to_string(), after]
}

/// The `f32` functions of the library that the texts call, under NumPy's names. They replace WGSL's functions of the
/// same name, whose errors and special values differ between drivers.
pub(crate) fn elementary<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    const TESTS: [Op; 4] = [Op::Isfinite, Op::Isinf, Op::Isnan, Op::Signbit];
    let called: Vec<&str> = texts.flat_map(calls).collect();
    let all = ELEMENTARY.map(|op| (op, "x: f32", "f32")).into_iter();
    let all = all.chain(TESTS.map(|op| (op, "x: f32", "bool"))).chain(OF_TWO.map(|op| (op, "x: f32, y: f32", "f32")));
    all.filter(|(op, ..)| called.contains(&op.name()))
        .filter_map(|(op, params, result)| {
            let value = operation(op, DType::F32, &["x", "y"])?;
            Some(format!("fn {}({params}) -> {result} {{\n    return {value};\n}}\n", op.name()))
        })
        .collect()
}

/// The fault in the text of a function for arguments of these types, if it has one.
pub fn fault(function: &Function, inputs: &[DType]) -> Option<TextFault> {
    let [before, text, after] = declaration(function, 0, inputs);
    let n_after = text.len() + after.len();
    let own = [elementary([&*text].into_iter()), before, text, after].concat();
    let module = with_functions(&own);
    let (place, report) = match Module::parse(&Source::wgsl(module.clone()).named("text")) {
        Err(Error::Parse { place, report } | Error::Invalid { place, report }) => (place, report),
        _ => return None,
    };
    let first_line = module[..module.len() - n_after].matches('\n').count();
    let lines: Vec<&str> = function.text.lines().collect();
    let is_own = |&(line, _): &(usize, usize)| line > first_line && line <= first_line + lines.len();
    let (line, column) = marks(&report, &module).find(is_own).unwrap_or_else(|| numbers(&place));
    let (line, column, reason) = match line.saturating_sub(first_line) {
        0 => (1, 1, reason(&report)),
        line if line > lines.len() => {
            let end = lines.last().map_or(0, |last| last.chars().count());
            (lines.len().max(1), end + 1, "the text ends too early".to_owned())
        }
        line => (line, column, reason(&report)),
    };
    let hint = hint(lines.get(line - 1).copied().unwrap_or_default(), &reason);
    Some(text_fault(function, inputs, (line, column), reason + &hint))
}

/// A fault at a line and a column of a text.
fn text_fault(function: &Function, inputs: &[DType], (line, column): (usize, usize), reason: String) -> TextFault {
    let of_type = |(name, dtype): (&String, &DType)| format!("{name}: {dtype}");
    let inputs = function.inputs.iter().zip(inputs).map(of_type);
    TextFault {
        line,
        column,
        reason,
        types: inputs.chain(function.outputs.iter().zip(&function.types).map(of_type)).collect(),
        source_line: function.text.lines().nth(line - 1).unwrap_or_default().to_owned(),
    }
}

/// Refuses a text that uses a name of the kernel around it, or reads a result before it has a value.
///
/// # Errors
///
/// The first such use.
pub fn check_names(names: &Names, function: &Function, inputs: &[DType]) -> Result<(), TextFault> {
    let Some(Misuse { at, reason }) = &names.misuse else { return Ok(()) };
    let before = &function.text[..*at];
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    Err(text_fault(function, inputs, (before.matches('\n').count() + 1, column), reason.clone()))
}

/// A hint about a fault in a line, for what is written otherwise in Python.
fn hint(line: &str, reason: &str) -> String {
    const OF_ARRAYS: [&str; 10] = ["mean", "sum", "prod", "std", "var", "median", "argmin", "argmax", "amin", "amax"];
    let unknown = reason.strip_prefix("nothing is called `").and_then(|rest| rest.split('`').next());
    match unknown {
        Some(name) if OF_ARRAYS.contains(&name) => {
            format!("; `{name}` of all elements is a reduction of the array, and a text computes each by itself")
        }
        _ if line.contains("**") => "; the power is `pow(a, b)`, since WGSL has no `**`".to_owned(),
        _ if line.contains('^') && reason.contains("f32") => {
            "; the power is `pow(a, b)`, since `^` is the exclusive or of integers".to_owned()
        }
        _ => String::new(),
    }
}

/// The lines and columns that a report on a module names. A report may name the start of the whole function instead of
/// the fault.
fn marks<'a>(report: &'a str, module: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    report.lines().zip(report.lines().skip(1)).filter_map(|(shown, below)| {
        let number: usize = shown.split_whitespace().next()?.parse().ok()?;
        let start = shown.rfind(module.lines().nth(number.checked_sub(1)?)?)?;
        let mark = below.chars().position(|c| c == '^')?;
        Some((number, (mark + 1).checked_sub(shown[..start].chars().count())?))
    })
}

/// The numbers of `text:line:column`.
fn numbers(place: &str) -> (usize, usize) {
    let mut numbers = place.rsplit(':').map(|number| number.parse().unwrap_or(1));
    let column = numbers.next().unwrap_or(1);
    (numbers.next().unwrap_or(1), column)
}

/// The sentence of a report on a shader, without the lines of the shader.
fn reason(report: &str) -> String {
    let mut lines = report.lines();
    let first = lines.next().unwrap_or_default();
    let Some(sentence) = lines.next().and_then(|line| line.strip_prefix("error: ")) else { return first.to_owned() };
    let notes: Vec<_> = lines.filter_map(|line| line.trim_start().strip_prefix("= ")).collect();
    if notes.is_empty() { sentence.to_owned() } else { notes.join("; ") }
}

/// The functions of a reduction or a scan that a program wrote: one combines two values, the other gives the value that
/// changes none.
#[derive(Debug, Clone)]
pub struct Combine {
    combine: Function,
    /// The function that gives the value that changes none.
    pub identity: Arc<Function>,
    /// The types of `a` and `b`.
    types: [DType; 2],
}

impl Combine {
    /// Makes the functions from two expressions: `combine` of `a` and `b`, and `identity` without arguments.
    ///
    /// # Errors
    ///
    /// The errors of [`check_names`].
    pub fn new(combine: &str, identity: &str, dtype: DType) -> Result<Self, TextFault> {
        let of = |text: &str, inputs: &[&str]| {
            let (names, given) = (Names::of(text), inputs.iter().map(|&name| name.to_owned()).collect());
            let function = Function { inputs: given, ..names.function(text.into(), &[dtype]) };
            check_names(&names, &function, &[dtype; 2][..inputs.len()]).map(|()| function)
        };
        let (combine, identity) = (of(combine, &["a", "b"])?, of(identity, &[])?);
        Ok(Self { combine, identity: Arc::new(identity), types: [dtype; 2] })
    }

    fn functions(&self) -> [(&Function, &[DType]); 2] {
        [(&self.combine, &self.types), (&self.identity, &[])]
    }

    /// The functions `op` and `identity`.
    pub fn text(&self) -> String {
        self.text_named("op", "identity")
    }

    /// The two functions, with these names.
    pub fn text_named(&self, combine: &str, identity: &str) -> String {
        let mut text = elementary(self.functions().iter().map(|(function, _)| &*function.text));
        for ((function, types), at) in self.functions().into_iter().zip(1000..) {
            text += &declaration(function, at, types).concat();
        }
        let ty = value_type(self.types[0]);
        text + &format!(
            "fn {combine}(a: {ty}, b: {ty}) -> {ty} {{\n    return function1000(a, b).r0;\n}}\n\
             fn {identity}() -> {ty} {{\n    return function1001().r0;\n}}\n"
        )
    }

    /// The words that the texts depend on, for the key of a kernel.
    pub fn add_to_key(&self, key: &mut SmallVec<[u32; 64]>) {
        self.functions().iter().for_each(|(function, _)| add_to_key(function, key));
    }

    /// The fault in one of the texts, if there is one.
    pub fn fault(&self) -> Option<TextFault> {
        self.functions().into_iter().find_map(|(function, types)| fault(function, types))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(text: &str, types: &[DType]) -> Function {
        Names::of(text).function(text.into(), types)
    }

    #[test]
    fn faults_are_where_they_were_written() {
        use DType::{F32, F64, I32};
        type Case<'a> = (&'a str, &'a [DType], (usize, usize), &'a str);
        let cases: [Case<'_>; 7] = [
            ("z = a * x +", &[F32, F32], (1, 12), "the text ends too early"),
            (
                "z = a * x",
                &[I32, F32],
                (1, 5),
                "the left side is `i32` and the right side `f32`: convert one of them, as in `i32(…)`",
            ),
            (
                "let d = x - y;\nz = norm(d);",
                &[F32, F32],
                (2, 5),
                "nothing is called `norm` here: declare it, or correct its name",
            ),
            ("z = x; let w = ;", &[F32], (1, 16), "expected expression, found \";\""),
            ("z = exp(x)", &[F64], (1, 5), "`exp` takes a value of type `f32` as `x`, and the call has another type"),
            (
                "let q = 1.0;\nz = mean(x)",
                &[F32],
                (2, 5),
                "nothing is called `mean` here: declare it, or correct its name; `mean` of all elements is a reduction of \
                 the array, and a text computes each by itself",
            ),
            ("z = x", &[I32], (1, 1), "a value of type `i32` stands where `f32` is needed: convert it with `f32(…)`"),
        ];
        let found = cases.map(|(text, inputs, ..)| match fault(&function(text, &[F32]), inputs) {
            Some(found) => (found.line, found.column, found.reason),
            None => panic!("{text}"),
        });
        let expected = cases.map(|(_, _, (line, column), reason)| (line, column, reason.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_python_writes_otherwise_has_a_hint() {
        for (text, hint) in [("z = x ** 2.0", "since WGSL has no `**`"), ("z = x ^ 2.0", "exclusive or of integers")] {
            let Some(found) = fault(&function(text, &[DType::F32]), &[DType::F32]) else { panic!("{text}") };
            assert!(found.reason.ends_with(hint), "{found}");
        }
    }

    #[test]
    fn names_are_refused_where_they_stand() {
        let text = "let Θ = x;\n z = Θ + z";
        let names = Names::of(text);
        let found = check_names(&names, &function(text, &[DType::F32]), &[DType::F32]).unwrap_err();
        assert_eq!((found.line, found.column, found.source_line.as_str()), (2, 10, " z = Θ + z"), "{found}");
        assert!(Combine::new("result + a", "0.0", DType::F32).is_err());
        assert!(Combine::new("a + b", "return 0.0", DType::F32).is_err());
    }

    #[test]
    fn texts_call_functions_of_the_library() {
        for op in
            ["exp(x)", "log1p(x)", "pow(x, x)", "sqrt(x)", "remainder(x, 2.0)", "f32(isnan(x))", "minimum(x, 1.0)"]
        {
            let text = format!("z = {op}");
            assert!(fault(&function(&text, &[DType::F32]), &[DType::F32]).is_none(), "{text}");
        }
    }
}
