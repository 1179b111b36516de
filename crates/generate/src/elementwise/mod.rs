//! [`Form`]: everything that the text of an elementwise kernel is written from. Sizes, strides and numbers are parameters.
//!
//! An invocation computes one *unit*: `lanes` elements that follow each other in the order of the rounds.

use std::fmt::Write as _;

use smallvec::SmallVec;
use vkarray_shader::DType;

use crate::text::{
    Buffer, MAX_ROUNDS, Nest, Param, ParamOf, Params, Program, Width, declared, entry, key_part, position,
    with_functions,
};

/// How a kernel finds the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The elements lie in the order of the rounds.
    Packed,
    /// All rounds read the same element.
    Single,
    /// The elements of a unit follow each other, and units have strides.
    Row,
    /// A unit has one element, and units have strides.
    Column,
    /// Each element has strides.
    Strided,
}

/// The form of a kernel. Outputs are the first buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Elements of a unit: 1, 2 or 4.
    pub lanes: u32,
    /// Whether units are whole and start at multiples of four in packed arrays and in rows.
    pub is_wide: bool,
    pub(crate) order: Order,
    pub(crate) n_axes: usize,
    pub(crate) group: u32,
    pub(crate) access: SmallVec<[Access; 6]>,
}

/// Which units a workgroup computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Units that follow each other.
    Linear,
    /// A tile that is [`TILE_UNITS`] wide.
    Tiles,
    /// Units of one row, the part of the array along its first axis. The outer coordinates are then the same for all
    /// invocations, and are divided out once and not by each of them.
    Rows,
}

/// Units in a row of a tile. A workgroup then has 32 elements of each of its rows.
const TILE_UNITS: u32 = 8;

impl Form {
    /// The fastest form for a nest. The first `n_outs` operands are outputs; outputs with elements of less than 4 bytes
    /// are packed. Workgroups have `group` invocations. Computing one element takes up to `rounds` rounds of loops.
    pub fn new(nest: &Nest, n_outs: usize, group: u32, rounds: u64) -> Self {
        let is_four = |value: u64| value.is_multiple_of(4);
        let is_packed = |operand: usize| nest.is_packed(operand);
        let is_aligned = |operand: usize| is_four(nest.operands[operand].offset);
        let strides = |operand: usize| nest.axes.iter().map(move |axis| axis.strides[operand]);
        let is_row = |operand: usize| {
            let outer_are_four = strides(operand).skip(1).all(|stride| stride % 4 == 0);
            strides(operand).next() == Some(1) && outer_are_four && is_aligned(operand)
        };
        let all = 0..nest.operands.len();
        let is_wide = 4 * rounds <= MAX_ROUNDS
            && is_four(nest.axes[0].len)
            && all.clone().all(|operand| {
                if is_packed(operand) { is_aligned(operand) } else { operand >= n_outs || is_row(operand) }
            });
        let shortest = nest.operands[..n_outs].iter().map(|out| out.itemsize).min().unwrap_or(4);
        let lanes = match shortest {
            _ if is_wide => 4,
            1 => 4,
            2 => 2,
            _ => 1,
        };
        let access_of = |operand: usize| {
            if nest.is_single(operand) && operand >= n_outs {
                Access::Single
            } else if is_packed(operand) {
                Access::Packed
            } else if is_wide && is_row(operand) {
                Access::Row
            } else if is_wide && strides(operand).next() == Some(0) {
                Access::Column
            } else {
                Access::Strided
            }
        };
        let mut access = SmallVec::new();
        all.clone().for_each(|operand| access.push(access_of(operand)));
        // Whether elements of this operand lie side by side along the second axis, so that a tile reads them together.
        let is_across = |operand: usize| match &nest.axes[..] {
            [inner, outer, ..] => {
                outer.strides[operand].unsigned_abs() == 1 && inner.strides[operand].unsigned_abs() > 1
            }
            _ => false,
        };
        let width = u64::from(4 * TILE_UNITS);
        let fits = |rows: u64| nest.axes[0].len.is_multiple_of(width) && nest.axes[1].len.is_multiple_of(rows);
        let is_tiled = is_wide && all.clone().any(is_across) && fits((group / TILE_UNITS).into());
        let row = nest.axes[0].len;
        // At least four of five invocations have an element.
        let fills_groups = row.next_multiple_of(group.into()) * 4 <= row * 5;
        let order = match lanes {
            _ if is_tiled => Order::Tiles,
            1 if Self::have_strides(&access) && nest.axes.len() > 1 && fills_groups => Order::Rows,
            _ => Order::Linear,
        };
        Self { lanes, is_wide, order, n_axes: nest.axes.len(), group, access }
    }

