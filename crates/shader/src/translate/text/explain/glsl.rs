//! What is wrong with a shader in GLSL, in a sentence that says what to do: [`of_line`].
//!
//! naga's reports about GLSL name its parser's state. What is looked at here is the line that it stopped at.

use crate::error::Resource;

/// A sentence about a line that naga did not parse, with the advice that belongs to it.
pub(in crate::translate::text) fn of_line(line: &str) -> Option<String> {
    let line = line.trim();
    let directive = line.strip_prefix('#').map(str::trim_start);
    if let Some(file) = directive.and_then(|directive| directive.strip_prefix("include")) {
        return Some(format!(
            "`#include {}` is not followed: this text alone was read, and no folder was searched; run `glslangValidator -V \
             -IFOLDER` on the file, which searches its folder and FOLDER, and use the SPIR-V",
            file.trim()
        ));
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = line.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    let is_global = words.clone().any(|word| word == "uniform");
    let resource = words.find_map(resource).filter(|_| is_global)?;
    Some(format!("`{}` is {resource}", words.next().unwrap_or_default()))
}

/// What a type of GLSL is that no kernel is given: its name begins so, perhaps behind an `i` or a `u`, and ends with the
/// number of its axes.
fn resource(ty: &str) -> Option<Resource> {
    let has_axes = |rest: &str| ["1D", "2D", "3D", "Cube", "Buffer"].iter().any(|axes| rest.starts_with(axes));
    let begins = |start: &str| {
        [Some(ty), ty.strip_prefix(['i', 'u'])]
            .into_iter()
            .flatten()
            .any(|ty| ty.strip_prefix(start).is_some_and(has_axes))
    };
    match ty {
        "sampler" | "samplerShadow" => Some(Resource::Sampler),
        "accelerationStructureEXT" => Some(Resource::AccelerationStructure),
        _ if begins("sampler") => Some(Resource::SampledImage),
        _ if begins("image") || begins("texture") => Some(Resource::Image),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_its_variable_is() {
        let cases = [
            ("  layout(binding = 1) uniform sampler2D tex;", Some("`tex` is a sampled image: ")),
            ("layout(binding = 1) uniform sampler s;", Some("`s` is a sampler: ")),
            (
                "layout(rgba32f, binding = 1) uniform writeonly image2D out_;",
                Some("`out_` is a texture or storage image: "),
            ),
            ("uniform uimage3D counts[3];", Some("`counts` is a texture or storage image: ")),
            ("uniform itexture2DArray t;", Some("`t` is a texture or storage image: ")),
            ("uniform accelerationStructureEXT scene;", Some("`scene` is an acceleration structure: ")),
            ("# include <a.h>", Some("`#include <a.h>` is not followed: ")),
            ("float image = 1.0;", None),
            ("uniform int imagination;", None),
            ("", None),
        ];
        for (line, start) in cases {
            let found = of_line(line);
            assert_eq!(found.is_some(), start.is_some(), "{line}: {found:?}");
            assert!(found.unwrap_or_default().starts_with(start.unwrap_or_default()), "{line}");
        }
    }
}
