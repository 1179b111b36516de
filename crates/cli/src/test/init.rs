//! `vkarray test --init`: a first file of tests, of what shaders say that they take. Golden files are the expected values,
//! since nothing else is known of a shader.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use vkarray::DType;
use vkarray::kernel::Bounds;
use vkarray::kernel::signature::{ElementType, Module, Options, Param, ParamKind, Signature};

use crate::args::SourceArgs;
use crate::error::{Error, Result};
use crate::shader::read_shader;
use crate::stdio::print;

/// The file that is written.
const FILE: &str = "tests.toml";

const HEAD: &str = "\
# Tests of `vkarray test`. A first run with --bless writes the golden files: look at them, or better, replace each by a
# text, a value or another kernel that says what is right.
";

/// Writes `tests.toml` of a folder, with a test for each kernel of the shaders below it.
///
/// # Errors
///
/// [`Error::Read`] for the folder, [`Error::NoShaders`], [`Error::Exists`], [`Error::Write`].
pub(crate) fn write(folder: &Path) -> Result<()> {
    let mut shaders = Vec::new();
    find(folder, &mut shaders)?;
    if shaders.is_empty() {
        return Err(Error::NoShaders { folder: folder.to_owned() });
    }
    shaders.sort();
    let (mut text, mut n_tests) = (HEAD.to_owned(), 0);
    for shader in &shaders {
        let name = shader.strip_prefix(folder).unwrap_or(shader).display().to_string();
        match signatures(shader) {
            Ok(signatures) => {
                for signature in &signatures {
                    let test = described(&name, signature, signatures.len() > 1);
                    n_tests += usize::from(test.starts_with("\n[[test]]"));
                    text += &test;
                }
            }
            Err(error) => text += &comment(&format!("{name}: {error}")),
        }
    }
    let path = folder.join(FILE);
    let failed = |reason: std::io::Error| match reason.kind() {
        std::io::ErrorKind::AlreadyExists => Error::Exists { path: path.clone() },
        _ => Error::Write { path: path.clone(), reason: reason.into() },
    };
    let mut file = fs::File::create_new(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let path = path.display();
    print(&format!("{path}: {n_tests} tests of {} shaders; `vkarray test {path} --bless` runs them\n", shaders.len()))
}

/// Adds the shaders below a folder. Hidden folders and links to folders are left out.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |reason| Error::Read { path: folder.to_owned(), reason };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, is_folder) = (entry.path(), entry.file_type().map_err(failed)?.is_dir());
        let extension = path.extension().and_then(|extension| extension.to_str());
        if is_folder && !entry.file_name().to_string_lossy().starts_with('.') {
            find(&path, found)?;
        } else if !is_folder && matches!(extension, Some("wgsl" | "comp" | "glsl" | "spv")) {
            found.push(path);
        }
    }
    Ok(())
}

/// The signature of each entry point.
fn signatures(shader: &Path) -> Result<Vec<Signature>> {
    let module = Module::parse(&read_shader(shader, &SourceArgs::default())?)?;
    let options = Options { bounds: Bounds::Unchecked, assume_addresses: true, ..Options::default() };
    let entries: Vec<String> = module.entry_points().map(str::to_owned).collect();
    let signature = |entry: &String| Ok(module.translate(Some(entry), &Default::default(), &options)?.signature);
    entries.iter().map(signature).collect()
}

fn comment(text: &str) -> String {
    text.lines()
        .enumerate()
        .fold("\n".to_owned(), |comment, (line, text)| comment + "# " + if line == 0 { "" } else { "  " } + text + "\n")
}

/// The `[[test]]` of a kernel, or a comment that says what has to be added.
fn described(shader: &str, signature: &Signature, is_one_of_several: bool) -> String {
    let is_flat = signature.workgroup_size[1] == 1;
    let (size, covering) = if is_flat { ("{n}", "\"{n}\"") } else { ("{n},{n}", "[\"{n}\", \"{n}\"]") };
    let mut arrays = Vec::new();
    for param in &signature.params {
        match array(param, size) {
            Some(text) => arrays.push(format!("{} = \"{text}\"", param.name)),
            None => {
                let what = format!("{shader}: `{}` takes `{}` of {}", signature.entry, param.name, param.ty);
                return comment(&format!("{what}; write a test with an array for it"));
            }
        }
    }
    let given = signature.params.iter().map(|param| format!("{0} = \"{0}\"", param.name));
    let numbers = signature.push_members().iter().map(|member| {
        let types: Vec<DType> = member.ty.leaves().iter().map(|&(_, dtype)| dtype).collect();
        format!("{} = {}", member.name, number(&member.name, &types))
    });
    let args: Vec<String> = given.chain(numbers).collect();
    let written: Vec<&Param> = signature.params.iter().filter(|param| param.writes).collect();
    if written.is_empty() {
        return comment(&format!("{shader}: `{}` writes no array", signature.entry));
    }
    let stem = Path::new(shader).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = if is_one_of_several { signature.entry.clone() } else { stem };
    let mut text = format!("\n[[test]]\nname = \"{name}\"\nshader = \"{shader}\"\n");
    if is_one_of_several {
        let _ = writeln!(text, "entry = \"{}\"", signature.entry);
    }
    let _ = writeln!(text, "sizes = [1, \"workgroup-1\", \"workgroup\", \"workgroup+1\"]");
    let _ =
        writeln!(text, "arrays = {{ {} }}\ncovering = {covering}\narg = {{ {} }}", arrays.join(", "), args.join(", "));
    for Param { name: param, .. } in written {
        let _ = writeln!(text, "expect.{param} = {{ golden = \"golden/{name}-{param}-{{n}}.npy\", rtol = 1e-5 }}");
    }
    text
}

/// The description of an array for a parameter, with an element for each invocation; `None` for a type that has no
/// obvious array.
fn array(param: &Param, size: &str) -> Option<String> {
    let padded = if param.kind == ParamKind::Uniform { "padded:" } else { "" };
    let of = |fill, dtype: DType, shape: &str| Some(format!("{padded}{fill}:{}[{shape}]", dtype.short_name()));
    let filled = |dtype: DType, shape: &str| match (param.reads, dtype.is_float()) {
        (false, _) => of("zeros", dtype, shape),
        (true, true) => of("random", dtype, shape),
        (true, false) => of("arange", dtype, shape),
    };
    let (element, shape) = match &param.ty {
        ElementType::Array { element, len: Some(len), .. } => (&**element, len.to_string()),
        ElementType::Array { element, len: None, .. } => (&**element, size.to_owned()),
        alone => (alone, "1".to_owned()),
    };
    match element {
        ElementType::Scalar(dtype) => filled(*dtype, &shape),
        ElementType::Atomic(dtype) => of("zeros", *dtype, &shape), // A counter.
        ElementType::Vector { len: len @ (2 | 4), scalar } => filled(*scalar, &format!("{shape},{len}")),
        _ => None,
    }
}

/// A value for a push constant of these types: the size for names that often hold it, and 1 otherwise.
fn number(name: &str, types: &[DType]) -> String {
    let is_size = ["n", "len", "length", "size", "count", "width", "height"].contains(&name);
    let one = |dtype: &DType| match (dtype, is_size) {
        (DType::Bool, _) => "true",
        (dtype, _) if dtype.is_float() => "1.0",
        (_, true) => "\"{n}\"",
        _ => "1",
    };
    match types {
        [dtype] => one(dtype).to_owned(),
        types => format!("[{}]", types.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}