    /// The workgroups that compute all units of a nest.
    pub fn groups(&self, nest: &Nest) -> u64 {
        let (group, row) = (u64::from(self.group), nest.axes[0].len);
        match self.order {
            Order::Rows => row.div_ceil(group) * (nest.size() / row),
            _ => nest.size().div_ceil(u64::from(self.lanes)).div_ceil(group),
        }
    }

    /// Whether the coordinates of a round are needed.
    fn has_coordinates(&self) -> bool {
        Self::have_strides(&self.access)
    }

    fn have_strides(access: &[Access]) -> bool {
        access.iter().any(|&access| Self::has_strides(access))
    }

    fn has_strides(access: Access) -> bool {
        matches!(access, Access::Row | Access::Column | Access::Strided)
    }

    /// The words that the text depends on, besides the program.
    pub fn add_to_key(&self, key: &mut SmallVec<[u32; 64]>) {
        key.push(
            self.lanes
                | u32::from(self.is_wide) << 4
                | (self.order as u32) << 5
                | key_part(self.n_axes) << 8
                | self.group << 16,
        );
        self.access.iter().for_each(|&access| key.push(access as u32));
    }

    /// The parameters of a launch: the numbers of the program and the words of the nest.
    pub fn params<L>(&self, program: &Program<'_, L>) -> Params {
        let (mut params, n_axes) = (Param::scalars(program), position(self.n_axes));
        let mut word = |of| params.push(Param::word(of));
        word(ParamOf::Size);
        if self.has_coordinates() {
            (0..n_axes - 1).for_each(|axis| word(ParamOf::Len(axis)));
        }
        for (operand, &access) in (0..).zip(&self.access) {
            word(ParamOf::Base(operand));
            if Self::has_strides(access) {
                (0..n_axes).for_each(|axis| word(ParamOf::Stride(operand, axis)));
            }
        }
        params
    }

    /// The buffers: their element types, and how they are read.
    fn buffers(&self, dtypes: &[DType]) -> Vec<Buffer> {
        let width = |access| {
            let is_four = self.is_wide && matches!(access, Access::Packed | Access::Row);
            if is_four { Width::Four } else { Width::One }
        };
        let of = |(operand, (&dtype, &access)): (usize, (&DType, &Access))| Buffer {
            name: format!("a{operand}"),
            dtype,
            width: width(access),
        };
        dtypes.iter().zip(&self.access).enumerate().map(of).collect()
    }

    /// The text of the kernel. `reads` has the operand of each leaf of the program: an output, where the leaf is
    /// written in place.
    pub fn text<L>(&self, program: &Program<'_, L>, dtypes: &[DType], reads: &[usize]) -> String {
        let buffers = self.buffers(dtypes);
        let mut text = String::new();
        for (i, buffer) in buffers.iter().enumerate() {
            let mode = if i < program.outs.len() { "read_write" } else { "read" };
            text += &declared(i, mode, &buffer.name, buffer.storage());
        }
        text += &Param::declaration(&self.params(program), program);
        text += &program.compute();
        let lanes = self.lanes;
        let _ = write!(
            text,
            "{entry}{unit}    let i0 = unit * {lanes}u;
    if {is_beyond} {{
        return;
    }}
",
            entry = entry("elementwise", self.group),
            unit = self.unit(),
            is_beyond = if self.order == Order::Rows { "column >= p.n0 || i0 >= p.n" } else { "i0 >= p.n" },
        );
        text += &self.coordinates();
        for (leaf, &operand) in reads.iter().enumerate() {
            text += &self.load(leaf, operand, &buffers[operand]);
        }
        // Where all lanes have the same elements, they are computed once. Besides being slower, a driver (Mesa 22.3) got the
        // second of two equal computations wrong.
        let is_same = reads.iter().all(|&operand| matches!(self.access[operand], Access::Single | Access::Column));
        for lane in 0..lanes {
            let args: Vec<_> = (0..reads.len()).map(|leaf| format!("x{leaf}_{lane}")).collect();
            let value = if is_same && lane > 0 { "y0".to_owned() } else { format!("compute({})", args.join(", ")) };
            let _ = writeln!(text, "    let y{lane} = {value};");
        }
        for (out, buffer) in buffers.iter().take(program.outs.len()).enumerate() {
            text += &self.store(out, buffer);
        }
        with_functions(&(text + "}\n"))
    }

