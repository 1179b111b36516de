//! Results of WGSL kernels compared with references on the host, in every mode: with bounds checks, unchecked, and with
//! the sanitizer.
//!
//! The kernels are in `language/*.wgsl`; each is an entry point that computes the words `y` from the words `x`. The
//! references are in `language/*.rs`. [`WRONG`] lists the kernels that a driver computes wrongly; an entry that is no
//! longer wrong fails the test.
#![expect(clippy::cast_possible_truncation, reason = "indices of short arrays are words of the kernels")]
#![expect(clippy::cast_sign_loss, reason = "the kernels convert in the same way")]
#![expect(clippy::too_many_lines, reason = "each function is a table, a kernel an entry")]

mod cases;
mod memory;
mod numbers;
mod programs;

use vkarray::kernel::{Error as KernelError, KernelBuilder};
use vkarray::sanitizer::Fault;
use vkarray::{Context, Groups, Source};

use crate::fixture::{Fixture, contents};
use cases::{Case, Device};

/// Kernels that a driver computes wrongly: the file, the kernel, a part of the driver's name or description, the reason.
const WRONG: &[(&str, &str, &str, &str)] = &[(
    "packing",
    "bytes_in_a_word",
    "SwiftShader",
    "other words than on every other driver; which builtin it is was not found",
)];

#[derive(Debug, Clone, Copy)]
enum Mode {
    Bounded,
    Unchecked,
    Sanitized,
}

#[test]
fn numbers() {
    check("integers", &numbers::integers());
    check("floats", &numbers::floats_cases());
    check("packing", &numbers::packing());
    check("bits", &numbers::bit_operations());
}

#[test]
fn wide_and_narrow_numbers() {
    check("wide_integers", &numbers::wide_integers());
    check("doubles", &numbers::doubles());
    check("halves", &numbers::halves());
}

#[test]
fn pointers() {
    check("pointers", &memory::pointers());
    check("element_pointers", &memory::element_pointers());
    check("memory_pointers", &memory::memory_pointers());
}

#[test]
fn structs_and_memory() {
    check("structs", &memory::structs());
    check("layouts", &memory::layouts());
    check("memory", &memory::memory());
    check("atomics", &memory::atomics());
}

#[test]
fn control_flow() {
    check("flow", &programs::flow());
}

#[test]
fn vectors_and_constants() {
    check("vectors", &programs::vectors());
    check("constants", &programs::constants());
}

/// Runs the kernels of a file, each of which has one case, in every mode.
fn check(file: &str, cases: &[Case]) {
    let fixture = Fixture::open();
    let path = format!("{}/kernel/language/{file}.wgsl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(text.matches("@compute").count(), cases.len(), "{file}: every kernel has a case");
    let driver = &fixture.info().driver;
    let driver = format!("{} {} {}", fixture.info().name, driver.name, driver.info);
    let mut faults = Vec::new();
    for case in cases {
        if !has(&fixture, case.needs) {
            let error = builder(&fixture, &text, case, Mode::Bounded).build().unwrap_err();
            assert!(matches!(error, KernelError::Capability { .. }), "{}: {error}", case.entry);
            continue;
        }
        let results = [Mode::Bounded, Mode::Unchecked, Mode::Sanitized].map(|mode| run(&fixture, &text, case, mode));
        let found: Vec<String> = results.into_iter().filter_map(Result::err).collect();
        let listed =
            WRONG.iter().any(|(f, entry, part, _)| (*f, *entry) == (file, case.entry) && driver.contains(part));
        match (found.is_empty(), listed) {
            (true, true) => faults.push(format!("{}: right, so it leaves its table", case.entry)),
            (false, false) => faults.extend(found),
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{file}, on {driver}:\n{}", faults.join("\n"));
}

fn has(fixture: &Fixture, needs: Device) -> bool {
    let features = fixture.info().features;
    match needs {
        Device::Any => true,
        Device::Int64 => features.shader_int64,
        Device::Float64 => features.shader_float64,
        Device::Float16 => features.shader_float16,
    }
}

fn builder(ctx: &Context, text: &str, case: &Case, mode: Mode) -> KernelBuilder {
    let mut builder = ctx.kernel(Source::wgsl(text.to_owned())).entry(case.entry);
    for (name, value) in case.constants {
        builder = builder.constant(*name, *value);
    }
    match mode {
        Mode::Bounded => builder.sanitize(false),
        // SAFETY: the bounded and the sanitized run show that no index is out of range.
        Mode::Unchecked => unsafe { builder.sanitize(false).unchecked() },
        Mode::Sanitized => builder.sanitize(true),
    }
}

/// Runs the kernel once, and returns a description of a wrong result.
fn run(fixture: &Fixture, text: &str, case: &Case, mode: Mode) -> Result<(), String> {
    let fault = |what: String| format!("{}, {mode:?}: {what}", case.entry);
    let kernel = builder(fixture, text, case, mode).build().map_err(|error| fault(error.to_string()))?;
    let words = (case.input)();
    let expected = case.expected(&words);
    let (x, y) = (fixture.slice_to_device(&words).unwrap(), fixture.full([expected.len()], case.start).unwrap());
    let groups = Groups::covering(case.items.unwrap_or(expected.len()));
    let done = if case.takes_bytes {
        let [x, y] = [&x, &y].map(|words| words.view::<u8>().unwrap());
        kernel.dispatch(fixture.default_stream(), groups, (&x, &y))
    } else {
        kernel.dispatch(fixture.default_stream(), groups, (&x, &y))
    };
    match (done, mode) {
        (Ok(()), Mode::Sanitized) if case.divides_by_zero => return Err(fault("no division by zero was found".into())),
        (Err(KernelError::Found(found)), Mode::Sanitized) if case.divides_by_zero => {
            let is_it = matches!(found.fault, Fault::DivisionByZero { .. } | Fault::DivisionOverflow { .. });
            return if is_it { Ok(()) } else { Err(fault(found.to_string())) };
        }
        (done, _) => done.map_err(|error| fault(error.to_string()))?,
    }
    let found = contents(&y);
    let differs = (0..expected.len()).find(|&i| !(case.is_padding)(i) && found[i] != expected[i]);
    differs.map_or(Ok(()), |i| Err(fault(format!("y[{i}] is {:#x}, not {:#x}", found[i], expected[i]))))
}
