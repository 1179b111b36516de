//! Feeds damaged shaders to [`Module`]: `cargo run -p vkarray-shader --example fuzz -- SECONDS [SEED [FOLDER]…]`.
//!
//! Every input is a shader of `tests/shaders`, `shaders/` or the folders, mutated: SPIR-V by instructions (`binary.rs`),
//! text by words (`text.rs`). `VKARRAY_FUZZ_KIND` (`wgsl`, `comp` or `spv`) leaves out the other languages. A panic, or more
//! than ten seconds for one input, is a finding: the input is kept in `target/fuzz` and the run ends in failure. naga's own
//! panics are turned into errors by the crate; they are counted, and kept as well.
//! With `VKARRAY_FUZZ_COMMAND=target/debug/vkarray`, damaged SPIR-V goes to `vkarray run` instead (`command.rs`), through the
//! validator, the driver and the device; a signal or an exit code that is not documented is a finding. The same seed gives
//! the same inputs. A crash of the whole process leaves its input in `target/fuzz/current`.

mod binary;
mod command;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use command::Ending;
use vkarray_shader::{Error, Fold, Loops, Module, Options, Sanitize, Source};

/// One input may take so long, on a machine whose cores are all busy with what is more urgent.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a shader is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Wgsl,
    Glsl,
    Spirv,
}

struct Seed {
    name: String,
    language: Language,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Counts {
    taken: u64,
    refused: u64,
    /// Places where naga panicked.
    naga: BTreeSet<String>,
    findings: u64,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let seconds = args.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let seed = args.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folders =
        ["tests/shaders", "tests/shaders/inference", "tests/shaders/renderer", "shaders/samples", "shaders/library"]
            .map(|folder| root.join(folder));
    let kind = std::env::var("VKARRAY_FUZZ_KIND").unwrap_or_default();
    let paths = folders.into_iter().chain(args.map(PathBuf::from)).flat_map(|path| read(&path));
    let seeds: Vec<Seed> = paths.filter(|seed| seed.name.ends_with(&kind)).collect();
    let kept = root.join("target/fuzz");
    fs::create_dir_all(&kept).expect("the target folder can be written");
    std::panic::set_hook(Box::new(|_| {})); // They are counted, not printed.
    if let Some(command) = std::env::var_os("VKARRAY_FUZZ_COMMAND") {
        return fuzz_command(&PathBuf::from(command), (seconds, seed), seeds, &kept);
    }

    let mut random = fastrand::Rng::with_seed(seed);
    let (begun, mut counts) = (Instant::now(), Counts::default());
    let mut n_inputs = 0_u64;
    while begun.elapsed() < Duration::from_secs(seconds) {
        let seed = &seeds[random.usize(..seeds.len())];
        let bytes = mutated(seed, &seeds, &mut random);
        fs::write(kept.join("current"), &bytes).expect("the target folder can be written");
        feed(seed, &bytes, &kept, &mut counts);
        n_inputs += 1;
    }
    let Counts { taken, refused, naga, findings } = counts;
    println!("{n_inputs} inputs of {} seeds: {taken} taken, {refused} refused, {findings} findings", seeds.len());
    println!("naga panicked at {} places", naga.len());
    naga.iter().for_each(|reason| println!("  {reason}"));
    assert_eq!(findings, 0, "see {}", kept.display());
}

/// Gives damaged SPIR-V to a command, and counts how it ends.
fn fuzz_command(command: &Path, (seconds, seed): (u64, u64), seeds: Vec<Seed>, kept: &Path) {
    let seeds: Vec<Seed> = seeds.into_iter().filter(|seed| seed.language == Language::Spirv).collect();
    let (mut random, begun, mut endings) = (fastrand::Rng::with_seed(seed), Instant::now(), BTreeMap::new());
    let file = kept.join("current.spv");
    while begun.elapsed() < Duration::from_secs(seconds) {
        let seed = &seeds[random.usize(..seeds.len())];
        let bytes = mutated(seed, &seeds, &mut random);
        fs::write(&file, &bytes).expect("the target folder can be written");
        let (ending, text) = command::run(command, &file, &bytes);
        let n = *endings.entry(ending.clone()).and_modify(|n| *n += 1_u64).or_insert(1);
        if !matches!(ending, Ending::Code(0 | 2)) {
            println!("{ending:?} for {}: {}", seed.name, text.trim());
            keep(kept, &format!("run-{ending:?}-{n}-{}", seed.name).replace(['(', ')', '"', ' '], "-"), &bytes);
        }
    }
    println!("{} inputs of {} seeds: {endings:?}", endings.values().sum::<u64>(), seeds.len());
    let findings = endings.keys().filter(|ending| matches!(ending, Ending::Finding(_))).count();
    assert_eq!(findings, 0, "see {}", kept.display());
}

fn read(folder: &Path) -> Vec<Seed> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort(); // The same order everywhere, so that a seed means the same inputs.
    let seed = |path: &PathBuf| {
        let language = match path.extension()?.to_str()? {
            "wgsl" => Language::Wgsl,
            "comp" | "glsl" => Language::Glsl,
            "spv" => Language::Spirv,
            _ => return None,
        };
        let name = path.file_name()?.to_str()?.to_owned();
        Some(Seed { name, language, bytes: fs::read(path).ok()? })
    };
    paths.iter().filter_map(seed).collect()
}

