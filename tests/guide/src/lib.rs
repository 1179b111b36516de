//! The Rust code of the guide (`docs/`) and of the README, compiled and run as documentation tests:
//! `cargo test -p vkarray-guide`.
//!
//! `cargo xtask guide` refuses a page with Rust code that is not named here. rustdoc compiles the blocks of all pages
//! into one program. A block with `include_str!` needs `standalone_crate` behind `rust`: one block that cannot be
//! joined with the others makes each block a separate program, which takes six times as long.
#![cfg(doctest)]

/// Makes documentation tests of the Rust blocks of a page.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {$(
        #[doc = include_str!($path)]
        mod $name {}
    )*};
}

pages! {
    arrays: "../../../docs/arrays.md",
    coming_from_cuda: "../../../docs/from-cuda.md",
    coming_from_numpy: "../../../docs/from-numpy.md",
    compute: "../../../docs/compute.md",
    contexts: "../../../docs/contexts.md",
    dist: "../../../docs/dist.md",
    errors: "../../../docs/errors.md",
    functions: "../../../docs/functions.md",
    kernels: "../../../docs/kernels.md",
    memory: "../../../docs/memory.md",
    memory_managers: "../../../docs/memory-managers.md",
    performance: "../../../docs/performance.md",
    readme: "../../../README.md",
    scale: "../../../docs/scale.md",
    sanitizer: "../../../docs/sanitizer.md",
    sharing: "../../../docs/sharing.md",
    shaders: "../../../docs/shaders.md",
    start: "../../../docs/start.md",
    streams: "../../../docs/streams.md",
    testing: "../../../docs/testing.md",
}
