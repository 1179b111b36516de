//! Functions for kernels that are generated: elementary functions, integers, complex numbers, conversions.
//!
//! The generator of `vkarray-ndarray` takes from these texts the functions that a kernel calls, and the functions
//! that they call.

use crate::functions::PAIRS;
use crate::library::{NUMBERS, WIDE_NUMBERS};

const FLOAT: &str = include_str!("../library/math/float.wgsl");
const F32: &str = include_str!("../library/math/f32.wgsl");
const F64: &str = include_str!("../library/math/f64.wgsl");
const SIGNED: &str = include_str!("../library/math/signed.wgsl");
const UNSIGNED: &str = include_str!("../library/math/unsigned.wgsl");
const QUOTIENT: &str = include_str!("../library/math/quotient.wgsl");
const COMPLEX: &str = include_str!("../library/math/complex.wgsl");
const PAIR: &str = include_str!("../library/math/pair.wgsl");

/// The constants of `float.wgsl` for `f32` and for `f64`. Products of the constants named `HIGH` with an exponent are
/// exact.
const CONSTANTS: [(&str, [&str; 2]); 12] = [
    ("EXP_MAX", ["88.8", "709.8"]),
    ("EXP_MIN", ["-104.0", "-745.2"]),
    ("TANH_MAX", ["10.0", "20.0"]),
    ("ASINH_LARGE", ["4096.0", "268435456.0"]),
    ("LN2_HIGH", ["0.693115234375", "0.6931471803691238"]),
    ("LN2_LOW", ["3.1946184945e-5", "1.9082149292705877e-10"]),
    ("LOG10_2_HIGH", ["0.301025390625", "0.3010299955494702"]),
    ("LOG10_2_LOW", ["4.6050390665e-6", "1.1451100898021838e-10"]),
    ("LOG2_E_LOW", ["1.925963e-8", "2.0355273740931033e-17"]),
    // Two thirds of the logarithm, and the error of that number.
    ("LOG2_E_THIRDS", ["0.9617967", "0.9617966939259756"]),
    ("LOG2_E_REST", ["-7.028462e-9", "5.0577616648125907e-17"]),
    ("HALF_PI_LOW", ["-4.371139e-8", "6.123233995736766e-17"]),
];

/// The functions of `float.wgsl` for the type `ty`, whose constants are in this column.
fn float(ty: &str, column: usize) -> String {
    let text = FLOAT.replace("REAL", ty);
    CONSTANTS.iter().fold(text, |text, (name, values)| text.replace(name, values[column]))
}

/// All functions, for each type. Their names begin with the type (`f32_exp`), except for conversions and pairs of words.
#[must_use]
pub fn functions() -> Vec<String> {
    [F32, F64, QUOTIENT, PAIR, PAIRS, NUMBERS, WIDE_NUMBERS]
        .map(str::to_owned)
        .into_iter()
        .chain([float("f32", 0), float("f64", 1)])
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
        for text in [FLOAT, F32, F64, SIGNED, UNSIGNED, QUOTIENT, COMPLEX, PAIR] {
            let first = text.lines().next().unwrap();
            assert!(first.starts_with("// ") && first.contains(" = "), "{first}");
        }
    }
}
