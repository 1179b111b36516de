//! Tests of your own compute kernels, on every device and under the validation layer.
//!
//! A test is a function of a [`TestContext`]. A [`Suite`] runs each test on each device of the run, as it is, with the
//! sanitizer, and with the limits of smaller devices. Each of these runs is a *trial* of its own: `saxpy::lavapipe`,
//! `saxpy::nvidia`, `saxpy::lavapipe::sanitized`, `saxpy::lavapipe::limits-mobile`.
//!
//! ```no_run
//! // tests/kernels.rs; in Cargo.toml: [[test]] name = "kernels", harness = false
//! use std::process::ExitCode;
//!
//! use vkarray::prelude::*;
//! use vkarray_test::{TestContext, assert_close, suite};
//!
//! fn doubles(ctx: &TestContext) -> vkarray::Result<()> {
//!     let double = ctx
//!         .kernel(Source::wgsl(
//!             "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
//!              @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
//!                  if id.x < arrayLength(&x) { x[id.x] *= 2.0; }
//!              }",
//!         ))
//!         .build()?;
//!     let x = ctx.arange(0.0_f32, 100.0, 1.0)?;
//!     double.launch(Groups::covering(100), (&x,))?;
//!     let expected: Vec<f32> = (0..100).map(|i| 2.0 * i as f32).collect();
//!     assert_close!(x, expected, ulp = 1);
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     suite![doubles].min_tests(1).run()
//! }
//! ```
//!
//! A trial fails on a panic of the test or of another thread, an error, a message of the validation layer, a lost
//! device, memory or a device that outlives the test, if it did nothing with its device, and after a time limit
//! ([`Suite::time_limit`]). It is skipped only in four cases: for a feature that the test declares ([`Test::needs`]),
//! for an entry in the file of expectations ([`Suite::expectations`]), under the sanitizer for a kernel that cannot
//! have its checks, such as a kernel in SPIR-V, and on a machine without any device if
//! `VKARRAY_TEST=skip-without-device` is set. The reports list each skip with its reason.
//!
//! | folder | has |
//! |---|---|
//! | `profile` | [`Profile`] |
//! | `matrix` | the devices of a run and their names |
//! | `context` | [`TestContext`], and [`CheckedContext`] for plain test functions |
//! | `test` | [`Test`] |
//! | `compare` | [`assert_close!`], [`assert_golden!`], [`Tolerance`] |
//! | `sequence` | [`Sequence`]: the first of several dispatches whose results differ |
//! | `expectations` | which failures are known |
//! | `report` | JUnit and JSON |
//! | `trial` | one run of one test, panics, and the process that judges a run |
//! | `suite` | [`Suite`], which to read first |
//! | `performance` | [`Benches`]: whether kernels are slower than before a change |
#![forbid(unsafe_code)]

mod compare;
mod context;
mod expectations;
mod matrix;
mod performance;
mod profile;
mod report;
mod sequence;
mod suite;
mod test;
mod trial;

pub use compare::{AsHost, Number, Tolerance, check_close, check_golden, succeed};
pub use context::{CheckedContext, Problem, TestContext, becomes_true, is_false_report};
pub use expectations::Verdict;
pub use matrix::Target;
pub use performance::{Bencher, Benches};
pub use profile::Profile;
pub use report::{Record, Results};
pub use sequence::Sequence;
pub use suite::{NotRun, Suite};
pub use test::{Outcome, Test};
pub use trial::supervise::{Ending, Supervised, supervise};