fn mutated(seed: &Seed, seeds: &[Seed], random: &mut fastrand::Rng) -> Vec<u8> {
    let other = loop {
        let other = &seeds[random.usize(..seeds.len())];
        if other.language == seed.language {
            break other;
        }
    };
    match seed.language {
        Language::Spirv => binary::mutated(&seed.bytes, &other.bytes, random),
        Language::Wgsl | Language::Glsl => text::mutated(&seed.bytes, &other.bytes, random),
    }
}

/// Parses and translates every kernel of an input.
fn feed(seed: &Seed, bytes: &[u8], kept: &Path, counts: &mut Counts) {
    let begun = Instant::now();
    let result = translate(seed.language, bytes);
    let time = begun.elapsed();
    match result {
        Ok(()) => counts.taken += 1,
        Err(Error::CompilerPanicked { reason, .. }) if seed.language != Language::Spirv => {
            if counts.naga.insert(reason) {
                keep(kept, &format!("naga-{}-{}", counts.naga.len(), seed.name), bytes);
            }
        }
        Err(Error::CompilerPanicked { reason, .. }) => {
            counts.findings += 1;
            println!("panic in {}: {reason}", seed.name);
            keep(kept, &format!("panic-{}-{}", counts.findings, seed.name), bytes);
        }
        Err(_) => counts.refused += 1,
    }
    if time > PATIENCE {
        counts.findings += 1;
        println!("{time:?} for {}", seed.name);
        keep(kept, &format!("slow-{}-{}", counts.findings, seed.name), bytes);
    }
}

fn translate(language: Language, bytes: &[u8]) -> Result<(), Error> {
    let text = || String::from_utf8_lossy(bytes).into_owned();
    let module = Module::parse(&match language {
        Language::Wgsl => Source::wgsl(text()),
        Language::Glsl => Source::glsl(text()),
        Language::Spirv => Source::spirv(bytes.to_vec()),
    })?;
    for entry in module.entry_points() {
        let translate = |options: &Options| module.translate(Some(entry), &BTreeMap::new(), options);
        let signature = translate(&Options::default())?.signature;
        // What a caller does with it next.
        let _ = signature.to_string();
        let _ = signature.arguments().map(|argument| argument.ty().used_bytes()).fold(0, u64::wrapping_add);
        for member in signature.push_constants.iter().flat_map(|push| &push.members) {
            let _ = member.ty.leaves();
        }
        if language != Language::Spirv {
            ways().iter().try_for_each(|options| translate(options).map(drop))?;
        }
    }
    Ok(())
}

/// The ways of translation that rewrite a shader.
fn ways() -> [Options; 4] {
    [
        Options { robust_buffers: true, driver_zeroes: true, loops: Loops::AssumeFinite, ..Options::default() },
        Options { max_uniform_bytes: Some(16), ..Options::default() },
        Options { fold: Some(Fold { axes: [7, 5, 500], n_workgroups: Some(17_000) }), ..Options::default() },
        Options {
            sanitize: Some(Sanitize { max_shared_bytes: 16_384, max_rounds: Sanitize::MAX_ROUNDS }),
            ..Options::default()
        },
    ]
}

fn keep(kept: &Path, name: &str, bytes: &[u8]) {
    fs::write(kept.join(name), bytes).expect("the target folder can be written");
}
