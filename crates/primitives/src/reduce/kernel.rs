//! [`ReduceForm`]: everything that the text of a reduction's kernel is written from.
//!
//! A *job* is the part of one result that one workgroup or one invocation computes: `chunk` of its elements. Loops are over
//! the elements of a job, at most 2³² of them. The kernel of the second pass has partial results as its elements.

use std::fmt::Write as _;

use smallvec::SmallVec;
use vkarray_kernel::DType;

use super::kind::{Field, Reduction};
use crate::generate::{Buffer, Program, Width, dtype_code, key_part, scalar_words, with_functions};

/// Who computes a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Team {
    /// A workgroup, whose invocations take elements in turns and are combined as a tree. Jobs of one result follow each
    /// other.
    Group,
    /// One invocation. Jobs of neighbouring results follow each other.
    Invocation,
}

/// The form of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReduceForm {
    pub(super) reduction: Reduction,
    /// The type of the elements that are reduced.
    pub(super) dtype: DType,
    pub(super) team: Team,
    pub(super) group: u32,
    /// Axes of the results and of the elements of each. The second pass has one of both.
    pub(super) n_axes: [usize; 2],
    /// Whether the elements are partial results.
    pub(super) is_second: bool,
    /// Whether the results are written, or partial results.
    pub(super) is_last: bool,
}

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassParam {
    Scalar(usize, usize),
    /// Jobs of the kernel, results, jobs of a result, elements of a job, elements of a result.
    Jobs,
    Results,
    Splits,
    Chunk,
    Count,
    /// The length of an axis, those of the results first.
    Len(usize),
    Base(usize),
    /// The stride of an array along an axis.
    Stride(usize, usize),
}

