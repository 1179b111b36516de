//! [`Param`]: the parameters of generated kernels, in push constants.
//!
//! The parameters are listed at each launch, so the list has no names: [`Param::declaration`] writes names when a
//! kernel is built.

use std::fmt::Write as _;

use smallvec::SmallVec;
use vkarray_shader::ScalarValue;

use super::Program;
use super::buffer::{scalar_parts, scalar_value};

/// A parameter. It is small, because lists of parameters are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// What the value is.
    pub of: ParamOf,
    ty: ParamType,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamType {
    U32,
    I64,
    U64,
    F64,
}

/// What the value of a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamOf {
    /// A part of a number of the program.
    Scalar(u16, u16),
    /// The number of rounds of a nest, or of units of each result.
    Size,
    /// The jobs of a reduction.
    Jobs,
    /// The results of a reduction.
    Results,
    /// The jobs of a result.
    Splits,
    /// The units of a job.
    Chunk,
    /// The length of an axis.
    Len(u16),
    /// The first element of an operand, counted from the start of the bound range.
    Base(u16),
    /// The stride of an operand along an axis.
    Stride(u16, u16),
}

impl ParamType {
    /// The name of the type in WGSL.
    fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F64 => "f64",
        }
    }
}

/// The parameters of a kernel, in order.
pub type Params = SmallVec<[Param; 24]>;

impl Param {
    /// A parameter of one word.
    pub fn word(of: ParamOf) -> Self {
        Self { of, ty: ParamType::U32 }
    }

    /// The parameters that hold the numbers of a program.
    pub fn scalars<L>(program: &Program<'_, L>) -> Params {
        let mut params = Params::new();
        for (at, &(_, dtype)) in (0..).zip(&program.scalars) {
            let (n_parts, ty) = scalar_parts(dtype);
            (0..n_parts).for_each(|part| params.push(Self { of: ParamOf::Scalar(at, part), ty }));
        }
        params.sort_by_key(|param| param.ty == ParamType::U32); // Numbers of 8 bytes first, so that there is no padding.
        params
    }

    /// The value of a part of a number.
    pub fn scalar_value<L>(self, program: &Program<'_, L>, at: u16, part: u16) -> ScalarValue {
        scalar_value(program.scalars[usize::from(at)].0, usize::from(part), self.ty)
    }

    fn name<L>(self, program: &Program<'_, L>) -> String {
        match self.of {
            ParamOf::Scalar(at, part) if scalar_parts(program.scalars[usize::from(at)].1).0 > 1 => {
                format!("c{at}_{}", ["x", "y"][usize::from(part)])
            }
            ParamOf::Scalar(at, _) => format!("c{at}"),
            ParamOf::Size => "n".to_owned(),
            ParamOf::Jobs => "jobs".to_owned(),
            ParamOf::Results => "results".to_owned(),
            ParamOf::Splits => "splits".to_owned(),
            ParamOf::Chunk => "chunk".to_owned(),
            ParamOf::Len(axis) => format!("n{axis}"),
            ParamOf::Base(operand) => format!("b{operand}"),
            ParamOf::Stride(operand, axis) => format!("s{operand}_{axis}"),
        }
    }

    /// Whether the parameters take at most `max_bytes` bytes of push constants.
    pub fn fit(params: &[Self], max_bytes: usize) -> bool {
        // No parameter has more than 8 bytes, so a short list need not be counted.
        8 * params.len() <= max_bytes || Self::nbytes(params) <= max_bytes
    }

    /// The size of the parameters in bytes of push constants.
    pub fn nbytes(params: &[Self]) -> usize {
        params.iter().map(|param| if param.ty == ParamType::U32 { 4 } else { 8 }).sum::<usize>().next_multiple_of(8)
    }

    /// The declaration of `p`, which has the parameters as members.
    pub fn declaration<L>(params: &[Self], program: &Program<'_, L>) -> String {
        let mut text = "struct Params {\n".to_owned();
        for param in params {
            let _ = writeln!(text, "    {}: {},", param.name(program), param.ty.name());
        }
        text + "}\nvar<immediate> p: Params;\n"
    }
}
