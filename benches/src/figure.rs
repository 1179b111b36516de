//! Figures, and the lines of JSON with which programs print them: first a header, then a figure per line.
//!
//! Every program here and the scripts for other libraries print such lines, each as soon as its figure is measured.
//! Read `merge.rs` next.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::timed;

/// The exit code of a program that has printed [`Line::Absent`].
pub const ABSENT: u8 = 2;

/// A median and its extremes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "PrintedFigure")]
pub struct Figure {
    /// The name of the figure.
    pub name: String,
    /// The median.
    pub value: f64,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// `us`, `GB/s`, …
    pub unit: String,
}

/// A figure as printed by a script, possibly without the extremes.
#[derive(Deserialize)]
struct PrintedFigure {
    name: String,
    value: f64,
    min: Option<f64>,
    max: Option<f64>,
    unit: String,
}

impl From<PrintedFigure> for Figure {
    fn from(printed: PrintedFigure) -> Self {
        let PrintedFigure { name, value, min, max, unit } = printed;
        Self { name, value, min: min.unwrap_or(value), max: max.unwrap_or(value), unit }
    }
}

/// A line that a program printed.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// A figure.
    Figure(Figure),
    /// A figure that is left out.
    Skipped {
        /// The name of the figure.
        skipped: String,
        /// The reason.
        reason: String,
    },
    /// The program cannot measure on this machine, which is not a failure.
    Absent {
        /// The reason.
        absent: String,
    },
    /// Any other object: a header, or a script's remark.
    Remark(serde_json::Map<String, Value>),
}

impl Line {
    /// Parses a line. `None` if it is not a JSON object.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// Prints one program's figures.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The number of runs of which a figure is the median, after a warm-up run.
    pub runs: u32,
}

impl Report {
    /// Prints the header: the device and the library.
    pub fn header(self, device: &str, library: &str) {
        println!("{}", json!({"device": device, "library": library}));
    }

    /// Prints the microseconds of one of `n` operations, from times of all `n`.
    pub fn micros(self, name: &str, times: &[Duration], n: u32) {
        self.figure(name, "us", times.iter().map(|time| time.as_secs_f64() * 1e6 / f64::from(n)));
    }

    /// Prints the time of one wait as `name`, and its processor time as `processor_NAME` where the system tells it.
    pub fn wait(self, name: &str, waits: &Waits) {
        self.micros(name, &waits.times, 1);
        if let (Some(time), Ok(n)) = (waits.processor, u32::try_from(waits.times.len())) {
            self.micros(&format!("processor_{name}"), &[time], n);
        }
    }

    /// Prints a rate, from times in which `bytes` were moved.
    pub fn rate(self, name: &str, times: &[Duration], bytes: u64) {
        self.figure(name, "GB/s", times.iter().map(|time| bytes as f64 / 1e9 / time.as_secs_f64()));
    }

    /// Prints an amount of memory, or that nobody tells it.
    pub fn mebibytes(self, name: &str, values: impl Iterator<Item = f64>) {
        let mut values = values.peekable();
        match values.peek() {
            Some(_) => self.figure(name, "MiB", values),
            None => self.skipped(name, "neither the system nor the driver tells it"),
        }
    }

    /// Prints the median of some values, at least one, and their extremes.
    pub fn figure(self, name: &str, unit: &str, values: impl Iterator<Item = f64>) {
        let mut values: Vec<f64> = values.collect();
        let value = median(&mut values);
        let (min, max) = (values[0], values[values.len() - 1]);
        let figure = Figure { name: name.to_owned(), value, min, max, unit: unit.to_owned() };
        println!("{}", serde_json::to_string(&figure).expect("plain numbers and texts"));
    }

    /// Prints what the next figures are about.
    pub fn remark(self, about: &str, remark: &str) {
        println!("{}", json!({"about": about, "remark": remark}));
    }

    /// Prints that a figure is left out, with the reason.
    pub fn skipped(self, name: &str, reason: &str) {
        println!("{}", json!({"skipped": name, "reason": reason}));
    }

    /// Prints that the program cannot measure on this machine, with the reason.
    pub fn absent(self, reason: &str) {
        println!("{}", json!({"absent": reason}));
    }

