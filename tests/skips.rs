//! The table `skips.txt` of tests that may be skipped: on which driver, and for lack of which feature.
//!
//! A skip that is not in the table fails its test. If [`FILE_VARIABLE`] names a file, as under `cargo xtask test`, each
//! skip and each driver is written to that file, and [`Summary`] then lists the skipped tests and the lines of the table
//! that no test needed. On a driver without any line in the table, every skip is allowed and listed.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;

/// The environment variable with the path of the file for the skips of a run.
pub const FILE_VARIABLE: &str = "VKARRAY_SKIPS";
/// The environment variable with the name of the layer on which the tests run, if there is one.
pub const LAYER_VARIABLE: &str = "VKARRAY_SKIPS_LAYER";

/// The text between a layer and the driver below it.
const BELOW: &str = " on ";

const TABLE: &str = include_str!("skips.txt");

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line<'a> {
    /// The start of the driver's name and version; `any` if the skip depends on no driver.
    pub driver: &'a str,
    /// The name of the test's function.
    pub test: &'a str,
    /// The missing feature.
    pub feature: &'a str,
    /// Whether the test is always skipped on this driver. Otherwise it depends on the machine or the environment.
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
    parse(TABLE)
}

fn parse(text: &str) -> Result<Vec<Line<'_>>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let line = |line| -> Option<Line<'_>> {
        let cells: Vec<&str> = str::split(line, '|').map(str::trim).collect();
        let [driver, test, feature, certainty @ ("always" | "sometimes")] = cells[..] else { return None };
        let is_whole = [driver, test, feature].iter().all(|cell| !cell.is_empty());
        is_whole.then_some(Line { driver, test, feature, is_certain: certainty == "always" })
    };
    lines
        .map(|text| line(text).ok_or_else(|| format!("tests/skips.txt: `{text}` is not a line of the table")))
        .collect()
}

/// Records the driver that the tests of this process run on, and returns its name for [`skip`].
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

/// Records that `test` is skipped, in part or as a whole, because `driver` lacks `feature`.
///
/// # Errors
///
/// The table does not have this skip, or the file of [`FILE_VARIABLE`] cannot be written.
pub fn skip(driver: &str, test: &str, feature: &str) -> Result<(), String> {
    eprintln!("SKIPPED: {test}, on {driver}: {feature}");
    record(&["skip", driver, test, feature])?;
    check(&table()?, driver, test, feature)
}

/// Whether the table allows the skip.
fn check(table: &[Line<'_>], driver: &str, test: &str, feature: &str) -> Result<(), String> {
    if is_new(table, driver) || table.iter().any(|line| line.allows(driver, test, feature)) {
        return Ok(());
    }
    let line = Line { driver, test, feature, is_certain: true };
    Err(format!("tests/skips.txt does not allow this skip; its line would be `{line}`"))
}

/// Whether the table has no line for the driver, or for the driver below the layer.
fn is_new(table: &[Line<'_>], driver: &str) -> bool {
    let bare = |driver| str::rsplit(driver, BELOW).next().unwrap_or_default().to_owned();
    !table.iter().any(|line| bare(driver).starts_with(&bare(line.driver)))
}

/// Appends a line to the file of the run, if there is one.
fn record(cells: &[&str]) -> Result<(), String> {
    let Some(path) = std::env::var_os(FILE_VARIABLE) else { return Ok(()) };
    let line = cells.join("\t") + "\n";
    let file = OpenOptions::new().create(true).append(true).open(&path);
    // The line is written with one call, so that lines of concurrent processes do not mix.
    file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| format!("{}: {error}", path.display()))
}

/// The skips of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// The driver, the test and the feature of each skip.
    pub skipped: BTreeSet<[&'a str; 3]>,
    /// Drivers for which the table has no line.
    pub new_drivers: BTreeSet<&'a str>,
    /// Lines of the table for the drivers of this run that say `always` and that no test needed.
    pub stale: BTreeSet<Line<'a>>,
}

impl<'a> Summary<'a> {
    /// Compares the file of a run with the table. [`Summary::stale`] is meaningful only after a run of all tests.
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
        new.try_for_each(|driver| writeln!(f, "tests/skips.txt has no line for the driver {driver}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: &str =
        "# comment\n\na 1 | t | no f | always\na | u | no g | sometimes\nlayer on a | t | no h | always\n";

    #[test]
    fn the_table_has_no_more_lines_than_allowed() {
        const N_LINES: usize = 39; // To be lowered only.
        let table = table().unwrap();
        assert_eq!(table.len(), N_LINES);
        assert_eq!(BTreeSet::from_iter(&table).len(), N_LINES, "a line occurs twice");
    }

    #[test]
    fn a_malformed_line_is_reported() {
        for line in ["a | t | always", "a | t | no f | often", "a | | no f | always", "a | t | no f | always | x"] {
            let message = format!("tests/skips.txt: `{line}` is not a line of the table");
            assert_eq!(parse(line), Err(message));
        }
    }

    #[test]
    fn only_skips_in_the_table_are_allowed() {
        let table = parse(SOME).unwrap();
        // The driver, the test, the feature, and whether the skip is allowed.
        for (driver, test, feature, may) in [
            ("a 1.5", "t", "no f", true),
            ("a 2.5", "t", "no f", false), // Another version.
            ("a 2.5", "u", "no g", true),
            ("a 1.5", "t", "no g", false), // Another feature.
            ("a 1.5", "v", "no f", false), // Another test.
            ("layer on a 1.5", "t", "no h", true),
            ("layer on a 1.5", "t", "no f", false), // The layer may have what the driver lacks.
            ("other on a 1.5", "t", "no f", false),
            ("b 1", "t", "no f", true), // A driver without a line.
        ] {
            assert_eq!(check(&table, driver, test, feature).is_ok(), may, "{driver}, {test}, {feature}");
        }
        let refused = check(&table, "a 1.5", "v", "no f").unwrap_err();
        assert!(refused.ends_with("its line would be `a 1.5 | v | no f | always`"), "{refused}");
    }

    #[test]
    fn a_summary_lists_skips_new_drivers_and_stale_lines() {
        let table = parse(SOME).unwrap();
        let file = "driver\ta 1.5\nskip\ta 1.5\tt\tno f\nskip\ta 1.5\tt\tno f\ndriver\tb 1\nskip\tb 1\tw\tno z\n";
        let summary = Summary::new(&table, file);
        assert_eq!(summary.stale, BTreeSet::new());
        let text =
            "2 skipped\n  t, on a 1.5: no f\n  w, on b 1: no z\ntests/skips.txt has no line for the driver b 1\n";
        assert_eq!(summary.to_string(), text);
        // A line is stale if it says `always`, is about a driver of the run, and was not needed.
        assert_eq!(Summary::new(&table, "driver\ta 1.5\n").stale, BTreeSet::from([table[0]]));
        assert_eq!(Summary::new(&table, "driver\tlayer on a 2\n").stale, BTreeSet::from([table[2]]));
        assert_eq!(Summary::new(&table, "driver\ta 2\n").stale, BTreeSet::new());
    }
}
