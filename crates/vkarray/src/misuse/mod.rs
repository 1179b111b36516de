//! Programs that must compile, and programs that must not, as documentation tests. Built only for `cargo test --doc`.

mod element_types;
mod kernel_macro;
