//! Merges the figures of many programs into rows: a row per figure, and a cell per program with the median of its rounds.
//!
//! All functions are pure. The names are the ones of `bench`; other names that scripts use are translated. Read
//! `table.rs` next.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::figure::{Figure, median};

/// Starts of names that scripts use, and the starts of the names here.
const NAMES: &[(&str, &str)] = &[
    ("graph_host_", "host_graph_dependent_"),
    ("graph_axpy", "graph_dependent_axpy"),
    ("graph_nop", "graph_dependent_nop"),
    ("h2d_", "copy_up_"),
    ("d2h_", "copy_down_"),
];

/// The name that `bench` uses for a figure.
#[must_use]
pub fn canonical(name: &str) -> String {
    let renamed = |&(theirs, ours): &(&str, &str)| name.strip_prefix(theirs).map(|rest| format!("{ours}{rest}"));
    NAMES.iter().find_map(renamed).unwrap_or_else(|| name.to_owned())
}

/// A figure that one program printed in one round.
#[derive(Debug)]
pub struct Sample {
    /// The program: `vkarray`, `floor`, `wgpu`, or the name of another.
    pub source: String,
    /// The figure that the program printed.
    pub figure: Figure,
}

/// A program's figure after all rounds.
#[derive(Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The median of the rounds' medians.
    pub value: f64,
    /// The least value of all rounds.
    pub min: f64,
    /// The largest value of all rounds.
    pub max: f64,
    /// The number of rounds in which the figure was printed.
    pub rounds: usize,
}

/// A figure of all programs.
#[derive(Debug, PartialEq, Serialize)]
pub struct Row {
    /// The name of the figure.
    pub name: String,
    /// `us`, `GB/s`, …
    pub unit: String,
    /// The cells by program.
    pub cells: BTreeMap<String, Cell>,
}

impl Row {
    /// How many times better one value is than another: 2 is half the time, or twice the rate.
    #[must_use]
    pub fn better(&self, value: f64, than: f64) -> f64 {
        if self.unit.contains("/s") { value / than } else { than / value }
    }

    /// The best value among programs.
    #[must_use]
    pub fn best<'a>(&self, sources: impl Iterator<Item = &'a String>) -> Option<f64> {
        let values = sources.filter_map(|source| self.cells.get(source)).map(|cell| cell.value);
        values.reduce(|best, value| if self.better(value, best) > 1.0 { value } else { best })
    }
}

/// Makes rows, in the order in which figures were first seen. Figures of one name and two units are two rows.
#[must_use]
pub fn merge(samples: &[Sample]) -> Vec<Row> {
    let mut rows: Vec<(Row, BTreeMap<String, Vec<&Figure>>)> = Vec::new();
    for Sample { source, figure } in samples {
        let name = canonical(&figure.name);
        let position = rows.iter().position(|(row, _)| row.name == name && row.unit == figure.unit);
        let position = position.unwrap_or_else(|| {
            let row = Row { name, unit: figure.unit.clone(), cells: BTreeMap::new() };
            rows.push((row, BTreeMap::new()));
            rows.len() - 1
        });
        rows[position].1.entry(source.clone()).or_default().push(figure);
    }
    let filled = |(row, figures): (Row, BTreeMap<String, Vec<&Figure>>)| Row {
        cells: figures.into_iter().map(|(source, figures)| (source, cell(&figures))).collect(),
        ..row
    };
    rows.into_iter().map(filled).collect()
}

/// One program's figures of a name, at least one.
fn cell(figures: &[&Figure]) -> Cell {
    let mut values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
    Cell {
        value: median(&mut values),
        min: figures.iter().map(|figure| figure.min).fold(f64::INFINITY, f64::min),
        max: figures.iter().map(|figure| figure.max).fold(f64::NEG_INFINITY, f64::max),
        rounds: figures.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(source: &str, name: &str, unit: &str, [value, min, max]: [f64; 3]) -> Sample {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Sample { source: source.to_owned(), figure: Figure { name, value, min, max, unit } }
    }

    #[test]
    fn names_of_scripts_are_translated() {
        let cases = [
            ("graph_axpy16", "graph_dependent_axpy16"), // A captured stream is a chain.
            ("graph_nop1", "graph_dependent_nop1"),
            ("graph_host_axpy16", "host_graph_dependent_axpy16"),
            ("graph_independent_axpy16", "graph_independent_axpy16"), // A name of `bench`.
            ("graph_dependent_axpy16", "graph_dependent_axpy16"),
            ("h2d_pinned_256MiB", "copy_up_pinned_256MiB"),
            ("d2h_pageable_1MiB", "copy_down_pageable_1MiB"),
            ("stream_axpy16", "stream_axpy16"),
            ("launch_sync", "launch_sync"), // Unknown names are not changed.
        ];
        for (theirs, ours) in cases {
            assert_eq!(canonical(theirs), ours);
        }
    }

    #[test]
    fn a_cell_is_the_median_of_its_rounds_with_the_extremes_of_all() {
        let samples = [
            sample("vkarray", "sync", "us", [13.0, 12.0, 20.0]),
            sample("cuda", "sync", "us", [10.0, 10.0, 10.0]),
            sample("vkarray", "sync", "us", [90.0, 11.0, 95.0]),
            sample("vkarray", "copy", "GB/s", [50.0, 49.0, 51.0]),
            sample("vkarray", "sync", "us", [14.0, 13.0, 15.0]),
            sample("cuda", "sync", "count", [1.0, 1.0, 1.0]),
        ];
        let rows = merge(&samples);
        let names: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.unit.as_str())).collect();
        assert_eq!(names, [("sync", "us"), ("copy", "GB/s"), ("sync", "count")]);
        assert_eq!(rows[0].cells["vkarray"], Cell { value: 14.0, min: 11.0, max: 95.0, rounds: 3 });
        assert_eq!(rows[0].cells["cuda"], Cell { value: 10.0, min: 10.0, max: 10.0, rounds: 1 });
        assert_eq!(rows[1].cells.len(), 1);
    }

    #[test]
    fn better_is_less_time_and_more_bytes() {
        let row = |unit: &str| Row { name: String::new(), unit: unit.to_owned(), cells: BTreeMap::new() };
        // The unit, the value, the value to compare with, and how many times better.
        let cases = [("us", 2.0, 4.0, 2.0), ("us", 4.0, 2.0, 0.5), ("GB/s", 50.0, 25.0, 2.0), ("ratio", 1.1, 2.2, 2.0)];
        for (unit, value, than, expected) in cases {
            assert_eq!(row(unit).better(value, than), expected, "{value} {unit} than {than}");
        }
    }

    #[test]
    fn the_best_value_is_chosen_among_the_given_programs() {
        let samples = [("floor", 1.0), ("wgpu", 7.0), ("cuda", 5.0)];
        let samples = |unit| samples.map(|(source, value)| sample(source, "x", unit, [value; 3]));
        let [wgpu, cuda, none] = ["wgpu", "cuda", "none"].map(str::to_owned);
        let best = |unit, sources: &[&String]| merge(&samples(unit))[0].best(sources.iter().copied());
        assert_eq!(best("us", &[&wgpu, &cuda, &none]), Some(5.0));
        assert_eq!(best("GB/s", &[&wgpu, &cuda]), Some(7.0));
        assert_eq!(best("us", &[&none]), None);
    }
}
