//! Programs that must not compile: each file in `compile_fail/` misuses the safe interface in one way.
//!
//! A case is a whole program beside the compiler's answer (`.stderr`). To add a case, write the program, run
//! `TRYBUILD=overwrite cargo test -p vkarray --test compile_fail`, and read the answer that was written: it must name
//! the misuse. The programs are checked, not built, so an assertion that depends on a type parameter is not evaluated;
//! such cases are documentation tests, as in `src/misuse/element_types.rs`.

#[test]
fn misuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
