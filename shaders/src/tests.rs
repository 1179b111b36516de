//! Tests of the shader texts without a device: every sample is listed and described in the guide, and samples with
//! constants compile to SPIR-V for several values of them; so do the generated kernels for channels.
//! `crates/checks/src/samples/` compares the shaders' results with the host's on a device.

use std::collections::BTreeSet;

use naga::back::{pipeline_constants::process_overrides, spv};
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};

use super::channels::{ChannelDirection, ChannelWords, Channels};
use super::{GLSL_SAMPLES, PIPELINES, SAMPLES, sample};

/// Parses and validates one shader; panics with naga's message if it is invalid.
fn module(name: &str, source: &str) -> (naga::Module, ModuleInfo) {
    // naga has subgroups without this line, and refuses the line.
    let source = &source.replace("enable subgroups;", "");
    let module = naga::front::wgsl::parse_str(source).unwrap_or_else(|e| panic!("{}", e.emit_to_string(source)));
    let validated = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES | Capabilities::SUBGROUP)
        .subgroup_stages(ShaderStages::COMPUTE)
        .subgroup_operations(SubgroupOperationSet::all())
        .validate(&module);
    let info = validated.unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(source)));
    (module, info)
}

#[test]
fn every_sample_file_is_listed_and_has_one_entry_point_of_its_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/samples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let listed = SAMPLES.iter().map(|(name, _)| format!("{name}.wgsl"));
    let listed = listed.chain(PIPELINES.iter().chain(GLSL_SAMPLES).map(|(name, _)| (*name).to_owned()));
    assert_eq!(files.collect::<BTreeSet<_>>(), listed.collect::<BTreeSet<_>>());
    for (name, source) in SAMPLES {
        let (module, _) = module(name, source);
        let entries: Vec<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(entries, [*name]);
    }
}

#[test]
fn the_guide_describes_every_sample_in_order_with_a_command() {
    let guide = include_str!("../../docs/samples.md");
    let mut rest = guide;
    for (i, (name, _)) in SAMPLES.iter().enumerate() {
        let heading = format!("**{}. `shaders/samples/{name}.wgsl`**", i + 1);
        let (_, after) = rest.split_once(&heading).unwrap_or_else(|| panic!("no {heading} behind the one before"));
        assert!(after.contains(&format!("\nvkarray run shaders/samples/{name}.wgsl ")), "{name}");
        rest = after;
    }
    for (file, _) in GLSL_SAMPLES.iter().filter(|(file, _)| file.ends_with(".comp")) {
        assert!(sample(file.trim_end_matches(".comp")).is_some(), "{file}");
        assert!(rest.contains(&format!("\nvkarray run shaders/samples/{file} ")), "{file}");
    }
    for (name, _) in PIPELINES {
        let (_, after) = rest.split_once(&format!("`shaders/samples/{name}`")).expect("described behind the shaders");
        assert!(after.contains(&format!("\nvkarray run shaders/samples/{name} ")), "{name}");
    }
}

#[test]
fn samples_compile_with_any_sizes_of_workgroups_and_tiles() {
    // The sample, the constants, the workgroup size, and the bytes of workgroup memory.
    type Case<'a> = (&'a str, &'a [(&'a str, f64)], [u32; 3], u32);
    let cases: &[Case<'_>] = &[
        ("invert", &[], [64, 1, 1], 0),
        ("saxpy", &[], [256, 1, 1], 0),
        ("saxpy", &[("WORKGROUP", 1.0)], [1, 1, 1], 0),
        ("julia", &[("MAX_ITER", 1000.0)], [16, 16, 1], 0),
        ("convolve", &[], [16, 16, 1], 24 * 24 * 16),
        ("convolve", &[("TILE", 1.0), ("HALO", 0.0)], [1, 1, 1], 16), // The smallest tile.
        ("convolve", &[("TILE", 7.0), ("HALO", 3.0)], [7, 7, 1], 13 * 13 * 16), // Not a power of two.
        ("convolve", &[("TILE", 32.0), ("HALO", 15.0)], [32, 32, 1], 62 * 62 * 16),
    ];
    for (name, constants, workgroup_size, shared) in cases {
        let (module, info) = module(name, sample(name).unwrap());
        let constants = constants.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        let (module, info) = process_overrides(&module, &info, None, &constants).unwrap();
        let words = spv::write_vec(&module, &info, &spv::Options::default(), None).unwrap();
        assert!(words.len() > 100, "{name}: {} words", words.len());
        assert_eq!(module.entry_points[0].workgroup_size, *workgroup_size, "{name} {constants:?}");
        assert_eq!(shared_bytes(&module), *shared, "{name} {constants:?}");
    }
}

fn shared_bytes(module: &naga::Module) -> u32 {
    let shared = module.global_variables.iter().filter(|(_, g)| g.space == naga::AddressSpace::WorkGroup);
    shared.map(|(_, g)| module.types[g.ty].inner.size(module.to_ctx())).sum()
}

#[test]
fn samples_are_short_and_begin_with_their_formula() {
    for (name, source) in SAMPLES {
        let n_lines = source.lines().count();
        assert!(n_lines <= 80, "{name}: {n_lines} lines");
        let first = source.lines().next().unwrap();
        assert!(first.starts_with("// ") && first.contains(" = "), "{name}: {first}");
    }
}

#[test]
fn kernels_for_any_number_of_channels_are_valid() {
    let check = |name: &str, text: &str, entry: &str, shared: u32| {
        let (module, _) = module(name, text);
        let entries: Vec<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!((entries, shared_bytes(&module)), (vec![entry], shared), "{name}");
    };
    for direction in [ChannelDirection::ToPlanes, ChannelDirection::ToPixels] {
        for (unit_bytes, item_bytes) in [(1, 4), (1, 16), (2, 8), (4, 4), (4, 16), (8, 8), (16, 16)] {
            for channels in [2, 3, 16] {
                let of = Channels { direction, unit_bytes, item_bytes, channels, blocks: 2, group: 64, lanes: 16 };
                check(&format!("{of:?}"), &of.text(), "copy_channels", of.shared_bytes());
            }
        }
        for (unit_bytes, channels, pixel) in [(1, 2, 2), (1, 3, 3), (2, 64, 64), (1, 3, 4)] {
            let of = ChannelWords { direction, unit_bytes, channels, pixel, tile_words: 64, group: 64 };
            check(&format!("{of:?}"), &of.text(), "copy_words_channels", of.shared_bytes());
        }
    }
}
