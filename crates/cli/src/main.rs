//! The vkarray command.
fn main() {}
