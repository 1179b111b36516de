//! The order of the steps, and when memory is asked for again.

use super::*;
use crate::error::Shortage;
use crate::kind::MemoryKind;

fn out_of_memory() -> Error {
    Error::OutOfMemory(Box::new(OutOfMemory::new(1, MemoryKind::Device, Shortage::DeviceMemory)))
}

/// An error that no step helps against.
const BROKEN: Error = Error::NotInitialized;

/// An allocation that succeeds from the n-th attempt on; its steps have the given outcomes.
struct Fake {
    attempts: Vec<Result<()>>,
    steps: [Result<StepOutcome>; OomStep::ALL.len()],
    n_attempts: usize,
    taken: Vec<OomStep>,
}

impl OomHandler for Fake {
    type Memory = usize;

    fn attempt(&mut self) -> Result<usize> {
        let answer = self.attempts.remove(0);
        self.n_attempts += 1;
        answer.map(|()| self.n_attempts)
    }

    fn take(&mut self, step: OomStep) -> Result<StepOutcome> {
        self.taken.push(step);
        std::mem::replace(&mut self.steps[step as usize], Err(BROKEN))
    }

    fn complete(&self, report: &mut OutOfMemory) {
        report.n_live = self.n_attempts;
    }
}

/// An allocation whose steps have these outcomes; all other steps are absent.
fn fake(n_refusals: usize, steps: &[(OomStep, StepOutcome)]) -> Fake {
    let mut attempts: Vec<_> = (0..n_refusals).map(|_| Err(out_of_memory())).collect();
    attempts.push(Ok(()));
    let yields = OomStep::ALL.map(|step| {
        let known = steps.iter().find(|(at, _)| *at == step);
        Ok(known.map_or(StepOutcome::Absent, |(_, taken)| *taken))
    });
    Fake { attempts, steps: yields, n_attempts: 0, taken: Vec::new() }
}

#[test]
fn steps_are_numbered_in_the_order_in_which_they_are_taken() {
    for (i, step) in OomStep::ALL.into_iter().enumerate() {
        assert_eq!(step as usize, i, "{step}");
    }
}

#[test]
fn an_allocation_that_succeeds_takes_no_step() {
    let (fallback, mut fake) = (OomFallback::default(), fake(0, &[]));
    assert_eq!(fallback.run(&mut fake).unwrap(), 1);
    assert_eq!((fake.taken, fallback.counts()), (vec![], OomCounts::default()));
}

#[test]
fn every_step_is_taken_once_and_in_order_until_one_helps() {
    // Every step gains something; each in turn is the one that helps.
    for (i, helping) in OomStep::ALL.into_iter().enumerate() {
        let fallback = OomFallback::default();
        let relieving = OomStep::ALL.map(|step| (step, StepOutcome::Relieved));
        let mut fake = fake(i + 1, &relieving);
        assert_eq!(fallback.run(&mut fake).unwrap(), i + 2, "{helping}");
        assert_eq!(fake.taken, OomStep::ALL[..=i], "{helping}");
        let counts = fallback.counts();
        assert_eq!((counts.runs, counts.failed), (1, 0), "{helping}");
        for step in OomStep::ALL {
            let expected = OomStepCount { taken: u64::from(step as usize <= i), helped: u64::from(step == helping) };
            assert_eq!(counts.of(step), expected, "{step}, when {helping} helps");
        }
    }
}

#[test]
fn a_step_that_gains_nothing_is_not_followed_by_an_attempt() {
    let fallback = OomFallback::default();
    let mut fake = fake(
        2,
        &[
            (OomStep::Reclaim, StepOutcome::Nothing),
            (OomStep::Wait, StepOutcome::TimedOut),
            (OomStep::Trim, StepOutcome::Relieved),
        ],
    );
    // There are three attempts: the first one, one after the wait, which may have gained something, and one after the
    // trim.
    assert_eq!(fallback.run(&mut fake).unwrap(), 3);
    assert_eq!(fallback.counts().of(OomStep::Reclaim), OomStepCount { taken: 1, helped: 0 });
    assert_eq!(fallback.counts().of(OomStep::HeldBack), OomStepCount::default(), "an absent step is not counted");
}

#[test]
fn a_failed_allocation_has_the_outcome_of_each_step() {
    let fallback = OomFallback::default();
    let mut fake = fake(9, &[(OomStep::Reclaim, StepOutcome::Nothing), (OomStep::Trim, StepOutcome::Relieved)]);
    let Err(Error::OutOfMemory(report)) = fallback.run(&mut fake) else { panic!("it ran out") };
    for step in OomStep::ALL {
        let expected = match step {
            OomStep::Reclaim => StepOutcome::Nothing,
            OomStep::Trim => StepOutcome::Relieved,
            _ => StepOutcome::Absent,
        };
        assert_eq!(report.steps.at(step), Some(expected), "{step}");
    }
    assert_eq!((fake.n_attempts, report.n_live), (2, 2), "the report is completed after the last attempt");
    assert_eq!((fallback.counts().runs, fallback.counts().failed), (1, 1));
    assert_eq!(StepOutcomes::default().tried().count(), 0);
}

#[test]
fn an_error_other_than_lack_of_memory_ends_the_steps() {
    // The fault comes at the first attempt, at a step, or at the attempt after it.
    let mut first = fake(0, &[]);
    first.attempts = vec![Err(BROKEN)];
    let mut step = fake(1, &[]);
    step.steps[OomStep::Wait as usize] = Err(BROKEN);
    let mut later = fake(1, &[(OomStep::Reclaim, StepOutcome::Relieved)]);
    later.attempts[1] = Err(BROKEN);
    for (name, mut fake, n_taken) in [("first", first, 0), ("step", step, 3), ("later", later, 1)] {
        assert!(matches!(OomFallback::default().run(&mut fake), Err(Error::NotInitialized)), "{name}");
        assert_eq!(fake.taken.len(), n_taken, "{name}");
    }
}
