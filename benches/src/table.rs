//! Formats rows as a Markdown table: vkarray, the floor, the others, and two ratios.
//!
//! "of floor" is how many times worse vkarray's figure is than raw Vulkan's; "of best" is how many times better it is
//! than the best of the others.

use crate::merge::Row;

/// The column of vkarray.
const OURS: &str = "vkarray";
/// The column of raw Vulkan.
const FLOOR: &str = "floor";

/// Makes a table of rows. `others` are the columns after vkarray's and the floor's.
#[must_use]
pub fn table(rows: &[Row], others: &[String]) -> String {
    let titles = ["figure", "unit", OURS, FLOOR].into_iter().chain(others.iter().map(String::as_str));
    let titles: Vec<_> = titles.chain(["of floor", "of best"]).map(str::to_owned).collect();
    let rule: Vec<_> = (0..titles.len()).map(|i| if i < 2 { "---" } else { "---:" }.to_owned()).collect();
    let mut lines = vec![line(&titles), line(&rule)];
    lines.extend(rows.iter().map(|row| line(&cells(row, others))));
    lines.concat()
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn cells(row: &Row, others: &[String]) -> Vec<String> {
    let value = |source: &str| row.cells.get(source).map(|cell| cell.value);
    let text = |source: &str| value(source).map(number).unwrap_or_default();
    let of_floor = value(OURS).zip(value(FLOOR)).map(|(ours, floor)| row.better(floor, ours));
    let of_best = value(OURS).zip(row.best(others.iter())).map(|(ours, best)| row.better(ours, best));
    let ratio = |ratio: Option<f64>| ratio.filter(|ratio| ratio.is_finite()).map(|ratio| format!("{ratio:.2}"));
    let mut cells = vec![row.name.clone(), row.unit.clone(), text(OURS), text(FLOOR)];
    cells.extend(others.iter().map(|source| text(source)));
    cells.extend([of_floor, of_best].map(|of| ratio(of).unwrap_or_default()));
    cells
}

/// A number with three digits or more.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;
    use crate::merge::{Sample, merge};

    #[test]
    fn both_ratios_are_computed_for_times_and_rates() {
        let sample = |source: &str, name: &str, unit: &str, value| {
            let (name, unit) = (name.to_owned(), unit.to_owned());
            Sample { source: source.to_owned(), figure: Figure { name, value, min: value, max: value, unit } }
        };
        let samples = [
            sample("vkarray", "sync", "us", 15.0),
            sample("floor", "sync", "us", 12.0),
            sample("wgpu", "sync", "us", 45.0),
            sample("cuda", "sync", "us", 7.5),
            sample("vkarray", "copy", "GB/s", 50.0),
            sample("floor", "copy", "GB/s", 55.0),
            sample("wgpu", "copy", "GB/s", 5.0),
            sample("floor", "hop", "us", 0.25),
            sample("vkarray", "waits", "count", 0.0),
            sample("cuda", "waits", "count", 0.0),
        ];
        let expected = "\
| figure | unit | vkarray | floor | wgpu | cuda | of floor | of best |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
| sync | us | 15.0 | 12.0 | 45.0 | 7.50 | 1.25 | 0.50 |
| copy | GB/s | 50.0 | 55.0 | 5.00 |  | 1.10 | 10.00 |
| hop | us |  | 0.250 |  |  |  |  |
| waits | count | 0.000 |  |  | 0.000 |  |  |
";
        assert_eq!(table(&merge(&samples), &["wgpu".to_owned(), "cuda".to_owned()]), expected);
    }
}
