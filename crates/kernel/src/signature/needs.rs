//! What a kernel asks of a device besides capabilities: cooperative matrices ([`MatrixUse`]) and subgroups ([`Subgroups`]).
//!
//! Plain data. `requirements/` compares it with a device.

use std::fmt;

use serde::{Deserialize, Serialize};
use vkarray_driver::MatrixShape;

/// What a kernel does with cooperative matrices.
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
        /// The type of its elements. Of integers the signedness is not known from the type: the products declare it.
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

/// What is asked of the subgroups that a kernel runs with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subgroups {
    /// Invocations in each; the driver's choice without.
    pub size: Option<u32>,
    /// Whether none of the invocations may be missing.
    pub full: bool,
}

/// What follows the workgroup in the signature's first line.
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
