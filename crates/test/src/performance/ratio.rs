//! Whether a kernel is slower than before, from the times of several rounds. Pure.
//!
//! Each round measures base, head and base again. The ratio of the head's time to the mean of the base's two times does
//! not change with slow drifts, such as clocks and temperature. The ratio of the base's two times shows how large a
//! difference without a meaning can be.

use std::collections::BTreeMap;
use std::fmt;

/// How many resamples the bootstrap draws.
const N_RESAMPLES: usize = 4_000;
/// The part of the resamples on each side of a 95 % interval.
const TAIL: f64 = 0.025;

/// The times of a round in seconds, by the name of the kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Round {
    pub(super) base: BTreeMap<String, f64>,
    pub(super) head: BTreeMap<String, f64>,
    pub(super) base_again: BTreeMap<String, f64>,
}

/// A median and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    low: f64,
    median: f64,
    high: f64,
}

/// The ratio of times above which a kernel is slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rule {
    threshold: f64,
}

/// The decision about a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The whole interval lies above the threshold, and above the differences of the base from itself.
    Slower,
    Faster,
    /// The whole interval lies below the threshold.
    Unchanged,
    /// The interval includes the threshold, or the base differs from itself by as much.
    Undecided,
}

/// A kernel of both programs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    pub(super) name: String,
    /// Medians in seconds.
    base: f64,
    pub(super) head: f64,
    ratio: Interval,
    /// The base against itself.
    noise: Interval,
    threshold: f64,
    pub(super) change: Change,
}

impl Rule {
    /// # Errors
    ///
    /// An error for a threshold that is not above 1.
    pub(super) fn new(threshold: f64) -> Result<Self, String> {
        let is_ratio = threshold > 1.0 && threshold.is_finite();
        if is_ratio { Ok(Self { threshold }) } else { Err(format!("the threshold is {threshold}, not above 1")) }
    }

    fn judge(self, ratio: Interval, noise: Interval) -> Change {
        // How far the base is from itself, in either direction.
        let unsure = noise.high.max(1.0 / noise.low);
        if ratio.low > self.threshold && ratio.low > unsure {
            Change::Slower
        } else if ratio.high < 1.0 / self.threshold && ratio.high < 1.0 / unsure {
            Change::Faster
        } else if ratio.high <= self.threshold {
            Change::Unchanged
        } else {
            Change::Undecided
        }
    }
}

/// Compares the kernels that all rounds have on both sides.
pub(super) fn compare(rounds: &[Round], rule: Rule) -> Vec<Comparison> {
    let names = rounds.first().map(|round| round.head.keys()).into_iter().flatten();
    let times = |name: &String| -> Option<Vec<[f64; 3]>> {
        let times =
            |round: &Round| Some([*round.base.get(name)?, *round.head.get(name)?, *round.base_again.get(name)?]);
        rounds.iter().map(times).collect()
    };
    names.filter_map(|name| times(name).map(|times| comparison(name, &times, rule))).collect()
}

/// What the second of two comparisons found; a kernel that only the second one found slower is undecided.
pub(super) fn confirm(first: &[Comparison], mut second: Vec<Comparison>) -> Vec<Comparison> {
    let is_slower = |in_first: &Comparison, name| in_first.name == name && in_first.change == Change::Slower;
    for found in second.iter_mut().filter(|found| found.change == Change::Slower) {
        if !first.iter().any(|in_first| is_slower(in_first, found.name.as_str())) {
            found.change = Change::Undecided;
        }
    }
    second
}

fn comparison(name: &str, times: &[[f64; 3]], rule: Rule) -> Comparison {
    let of = |value: fn(&[f64; 3]) -> f64| times.iter().map(value).collect::<Vec<f64>>();
    let ratio = interval(&of(|[base, head, again]| head / (base * again).sqrt()));
    let noise = interval(&of(|[base, _, again]| again / base));
    Comparison {
        name: name.to_owned(),
        base: median(&mut of(|[base, _, again]| (base * again).sqrt())),
        head: median(&mut of(|[_, head, _]| *head)),
        ratio,
        noise,
        threshold: rule.threshold,
        change: rule.judge(ratio, noise),
    }
}

/// The median of some values, at least one, with its interval by the bootstrap: the medians of many draws of as many
/// values, with replacement. Every call makes the same draws.
fn interval(values: &[f64]) -> Interval {
    let mut random = fastrand::Rng::with_seed(0);
    let mut medians: Vec<f64> = (0..N_RESAMPLES)
        .map(|_| median(&mut (0..values.len()).map(|_| values[random.usize(..values.len())]).collect::<Vec<_>>()))
        .collect();
    medians.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the number of resamples")]
    let n_tail = (N_RESAMPLES as f64 * TAIL) as usize;
    Interval { low: medians[n_tail], median: median(&mut values.to_vec()), high: medians[N_RESAMPLES - 1 - n_tail] }
}

/// The median of some values, at least one, which it sorts.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], values[middle]) } else { values[middle] }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3} to {:.3})", self.median, self.low, self.high)
    }
}

