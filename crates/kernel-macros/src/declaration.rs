//! [`Declaration`]: the text between the braces of `kernel!`.
//!
//! Only the form is checked here. Read next: `expand.rs`.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Ident, LitStr, Path, Result, Token, Visibility, braced};

/// A kernel as its user declares it.
pub(crate) struct Declaration {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    pub(crate) source: Source,
    pub(crate) entry: Option<LitStr>,
    pub(crate) structs: Vec<StructPair>,
}

/// Where the shader is.
pub(crate) enum Source {
    /// A path from the folder of `Cargo.toml`.
    File(LitStr),
    /// The text of the shader itself.
    Text(LitStr),
}

/// A struct of the shader, and the host's struct for it.
pub(crate) struct StructPair {
    pub(crate) shader: Ident,
    pub(crate) host: Path,
}

impl Parse for StructPair {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let shader = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Self { shader, host: input.parse()? })
    }
}

impl Parse for Declaration {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        input.parse::<Token![struct]>()?;
        let name: Ident = input.parse()?;
        let content;
        braced!(content in input);
        let (mut source, mut entry, mut structs) = (None, None, None);
        while !content.is_empty() {
            let key: Ident = content.parse()?;
            content.parse::<Token![:]>()?;
            match key.to_string().as_str() {
                "file" => once(&mut source, &key, Source::File(content.parse()?))?,
                "wgsl" => once(&mut source, &key, Source::Text(content.parse()?))?,
                "entry" => once(&mut entry, &key, content.parse()?)?,
                "structs" => once(&mut structs, &key, parse_structs(&content)?)?,
                _ => return Err(Error::new(key.span(), "there is `file`, `wgsl`, `entry` and `structs`")),
            }
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        let missing = || Error::new(name.span(), "say where the shader is: `file: \"path\"` or `wgsl: \"text\"`");
        let source = source.ok_or_else(missing)?;
        Ok(Self { attributes, visibility, name, source, entry, structs: structs.unwrap_or_default() })
    }
}

/// Sets a value, and refuses to set it twice.
fn once<T>(place: &mut Option<T>, key: &Ident, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(key.span(), "this is said already")),
    }
}

fn parse_structs(input: ParseStream<'_>) -> Result<Vec<StructPair>> {
    let content;
    braced!(content in input);
    Ok(Punctuated::<StructPair, Token![,]>::parse_terminated(&content)?.into_iter().collect())
}
