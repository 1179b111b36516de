//! [`ReduceForm`]: everything that the text of a reduction's kernel is written from.
//!
//! A *unit* is one element, or four that lie side by side. A *job* is the part of one result that one team computes: a
//! chunk of the result's units. Loops are over the units of a job, at most 2³² of them. The kernel of the second pass
//! has partial results as its elements.

use std::fmt::Write as _;

use smallvec::{SmallVec, smallvec};
use vkarray_shader::DType;

use super::kind::{Field, Reduction};
use super::share::Team;
use crate::text::{
    Buffer, Combine, Param, ParamOf, Params, Program, Width, declared, dtype_code, entry, key_part, position,
    with_functions,
};

/// The form of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReduceForm {
    /// What is accumulated.
    pub reduction: Reduction,
    /// The type of the elements that are reduced.
    pub dtype: DType,
    /// Who computes a job.
    pub team: Team,
    /// Invocations of a workgroup.
    pub group: u32,
    /// The number of axes of the results, and of the elements of each result. The second pass has one axis of each.
    pub n_axes: [usize; 2],
    /// How each array is read, if a unit has four elements; see [`fours`](super::share::fours).
    pub fours: Option<SmallVec<[Width; 6]>>,
    /// Whether the elements are partial results.
    pub is_second: bool,
    /// Whether this pass writes the results, so that each result has one job. Otherwise it writes partial results.
    pub is_last: bool,
}

impl ReduceForm {
    /// The words that the text depends on, besides the program.
    pub fn add_to_key(&self, key: &mut SmallVec<[u32; 64]>) {
        let lanes = if let Team::Lanes(lanes) = self.team { lanes } else { 0 };
        let flags = u32::from(self.is_second) | u32::from(self.is_last) << 1 | u32::from(self.fours.is_some()) << 2;
        key.push(self.reduction as u32 | dtype_code(self.dtype) << 8 | flags << 16);
        key.push(self.group | key_part(self.n_axes[0]) << 16 | key_part(self.n_axes[1]) << 24);
        key.push(lanes);
        key.extend(self.fours.iter().flatten().map(|&width| width as u32));
    }

    /// Number of elements in a unit.
    fn width(&self) -> usize {
        if self.fours.is_some() { 4 } else { 1 }
    }

    /// The fields that the kernel writes, each to a buffer of its own.
    pub fn written(&self) -> SmallVec<[Field; 2]> {
        if self.is_last { smallvec![self.reduction.result(self.dtype)] } else { self.reduction.fields(self.dtype) }
    }

    /// The number of arrays whose indices differ.
    fn n_arrays<L>(&self, program: &Program<'_, L>) -> usize {
        if self.is_second { 1 } else { program.leaf_types().count() }
    }

    /// The parameters of a launch: the numbers of the program and the words of its jobs and axes.
    pub fn params<L>(&self, program: &Program<'_, L>) -> Params {
        let mut params = if self.is_second { Params::new() } else { Param::scalars(program) };
        let mut word = |of| params.push(Param::word(of));
        for of in [ParamOf::Jobs, ParamOf::Results, ParamOf::Splits, ParamOf::Chunk, ParamOf::Size] {
            word(of);
        }
        let n_axes = position(self.n_axes.iter().sum());
        (0..n_axes).for_each(|axis| word(ParamOf::Len(axis)));
        for array in 0..position(self.n_arrays(program)) {
            word(ParamOf::Base(array));
            (0..n_axes).for_each(|axis| word(ParamOf::Stride(array, axis)));
        }
        params
    }

    /// The buffers that the first pass reads.
    fn buffers<L>(&self, program: &Program<'_, L>) -> Vec<Buffer> {
        let width = |i: usize| self.fours.as_ref().map_or(Width::One, |widths| widths[i]);
        let buffer = |(i, dtype): (usize, DType)| Buffer { name: format!("a{i}"), dtype, width: width(i) };
        program.leaf_types().enumerate().map(buffer).collect()
    }

    /// The text of the kernel, if the type has this reduction.
    pub fn text<L>(&self, program: &Program<'_, L>) -> Option<String> {
        let mut text = self.declarations(program);
        text += &self.reduction.combine(self.dtype)?;
        text += &program.combine.map_or_else(String::new, Combine::text);
        if !self.is_second {
            text += &program.compute();
        }
        text += &self.starts(program);
        text += &self.unit(program)?;
        text += &self.accumulate();
        text += &match self.team {
            Team::Lanes(lanes) => self.of_lanes(lanes),
            Team::Across => self.of_invocations(),
        };
        Some(with_functions(&text))
    }

    fn declarations<L>(&self, program: &Program<'_, L>) -> String {
        let fields = self.reduction.fields(self.dtype);
        let mut text = String::new();
        let written = self.written();
        for (i, field) in written.iter().enumerate() {
            text += &declared(i, "read_write", &format!("z{i}"), field.ty);
        }
        let reads: Vec<(String, &str)> = if self.is_second {
            fields.iter().enumerate().map(|(i, field)| (format!("a{i}"), field.ty)).collect()
        } else {
            self.buffers(program).iter().map(|buffer| (buffer.name.clone(), buffer.storage())).collect()
        };
        for (i, (name, ty)) in reads.iter().enumerate() {
            text += &declared(written.len() + i, "read", name, ty);
        }
        text += &Param::declaration(&self.params(program), program);
        text += "struct Acc {\n";
        for (i, field) in fields.iter().enumerate() {
            let _ = writeln!(text, "    f{i}: {},", field.ty);
        }
        text + "}\n"
    }

