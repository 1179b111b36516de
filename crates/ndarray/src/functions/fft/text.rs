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
            let unit = format!("let m = turns << ({MOST_BITS}u - BITS - fft.before);\n");
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
        let all = || (0..1_u32 << self.points()).map(|point| (point, point << self.threads()));
        let loads =
            all().map(|(point, at)| format!("x{point} = source[first + ((t + {at}u) << fft.stride)]{parts};\n"));
        let variables = all().map(|(point, _)| format!("var x{point} = vec2<f32>();\n"));
        let loads = variables.chain(["if is_inside {\n".to_owned()]).chain(loads).chain(["}\n".to_owned()]);
        let slot = |k: u32| reversed(k, self.points());
        let stores = all()
            .map(|(k, at)| format!("out[result + ((t + {at}u) << fft.before)] = fft.scale * x{}{parts};\n", slot(k)));
        let lines = [("LOADS", loads.collect()), ("STAGES", lines.concat()), ("STORES", stores.collect::<String>())];
        let main = with_lines(functions::FFT, lines);
        let ([pad, width], Self { bits, columns, is_rows, .. }) = (self.pad(), self);
        let exchanged = if self.has_whole_points { "vec2<f32>" } else { "f32" };
        format!(
            "alias Exchanged = {exchanged};\nconst BITS = {bits}u;\nconst THREAD_BITS = {}u;\nconst COLUMN_BITS = {columns}u;\n\
             const IS_ROWS = {is_rows};\nconst PAD = {pad}u;\nconst PAD_WIDTH = {width}u;\nconst SHARED = {}u;\n{main}",
            self.threads(),
            self.shared(),
        )
    }

    /// Multiplies point `s` by `base` and the `s`-th power of a root, for which `step` gives the powers 1, 2, 4 and 8. The
    /// others are products of at most four of these, so that errors do not grow as by repeated squares. `unit` defines what
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
        let (threads, shift) = (self.threads(), if self.is_rows { 0 } else { self.columns });
        let ones = (1_u32 << before) - 1;
        // Where butterfly u begins in the results of the stage.
        let start = |u: u32| (u >> before << (before + radix)) + (u & ones);
        let apart = self.points() - radix;
        let mut lines = vec![format!(
            "{{\nlet own_results = place((t >> {before}u << {}u) + (t & {ones}u), own);\nlet own_points = place(t, own);\n",
            before + radix
        )];
        let parts: &[&str] = if self.has_whole_points { &[""] } else { &[".x", ".y"] };
        for (i, part) in parts.iter().enumerate() {
            // Before the first part of the first stage, shared memory has nothing that is still read.
            let is_free = before == 0 && i == 0;
            lines.push(if is_free { String::new() } else { "workgroupBarrier();\n".to_owned() });
            let results = (0..1_u32 << apart).flat_map(|butterfly| (0..1_u32 << radix).map(move |k| (butterfly, k)));
            lines.extend(results.map(|(butterfly, k)| {
                let at = self.padded((start(butterfly << threads) + (k << before)) << shift);
                format!("exchange[own_results + {at}u] = x{}{part};\n", butterfly + (reversed(k, radix) << apart))
            }));
            lines.push("workgroupBarrier();\n".to_owned());
            lines.extend((0..1_u32 << self.points()).map(|point| {
                format!("x{point}{part} = exchange[own_points + {}u];\n", self.padded(point << threads << shift))
            }));
        }
        lines.push("}\n".to_owned());
        lines
    }
}

/// The lowest `bits` bits in reverse order.
fn reversed(number: u32, bits: u32) -> u32 {
    number.reverse_bits() >> (32 - bits)
}
