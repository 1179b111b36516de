//! `vkarray inspect`: the arguments and requirements of a shader, as text or as JSON, for which no device is opened; or how
//! bytes are copied on a device.
//!
//! For each kernel, [`Signature`] prints the first lines. The block of push constants and each struct follow, by field
//! and offset.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use vkarray::Context;
use vkarray::kernel::signature::{
    Capability, ElementType, Module, Options, Param, PushConstants, Signature, Translated,
};
use vkarray::kernel::{Bounds, ShaderError};

use crate::args::InspectArgs;
use crate::error::Result;
use crate::run::step::parse_constants;
use crate::shader::read_shader;
use crate::stdio::{json, print};

/// One kernel as JSON.
#[derive(Debug, Serialize)]
struct Inspected {
    #[serde(flatten)]
    signature: Signature,
    /// Whether the kernel uses subgroups in any way.
    uses_subgroups: bool,
    /// The constants that are taken as 1, since they have no default, or the kernel is not valid at it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instead: Vec<String>,
}

/// Reads the shader and prints what its entry points take.
///
/// # Errors
///
/// The first error of the shader, its constants or the entry point's name; for a copy, that no device can be opened.
pub(crate) fn inspect(args: &InspectArgs) -> Result<()> {
    if let Some(bytes) = args.copy {
        let ctx = Context::builder().open()?;
        return print(&ctx.allocator().explain_copy(ctx.default_stream(), bytes).map_err(vkarray::Error::from)?);
    }
    let shader = args.shader.as_deref().expect("clap asks for a shader or a number of bytes");
    let module = Module::parse(&read_shader(shader, &args.source)?)?;
    let constants = parse_constants(&args.constants)?;
    let entries: Vec<Option<&str>> = match &args.entry {
        Some(entry) => vec![Some(entry)],
        None if module.entry_points().next().is_some() => module.entry_points().map(Some).collect(),
        None => vec![None], // The library reports that there is no entry point.
    };
    let kernels = entries.into_iter().map(|entry| kernel(&module, entry, &constants)).collect::<Result<Vec<_>>>()?;
    if args.json {
        return print(&json(&kernels));
    }
    let texts: Vec<String> = kernels.iter().map(|kernel| described(&kernel.signature) + &note(kernel)).collect();
    print(&texts.join("\n"))
}

fn kernel(module: &Module, entry: Option<&str>, constants: &BTreeMap<String, f64>) -> Result<Inspected> {
    // Dot products are translated to the device's instruction, so that its capability is listed. No driver gets the
    // code, so the code needs no bounds checks, and no promise for what it reaches by addresses.
    let options =
        Options { integer_dot_product: true, bounds: Bounds::Unchecked, assume_addresses: true, ..Options::default() };
    let (mut values, mut instead) = (constants.clone(), Vec::new());
    let translated = loop {
        match module.translate(entry, &values, &options) {
            Err(ShaderError::MissingConstant { constant, .. }) if !values.contains_key(&constant) => {
                values.insert(constant.clone(), 1.0);
                instead.push(constant);
            }
            Err(error @ ShaderError::Constants { .. }) => {
                let (translated, name) = valid_instead(module, entry, &values, &options).ok_or(error)?;
                instead.push(name);
                break translated;
            }
            translated => break translated?,
        }
    };
    let signature = translated.signature;
    let uses_subgroups = signature.capabilities.iter().copied().any(Capability::is_of_subgroups);
    Ok(Inspected { signature, uses_subgroups, instead })
}

/// The translation of a shader that is not valid with its default constants. The first unset constant whose value 1
/// makes the shader valid is taken as 1.
fn valid_instead(
    module: &Module,
    entry: Option<&str>,
    constants: &BTreeMap<String, f64>,
    options: &Options,
) -> Option<(Translated, String)> {
    let names = module.constant_names().0;
    names.into_iter().filter(|name| !constants.contains_key(name)).find_map(|name| {
        let changed = constants.clone().into_iter().chain([(name.clone(), 1.0)]).collect();
        Some((module.translate(entry, &changed, options).ok()?, name))
    })
}

/// The lines about a constant whose value is not the shader's default, and about probable mistakes.
fn note(kernel: &Inspected) -> String {
    let note = |name: &String| format!("  with `{name}` = 1: it has no default that is valid, so it must be set\n");
    let warnings = kernel.signature.warnings().into_iter().map(|warning| format!("  warning: {warning}\n"));
    kernel.instead.iter().map(note).chain(warnings).collect()
}

/// The signature, then the block of push constants and each struct that the block names.
fn described<'a>(signature: &'a Signature) -> String {
    let mut text = format!("{signature}\n");
    let mut structs = Vec::new();
    let members = signature.push_constants.iter().flat_map(|push| &push.members).map(|member| &member.ty);
    let of_param = |param: &'a Param| std::iter::once(&param.ty).chain(param.aliases.iter().map(|alias| &alias.ty));
    signature.params.iter().flat_map(of_param).chain(members).for_each(|ty| collect(ty, &mut structs));
    if let Some(push) = signature.push_constants.as_ref().filter(|push| push.members.len() > 1) {
        let PushConstants { name, ty, bytes, .. } = push;
        writeln!(text, "  {name}: {ty}, {bytes} bytes of push constants").expect("writing to a string cannot fail");
    }
    for ty in structs {
        let ElementType::Struct { name, fields, bytes } = ty else { continue };
        let end = if ty.runtime_array().is_some() { " with one element" } else { "" };
        writeln!(text, "  {name}: {bytes} bytes{end}").expect("writing to a string cannot fail");
        let width = fields.iter().map(|field| field.name.chars().count()).max().unwrap_or(0);
        for field in fields {
            let (offset, spelled) = (format!("+{}", field.offset), spelled(&field.ty));
            writeln!(text, "    {offset:6}  {:width$}  {spelled}", field.name)
                .expect("writing to a string cannot fail");
        }
    }
    text
}

/// Adds the structs in a type, outer ones first, each once.
fn collect<'a>(ty: &'a ElementType, found: &mut Vec<&'a ElementType>) {
    match ty {
        ElementType::Struct { fields, .. } if !found.contains(&ty) => {
            found.push(ty);
            fields.iter().for_each(|field| collect(&field.ty, found));
        }
        ElementType::Array { element, .. } => collect(element, found),
        _ => {}
    }
}

/// A type, with the strides that its name does not show.
fn spelled(ty: &ElementType) -> String {
    let mut text = ty.to_string();
    let mut inside = ty;
    loop {
        match inside {
            ElementType::Array { element, stride, .. } => {
                write!(text, ", {stride} bytes apart").expect("writing to a string cannot fail");
                inside = element;
            }
            ElementType::Matrix { stride, is_row_major, .. } => {
                let lines = if *is_row_major { "rows" } else { "columns" };
                write!(text, ", {lines} {stride} bytes apart").expect("writing to a string cannot fail");
                return text;
            }
            _ => return text,
        }
    }
}
