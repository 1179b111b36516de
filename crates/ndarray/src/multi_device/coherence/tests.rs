//! Random programs, compared with a model that keeps the contents of every device.

use super::*;

const N_DEVICES: usize = 3;

/// The contents of each device as a number, the newest contents, and the accesses in progress.
#[derive(Debug, Default)]
struct Model {
    contents: [Option<u64>; N_DEVICES],
    newest: Option<u64>,
    accesses: Vec<(usize, AccessMode)>,
    n_written: u64,
}

impl Model {
    /// The rule of the documentation: several reads may be in progress at once, and nothing else while an access
    /// writes.
    fn allows(&self, mode: AccessMode) -> bool {
        let is_read = |mode| matches!(mode, AccessMode::Read);
        self.accesses.is_empty() || is_read(mode) && self.accesses.iter().all(|&(_, other)| is_read(other))
    }

    fn write(&mut self, device: usize) {
        self.n_written += 1;
        (self.contents[device], self.newest) = (Some(self.n_written), Some(self.n_written));
    }

    fn has_newest(&self, device: usize) -> bool {
        self.newest.is_some() && self.contents[device] == self.newest
    }
}

/// A generator of numbers below `n`: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }
}

fn check(coherence: &Coherence, model: &Model) {
    let n_holders = (0..N_DEVICES).filter(|&device| model.has_newest(device)).count();
    for device in 0..N_DEVICES {
        let state = coherence.state(device);
        assert_eq!(state != ReplicaState::Invalid, model.has_newest(device), "{coherence:?} {model:?}");
        assert!(state != ReplicaState::Modified || n_holders == 1, "{coherence:?} {model:?}");
    }
    assert_eq!(n_holders == 0, model.newest.is_none(), "the newest elements are lost: {coherence:?} {model:?}");
}

/// Begins an access, which may fail to copy. Returns the result.
fn access(coherence: &mut Coherence, model: &mut Model, random: &mut Random) -> &'static str {
    let (device, fails) = (random.below(N_DEVICES), random.below(4) == 0);
    let mode = [AccessMode::Read, AccessMode::Write, AccessMode::ReadWrite][random.below(3)];
    let before = coherence.clone();
    match coherence.begin(device, mode) {
        Err(refusal) => {
            assert_eq!(format!("{coherence:?}"), format!("{before:?}"), "a refused access changed something");
            if let Refusal::Conflict { device, mode: held } = refusal {
                assert!(!model.allows(mode) && model.accesses.contains(&(device, held)), "{mode} {model:?}");
                return "conflict";
            }
            assert!(model.allows(mode) && mode.reads() && model.newest.is_none(), "{model:?}");
            return "never written";
        }
        Ok(holders) => {
            assert!(model.allows(mode), "{mode} {model:?}");
            assert_eq!(holders.is_empty(), !mode.reads() || model.has_newest(device), "{mode} {model:?}");
            assert!(holders.iter().all(|&holder| model.has_newest(holder) && holder != device), "{model:?}");
            if fails {
                if !holders.is_empty() {
                    model.contents[device] = None; // A copy that fails may have written a part of the elements.
                }
                coherence.end(device, mode);
                return "failed";
            }
            if let Some(&holder) = holders.last() {
                model.contents[device] = model.contents[holder];
            }
        }
    }
    coherence.ready(device, mode);
    if mode.writes() {
        model.write(device);
    }
    model.accesses.push((device, mode));
    "begun"
}

#[test]
fn random_programs_read_what_was_written_last() {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for seed in 1..=2000 {
        let mut random = Random(seed * 0x9E37_79B9);
        let (mut coherence, mut model) = (Coherence::new(N_DEVICES), Model::default());
        for _ in 0..60 {
            let done = match random.below(5) {
                0 | 1 => access(&mut coherence, &mut model, &mut random),
                2 | 3 if !model.accesses.is_empty() => {
                    let (device, mode) = model.accesses.swap_remove(random.below(model.accesses.len()));
                    coherence.end(device, mode);
                    "ended"
                }
                4 if model.accesses.is_empty() => {
                    let device = random.below(N_DEVICES);
                    let others = (0..N_DEVICES).any(|other| other != device && model.has_newest(other));
                    let is_given_up = coherence.release(device);
                    assert_eq!(is_given_up, others || !model.has_newest(device), "{coherence:?} {model:?}");
                    if is_given_up {
                        model.contents[device] = None;
                    }
                    "released"
                }
                _ => "nothing",
            };
            *counts.entry(done).or_default() += 1;
            check(&coherence, &model);
        }
    }
    for outcome in ["begun", "conflict", "never written", "failed", "ended", "released"] {
        assert!(counts.get(outcome).is_some_and(|&count| count > 500), "{outcome}: {counts:?}");
    }
}

#[test]
fn the_fastest_holder_is_copied_from_and_the_first_of_equal_ones() {
    type Case<'a> = (&'a [(usize, f64)], Option<usize>);
    // Holders with their bandwidths, and the chosen holder.
    let cases: &[Case<'_>] = &[
        (&[], None),
        (&[(2, 1.0)], Some(2)),
        (&[(0, 1.0), (1, 3.0), (2, 2.0)], Some(1)),
        (&[(1, 5.0), (2, 5.0)], Some(1)),
        (&[(0, 0.0), (1, f64::NAN), (2, 0.5)], Some(2)), // A bandwidth that is not a number is never larger.
    ];
    for (holders, expected) in cases {
        assert_eq!(fastest(holders), *expected, "{holders:?}");
    }
}