/// `sum: slower than 1.05: 12.1 us, base 8.2 us, ratio 1.48 (1.45 to 1.50); base against itself 1.00 (0.99 to 1.01)`.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, ratio, noise, threshold, .. } = self;
        match self.change {
            Change::Slower => write!(f, "{name}: SLOWER than {threshold} times its base")?,
            Change::Faster => write!(f, "{name}: faster")?,
            Change::Unchanged => write!(f, "{name}: unchanged")?,
            Change::Undecided => write!(f, "{name}: undecided, more rounds may tell")?,
        }
        let (head, base) = (self.head * 1e6, self.base * 1e6);
        write!(f, ": {head:.3} us, base {base:.3} us, ratio {ratio}; base against itself {noise}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of one kernel: the base's time with a disturbance that repeats, and the head's time as a multiple of it.
    fn rounds(disturbance: &[f64], factor: f64) -> Vec<Round> {
        let times = |time: f64| BTreeMap::from([("sum".to_owned(), time)]);
        let n = disturbance.len();
        let at = |i: usize| 1e-5 * disturbance[i % n];
        let round = |i: usize| Round {
            base: times(at(3 * i)),
            head: times(factor * at(3 * i + 1)),
            base_again: times(at(3 * i + 2)),
        };
        (0..15).map(round).collect()
    }

    #[test]
    fn a_kernel_is_slower_if_its_interval_is_above_the_threshold_and_the_noise() {
        let quiet = [1.0, 1.01, 0.99, 1.0, 1.005];
        let noisy = [1.0, 1.4, 0.8, 1.2, 0.7, 1.5, 0.9];
        let rule = Rule::new(1.05).unwrap();
        for (disturbance, factor, change) in [
            (&quiet[..], 1.0, Change::Unchanged), // Base against base.
            (&quiet, 1.02, Change::Unchanged),    // Below the threshold.
            (&quiet, 1.2, Change::Slower),
            (&quiet, 0.8, Change::Faster),
            (&noisy, 1.0, Change::Undecided),
            (&noisy, 1.06, Change::Undecided), // The base differs from itself by more.
            (&noisy, 3.0, Change::Slower),
        ] {
            let compared = compare(&rounds(disturbance, factor), rule);
            assert_eq!(compared[0].change, change, "{disturbance:?} {factor}: {}", compared[0]);
        }
    }

    #[test]
    fn what_changes_slowly_is_no_difference() {
        // The device slows down by 1 % from each measurement to the next.
        let drift: Vec<f64> = (0..45).map(|i| 1.01_f64.powi(i)).collect();
        let compared = compare(&rounds(&drift, 1.0), Rule::new(1.05).unwrap());
        assert!((compared[0].ratio.median - 1.0).abs() < 1e-9, "{}", compared[0]);
        assert_eq!(compared[0].change, Change::Unchanged);
    }

    #[test]
    fn one_disturbed_round_decides_nothing() {
        let mut rounds = rounds(&[1.0, 1.01, 0.99, 1.0, 1.005], 1.0);
        rounds[7].head.insert("sum".to_owned(), 1.0);
        assert_eq!(compare(&rounds, Rule::new(1.05).unwrap())[0].change, Change::Unchanged);
    }

    #[test]
    fn an_interval_contains_the_median_and_narrows_with_more_values() {
        let values = |n: usize| (0..n).map(|i| 1.0 + (i * 7 % 11) as f64 / 100.0).collect::<Vec<f64>>();
        let (few, many) = (interval(&values(11)), interval(&values(99)));
        for interval in [few, many] {
            assert!(interval.low <= interval.median && interval.median <= interval.high, "{interval}");
        }
        assert!((few.median - 1.05).abs() < 1e-9 && (many.median - 1.05).abs() < 1e-9);
        assert!(many.high - many.low < few.high - few.low);
        assert_eq!(interval(&[2.0]), Interval { low: 2.0, median: 2.0, high: 2.0 });
    }

    #[test]
    fn a_kernel_is_slower_if_two_comparisons_find_it_slower() {
        let quiet = [1.0, 1.01, 0.99, 1.0, 1.005];
        let found = |factor: f64| compare(&rounds(&quiet, factor), Rule::new(1.05).unwrap());
        for (first, second, change) in [
            (1.2, 1.2, Change::Slower),
            (1.2, 1.0, Change::Unchanged),
            (1.0, 1.2, Change::Undecided), // Another kernel was slower in the first comparison.
            (1.0, 0.8, Change::Faster),
            (1.0, 1.0, Change::Unchanged),
        ] {
            assert_eq!(confirm(&found(first), found(second))[0].change, change, "{first} {second}");
        }
    }

    #[test]
    fn kernels_of_one_side_are_not_compared() {
        let mut rounds = rounds(&[1.0], 1.0);
        rounds.iter_mut().for_each(|round| {
            round.head.insert("new".to_owned(), 1.0);
            round.base.insert("old".to_owned(), 1.0);
        });
        let names: Vec<String> = compare(&rounds, Rule::new(1.05).unwrap()).into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["sum"]);
    }

    #[test]
    fn a_threshold_is_a_ratio_above_one() {
        for (threshold, is_good) in [(1.05, true), (3.0, true), (1.0, false), (0.05, false), (f64::NAN, false)] {
            assert_eq!(Rule::new(threshold).is_ok(), is_good, "{threshold}");
        }
    }

    #[test]
    fn a_line_has_the_times_and_both_intervals() {
        let compared = compare(&rounds(&[1.0], 1.5), Rule::new(1.05).unwrap());
        let line = "sum: SLOWER than 1.05 times its base: 15.000 us, base 10.000 us, ratio 1.500 (1.500 to 1.500); \
                    base against itself 1.000 (1.000 to 1.000)";
        assert_eq!(compared[0].to_string(), line);
    }
}
