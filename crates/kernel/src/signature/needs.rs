//! What a kernel needs of a device besides capabilities: cooperative matrices ([`MatrixUse`]) and subgroups ([`Subgroups`]).
//!
//! Plain data. `requirements/` compares it with a device.

use std::fmt;

use serde::{Deserialize, Serialize};
use vkarray_driver::MatrixShape;

/// A use of cooperative matrices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MatrixUse {
    /// It multiplies and adds matrices of these shapes.
    Product(MatrixShape),
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
        /// The invocations that share it, as [`MatrixShape::scope`].
        scope: String,
    },
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
/// use vkarray::prelude::*;
/// use vkarray::kernel::Subgroups;
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

/// As it follows the workgroup in the first line of a signature.
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
