//! The small kernels and the copy of `bench`, as SPIR-V.
//!
//! naga writes them without bounds checks, since the floor must not include avoidable costs. Used by `launch.rs`,
//! `jobs.rs` and `threads.rs`.

use anyhow::{Context as _, Result};
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};

const SMALL: &str = include_str!("../bench/small.wgsl");
const COPY: &str = include_str!("../bench/copy.wgsl");

/// The two small kernels as one module.
pub(crate) fn small() -> Result<Vec<u32>> {
    spirv(SMALL)
}

/// The copy, sixteen bytes an invocation.
pub(crate) fn copy() -> Result<Vec<u32>> {
    spirv(COPY)
}

fn spirv(source: &str) -> Result<Vec<u32>> {
    let module = naga::front::wgsl::parse_str(source).context("parsing the kernels")?;
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
