//! Numbers the bytes of shared memory: [`SharedMemory`], and which of them a value of a type fills.
//!
//! The numbering is the checks' own. It follows the layout of buffers, so that offsets and strides are naga's.
//! Padding belongs to no value: to read a struct does not read what lies between its members.

use std::collections::HashMap;

use naga::valid::FunctionInfo;
use naga::{AddressSpace, GlobalVariable, Handle, Module, Type, TypeInner};

use super::site::MemorySpan;

/// Where each shared variable starts.
const ALIGNMENT: u32 = 16;

/// The shared memory of an entry point.
pub(super) struct SharedMemory {
    variables: HashMap<Handle<GlobalVariable>, MemorySpan>,
    /// Bytes of the smallest scalar in it; four if it is empty.
    pub(super) granule: u32,
    /// All bytes.
    pub(super) bytes: u32,
}

/// Bytes that a value fills: `count` times `bytes`, each `stride` behind the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) offset: u32,
    pub(super) bytes: u32,
    pub(super) stride: u32,
    pub(super) count: u32,
}

impl SharedMemory {
    pub(super) fn of(module: &Module, uses: &FunctionInfo) -> Self {
        let mut memory = Self { variables: HashMap::new(), granule: 4, bytes: 0 };
        for (handle, variable) in module.global_variables.iter() {
            if variable.space != AddressSpace::WorkGroup || uses[handle].is_empty() {
                continue;
            }
            let inner = &module.types[variable.ty].inner;
            let stride = if let TypeInner::Array { stride, .. } = inner { Some(*stride) } else { None };
            let (name, bytes) = (variable.name.clone().unwrap_or_default(), inner.size(module.to_ctx()));
            memory.variables.insert(handle, MemorySpan { name, start: memory.bytes, bytes, stride });
            memory.bytes = (memory.bytes + bytes).next_multiple_of(ALIGNMENT);
            memory.granule = memory.granule.min(smallest_scalar(module, variable.ty));
        }
        memory
    }

    /// The first byte of a variable, if it is shared memory that the entry point uses.
    pub(super) fn start(&self, variable: Handle<GlobalVariable>) -> Option<u32> {
        self.variables.get(&variable).map(|span| span.start)
    }

    /// The variables, by their place.
    pub(super) fn spans(&self) -> Vec<MemorySpan> {
        let mut spans: Vec<_> = self.variables.values().cloned().collect();
        spans.sort_by_key(|span| span.start);
        spans
    }
}

pub(super) fn smallest_scalar(module: &Module, ty: Handle<Type>) -> u32 {
    match &module.types[ty].inner {
        TypeInner::Array { base, .. } => smallest_scalar(module, *base),
        TypeInner::Struct { members, .. } => {
            members.iter().map(|member| smallest_scalar(module, member.ty)).min().unwrap_or(4)
        }
        inner => inner.scalar().map_or(4, |scalar| u32::from(scalar.width).min(4)),
    }
}

/// The bytes that a value of the type fills, by offset.
pub(super) fn runs(module: &Module, inner: &TypeInner) -> Vec<Run> {
    let one = |bytes: u32| vec![Run { offset: 0, bytes, stride: 0, count: 1 }];
    match inner {
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => one(u32::from(scalar.width)),
        TypeInner::Vector { size, scalar } => one(*size as u32 * u32::from(scalar.width)),
        TypeInner::Matrix { columns, rows, scalar } => {
            let (bytes, stride) = (*rows as u32 * u32::from(scalar.width), column_stride(*rows, *scalar));
            repeated(&one(bytes), *columns as u32, stride)
        }
        TypeInner::Array { base, size, stride } => {
            let element = runs(module, &module.types[*base].inner);
            repeated(&element, length(module, *size).unwrap_or(0), *stride)
        }
        TypeInner::Struct { members, .. } => {
            let mut all: Vec<Run> = Vec::new();
            for member in members {
                for run in runs(module, &module.types[member.ty].inner) {
                    push(&mut all, Run { offset: run.offset + member.offset, ..run });
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

/// Adds a run, to the last one if it goes on without a gap.
fn push(all: &mut Vec<Run>, run: Run) {
    match all.last_mut() {
        Some(last) if last.count == 1 && run.count == 1 && last.offset + last.bytes == run.offset => {
            last.bytes += run.bytes;
        }
        _ => all.push(run),
    }
}

/// The runs of `count` values in a row.
fn repeated(element: &[Run], count: u32, stride: u32) -> Vec<Run> {
    match element {
        [only] if only.count == 1 && only.offset == 0 && only.bytes == stride => {
            vec![Run { bytes: stride * count, ..*only }]
        }
        flat if flat.iter().all(|run| run.count == 1) => flat.iter().map(|run| Run { stride, count, ..*run }).collect(),
        nested => (0..count)
            .flat_map(|i| nested.iter().map(move |run| Run { offset: run.offset + i * stride, ..*run }))
            .collect(),
    }
}

/// Bytes from column to column of a matrix.
pub(super) fn column_stride(rows: naga::VectorSize, scalar: naga::Scalar) -> u32 {
    (rows as u32).next_power_of_two() * u32::from(scalar.width)
}

/// The elements of an array, unless the buffer decides.
pub(super) fn length(module: &Module, size: naga::ArraySize) -> Option<u32> {
    match size.resolve(module.to_ctx()) {
        Ok(naga::proc::IndexableLength::Known(length)) => Some(length),
        Ok(naga::proc::IndexableLength::Dynamic) | Err(_) => None,
    }
}
