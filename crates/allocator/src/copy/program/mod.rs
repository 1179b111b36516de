//! Memory of the program that the device reaches: lent for the length of a call, or with its owner.
//!
//! Both forms are over one [`ProgramMemory`] (`memory.rs`): some bytes, the pages of them that are imported
//! (`pages.rs`), and a copy in pinned memory where kernels do not reach the bytes in place. They differ in what keeps
//! the bytes where they are, and so in what makes them safe: a borrow that outlasts the device's work (`lent.rs`), or
//! an owner that lives as long as any handle to the bytes (`owned.rs`). Memory that is only read is
//! neither imported nor copied back.

mod lent;
mod memory;
mod owned;
mod pages;

pub use lent::{Lent, Registered, RegisteredMemory};
pub use memory::RegisteredPath;
pub use owned::{PinError, Pinned};
