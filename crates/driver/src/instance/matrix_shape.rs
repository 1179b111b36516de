//! [`MatrixShape`]: a shape of cooperative matrices that a device multiplies, as `VK_KHR_cooperative_matrix` lists
//! them.
//!
//! `query.rs` reads the shapes; the kernel crate checks a kernel's matrices against them.

use std::fmt;

use ash::vk;
use serde::{Deserialize, Serialize};

/// A product `A × B + C` of cooperative matrices: A has `m` rows and `k` columns, B has `k` rows and `n` columns, C and
/// the result have `m` rows and `n` columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixShape {
    /// Rows of A, C and the result.
    pub m: u32,
    /// Columns of B, C and the result.
    pub n: u32,
    /// Columns of A and rows of B.
    pub k: u32,
    /// Element types of A, B, C and the result, such as `f16`, `bf16`, `i8` or `u32`.
    pub types: [String; 4],
    /// Whether a sum that does not fit its type becomes the nearest number that fits.
    pub saturating: bool,
    /// The invocations that share a matrix: `subgroup`, `workgroup`, or SPIR-V's number of the scope.
    pub scope: String,
}

impl fmt::Display for MatrixShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { m, n, k, types: [a, b, c, result], saturating, scope } = self;
        write!(f, "{m}×{n}×{k} {a} × {b} + {c} → {result}")?;
        if *saturating {
            f.write_str(", saturating")?;
        }
        if scope == "subgroup" { Ok(()) } else { write!(f, ", of a {scope}") }
    }
}

impl MatrixShape {
    pub(crate) fn new(listed: &vk::CooperativeMatrixPropertiesKHR<'_>) -> Self {
        Self {
            m: listed.m_size,
            n: listed.n_size,
            k: listed.k_size,
            types: [listed.a_type, listed.b_type, listed.c_type, listed.result_type].map(type_name),
            saturating: listed.saturating_accumulation != 0,
            scope: scope_name(listed.scope.as_raw().unsigned_abs()),
        }
    }
}

/// The name of a scope by SPIR-V's number, which is Vulkan's too.
///
/// ```
/// assert_eq!(vkarray_driver::scope_name(3), "subgroup");
/// ```
pub fn scope_name(number: u32) -> String {
    match number {
        2 => "workgroup".to_owned(),
        3 => "subgroup".to_owned(),
        other => format!("scope {other}"),
    }
}

fn type_name(component: vk::ComponentTypeKHR) -> String {
    const BFLOAT16: i32 = 1_000_141_000;
    const NAMES: [&str; 11] = ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
    let number = component.as_raw();
    let name = usize::try_from(number).ok().and_then(|index| NAMES.get(index));
    match name {
        _ if number == BFLOAT16 => "bf16".to_owned(),
        Some(name) => (*name).to_owned(),
        None => format!("type {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_shape_says_its_sizes_and_types() {
        let listed = vk::CooperativeMatrixPropertiesKHR::default()
            .m_size(16)
            .n_size(8)
            .k_size(32)
            .a_type(vk::ComponentTypeKHR::UINT8)
            .b_type(vk::ComponentTypeKHR::SINT8)
            .c_type(vk::ComponentTypeKHR::SINT32)
            .result_type(vk::ComponentTypeKHR::FLOAT32)
            .saturating_accumulation(true)
            .scope(vk::ScopeKHR::WORKGROUP);
        let shape = MatrixShape::new(&listed);
        assert_eq!(shape.to_string(), "16×8×32 u8 × i8 + i32 → f32, saturating, of a workgroup");
        let plain = MatrixShape { saturating: false, scope: scope_name(3), ..shape };
        assert_eq!(plain.to_string(), "16×8×32 u8 × i8 + i32 → f32");
    }
}
