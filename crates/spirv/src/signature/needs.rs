//! What a kernel needs of a device besides capabilities: cooperative matrices ([`MatrixUse`]) and subgroups ([`Subgroups`]).
//!
//! Plain data. The kernel crate compares it with a device.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A use of cooperative matrices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MatrixUse {
    /// It multiplies and adds matrices of these shapes.
    Product(MatrixProduct),
    /// It holds such a matrix.
    Operand {
        /// Its place in a product.
        role: MatrixRole,
        /// Its rows.
        rows: u32,
        /// Its columns.
        columns: u32,
        /// The type of its elements. That of integers has no sign: the products declare it.
        component: String,
        /// The invocations that share it, as [`MatrixProduct::scope`].
        scope: String,
    },
}

/// A product `A × B + C` of cooperative matrices: A has `m` rows and `k` columns, B has `k` and `n`, C and the result have
/// `m` and `n`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixProduct {
    /// Rows of A, C and the result.
    pub m: u32,
    /// Columns of B, C and the result.
    pub n: u32,
    /// Columns of A and rows of B.
    pub k: u32,
    /// Element types of A, B, C and the result, such as `f16`, `bf16`, `i8` or `u32`.
    pub types: [String; 4],
    /// Whether sums that do not fit become the nearest number that does.
    pub saturating: bool,
    /// The invocations that share a matrix: `subgroup`, `workgroup`, or SPIR-V's number of the scope.
    pub scope: String,
}

impl fmt::Display for MatrixProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { m, n, k, types: [a, b, c, result], saturating, scope } = self;
        write!(f, "{m}×{n}×{k} {a} × {b} + {c} → {result}")?;
        if *saturating {
            f.write_str(", saturating")?;
        }
        if scope == "subgroup" { Ok(()) } else { write!(f, ", of a {scope}") }
    }
}

/// The place of a matrix in a product `A × B + C`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MatrixRole {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// The addend, or the result.
    Accumulator,
}

impl fmt::Display for MatrixUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Product(shape) => shape.fmt(f),
            Self::Operand { role, rows, columns, component, scope } => {
                let component = component.replacen('u', "i", 1);
                let role = match role {
                    MatrixRole::A => "A",
                    MatrixRole::B => "B",
                    MatrixRole::Accumulator => "C",
                };
                write!(f, "a {rows}×{columns} matrix {role} of {component}")?;
                if scope == "subgroup" { Ok(()) } else { write!(f, ", of a {scope}") }
            }
        }
    }
}

/// The subgroups that a kernel runs with.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_spirv::Subgroups;
///
/// assert_eq!(Subgroups { size: Some(32), full: true }.to_string(), ", full subgroups of 32");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subgroups {
    /// Invocations of each; `None` leaves the size to the driver.
    pub size: Option<u32>,
    /// Whether all invocations of each must exist.
    pub full: bool,
}

/// Prints the text that follows the workgroup in the first line of a signature.
impl fmt::Display for Subgroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.size, self.full) {
            (None, false) => Ok(()),
            (None, true) => f.write_str(", full subgroups"),
            (Some(size), false) => write!(f, ", subgroups of {size}"),
            (Some(size), true) => write!(f, ", full subgroups of {size}"),
        }
    }
}