    /// The function `starts`, which finds the index of each array's first element for a result.
    fn starts<L>(&self, program: &Program<'_, L>) -> String {
        let mut text = "struct Starts {\n".to_owned();
        let n_arrays = self.n_arrays(program);
        (0..n_arrays).for_each(|i| text += &format!("    i{i}: u32,\n"));
        text += "}\nfn starts(result: u32) -> Starts {\n";
        text += &coordinates("result", 0..self.n_axes[0]);
        let starts: Vec<_> = (0..n_arrays).map(|i| index(i, format!("p.b{i}"), 0..self.n_axes[0])).collect();
        text + &format!("    return Starts({});\n}}\n", starts.join(", "))
    }

    /// The function `unit`, the accumulators of the elements of one unit.
    fn unit<L>(&self, program: &Program<'_, L>) -> Option<String> {
        let width = self.width();
        let axes = self.n_axes[0]..self.n_axes[0] + self.n_axes[1];
        let mut text = "struct Unit {\n".to_owned();
        (0..width).for_each(|element| text += &format!("    e{element}: Acc,\n"));
        text += "}\nfn unit(at: Starts, u: u32) -> Unit {\n";
        let _ = writeln!(text, "    let r = u * {width}u;");
        text += &coordinates("r", axes.clone());
        if self.is_second {
            let index = index(0, "at.i0".to_owned(), axes);
            let fields = (0..self.reduction.fields(self.dtype).len()).map(|i| format!("a{i}[{index}]"));
            return Some(text + &format!("    return Unit(Acc({}));\n}}\n", fields.collect::<Vec<_>>().join(", ")));
        }
        let buffers = self.buffers(program);
        for (i, buffer) in buffers.iter().enumerate() {
            let index = index(i, format!("at.i{i}"), axes.clone());
            text += &match buffer.width {
                Width::Four => buffer.load_four(&format!("({index}) >> 2u"), &format!("x{i}_")),
                Width::One => {
                    let load = |element| format!("    let x{i}_{element} = {};\n", buffer.load(&index));
                    (0..width).map(load).collect()
                }
            };
        }
        let element = |element: usize| {
            let args: Vec<_> = (0..buffers.len()).map(|i| format!("x{i}_{element}")).collect();
            let _ = writeln!(text, "    let v{element} = compute({});", args.join(", "));
            self.reduction.of_element(self.dtype, &format!("v{element}"), &format!("r + {element}u"))
        };
        let elements: Vec<_> = (0..width).map(element).collect::<Option<_>>()?;
        Some(text + &format!("    return Unit({});\n}}\n", elements.join(", ")))
    }