    /// The statements that find the unit of an invocation.
    fn unit(&self) -> String {
        let group = self.group;
        match self.order {
            Order::Linear => format!("    let unit = (group.x + group.y * groups.x) * {group}u + lane;\n"),
            Order::Tiles => format!(
                "    let tile = group.x + group.y * groups.x;
    let tiles = p.n0 / {width}u;
    let row = (tile / tiles) * {rows}u + lane / {TILE_UNITS}u;
    let unit = row * (p.n0 / 4u) + (tile % tiles) * {TILE_UNITS}u + lane % {TILE_UNITS}u;
",
                width = 4 * TILE_UNITS,
                rows = group / TILE_UNITS,
            ),
            Order::Rows => format!(
                "    let part = group.x + group.y * groups.x;
    let parts = (p.n0 + {last}u) / {group}u;
    let row = part / parts;
    let column = (part % parts) * {group}u + lane;
    let unit = row * p.n0 + column;
",
                last = group - 1,
            ),
        }
    }

    /// The coordinates of each lane. Where units do not cross rows, these are the coordinates of the unit with the lane
    /// added.
    fn coordinates(&self) -> String {
        let mut text = String::new();
        for lane in 1..self.lanes {
            // The last unit may have fewer elements than lanes; the results of the lanes beyond are not written.
            let _ = writeln!(text, "    let i{lane} = min(i0 + {lane}u, p.n - 1u);");
        }
        if self.order == Order::Rows {
            text += "    let c0_0 = column;\n";
            text += &self.divided(0, 1, "row".to_owned());
        } else if self.has_coordinates() {
            for lane in 0..if self.is_wide { 1 } else { self.lanes } {
                text += &self.divided(lane, 0, format!("i{lane}"));
            }
        }
        text
    }

    /// The coordinates of a lane from an axis on, from a number that counts along these axes.
    fn divided(&self, lane: u32, from: usize, mut rest: String) -> String {
        let mut text = String::new();
        for axis in from..self.n_axes - 1 {
            let _ = writeln!(text, "    let c{lane}_{axis} = {rest} % p.n{axis};");
            let _ = writeln!(text, "    let q{lane}_{axis} = {rest} / p.n{axis};");
            rest = format!("q{lane}_{axis}");
        }
        let _ = writeln!(text, "    let c{lane}_{} = {rest};", self.n_axes - 1);
        text
    }

    /// The index of an element with strides.
    fn strided(&self, operand: usize, lane: u32) -> String {
        let (of, inner) = if self.is_wide { (0, format!("(c0_0 + {lane}u)")) } else { (lane, format!("c{lane}_0")) };
        let outer = (1..self.n_axes).map(|axis| format!(" + c{of}_{axis} * p.s{operand}_{axis}"));
        format!("p.b{operand} + {inner} * p.s{operand}_0{}", outer.collect::<String>())
    }

    /// Reads the elements of a leaf into `x{leaf}_0` and so on.
    fn load(&self, leaf: usize, operand: usize, buffer: &Buffer) -> String {
        let lanes = 0..self.lanes;
        let same = |index: String| {
            let first = format!("    let x{leaf}_0 = {};\n", buffer.load(&index));
            (1..self.lanes).fold(first, |text, lane| text + &format!("    let x{leaf}_{lane} = x{leaf}_0;\n"))
        };
        let each = |index: &dyn Fn(u32) -> String| {
            let one = |lane| format!("    let x{leaf}_{lane} = {};\n", buffer.load(&index(lane)));
            lanes.clone().map(one).collect::<String>()
        };
        match self.access[operand] {
            Access::Single => same(format!("p.b{operand}")),
            Access::Column => same(self.strided(operand, 0)),
            Access::Packed if self.is_wide => {
                buffer.load_four(&format!("(p.b{operand} >> 2u) + unit"), &format!("x{leaf}_"))
            }
            Access::Row => buffer.load_four(&format!("({}) >> 2u", self.strided(operand, 0)), &format!("x{leaf}_")),
            Access::Packed => each(&|lane| format!("p.b{operand} + i{lane}")),
            Access::Strided => each(&|lane| self.strided(operand, lane)),
        }
    }

    fn store(&self, out: usize, buffer: &Buffer) -> String {
        let values: Vec<_> = (0..self.lanes).map(|lane| format!("y{lane}.r{out}")).collect();
        let is_short = buffer.dtype.itemsize() < 4;
        match self.access[out] {
            // The base is a multiple of the lanes, which share a word.
            Access::Packed if self.is_wide => buffer.store_unit(&format!("(p.b{out} >> 2u) + unit"), &values),
            Access::Row => buffer.store_unit(&format!("({}) >> 2u", self.strided(out, 0)), &values),
            Access::Packed if is_short => buffer.store_unit(&format!("p.b{out} / {}u + unit", self.lanes), &values),
            access => {
                let store = |(lane, value): (u32, &String)| {
                    let index = match access {
                        Access::Packed => format!("p.b{out} + i{lane}"),
                        _ => self.strided(out, lane),
                    };
                    let store = buffer.store(&index, value);
                    if lane == 0 { store } else { format!("    if i0 + {lane}u < p.n {{\n    {store}    }}\n") }
                };
                (0..).zip(&values).map(store).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests;
