//! The order of the steps, and when memory is asked for again.

use super::*;

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    RanOut,
    Broken,
}

/// Has memory from the n-th attempt on, and rungs that do as they are told.
struct Fake {
    attempts: Vec<Result<(), Refusal>>,
    rungs: [Result<Taken, Refusal>; Rung::ALL.len()],
    n_attempts: usize,
    taken: Vec<Rung>,
}

impl Climber for Fake {
    type Memory = usize;
    type Error = Refusal;

    fn attempt(&mut self) -> Result<usize, Refusal> {
        let answer = self.attempts.remove(0);
        self.n_attempts += 1;
        answer.map(|()| self.n_attempts)
    }

    fn ran_out(error: &Refusal) -> bool {
        *error == Refusal::RanOut
    }

    fn take(&mut self, rung: Rung) -> Result<Taken, Refusal> {
        self.taken.push(rung);
        std::mem::replace(&mut self.rungs[rung as usize], Err(Refusal::Broken))
    }
}

/// A climber whose rungs yield these, the rest being absent.
fn fake(n_refusals: usize, rungs: &[(Rung, Taken)]) -> Fake {
    let mut attempts: Vec<_> = (0..n_refusals).map(|_| Err(Refusal::RanOut)).collect();
    attempts.push(Ok(()));
    let yields = Rung::ALL.map(|rung| {
        let known = rungs.iter().find(|(at, _)| *at == rung);
        Ok(known.map_or(Taken::Absent, |(_, taken)| *taken))
    });
    Fake { attempts, rungs: yields, n_attempts: 0, taken: Vec::new() }
}

#[test]
fn rungs_are_numbered_in_the_order_in_which_they_are_taken() {
    for (i, rung) in Rung::ALL.into_iter().enumerate() {
        assert_eq!(rung as usize, i, "{rung}");
    }
}

#[test]
fn memory_that_is_there_takes_no_rung() {
    let (ladder, mut fake) = (Ladder::default(), fake(0, &[]));
    assert_eq!(ladder.climb(&mut fake), Ok(1));
    assert_eq!((fake.taken, ladder.counts()), (vec![], LadderCounts::default()));
}

#[test]
fn every_rung_is_taken_once_and_in_order_until_one_saves() {
    // With every rung relieving, each in turn is the one that saves.
    for (i, saving) in Rung::ALL.into_iter().enumerate() {
        let ladder = Ladder::default();
        let relieving = Rung::ALL.map(|rung| (rung, Taken::Relieved));
        let mut fake = fake(i + 1, &relieving);
        assert_eq!(ladder.climb(&mut fake), Ok(i + 2), "{saving}");
        assert_eq!(fake.taken, Rung::ALL[..=i], "{saving}");
        let counts = ladder.counts();
        assert_eq!((counts.climbs, counts.failed), (1, 0), "{saving}");
        for rung in Rung::ALL {
            let expected = RungCount { taken: u64::from(rung as usize <= i), saved: u64::from(rung == saving) };
            assert_eq!(counts.of(rung), expected, "{rung}, when {saving} saves");
        }
    }
}

#[test]
fn a_rung_that_gains_nothing_is_not_followed_by_an_attempt() {
    let ladder = Ladder::default();
    let mut fake =
        fake(2, &[(Rung::Reclaim, Taken::Nothing), (Rung::Wait, Taken::TimedOut), (Rung::Trim, Taken::Relieved)]);
    // The first attempt, one after the wait, which may have gained something, and one after the trim.
    assert_eq!(ladder.climb(&mut fake), Ok(3));
    assert_eq!(ladder.counts().of(Rung::Reclaim), RungCount { taken: 1, saved: 0 });
    assert_eq!(ladder.counts().of(Rung::HeldBack), RungCount::default(), "an absent rung is not counted");
}

#[test]
fn running_out_for_good_tells_what_came_of_each_rung() {
    let ladder = Ladder::default();
    let mut fake = fake(9, &[(Rung::Reclaim, Taken::Nothing), (Rung::Trim, Taken::Relieved)]);
    let Err(Fall::RanOut(Refusal::RanOut, trail)) = ladder.climb(&mut fake) else { panic!("it ran out") };
    for rung in Rung::ALL {
        let expected = match rung {
            Rung::Reclaim => Taken::Nothing,
            Rung::Trim => Taken::Relieved,
            _ => Taken::Absent,
        };
        assert_eq!(trail.at(rung), Some(expected), "{rung}");
    }
    assert_eq!(fake.n_attempts, 2);
    assert_eq!((ladder.counts().climbs, ladder.counts().failed), (1, 1));
    assert_eq!(Trail::default().tried().count(), 0);
}

#[test]
fn what_is_no_lack_of_memory_ends_the_climb() {
    // At the first attempt, at a rung, at the attempt after it.
    let mut first = fake(0, &[]);
    first.attempts = vec![Err(Refusal::Broken)];
    let mut rung = fake(1, &[]);
    rung.rungs[Rung::Wait as usize] = Err(Refusal::Broken);
    let mut later = fake(1, &[(Rung::Reclaim, Taken::Relieved)]);
    later.attempts[1] = Err(Refusal::Broken);
    for (name, mut fake, n_taken) in [("first", first, 0), ("rung", rung, 3), ("later", later, 1)] {
        assert_eq!(Ladder::default().climb(&mut fake), Err(Fall::Failed(Refusal::Broken)), "{name}");
        assert_eq!(fake.taken.len(), n_taken, "{name}");
    }
}