    /// Text that accumulates the units from `first` up to `end`, `step` apart. It keeps four accumulators that do not
    /// depend on each other, so that the loads of four units overlap.
    fn accumulate(&self) -> String {
        let start = match self.reduction.identity(self.dtype) {
            Some(identity) => format!("Acc({identity})"),
            // A reduction without an identity gives the same result if an element is reduced twice.
            None => "unit(at, min(first, end - 1u)).e0".to_owned(),
        };
        let (width, append) = (self.width(), self.reduction.append_name());
        let add = |unit: usize| -> String {
            let add = |element: usize| {
                let acc = (unit * width + element) % 4;
                format!("            acc{acc} = {append}(acc{acc}, u{unit}.e{element});\n")
            };
            (0..width).map(add).collect()
        };
        let added: String = (0..4).map(add).collect();
        format!(
            "fn accumulate(at: Starts, first: u32, end: u32, step: u32) -> Acc {{
    var acc0 = {start};
    var acc1 = acc0;
    var acc2 = acc0;
    var acc3 = acc0;
    var u = first;
    if end >= 3u * step {{
        for (; u < end - 3u * step; u += 4u * step) {{
            let u0 = unit(at, u);
            let u1 = unit(at, u + step);
            let u2 = unit(at, u + 2u * step);
            let u3 = unit(at, u + 3u * step);
{added}        }}
    }}
    for (; u < end; u += step) {{
        let u0 = unit(at, u);
{rest}    }}
    return combine(combine(acc0, acc1), combine(acc2, acc3));
}}
",
            rest = add(0),
        )
    }

    /// Text that writes the accumulator `acc` of a job.
    fn write(&self, job: &str) -> String {
        if self.is_last {
            return format!("z0[{job}] = {};", self.reduction.result_text());
        }
        let fields = (0..self.written().len()).map(|i| format!("z{i}[{job}] = acc.f{i};"));
        fields.collect::<Vec<_>>().join(" ")
    }

    /// Statements that find the units of `job`: `result`, `begin`, `end`.
    fn job(&self) -> &'static str {
        match (self.is_last, self.team) {
            (true, _) => "    let result = job;\n    let begin = 0u;\n    let end = p.n;\n",
            (false, Team::Lanes(_)) => {
                "    let result = job / p.splits;\n    let begin = (job % p.splits) * p.chunk;\n    \
                 let end = begin + min(p.chunk, p.n - begin);\n"
            }
            (false, Team::Across) => {
                "    let result = job % p.results;\n    let begin = (job / p.results) * p.chunk;\n    \
                 let end = begin + min(p.chunk, p.n - begin);\n"
            }
        }
    }

    fn of_lanes(&self, lanes: u32) -> String {
        let (group, fields) = (self.group, self.reduction.fields(self.dtype));
        let mut text = String::new();
        let mut tree = String::new();
        if lanes > 1 {
            for (i, field) in fields.iter().enumerate() {
                let _ = writeln!(text, "var<workgroup> w{i}: array<{}, {group}>;", field.ty);
            }
            let write: String = (0..fields.len()).map(|i| format!(" w{i}[lane] = acc.f{i};")).collect();
            let read: Vec<_> = (0..fields.len()).map(|i| format!("w{i}[lane + half]")).collect();
            tree = format!(
                "   {write}
    for (var half = {half}u; half > 0u; half = half >> 1u) {{
        workgroupBarrier();
        if part < half {{
            acc = combine(acc, Acc({read}));
           {write}
        }}
    }}
",
                half = lanes / 2,
                read = read.join(", "),
            );
        }
        let _ = write!(
            text,
            "{entry}    let own = (group.x + group.y * groups.x) * {jobs}u + lane / {lanes}u;
    let part = lane % {lanes}u;
    let job = min(own, p.jobs - 1u); // All invocations reach the barriers.
{of_job}    var acc = accumulate(starts(result), begin + part, end, {lanes}u);
{tree}    if part == 0u && own == job {{
        {done}
    }}
}}
",
            entry = entry("reduce", group),
            jobs = group / lanes,
            of_job = self.job(),
            done = self.write("job"),
        );
        text
    }

    fn of_invocations(&self) -> String {
        let group = self.group;
        format!(
            "{entry}    let job = (group.x + group.y * groups.x) * {group}u + lane;
    if job >= p.jobs {{
        return;
    }}
{of_job}    let acc = accumulate(starts(result), begin, end, 1u);
    {done}
}}
",
            entry = entry("reduce", group),
            of_job = self.job(),
            done = self.write("job"),
        )
    }
}

/// The index of an array's element, from the index of the first element and the coordinates along the axes.
fn index(array: usize, first: String, axes: std::ops::Range<usize>) -> String {
    axes.fold(first, |sum, axis| sum + &format!(" + c{axis} * p.s{array}_{axis}"))
}

/// Statements that split an index into coordinates `c{axis}`, the last axis fastest.
fn coordinates(of: &str, axes: std::ops::Range<usize>) -> String {
    let (mut text, mut rest) = (String::new(), of.to_owned());
    for axis in axes.clone().rev() {
        if axis == axes.start {
            let _ = writeln!(text, "    let c{axis} = {rest};");
        } else {
            let _ = writeln!(text, "    let c{axis} = {rest} % p.n{axis};");
            let _ = writeln!(text, "    let q{axis} = {rest} / p.n{axis};");
            rest = format!("q{axis}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use vkarray_shader::{Module, Options, Source};

    use super::*;
    use crate::text::{Step, StepKind};

    #[test]
    fn both_passes_of_every_reduction_are_valid() {
        use Reduction::{All, Any, Argmax, Argmin, Max, Min, Prod, Squares, Sum};
        let kinds = [Sum, Prod, Min, Max, Any, All, Argmin, Argmax, Squares];
        for (reduction, dtype) in kinds.into_iter().flat_map(|kind| DType::ALL.iter().map(move |&dtype| (kind, dtype)))
        {
            if !reduction.is_defined(dtype) {
                continue;
            }
            // The first pass is tested with one type of results, and with each team.
            let one = [
                (Team::Lanes(64), false, false),
                (Team::Across, false, true),
                (Team::Lanes(1), false, true),
                (Team::Lanes(8), true, true),
            ];
            let four = [(Team::Lanes(8), false, true), (Team::Lanes(64), false, false)];
            let four = four.map(|form| (form, Some(smallvec![Width::Four])));
            for ((team, is_second, is_last), fours) in one.map(|form| (form, None)).into_iter().chain(four) {
                let n_axes = if is_second { [1, 1] } else { [2, 2] };
                let form = ReduceForm { reduction, dtype, team, group: 64, n_axes, fours, is_second, is_last };
                let program = Program::of_steps(&[Step { kind: StepKind::Leaf(0), dtype }], &[0]);
                let text = form.text(&program).unwrap_or_else(|| panic!("{reduction:?} of {dtype}"));
                let translated = Module::parse(&Source::wgsl(text.clone()))
                    .and_then(|module| module.translate(None, &BTreeMap::new(), &Options::default()));
                translated.unwrap_or_else(|error| panic!("{reduction:?} of {dtype}: {error}\n{text}"));
            }
        }
    }
}
