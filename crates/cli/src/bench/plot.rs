//! Drawings of figures as SVG: a row for each, with its median and what lies between its ends.
//!
//! Ratios are on a logarithmic axis around 1, rates on a linear one with a line at the fastest copy on the device, times on
//! a logarithmic one. What is drawn where is plain arithmetic; the `svg` crate writes it.

use std::fmt;

use svg::node::element::{Circle, Line, Rectangle, Text, Title};
use svg::{Document, Node};

use super::figure::{Figure, Unit};
use super::saved::{Change, Ratio};

const ROW: f64 = 18.0;
/// The room for names, for the axis, and at the right.
const LEFT: f64 = 280.0;
const WIDTH: f64 = 560.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 44.0;

const INK: &str = "#222222";
const FAINT: &str = "#cccccc";
const GREY: &str = "#8a8a8a";
const BLUE: &str = "#2166ac";
const ORANGE: &str = "#d6604d";

/// One line of a plot.
struct Row<'a> {
    name: &'a str,
    value: f64,
    min: f64,
    max: f64,
    colour: &'static str,
}

/// From values to places.
struct Axis {
    is_logarithmic: bool,
    from: f64,
    to: f64,
}

impl Axis {
    /// Has all values, and is around 1 without any. A logarithmic one begins and ends at powers of `base`.
    fn logarithmic(values: impl Iterator<Item = f64>, base: f64) -> Self {
        let ends = values.map(|value| (value, value)).reduce(|ends, value| (ends.0.min(value.0), ends.1.max(value.1)));
        let (from, to) = ends.unwrap_or((1.0, 1.0));
        let power = |value: f64, round: fn(f64) -> f64| base.powf(round(value.log(base)));
        let (from, to) = (power(from, f64::floor), power(to, f64::ceil));
        Self { is_logarithmic: true, from, to: to.max(from * base) }
    }

    /// Begins at zero.
    fn linear(values: impl Iterator<Item = f64>) -> Self {
        Self { is_logarithmic: false, from: 0.0, to: 1.05 * values.fold(f64::MIN_POSITIVE, f64::max) }
    }

    /// The place of a value, from the left.
    fn place(&self, value: f64) -> f64 {
        let part = if self.is_logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        LEFT + WIDTH * part.clamp(0.0, 1.0)
    }

    /// Round values to mark: powers of `base`, or at most ten steps of 1, 2 or 5.
    fn ticks(&self, base: f64) -> Vec<f64> {
        if self.is_logarithmic {
            let next = |value: &f64| Some(value * base).filter(|value| *value <= self.to * 1.001);
            return std::iter::successors(Some(self.from), next).collect();
        }
        let power = 10.0_f64.powf((self.to / 10.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| self.to / step <= 10.0).unwrap_or(self.to);
        std::iter::successors(Some(0.0), |value| Some(value + step)).take_while(|value| *value <= self.to).collect()
    }
}

/// The ratios of a run over a saved one; 1 in the middle.
pub(super) fn ratios(title: &str, ratios: &[Ratio]) -> String {
    let rows: Vec<Row<'_>> = ratios
        .iter()
        .map(|ratio| Row {
            name: &ratio.name,
            value: ratio.value,
            min: ratio.min,
            max: ratio.max,
            colour: match ratio.change {
                Change::Noise | Change::More | Change::Less => GREY,
                Change::Faster => BLUE,
                Change::Slower => ORANGE,
            },
        })
        .collect();
    // Symmetric around 1, so that twice and half look the same.
    let ends = rows.iter().flat_map(|row| [row.min, row.max, 1.0 / row.min, 1.0 / row.max, 2.0, 0.5]);
    let mut plot = Plot::new(title, "new / old; blue is faster, orange slower, grey noise", rows.len());
    let axis = Axis::logarithmic(ends, 2.0);
    plot.axis(&axis, 2.0);
    plot.mark(axis.place(1.0), INK, "");
    rows.iter().for_each(|row| plot.row(row, &axis, false));
    plot.to_string()
}

/// The rates of a run, or its times if it has none.
pub(super) fn figures(title: &str, figures: &[Figure]) -> String {
    let of = |unit: Unit| -> Vec<Row<'_>> {
        let own = figures.iter().filter(|figure| figure.unit == unit);
        let row = |figure: &Figure| (figure.spread.value, figure.spread.min, figure.spread.max);
        own.map(|figure| (figure, row(figure)))
            .map(|(figure, (value, min, max))| Row { name: &figure.name, value, min, max, colour: BLUE })
            .collect()
    };
    let rates = of(Unit::GigabytesPerSecond);
    if rates.is_empty() {
        let times = of(Unit::Micros);
        let mut plot = Plot::new(title, "µs", times.len());
        let axis = Axis::logarithmic(times.iter().flat_map(|row| [row.min, row.max]), 10.0);
        plot.axis(&axis, 10.0);
        times.iter().for_each(|row| plot.row(row, &axis, false));
        return plot.to_string();
    }
    let mut plot = Plot::new(title, "GB/s", rates.len());
    let axis = Axis::linear(rates.iter().map(|row| row.max));
    plot.axis(&axis, 10.0);
    rates.iter().for_each(|row| plot.row(row, &axis, true));
    // What memory can do is known by the copies that do nothing else.
    let copies = rates.iter().filter(|row| row.name.starts_with("copy_device_")).map(|row| row.value);
    if let Some(roof) = copies.reduce(f64::max) {
        plot.mark(axis.place(roof), ORANGE, &format!("fastest copy on the device: {}", short(roof)));
    }
    plot.to_string()
}

