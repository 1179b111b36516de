//! Figures in files, and the ratios of a run over a saved one.
//!
//! A file has the lines of `--json`. A ratio is judged by the ends of both measurements: only where they do not overlap is
//! there a change. `plot.rs` draws both.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::figure::{Figure, Header, Printer, Spread, Unit};
use crate::error::{Error, Result};
use crate::files::Target;

/// A saved run.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) header: Header,
    pub(super) figures: Vec<Figure>,
}

impl Saved {
    /// Reads a file that [`save`] or `--json` wrote. Lines without a figure, such as those of skipped ones, are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Read`]; [`Error::Figures`] if it is no such file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|reason| Error::Read { path: path.to_owned(), reason })?;
        let no_figures = |reason: serde_json::Error| Error::Figures { path: path.to_owned(), reason };
        let mut lines = text.lines();
        let header = serde_json::from_str(lines.next().unwrap_or_default()).map_err(no_figures)?;
        let mut figures = Vec::new();
        for line in lines {
            let value: serde_json::Value = serde_json::from_str(line).map_err(no_figures)?;
            if value.get("name").is_some() {
                figures.push(serde_json::from_value(value).map_err(no_figures)?);
            }
        }
        Ok(Self { header, figures })
    }
}

/// Writes the figures of a run.
///
/// # Errors
///
/// [`Error::Write`], [`Error::Replace`].
pub(super) fn save(target: &Target, header: &Header, figures: &[Figure]) -> Result<()> {
    target.write(|file| {
        writeln!(file, "{}", serde_json::to_string(header)?)?;
        figures.iter().try_for_each(|figure| Ok(writeln!(file, "{}", serde_json::to_string(figure)?)?))
    })
}

/// What a ratio says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Change {
    /// The measurements overlap.
    Noise,
    Faster,
    Slower,
    /// Of what is neither a time nor a rate.
    More,
    Less,
}

/// A figure over the saved one of its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Ratio {
    pub(super) name: String,
    #[serde(rename = "ratio")]
    pub(super) value: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) change: Change,
}

impl Ratio {
    /// The ratio of two figures; `None` if one of them has a zero or another unit.
    fn of(new: &Figure, old: &Figure) -> Option<Self> {
        let Spread { value, min, max } = new.spread;
        if new.unit != old.unit || min <= 0.0 || old.spread.min <= 0.0 {
            return None;
        }
        let (least, largest) = (min / old.spread.max, max / old.spread.min);
        let change = match (new.unit, largest < 1.0, least > 1.0) {
            (_, false, false) => Change::Noise,
            (Unit::Micros, true, _) | (Unit::GigabytesPerSecond, false, _) => Change::Faster,
            (Unit::Micros, false, _) | (Unit::GigabytesPerSecond, true, _) => Change::Slower,
            (_, true, _) => Change::Less,
            (_, false, _) => Change::More,
        };
        Some(Self { name: new.name.clone(), value: value / old.spread.value, min: least, max: largest, change })
    }

    /// The ratios of all figures that both runs have, in the order of the new run.
    pub(super) fn of_all(new: &[Figure], old: &[Figure]) -> Vec<Self> {
        let ratio = |figure: &Figure| Self::of(figure, old.iter().find(|other| other.name == figure.name)?);
        new.iter().filter_map(ratio).collect()
    }
}

/// Prints the ratios.
///
/// # Errors
///
/// [`Error::Report`].
pub(super) fn print_ratios(printer: &Printer, path: &Path, saved: &Header, ratios: &[Ratio]) -> Result<()> {
    let about = format!("{}, {}; vkarray {}, {}", saved.device, saved.driver, saved.version, saved.date);
    printer.remark(&format!("against {}", path.display()), &about)?;
    ratios.iter().try_for_each(|ratio| {
        let Ratio { name, value, min, max, change } = ratio;
        let word = match change {
            Change::Noise => "noise",
            Change::Faster => "faster",
            Change::Slower => "slower",
            Change::More => "more",
            Change::Less => "less",
        };
        printer.line(ratio, || format!("{name:<32} {value:>12.3} x      ({min:.3} to {max:.3})  {word}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(unit: Unit, [value, min, max]: [f64; 3]) -> Figure {
        Figure { name: "f".to_owned(), spread: Spread { value, min, max }, unit }
    }

    #[test]
    fn only_measurements_that_do_not_overlap_are_a_change() {
        let old = [2.0, 1.8, 2.4];
        // Unit, new figure, ratio and band, what it says.
        for (unit, new, ratio, change) in [
            (Unit::Micros, [2.0, 1.9, 2.1], [1.0, 1.9 / 2.4, 2.1 / 1.8], Change::Noise),
            (Unit::Micros, [1.0, 0.9, 1.7], [0.5, 0.9 / 2.4, 1.7 / 1.8], Change::Faster),
            (Unit::Micros, [1.0, 0.9, 1.9], [0.5, 0.9 / 2.4, 1.9 / 1.8], Change::Noise), // The ends overlap.
            (Unit::Micros, [3.0, 2.5, 4.0], [1.5, 2.5 / 2.4, 4.0 / 1.8], Change::Slower),
            (Unit::GigabytesPerSecond, [3.0, 2.5, 4.0], [1.5, 2.5 / 2.4, 4.0 / 1.8], Change::Faster),
            (Unit::GigabytesPerSecond, [1.0, 0.9, 1.7], [0.5, 0.9 / 2.4, 1.7 / 1.8], Change::Slower),
            (Unit::Mebibytes, [3.0, 2.5, 4.0], [1.5, 2.5 / 2.4, 4.0 / 1.8], Change::More),
            (Unit::Ratio, [1.0, 0.9, 1.7], [0.5, 0.9 / 2.4, 1.7 / 1.8], Change::Less),
        ] {
            let [value, min, max] = ratio;
            let expected = Ratio { name: "f".to_owned(), value, min, max, change };
            assert_eq!(Ratio::of(&figure(unit, new), &figure(unit, old)), Some(expected), "{new:?} {unit:?}");
        }
        let zero = figure(Unit::Count, [0.0; 3]);
        assert_eq!(Ratio::of(&zero, &figure(Unit::Count, [1.0; 3])), None);
        assert_eq!(Ratio::of(&figure(Unit::Count, [1.0; 3]), &zero), None);
        assert_eq!(Ratio::of(&figure(Unit::Micros, old), &figure(Unit::Ratio, old)), None);
    }

    #[test]
    fn saved_figures_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.jsonl");
        let header = r#"{"device":"d","driver":"e","vulkan":"1.3","version":"0.1.0","date":"today"}"#;
        let figures = vec![figure(Unit::Micros, [2.0, 1.0, 3.0]), figure(Unit::GigabytesPerSecond, [5.5, 5.0, 6.0])];
        let target = crate::files::Files::default().target(&path).unwrap();
        save(&target, &serde_json::from_str(header).unwrap(), &figures).unwrap();
        let saved = Saved::read(&path).unwrap();
        assert_eq!((saved.header.device.as_str(), &saved.figures), ("d", &figures));
        let more = format!("{}{{\"skipped\":\"x\",\"reason\":\"y\"}}\n", fs::read_to_string(&path).unwrap());
        fs::write(&path, more).unwrap();
        assert_eq!(Saved::read(&path).unwrap().figures, figures);
        for text in ["", "not JSON", "{}", &format!("{header}\n{{\"name\":1}}")] {
            fs::write(&path, text).unwrap();
            let error = Saved::read(&path).unwrap_err();
            assert!(matches!(error, Error::Figures { .. }) && error.exit_code() == 2, "{text}: {error}");
        }
    }
}
