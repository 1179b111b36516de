//! Who keeps indices inside buffers: the kernel's own code, or the device. Pure.
//!
//! `robustBufferAccess2` bounds each access to a buffer by the range that is bound. Where that is exact to the byte it is
//! as safe as code that compares every index, and on NVIDIA's GPUs it costs nothing, where comparing costs up to 38 %:
//! `docs/decisions/016` has the figures. Plain `robustBufferAccess` may let an access reach elsewhere in the buffer, of
//! which our arrays are parts, so it does not count.
//!
//! The device bounds a range, not what lies in it: an index into a vector, a matrix or an array inside an element stays
//! naga's to check, and with it the whole kernel. Read next: `spirv.rs`.

use naga::{AddressSpace, ArraySize, Expression, Function, Handle, Module, TypeInner};
use vkarray_driver::{DeviceInfo, Features};

use crate::capabilities::{GOOGLE, NVIDIA};

/// Whether checked kernels leave the bounds of buffers to the device. `enabled` is what it was opened with.
///
/// Only where that was measured to be faster: on lavapipe both take the same time.
pub(crate) fn are_the_devices(device: &DeviceInfo, enabled: &Features) -> bool {
    are_exact(device, enabled) && device.vendor_id == NVIDIA
}

/// Whether the device bounds buffers to the byte.
pub(crate) fn are_exact(device: &DeviceInfo, enabled: &Features) -> bool {
    enabled.robust_buffer_access_2 && device.limits.robust_storage_buffer_access_size_alignment == 1
}

/// Whether the driver zeroes shared memory that is declared with a null initialiser. SwiftShader has the feature but does it
/// wrongly: 64 invocations that each add 1 to a variable with such an initialiser do not reach 64 (5.0.0, 2026-11-22).
pub(crate) fn are_zeroes_the_drivers(device: &DeviceInfo, enabled: &Features) -> bool {
    enabled.zero_initialize_workgroup_memory && device.vendor_id != GOOGLE
}

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
    let is_buffer = |space: AddressSpace| matches!(space, AddressSpace::Storage { .. } | AddressSpace::Uniform);
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

/// Whether the expression is a part of a buffer, or may be.
fn is_inside_any(module: &Module, function: &Function, expression: Handle<Expression>) -> bool {
    match function.expressions[expression] {
        Expression::GlobalVariable(handle) => {
            matches!(module.global_variables[handle].space, AddressSpace::Storage { .. } | AddressSpace::Uniform)
        }
        Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => is_inside_any(module, function, base),
        Expression::FunctionArgument(number) => {
            let ty = function.arguments[number as usize].ty;
            match module.types[ty].inner {
                TypeInner::Pointer { space, .. } | TypeInner::ValuePointer { space, .. } => {
                    matches!(space, AddressSpace::Storage { .. } | AddressSpace::Uniform)
                }
                _ => false,
            }
        }
        _ => false,
    }
}

fn is_runtime_array(module: &Module, ty: Handle<naga::Type>, member: u32) -> bool {
    let TypeInner::Struct { ref members, .. } = module.types[ty].inner else { return false };
    let inner = members.get(member as usize).map(|member| &module.types[member.ty].inner);
    matches!(inner, Some(TypeInner::Array { size: ArraySize::Dynamic, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> DeviceInfo {
        let path = format!("{}/../../tests/snapshots/{name}.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn the_device_bounds_buffers_where_that_is_exact_and_faster() {
        let cases = [("h100_580.159", true), ("lavapipe_22.3.6", false), ("swiftshader_5.0.0", false)];
        for (name, expected) in cases {
            let device = machine(name);
            assert_eq!(are_the_devices(&device, &device.features), expected, "{name}");
            assert!(!are_the_devices(&device, &Features::default()), "{name}: not enabled");
        }
        let mut coarse = machine("h100_580.159");
        coarse.limits.robust_storage_buffer_access_size_alignment = 4; // Half of a word is another element.
        assert!(!are_the_devices(&coarse, &coarse.features));
    }

    #[test]
    fn the_driver_zeroes_where_it_does_so_rightly() {
        let cases = [("h100_580.159", true), ("lavapipe_22.3.6", true), ("swiftshader_5.0.0", false)];
        for (name, expected) in cases {
            let device = machine(name);
            assert_eq!(are_zeroes_the_drivers(&device, &device.features), expected, "{name}");
            assert!(!are_zeroes_the_drivers(&device, &Features::default()), "{name}: not enabled");
        }
    }

    #[test]
    fn an_index_inside_an_element_is_not_the_device_s() {
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
}
