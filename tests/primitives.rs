//! Tests of the primitives crate on a device.
//!
//! | file | behaviour |
//! |---|---|
//! | `expressions.rs` | layouts, targets, types and refusals of expressions, compared with the host |
//! | `elementary.rs` | how exact the elementary functions are, and their special values |

mod elementary;
mod expressions;
