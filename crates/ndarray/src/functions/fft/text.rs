//! The text of the kernel of a [`FftPass`]. Pure.
//!
//! The points of an invocation have a variable each, `x0`, `x1` and so on, and no loop goes over them: WGSL has no hint to
//! unroll a loop, and drivers keep arrays with computed indices in memory.

use vkarray_shaders::functions;

use super::plan::{FftPass, MOST_BITS, Stage};
use crate::generate::with_lines;

impl FftPass {
    /// The kernel `fft_pass`. The inverse transform is the transform with real and imaginary parts exchanged before and
    /// after.
    pub(super) fn text(self, is_inverse: bool) -> String {
        let (stages, parts) = (self.stages(), if is_inverse { ".yx" } else { "" });
        let mut lines = Vec::new();
        if self.before > 0 {
            let unit = format!("let m = turns << ({MOST_BITS}u - BITS - BEFORE);\n");
            lines.extend(self.turns(&unit, Some("root(t * m)"), |bit| format!("root(m << {}u)", self.threads() + bit)));
        }
        for (stage, next) in stages.iter().zip(stages.iter().skip(1).map(Some).chain([None])) {
            lines.extend(self.butterflies(stage.radix));
            if let Some(next) = next {
                lines.extend(self.exchange(*stage));
                let (ones, unit) = ((1 << next.before) - 1, MOST_BITS - next.before - next.radix);
                let unit = format!("let m = (t & {ones}u) << {unit}u;\n");
                lines.extend(self.turns(&unit, None, |bit| format!("root(m << {bit}u)")));
            }
        }
        let points = || 0..1_u32 << self.points();
        let variables = points().map(|j| format!("var x{j} = vec2<f32>();\n")).collect();
        let loads = points().map(|j| format!("x{j} = source[row][{j}u][t][u]{parts};\n")).collect();
        let result = |k: u32| format!("fft.scale * x{}{parts}", reversed(k, self.points()));
        let stores = points().map(|k| format!("out[row][part][{k}u][t][turns] = {};\n", result(k))).collect();
        let lines = [("VARIABLES", variables), ("LOADS", loads), ("STAGES", lines.concat()), ("STORES", stores)];
        let main = with_lines(functions::FFT, lines);
        let ([source, out, exchange], Self { bits, columns, stride, before, .. }) = (self.types(), self);
        format!(
            "alias Source = {source};\nalias Out = {out};\nalias Exchange = {exchange};\n\
             const STRIDE = {stride}u;\nconst BEFORE = {before}u;\nconst BITS = {bits}u;\n\
             const THREAD_BITS = {}u;\nconst COLUMN_BITS = {columns}u;\n{main}",
            self.threads(),
        )
    }

    /// The types of a row that is read, a row that is written, and shared memory.
    fn types(self) -> [String; 3] {
        let nested = |element: &str, lengths: &[u32]| {
            lengths.iter().fold(element.to_owned(), |inner, length| format!("array<{inner}, {length}>"))
        };
        let row = |bits: &[u32]| nested("vec2<f32>", &bits.iter().map(|bits| 1 << bits).collect::<Vec<_>>());
        let (points, threads, [pad, _]) = (self.points(), self.threads(), self.pad());
        let axes = self.axes().into_iter().rev();
        let lengths: Vec<u32> = axes.map(|(low, high)| (1 << (high - low)) + u32::from(high == pad)).collect();
        [
            row(&[self.stride, threads, points]),
            row(&[self.before, threads, points, self.stride - self.before]),
            nested(if self.has_whole_points { "vec2<f32>" } else { "f32" }, &lengths),
        ]
    }

    /// Multiplies point `s` by `base` and the `s`-th power of a root, for which `step` gives the powers 1, 2, 4, 8 and 16. The
    /// others are products of at most five of these, so that errors do not grow as by repeated squares. `unit` defines what
    /// `step` uses.
    fn turns(self, unit: &str, base: Option<&str>, step: impl Fn(u32) -> String) -> Vec<String> {
        let mut lines = vec!["{\n".to_owned(), unit.to_owned()];
        lines.extend(base.map(|base| format!("let w0 = {base};\nx0 = times(x0, w0);\n")));
        for point in 1..1_u32 << self.points() {
            let bit = point.ilog2();
            let rest = point - (1 << bit);
            if rest == 0 {
                lines.push(format!("let step{bit} = {};\n", step(bit)));
            }
            let turn =
                if rest == 0 && base.is_none() { format!("step{bit}") } else { format!("times(w{rest}, step{bit})") };
            lines.push(format!("let w{point} = {turn};\nx{point} = times(x{point}, w{point});\n"));
        }
        lines.push("}\n".to_owned());
        lines
    }