    /// Runs once to warm up and then `runs` times, and returns the results.
    ///
    /// # Errors
    ///
    /// The errors that `run` returns.
    pub fn runs<T>(self, mut run: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<Vec<T>> {
        run()?;
        (0..self.runs).map(|_| run()).collect()
    }

    /// Runs `run`, which ends with a wait, once to warm up and then `n` times, and returns the times.
    ///
    /// # Errors
    ///
    /// The errors that `run` returns.
    pub fn waits(self, n: u32, mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Waits> {
        run()?;
        let begin = processor_time();
        let times = (0..n).map(|_| timed(&mut run)).collect::<anyhow::Result<_>>()?;
        let processor = processor_time().zip(begin).map(|(end, begin)| end.saturating_sub(begin));
        Ok(Waits { times, processor })
    }
}

/// The times of operations that were waited for one by one.
#[derive(Debug)]
pub struct Waits {
    times: Vec<Duration>,
    /// The processor time of all threads of the process, for all of the operations. The clock is read only at both
    /// ends, since reading it is a call of the system.
    processor: Option<Duration>,
}

impl AsRef<[Duration]> for Waits {
    fn as_ref(&self) -> &[Duration] {
        &self.times
    }
}

/// The processor time of this process so far, where the system tells it.
fn processor_time() -> Option<Duration> {
    #[cfg(unix)]
    return rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).try_into().ok();
    #[cfg(not(unix))]
    None
}

/// Prints the figures of several ways to do the same, and the one with the least median time again as `name`.
pub fn print_best<T: AsRef<[Duration]>>(name: &str, ways: &[(String, T)], print: impl Fn(&str, &T)) {
    ways.iter().for_each(|(way, times)| print(way, times));
    let middle = |times: &T| median(&mut times.as_ref().iter().map(Duration::as_secs_f64).collect::<Vec<_>>());
    let best = ways.iter().min_by(|(_, a), (_, b)| middle(a).total_cmp(&middle(b)));
    best.into_iter().for_each(|(_, times)| print(name, times));
}

/// Sorts some values, at least one, and returns the middle one; of an even number of values the upper of the middle
/// two.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn figure(value: f64, [min, max]: [f64; 2]) -> Line {
        Line::Figure(Figure { name: "a".to_owned(), value, min, max, unit: "us".to_owned() })
    }

    #[test]
    fn a_median_is_the_middle_and_the_ends_are_sorted() {
        // Values, median, least, largest.
        let cases: &[(&[f64], [f64; 3])] = &[
            (&[3.0], [3.0, 3.0, 3.0]),                // One value is all three.
            (&[9.0, 1.0, 5.0], [5.0, 1.0, 9.0]),      // Order does not matter.
            (&[4.0, 1.0, 2.0, 3.0], [3.0, 1.0, 4.0]), // The upper of two in the middle.
            (&[1.0, 1.0, 100.0], [1.0, 1.0, 100.0]),  // One slow run does not move the median.
        ];
        for &(values, expected) in cases {
            let mut sorted = values.to_vec();
            let value = median(&mut sorted);
            assert_eq!([value, sorted[0], sorted[sorted.len() - 1]], expected, "{values:?}");
        }
    }

    #[test]
    fn the_way_with_the_least_median_is_printed_again() {
        let ways = [("slow", [9, 1, 9]), ("fast", [2, 3, 50])];
        let ways = ways.map(|(way, times)| (way.to_owned(), times.map(Duration::from_secs).to_vec()));
        let printed = RefCell::new(Vec::new());
        print_best("best", &ways, |name, times| printed.borrow_mut().push((name.to_owned(), times[0].as_secs())));
        let expected = [("slow", 9), ("fast", 2), ("best", 2)].map(|(name, first)| (name.to_owned(), first));
        assert_eq!(printed.into_inner(), expected);
    }

    #[cfg(unix)]
    #[test]
    fn a_wait_that_works_takes_processor_time() {
        let spin = || Ok((0..1_000_000).for_each(|i| _ = std::hint::black_box(i)));
        let waits = Report { runs: 1 }.waits(3, spin).unwrap();
        assert_eq!(waits.times.len(), 3);
        assert!(waits.processor.unwrap() > Duration::ZERO);
    }

    #[test]
    fn each_kind_of_line_is_parsed() {
        let remark = |line| Line::Remark(serde_json::from_str(line).unwrap());
        let cases = [
            (r#"{"name":"a","value":2.0,"min":1.0,"max":4,"unit":"us"}"#, Some(figure(2.0, [1.0, 4.0]))),
            (r#"{"name":"a","value":2,"unit":"us"}"#, Some(figure(2.0, [2.0, 2.0]))), // A script without extremes.
            // With a field more than needed.
            (r#"{"name":"a","value":2,"unit":"us","us":7}"#, Some(figure(2.0, [2.0, 2.0]))),
            (
                r#"{"skipped":"a","reason":"no room"}"#,
                Some(Line::Skipped { skipped: "a".to_owned(), reason: "no room".to_owned() }),
            ),
            (r#"{"absent":"no driver"}"#, Some(Line::Absent { absent: "no driver".to_owned() })),
            (r#"{"device":"d"}"#, Some(remark(r#"{"device":"d"}"#))), // A header.
            // Neither a unit nor a number.
            (r#"{"name":"a","value":"2"}"#, Some(remark(r#"{"name":"a","value":"2"}"#))),
            ("Warming up", None), // Scripts print other text too.
            ("7", None),          // JSON, but no object.
        ];
        for (line, expected) in cases {
            assert_eq!(Line::parse(line), expected, "{line}");
        }
    }
}
