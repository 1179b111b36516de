//! Functions for kernels that are generated: elementary functions, integers, complex numbers, conversions.
//!
//! The generator of `vkarray-primitives` takes from these texts the functions that a kernel calls, and those that they call.

use crate::library::{NUMBERS, WIDE_NUMBERS};

const F32: &str = include_str!("../library/math/f32.wgsl");
const SIGNED: &str = include_str!("../library/math/signed.wgsl");
const UNSIGNED: &str = include_str!("../library/math/unsigned.wgsl");
const COMPLEX: &str = include_str!("../library/math/complex.wgsl");

/// All functions, for each type.
///
/// Elementary functions of `f32` have a low line after the name (`exp_`), since WGSL has functions of these names.
#[must_use]
pub fn functions() -> Vec<String> {
    [F32, NUMBERS, WIDE_NUMBERS]
        .map(str::to_owned)
        .into_iter()
        .chain(["i32", "i64"].map(|ty| SIGNED.replace("INT", ty)))
        .chain(["u32", "u64"].map(|ty| UNSIGNED.replace("UINT", ty)))
        .chain(["f32", "f64"].map(|ty| COMPLEX.replace("REAL", ty)))
        .collect()
}

#[cfg(test)]
mod tests {
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::*;

    #[test]
    fn all_functions_are_valid_together() {
        let source = functions().concat();
        let module = naga::front::wgsl::parse_str(&source);
        let module = module.unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
        let capabilities = Capabilities::SHADER_INT64 | Capabilities::FLOAT64;
        let checked = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
        checked.unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
    }

    #[test]
    fn files_begin_with_their_formula() {
        for text in [F32, SIGNED, UNSIGNED, COMPLEX] {
            let first = text.lines().next().unwrap();
            assert!(first.starts_with("// ") && first.contains(" = "), "{first}");
        }
    }
}
