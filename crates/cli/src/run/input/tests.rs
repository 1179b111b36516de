//! Damaged files, read by the code of `vkarray run`. `VKARRAY_FUZZ_SECONDS` sets the length of the run and
//! `VKARRAY_FUZZ_SEED` its seed; `VKARRAY_FUZZ_KIND` is `npy`, `png` or `jpg`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::*;
use crate::panics::catch_panic;

#[path = "../../../tests/cli/damage.rs"]
mod damage;

/// The number of inputs if no variable is set.
const N_INPUTS: u64 = 600;

#[test]
fn damaged_files_are_read_or_refused_as_input() {
    let variable = |name| std::env::var(name).ok();
    let number = |name| variable(name).map(|text| text.parse::<u64>().expect("a number"));
    let (seconds, kind) = (number("VKARRAY_FUZZ_SECONDS"), variable("VKARRAY_FUZZ_KIND"));
    let mut rng = fastrand::Rng::with_seed(number("VKARRAY_FUZZ_SEED").unwrap_or(1));
    let mut seeds = damage::seeds();
    seeds.retain(|seed| kind.as_deref().is_none_or(|kind| seed.0 == kind));
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let mut outcomes = BTreeMap::<String, u64>::new();
    for nth in 0.. {
        if seconds.map_or(nth >= N_INPUTS, |seconds| begun.elapsed() >= Duration::from_secs(seconds)) {
            break;
        }
        let seed = &seeds[rng.usize(..seeds.len())];
        let bytes = damage::damaged(seed, &seeds, &mut rng);
        let path = folder.path().join("x").with_extension(seed.0);
        std::fs::write(&path, &bytes).unwrap();
        let read = || {
            let input = if seed.0 == "npy" { Input::npy(&path)? } else { Input::Picture(Picture::open(&path, None)?) };
            input.load()
        };
        let outcome = match catch_panic(read) {
            Ok(Ok(_)) => "read",
            Ok(Err(Error::PictureDecoder { .. })) => "refused, a decoder panicked",
            Ok(Err(error)) => {
                assert_eq!(error.exit_code(), 2, "input {nth}: {error}");
                "refused"
            }
            Err(reason) => panic!("input {nth}, a {} of {bytes:?}: {reason}", seed.0),
        };
        *outcomes.entry(format!("{} {outcome}", seed.0)).or_default() += 1;
    }
    eprintln!("{outcomes:?}");
    let refused: u64 = outcomes.iter().filter(|(name, _)| name.contains("refused")).map(|(_, n)| n).sum();
    assert!(refused > 0 && outcomes.keys().any(|name| name.ends_with("read")), "{outcomes:?}");
}

#[test]
fn a_decoder_that_panics_is_a_damaged_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.png");
    std::fs::write(&path, damage::broken_palette()).unwrap();
    let error = Picture::open(&path, None).and_then(|picture| picture.read()).unwrap_err();
    assert!(matches!(error, Error::PictureDecoder { .. }), "{error}");
    assert_eq!(error.exit_code(), 2);
}
