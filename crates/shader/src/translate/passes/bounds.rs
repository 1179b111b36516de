//! Whether the device can keep all indices of a kernel inside its buffers, or code in the kernel has to. Pure.
//!
//! `robustBufferAccess2` bounds each access to a buffer by the range that is bound. Where that is exact to the byte it is
//! as safe as code that compares every index, and on NVIDIA's GPUs it costs nothing, where comparing costs up to 38 %:
//! `docs/decisions/016` has the figures. Plain `robustBufferAccess` may let an access reach elsewhere in the buffer, of
//! which our arrays are parts, so it does not count.
//!
//! The device bounds a range, not what lies in it: an index into a vector, a matrix or an array inside an element stays
//! naga's to check, and with it the whole kernel. Read next: `translate/emit.rs`.

use naga::{
    AddressSpace, ArraySize, Block, CooperativeData, CooperativeSize, Expression, Function, Handle, Literal, Module,
    Scalar, Statement, TypeInner,
};

/// Whether every computed index into a buffer picks an element of the array that the buffer is or ends in.
pub(crate) fn are_of_ranges(module: &Module, index: usize) -> bool {
    let entry = &module.entry_points[index].function;
    let functions = module.functions.iter().map(|(_, function)| function);
    functions.chain([entry]).all(|function| {
        let is_fine = |expression: &Expression| match *expression {
            Expression::Access { base, .. } => !is_inside(module, function, base),
            _ => true,
        };
        function.expressions.iter().all(|(_, expression)| is_fine(expression))
    })
}

/// Whether an index into the expression picks something inside an element of a buffer.
fn is_inside(module: &Module, function: &Function, base: Handle<Expression>) -> bool {
    match function.expressions[base] {
        Expression::GlobalVariable(handle) => {
            let variable = &module.global_variables[handle];
            let is_array = matches!(module.types[variable.ty].inner, TypeInner::Array { .. });
            is_buffer(variable.space) && !is_array
        }
        Expression::AccessIndex { base: whole, index } => match function.expressions[whole] {
            Expression::GlobalVariable(handle) => {
                let variable = &module.global_variables[handle];
                is_buffer(variable.space) && !is_runtime_array(module, variable.ty, index)
            }
            _ => is_inside_any(module, function, whole),
        },
        Expression::Access { base: whole, .. } => is_inside_any(module, function, whole),
        _ => is_inside_any(module, function, base),
    }
}

fn is_buffer(space: AddressSpace) -> bool {
    matches!(space, AddressSpace::Storage { .. } | AddressSpace::Uniform)
}

/// Whether the expression is a part of a buffer, or may be.
fn is_inside_any(module: &Module, function: &Function, expression: Handle<Expression>) -> bool {
    match function.expressions[expression] {
        Expression::GlobalVariable(handle) => is_buffer(module.global_variables[handle].space),
        Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => is_inside_any(module, function, base),
        Expression::FunctionArgument(number) => {
            let ty = function.arguments[number as usize].ty;
            module.types[ty].inner.pointer_space().is_some_and(is_buffer)
        }
        _ => false,
    }
}

fn is_runtime_array(module: &Module, ty: Handle<naga::Type>, member: u32) -> bool {
    let TypeInner::Struct { ref members, .. } = module.types[ty].inner else { return false };
    let inner = members.get(member as usize).map(|member| &module.types[member.ty].inner);
    matches!(inner, Some(TypeInner::Array { size: ArraySize::Dynamic, .. }))
}

/// Whether every cooperative matrix that is loaded or stored lies in one array of fixed length in shared memory, from a
/// constant index on, in rows that are aligned as Vulkan asks. naga clamps the other indices of such a pointer. `halves`
/// says that words in memory are two numbers each; a row of 16 halves is as long as one of 32 `i8`.
pub(crate) fn have_matrices_inside(module: &Module, index: usize, halves: bool) -> bool {
    let entry = &module.entry_points[index].function;
    let functions = module.functions.iter().map(|(_, function)| function);
    functions.chain([entry]).all(|function| {
        let is_inside =
            |rows, data: &CooperativeData| has_matrix_inside(module, function, (rows, halves), data).unwrap_or(false);
        let loads = function.expressions.iter().all(|(_, expression)| match expression {
            Expression::CooperativeLoad { rows, columns, data, .. } => rows == columns && is_inside(*rows, data),
            _ => true,
        });
        loads
            && are_stored(&function.body, &|target, data| match matrix_of(module, function, target) {
                Some((rows, columns)) => rows == columns && is_inside(rows, data),
                None => false,
            })
    })
}

/// Whether the condition holds for all stores of cooperative matrices in a block.
fn are_stored(block: &Block, is_fine: &dyn Fn(Handle<Expression>, &CooperativeData) -> bool) -> bool {
    block.iter().all(|statement| match statement {
        Statement::CooperativeStore { target, data } => is_fine(*target, data),
        Statement::Block(block) => are_stored(block, is_fine),
        Statement::If { accept, reject, .. } => are_stored(accept, is_fine) && are_stored(reject, is_fine),
        Statement::Switch { cases, .. } => cases.iter().all(|case| are_stored(&case.body, is_fine)),
        Statement::Loop { body, continuing, .. } => are_stored(body, is_fine) && are_stored(continuing, is_fine),
        _ => true,
    })
}

