//! Programs that must compile, and programs that must not, as documentation tests. Built for `cargo test --doc` alone.

mod element_types;
mod kernel_macro;
