//! Whether a device multiplies the cooperative matrices of a kernel: [`check_matrices`]. Pure.
//!
//! The shader crate reads what a kernel uses from its SPIR-V; what a device has is in its snapshot.

use vkarray_driver::{DeviceInfo, MatrixShape};
use vkarray_shader::{MatrixProduct, MatrixRole, MatrixUse, Names, Signature};

use crate::error::{Error, Result};

/// Whether a use of cooperative matrices is one that the device lists.
fn is_in(used: &MatrixUse, shape: &MatrixShape) -> bool {
    let MatrixShape { m, n, k, types: [a, b, c, result], .. } = shape;
    match used {
        MatrixUse::Product(MatrixProduct { m, n, k, types, saturating, scope }) => {
            let of_device = (shape.m, shape.n, shape.k, &shape.types, shape.saturating, &shape.scope);
            (*m, *n, *k, types, *saturating, scope) == of_device
        }
        MatrixUse::Operand { role, rows, columns, component, scope } => {
            let is_of = |size: (&u32, &u32), types: &[&String]| {
                (rows, columns) == size && types.iter().any(|ty| is_alike(component, ty))
            };
            let fits = match role {
                MatrixRole::A => is_of((m, k), &[a]),
                MatrixRole::B => is_of((k, n), &[b]),
                MatrixRole::Accumulator => is_of((m, n), &[c, result]),
            };
            fits && *scope == shape.scope
        }
        // A use that this version does not know.
        _ => false,
    }
}

/// Whether types are equal but for the sign of whole numbers.
fn is_alike(one: &str, other: &str) -> bool {
    let unsigned = |name: &str| name.replacen('i', "u", 1);
    unsigned(one) == unsigned(other)
}

/// Checks that a device multiplies the cooperative matrices of a kernel.
///
/// # Errors
///
/// [`Error::Matrices`] with the first that it does not, and all that it does.
pub(crate) fn check_matrices(signature: &Signature, device: &DeviceInfo) -> Result<()> {
    let is_there = |used: &&MatrixUse| device.matrix_shapes.iter().any(|shape| is_in(used, shape));
    let Some(missing) = signature.matrices.iter().find(|used| !is_there(used)) else { return Ok(()) };
    Err(Error::Matrices {
        kernel: signature.entry.clone(),
        wanted: missing.to_string(),
        device: device.name.clone(),
        found: device.matrix_shapes.iter().map(ToString::to_string).collect::<Names>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fits::capabilities::tests::machine;

    fn shape(m: u32, n: u32, k: u32, types: [&str; 4]) -> MatrixShape {
        MatrixShape { m, n, k, types: types.map(str::to_owned), saturating: false, scope: "subgroup".to_owned() }
    }

    fn product(m: u32, n: u32, k: u32, types: [&str; 4]) -> MatrixProduct {
        MatrixProduct { m, n, k, types: types.map(str::to_owned), saturating: false, scope: "subgroup".to_owned() }
    }

    fn device() -> DeviceInfo {
        let matrix_shapes =
            vec![shape(16, 8, 32, ["i8", "u8", "i32", "i32"]), shape(16, 16, 8, ["f16", "f16", "f16", "f32"])];
        DeviceInfo { matrix_shapes, ..machine("h100_580.159") }
    }

    fn message(used: MatrixUse, device: &DeviceInfo) -> String {
        let signature = Signature { entry: "k".to_owned(), matrices: vec![used], ..Signature::default() };
        check_matrices(&signature, device).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn a_product_is_one_that_the_device_lists() {
        let device = device();
        let has = "; NVIDIA H100 80GB HBM3 has `16×8×32 i8 × u8 + i32 → i32`, `16×16×8 f16 × f16 + f16 → f32`";
        let cases = [
            (product(16, 8, 32, ["i8", "u8", "i32", "i32"]), "fine".to_owned()),
            (
                product(8, 16, 32, ["i8", "u8", "i32", "i32"]),
                format!("kernel `k` uses cooperative matrices 8×16×32 i8 × u8 + i32 → i32{has}"),
            ),
            (
                product(16, 16, 8, ["f16", "f16", "f32", "f32"]),
                format!("kernel `k` uses cooperative matrices 16×16×8 f16 × f16 + f32 → f32{has}"),
            ),
            (
                MatrixProduct { saturating: true, ..product(16, 8, 32, ["i8", "u8", "i32", "i32"]) },
                format!("kernel `k` uses cooperative matrices 16×8×32 i8 × u8 + i32 → i32, saturating{has}"),
            ),
        ];
        for (wanted, expected) in cases {
            assert_eq!(message(MatrixUse::Product(wanted), &device), expected);
        }
    }

    #[test]
    fn a_matrix_alone_has_its_place_in_a_product() {
        use MatrixRole::{A, Accumulator, B};
        let device = device();
        let cases = [
            (A, 16, 32, "u8", "fine"), // The sign is the product's.
            (B, 32, 8, "u8", "fine"),
            (Accumulator, 16, 8, "u32", "fine"),
            (Accumulator, 16, 16, "f16", "fine"),
            (Accumulator, 16, 16, "f32", "fine"),
            (A, 32, 16, "u8", "kernel `k` uses cooperative matrices a 32×16 matrix A of i8; "),
            (B, 16, 32, "u8", "kernel `k` uses cooperative matrices a 16×32 matrix B of i8; "),
            (A, 16, 8, "f32", "kernel `k` uses cooperative matrices a 16×8 matrix A of f32; "),
        ];
        for (role, rows, columns, component, expected) in cases {
            let (component, scope) = (component.to_owned(), "subgroup".to_owned());
            let found = message(MatrixUse::Operand { role, rows, columns, component, scope }, &device);
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn a_device_without_matrices_says_so() {
        let used = MatrixUse::Product(product(1, 2, 3, ["f16"; 4]));
        let message = message(used, &machine("swiftshader_5.0.0"));
        assert!(message.ends_with("SwiftShader Device (Subzero) has none"), "{message}");
    }
}
