//! Which tests may be skipped, on which driver, for want of what: `skips.txt` and what becomes of a skip.
//!
//! A skip that the table does not have fails its test. Where [`FILE_VARIABLE`] names a file, as `cargo xtask test` has it,
//! each skip and each driver is a line of that file, and [`Summary`] says at the end what was skipped and which lines of
//! the table no test needs any more. A driver of which the table has no line at all is new: its skips are only counted.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that takes the skips of a run.
pub const FILE_VARIABLE: &str = "VKARRAY_SKIPS";
/// Names the layer that changes what the device looks like, for tests that run this program again on one.
pub const LAYER_VARIABLE: &str = "VKARRAY_SKIPS_LAYER";

/// Between a layer and the driver below it.
const BELOW: &str = " on ";

const TABLE: &str = include_str!("skips.txt");

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line<'a> {
    /// How the driver's name and version begin; `any` for what depends on no driver.
    pub driver: &'a str,
    /// The name of the test's function.
    pub test: &'a str,
    /// What is missing.
    pub feature: &'a str,
    /// Whether the driver alone decides. What depends on the machine's memory or on the environment may also not be skipped.
    pub is_certain: bool,
}

impl Line<'_> {
    fn is_of(&self, driver: &str) -> bool {
        driver.starts_with(self.driver)
    }

    fn allows(&self, driver: &str, test: &str, feature: &str) -> bool {
        self.is_of(driver) && self.test == test && self.feature == feature
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let certainty = if self.is_certain { "always" } else { "sometimes" };
        write!(f, "{} | {} | {} | {certainty}", self.driver, self.test, self.feature)
    }
}

/// The table of the repository.
///
/// # Errors
///
/// The line that is malformed.
pub fn table() -> Result<Vec<Line<'static>>, String> {
    parsed(TABLE)
}

fn parsed(text: &str) -> Result<Vec<Line<'_>>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let line = |line| -> Option<Line<'_>> {
        let cells: Vec<&str> = str::split(line, '|').map(str::trim).collect();
        let [driver, test, feature, certainty @ ("always" | "sometimes")] = cells[..] else { return None };
        let is_whole = [driver, test, feature].iter().all(|cell| !cell.is_empty());
        is_whole.then_some(Line { driver, test, feature, is_certain: certainty == "always" })
    };
    lines.map(|text| line(text).ok_or_else(|| format!("tests/skips.txt: `{text}` is no line of the table"))).collect()
}

/// Notes which driver the tests of this process run on, and returns its name for [`skip`].
///
/// # Errors
///
/// The file of [`FILE_VARIABLE`] cannot be written.
pub fn driver(name: &str, version: &str) -> Result<String, String> {
    let driver = format!("{name} {version}").trim().to_owned();
    let driver = match std::env::var(LAYER_VARIABLE) {
        Ok(layer) => format!("{layer}{BELOW}{driver}"),
        Err(_) => driver,
    };
    record(&["driver", &driver])?;
    Ok(driver)
}

/// Notes that `test` has left something out because `driver` lacks `feature`.
///
/// # Errors
///
/// The table does not have this skip, or the file of [`FILE_VARIABLE`] cannot be written.
pub fn skip(driver: &str, test: &str, feature: &str) -> Result<(), String> {
    eprintln!("SKIPPED: {test}, on {driver}: {feature}");
    record(&["skip", driver, test, feature])?;
    judged(&table()?, driver, test, feature)
}