/// A drawing of rows below each other.
struct Plot {
    document: Document,
    height: f64,
    n_rows: usize,
}

impl Plot {
    fn new(title: &str, unit: &str, n_rows: usize) -> Self {
        let height = TOP + ROW * n_rows as f64 + 40.0;
        let width = LEFT + WIDTH + RIGHT;
        let document = Document::new()
            .set("viewBox", (0, 0, width, height))
            .set("width", width)
            .set("height", height)
            .set("font-family", "sans-serif")
            .set("font-size", 11)
            .add(Title::new(title))
            .add(Rectangle::new().set("width", width).set("height", height).set("fill", "white"));
        let mut plot = Self { document, height, n_rows: 0 };
        plot.text([10.0, 20.0], "start", INK, title);
        plot.text([LEFT, height - 6.0], "start", GREY, unit);
        plot
    }

    fn add(&mut self, node: impl Node) {
        self.document.append(node);
    }

    fn text(&mut self, [x, y]: [f64; 2], anchor: &str, colour: &str, text: &str) {
        let text = Text::new(text).set("x", x).set("y", y).set("text-anchor", anchor).set("fill", colour);
        self.add(text);
    }

    fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], colour: &str, width: f64) {
        let line = Line::new().set("x1", x1).set("y1", y1).set("x2", x2).set("y2", y2);
        self.add(line.set("stroke", colour).set("stroke-width", width));
    }

    fn axis(&mut self, axis: &Axis, base: f64) {
        let bottom = self.height - 36.0;
        for tick in axis.ticks(base) {
            let x = axis.place(tick);
            self.line([x, TOP - 6.0, x, bottom], FAINT, 1.0);
            self.text([x, bottom + 14.0], "middle", GREY, &short(tick));
        }
    }

    /// A line over all rows, with a text above.
    fn mark(&mut self, x: f64, colour: &str, text: &str) {
        self.line([x, TOP - 6.0, x, self.height - 36.0], colour, 1.5);
        self.text([x.min(LEFT + WIDTH - 100.0), TOP - 10.0], "middle", colour, text);
    }

    /// The name, the median as a dot or a bar, a band from end to end, and the value.
    fn row(&mut self, row: &Row<'_>, axis: &Axis, is_bar: bool) {
        let y = TOP + ROW * (self.n_rows as f64 + 0.5);
        self.n_rows += 1;
        let [value, min, max] = [row.value, row.min, row.max].map(|value| axis.place(value));
        self.text([LEFT - 8.0, y + 4.0], "end", INK, row.name);
        if is_bar {
            let bar = Rectangle::new().set("x", LEFT).set("y", y - 6.0).set("width", value - LEFT).set("height", 12);
            self.add(bar.set("fill", row.colour).set("fill-opacity", 0.45));
        }
        self.line([min, y, max, y], row.colour, 3.0);
        let dot = Circle::new().set("cx", value).set("cy", y).set("r", 4).set("fill", row.colour);
        self.add(dot);
        self.text([LEFT + WIDTH + 10.0, y + 4.0], "start", INK, &short(row.value));
    }
}

impl fmt::Display for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.document)
    }
}

/// A number with three digits.
fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figure::Spread;

    #[test]
    fn axes_have_all_values_and_round_ticks() {
        let axis = Axis::logarithmic([0.7, 3.0].into_iter(), 2.0);
        assert_eq!((axis.from, axis.to, axis.ticks(2.0)), (0.5, 4.0, vec![0.5, 1.0, 2.0, 4.0]));
        assert_eq!(
            [0.5, 1.0, 4.0, 8.0, 0.1].map(|value| axis.place(value).round()),
            [280.0, 467.0, 840.0, 840.0, 280.0]
        );
        let axis = Axis::linear([30.0, 47.0].into_iter());
        assert_eq!(axis.ticks(10.0), (0..10).map(|i| f64::from(i) * 5.0).collect::<Vec<_>>());
        assert_eq!((axis.place(0.0), axis.place(axis.to)), (LEFT, LEFT + WIDTH));
        let one = Axis::logarithmic([4.0, 4.0].into_iter(), 2.0); // A single power is not an empty axis.
        assert_eq!((one.from, one.to), (4.0, 8.0));
    }

    #[test]
    fn plots_have_a_row_for_each_figure_and_the_roof() {
        let figure = |name: &str, value: f64, unit| Figure {
            name: name.to_owned(),
            spread: Spread { value, min: value * 0.9, max: value * 1.1 },
            unit,
        };
        let rates = [
            figure("copy_up", 12.0, Unit::GigabytesPerSecond),
            figure("copy_device_array", 300.0, Unit::GigabytesPerSecond),
            figure("overlap_ratio", 1.1, Unit::Ratio),
        ];
        let svg = figures("a <device>", &rates);
        for part in ["a &lt;device&gt;", "copy_up", "copy_device_array", "fastest copy on the device: 300"] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        assert!(!svg.contains("overlap_ratio"));
        assert_eq!(svg.matches("<circle").count(), 2);
        let times = [figure("sync", 12.0, Unit::Micros), figure("host", 0.5, Unit::Micros)];
        assert_eq!(figures("times", &times).matches("<circle").count(), 2);
        let slower = [figure("sync", 30.0, Unit::Micros), figure("host", 0.5, Unit::Micros)];
        let svg = ratios("ratios", &Ratio::of_all(&slower, &times));
        assert_eq!((svg.matches("<circle").count(), svg.matches(ORANGE).count()), (2, 2));
        assert_eq!(ratios("nothing", &[]).matches("<circle").count(), 0);
    }
}