/// A parameter of a kernel: its name, its type and what it is.
pub(super) type NamedParam = (String, &'static str, PassParam);

impl ReduceForm {
    pub(super) fn add_to_key(&self, key: &mut SmallVec<[u32; 64]>) {
        let flags = u32::from(self.is_second) | u32::from(self.is_last) << 1 | (self.team as u32) << 2;
        key.push(self.reduction as u32 | dtype_code(self.dtype) << 8 | flags << 16);
        key.push(self.group | key_part(self.n_axes[0]) << 16 | key_part(self.n_axes[1]) << 24);
    }

    /// What is written: one buffer for each field.
    pub(super) fn written(&self) -> Vec<Field> {
        if self.is_last { vec![self.reduction.result(self.dtype)] } else { self.reduction.fields(self.dtype) }
    }

    /// The number of arrays that are read.
    fn n_reads(&self, program: &Program<'_>) -> usize {
        if self.is_second { self.reduction.fields(self.dtype).len() } else { program.leaf_types().count() }
    }

    pub(super) fn params(&self, program: &Program<'_>) -> Vec<NamedParam> {
        let mut params = Vec::new();
        if !self.is_second {
            for (at, &(_, dtype)) in program.scalars.iter().enumerate() {
                let words = scalar_words(dtype, &format!("c{at}"));
                params
                    .extend(words.into_iter().enumerate().map(|(i, (name, ty))| (name, ty, PassParam::Scalar(at, i))));
            }
            params.sort_by_key(|(_, ty, _)| *ty == "u32"); // Numbers of 8 bytes first, so that there is no padding.
        }
        let mut word = |name: String, of| params.push((name, "u32", of));
        for (name, of) in [
            ("jobs", PassParam::Jobs),
            ("results", PassParam::Results),
            ("splits", PassParam::Splits),
            ("chunk", PassParam::Chunk),
            ("count", PassParam::Count),
        ] {
            word(name.to_owned(), of);
        }
        let n_axes = self.n_axes.iter().sum::<usize>();
        (0..n_axes).for_each(|axis| word(format!("n{axis}"), PassParam::Len(axis)));
        let n_arrays = if self.is_second { 1 } else { self.n_reads(program) };
        for array in 0..n_arrays {
            word(format!("b{array}"), PassParam::Base(array));
            (0..n_axes).for_each(|axis| word(format!("s{array}_{axis}"), PassParam::Stride(array, axis)));
        }
        params
    }

    /// The buffers that are read in the first pass.
    pub(super) fn buffers(&self, program: &Program<'_>) -> Vec<Buffer> {
        let buffer = |(i, dtype): (usize, DType)| Buffer { name: format!("a{i}"), dtype, width: Width::One };
        program.leaf_types().enumerate().map(buffer).collect()
    }

    /// The text of the kernel, if the reduction is defined for the type.
    pub(super) fn text(&self, program: &Program<'_>) -> Option<String> {
        let mut text = self.declarations(program);
        text += &self.reduction.combine(self.dtype)?;
        if !self.is_second {
            text += &program.compute();
        }
        text += &self.element(program)?;
        text += &self.accumulate();
        text += &match self.team {
            Team::Group => self.of_groups(),
            Team::Invocation => self.of_invocations(),
        };
        Some(with_functions(&text))
    }

    fn declarations(&self, program: &Program<'_>) -> String {
        let fields = self.reduction.fields(self.dtype);
        let mut text = String::new();
        let written = self.written();
        for (i, field) in written.iter().enumerate() {
            let _ = writeln!(text, "@group(0) @binding({i}) var<storage, read_write> z{i}: array<{}>;", field.ty);
        }
        let reads: Vec<(String, &str)> = if self.is_second {
            fields.iter().enumerate().map(|(i, field)| (format!("a{i}"), field.ty)).collect()
        } else {
            self.buffers(program).iter().map(|buffer| (buffer.name.clone(), buffer.storage())).collect()
        };
        for (i, (name, ty)) in reads.iter().enumerate() {
            let _ = writeln!(text, "@group(0) @binding({}) var<storage, read> {name}: array<{ty}>;", written.len() + i);
        }
        text += "struct Params {\n";
        for (name, ty, _) in self.params(program) {
            let _ = writeln!(text, "    {name}: {ty},");
        }
        text += "}\nvar<immediate> p: Params;\nstruct Acc {\n";
        for (i, field) in fields.iter().enumerate() {
            let _ = writeln!(text, "    f{i}: {},", field.ty);
        }
        text + "}\n"
    }

    /// The functions `start`, which gives the index of each array for a result, and `element`, the accumulator of one element.
    fn element(&self, program: &Program<'_>) -> Option<String> {
        let n_arrays = if self.is_second { 1 } else { self.n_reads(program) };
        let [n_kept, n_reduced] = self.n_axes;
        let all = n_kept + n_reduced;
        let mut text = "struct Starts {\n".to_owned();
        (0..n_arrays).for_each(|i| text += &format!("    i{i}: u32,\n"));
        text += "}\nfn starts(result: u32) -> Starts {\n";
        text += &coordinates("result", 0..n_kept);
        let index = |array: usize, first: String, axes: std::ops::Range<usize>| {
            axes.fold(first, |sum, axis| sum + &format!(" + c{axis} * p.s{array}_{axis}"))
        };
        let starts: Vec<_> = (0..n_arrays).map(|i| index(i, format!("p.b{i}"), 0..n_kept)).collect();
        text += &format!("    return Starts({});\n}}\n", starts.join(", "));
        text += "fn element(at: Starts, r: u32) -> Acc {\n";
        text += &coordinates("r", n_kept..all);
        if self.is_second {
            let index = index(0, "at.i0".to_owned(), n_kept..all);
            let fields = (0..self.reduction.fields(self.dtype).len()).map(|i| format!("a{i}[{index}]"));
            text += &format!("    return Acc({});\n}}\n", fields.collect::<Vec<_>>().join(", "));
            return Some(text);
        }
        let loads = self.buffers(program);
        let loads = loads.iter().enumerate().map(|(i, buffer)| buffer.load(&index(i, format!("at.i{i}"), n_kept..all)));
        text += &format!("    let v = compute({}).r0;\n", loads.collect::<Vec<_>>().join(", "));
        text += &format!("    return {};\n}}\n", self.reduction.of_element(self.dtype, "v", "r")?);
        Some(text)
    }

    /// The accumulator of elements from `first` on, `step` apart, up to `end`. Four are independent of each other, so that
    /// their loads overlap.
    fn accumulate(&self) -> String {
        let start = match self.reduction.identity(self.dtype) {
            Some(identity) => format!("Acc({identity})"),
            // Reducing an element twice changes nothing where there is no identity.
            None => "element(at, min(first, end - 1u))".to_owned(),
        };
        format!(
            "fn accumulate(at: Starts, first: u32, end: u32, step: u32) -> Acc {{
    var acc0 = {start};
    var acc1 = acc0;
    var acc2 = acc0;
    var acc3 = acc0;
    var r = first;
    if end >= 3u * step {{
        for (; r < end - 3u * step; r += 4u * step) {{
            let e0 = element(at, r);
            let e1 = element(at, r + step);
            let e2 = element(at, r + 2u * step);
            let e3 = element(at, r + 3u * step);
            acc0 = combine(acc0, e0);
            acc1 = combine(acc1, e1);
            acc2 = combine(acc2, e2);
            acc3 = combine(acc3, e3);
        }}
    }}
    for (; r < end; r += step) {{
        acc0 = combine(acc0, element(at, r));
    }}
    return combine(combine(acc0, acc1), combine(acc2, acc3));
}}
"
        )
    }

    /// Writes the accumulator `acc` of a job.
    fn write(&self, job: &str) -> String {
        if self.is_last {
            return format!("    z0[{job}] = {};\n", self.reduction.result_text());
        }
        (0..self.written().len()).map(|i| format!("    z{i}[{job}] = acc.f{i};\n")).collect()
    }

    fn of_groups(&self) -> String {
        let (group, fields) = (self.group, self.reduction.fields(self.dtype));
        let mut text = String::new();
        let n = fields.len();
        for (i, field) in fields.iter().enumerate() {
            let _ = writeln!(text, "var<workgroup> w{i}: array<{}, {group}>;", field.ty);
        }
        let write: String = (0..n).map(|i| format!("        w{i}[lane] = acc.f{i};\n")).collect();
        let read: Vec<_> = (0..n).map(|i| format!("w{i}[lane + half]")).collect();
        let _ = write!(
            text,
            "@compute @workgroup_size({group})
fn reduce(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {{
    let job = group.x + group.y * groups.x;
    if job >= p.jobs {{
        return;
    }}
    let result = job / p.splits;
    let begin = (job % p.splits) * p.chunk;
    let end = begin + min(p.chunk, p.count - begin);
    var acc = accumulate(starts(result), begin + lane, end, {group}u);
    for (var half = {half}u; half > 0u; half = half >> 1u) {{
        workgroupBarrier();
{write}        workgroupBarrier();
        if lane < half {{
            acc = combine(acc, Acc({read}));
        }}
    }}
    if lane != 0u {{
        return;
    }}
{done}}}
",
            half = group / 2,
            read = read.join(", "),
            done = self.write("job"),
        );
        text
    }

    fn of_invocations(&self) -> String {
        let group = self.group;
        format!(
            "@compute @workgroup_size({group})
fn reduce(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {{
    let job = (group.x + group.y * groups.x) * {group}u + lane;
    if job >= p.jobs {{
        return;
    }}
    let begin = (job / p.results) * p.chunk;
    let end = begin + min(p.chunk, p.count - begin);
    let acc = accumulate(starts(job % p.results), begin, end, 1u);
{done}}}
",
            done = self.write("job"),
        )
    }
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

    use vkarray_kernel::{Module, Options, Source};

    use super::*;
    use crate::generate::{Step, StepKind};

    const TYPES: [DType; 15] = [
        DType::Bool,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
        DType::F16,
        DType::BF16,
        DType::I32,
        DType::U32,
        DType::F32,
        DType::I64,
        DType::U64,
        DType::F64,
        DType::Complex32,
        DType::Complex64,
    ];

    #[test]
    fn both_passes_of_every_reduction_are_valid() {
        use Reduction::{All, Any, Argmax, Argmin, Max, Min, Prod, Sum};
        let kinds = [Sum, Prod, Min, Max, Any, All, Argmin, Argmax];
        for (reduction, dtype) in kinds.into_iter().flat_map(|kind| TYPES.map(|dtype| (kind, dtype))) {
            if !reduction.is_defined(dtype) {
                continue;
            }
            // One type of results is enough for the first pass, one of them for each team.
            for (team, is_second, is_last) in
                [(Team::Group, false, false), (Team::Invocation, false, true), (Team::Group, true, true)]
            {
                let n_axes = if is_second { [1, 1] } else { [2, 2] };
                let form = ReduceForm { reduction, dtype, team, group: 64, n_axes, is_second, is_last };
                let program = Program::of_steps(&[Step { kind: StepKind::Leaf(0), dtype }], &[0]);
                let text = form.text(&program).unwrap_or_else(|| panic!("{reduction:?} of {dtype}"));
                let translated = Module::parse(&Source::wgsl(text.clone()))
                    .and_then(|module| module.translate(None, &BTreeMap::new(), &Options::default()));
                translated.unwrap_or_else(|error| panic!("{reduction:?} of {dtype}: {error}\n{text}"));
            }
        }
    }
}
