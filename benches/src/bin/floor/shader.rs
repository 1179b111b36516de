//! The small kernels, as SPIR-V. The same text as `vkarray bench launch` has.

use anyhow::{Context as _, Result};
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// `axpy`: `x = a y + x`. `nop`: nothing, but as far as anyone can tell from outside it writes `x`.
const SMALL: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
struct Params { n: u32, a: f32 }
var<immediate> params: Params;
@compute @workgroup_size(64) fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i < params.n { x[i] = params.a * y[i] + x[i]; }
}
@compute @workgroup_size(64) fn nop(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x == 0xffffffffu { x[0] = params.a * y[0] + f32(params.n); }
}";

/// Both kernels as one module.
pub(crate) fn small() -> Result<Vec<u32>> {
    let module = naga::front::wgsl::parse_str(SMALL).context("parsing the kernels")?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES).validate(&module)?;
    let unchecked = BoundsCheckPolicy::Unchecked;
    let options = spv::Options {
        bounds_check_policies: BoundsCheckPolicies {
            index: unchecked,
            buffer: unchecked,
            image_load: unchecked,
            binding_array: unchecked,
        },
        // With an empty map this keeps the shader's own group and binding numbers.
        fake_missing_bindings: true,
        ..spv::Options::default()
    };
    Ok(spv::write_vec(&module, &info, &options, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_become_spirv() {
        let words = small().unwrap();
        assert_eq!(words[0], 0x0723_0203, "SPIR-V's first word");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for entry in ["axpy\0", "nop\0"] {
            assert!(bytes.windows(entry.len()).any(|window| window == entry.as_bytes()), "{entry:?}");
        }
    }
}