fn judged(table: &[Line<'_>], driver: &str, test: &str, feature: &str) -> Result<(), String> {
    if is_new(table, driver) || table.iter().any(|line| line.allows(driver, test, feature)) {
        return Ok(());
    }
    let line = Line { driver, test, feature, is_certain: true };
    Err(format!("tests/skips.txt does not let this test be skipped; its line would be `{line}`"))
}

/// Whether the table has no line for the driver, or for what is below the layer.
fn is_new(table: &[Line<'_>], driver: &str) -> bool {
    let bare = |driver| str::rsplit(driver, BELOW).next().unwrap_or_default().to_owned();
    !table.iter().any(|line| bare(driver).starts_with(&bare(line.driver)))
}

/// Appends a line to the file of the run, if there is one.
fn record(cells: &[&str]) -> Result<(), String> {
    let Some(path) = std::env::var_os(FILE_VARIABLE) else { return Ok(()) };
    let line = cells.join("\t") + "\n";
    let file = OpenOptions::new().create(true).append(true).open(&path);
    // One write, so that the lines of processes that run at the same time do not mix.
    file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| format!("{}: {error}", path.display()))
}

/// What a run has skipped.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// Driver, test, feature; each once.
    pub skipped: BTreeSet<[&'a str; 3]>,
    /// Drivers of which the table has no line.
    pub new_drivers: BTreeSet<&'a str>,
    /// Lines of the table for the drivers of this run that no test needed, although they always should.
    pub stale: BTreeSet<Line<'a>>,
}

impl<'a> Summary<'a> {
    /// Compares the file of a run with the table. [`Summary::stale`] means something only after a run of all tests.
    #[must_use]
    pub fn new(table: &[Line<'a>], file: &'a str) -> Self {
        let cells = || file.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let drivers: BTreeSet<&str> =
            cells().filter_map(|cells| if let ["driver", driver] = cells[..] { Some(driver) } else { None }).collect();
        let skip = |cells: Vec<&'a str>| {
            if let ["skip", driver, test, feature] = cells[..] { Some([driver, test, feature]) } else { None }
        };
        let skipped: BTreeSet<[&str; 3]> = cells().filter_map(skip).collect();
        let is_stale = |line: &&Line<'_>| {
            let is_here = drivers.iter().any(|driver| line.is_of(driver));
            is_here
                && line.is_certain
                && !skipped.iter().any(|[driver, test, feature]| line.allows(driver, test, feature))
        };
        let stale = table.iter().filter(is_stale).copied().collect();
        let new_drivers = drivers.iter().copied().filter(|driver| is_new(table, driver)).collect();
        Self { skipped, new_drivers, stale }
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} skipped", self.skipped.len())?;
        self.skipped.iter().try_for_each(|[driver, test, feature]| writeln!(f, "  {test}, on {driver}: {feature}"))?;
        let mut new = self.new_drivers.iter();
        new.try_for_each(|driver| writeln!(f, "tests/skips.txt does not know the driver {driver}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: &str =
        "# comment\n\na 1 | t | no f | always\na | u | no g | sometimes\nlayer on a | t | no h | always\n";

    #[test]
    fn the_table_shrinks() {
        const N_LINES: usize = 44; // Only ever lowered.
        let table = table().unwrap();
        assert_eq!(table.len(), N_LINES);
        assert_eq!(BTreeSet::from_iter(&table).len(), N_LINES, "a line is there twice");
    }

    #[test]
    fn a_malformed_line_is_named() {
        for line in ["a | t | always", "a | t | no f | often", "a | | no f | always", "a | t | no f | always | x"] {
            let message = format!("tests/skips.txt: `{line}` is no line of the table");
            assert_eq!(parsed(line), Err(message));
        }
    }

    #[test]
    fn only_what_the_table_has_is_skipped() {
        let table = parsed(SOME).unwrap();
        // Driver, test, feature, whether it may be.
        for (driver, test, feature, may) in [
            ("a 1.5", "t", "no f", true),
            ("a 2.5", "t", "no f", false), // Another version.
            ("a 2.5", "u", "no g", true),
            ("a 1.5", "t", "no g", false), // Another feature.
            ("a 1.5", "v", "no f", false), // Another test.
            ("layer on a 1.5", "t", "no h", true),
            ("layer on a 1.5", "t", "no f", false), // What the driver lacks, the layer may have.
            ("other on a 1.5", "t", "no f", false),
            ("b 1", "t", "no f", true), // A driver that the table does not know.
        ] {
            assert_eq!(judged(&table, driver, test, feature).is_ok(), may, "{driver}, {test}, {feature}");
        }
        let refused = judged(&table, "a 1.5", "v", "no f").unwrap_err();
        assert!(refused.ends_with("its line would be `a 1.5 | v | no f | always`"), "{refused}");
    }

    #[test]
    fn a_run_is_summed_up() {
        let table = parsed(SOME).unwrap();
        let file = "driver\ta 1.5\nskip\ta 1.5\tt\tno f\nskip\ta 1.5\tt\tno f\ndriver\tb 1\nskip\tb 1\tw\tno z\n";
        let summary = Summary::new(&table, file);
        assert_eq!(summary.stale, BTreeSet::new());
        let text = "2 skipped\n  t, on a 1.5: no f\n  w, on b 1: no z\ntests/skips.txt does not know the driver b 1\n";
        assert_eq!(summary.to_string(), text);
        // A line that is always needed, and was not; those of other drivers and of the machine do not count.
        assert_eq!(Summary::new(&table, "driver\ta 1.5\n").stale, BTreeSet::from([table[0]]));
        assert_eq!(Summary::new(&table, "driver\tlayer on a 2\n").stale, BTreeSet::from([table[2]]));
        assert_eq!(Summary::new(&table, "driver\ta 2\n").stale, BTreeSet::new());
    }
}