    /// Transforms of 2^`radix` points, by halves. Result k of a transform is where [`reversed`] says.
    fn butterflies(self, radix: u32) -> Vec<String> {
        let apart = 1_u32 << (self.points() - radix);
        let halves = (0..radix).rev().flat_map(|half| (0..1_u32 << radix).map(move |at| (half, at)));
        let pairs = halves.filter(|(half, at)| at >> half & 1 == 0);
        let all = pairs.flat_map(|pair| (0..apart).map(move |butterfly| (pair, butterfly)));
        all.map(|((half, at), butterfly)| {
            let [a, b] = [at, at + (1 << half)].map(|at| butterfly + at * apart);
            let difference = match (at % (1 << half), 1_u32 << half) {
                (0, _) => "d".to_owned(),
                (j, n) if 2 * j == n => "vec2(d.y, -d.x)".to_owned(),
                (j, n) => {
                    let (sine, cosine) = (-std::f64::consts::PI * f64::from(j) / f64::from(n)).sin_cos();
                    format!("times(d, vec2({cosine:.9}f, {sine:.9}f))")
                }
            };
            format!("{{\nlet d = x{a} - x{b};\nx{a} += x{b};\nx{b} = {difference};\n}}\n")
        })
        .collect()
    }

    /// Writes the results of a stage to shared memory, and reads the points of the next.
    fn exchange(self, Stage { before, radix }: Stage) -> Vec<String> {
        let (threads, first) = (self.threads(), self.first_bit());
        let own = Field { name: "own", from: 0, at: if self.is_rows() { self.bits } else { 0 }, bits: self.columns };
        let t = |from: u32, at: u32, bits: u32| Field { name: "t", from, at: first + at, bits };
        // Butterfly u = t + 2^threads * b has its result k, of which 2^before lie side by side.
        let results = [own, t(0, 0, before), t(before, before + radix, threads - before)];
        let points = [own, t(0, 0, threads)];
        let mut lines = vec!["{\n".to_owned()];
        lines.extend(self.places("to", &results));
        lines.extend(self.places("from", &points));
        let parts: &[&str] = if self.has_whole_points { &[""] } else { &[".x", ".y"] };
        let apart = self.points() - radix;
        for (i, part) in parts.iter().enumerate() {
            // Before the first part of the first stage, shared memory has nothing that is still read.
            let is_free = before == 0 && i == 0;
            lines.push(if is_free { String::new() } else { "workgroupBarrier();\n".to_owned() });
            let all = (0..1_u32 << apart).flat_map(|butterfly| (0..1_u32 << radix).map(move |k| (butterfly, k)));
            lines.extend(all.map(|(butterfly, k)| {
                let at = self.place("to", &results, (butterfly << (threads + radix) | k << before) << first);
                format!("exchange{at} = x{}{part};\n", butterfly + (reversed(k, radix) << apart))
            }));
            lines.push("workgroupBarrier();\n".to_owned());
            lines.extend((0..1_u32 << self.points()).map(|point| {
                format!("x{point}{part} = exchange{};\n", self.place("from", &points, point << threads << first))
            }));
        }
        lines.push("}\n".to_owned());
        lines
    }

    /// Defines the indices of shared memory that differ between invocations.
    fn places(self, prefix: &str, fields: &[Field]) -> Vec<String> {
        let of = |(low, high): (u32, u32)| {
            let parts: Vec<String> = fields.iter().filter_map(|field| field.part(low, high)).collect();
            (!parts.is_empty()).then(|| format!("let {prefix}{low} = {};\n", parts.join(" | ")))
        };
        self.axes().into_iter().filter_map(of).collect()
    }

    /// The indices of a word, of which `constant` has the bits that all invocations share.
    fn place(self, prefix: &str, fields: &[Field], constant: u32) -> String {
        let of = |(low, high): (u32, u32)| {
            let constant = constant >> low & ((1 << (high - low)) - 1);
            match fields.iter().any(|field| field.part(low, high).is_some()) {
                true if constant == 0 => format!("[{prefix}{low}]"),
                true => format!("[{prefix}{low} + {constant}u]"),
                false => format!("[{constant}u]"),
            }
        };
        self.axes().into_iter().map(of).collect()
    }
}

/// Bits of the place of a word in shared memory that are bits of a variable.
#[derive(Debug, Clone, Copy)]
struct Field {
    name: &'static str,
    /// The lowest bit of the variable.
    from: u32,
    /// The lowest bit of the place.
    at: u32,
    bits: u32,
}

impl Field {
    /// What the variable gives to bits `low` to `high` of the place.
    fn part(&self, low: u32, high: u32) -> Option<String> {
        let (begin, end) = (low.max(self.at), high.min(self.at + self.bits));
        let mask = (1_u32 << end.saturating_sub(begin)) - 1;
        let (name, from) = (self.name, self.from + begin.saturating_sub(self.at));
        (mask > 0).then(|| format!("((({name} >> {from}u) & {mask}u) << {}u)", begin - low))
    }
}

/// The lowest `bits` bits in reverse order.
fn reversed(number: u32, bits: u32) -> u32 {
    number.reverse_bits() >> (32 - bits)
}