/// Rows and columns of a matrix that a variable of the function holds.
fn matrix_of(
    module: &Module,
    function: &Function,
    value: Handle<Expression>,
) -> Option<(CooperativeSize, CooperativeSize)> {
    let Expression::Load { pointer } = function.expressions[value] else { return None };
    let Expression::LocalVariable(variable) = function.expressions[pointer] else { return None };
    match module.types[function.local_variables[variable].ty].inner {
        TypeInner::CooperativeMatrix { rows, columns, .. } => Some((rows, columns)),
        _ => None,
    }
}

/// Whether a square matrix lies in the array that its pointer points into; `None` if nothing says so. It has a side, and its
/// words are halves or not.
fn has_matrix_inside(
    module: &Module,
    function: &Function,
    (side, halves): (CooperativeSize, bool),
    data: &CooperativeData,
) -> Option<bool> {
    let Expression::Literal(Literal::U32(stride)) = function.expressions[data.stride] else { return None };
    let Expression::AccessIndex { base, index } = function.expressions[data.pointer] else { return None };
    let TypeInner::Array { base, size: ArraySize::Constant(len), stride: bytes } =
        module.types[shared_type(module, function, base)?].inner
    else {
        return None;
    };
    let (vector, scalar) = module.types[base].inner.vector_size_and_scalar()?;
    let len_of_vector = vector.map_or(1, |len| len as u64);
    let numbers = if halves && scalar == Scalar::U32 { 2 * len_of_vector } else { len_of_vector };
    let [side, stride, index, bytes, len] = [side as u32, stride, index, bytes, len.get()].map(u64::from);
    let end = index + (side - 1) * stride + side.div_ceil(numbers);
    let is_aligned = [index, stride, len].iter().all(|count| (count * bytes).is_multiple_of(16));
    Some(end <= len && is_aligned)
}

/// The type of what an expression points to in shared memory.
fn shared_type(module: &Module, function: &Function, pointer: Handle<Expression>) -> Option<Handle<naga::Type>> {
    match function.expressions[pointer] {
        Expression::GlobalVariable(handle) => {
            let variable = &module.global_variables[handle];
            (variable.space == AddressSpace::WorkGroup).then_some(variable.ty)
        }
        Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
            match module.types[shared_type(module, function, base)?].inner {
                TypeInner::Array { base, .. } => Some(base),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_inside_an_element_is_not_left_to_the_device() {
        // What the kernel does, and whether all its indices are of ranges.
        let cases = [
            ("x[i] = 1.0;", true),
            ("many.items[i] = 1.0;", true),
            ("points[i].y = points[i + 1u].x;", true), // A component by number.
            ("let v = points[i]; x[0] = v[i];", true), // Of a value: naga clamps it in any case.
            ("var a = array<f32, 4>(); a[i] = 1.0; x[i] = a[i];", true),
            ("tile[i] = x[i];", true),
            ("points[0][i] = 1.0;", false),
            ("rows[i][i] = 1.0;", false),
            ("many.first[i] = 1.0;", false),
            ("x[i] = turn[i].x;", false),
            ("let p = &points[i]; (*p)[i] = 1.0;", false),
        ];
        for (body, expected) in cases {
            let wgsl = format!(
                "struct Many {{ first: array<f32, 4>, items: array<f32> }}
                @group(0) @binding(0) var<storage, read_write> x: array<f32>;
                @group(0) @binding(1) var<storage, read_write> points: array<vec4<f32>>;
                @group(0) @binding(2) var<storage, read_write> rows: array<array<f32, 4>>;
                @group(0) @binding(3) var<storage, read_write> many: Many;
                @group(0) @binding(4) var<uniform> turn: mat4x4<f32>;
                var<workgroup> tile: array<f32, 4>;
                @compute @workgroup_size(1) fn k(@builtin(global_invocation_id) id: vec3<u32>) {{ let i = id.x; {body} }}"
            );
            let module = naga::front::wgsl::parse_str(&wgsl).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&wgsl)));
            assert_eq!(are_of_ranges(&module, 0), expected, "{body}");
        }
    }

    #[test]
    fn matrices_in_one_array_of_shared_memory_are_inside() {
        // How a matrix is loaded, or stored, and whether all of it is known to be inside.
        let cases = [
            ("m = coopLoad<M>(&tile[i][0], 10u);", true),
            ("m = coopLoadT<M>(&tile[1][4], 10u); coopStoreT(m, &tile[i][4], 10u);", true),
            ("m = coopLoadT<M>(&tile[i][6], 10u);", true), // Ends at the last vector.
            ("m = coopLoadT<M>(&tile[i][8], 10u);", false),
            ("m = coopLoadT<M>(&tile[i][4], 12u);", false),
            ("m = coopLoadT<M>(&tile[i][1], 10u);", false), // 8 bytes from a multiple of 16.
            ("m = coopLoadT<M>(&tile[i][i], 10u);", false),
            ("m = coopLoadT<M>(&tile[i][0], i);", false),
            ("if i > 2u { loop { coopStoreT(m, &tile[i][i], 10u); break; } }", false),
            ("m = coopLoadT<M>(&x[0], 16u);", false),
        ];
        for (body, expected) in cases {
            let wgsl = format!(
                "enable f16; enable wgpu_cooperative_matrix;
                alias M = coop_mat16x16<f16, C>;
                @group(0) @binding(0) var<storage, read_write> x: array<f16>;
                var<workgroup> tile: array<array<vec4<f16>, 160>, 8>;
                @compute @workgroup_size(32) fn k(@builtin(workgroup_id) id: vec3<u32>) {{
                    let i = id.x;
                    var m: M;
                    {body}
                }}"
            );
            let module = naga::front::wgsl::parse_str(&wgsl).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&wgsl)));
            assert_eq!(have_matrices_inside(&module, 0, false), expected, "{body}");
        }
    }
}
