//! Figures, and the table of two libraries' figures of the same name.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A median and its extremes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured.
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

/// One side's figures, in the order they were taken.
#[derive(Debug, Default)]
pub struct Report {
    figures: Vec<Figure>,
}

impl Report {
    /// Adds the microseconds of one of `n` operations, from times of all `n`.
    pub fn micros(&mut self, name: &str, times: &[Duration], n: u32) {
        self.add(name, "us", times.iter().map(|time| time.as_secs_f64() * 1e6 / f64::from(n)));
    }

    /// Adds a rate, from times in which `bytes` were moved.
    pub fn rate(&mut self, name: &str, times: &[Duration], bytes: u64) {
        self.add(name, "GB/s", times.iter().map(|time| bytes as f64 / 1e9 / time.as_secs_f64()));
    }

    fn add(&mut self, name: &str, unit: &str, values: impl Iterator<Item = f64>) {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (value, min, max) = (values[values.len() / 2], values[0], values[values.len() - 1]);
        self.figures.push(Figure { name: name.to_owned(), value, min, max, unit: unit.to_owned() });
    }

    /// Prints every figure of both sides as a JSON line, then a table of those that both have.
    pub fn print_beside(&self, header: &Value, ours: &[Figure]) {
        println!("{header}");
        for (library, figures) in [("vkarray", ours), ("wgpu", &self.figures)] {
            for figure in figures {
                println!("{}", json!({"library": library, "figure": figure}));
            }
        }
        println!("{:<28} {:>12} {:>12}  {:<5} {:>8}", "", "vkarray", "wgpu", "", "better");
        for peer in &self.figures {
            let Some(own) = ours.iter().find(|own| own.name == peer.name) else { continue };
            let better = if own.unit == "us" { peer.value / own.value } else { own.value / peer.value };
            println!("{:<28} {:>12.3} {:>12.3}  {:<5} {better:>7.2}x", own.name, own.value, peer.value, own.unit);
        }
    }
}
